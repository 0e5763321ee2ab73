#!/usr/bin/env python3
"""Runs the benchmarks, and generates docs/performance.md and docs/numbers.md from all results in bench/results.

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
import time

import cold_start
import cost
import day
import export
import glance
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
# Minutes that each part takes on two processors, without the builds before it.
MINUTES = {
    "cold_start": 2, "warm": 1, "own_code": 0.2, "size": 13, "cost": 0.3, "partitions": 1, "reads": 1, "day": 4, "ledger": 5,
    "postgres": 4, "export": 0.2, "state": 2, "local": 0.2, "load": 2.5,
}
# Parts whose counts --check verifies. The other parts measure only times.
COUNTED = {"own_code", "size", "cost", "partitions", "reads", "day", "export"}

HEAD = """\
# Performance

`make bench` measures everything and writes this page. `make bench PARTS='cold_start cost'` measures
only the given parts again. [Numbers](numbers.md) has the most important results on one screen.

Each section names its date, commit, machine, and the load of the machine before the measurement: the
average number of running processes in the last minute, which includes the previous part. Times and ratios are medians, with quartiles
in brackets. Other machines differ, so compare ratios and counts rather than times. "Distant DynamoDB"
means that a proxy delays each call, as a network does.

"""


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = platform.release().split("-")[0]
    return f"{processor()} with {len(os.sched_getaffinity(0))} processors and {memory:.0f} GB, Linux {kernel}"


def keep(name, result, load):
    RESULTS.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    origin = {"date": f"{datetime.date.today()}", "commit": commit.stdout.strip(), "machine": machine(), "load": round(load, 1)}
    (RESULTS / f"{name}.json").write_text(json.dumps({"measured": origin, "result": result}) + "\n")


def kept(file):
    """Returns the origin of a result, and the result."""
    stored = json.loads(file.read_text())
    return stored["measured"], stored["result"]


def dated(section, origin):
    """Adds the origin after the heading of a section."""
    heading, text = section.split("\n\n", 1)
    place = f"{origin['date']} at commit {origin['commit']}, on {origin['machine']}, at a load of {origin['load']}"
    return f"{heading}\n\nMeasured on {place}.\n\n{text}"


def write_page():
    sections = [HEAD]
    for name, part in PARTS.items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            origin, result = kept(file)
            sections.append(dated(part.section(result), origin) + "\n")
    (DOCS / "performance.md").write_text(wrapped("".join(sections)))
    (DOCS / "numbers.md").write_text(wrapped(glance.page({name: kept(RESULTS / f"{name}.json") for name in PARTS})))


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
    print(f"{', '.join(names)}: about {sum(MINUTES[name] for name in names):.0f} minutes", flush=True)
    for number, name in enumerate(names, 1):
        print(f"{number} of {len(names)}: {name}, about {MINUTES[name]:g} minutes", flush=True)
        load, begin = os.getloadavg()[0], time.monotonic()
        keep(name, PARTS[name].measure(), load)
        write_page()
        print(f"   {(time.monotonic() - begin) / 60:.1f} minutes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
