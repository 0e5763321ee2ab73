"""A trial balance: the sum of all legs, a counter item, and the totals of a stream function."""

import json
import time

from lab import ROOT, Api, Table, Units, during, item, scan

LEGS = (100, 1_000)
BATCH = 100
SAMPLE = (ROOT / "events/ledger/react-to-transactions.json").read_text()
# Accounts of the sample data: Ann's checking account, and an external account.
ANN, EXTERNAL = "e4ceeb59-552e-8690-9301-f64e44907c84", "173a8a31-52c5-8038-8332-610b0e745bcd"


class Naive:
    """Three items for each payment, as in the requirement, and a counter item if asked."""

    def __init__(self, dynamo, name):
        self.table, self.has_counter = Table(dynamo, name), name == "counter-item"
        self.units = self.table.units

    def pay(self, number):
        key, amount = {"PK": f"TXN#{number:036}"}, {"Amount": 1, "Currency": "USD"}
        items = [{**key, "SK": "METADATA", "Type": "Transaction", **amount}]
        for leg, account in (("debit", "external"), ("credit", "checking")):
            names = {"Type": "TransactionLeg", "LegType": leg, "AccountID": f"{number:036}", "AccountType": account}
            items.append({**key, "SK": f"LEG#{number:036}-{leg}", **names, **amount, "CreatedAt": "2026-12-01T09:30:00.123Z"})
        actions = [{"Put": {"TableName": self.table.name, "Item": item(one)}} for one in items]
        if self.has_counter:
            update = {"UpdateExpression": "ADD ExternalDebits :one, CheckingCredits :one", "ExpressionAttributeValues": item({":one": 1})}
            actions.append({"Update": {"TableName": self.table.name, "Key": item({"PK": "TRIAL-BALANCE", "SK": "METADATA"}), **update}})
        self.table.call("TransactWriteItems", {"TransactItems": actions})

    def report(self):
        return self.table.get("TRIAL-BALANCE", "METADATA") if self.has_counter else scan(self.table, Type="TransactionLeg")


class Ours:
    """The ledger."""

    def __init__(self, url):
        self.api, self.counted = Api(url), 0
        self.units = self.api.units

    def count(self, payments):
        """Invokes the stream function with one batch: the headers of new payments."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        text = SAMPLE.replace(ANN, EXTERNAL).replace("1796117400", str(int(time.time()))).replace("2026-12-01", today)
        records = []
        for _ in range(payments):
            self.counted += 1
            records += json.loads(text.replace("880h1733", f"lesson-{self.counted}"))["Records"]
            del records[-1]["dynamodb"]["NewImage"]["MerchantID"]
        self.api("POST", "/_local/functions/react-to-transactions/invocations", {"Records": records})

    def report(self):
        return self.api("GET", "/ledger/trial-balance")


def play(url, dynamo):
    designs = legs, counter, ours = Naive(dynamo, "summed-legs"), Naive(dynamo, "counter-item"), Ours(url)
    before, more = [during(naive.units, lambda: naive.pay(0))[1].total("W") for naive in (legs, counter)]
    alone = during(ours.units, lambda: ours.count(1))[1]
    rows, paid = [["", "sum of all legs", "counter item", "totals of a stream"]], 1
    for payments in (all_legs // 2 for all_legs in LEGS):
        for number in range(paid, payments):
            legs.pay(number)
            counter.pay(number)
        ours.count(payments - paid)
        paid = payments
        rows.append([f"report over {2 * paid:,} legs", *[during(one.units, one.report)[1].text() for one in designs]])
    batch = during(ours.units, lambda: ours.count(BATCH))[1]
    each = Units({key: round(units / BATCH, 3) for key, units in batch.items()})
    rows.append(["added to a payment, alone", "nothing", f"{more - before:g} W", alone.text()])
    rows.append([f"added to a payment, {BATCH} in a batch", "nothing", f"{more - before:g} W", each.text()])
    # The other writes are markers, one for each payment. Each payment is in two totals.
    updates = (batch.total("W") / 2 - BATCH) / 2
    rows.append([f"updates of a total, {BATCH} payments", "none", str(BATCH), f"{updates:g}"])
    return rows
