"""A question about carts: a Scan of the table, and the rows of the lake."""

import json
import pathlib

from lab import Api, Table, during, item, scan, send
from local_stack import wait_for

COUNTS = (1_000, 10_000)
WRITTEN_AT_ONCE = 25


def cart_item(number):
    """A cart item of about 300 bytes."""
    keys = {"PK": f"Account{number:08}", "SK": f"ACTIVE#2026-12-01T09:30:00.000Z#{number:032}"}
    return {**keys, "Currency": "USD" if number % 100 else "EUR", "Quantity": 1, "Price": "89.90", "Name": "x" * 185}


def naive(dynamo):
    """Scans a table of cart items. Returns the units of each question."""
    table, first, spent = Table(dynamo, "scanned-cart"), 0, []
    for count in COUNTS:
        for start in range(first, count, WRITTEN_AT_ONCE):
            puts = [{"PutRequest": {"Item": item(cart_item(number))}} for number in range(start, start + WRITTEN_AT_ONCE)]
            table.call("BatchWriteItem", {"RequestItems": {table.name: puts}})
        first = count
        for filters in ({}, {"Currency": "EUR"}):
            found, units = during(table.units, lambda: scan(table, **filters))
            spent.append((f"{len(found):,} of {count:,} items" + ", by a filter" * bool(filters), units.text()))
    removed = {"PK": "Account1", "SK": "SAVED#1"}
    table.put(**removed)
    table.delete(**{name.lower(): value for name, value in removed.items()})
    return spent, len(table.query("Account1"))


def ours(url):
    """Adds a cart item, changes it twice, and removes it. Returns the rows that reach the lake, and the units of the export."""
    api = Api(url)
    api("PUT", "/cart/products/scarf-1", {"name": "Scarf", "price": "89.90", "currency": "USD"})
    path = f"/cart/accounts/Analyst/items/{api('POST', '/cart/accounts/Analyst/items', {'sku': 'scarf-1', 'quantity': 1})['itemId']}"
    api("PATCH", path, {"quantity": 2})
    api("PATCH", path, {"status": "SAVED"})
    api("DELETE", path)
    lake = pathlib.Path(send(f"{url}/_local/health", "GET", None, {})[0]["lake"])

    def rows():
        lines = [line for file in lake.glob("*/changes/cart-items/*/*.json") for line in file.read_text().rpartition("\n")[0].splitlines()]
        return [row for row in map(json.loads, lines) if row["account_id"] == "Analyst"]

    wait_for("the rows", lambda: any(row["operation"] == "remove" for row in rows()))
    exports = send(f"{url}/_local/api/traces?function=export-changes", "GET", None, {})[0]
    return sorted(rows(), key=lambda row: row["version"]), sum(one["read"] + one["write"] for one in exports)


def play(url, dynamo):
    questions, left = naive(dynamo)
    changes, exported = ours(url)
    rows = [["", "Scan", "SQL on the lake"]]
    rows += [[question, units, f"{exported:g} R"] for question, units in questions]
    rows.append(["rows of a removed item", str(left), f"{len(changes)}: {', '.join(row['operation'] for row in changes)}"])
    return rows
