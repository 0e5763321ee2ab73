#!/usr/bin/env python3
"""Plays a lesson of docs/learn on a local stack: the obvious design, and that of the service.

docs/decisions/worlds.md has the decision.

    run.py <the binary `local`> <lesson>     plays the lesson
    run.py <the binary `local`> --check      plays all lessons, and compares what they print with docs/learn
    run.py <the binary `local`> --write      plays all lessons, and writes what they print to docs/learn
"""

import importlib
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import lab  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
PAGES = FOLDER.parent / "docs/learn"
OTHERS = {"lab", "run"}


def lessons():
    return sorted(file.stem.replace("_", "-") for file in FOLDER.glob("*.py") if file.stem not in OTHERS)


def play(name, url, dynamo):
    """Returns what the lesson prints: a line for each step, with the units of both designs."""
    rows = importlib.import_module(name.replace("-", "_")).play(url, dynamo)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def block(name):
    """The part of a page that shows what the lesson prints."""
    return re.compile(rf"(?<=```text make lesson NAME={name}\n).*?(?=```)", re.S)


def page(name):
    return PAGES / f"{name}.md"


def checked(name, printed):
    """Returns whether the page shows what the lesson prints."""
    shown = block(name).search(page(name).read_text())
    if shown and shown[0] == printed:
        return True
    print(f"{page(name)} differs: make test-lessons ARGS=--write\n{printed}", file=sys.stderr)
    return False


def main(binary, what):
    names = lessons()
    chosen = [what] if what in names else names if what in ("--check", "--write") else None
    if chosen is None:
        sys.exit(f"There is no lesson {what!r}. The lessons are {', '.join(names)}.")
    good = True
    with lab.local_stack(binary) as url:
        dynamo = lab.send(f"{url}/_local/health", "GET", None, {})[0]["dynamodb"]
        for name in chosen:
            printed = play(name, url, dynamo)
            if what == "--write":
                page(name).write_text(block(name).sub(lambda _: printed, page(name).read_text(), count=1))
            elif what == "--check":
                good &= checked(name, printed)
            else:
                print(printed, end="")
    sys.exit(0 if good else 1)


main(*sys.argv[1:])
