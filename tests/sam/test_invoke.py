"""Invokes every function as `sam local invoke` does, on the tables of a local stack, without Docker.

SAM's own code reads the templates and the files of `make sam-env`, and returns the environment of each function. Its emulator
then runs the binary in this environment. The stack listens at a further address, as it does for containers.
Usage: test_invoke.py <the binary `local`> <folder of the binaries>
"""

import contextlib
import json
import pathlib
import platform
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import samcli
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import free_ports, local_stack, wait_for  # noqa: E402

# A further address of the loopback interface of Linux.
ADDRESS = "127.0.0.2"
TEMPLATES = {"system": ROOT / "template.yaml", **{file.stem: file for file in sorted((ROOT / "stacks").glob("*.yaml"))}}
PROCESSOR = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
EMULATOR = pathlib.Path(samcli.__file__).parent / f"local/rapid/aws-lambda-rie-{PROCESSOR}"


def post(url, body, timeout=60):
    """Returns the status and the JSON body of the answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def environments(name, file, tables):
    """Returns the environment of each function by the name of its binary, and checks the file of `make sam-env`."""
    given = json.loads(file.read_text())
    unused = dict(given)
    stacks, _ = SamLocalStackProvider.get_stacks(str(TEMPLATES[name]))
    functions = SamFunctionProvider(stacks)
    runner = LocalLambdaRunner(None, functions, str(ROOT), str(ROOT), env_vars_values=given)
    found = {}
    for function in functions.get_all():
        id = function.full_path if name == "system" else function.name
        variables = unused.pop(id)
        declared = function.environment["Variables"].keys()
        assert variables.keys() == declared, f"{id}: {variables.keys() ^ declared} are not declared or not set"
        unknown = {value for key, value in variables.items() if key.endswith("_TABLE")} - tables
        assert not unknown, f"{id}: {unknown} are no tables of the stack"
        binary = pathlib.Path(function.codeuri).name
        folder = (TEMPLATES[name].parent if name == "system" else ROOT) / function.codeuri
        assert folder.resolve() == ROOT / "target/lambda" / binary, f"{id}: {folder}"
        environment = runner._make_env_vars(function).resolve()
        assert variables.items() <= environment.items(), f"{id}: SAM does not pass every variable"
        found[binary] = environment
    assert not unused, f"{name} has no functions {sorted(unused)}"
    return found


@contextlib.contextmanager
def running(binary, environment, folder):
    """Runs a function in SAM's emulator. Returns the URL for events."""
    port, api = free_ports(2)
    with (folder / f"{binary.name}.log").open("w") as log:
        options = ["--log-level", "error", "--runtime-interface-emulator-address", f"127.0.0.1:{port}", "--runtime-api-address", f"127.0.0.1:{api}"]
        emulator = subprocess.Popen([EMULATOR, *options, binary], env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/2015-03-31/functions/function/invocations"
            wait_for(binary.name, lambda: is_open(int(port)))
            yield url
        finally:
            emulator.kill()
            emulator.wait(20)


def is_open(port):
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def is_accepted(answer):
    """Returns whether the function has handled the event. A request may be invalid, but DynamoDB must have answered."""
    if not isinstance(answer, dict):
        return True
    return "errorMessage" not in answer and answer.get("statusCode", 200) < 500


def main(local, binaries):
    binaries = pathlib.Path(binaries).resolve()
    with tempfile.TemporaryDirectory() as folder, local_stack(local, "--listen", ADDRESS) as url:
        folder = pathlib.Path(folder)
        with urllib.request.urlopen(f"{url}/_local/health") as answer:
            health = json.load(answer)
        port = health["dynamodb"].rpartition(":")[2]
        command = [local, "sam-env", "--folder", folder, "--host", ADDRESS, "--dynamodb-port", port]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        all_files = {name: environments(name, folder / f"{name}.json", set(health["tables"])) for name in TEMPLATES}
        functions = all_files.pop("system")
        assert functions.keys() == set(health["functions"]), functions.keys() ^ set(health["functions"])
        assert functions.keys() == {name for one in all_files.values() for name in one}
        names = output(local, "event").decode().split()
        events = {name: output(local, "event", name) for name in names}
        count = sum(invoke(binaries / name, environment, folder, url, events) for name, environment in sorted(functions.items()))
    print(f"{len(functions)} functions accept {count} events on the tables of the local stack")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def invoke(binary, environment, folder, url, all_events):
    """Sends every event of a function. Returns the number of events."""
    events = {name: event for name, event in all_events.items() if name.split(".")[0] == binary.name}
    assert events, f"{binary.name} has no event"
    with running(binary, environment, folder) as function:
        for name, event in events.items():
            _, answer = post(function, event)
            # The stack itself also rejects an event that is no batch, for example.
            if not is_accepted(answer) and is_accepted(post(f"{url}/_local/functions/{binary.name}/invocations", event)[1]):
                sys.exit(f"{name}: {answer}\n{(folder / f'{binary.name}.log').read_text()}")
    return len(events)


main(*sys.argv[1:])
