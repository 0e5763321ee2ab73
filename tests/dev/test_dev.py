"""Tests that `make dev` restarts the stack after a change, keeps its data, and keeps serving if a build fails.

A fake cargo decides whether the build passes. Usage: test_dev.py <the binary `local`>
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import free_ports, serves  # noqa: E402

PAYMENT = {"scheduledTime": "2099-12-01T09:30:00Z", "data": 1}


def wait_for(what, condition):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    sys.exit(f"waited a minute for {what}")


def checkout(folder):
    """Creates a folder with the files that `make dev` watches, and a cargo that fails while the file `broken` exists."""
    crate = folder / "crates/local"
    crate.mkdir(parents=True)
    (crate / "dev.py").write_text((ROOT / "crates/local/dev.py").read_text())
    (crate / "lib.rs").write_text("// 0\n")
    (folder / "stacks").mkdir()
    for file in [*(ROOT / name for name in ("Cargo.toml", "Cargo.lock", "template.yaml")), *(ROOT / "stacks").glob("*.yaml")]:
        (folder / file.relative_to(ROOT)).write_text(file.read_text())
    (folder / "events").symlink_to(ROOT / "events")
    cargo = folder / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(f"#!/bin/sh\necho build >> {folder}/builds\n! test -e {folder}/broken\n")
    cargo.chmod(0o755)
    return crate / "lib.rs"


def refuses_old_data(binary):
    """Checks that `make dev` ends with the line that says how to remove a data file of an older version."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        checkout(folder)
        data, [port, dynamodb_port] = folder / "data", free_ports(2)
        serve = [pathlib.Path(binary).resolve(), "run", "--port", port, "--dynamodb-port", dynamodb_port]
        command = [sys.executable, folder / "crates/local/dev.py", port, *serve, "--data", data]
        environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        with sqlite3.connect(data) as old:
            for table in ("_config", "_stream_records", "_tables"):
                old.execute(f"CREATE TABLE {table} (a)")
        old.close()
        ended = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=60)
        [line] = ended.stderr.splitlines()
        assert ended.returncode == 1 and f"remove it with: rm -f {data} " in line, ended
        subprocess.run(line.rpartition("remove it with: ")[2], shell=True, check=True)
        assert not data.exists()
    print("make dev: refused a data file of an older version")


def main(binary):
    refuses_old_data(binary)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, [port, dynamodb_port] = checkout(folder), free_ports(2)
        url = f"http://127.0.0.1:{port}"
        serve = [pathlib.Path(binary).resolve(), "run", "--port", port, "--dynamodb-port", dynamodb_port]
        command = [sys.executable, folder / "crates/local/dev.py", port, *serve, "--data", folder / "data"]
        environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        log = folder / "log"

        def builds():
            return (folder / "builds").read_text().count("build")

        with log.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as dev:
            try:
                wait_for("the stack", lambda: serves(url))
                headers = {"content-type": "application/json"}
                body = json.dumps(PAYMENT).encode()
                request = urllib.request.Request(f"{url}/bank/accounts/A-1/payments", body, headers)
                with urllib.request.urlopen(request) as answer:
                    location = answer.headers["location"]
                (folder / "broken").touch()
                source.write_text("// 1\n")
                wait_for("a build that fails", lambda: builds() == 2)
                assert serves(url), "the stack keeps serving while a build fails"
                (folder / "broken").unlink()
                source.write_text("// 2\n")
                wait_for("the restart", lambda: "dev: restarted with the change" in log.read_text())
                with urllib.request.urlopen(f"{url}{location}") as answer:
                    assert json.load(answer)["status"] == "SCHEDULED"
                for number in (4, 5):
                    saved = folder / "bank.new"
                    saved.write_text((ROOT / "stacks/bank.yaml").read_text())
                    saved.rename(folder / "stacks/bank.yaml")  # Most editors save this way.
                    wait_for(f"build {number}", lambda: builds() == number)
            finally:
                dev.terminate()
                try:
                    dev.wait(20)
                except subprocess.TimeoutExpired:
                    dev.kill()
                    raise
        assert not serves(url), "the stack ends with make dev"
    print("make dev: restarted once, kept the data, served while a build failed")


main(sys.argv[1])
