"""Runs a part of the binary `measure`, which measures the functions themselves, and reads what it prints."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def measured(part):
    command = [ROOT / "target/release/measure", part]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
