"""Builds and runs the tests of a crate, a service or the templates.

A suite is `keys --lib` for the unit tests of a crate, the name of an integration test such as
`contract` or `system`, or `template` for the test of the templates.
"""

import contextlib
import filecmp
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import arms
import copied
from copied import ROOT, TARGET, TREE, WORK

# The tests find the binaries of the functions in the folder above.
BASE = TARGET / "debug" / "planted"
# Seconds of a test that has not run yet.
UNKNOWN = 90
# The tests run in four rounds. These are the maximum seconds of a test in the first three.
ROUNDS = (1, 3, 10)
THREADS = "4"
# Tests that compare a text with the code. They say nothing about the behaviour.
TEXTS = (
    "prose::",
    "docs::access_patterns_page_is_current",
    "lake_tables::page_has_the_columns_of_the_schemas",
    "lake_tables::queries_are_those_of_the_schemas",
    "workbench::models_are_current",
)
PYTHON = ROOT / ".venv/sam/bin/python"


def build(suite):
    """Builds the tests. Returns the executable and the folder in which it runs, or None."""
    if suite == "template":
        return [str(PYTHON), "tests/template/test_template.py"], TREE
    name, *option = suite.split()
    chosen = option or ["--test", name]
    # With system-tests, all builds have the same features, and share the built dependencies.
    packages = ["--package", "system-tests", *(["--package", name] if option else [])]
    done = copied.cargo("test", *packages, *chosen, "--no-run", "--message-format=json-render-diagnostics")
    if done.returncode != 0:
        print(copied.errors(done)[:1_000], flush=True)
        return None
    built = [json.loads(line) for line in done.stdout.splitlines() if '"executable":"' in line]
    [built] = [one for one in built if one["target"]["name"] == name]
    return [built["executable"]], pathlib.Path(built["manifest_path"]).parent


def run(command, folder, tests, **variables):
    """Runs tests until one fails. Returns its name, None, `(hangs)` or `(crashes)`.

    `tests` has the seconds of each test.
    """
    environment = {"RUST_TEST_THREADS": THREADS, **os.environ, "RUST_BACKTRACE": "0", **variables}
    # The tests hang if none ends in this time.
    silence = 60 + 4 * max(tests.values())
    process = subprocess.Popen(
        [*command, "--exact", *tests], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, errors="replace", start_new_session=True,
    )
    hangs, ended, first = threading.Event(), False, ""

    def stop():
        hangs.set()
        os.killpg(process.pid, signal.SIGKILL)

    try:
        timer = threading.Timer(silence, stop)
        timer.start()
        for line in process.stdout:
            timer.cancel()
            if failed := re.match(r"test (\S+) (?:- should panic )?\.\.\. FAILED", line):
                return failed[1]
            ended |= line.startswith("test result: ")
            # The test of the templates prints a line for each fault. The first one is the name.
            first = first or ("" if re.search(r" resources, \d+ functions$", line) else line.strip())
            timer = threading.Timer(silence, stop)
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
    """The build with all bugs, and its tests without an active bug."""

    def __init__(self, bugs):
        self.file = WORK / "base.json"
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        codes = {bug.name: bug.code for bug in bugs}
        # The bugs that do not compile with the others, with their code.
        apart = {name for name, code in known.get("apart", {}).items() if codes.get(name) == code}
        self.texts = arms.plant([bug for bug in bugs if not bug.stack], apart, known.get("digest"))
        self.written = self.texts
        digest = copied.sync(self.texts)
        self.tree = {"built": {}, "tests": {}}
        if known.get("digest") == digest:
            self.tree = known
        elif known.get("digest", digest)[1] == digest[1]:
            self.tree["tests"] = known.get("tests", {})
        self.tree["digest"] = digest
        self.prepared = set()
        self.tree["apart"] = {name: codes[name] for name in sorted(apart)}
        self.save()

    def save(self):
        WORK.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.tree, indent=1))

    @contextlib.contextmanager
    def with_only(self, bug):
        """Writes a file with one bug, without the other bugs of the file."""
        text = bug.place.file.read_text()
        new = text[: bug.place.start] + bug.text + text[bug.place.end :]
        self.written = {**self.texts, bug.place.file: new}
        copied.sync(self.written)
        try:
            yield
        finally:
            self.written = self.texts
            copied.sync(self.texts)

    def compiles(self, bug):
        with self.with_only(bug):
            return arms.check().returncode == 0

    def prepare(self, suite):
        """Builds a suite, and runs each of its tests alone. Records the time, and the bugs that it reaches."""
        if suite in self.prepared:
            return
        self.prepared.add(suite)
        tests = self.tree["tests"].setdefault(suite, {})
        if suite not in self.tree["built"]:
            print(f"building {suite}", flush=True)
            if not (built := build(suite)):
                sys.exit(f"{suite} does not compile")
            command, folder = built
            if suite == "template":
                tests.clear()
            else:
                copy = BASE / suite.replace(" ", "")
                if not copy.exists() or not filecmp.cmp(command[0], copy, shallow=False):
                    tests.clear()
                BASE.mkdir(parents=True, exist_ok=True)
                command = [shutil.copy2(command[0], copy)]
            self.tree["built"][suite] = [[str(part) for part in command], str(folder)]
            self.save()
        command, folder = self.tree["built"][suite]
        if suite == "template":
            names = [suite]
        else:
            listed = subprocess.run([*command, "--list", "--format=terse"], cwd=folder, capture_output=True, text=True)
            names = re.findall(r"^(\S+): test$", listed.stdout, re.M)
        names = [name for name in names if name not in tests and not name.startswith(TEXTS)]
        with ThreadPoolExecutor(int(os.environ.get("RUST_TEST_THREADS", THREADS))) as pool:
            for name, result in zip(names, pool.map(lambda name: self.alone(suite, name), names)):
                tests[name] = result
                self.save()

    def alone(self, suite, test):
        """Returns the seconds of a test and the bugs that it reaches, or None if it fails without a bug."""
        with tempfile.NamedTemporaryFile("r") as reached:
            for _ in range(2):
                begin = time.monotonic()
                if not run(*self.tree["built"][suite], {test: UNKNOWN}, REACHED=reached.name):
                    # The test of the templates always runs first.
                    seconds = 0 if suite == "template" else round(time.monotonic() - begin, 1)
                    return seconds, sorted(set(reached.read().split()))
        print(f"{suite} {test} fails without a bug", flush=True)

    def tests(self, suite, number, bug=None):
        """The seconds of the tests of a round that pass without a bug, and reach this one."""
        results = {name: result for name, result in self.tree["tests"][suite].items() if result}
        return {
            name: seconds
            for name, (seconds, reached) in results.items()
            if sum(seconds > most for most in ROUNDS) == number and (bug is None or bug.name in reached)
        }

    def passes(self, suite, test):
        """Whether a test passes without a bug. Forgets a test that fails."""
        copied.sync(self.texts)
        failed = run(*self.tree["built"][suite], {test: UNKNOWN})
        copied.sync(self.written)
        if not failed:
            return True
        print(f"{suite} {test} also fails without a bug", flush=True)
        self.tree["tests"][suite][test] = None
        self.save()
        return False
