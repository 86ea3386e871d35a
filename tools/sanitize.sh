#!/usr/bin/env bash
# sanitize.sh [address|thread]: the tests under AddressSanitizer and UndefinedBehaviorSanitizer, and those of the thread
# pool and the loader under ThreadSanitizer; both without an argument. `make sanitize` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

configure() {  # build folder, sanitizers
    cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTENON_TESTS=ON "-DTENON_SANITIZE=$2"
}

address() {
    configure build-address "address;undefined"
    cmake --build build-address
    UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build-address --output-on-failure --parallel "$(nproc)" --label-exclude long
}

thread() {
    configure build-thread thread
    cmake --build build-thread --target cpu_test data_test
    for binary in cpu_test data_test; do
        echo "ThreadSanitizer: $binary"
        TSAN_OPTIONS=halt_on_error=1 "build-thread/tests/$binary" --gtest_filter='*Pool*:*Thread*:*Loader*'
    done
}

case "${1:-all}" in
    address) address ;;
    thread) thread ;;
    all) address && thread ;;
    *) echo "usage: tools/sanitize.sh [address|thread]" >&2; exit 2 ;;
esac
