"""This part measures the start time and the memory of `make run`.

The binary was built before, with the development profile. The stack keeps its tables in memory. It
has the API with all functions, all tables with their indexes and streams, and local substitutes for
Firehose and S3. The first time ends when `GET /_local/health` responds, with 503 or 200. The stack
then creates the worlds of the services through the functions. The second time ends when the health
is 200."""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from spread import brackets, spread, table
from stack import LOCAL, ROOT, loaded

sys.path.append(str(ROOT / "tests"))
from local_stack import free_ports  # noqa: E402

ROUNDS, WARM_UP = 15, 2


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


def started(binary):
    """Starts a stack. Returns the milliseconds until it serves and has its sample data, and its peak memory in MB."""
    port, dynamodb_port = free_ports(2)
    with tempfile.TemporaryDirectory() as lake:
        command = [binary, "run", "--port", port, "--dynamodb-port", dynamodb_port, "--lake", lake]
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        try:
            ready = waited(lambda: responds(url), process, begin)
            sample = waited(lambda: loaded(url), process, begin)
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return {"ready": ready, "sample": sample, "memory": int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024}
        finally:
            process.terminate()
            process.wait(20)


def measure(binary=LOCAL, rounds=ROUNDS):
    """Measures the part "local" of the results."""
    rows = [started(binary) for _ in range(rounds + WARM_UP)][WARM_UP:]
    return {what: spread([row[what] for row in rows]) for what in rows[0]}


def section(result):
    rows = [["make run", *(f"{brackets(result[what], 0)} {unit}" for what, unit in (("ready", "ms"), ("sample", "ms"), ("memory", "MB")))]]
    rounds = f"There are {result['ready']['n']} rounds, after {WARM_UP} warm-up rounds."
    head = ["", "start to serving", "sample data loaded", "peak memory"]
    return "\n\n".join(["## Local stack", __doc__.strip(), table(head, rows).rstrip(), rounds]) + "\n"
