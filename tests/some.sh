#!/usr/bin/env bash
# Runs `cargo test` with these arguments. Fails if no test ran, because cargo succeeds if a filter
# matches nothing. Also fails if one of several filters matches nothing, unless cargo is quiet.
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
CARGO_TERM_COLOR=never cargo test "$@" 2>&1 | tee "$log"
if ! grep -q '^test result: ok\. [1-9]' "$log"; then
    echo "no test ran: cargo test $*" >&2
    exit 1
fi
words=()
for word; do
    if [[ $word == -- ]]; then words=(); elif [[ $word != -* ]]; then words+=("$word"); fi
done
if [[ " $* " == *" -- "* ]] && grep -q '^test .* \.\.\. ' "$log"; then
    for word in "${words[@]}"; do
        grep -q "^test .*$word" "$log" || { echo "no test has the name: $word" >&2; exit 1; }
    done
fi
