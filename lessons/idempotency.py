"""A transfer that is repeated or half done: as updates of two balances, and as a transaction of the ledger."""

from lab import Api, Table, during, item, transact

EXTERNAL = "173a8a31-52c5-8038-8332-610b0e745bcd"  # An account of the sample data, which may be negative.


class Naive:
    """Two accounts with their balances. `together` selects one transaction instead of two calls."""

    def __init__(self, dynamo, name, together):
        self.table, self.together = Table(dynamo, name), together
        self.units = self.table.units

    def open(self):
        for account, balance in (("payer", 100), ("payee", 0)):
            self.table.put(PK=f"ACCOUNT#{account}", SK="METADATA", Balance=balance)

    def transfer(self, stops=False):
        """Moves 10. `stops` ends the function after the first of two calls."""
        changes = [self.add("payer", -10), self.add("payee", 10)]
        if self.together:
            return transact(self.table, *[("Update", change) for change in changes])
        for change in changes[: 1 if stops else 2]:
            self.table.call("UpdateItem", {"TableName": self.table.name, **change})

    def add(self, account, amount):
        return {
            "Key": item({"PK": f"ACCOUNT#{account}", "SK": "METADATA"}), "UpdateExpression": "ADD Balance :amount",
            "ExpressionAttributeValues": item({":amount": amount}),
        }

    def balances(self):
        found = [self.table.get(f"ACCOUNT#{account}", "METADATA") for account in ("payer", "payee")]
        return " and ".join(one["Balance"]["N"] for one in found)


class Ours(Api):
    """The ledger. The client sends an Idempotency-Key with each request, and the same one in a repetition."""

    def open(self):
        new = {"userId": "lesson", "accountType": "checking", "currency": "USD"}
        made = [self("POST", "/ledger/accounts", new, idempotency_key=f"lesson-{one}") for one in ("payer", "payee")]
        self.payer, self.payee = [account["accountId"] for account in made]
        self.post(EXTERNAL, self.payer, "100.00", "lesson-deposit")

    def post(self, debit, credit, amount, key):
        body = {"transactionType": "transfer", "debitAccountId": debit, "creditAccountId": credit}
        return self("POST", "/ledger/transactions", {**body, "amount": amount, "currency": "USD"}, idempotency_key=key)

    def transfer(self):
        return self.post(self.payer, self.payee, "10.00", "lesson-transfer")

    def balances(self):
        found = [self("GET", f"/ledger/accounts/{account}")["balance"] for account in (self.payer, self.payee)]
        return " and ".join(balance.removesuffix(".00") for balance in found)


def play(url, dynamo):
    designs = [Naive(dynamo, "two-updates", False), Naive(dynamo, "one-transfer", True), Ours(url)]
    rows = [["", "two updates", "one transaction", "the ledger"]]
    for design in designs:
        design.open()
    for step in ("transfer of 10", "the same request again"):
        units = [during(design.units, design.transfer)[1].text() for design in designs]
        rows += [[f"{step}: units", *units], [f"{step}: balances", *[design.balances() for design in designs]]]
    naive = designs[0]
    naive.open()
    naive.transfer(stops=True)
    rows.append(["stop between the calls: balances", naive.balances(), "cannot happen", "cannot happen"])
    naive.transfer()
    return [*rows, ["and the same request again: balances", naive.balances(), "", ""]]
