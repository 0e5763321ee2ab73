"""Runs a part of the binary `measure` and parses its output."""

import json
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
MEASURE = ROOT / "target/release/measure"
# The development build compiles faster. Use this binary if only counts matter.
UNOPTIMISED = ROOT / "target/debug/measure"


def processor():
    """Returns the name of this machine's processor."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    return next((line.split(": ")[1] for line in cpu.splitlines() if line.startswith("model name")), platform.machine())


def measured(*arguments, binary=MEASURE):
    command = [binary, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
