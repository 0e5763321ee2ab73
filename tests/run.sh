#!/usr/bin/env bash
# `make test`: builds and runs all tests, then checks that no function has unused permissions.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/parts.sh

MAX_EXECUTABLES=23
export PERMISSIONS_USED=$PWD/target/permissions
export CARGO_TERM_COLOR=never
# Many tests wait for a lease, a retry or a lost connection. Two threads per processor keep the
# processors busy.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}
# Leaves out the binaries of the functions. Each of them would be linked as a test executable
# without tests.
every=(cargo test --workspace --lib --test '*')

build() {
    "${every[@]}" --no-run 2>&1 | tee target/build.log
    local executables
    executables=$(grep -c '^ *Executable ' target/build.log || true)
    if ((executables < 1 || executables > MAX_EXECUTABLES)); then
        echo "$executables test executables are linked; expected 1 to $MAX_EXECUTABLES (docs/decisions/build-time.md)" >&2
        return 1
    fi
}

run() {
    "${every[@]}" --config "target.'cfg(all())'.runner = ['$PWD/tests/timed.sh']" 2>&1 | tee target/tests.log
}

# Reads `Running tests/bank/main.rs (target/debug/deps/bank-0123)` and `test access::roles ... ok
# <1.234s>`.
each_test() {
    awk '/ Running .*\/deps\// { executable = $0; sub(/.*\/deps\//, "", executable); sub(/-[0-9a-f]+\)$/, "", executable) }
         /^test .*<[0-9.]+s>$/ { time = $NF; gsub(/[<s>]/, "", time); print time "\t" executable " " $2 }' target/tests.log
}

mkdir -p target
rm -rf "$PERMISSIONS_USED"
part "the build" build
# A line that is too wide should not be found only after the slow suites.
part "the prose" tests/some.sh --quiet --package system-tests --test system -- prose::
run
each_test >> "$parts"
part "the doc tests" cargo test --quiet --workspace --doc
part "the permissions" tests/some.sh --quiet --package system-tests --test system -- --ignored every_permission_is_needed
slowest
