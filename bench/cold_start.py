"""Measures the cold start of schedule-payment, and of the functions to compare it with.

The other functions are equivalent functions in other languages, and minimal functions. This script
serves a Runtime API and a DynamoDB, so the times contain only the work of the functions. The
functions run at full CPU, and as in Lambda: at full CPU until the first `next`, and at the CPU share
of 128 MB afterwards (docs/decisions/measuring.md).
"""

import contextlib
import json
import os
import pathlib
import platform
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

import cpu_share
from cold_start_text import section  # noqa: F401
from contestants import OURS, ROOT, contestants
from fake_lambda import DynamoDB, Runtime
from spread import ratios, spread

EVENT = (ROOT / "events/bank/schedule-payment.json").read_bytes()
WARM_UP = 2
MEGABYTES = 128

# Each row has the value to compare, the function to compare ours with, and the maximum ratio. None
# means no maximum.
TARGETS = [
    ("next", "connected", 1.05),
    ("answer", "late", None),
    ("answer", "node", 1 / 10),
    ("answer", "python", 1 / 10),
    ("answer", "go", None),
    ("memory", "node", 1 / 4),
]


class Bench:
    def __init__(self, folder):
        self.folder, self.runtime, self.dynamo = pathlib.Path(folder), Runtime(), DynamoDB(folder)

    def environment(self, contestant):
        roots = self.folder / f"{contestant.name}.pem"
        if not roots.exists():
            roots.write_bytes(contestant.roots + b"\n" + self.dynamo.certificate.read_bytes())
        return {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.runtime.port}", "AWS_LAMBDA_FUNCTION_NAME": "schedule-payment",
            "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(MEGABYTES),
            "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c",
            "AWS_ENDPOINT_URL_DYNAMODB": f"https://localhost:{self.dynamo.port}", "PATH": os.environ["PATH"],
            "PAYMENTS_TABLE": "payments", "TRANSACTIONS_TABLE": "transactions", "DUE_INDEX": "GSI1",
            "BANK_JOBS_TABLE": "jobs", "TRANSACTION_SERVICE": "none", "OVERDUE_MINUTES": "30",
            "WRITE_SHARDS": "5", "READ_SHARDS": "5", contestant.roots_variable: str(roots), **contestant.environment,
        }

    def run(self, contestant, events, group=None):
        """Runs a contestant until it has responded to all events.

        The process joins the cgroup `group` at its first `next`."""
        started = threading.Event()

        def at_first():
            if group:
                started.wait()
                pathlib.Path(group).write_text(str(process.pid))

        self.runtime.begin(events, at_first)
        self.dynamo.calls.clear()
        environment = self.environment(contestant)
        start = time.perf_counter()
        process = subprocess.Popen(contestant.command, env=environment, stdout=subprocess.DEVNULL)
        started.set()
        try:
            if not self.runtime.done.wait(60):
                raise SystemExit(f"{contestant.name} does not respond")
            # Read the peak memory from /proc. wait4 reports a higher peak, because the process
            # starts as a copy of this script.
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        finally:
            # Popen.kill would reap an exited process. wait4 could then not return its resource
            # usage.
            os.kill(process.pid, signal.SIGKILL)
            _, process.returncode, usage = os.wait4(process.pid, 0)
        (first, second, *_), (answered, again, *_) = self.runtime.asked, [at for at, _ in self.runtime.answered]
        return {
            "next": 1000 * (first - start),
            # Exclude the time between the first `next` and its response. The process may join the
            # group in between.
            "answer": 1000 * (first - start + answered - self.runtime.handed[0]),
            "second": 1000 * (again - second),
            "cpu": 1000 * (usage.ru_utime + usage.ru_stime),
            "memory": int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024,
        }

    def behaviour(self, contestant):
        """Returns the contestant's responses and DynamoDB calls.

        Values that differ between runs are removed."""
        self.run(contestant, [EVENT, EVENT])
        answers = []
        for _, answer in self.runtime.answered:
            headers = [answer["headers"].get(name) for name in ("content-type", "location")]
            answers.append([answer["statusCode"], *headers, json.loads(answer["body"])])
        calls = [call for call in self.dynamo.calls if call[1].get("Key", {}).get("PK") != {"S": "#"}]
        for _, request in calls:
            request.get("Item", {}).pop("GSI1PK", None)
            # Debian's SDK for Go does not know this parameter.
            request.pop("ReturnValuesOnConditionCheckFailure", None)
        text = json.dumps([answers, calls], sort_keys=True)
        return re.sub(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)

    def check(self, everybody):
        """Checks that all contestants that schedule payments behave in the same way."""
        expected = None
        for contestant in everybody:
            if contestant.schedules:
                behaviour = self.behaviour(contestant)
                expected = expected or behaviour
                if behaviour != expected:
                    raise SystemExit(f"{contestant.name} behaves differently:\n{behaviour}\nexpected:\n{expected}")

    def rounds(self, everybody, number, group=None):
        """Runs all contestants in each round, in random order. Returns the rows by contestant."""
        rows = {contestant.name: [] for contestant in everybody}
        for turn in range(number + WARM_UP):
            for contestant in random.sample(everybody, len(everybody)):
                row = self.run(contestant, [EVENT, EVENT], group)
                if any(answer["statusCode"] != 201 for _, answer in self.runtime.answered):
                    raise SystemExit(f"{contestant.name} answered {self.runtime.answered}")
                if turn >= WARM_UP:
                    rows[contestant.name].append(row)
                if group:
                    # The pause lets the next process start with an unused CPU share.
                    time.sleep(3 * cpu_share.PERIOD / 1e6)
        return rows


def told(rows):
    """Returns the medians and quartiles of the values, and of the ratios per round."""
    columns = {name: {what: [row[what] for row in runs] for what in runs[0]} for name, runs in rows.items()}
    against = []
    for what, other, most in TARGETS:
        ratio = ratios(columns["ours"][what], columns[other][what])
        target = {"target": round(most, 3), "holds": ratio["median"] <= most} if most else {}
        against.append({"what": what, "against": other, **ratio, **target})
    return {
        "limit": {name: ratios(columns[name]["next"], columns["hello"]["next"]) for name in ("connected", "late")},
        "contestants": {name: {what: spread(values) for what, values in of.items()} for name, of in columns.items()},
        "ratios": against,
    }


def measure(rounds=30, ours=OURS):
    """Measures the part "cold_start" of the results."""
    everybody = contestants(ours)
    # Other work on the machine adds noise. A higher priority of this process reduces the noise, if
    # the user may set a higher priority.
    with contextlib.suppress(PermissionError):
        os.nice(-10)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        bench.check(everybody)
        result = {**versions(), "megabytes": MEGABYTES, "warm_up": WARM_UP}
        result["full"] = told(bench.rounds(everybody, rounds))
        try:
            with cpu_share.of_memory(MEGABYTES) as group:
                result["lambda"] = told(bench.rounds(everybody, max(rounds // 2, 5), group))
        except cpu_share.NoShare as reason:
            result["no_share"] = str(reason)
    return result


def versions():
    told = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sdk = told("dpkg-query", "--show", "--showformat=${source:Upstream-Version}", "golang-github-aws-aws-sdk-go-v2-dev")
    return {
        "node": told("node", "--version").strip().removeprefix("v"), "python": platform.python_version(),
        "go": told("go", "version").split()[2].removeprefix("go"), "go_sdk": sdk,
    }
