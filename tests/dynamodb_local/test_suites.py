"""The suites of tests/tests against AWS's DynamoDB Local; what fails must be what docs/dynamodb-local.md lists.

Usage: test_suites.py <the folder of DynamoDBLocal.jar> <suites, such as cart_cost or *_requests>
"""

import os
import pathlib
import re
import subprocess
import sys

from server import dynamodb_local

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIFFERENCES = ROOT / "docs/dynamodb-local.md"


def suites(patterns):
    folder = ROOT / "tests/tests"
    found = {pattern: sorted(path.stem for path in folder.glob(f"{pattern}.rs")) for pattern in patterns}
    missing = [pattern for pattern, names in found.items() if not names]
    if missing:
        sys.exit(f"there is no suite {' '.join(missing)} in {folder.relative_to(ROOT)}")
    return sorted({name for names in found.values() for name in names})


def run(names, url):
    """Runs the suites, shows what they say, and gives how each test of them ended."""
    command = ["cargo", "test", "--workspace", "--no-fail-fast"]
    command += [part for name in names for part in ("--test", name)]
    environment = {**os.environ, "DYNAMODB_LOCAL": url, "RUST_BACKTRACE": "0"}
    told = {"cwd": ROOT, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    ends, suite = {}, None
    with subprocess.Popen(command, **told) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            if begun := re.match(r"\s*Running tests/(\w+)\.rs", line):
                suite = begun[1]
            if ended := re.match(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)", line):
                ends[f"{suite}::{ended[1]}"] = ended[2]
    missing = set(names) - {test.split("::")[0] for test in ends}
    if missing:
        sys.exit(f"no test ran of {' '.join(sorted(missing))}")
    return ends


def main(folder, *patterns):
    names = suites(patterns)
    listed = set(re.findall(r"^- `(\w+::\S+)`", DIFFERENCES.read_text(), re.M))
    with dynamodb_local(folder) as url:
        ends = run(names, url)
    failed = {test for test, end in ends.items() if end == "FAILED"}
    listed = {test for test in listed if test.split("::")[0] in names}
    for test in sorted(failed - listed):
        print(f"{test} failed, and is not in {DIFFERENCES.relative_to(ROOT)}")
    for test in sorted(listed - failed):
        print(f"{test} is in {DIFFERENCES.relative_to(ROOT)}, and did not fail")
    as_listed = f"as {DIFFERENCES.relative_to(ROOT)} has it" if failed == listed else "see above"
    print(f"{len(ends)} tests of {len(names)} suites ran against DynamoDB Local; {len(failed)} failed, {as_listed}")
    sys.exit(0 if failed == listed else 1)


main(*sys.argv[1:])
