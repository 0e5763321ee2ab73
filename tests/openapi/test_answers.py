"""Runs schemathesis with docs/openapi.yaml on a local stack, as the operator and as a caller with few scopes.

Usage: test_answers.py <the binary `local`> [options of schemathesis]
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack, token  # noqa: E402

SCOPES = ["bank:read", "cart:write", "wellness:read", "ledger:read"]


def ask(url, *options):
    """Sends valid and invalid requests. Returns whether every response matches the document."""
    schemathesis = pathlib.Path(sys.executable).with_name("schemathesis")
    config = ROOT / "tests/openapi/schemathesis.toml"
    command = [schemathesis, "--config-file", config, "run", "docs/openapi.yaml", "--url", url, *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main(binary, *options):
    claims = [part for scope in SCOPES for part in ("--scope", scope)]
    stranger = token(binary, *claims, "--account", "0", "--company", "0", "--sub", "0")
    with local_stack(binary) as url:
        as_operator = ask(url, *options)
        as_stranger = ask(url, "--header", f"Authorization: Bearer {stranger}", "--phases", "coverage", *options)
    sys.exit(0 if as_operator and as_stranger else 1)


main(*sys.argv[1:])
