"""Runs the smoke test on local stacks, without a token and with a required one.

Usage: test_local.py <the binary `local`>
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack, token  # noqa: E402


SERVICES = ("bank", "cart", "wellness", "ledger")


def smoke(url, token, services=SERVICES):
    walk = [sys.executable, ROOT / "tests/smoke/smoke.py", *(f"{service}={url}" for service in services)]
    return subprocess.run(walk, env={**os.environ, "TOKEN": token}, check=False).returncode == 0


def main(binary):
    scopes = [part for domain in SERVICES for part in ("--scope", f"{domain}:operate")]
    with local_stack(binary) as url:
        held = smoke(url, "")
    with local_stack(binary, "--auth", "required") as url:
        held = smoke(url, token(binary, *scopes)) and held
    # Run each service alone, to find dependencies between stacks.
    for service in SERVICES:
        with local_stack(binary, "--stack", service) as url:
            held = smoke(url, "", [service]) and held
    sys.exit(0 if held else 1)


main(*sys.argv[1:])
