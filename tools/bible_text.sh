#!/bin/sh
# Writes the King James Bible as plain text: one verse a line, no references, 4,137,850 bytes of ASCII, public domain.
# Usage: tools/bible_text.sh OUT      (needs Debian's packages bible-kjv and bible-kjv-text)
# Exit: 0 written or already there, 2 usage, 3 the packages are missing or gave another text.
set -eu

sum=b5c4940bcfeee072c0935b5200d0f9d88a00a0199cb0961d16133458fcdfae5d

fail() {
    code=$1
    shift
    echo "[bible-text] $*" >&2
    exit "$code"
}

digest() { sha256sum <"$1" | cut -d' ' -f1; }

case ${1:-} in
-h | --help)
    sed -n '2,4s/^# //p' "$0"
    exit 0
    ;;
esac
if [ $# -ne 1 ] || [ -z "$1" ]; then
    fail 2 "give one path to write; example: tools/bible_text.sh build/bible.txt"
fi
out=$1
if [ -f "$out" ] && [ "$(digest "$out")" = "$sum" ]; then
    exit 0
fi

command -v bible >/dev/null 2>&1 ||
    fail 3 "the program 'bible' is missing; install it and its text: apt-get install bible-kjv bible-kjv-text"

part=$out.part.$$
(: >"$part") 2>/dev/null || fail 3 "cannot write $part; does its folder exist?"
trap 'rm -f "$part"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# `bible` looks for its text in the current folder first, so it runs from /. Each line is "Ge1:1 In the beginning …":
# the reference ends at the first space.
(cd / && bible -f gen1:1-rev22:21 </dev/null 2>/dev/null) | sed 's/^[^ ]* //' >"$part" || true

[ -s "$part" ] || fail 3 "'bible' printed nothing; is its text installed? apt-get install bible-kjv-text"
got=$(digest "$part")
[ "$got" = "$sum" ] ||
    fail 3 "the text is not the expected one: $(wc -c <"$part") bytes with SHA-256 $got, expected 4137850 bytes with" \
        "SHA-256 $sum; reinstall bible-kjv and bible-kjv-text"
chmod 644 "$part"
mv -f "$part" "$out" || fail 3 "cannot write $out"
