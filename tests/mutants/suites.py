"""Builds and runs the tests of a crate, a service or the templates.

A suite is `keys --lib` for the unit tests of a crate, the name of an integration test such as
`bank` or `system`, or `template` for the test of the templates.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import copied
from copied import ROOT, TREE, WORK

BASE = WORK / "base"
# Seconds without a finished test, after which the tests hang.
SILENCE = 420
PYTHON = ROOT / ".venv/sam/bin/python"


def build(suite):
    """Builds the tests. Returns the executable and the folder in which it runs, or None."""
    if suite == "template":
        return [str(PYTHON), "tests/template/test_template.py"], TREE
    name, *option = suite.split()
    chosen = option or ["--test", name]
    # With system-tests, all builds have the same features, and share the built dependencies.
    packages = ["--package", "system-tests", *(["--package", name] if option or name == "lake" else [])]
    done = copied.cargo("test", *packages, *chosen, "--no-run", "--message-format=json-render-diagnostics")
    if done.returncode != 0:
        print(copied.errors(done)[:1_000], flush=True)
        return None
    built = [json.loads(line) for line in done.stdout.splitlines() if '"executable":"' in line]
    [built] = [one for one in built if one["target"]["name"] == name]
    return [built["executable"]], pathlib.Path(built["manifest_path"]).parent


def run(command, folder, *arguments):
    """Runs tests until one fails. Returns its name, None, `(hangs)` or `(crashes)`."""
    environment = {"RUST_TEST_THREADS": "4", **os.environ, "RUST_BACKTRACE": "0"}
    process = subprocess.Popen(
        [*command, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, errors="replace", start_new_session=True,
    )
    hangs, ended, first = threading.Event(), False, ""

    def stop():
        hangs.set()
        os.killpg(process.pid, signal.SIGKILL)

    try:
        timer = threading.Timer(SILENCE, stop)
        timer.start()
        for line in process.stdout:
            timer.cancel()
            if failed := re.match(r"test (\S+) (?:- should panic )?\.\.\. FAILED", line):
                return failed[1]
            ended |= line.startswith("test result: ")
            # The test of the templates prints a line for each fault. The first one is the name.
            first = first or ("" if re.search(r" resources, \d+ functions$", line) else line.strip())
            timer = threading.Timer(SILENCE, stop)
            timer.start()
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    if hangs.is_set():
        return "(hangs)"
    if code != 0 and command[0] == str(PYTHON):
        return first or "(crashes)"
    return None if ended or command[0] == str(PYTHON) else "(crashes)"


class Base:
    """The tests without a bug, and those of them that fail."""

    def __init__(self, digest):
        self.file = BASE / "tree.json"
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.tree = known if known.get("digest") == digest else {"digest": digest, "built": {}, "failing": {}}

    def save(self):
        BASE.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.tree, indent=1))

    def prepare(self, suites):
        for suite in suites:
            if suite in self.tree["built"]:
                continue
            print(f"building {suite} without a bug", flush=True)
            if not (built := build(suite)):
                sys.exit(f"{suite} does not compile without a bug")
            command, folder = built
            if suite == "template":
                if fault := run(command, folder):
                    sys.exit(f"the test of the templates fails without a bug: {fault}")
            else:
                BASE.mkdir(parents=True, exist_ok=True)
                command = [shutil.copy2(command[0], BASE / suite.replace(" ", ""))]
            self.tree["built"][suite] = [[str(part) for part in command], str(folder)]
            self.save()

    def passes(self, suite, test):
        if suite == "template" or test.startswith("("):
            return True
        if run(*self.tree["built"][suite], "--exact", test) is None:
            return True
        print(f"{suite} {test} also fails without a bug", flush=True)
        self.tree["failing"].setdefault(suite, []).append(test)
        self.save()
        return False
