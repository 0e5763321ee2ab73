"""The n-th transfer of an account: with its legs in a list in the account, and with an item for each leg."""

import urllib.error

from lab import Api, Table, during, item, transact

EXTERNAL = "173a8a31-52c5-8038-8332-610b0e745bcd"  # An account of the sample data, which may be negative.
# About as many bytes as a leg of the ledger has in a statement.
LEG = {"M": item({"LegType": "credit", "Amount": 1, "Currency": "USD", "Text": "x" * 500})}


class Naive:
    """Two accounts, each with a list of its legs."""

    def __init__(self, dynamo):
        self.table = Table(dynamo, "embedded-legs")
        self.units = self.table.units

    def grow(self, legs):
        """Gives both accounts this number of legs."""
        for account in ("payer", "payee"):
            account = item({"PK": f"ACCOUNT#{account}", "SK": "METADATA", "Balance": 1000})
            self.table.call("PutItem", {"TableName": self.table.name, "Item": {**account, "Legs": {"L": [LEG] * legs}}})

    def transfer(self):
        """Adds a leg to both accounts, in one transaction."""
        update = {"UpdateExpression": "SET Legs = list_append(Legs, :leg) ADD Balance :amount"}
        transact(self.table, *[("Update", {
            **update, "Key": item({"PK": f"ACCOUNT#{account}", "SK": "METADATA"}),
            "ExpressionAttributeValues": {":leg": {"L": [LEG]}, **item({":amount": amount})},
        }) for account, amount in (("payer", -1), ("payee", 1))])

    def page(self):
        return self.table.get("ACCOUNT#payee", "METADATA")


class Ours(Api):
    """The ledger, with one new account."""

    def __init__(self, url):
        super().__init__(url)
        new = {"userId": "lesson", "accountType": "checking", "currency": "USD"}
        self.account, self.legs = self("POST", "/ledger/accounts", new, idempotency_key="lesson-legs")["accountId"], 0

    def grow(self, legs):
        """Gives the account this number of legs, with up to 48 legs in a transaction."""
        while (more := min(48, legs - self.legs)) > 0:
            self.transfer(more)

    def transfer(self, legs=1):
        self.legs += legs
        credit = {"accountId": self.account, "legType": "credit", "amount": "1.00", "currency": "USD"}
        debit = {**credit, "accountId": EXTERNAL, "legType": "debit", "amount": f"{legs}.00"}
        self("POST", "/ledger/transactions", {"legs": [debit, *[credit] * legs]}, idempotency_key=f"legs-{self.legs}")

    def page(self):
        return self("GET", f"/ledger/accounts/{self.account}/statement?limit=10")


def transfer(design, number):
    """Returns the units of the transfer with this number."""
    try:
        design.grow(number - 1)
        return during(design.units, design.transfer)[1].text()
    except urllib.error.HTTPError:
        return "refused"


def play(url, dynamo):
    designs = [Naive(dynamo), Ours(url)]
    rows = [["", "a list in the account", "the ledger"]]
    rows += [[f"transfer {number}", *[transfer(one, number) for one in designs]] for number in (1, 10, 100, 500)]
    rows.append(["the last 10 of 500 legs", *[during(one.units, one.page)[1].text() for one in designs]])
    return [*rows, ["transfer 1,000", *[transfer(one, 1000) for one in designs]]]
