# Functions that measure the parts of a script and print the slowest ones. Source this file.

parts=$(mktemp)
trap 'rm -f "$parts"' EXIT

# Runs COMMAND and records its duration under NAME: part NAME COMMAND…
part() {
    local name=$1 start=$SECONDS status=0
    shift
    "$@" || status=$?
    printf '%d\t%s\n' $((SECONDS - start)) "$name" >> "$parts"
    return "$status"
}

slowest() {
    printf '\nThe ten slowest parts, in seconds:\n'
    sort -rn "$parts" | awk -F '\t' 'NR <= 10 { printf "%8.1f  %s\n", $1, $2 }'
}
