"""Changes of a payment, with the status in the sort key of the table, and in the sort key of an index."""

import json

from lab import ROOT, Api, Table, during, item, transact

TIME, LATER = "2098-12-01T09:30:00Z", "2098-12-02T09:30:00Z"
STATUSES = ["SCHEDULED", "PENDING", "PROCESSED", "FAILED", "CANCELLED"]
# An item has between 7 KB and 8 KB in each design: the bank adds attributes of its own.
NAIVE_DATA, DATA = "x" * 7300, {"memo": "x" * 7000}


class Naive:
    """The status is in the sort key of the table. A change deletes the item and puts another one."""

    def __init__(self, dynamo, name, is_transaction):
        self.table, self.is_transaction = Table(dynamo, name, Due="KEYS_ONLY"), is_transaction
        self.units = self.table.units

    def payment(self, status, time):
        due = f"{status}#{time}#p1"
        return {"PK": "Account1", "SK": due, "DuePK": "0", "DueSK": due, "Data": NAIVE_DATA}

    def move(self, old, new):
        key = {"PK": "Account1", "SK": self.payment(*old)["SK"]}
        self.table.call("GetItem", {"TableName": self.table.name, "Key": item(key), "ConsistentRead": True})
        if self.is_transaction:
            transact(self.table, ("Delete", {"Key": item(key)}), ("Put", {"Item": item(self.payment(*new))}))
        else:
            self.table.delete(*key.values())
            self.table.put(**self.payment(*new))

    def steps(self):
        return [
            ("schedule a payment of 8 KB", lambda: self.table.put(**self.payment("SCHEDULED", TIME))),
            ("change its time", lambda: self.move(("SCHEDULED", TIME), ("SCHEDULED", LATER))),
            ("SCHEDULED to PENDING", lambda: self.move(("SCHEDULED", LATER), ("PENDING", LATER))),
            ("PENDING to FAILED", lambda: self.move(("PENDING", LATER), ("FAILED", LATER))),
            ("list the account's month", lambda: [self.table.query("Account1", f"{one}#2098-12") for one in STATUSES]),
        ]


class Ours(Api):
    """The bank: its table is sorted by time, and the status is in the sort key of the index."""

    def schedule(self):
        """Sends the function an event of 2020: a payment gets no new time in its first 15 seconds."""
        event = json.loads((ROOT / "events/bank/schedule-payment.json").read_text())
        event["body"] = json.dumps({"scheduledTime": TIME, "data": DATA})
        event["requestContext"]["timeEpoch"] = 1_600_000_000_000
        del event["headers"]["idempotency-key"]
        self.payment = json.loads(self("POST", "/_local/functions/schedule-payment/invocations", event)["body"])

    def patch(self, **change):
        self.payment = self("PATCH", f"/bank/accounts/Account1/payments/{self.payment['paymentId']}", change)

    def steps(self):
        month = "/bank/accounts/Account1/payments?from=2098-12-01T00:00:00Z&to=2099-01-01T00:00:00Z"
        patches = [{"scheduledTime": LATER}, {"status": "PENDING"}, {"status": "FAILED"}]
        return [self.schedule, *[lambda one=one: self.patch(**one) for one in patches], lambda: self("GET", month)]


def play(url, dynamo):
    two, one, ours = Naive(dynamo, "two-calls", False), Naive(dynamo, "one-transaction", True), Ours(url)
    rows = [["", "delete and put", "in one transaction", "the bank"]]
    for (step, first), (_, second), third in zip(two.steps(), one.steps(), ours.steps(), strict=True):
        designs = [(two, first), (one, second), (ours, third)]
        rows.append([step, *[during(design.units, work)[1].text() for design, work in designs]])
    return rows
