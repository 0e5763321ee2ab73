"""Runs a local stack on free ports, for tests over HTTP."""

import contextlib
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]


def free_ports(count):
    """Returns free ports below the range of ephemeral ports, so that the system does not assign them to other processes."""
    free = []
    for port in random.sample(range(10_000, 30_000), 1_000):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            free.append(str(port))
        if len(free) == count:
            return free
    sys.exit("there are no free ports")


def wait_for(what, condition, seconds=60):
    """Waits until the condition is true, and returns its value. An OSError counts as false."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := condition():
                return found
        time.sleep(0.05)
    sys.exit(f"waited {seconds} seconds for {what}")


def serves(url):
    try:
        with urllib.request.urlopen(f"{url}/_local/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextlib.contextmanager
def local_stack(binary, *options):
    """Runs the binary `local`, yields the API's URL once the stack serves, and stops it at the end."""
    port, dynamodb_port = free_ports(2)
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        ports = ["--port", port, "--dynamodb-port", dynamodb_port, "--lake", folder]
        running = subprocess.Popen([binary, "run", *ports, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not serves(url):
                if running.poll() is not None or time.monotonic() > end:
                    sys.exit("the local stack does not serve")
                time.sleep(0.05)
            yield url
        finally:
            running.terminate()
            running.wait(20)


def token(binary, *options):
    """Returns a token of the local stack."""
    made = subprocess.run([binary, "token", *options], check=True, stdout=subprocess.PIPE, text=True)
    return made.stdout.strip()
