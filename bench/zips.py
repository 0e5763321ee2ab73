#!/usr/bin/env python3
"""Zips every function of target/lambda in memory, as it is deployed, and fails where one has more than 4 MB.

    .venv/bin/python bench/zips.py [target/lambda]
"""

import io
import pathlib
import sys
import zipfile

MOST = 4_000_000


def sizes(folder):
    """Bytes of each function's zip, by its name."""
    return {binary.parent.name: zipped(binary) for binary in sorted(pathlib.Path(folder).glob("*/bootstrap"))}


def zipped(binary):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(binary, "bootstrap")
    return out.tell()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "target/lambda"
    zips = sizes(folder)
    if not zips:
        sys.exit(f"{folder} has no functions: make build")
    over = {name: size for name, size in zips.items() if size > MOST}
    for name, size in over.items():
        print(f"{name}: {size / 1e6:.2f} MB")
    if over:
        sys.exit(f"{len(over)} of {len(zips)} zips have more than {MOST / 1e6:.0f} MB")
    print(f"zips: {len(zips)} functions, the largest {max(zips.values()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
