#!/bin/sh
# Cargo runner for test executables. It prints the time of each test if the toolchain's libtest
# supports it.
# The option is unstable, so RUSTC_BOOTSTRAP is set for the executable, but never for the compiler.
if RUSTC_BOOTSTRAP=1 "$1" --list -Zunstable-options --report-time > /dev/null 2>&1; then
    exec env RUSTC_BOOTSTRAP=1 "$@" -Zunstable-options --report-time
fi
exec "$@"
