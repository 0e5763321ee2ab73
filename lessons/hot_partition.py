"""A day's payments under one partition key, and on the shards of the bank."""

from lab import Api, Table, during
from partitions import PAYMENTS, SECONDS, UNITS_A_SECOND, replay, told

RATE = PAYMENTS // SECONDS
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
    keys = [["2099-12-01"], [str(shard) for shard in range(5)], [str(shard) for shard in range(10)]]
    limits = [UNITS_A_SECOND * len(names) for names in keys]
    rows.append(["write units in the index: schedule a payment", *[f"{one:g}" for one in scheduled]])
    rows.append(["write units in the index: its two changes", *[f"{one:g}" for one in units]])
    rows.append([f"write units a second, {RATE} payments a second", *[f"{RATE * one:,.0f}" for one in units]])
    rows.append([f"most that the partition keys accept, {UNITS_A_SECOND:,} each", *[f"{limit:,}" for limit in limits]])
    rows.append(["throttled writes in half an hour", *[f"{refused(*one):.0f} %" for one in zip(keys, units, strict=True)]])
    minutes = [max(SECONDS, PAYMENTS * one / limit) / 60 for one, limit in zip(units, limits, strict=True)]
    rows.append(["minutes for a million payments", *[f"{one:.0f}" for one in minutes]])
    return rows


def refused(keys, units):
    """The percentage of writes that a model of DynamoDB's partitions throttles, with two changes of each payment."""
    played = told(replay(keys, 0, units / 2, 2))
    return 100 * (played["refused_at_first"] + played["refused_settled"]) / (PAYMENTS * units)
