"""AWS's DynamoDB Local on a free port."""

import contextlib
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from local_stack import free_ports  # noqa: E402


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # DynamoDB Local rejects unsigned requests.
    except OSError:
        return False
    return True


def start(folder, port):
    """Starts DynamoDB Local in memory and returns its process."""
    options = ["-inMemory", "-disableTelemetry", "-port", port]
    command = ["java", "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def dynamodb_local(folder):
    """Runs DynamoDB Local, yields its URL once it responds, and stops it at the end."""
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    running = start(folder, port)
    try:
        end = time.monotonic() + 60
        while not answers(url):
            if running.poll() is not None or time.monotonic() > end:
                sys.exit("DynamoDB Local does not answer")
            time.sleep(0.05)
        yield url
    finally:
        running.kill()
        running.wait(20)
