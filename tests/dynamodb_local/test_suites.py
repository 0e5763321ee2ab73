"""Runs suites of tests/tests on AWS's DynamoDB Local. Exactly the tests in docs/dynamodb-local.md must fail.

Usage: test_suites.py <the folder of DynamoDBLocal.jar> <suites, such as cart::cost, bank::* or *::requests>
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


def suites(patterns):
    """Returns the test modules that match a pattern, such as `bank::requests`."""
    files = (ROOT / "tests/tests").glob("*/*.rs")
    every = sorted(f"{path.parent.name}::{path.stem}" for path in files if path.stem != "main")
    missing = [pattern for pattern in patterns if not fnmatch.filter(every, pattern)]
    if missing:
        sys.exit(f"no suite is named {' '.join(missing)}; there are {' '.join(every)}")
    return [name for name in every if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def run(executable, modules, url):
    """Runs modules of a test executable, prints its output, and returns the result of each test."""
    command = ["cargo", "test", "--package", "system-tests", "--test", executable, "--"]
    command += [f"{module}::" for module in modules]
    environment = {**os.environ, "DYNAMODB_LOCAL": url, "RUST_BACKTRACE": "0"}
    options = {"cwd": ROOT, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    ends = {}
    with subprocess.Popen(command, **options) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            if ended := re.match(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)", line):
                # A filter matches any part of a test name, so other modules may have run.
                if ended[1].split("::")[0] in modules:
                    ends[f"{executable}::{ended[1]}"] = ended[2]
    return ends


def suite_of(test):
    """Returns `bank::lists` for `bank::lists::all::pages_are_in_order`."""
    return "::".join(test.split("::")[:2])


def main(folder, *patterns):
    names = suites(patterns)
    listed = set(re.findall(r"^- `(\w+::\w+::\S+)`", DIFFERENCES.read_text(), re.M))
    ends = {}
    with dynamodb_local(folder) as url:
        for executable, members in itertools.groupby(names, lambda name: name.split("::")[0]):
            ends |= run(executable, [name.split("::")[1] for name in members], url)
    if missing := sorted(set(names) - {suite_of(test) for test in ends}):
        sys.exit(f"no test ran of {' '.join(missing)}")
    failed = {test for test, end in ends.items() if end == "FAILED"}
    listed = {test for test in listed if suite_of(test) in names}
    for test in sorted(failed - listed):
        print(f"{test} failed, but is not listed in {DIFFERENCES.relative_to(ROOT)}")
    for test in sorted(listed - failed):
        print(f"{test} is listed in {DIFFERENCES.relative_to(ROOT)}, but did not fail")
    as_listed = f"as {DIFFERENCES.relative_to(ROOT)} lists" if failed == listed else "see above"
    print(f"{len(ends)} tests of {len(names)} suites ran against DynamoDB Local; {len(failed)} failed, {as_listed}")
    sys.exit(0 if failed == listed else 1)


main(*sys.argv[1:])
