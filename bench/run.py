#!/usr/bin/env python3
"""Measures one part after the other, keeps the numbers in bench/results, and writes docs/performance.md of all of them.

    .venv/bin/python bench/run.py [part …] [--check]

With --check it writes nothing, and fails where a count is not what it must be; times are never checked.
"""

import argparse
import json
import os
import pathlib
import platform
import sys

import cold_start
import cost
import export
import ledger
import local
import own_code
import partitions
import reads
import size
import warm
import writes

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "bench/results", ROOT / "docs"
PARTS = {
    "cold_start": cold_start, "warm": warm, "own_code": own_code, "size": size, "cost": cost, "partitions": partitions,
    "writes": writes, "reads": reads, "ledger": ledger, "export": export, "local": local,
}
# Those that have counts to check; the others have only times.
COUNTED = {"own_code", "size", "cost", "partitions", "reads", "export"}

HEAD = """\
# Performance

Written by `make bench`, which measures all of it in one run; with `PARTS=…` some of it anew. The machine: {processor}, {cores} processors, {memory} GB, Linux
{kernel}. Machines differ, and this one is shared: what counts are ratios against what ran beside it, and counts.

"""


def machine():
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    processor = next((line.split(": ")[1] for line in cpu.splitlines() if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return {"processor": processor, "cores": cores, "memory": round(memory), "kernel": platform.release().split("-")[0]}


def picture(name):
    return DOCS / f"{name.replace('_', '-')}.svg"


def keep(name, result):
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result) + "\n")
    if hasattr(PARTS[name], "picture"):
        picture(name).write_text(PARTS[name].picture(result))


def write_page():
    sections = [HEAD.format(**machine())]
    for name, part in PARTS.items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            sections.append(part.section(json.loads(file.read_text())) + "\n")
            if hasattr(part, "picture"):
                sections.append(f"![{part.PICTURE}]({picture(name).name})\n\n")
    (DOCS / "performance.md").write_text("".join(sections).rstrip() + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    names = options.parts or list(PARTS)
    if options.check:
        faults = [fault for name in names if name in COUNTED for fault in PARTS[name].faults()]
        print("\n".join(faults) or "every count is as it must be")
        return 1 if faults else 0
    for name in names:
        keep(name, PARTS[name].measure())
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
