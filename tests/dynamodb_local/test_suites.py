"""Runs tests of tests/tests on AWS's DynamoDB Local. Exactly the tests in docs/dynamodb-local.md must fail.

Usage: test_suites.py <the folder of DynamoDBLocal.jar> <tests or modules, such as system::bank::* or contract::*::who_may>
"""

import fnmatch
import itertools
import os
import pathlib
import re
import subprocess
import sys

from server import dynamodb_local

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIFFERENCES = ROOT / "docs/dynamodb-local.md"


def cargo(executable, *arguments):
    return ["cargo", "test", "--package", "system-tests", "--test", executable, "--", *arguments]


def tests(patterns):
    """Returns the tests that match a pattern themselves or in a module, with the names of their executables."""
    every = []
    for folder in sorted((ROOT / "tests/tests").iterdir()):
        listed = subprocess.run(cargo(folder.name, "--list"), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        every += [f"{folder.name}::{name}" for name in re.findall(r"^(\S+): test$", listed.stdout, re.M)]
    found = {pattern: fnmatch.filter(every, pattern) + fnmatch.filter(every, f"{pattern}::*") for pattern in patterns}
    if missing := [pattern for pattern, names in found.items() if not names]:
        sys.exit(f"no test is named {' '.join(missing)}")
    return sorted(set().union(*found.values()))


def run(executable, names, url):
    """Runs tests of an executable, prints the output, and returns the result of each test."""
    environment = {**os.environ, "DYNAMODB_LOCAL": url, "RUST_BACKTRACE": "0"}
    options = {"cwd": ROOT, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    ends = {}
    with subprocess.Popen(cargo(executable, "--exact", *names), **options) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            if ended := re.match(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)", line):
                ends[f"{executable}::{ended[1]}"] = ended[2]
    return ends


def main(folder, *patterns):
    names = tests(patterns)
    listed = set(re.findall(r"^- `(\w+::\w+::\S+)`", DIFFERENCES.read_text(), re.M))
    ends = {}
    with dynamodb_local(folder) as url:
        for executable, members in itertools.groupby(names, lambda name: name.split("::")[0]):
            ends |= run(executable, [name.split("::", 1)[1] for name in members], url)
    if missing := sorted(set(names) - set(ends)):
        sys.exit(f"these tests did not run: {' '.join(missing)}")
    failed = {test for test, end in ends.items() if end == "FAILED"}
    listed &= set(names)
    for test in sorted(failed - listed):
        print(f"{test} failed, but is not listed in {DIFFERENCES.relative_to(ROOT)}")
    for test in sorted(listed - failed):
        print(f"{test} is listed in {DIFFERENCES.relative_to(ROOT)}, but did not fail")
    as_listed = f"as {DIFFERENCES.relative_to(ROOT)} lists" if failed == listed else "see above"
    print(f"{len(ends)} tests ran against DynamoDB Local; {len(failed)} failed, {as_listed}")
    sys.exit(0 if failed == listed else 1)


main(*sys.argv[1:])
