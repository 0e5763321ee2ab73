"""This part replays a million payments in 30 minutes on a model of DynamoDB's partitions, and
counts throttled writes.

The input comes from a local stack, where the functions schedule payments and move them. A move
changes the status, and therefore the index sort key. The stack reports the index partition keys,
and the write request units (WRU) of each write. Each simulated write uses one of these keys at
random, because the functions choose a random shard.

The model has these rules:

- A partition accepts 1,000 WRU a second. It saves up to 300 seconds of unused capacity.
- An item collection with an increasing sort key stays on one partition.
- A partition that was throttled for a minute is split, if it has several item collections. The new
  partition gets half of the item collections.
- An index starts with four partitions."""

import collections
import concurrent.futures
import hashlib
import random
import re
import subprocess
import sys

from stack import LOCAL, ROOT, call, consumed, dynamo

sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack  # noqa: E402

PAYMENTS, SECONDS = 1_000_000, 30 * 60
UNITS_A_SECOND, BURST_SECONDS, FIRST_PARTITIONS, SPLIT_AFTER = 1_000, 300, 4, 60
# Number of seconds until all splits are done. Throttling after this time is permanent.
SETTLED = 10 * 60
PAYMENT = {"scheduledTime": "2099-12-01T09:30:00Z", "data": {"memo": "x" * 7_000}}


def index_units(headers):
    return sum(row["write"] for row in consumed(headers) if row["index"])


def writes(url, account):
    """Schedules a payment and changes its status. Returns the index units of both writes."""
    made, payment = call(f"{url}/bank/accounts/{account}/payments", "POST", PAYMENT)
    moved, _ = call(f"{url}/bank/accounts/{account}/payments/{payment['paymentId']}", "PATCH", {"status": "PENDING"})
    return index_units(made), index_units(moved)


def index_keys(url, accounts):
    """Yields the partition key of each account's index entry."""
    _, health = call(f"{url}/_local/health")
    table = next(name for name in health["tables"] if name.endswith("PaymentScheduler"))
    for account in accounts:
        query = {
            "TableName": table,
            "KeyConditionExpression": "PK = :account",
            "ExpressionAttributeValues": {":account": {"S": account}},
        }
        yield dynamo(health["dynamodb"], "Query", query)["Items"][0]["GSI1PK"]["S"]


def sample(binary, projection, shards, number):
    """Schedules payments on a local stack.

    Returns the index partition keys, and the index units of a put and of a status change."""
    settings = {"WriteShards": shards, "ReadShards": shards, "IndexProjection": projection}
    parameters = [part for name, value in settings.items() for part in ("--parameter", f"{name}={value}")]
    accounts = [f"Account{number}" for number in range(number)]
    with local_stack(binary, *parameters) as url, concurrent.futures.ThreadPoolExecutor(4) as clients:
        [units] = set(clients.map(lambda account: writes(url, account), accounts))
        keys = sorted(set(index_keys(url, accounts)))
    if len(keys) != shards:
        sys.exit(f"{number} payments do not cover all {shards} shards")
    return keys, *units


def planned(binary, projection, moves):
    """Returns the number of shards from `make plan`, at a utilisation of 70 %."""
    command = [binary.with_name("plan"), "--moves", str(moves), "--utilisation", "70"]
    rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^{projection} .* (\d+)$", rows, re.M)[1])


