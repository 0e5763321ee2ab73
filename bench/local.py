"""This part measures the start time and the memory of `make run`, and compares them with DynamoDB
Local.

The binary of `make run` was built before, with the development profile. The stack keeps its tables
in memory. It has the API with all functions, all tables with their indexes and streams, and local
substitutes for Firehose and S3. The first time ends when `GET /_local/health` responds, with 503
or 200. The stack then creates the worlds of the services through the functions. The second time
ends when the health is 200.

DynamoDB Local also keeps its data in memory, but has no tables. Its time ends with its first
response. Each round starts both programs once, in random order."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from spread import brackets, ratios, spread, table
from stack import LOCAL, ROOT, call, loaded

sys.path += [str(ROOT / "tests"), str(ROOT / "tests/dynamodb_local")]
from local_stack import free_ports  # noqa: E402
from server import answers, start  # noqa: E402

RIVAL = ROOT / ".dynamodb-local"
ROUNDS, WARM_UP = 15, 2
NAMES = {"ours": "make run", "rival": "DynamoDB Local"}


def waited(is_so, process, begin):
    """Returns the milliseconds until the condition is true."""
    while not is_so():
        if process.poll() is not None or time.perf_counter() > begin + 60:
            sys.exit(f"{process.args[0]} does not respond")
        time.sleep(0.002)
    return 1000 * (time.perf_counter() - begin)


def responds(url):
    """Whether the API responds. The health is 503 until the sample data is loaded."""
    try:
        with urllib.request.urlopen(f"{url}/_local/health", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def ours(binary):
    port, dynamodb_port = free_ports(2)
    with tempfile.TemporaryDirectory() as lake:
        command = [binary, "run", "--port", port, "--dynamodb-port", dynamodb_port, "--lake", lake]
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        try:
            ready = waited(lambda: responds(url), process, begin)
            sample = waited(lambda: loaded(url), process, begin)
            return {"ready": ready, "sample": sample, "memory": memory(process)}
        finally:
            stop(process)


def rival():
    [port] = free_ports(1)
    begin = time.perf_counter()
    process = start(RIVAL, port)
    try:
        ready = waited(lambda: answers(f"http://127.0.0.1:{port}"), process, begin)
        return {"ready": ready, "memory": memory(process)}
    finally:
        stop(process)


def stop(process):
    process.terminate()
    process.wait(20)


def missing():
    """Returns the reason to skip DynamoDB Local, if any."""
    if not shutil.which("java"):
        return "java is missing: DynamoDB Local needs it"
    if not (RIVAL / "DynamoDBLocal.jar").exists():
        return "DynamoDB Local is missing: run make .dynamodb-local/DynamoDBLocal.jar"
    return None


def measure(binary=LOCAL, rounds=ROUNDS):
    """Measures the part "local" of the results."""
    reason = missing()
    runs = {"ours": lambda: ours(binary)} | ({} if reason else {"rival": rival})
    rows = {name: [] for name in runs}
    for turn in range(rounds + WARM_UP):
        for name in random.sample(list(runs), len(runs)):
            row = runs[name]()
            if turn >= WARM_UP:
                rows[name].append(row)
    columns = {name: {what: [row[what] for row in of] for what in of[0]} for name, of in rows.items()}
    compared = () if reason else ("ready", "memory")
    against = {what: ratios(columns["ours"][what], columns["rival"][what]) for what in compared}
    told = {name: {what: spread(values) for what, values in of.items()} for name, of in columns.items()}
    return {"warm_up": WARM_UP, "runs": told, "ratios": against, "missing": reason}


def section(result):
    rows = []
    for name, of in result["runs"].items():
        sample = f"{brackets(of['sample'], 0)} ms" if "sample" in of else ""
        rows.append([NAMES[name], f"{brackets(of['ready'], 0)} ms", sample, f"{brackets(of['memory'], 0)} MB"])
    head = ["", "start to serving", "sample data loaded", "peak memory"]
    if result["missing"]:
        beside = f"DynamoDB Local was not measured: {result['missing']}."
    else:
        ready, memory = (brackets(result["ratios"][what], 2) for what in ("ready", "memory"))
        beside = f"`make run` takes {ready} times as long to start as DynamoDB Local, and uses {memory} times as much memory."
    rounds = f"There are {result['runs']['ours']['ready']['n']} rounds, after {result['warm_up']} warm-up rounds."
    return "\n\n".join(["## Local stack", __doc__.strip(), table(head, rows).rstrip(), f"{rounds} {beside}"]) + "\n"
