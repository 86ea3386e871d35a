#!/usr/bin/env bash
# lint.sh BUILD [quick]: format, shell scripts, paths and words that must not stand in the tree, READMEs, and clang-tidy with
# BUILD's compile commands (not when quick).
# Reports everything it finds and fails at the end. `make lint` calls it after a build.
# Every rule below is called through check().
# shellcheck disable=SC2317
set -uo pipefail
build=$1
cd "$(dirname "$0")/.." || exit 1
failed=0
git rev-parse --git-dir >/dev/null || exit 1  # the rules read what git tracks

check() {  # what, command...: runs it and remembers a failure
    echo "lint: $1"
    shift
    "$@" || failed=1
}

# Tracked text that a rule reads; this file states the rules, so it is not held against them.
found_nothing() {  # pattern, paths...
    ! git grep -nIE -e "$1" -- "${@:2}" ':!tools/lint.sh' ':!LICENSE'
}

format() { git ls-files -z '*.h' '*.cpp' | xargs -0 -r clang-format --dry-run -Werror; }

shell() { git ls-files -z '*.sh' .ci/run | xargs -0 -r shellcheck --severity=warning; }

folders_introduce_themselves() {
    local folder missing=0
    for folder in $(git ls-files 'tenon/*/*' 'cli/*' 'tests/*' 'tools/*' 'benchmarks/*' 'examples/*' | sed -E 's,^((tenon|tests)/[^/]*|[^/]*)/.*,\1,' | sort -u); do
        git ls-files --error-unmatch "$folder/README.md" >/dev/null 2>&1 && continue
        echo "$folder has no README.md"
        missing=1
    done
    return "$missing"
}

# clang-tidy over our own sources, several at a time. Each instruction set compiles sets/ again: one reading is enough, and
# run-clang-tidy reads every entry of a file, so each file is given once to clang-tidy itself.
tidy() {
    git ls-files -z 'tenon/*.cpp' 'cli/*.cpp' ':!tenon/cpu/sets/*' |
        xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option \
            2> >(grep -vE 'warnings? (generated|treated as error)|^Suppressed|^Use -' >&2)
}

check "clang-format" format
check "shellcheck" shell
check "no path of one machine" found_nothing '(^|[^A-Za-z0-9_.~-])/(work|root|home/[a-z]|Users)/' .
check "nothing unfinished" found_nothing '\b(TODO|FIXME|XXX|HACK)\b|[Ff]or now\b|[Nn]ot yet implemented|[Pp]laceholder' '*.cpp' '*.h' '*.py' '*.sh' '*.cmake' CMakeLists.txt Makefile
check "a README in each folder" folders_introduce_themselves
if [ "${2:-}" != quick ]; then
    check "clang-tidy" tidy
fi
if [ $failed = 0 ]; then echo "lint: clean"; else echo "lint: failed" >&2; fi
exit $failed