class Partitions:
    """A model of the partitions of an index.

    Records the accepted and the throttled units of each second."""

    def __init__(self, keys):
        first = [int(hashlib.md5(key.encode()).hexdigest(), 16) % FIRST_PARTITIONS for key in keys]
        self.place = dict(zip(keys, first, strict=True))
        self.saved, self.hot = collections.Counter(), collections.Counter()
        self.count, self.taken, self.refused = FIRST_PARTITIONS, [], []

    def second(self, units):
        taken, refused = collections.Counter(), collections.Counter()
        for partition, wanted in self.wanted(units).items():
            taken[partition] = min(wanted, UNITS_A_SECOND + self.saved[partition])
            refused[partition] = wanted - taken[partition]
        for partition in range(self.count):
            saved = self.saved[partition] + UNITS_A_SECOND - taken[partition]
            self.saved[partition] = min(saved, UNITS_A_SECOND * BURST_SECONDS)
            self.hot[partition] = self.hot[partition] + 1 if refused[partition] else 0
        self.taken.append(taken)
        self.refused.append(refused)
        for partition in [partition for partition, hot in self.hot.items() if hot >= SPLIT_AFTER]:
            self.split(partition)

    def wanted(self, units):
        wanted = collections.Counter()
        for key, number in units.items():
            wanted[self.place[key]] += number
        return wanted

    def split(self, partition):
        keys = sorted(key for key, place in self.place.items() if place == partition)
        self.hot[partition] = 0
        if len(keys) > 1:
            for key in keys[len(keys) // 2 :]:
                self.place[key] = self.count
            self.count += 1


def replay(keys, put, move, moves):
    """Replays the required rate of payments, with `moves` status changes per payment."""
    chance = random.Random(1)
    partitions = Partitions(keys)
    for second in range(SECONDS):
        units = collections.Counter()
        for _ in range(PAYMENTS * (second + 1) // SECONDS - PAYMENTS * second // SECONDS):
            units[chance.choice(keys)] += put
            for _ in range(moves):
                units[chance.choice(keys)] += move
        partitions.second(units)
    return partitions


def told(partitions):
    """Returns the totals, and the mean units per second of each partition for each 30 seconds."""
    total = [sum(sum(second.values()) for second in part[SETTLED:]) for part in (partitions.taken, partitions.refused)]
    rows = []
    for partition in range(partitions.count):
        halves = range(0, SECONDS, 30)
        taken = [sum(second[partition] for second in partitions.taken[at : at + 30]) / 30 for at in halves]
        refused = [sum(second[partition] for second in partitions.refused[at : at + 30]) / 30 for at in halves]
        rows.append({"taken": [round(units) for units in taken], "refused": [round(units) for units in refused]})
    first = sum(sum(second.values()) for second in partitions.refused[:SETTLED])
    return {"refused_at_first": first, "refused_settled": total[1], "wanted_settled": sum(total), "partitions": rows}


def measure(binary=LOCAL, number=200):
    """Measures the part "partitions" of the results."""
    cases = []
    for projection, moves, shards in [
        ("ALL", 0, 1),
        ("ALL", 0, 5),
        ("ALL", 1, 5),
        ("ALL", 1, planned(binary, "ALL", 1)),
        ("KEYS_ONLY", 1, planned(binary, "KEYS_ONLY", 1)),
    ]:
        case = told(replay(*sample(binary, projection, shards, number), moves))
        cases.append({"projection": projection, "moves": moves, "shards": shards, **case})
    return {"payments": PAYMENTS, "minutes": SECONDS // 60, "settled": SETTLED // 60, "cases": cases}


def faults():
    """Yields the cases with an unexpected result.

    Writes must be throttled permanently if there are too few shards, and only then."""
    for case in measure()["cases"]:
        units = case["wanted_settled"] / (SECONDS - SETTLED)
        enough = units < UNITS_A_SECOND * case["shards"]
        if enough != (case["refused_settled"] == 0):
            yield f"{name(case)}: {case['refused_settled']} of {case['wanted_settled']} units throttled"


def name(case):
    moves = f", {case['moves']} move each" if case["moves"] else ""
    return f"{case['projection']}, {case['shards']} shard{'s' if case['shards'] > 1 else ''}{moves}"


def section(result):
    rows = ["| index | WRU a second | WRU throttled in the first ten minutes | throttled afterwards |", "| --- | ---: | ---: | ---: |"]
    for case in result["cases"]:
        wanted = case["wanted_settled"] / (SECONDS - SETTLED)
        share = case["refused_settled"] / case["wanted_settled"]
        rows.append(f"| {name(case)} | {wanted:,.0f} | {case['refused_at_first']:,} | {share:.1%} |")
    return "\n\n".join(["## Scale of writes", __doc__.strip(), "\n".join(rows)]) + "\n"
