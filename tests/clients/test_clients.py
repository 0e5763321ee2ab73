"""Generates a TypeScript and a Python client from docs/openapi.yaml and calls a local stack with them.

Usage: test_clients.py <the binary `local`> <folder of the npm packages>
The interpreter must have openapi-python-client. See docs/decisions/clients.md.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = ROOT / "docs/openapi.yaml"
STRICT = ["--strict", "--noUncheckedIndexedAccess", "false", "--target", "es2022", "--module", "commonjs"]


def run(*command, **options):
    """Runs a command. Its output is printed only if it fails."""
    done = subprocess.run(
        [str(part) for part in command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{pathlib.Path(str(command[0])).name} failed")
    return done.stdout


def typescript(packages):
    """Generates and compiles the TypeScript client. Returns the compiled program."""
    source = packages / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    tools = packages / "node_modules/.bin"
    run(tools / "openapi-typescript", DOCUMENT, "--default-non-nullable=false", "-o", source / "contract.ts")
    shutil.copy(HERE / "calls.ts", source)
    run(tools / "tsc", *STRICT, "--skipLibCheck", "--typeRoots", packages / "node_modules/@types", "--types", "node", "--lib", "es2022,dom", source / "calls.ts")
    return source / "calls.js"


def python(packages):
    """Generates the Python client. Returns the folder that contains the package `contract`."""
    folder = packages / "python"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tool = pathlib.Path(sys.executable).with_name("openapi-python-client")
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    options = ["--path", DOCUMENT, "--meta", "none", "--output-path", folder / "contract"]
    printed = run(tool, "generate", *options, env=environment)
    if "WARNING" in printed.upper():
        sys.exit(f"{printed}\nthe Python client lacks a part of the contract")
    unnamed = [path.stem for path in (folder / "contract/models").iterdir() if re.search(r"_type_\d", path.stem)]
    if unnamed:
        sys.exit(f"union parts without a name: {unnamed}")
    return folder


def main(binary, packages):
    packages = pathlib.Path(packages).resolve()
    program, folder = typescript(packages), python(packages)
    with local_stack(binary) as url:
        print("TypeScript client:", flush=True)
        first = subprocess.run(["node", program, url], check=False).returncode
        print("Python client:", flush=True)
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        second = subprocess.run([sys.executable, HERE / "calls.py", url], env=environment, check=False).returncode
    sys.exit(first or second)


main(*sys.argv[1:])
