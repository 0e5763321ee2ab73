"""Checks that binaries need no newer glibc than Lambda has.

Usage: symbols.py <glibc version> <binary>…
"""

import pathlib
import re
import sys


def newest(binary):
    """Returns the newest glibc version whose symbols the binary needs. The names of versions are in its string table."""
    found = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", pathlib.Path(binary).read_bytes())
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def main(version, *binaries):
    limit = tuple(int(part) for part in version.split("."))
    newer = {binary: found for binary in binaries if (found := newest(binary)) > limit}
    for binary, (major, minor) in newer.items():
        print(f"{binary} needs glibc {major}.{minor}, but Lambda has {version}: build it with make build", file=sys.stderr)
    sys.exit(1 if newer else 0)


main(*sys.argv[1:])
