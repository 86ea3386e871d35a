#!/usr/bin/env bash
# test.sh BUILD [long]: runs the tests of a finished build, the long ones too if asked, and closes with ctest's summary.
# Before the summary it lists what was skipped and why. `make test` and `make test-long` call it.
set -euo pipefail
build=$1
cd "$(dirname "$0")/.."

selection=(--label-exclude long)
[ "${2:-}" = long ] && selection=()

summary=$build/test-summary.txt
rm -rf "$build/test-results" "$summary"
status=0
# The summary begins at "NN% tests passed"; it is held back until the skips are listed.
ctest --test-dir "$build" --output-on-failure --timeout 86400 --parallel "$(nproc)" "${selection[@]}" 2>&1 |
    sed -u "/tests passed, .* failed out of/,\$ { w $summary
        d }" || status=$?
python3 tools/check_skips.py "$build/test-results" --list
cat "$summary"
exit "$status"
