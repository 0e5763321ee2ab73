"""Writes the covered lines and regions of each crate to coverage.json.

Reads the summary of cargo-llvm-cov.
"""

import json
import pathlib
import sys

from copied import ROOT, lines

FILE = pathlib.Path(__file__).resolve().parent / "coverage.json"


def main(summary):
    [data] = json.loads(pathlib.Path(summary).read_text())["data"]
    crates = {}
    for file in data["files"]:
        parts = pathlib.Path(file["filename"]).resolve().relative_to(ROOT).parts
        # Tests and binaries do not count. A binary has a single statement.
        if parts[0] != "crates" or {"tests", "tests.rs", "bin"} & set(parts):
            continue
        crate = crates.setdefault(parts[1], {})
        for kind in ("lines", "regions"):
            covered, count = crate.get(kind, (0, 0))
            crate[kind] = covered + file["summary"][kind]["covered"], count + file["summary"][kind]["count"]
    rows = {}
    for crate, kinds in sorted(crates.items()):
        rows[crate] = {}
        for kind, (covered, count) in kinds.items():
            percent = round(100 * covered / max(count, 1), 1)
            rows[crate][kind] = {"covered": covered, "count": count, "percent": percent}
        print(f"{crate:14}", *(f"{kind} {row['percent']:5.1f} %" for kind, row in rows[crate].items()))
    FILE.write_text(lines(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
