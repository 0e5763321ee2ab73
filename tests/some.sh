#!/usr/bin/env bash
# Runs `cargo test` with these arguments. Fails if no test ran, because cargo succeeds if a filter
# matches nothing.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
CARGO_TERM_COLOR=never cargo test "$@" 2>&1 | tee "$log"
if ! grep -q '^test result: ok\. [1-9]' "$log"; then
    echo "no test ran: cargo test $*" >&2
    exit 1
fi
