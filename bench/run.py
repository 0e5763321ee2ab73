#!/usr/bin/env python3
"""Runs the benchmarks, and generates docs/performance.md from all results in bench/results.

    .venv/bin/python bench/run.py [part …] [--check]

With --check, the script writes nothing, and fails if a count is wrong. Times are not checked.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import textwrap

import cold_start
import cost
import day
import export
import ledger
import load
import local
import own_code
import partitions
import postgres
import reads
import size
import state
import warm
from measured import processor

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "bench/results", ROOT / "docs"
PARTS = {
    "cold_start": cold_start, "warm": warm, "own_code": own_code, "size": size, "cost": cost, "partitions": partitions,
    "reads": reads, "day": day, "ledger": ledger, "postgres": postgres, "export": export, "state": state, "local": local,
    "load": load,
}
WIDTH = 100
# Parts whose counts --check verifies. The other parts measure only times.
COUNTED = {"own_code", "size", "cost", "partitions", "reads", "day", "export"}

HEAD = """\
# Performance

`make bench` measures everything and writes this page. `make bench PARTS='cold_start cost'` measures
only the given parts again. The machine has {processor}, {cores} processors, {memory} GB, and Linux
{kernel}. Other programs run on the machine at the same time, and other machines differ. Compare
ratios and counts rather than times.

Times and ratios are medians, with quartiles in brackets. "Distant DynamoDB" means that a proxy delays
each call, as a network does.

"""


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return {"processor": processor(), "cores": cores, "memory": round(memory), "kernel": platform.release().split("-")[0]}


def keep(name, result):
    RESULTS.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    origin = {"date": f"{datetime.date.today()}", "commit": commit.stdout.strip()}
    (RESULTS / f"{name}.json").write_text(json.dumps({"measured": origin, "result": result}) + "\n")


def kept(file):
    """Returns the origin of a result, and the result."""
    stored = json.loads(file.read_text())
    return stored["measured"], stored["result"]


def dated(section, origin):
    """Adds the origin after the heading of a section."""
    heading, text = section.split("\n\n", 1)
    return f"{heading}\n\nMeasured on {origin['date']} at commit {origin['commit']}.\n\n{text}"


def write_page():
    sections = [HEAD.format(**machine())]
    for name, part in PARTS.items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            origin, result = kept(file)
            sections.append(dated(part.section(result), origin) + "\n")
    (DOCS / "performance.md").write_text(wrapped("".join(sections)))


def wrapped(page):
    """Wraps paragraphs and list items, but not tables and headings."""
    blocks = []
    for block in page.strip().split("\n\n"):
        if not block.startswith(("#", "|")):
            items = re.split(r"\n(?=- )", block)
            block = "\n".join(textwrap.fill(" ".join(item.split()), WIDTH, subsequent_indent="  " * item.startswith("- "),
                                            break_long_words=False, break_on_hyphens=False) for item in items)
        blocks.append(block.strip("\n"))
    return "\n\n".join(blocks) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    names = options.parts or list(PARTS)
    if options.check:
        faults = [fault for name in names if name in COUNTED for fault in PARTS[name].faults()]
        print("\n".join(faults) or "all counts are as expected")
        return 1 if faults else 0
    for name in names:
        keep(name, PARTS[name].measure())
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
