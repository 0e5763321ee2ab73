#!/usr/bin/env bash
# `make test`: builds and runs all tests, then checks that no function has unused permissions. A
# failed part does not hide the results of the others. The summary at the end names every failed
# test, and every part that failed or was not run.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/parts.sh

MAX_EXECUTABLES=17
export PERMISSIONS_USED=$PWD/target/permissions
export CARGO_TERM_COLOR=never
# Many tests wait for a lease, a retry or a lost connection. Four threads per processor keep the
# processors busy.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((4 * $(getconf _NPROCESSORS_ONLN)))}
# Leaves out the binaries of the functions, and the crates without tests. Each of them would be
# linked as a test executable.
without=(bank cart jobs lake ledger publisher table derives wellness)
every=(cargo test --workspace "${without[@]/#/--exclude=}" --lib --test '*')

build() {
    "${every[@]}" --no-run 2>&1 | tee target/build.log || return
    local executables
    executables=$(grep -c '^ *Executable ' target/build.log || true)
    if ((executables < 1 || executables > MAX_EXECUTABLES)); then
        echo "$executables test executables are linked; expected 1 to $MAX_EXECUTABLES (docs/decisions/build-time.md)" >&2
        return 1
    fi
}

run() {
    "${every[@]}" --no-fail-fast --config "target.'cfg(all())'.runner = ['$PWD/tests/timed.sh']" 2>&1 | tee target/tests.log
}

# Reads `Running tests/bank/main.rs (target/debug/deps/bank-0123)`, `test access::roles ... ok
# <1.234s>` and `test result: …`. Prints the time of each test as `time<tab>executable test`, or
# with `failed`, each failed test and each executable that ended without a result.
each_test() {
    awk -v wanted="$1" '
        function end() { if (wanted == "failed" && running) print executable ": ended without a result" }
        /(^| )Running .*\/deps\// {
            end(); running = 1
            executable = $0; sub(/.*\/deps\//, "", executable); sub(/-[0-9a-f]+\)$/, "", executable)
        }
        /^test result: / { running = 0 }
        /^test .* \.\.\. FAILED/ && wanted == "failed" { print executable " " $2 }
        /^test .*<[0-9.]+s>$/ && wanted == "times" { time = $NF; gsub(/[<s>]/, "", time); print time "\t" executable " " $2 }
        END { end() }' target/tests.log
}

problems=()

# Runs COMMAND as a part, and remembers its failure: must NAME COMMAND…
must() {
    part "$@" || { problems+=("failed: $1"); false; }
}

tests() {
    local failed status=0
    run || status=1
    each_test times >> "$parts"
    failed=$(each_test failed)
    [ -z "$failed" ] || while read -r test; do problems+=("failed: $test"); done <<< "$failed"
    if ((status)) && [ -z "$failed" ]; then
        problems+=("failed: the tests (cargo test failed, and no test did)")
    fi
    ((status == 0)) && [ -z "$failed" ]
}

mkdir -p target
rm -rf "$PERMISSIONS_USED"
if must "the build" build; then
    # A line that is too wide should not be found only after the slow suites.
    must "the prose" tests/some.sh --quiet --package system-tests --test system -- prose:: || true
    if tests; then
        permissions=(tests/some.sh --quiet --package system-tests --test system -- --ignored every_permission_is_needed)
        must "the permissions" "${permissions[@]}" || true
    else
        problems+=("not run: the permissions, which need the calls of all tests")
    fi
    must "the doc tests" cargo test --quiet --no-fail-fast --workspace --doc || true
else
    problems+=("not run: the prose, the tests, the permissions and the doc tests, which need the build")
fi
slowest
if ((${#problems[@]})); then
    printf '\nmake test failed:\n'
    printf '    %s\n' "${problems[@]}"
    exit 1
fi
printf '\nAll tests passed.\n'
