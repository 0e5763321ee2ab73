"""Measures the requests per second of the local stack with and without its console (docs/decisions/console.md)."""

import json
import subprocess

from spread import brackets, ratios, spread, table
from stack import LOCAL, ROOT

# The requirement: the open console leaves this part of the throughput.
LEAST = 0.9
NAMES = {"without": "no console (`--no-console`)", "closed": "console, closed", "open": "console, open in Chromium"}

TEXT = """\
## Console

Eight clients schedule payments on the local stack and list them. Each round starts a stack without the
[console](decisions/console.md), one with it, and one whose page `Trace` is open in a browser, in random order. The
browser runs on the same machine. The ratio divides the requests per second by those of the closed console in the same
round. With the page open, the ratio must be at least {least}.

{times}"""


def measure():
    """Measures the part "console" of the results."""
    run = subprocess.run(["node", "bench/console.mjs", str(LOCAL), ".tools"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    rates = json.loads(run.stdout)
    return {name: {"rate": spread(rates[name]), "ratio": ratios(rates[name], rates["closed"])} for name in NAMES}


def section(result):
    lines = []
    for name, text in NAMES.items():
        met = "met" if result[name]["ratio"]["median"] >= LEAST else "**missed**"
        lines.append([text, brackets(result[name]["rate"], 0), brackets(result[name]["ratio"], 2), met if name == "open" else ""])
    return TEXT.format(least=LEAST, times=table(["stack", "requests per second", "ratio", "requirement"], lines))
