"""A day's payments under one partition key, and on the shards of the bank."""

from lab import MOST, Api, Table, during, throttled

RATE = 1_000_000 // (30 * 60)
DATA = {"memo": "x" * 700}


def naive(dynamo):
    """An index with the day as its partition key. A new status is part of the sort key."""
    table = Table(dynamo, "due", Due="KEYS_ONLY")

    def schedule():
        table.put(PK="A-1", SK="09:30#p1", DuePK="2099-12-01", DueSK="SCHEDULED#09:30#p1", Data=str(DATA))

    def pay():
        for status in ("PENDING", "PROCESSED"):
            table.update("A-1", "09:30#p1", DueSK=f"{status}#09:30#p1")

    return [during(table.units, work)[1]["Due", "W"] for work in (schedule, pay)]


def ours(url):
    """The bank: its index has the shard as its partition key."""
    api = Api(url)

    def in_index(work):
        result, spent = during(api.units, work)
        return result, sum(units for (place, kind), units in spent.items() if "/" in place and kind == "W")

    def pay():
        path = f"/bank/accounts/A-1/payments/{made['paymentId']}"
        api("PATCH", path, {"status": "PENDING"})
        api("PATCH", path, {"status": "PROCESSED", "transactionId": f"lesson-{made['paymentId']}"})

    payment = {"scheduledTime": "2099-12-01T09:30:00Z", "data": DATA}
    made, scheduled = in_index(lambda: api("POST", "/bank/accounts/A-1/payments", payment))
    return [scheduled, in_index(pay)[1]]


def play(url, dynamo):
    rows = [["", "day as the key", "5 shards", "10 shards"]]
    scheduled, units = zip(naive(dynamo), ours(url), ours(url), strict=True)
    keys = [1, 5, 10]
    rows.append(["write units in the index: schedule a payment", *[f"{one:g}" for one in scheduled]])
    rows.append(["write units in the index: its two changes", *[f"{one:g}" for one in units]])
    rows.append([f"write units a second, {RATE} payments a second", *[f"{RATE * one:,.0f}" for one in units]])
    rows.append([f"most that the partition keys accept, {MOST:,} each", *[f"{MOST * one:,}" for one in keys]])
    rows.append(["refused (throttled)", *[f"{throttled(RATE * one, key)} %" for one, key in zip(units, keys, strict=True)]])
    return rows
