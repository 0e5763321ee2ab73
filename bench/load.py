"""Measures the latency of routes under concurrent connections.

    .venv/bin/python bench/load.py [<binary> [<connections> [<seconds per route>]]]

The script starts a local stack with sample data, and prints the percentiles of each route. The load generator is autocannon.
"""

import json
import os
import subprocess
import sys

from spread import table, verdict
from stack import ROOT, call

sys.path.append(str(ROOT / "tests"))
from local_stack import local_stack  # noqa: E402

CONNECTIONS, SECONDS = 32, 10
RELEASE = ROOT / "target/release/local"
# Maximum p99 of the due page in milliseconds.
TARGET = 150
DAY, PAGE = "2030-12-01", 50
JSON = {"content-type": "application/json"}
NAMES = {
    "schedule": "bank: schedule a payment of the day",
    "due": "bank: due page of the loaded day",
    "refused": "the same, refused before a DynamoDB call",
    "payments": "bank: payments of an account",
    "add": "cart: add an item",
    "cart": "cart: list a cart",
    "activities": "wellness: activities of a company",
    "statement": "ledger: statement",
    "pairs": "ledger: transfer, another pair each time",
    "hot": "ledger: transfer, one pair",
}

TEXT = """\
## Load

`make load PROFILE=release` prints these latencies. {connections} connections send requests to one route of a local stack for {seconds}
seconds, without a pause. The load generator is [autocannon](https://github.com/mcollina/autocannon). The stack is a
release build (`make run PROFILE=release`), and runs on the same two processors as the load generator.
The day has {payments} payments.

{rows}
Target: p99 of the due page is at most {target} ms. Result: {verdict}.

All processors are busy, so the connections wait for each other: a latency is about {connections} times the time between
two answers. On AWS, each concurrent request has its own execution environment.

**Transfers of one pair.** Their high latencies come from retries, not from the engine. With another pair for each
transfer, p99 is {pairs_p99:,.0f} ms. With one pair, it is {hot_p99:,.0f} ms. A transfer that conflicts with another
one reads the accounts again, and waits up to 0.8 s before each retry ([decision](decisions/ledger-throughput.md)).
This happens on AWS as well.
"""


def send(url, name, connections, seconds, method="GET", path="/", headers=None, body=None, bodies=None, keys=1):
    target = {
        "url": url, "run": name, "method": method, "path": path, "headers": headers or {}, "keys": keys,
        "bodies": [json.dumps(one) for one in bodies or [body] if one], "connections": connections, "seconds": seconds,
    }
    environment = {**os.environ, "NODE_PATH": str(ROOT / ".tools/node_modules"), "NODE_NO_WARNINGS": "1"}
    done = subprocess.run(["node", ROOT / "bench/load.js", json.dumps(target)], env=environment, stdout=subprocess.PIPE, check=True, text=True)
    found = json.loads(done.stdout)
    print(" | ".join(row(name, found)), flush=True)
    return found


def row(name, found):
    others = {status: count for status, count in found["statuses"].items() if not status.startswith("2")}
    said = ", ".join(f"{count:,} × {status}" for status, count in others.items()) or "none"
    return [NAMES[name], *(f"{found[key]:,.1f} ms" for key in ("p50", "p95", "p99")), f"{found['rate']:,.0f}", said]


def account(url, number):
    body = {"userId": f"load-{number}", "accountType": "external", "currency": "USD", "allowNegative": True}
    return call(f"{url}/ledger/accounts", "POST", body, {"idempotency-key": f"load-{number}"})[1]["accountId"]


def transfer(debit, credit):
    return {"transactionType": "payment", "debitAccountId": debit, "creditAccountId": credit, "amount": "0.01", "currency": "USD"}


def measure(binary=RELEASE, connections=CONNECTIONS, seconds=SECONDS):
    with local_stack(str(binary)) as url:
        found = {}

        def run(name, **request):
            found[name] = send(url, name, connections, seconds, **request)

        post = {**JSON, "idempotency-key": "{n}"}
        payment = {"scheduledTime": f"{DAY}T09:30:00Z", "data": {"amount": "12.50"}}
        run("schedule", method="POST", path="/bank/accounts/load-{k}/payments", headers=post, body=payment, keys=1000)
        run("due", path=f"/bank/payments/due?date={DAY}&limit={PAGE}")
        run("refused", path="/bank/payments/due?date=none")
        run("payments", path="/bank/accounts/load-{k}/payments?from=2030-01-01T00:00:00Z&to=2030-12-31T00:00:00Z", keys=1000)
        call(f"{url}/cart/products/shoes-42", "PUT", {"name": "Shoes", "price": "89.90", "currency": "USD"})
        item = {"sku": "shoes-42"}
        run("add", method="POST", path="/cart/accounts/load-{k}/items", headers=JSON, body=item, keys=1000)
        run("cart", path="/cart/accounts/load-{k}/items", keys=1000)
        run("activities", path="/wellness/companies/123/activities")
        accounts = [account(url, number) for number in range(2 * connections)]
        run("hot", method="POST", path="/ledger/transactions", headers=post, body=transfer(*accounts[:2]))
        run("statement", path=f"/ledger/accounts/{accounts[0]}/statement")
        pairs = [transfer(*accounts[number : number + 2]) for number in range(0, len(accounts), 2)]
        run("pairs", method="POST", path="/ledger/transactions", headers=post, bodies=pairs)
    return {"connections": connections, "seconds": seconds, "payments": found["schedule"]["statuses"].get("201", 0), "found": found}


def section(result):
    found = result["found"]
    head = ["route", "p50", "p95", "p99", "answers a second", "other answers than 2xx"]
    return TEXT.format(
        **{key: result[key] for key in ("connections", "seconds")}, payments=f"{result['payments']:,}", target=TARGET,
        verdict=verdict({"median": found["due"]["p99"]}, TARGET), pairs_p99=found["pairs"]["p99"], hot_p99=found["hot"]["p99"],
        rows=table(head, [row(name, found[name]) for name in NAMES if name in found]),
    )


if __name__ == "__main__":
    print("route | p50 | p95 | p99 | answers a second | other answers than 2xx")
    binary, *numbers = sys.argv[1:] or [RELEASE]
    measure(ROOT / binary, *map(int, numbers))
