#!/bin/sh
# train.sh BUILD [TEXT [CMAKE_ARGS...]]: builds the program in release mode and trains examples/bible.toml on the Bible, or on TEXT.
# A second call finds program and text in place and only trains. `make train` calls it.
set -eu
build=$1
text=${2:-}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/.."

if [ -n "$text" ] && [ ! -f "$text" ]; then
    echo "train: there is no file $text (TEXT= takes any UTF-8 file)" >&2
    exit 3
fi

# What CMake and Ninja say matters only when they fail, or when there is a terminal to show progress on.
log=$build/configure.log
mkdir -p "$build/data"
if ! cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTENON_TESTS=OFF "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
cmake --build "$build" --target tenon
echo "built $build/tenon"

if [ -z "$text" ]; then
    text=$build/data/bible.txt
    tools/bible_text.sh "$text"
fi
# A bare name like 2024 would be read as a number.
case $text in */*) ;; *) text=./$text ;; esac
exec "$build/tenon" train examples/bible.toml --set "data.path=$text"
