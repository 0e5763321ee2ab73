"""Counts the instructions that our own code executes in an invocation. Uses callgrind.

An invocation begins with the text of the event and ends with the text of the response. The
instructions that the SDK executes for the same DynamoDB calls are subtracted."""

import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

from spread import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = ROOT / "target/x86_64-unknown-linux-gnu/release/own-code"
FEW, MANY = 10, 60
# Budgets in thousands of instructions: a measured count, and room for small changes.
BUDGET = {"schedule-payment": 450, "list-account-payments": 670, "process-payment": 990}

TEXT = """\
## Our own code

Callgrind counts the CPU instructions of {few} and of {times} invocations. The difference excludes
the start of the process. An invocation begins with the text of the event and ends with the text of
the response. It includes `lambda_http`, but no logs. Recorded responses replace DynamoDB. Callgrind
also counts the instructions that the SDK executes for the same DynamoDB calls. All other
instructions are our own code: reading and checking the request, the rules, the keys, the conversion
of items, and the response. `make bench-counts` fails if a function exceeds its budget.

{table}"""


def count(what, function, times):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", BINARY, what, function, str(times)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"the instructions of {function} can't be counted: {done.stderr}")
    return int(found[1])


def each(function, what):
    return round((count(what, function, MANY) - count(what, function, FEW)) / (MANY - FEW))


def measure():
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing: it counts instructions")
    asked = list(itertools.product(BUDGET, ("function", "calls")))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as counters:
        counts = list(counters.map(lambda one: each(*one), asked))
    functions = {name: {} for name in BUDGET}
    for (name, what), instructions in zip(asked, counts, strict=True):
        functions[name][what] = instructions
    return {"functions": functions, "times": MANY, "few": FEW}


def own(of):
    return of["function"] - of["calls"]


def faults():
    for name, of in measure()["functions"].items():
        if not 0 < own(of) <= BUDGET[name] * 1_000:
            yield f"{name}: {own(of):,} instructions of our own code exceed the budget of {BUDGET[name] * 1_000:,}"


def section(result):
    head = ["", "invocation", "the SDK's calls", "our own", "share", "budget"]
    rows = [
        [f"`{name}`", f"{of['function']:,}", f"{of['calls']:,}", f"{own(of):,}", f"{own(of) / of['function']:.0%}",
         f"{BUDGET[name]:,},000"]
        for name, of in result["functions"].items()
    ]
    return TEXT.format(**{**result, "table": table(head, rows)})
