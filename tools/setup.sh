#!/bin/sh
# setup.sh program|tests: installs what is missing of the Debian packages in packages-program.txt (and packages-tests.txt).
# As root by apt-get; otherwise by sudo, after asking at the terminal; otherwise it lists what is missing and stops.
set -eu
cd "$(dirname "$0")"

case "${1:-}" in
    program) lists="packages-program.txt" ;;
    tests) lists="packages-program.txt packages-tests.txt" ;;
    *) echo "usage: tools/setup.sh program|tests" >&2; exit 2 ;;
esac

# The lists' first column. The files are ours, so the names hold no blanks.
# shellcheck disable=SC2086
wanted=$(sed -e '/^#/d' -e 's/ .*//' $lists)

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: this is not a Debian system, so nothing was installed. Tenon needs what these Debian packages hold:" >&2
    # shellcheck disable=SC2086
    sed -e '/^#/d' -e 's/^/  /' $lists >&2
    echo "With that in place: cmake -S . -B build -G Ninja && cmake --build build --target tenon" >&2
    exit 1
fi

missing=""
for package in $wanted; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "setup: missing packages:$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ] && [ -t 1 ]; then
    printf 'setup: install them with sudo apt-get? [y/N] '
    read -r answer
    case "$answer" in
        y | Y | yes) as_root="sudo" ;;
        *) echo "setup: nothing was installed. To do it yourself: apt-get install$missing" >&2; exit 1 ;;
    esac
else
    echo "setup: this needs root, so nothing was installed. To do it yourself: apt-get install$missing" >&2
    exit 1
fi

# shellcheck disable=SC2086
install_missing() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
}
# The package index may be absent (a fresh image) or old: fetch it first, and say so if that fails.
$as_root apt-get update -q || echo "setup: apt-get update failed; trying with the package index as it is" >&2
if ! install_missing; then
    echo "setup: apt-get could not install:$missing" >&2
    exit 1
fi
