"""A copy of the tree in target/mutants, in which bugs are planted. Product code never has one."""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
TARGET = WORK / "target"
# The runs write these files. They have no influence on the tests.
WRITTEN = ("docs/mutants.md", "docs/simulation.md", "tests/mutants/", "tests/sim/mutants/")


def lines(value, indent=""):
    """Returns JSON in which an object or a list without nested ones has one line."""
    nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    if not any(isinstance(one, dict | list) for one in nested):
        return json.dumps(value, ensure_ascii=False)
    within = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(within + lines(one, within) for one in value) + f"\n{indent}]"
    members = (f"{within}{json.dumps(name, ensure_ascii=False)}: {lines(one, within)}" for name, one in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def sync(planted={}):
    """Copies the changed files of the tree, with these texts of planted bugs.

    Returns a digest of all files, and one of those that tests read at run time.
    """
    TREE.mkdir(parents=True, exist_ok=True)
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    every, read = hashlib.sha256(), hashlib.sha256()
    for name in sorted(names):
        source, copy = ROOT / name, TREE / name
        content = planted[source].encode() if source in planted else source.read_bytes()
        if not name.startswith(WRITTEN):
            for digest in (every,) if name.endswith(".rs") else (every, read):
                digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
        if copy.is_file() and copy.read_bytes() == content:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        # The time of the copy is new, so that cargo builds it again.
        copy.write_bytes(content)
        shutil.copymode(source, copy)
    for copy in [copy for copy in TREE.rglob("*") if copy.is_file()]:
        if str(copy.relative_to(TREE)) not in names:
            copy.unlink(missing_ok=True)
    return [every.hexdigest(), read.hexdigest()]


def cargo(*arguments):
    """Runs cargo in the copy. Only one build runs at a time."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "RUSTFLAGS": os.environ.get("RUSTFLAGS", "")}
    with open(os.environ.get("BUILD_LOCK", WORK / "lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(["cargo", *arguments], cwd=TREE, env=environment, capture_output=True, text=True)


def errors(done):
    """The errors of a failed build."""
    return "\n".join(line for line in done.stderr.splitlines() if line.startswith(("error", " -->", "  ")))


def write_between(page, begin, end, text):
    """Replaces the lines of a page between two marks."""
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")
