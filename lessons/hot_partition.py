"""A day's payments under one partition key, and on the shards of the bank."""

from lab import MOST, Api, Table, during, throttled

RATE = 1_000_000 // (30 * 60)
DATA = {"memo": "x" * 700}


def naive(dynamo):
    """An index with the day as its partition key. A new status is part of the sort key."""
    table = Table(dynamo, "due", Due="KEYS_ONLY")

    def pay():
        table.put(PK="A-1", SK="09:30#p1", DuePK="2099-12-01", DueSK="SCHEDULED#09:30#p1", Data=str(DATA))
        for status in ("PENDING", "PROCESSED"):
            table.update("A-1", "09:30#p1", DueSK=f"{status}#09:30#p1")

    return during(table.units, pay)[1]["Due", "W"]


def ours(url):
    """The bank: its index has the shard as its partition key."""
    api = Api(url)

    def pay():
        made = api("POST", "/bank/accounts/A-1/payments", {"scheduledTime": "2099-12-01T09:30:00Z", "data": DATA})
        path = f"/bank/accounts/A-1/payments/{made['paymentId']}"
        api("PATCH", path, {"status": "PENDING"})
        api("PATCH", path, {"status": "PROCESSED", "transactionId": f"lesson-{made['paymentId']}"})

    spent = during(api.units, pay)[1]
    return sum(units for (place, kind), units in spent.items() if "/" in place and kind == "W")


def play(url, dynamo):
    rows = [["", "day as the key", "5 shards", "10 shards"]]
    units = [naive(dynamo), ours(url), ours(url)]
    keys = [1, 5, 10]
    rows.append(["write units of a payment in the index", *[f"{one:g}" for one in units]])
    rows.append([f"write units a second, {RATE} payments a second", *[f"{RATE * one:,.0f}" for one in units]])
    rows.append([f"most that the partition keys accept, {MOST:,} each", *[f"{MOST * one:,}" for one in keys]])
    rows.append(["refused (throttled)", *[f"{throttled(RATE * one, key)} %" for one, key in zip(units, keys, strict=True)]])
    return rows
