#!/usr/bin/env bash
# `make test ROW=…`: plays the cases of the contract whose names have all words of ROW. Fails if
# there is none.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
RUST_BACKTRACE=0 cargo test --quiet --package system-tests --test contract -- --nocapture 2>&1 | tee "$log"
if ! grep -q 'contract: .* played [1-9]' "$log"; then
    echo "no case of the contract has the words: $ROW" >&2
    exit 1
fi
