#!/bin/sh
# Cargo's runner of test executables: prints each test's time if this toolchain's libtest still can. The option is unstable,
# so RUSTC_BOOTSTRAP is set for the executable, never for the compiler.
if RUSTC_BOOTSTRAP=1 "$1" --list -Zunstable-options --report-time > /dev/null 2>&1; then
    exec env RUSTC_BOOTSTRAP=1 "$@" -Zunstable-options --report-time
fi
exec "$@"
