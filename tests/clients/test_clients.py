"""Generates a TypeScript and a Python client from docs/openapi.yaml and calls a local stack with them.

A third client, from openapi-generator, is only compiled and compared with the document.

Usage: test_clients.py <the binary `local`> <folder of the npm packages>
The interpreter must have openapi-python-client and openapi-generator-cli, which needs Java. See
docs/decisions/openapi.md.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from ruamel.yaml import YAML

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


def openapi_generator(packages):
    """Generates and compiles a client with openapi-generator. Checks that its models have every member of the document."""
    folder = packages / "generator"
    shutil.rmtree(folder, ignore_errors=True)
    tool = pathlib.Path(sys.executable).with_name("openapi-generator-cli")
    run(tool, "generate", "-i", DOCUMENT, "-g", "typescript-fetch", "-o", folder)
    run(packages / "node_modules/.bin/tsc", *STRICT, "--noEmit", "--skipLibCheck", "--typeRoots", packages / "node_modules/@types", "--types", "node", "--lib", "es2022,dom", folder / "index.ts")
    schemas = YAML(typ="safe").load(DOCUMENT)["components"]["schemas"]
    wanted = [(schema, member) for schema in schemas for member in members(schemas, schemas[schema])]
    lost = [f"{schema}.{member}" for schema, member in wanted if not re.search(rf"^    {camel_case(member)}\??:", (folder / f"models/{schema}.ts").read_text(), re.MULTILINE)]
    if lost:
        sys.exit(f"openapi-generator loses {lost}")
    print(f"openapi-generator keeps {len(wanted)} members", flush=True)


def members(schemas, schema):
    """Returns the names of all members of an object, including those of its parts."""
    parts = [schemas[part["$ref"].rpartition("/")[2]] if "$ref" in part else part for part in schema.get("allOf", [])]
    return set(schema.get("properties", {})).union(*(members(schemas, part) for part in parts))


def camel_case(name):
    name = re.sub(r"[_-](\w)", lambda found: found[1].upper(), name)
    return name[0].lower() + name[1:]


def main(binary, packages):
    packages = pathlib.Path(packages).resolve()
    openapi_generator(packages)
    program, folder = typescript(packages), python(packages)
    with local_stack(binary) as url:
        print("TypeScript client:", flush=True)
        first = subprocess.run(["node", program, url], check=False).returncode
        print("Python client:", flush=True)
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        second = subprocess.run([sys.executable, HERE / "calls.py", url], env=environment, check=False).returncode
    sys.exit(first or second)


main(*sys.argv[1:])
