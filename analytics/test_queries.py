#!/usr/bin/env python3
"""Compares the results of the queries with results that were calculated by hand.

Also checks that the HTML page is safe.

    python analytics/test_queries.py

Requires duckdb. If sqlglot is installed, the queries are also parsed as Trino SQL. If ministack is
installed, the queries also run through the Athena API of ministack. If a package is missing, its
tests are skipped.
"""

import collections
import contextlib
import datetime
import decimal
import html.parser
import importlib.util
import itertools
import io
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import duckdb

import report
from lake import TEMPLATE

D = decimal.Decimal
# A Wednesday. The current week began on 9 March. The first of the 12 weeks before it began on 15
# December.
NOW = "2026-03-11 12:00:00"


# The queries that read only the changes of the cart.
CART = report.PAGES["cart"][1]


def sql_at(name, now=NOW):
    """Returns the SQL of a query with a fixed clock."""
    text = report.QUERIES[name][1]
    assert "current_timestamp" in text, name
    return text.replace("current_timestamp", f"TIMESTAMP WITH TIME ZONE '{now} UTC'")


# --- Rows ---


class Story:
    """Generates rows of cart changes in the format of the export."""

    def __init__(self):
        self.rows = []
        self.lines = {}

    def emit(self, item, operation, at, new, gone=False, **more):
        old = self.lines.get(item, {})
        same = ("account_id", "item_id", "sku", "added_at")
        shown = {key: new[key] for key in same} if gone else new
        row = {"event_id": f"{item}-{len(self.rows)}", "operation": operation, "sequence_number": str(len(self.rows) + 1), "changed_at": at}
        row.update({key: value for key, value in shown.items() if value is not None})
        row["version"] = new["version"]
        for key in ("status", "status_changed_at", "quantity", "price", "currency", "order_id", "expires_at"):
            if old.get(key) is not None:
                row[f"old_{key}"] = old[key]
        row.update(more)
        self.rows.append(row)
        self.lines[item] = dict(new)
        return row

    def insert(self, item, account, sku, at, quantity=1, price=None, currency=None, expires="2026-04-01 00:00:00", added=None):
        new = dict(account_id=account, item_id=item, sku=sku, version=1, status="ACTIVE", status_changed_at=at, quantity=quantity)
        new.update(price=price, currency=currency, added_at=added or at, expires_at=expires, order_id=None)
        return self.emit(item, "insert", at, new)

    def change(self, item, at, quantity):
        line = self.lines[item]
        return self.emit(item, "modify", at, {**line, "quantity": quantity, "version": line["version"] + 1})

    def move(self, item, at, status, order=None, exact=None, **more):
        line = self.lines[item]
        expires = "2026-04-01 00:00:00" if status == "ACTIVE" else None
        new = {**line, "status": status, "status_changed_at": exact or at, "order_id": order, "expires_at": expires}
        new.update(version=line["version"] + 1, **more)
        return self.emit(item, "move", at, new)

    def join(self, item, into, at):
        self.move(item, at, "JOINED", joined_to=into)
        self.change(into, at, self.lines[into]["quantity"] + self.lines[item]["quantity"])

    def remove(self, item, at):
        line = self.lines[item]
        return self.emit(item, "remove", at, {**line, "version": line["version"] + 1}, gone=True)

    def expire(self, item, at):
        """Adds the row of a deletion by TTL.

        Like the exporter, assigns the next version to this row."""
        line = self.lines[item]
        return self.emit(item, "expire", at, {**line, "version": line["version"] + 1}, gone=True)


def handmade():
    s = Story()
    # Two items are purchased in one order. The quantity of one item is raised, and the other item
    # has no price.
    s.insert("L1", "A", "pen", "2026-02-24 10:00:00", 2, "2.50", "USD")
    s.change("L1", "2026-02-25 10:00:00", 5)
    s.insert("L2", "A", "pen", "2026-02-24 11:00:00", 1)
    s.move("L1", "2026-02-26 10:00:00", "PURCHASED", "O1")
    s.move("L2", "2026-02-26 10:00:00", "PURCHASED", "O1")
    # An item is added in the last second of a week, saved in the first second of the next week,
    # moved back and forth, and then purchased.
    s.insert("L3", "B", "pen", "2026-03-01 23:59:59", 1, "3.00", "EUR", added="2026-03-01 23:59:59.900")
    s.move("L3", "2026-03-02 00:00:00", "SAVED")
    s.move("L3", "2026-03-03 00:00:00", "ACTIVE")
    s.move("L3", "2026-03-04 00:00:00", "SAVED")
    s.move("L3", "2026-03-05 00:00:00", "ACTIVE")
    s.move("L3", "2026-03-06 00:00:00", "PURCHASED", "O2", exact="2026-03-06 00:00:00.400")
    # A saved item is merged into an active item with another currency. The active item is removed
    # later.
    s.insert("L4", "C", "pen", "2026-03-02 09:00:00", 2, "3.00", "EUR")
    s.move("L4", "2026-03-02 10:00:00", "SAVED")
    s.insert("L5", "C", "pen", "2026-03-02 11:00:00", 1, "3.50", "USD")
    s.join("L4", "L5", "2026-03-03 12:00:00")
    s.remove("L5", "2026-03-10 10:00:00")
    # One item expired on Sunday and was deleted on Tuesday. Another item has expired and is still
    # in the table. Three items have not changed, and two of them have no price.
    s.insert("L6", "D", "ink", "2026-03-02 08:00:00", 1, "10", "USD", expires="2026-03-08 23:59:59")
    s.expire("L6", "2026-03-10 05:00:00")
    s.insert("L7", "E", "ink", "2026-02-27 08:00:00", 2, "10", "USD", expires="2026-03-08 00:00:00")
    s.insert("L8", "F", "ink", "2026-03-01 08:00:00", 3, "9.00", "EUR")
    s.insert("L16", "K", "pad", "2026-03-02 08:00:00", 2)
    s.insert("L17", "L", "pad", "2026-03-02 09:00:00", 1)
    # One item expired a second ago. Another item expires in a second, and its quantity was lowered
    # yesterday.
    s.insert("L21", "P", "ink", "2026-03-10 12:00:00", 1, "1.00", "EUR", expires="2026-03-11 11:59:59")
    s.insert("L9", "F", "pad", "2026-03-01 08:00:00", 3, expires="2026-03-11 12:00:01")
    s.change("L9", "2026-03-10 08:00:00", 1)
    # A saved item that TTL deleted does not count as abandoned.
    s.insert("L19", "N", "cap", "2026-02-24 08:00:00", 1, "5", "USD")
    s.move("L19", "2026-02-24 09:00:00", "SAVED")
    s.expire("L19", "2026-03-10 08:00:00")
    # An item is purchased in the same week as the merge above.
    s.insert("L20", "O", "pen", "2026-03-02 08:00:00", 1, "4.00", "USD")
    s.move("L20", "2026-03-03 08:00:00", "PURCHASED", "O5")
    # One item is removed after a minute. Another item is saved, and is still in the table.
    s.insert("L10", "G", "pad", "2026-03-03 08:00:00", 1, "1.10", "USD")
    s.remove("L10", "2026-03-03 08:01:00")
    s.insert("L11", "G", "pad", "2026-03-04 08:00:00", 1, "1.10", "USD")
    s.move("L11", "2026-03-04 09:00:00", "SAVED")
    # Four items are added: long ago, a second before the first week of the reports, in the first
    # second of that week, and later.
    s.insert("L12", "J", "cap", "2025-10-01 08:00:00", 1, "5", "USD")
    s.move("L12", "2025-10-01 09:00:00", "SAVED")
    s.insert("L13", "I", "pad", "2025-12-14 23:59:59", 4, "1.00", "USD", expires="2026-01-01 00:00:00")
    s.insert("L14", "H", "pad", "2025-12-15 00:00:00", 1, "1.00", "USD")
    s.move("L14", "2026-01-05 12:00:00", "PURCHASED", "O3")
    s.insert("L18", "M", "pad", "2026-01-05 00:00:00", 1, "1.00", "USD")
    s.move("L18", "2026-01-05 00:00:10", "PURCHASED", "O4")
    # One order is shipped, and one is cancelled.
    s.move("L14", "2026-01-06 12:00:00", "SHIPPED", "O3")
    s.move("L18", "2026-01-05 01:00:00", "CANCELLED", "O4")
    return s.rows


EXPECTED = {
    # week, sku, currency, adds, pieces, saves, purchases, pieces, orders, revenue, without price,
    # cancelled, their revenue
    "weekly_report": [
        ("2026-03-09", "ink", "EUR", 1, 1, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-02", "ink", "USD", 1, 1, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-02", "pad", "USD", 2, 2, 1, 0, 0, 0, None, 0, 0, None),
        ("2026-03-02", "pad", None, 2, 3, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-02", "pen", "EUR", 1, 2, 3, 1, 1, 1, D("3.00"), 0, 0, None),
        ("2026-03-02", "pen", "USD", 2, 2, 0, 1, 1, 1, D("4.00"), 0, 0, None),
        ("2026-02-23", "cap", "USD", 1, 1, 1, 0, 0, 0, None, 0, 0, None),
        ("2026-02-23", "ink", "EUR", 1, 3, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-02-23", "ink", "USD", 1, 2, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-02-23", "pad", None, 1, 3, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-02-23", "pen", "EUR", 1, 1, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-02-23", "pen", "USD", 2, 5, 0, 1, 5, 1, D("12.50"), 0, 0, None),
        ("2026-02-23", "pen", None, 1, 1, 0, 1, 1, 1, None, 1, 0, None),
        ("2026-01-05", "pad", "USD", 1, 1, 0, 1, 1, 1, D("1.00"), 0, 1, D("1.00")),
        ("2025-12-15", "pad", "USD", 1, 1, 0, 0, 0, 0, None, 0, 0, None),
    ],
    "monthly_report": [
        ("2026-03-01", "ink", "EUR", 2, 4, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-01", "ink", "USD", 1, 1, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-01", "pad", "USD", 2, 2, 1, 0, 0, 0, None, 0, 0, None),
        ("2026-03-01", "pad", None, 3, 6, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-03-01", "pen", "EUR", 2, 3, 3, 1, 1, 1, D("3.00"), 0, 0, None),
        ("2026-03-01", "pen", "USD", 2, 2, 0, 1, 1, 1, D("4.00"), 0, 0, None),
        ("2026-02-01", "cap", "USD", 1, 1, 1, 0, 0, 0, None, 0, 0, None),
        ("2026-02-01", "ink", "USD", 1, 2, 0, 0, 0, 0, None, 0, 0, None),
        ("2026-02-01", "pen", "USD", 2, 5, 0, 1, 5, 1, D("12.50"), 0, 0, None),
        ("2026-02-01", "pen", None, 1, 1, 0, 1, 1, 1, None, 1, 0, None),
        ("2026-01-01", "pad", "USD", 1, 1, 0, 1, 1, 1, D("1.00"), 0, 1, D("1.00")),
        ("2025-12-01", "pad", "USD", 2, 5, 0, 0, 0, 0, None, 0, 0, None),
        ("2025-10-01", "cap", "USD", 1, 1, 1, 0, 0, 0, None, 0, 0, None),
    ],
    # week, reason, sku, currency, lines, carts, pieces, value, without price
    "abandoned_carts": [
        ("2026-03-09", "expired", "ink", "EUR", 1, 1, 1, D("1"), 0),
        ("2026-03-02", "expired", "ink", "USD", 2, 2, 3, D("30"), 0),
        ("2026-03-02", "untouched", "pad", None, 2, 2, 3, None, 2),
        ("2026-02-23", "untouched", "ink", "EUR", 1, 1, 3, D("27"), 0),
        ("2025-12-29", "expired", "pad", "USD", 1, 1, 4, D("4"), 0),
    ],
    # sku, purchases, average, median, slowest. The times are 24 h, 47 h, 48 h and 4 d 1 s for pen,
    # and 21.5 d for pad. The other purchase of pad was cancelled.
    "time_to_purchase": [("pen", 4, 193_500, 171_000, 345_601), ("pad", 1, 1_857_600, 1_857_600, 1_857_600)],
    # week, sku, added, saved, purchased, cancelled, removed, expired, joined, still active,
    # still saved, purchased %
    "conversion_funnel": [
        ("2026-03-09", "ink", 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.0),
        ("2026-03-02", "ink", 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.0),
        ("2026-03-02", "pad", 4, 1, 0, 0, 1, 0, 0, 2, 1, 0.0),
        ("2026-03-02", "pen", 3, 1, 1, 0, 1, 0, 1, 0, 0, 50.0),
        ("2026-02-23", "cap", 1, 1, 0, 0, 0, 1, 0, 0, 0, 0.0),
        ("2026-02-23", "ink", 2, 0, 0, 0, 0, 1, 0, 1, 0, 0.0),
        ("2026-02-23", "pad", 1, 0, 0, 0, 0, 0, 0, 1, 0, 0.0),
        ("2026-02-23", "pen", 3, 1, 3, 0, 0, 0, 0, 0, 0, 100.0),
        ("2026-01-05", "pad", 1, 0, 0, 1, 0, 0, 0, 0, 0, 0.0),
        ("2025-12-15", "pad", 1, 0, 1, 0, 0, 0, 0, 0, 0, 100.0),
    ],
    # hour, currency, orders, items, pieces, revenue
    "sales_per_hour": [
        ("2026-03-06 00:00:00", "EUR", 1, 1, 1, D("3.00")),
        ("2026-03-03 08:00:00", "USD", 1, 1, 1, D("4.00")),
        ("2026-02-26 10:00:00", "USD", 1, 1, 5, D("12.50")),
        ("2026-02-26 10:00:00", None, 1, 1, 1, None),
        ("2026-01-05 12:00:00", "USD", 1, 1, 1, D("1.00")),
    ],
    # cohort, buyers, months later, active, percent
    "cohorts": [("2026-03-01", 2, 0, 2, 100.0), ("2026-02-01", 1, 0, 1, 100.0), ("2026-01-01", 1, 0, 1, 100.0)],
    # No two products were in the same two orders, and there are no payments or transactions.
    "baskets": [],
    "payments_by_day": [],
    "ledger_volume": [],
    # account, item, sku, status, quantity, price, currency, order, version
    "cart_state": [
        ("A", "L1", "pen", "PURCHASED", 5, D("2.50"), "USD", "O1", 3),
        ("A", "L2", "pen", "PURCHASED", 1, None, None, "O1", 2),
        ("B", "L3", "pen", "PURCHASED", 1, D("3.00"), "EUR", "O2", 6),
        ("F", "L8", "ink", "ACTIVE", 3, D("9.00"), "EUR", None, 1),
        ("F", "L9", "pad", "ACTIVE", 1, None, None, None, 2),
        ("G", "L11", "pad", "SAVED", 1, D("1.10"), "USD", None, 2),
        ("H", "L14", "pad", "SHIPPED", 1, D("1.00"), "USD", "O3", 3),
        ("J", "L12", "cap", "SAVED", 1, D("5"), "USD", None, 2),
        ("K", "L16", "pad", "ACTIVE", 2, None, None, None, 1),
        ("L", "L17", "pad", "ACTIVE", 1, None, None, None, 1),
        ("M", "L18", "pad", "CANCELLED", 1, D("1.00"), "USD", "O4", 3),
        ("O", "L20", "pen", "PURCHASED", 1, D("4.00"), "USD", "O5", 2),
    ],
}


def hour_of(row, delay=0):
    at = datetime.datetime.fromisoformat(row["changed_at"]) + datetime.timedelta(hours=delay)
    return f"{at:%Y-%m-%d-%H}"


def arrivals(rows, chance):
    """Returns the rows in a random order, as they can arrive in the lake.

    Some rows arrive repeatedly, and up to a day late."""
    arrived = [(hour_of(row), row) for row in rows]
    arrived += [(hour_of(row, chance.randrange(24)), row) for row in rows if chance.random() < 0.4 for _ in range(chance.choice([1, 2]))]
    chance.shuffle(arrived)
    return arrived


def write_lake(folder, arrived, bucket="cart-lake"):
    """Writes the rows to files with names like those of the delivery stream."""
    for number, (hour, row) in enumerate(arrived):
        target = pathlib.Path(folder, bucket, "changes", "cart-items", f"hour={hour}", f"changes-1-{hour}-30-00-{number % 3}.json")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a") as out:
            out.write(json.dumps(row) + "\n")


def lake_of(arrived):
    with tempfile.TemporaryDirectory() as folder:
        write_lake(folder, arrived)
        return report.Lake(folder)


def simple(name, columns, rows):
    """Converts dates to text. For cart_state, removes the columns that the expected rows omit."""
    if name == "cart_state":
        keep = [index for index, column in enumerate(columns) if not column.endswith("_at")]
        rows = sorted(tuple(row[index] for index in keep) for row in rows)
    return [tuple(str(cell) if isinstance(cell, datetime.date) else cell for cell in row) for row in rows]


def answer(database, name, now=NOW):
    result = database.execute(sql_at(name, now))
    columns = [column[0] for column in result.description]
    return simple(name, columns, result.fetchall())


class Questions(unittest.TestCase):
    maxDiff = None

    def test_every_query_has_expected_rows(self):
        self.assertEqual(sorted(report.QUERIES), sorted(report.QUESTIONS))
        self.assertEqual(sorted(EXPECTED), sorted(report.QUESTIONS))

    def test_results_equal_rows_calculated_by_hand(self):
        lake = lake_of([(hour_of(row), row) for row in handmade()])
        self.assertEqual(lake.faults, [])
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                self.assertEqual(answer(lake.database, name), expected)

    def test_duplicates_and_order_do_not_change_results(self):
        for seed in range(10):
            lake = lake_of(arrivals(handmade(), random.Random(seed)))
            self.assertGreater(lake.repeated, 5)
            for name, expected in EXPECTED.items():
                with self.subTest(name, seed=seed):
                    self.assertEqual(answer(lake.database, name), expected)

    def test_baskets_and_cohorts_of_repeated_purchases(self):
        s = Story()
        for number, (account, order, skus, at) in enumerate(
            [
                ("A", "O1", ["pen", "ink", "pad"], "2026-01-10 10:00:00"),
                ("A", "O2", ["pen", "ink"], "2026-02-10 10:00:00"),
                ("B", "O3", ["pen", "pad"], "2026-02-11 10:00:00"),
                ("B", "O4", ["pen"], "2026-03-01 10:00:00"),
                # The same order id in another account is another order.
                ("C", "O1", ["ink"], "2026-02-28 10:00:00"),
            ]
        ):
            for sku in skus:
                s.insert(f"{number}-{sku}", account, sku, at, 1, "1.00", "USD")
                s.move(f"{number}-{sku}", at, "PURCHASED", order)
        database = lake_of([(hour_of(row), row) for row in s.rows]).database
        self.assertEqual(
            answer(database, "baskets"),
            [("ink", "pen", 2, 3, 66.7), ("pad", "pen", 2, 2, 100.0), ("pen", "ink", 2, 4, 50.0), ("pen", "pad", 2, 4, 50.0)],
        )
        self.assertEqual(
            answer(database, "cohorts"),
            [("2026-02-01", 2, 0, 2, 100.0), ("2026-02-01", 2, 1, 1, 50.0), ("2026-01-01", 1, 0, 1, 100.0), ("2026-01-01", 1, 1, 1, 100.0)],
        )

    def test_cancelled_orders_are_no_sales(self):
        """Cancels one of two equal orders: at once, months later, and by a snapshot only."""
        sales = ["weekly_report", "monthly_report", "sales_per_hour", "baskets", "cohorts", "time_to_purchase"]
        sold = {"adds", "pieces_added", "saves", "cancelled", "revenue_cancelled"}

        def story(orders):
            s = Story()
            for order in orders:
                for sku in ("pen", "ink"):
                    item = f"{order}-{sku}"
                    s.insert(item, order, sku, "2026-01-05 10:00:00", 2, "1.50", "USD")
                    s.move(item, "2026-01-05 11:00:00", "PURCHASED", order)
            return s

        def shown(rows, name):
            result = lake_of(arrivals(rows, random.Random(4))).database.execute(sql_at(name))
            columns = [column[0] for column in result.description]
            lines = [{column: cell for column, cell in zip(columns, row) if column not in sold} for row in result.fetchall()]
            return [line for line in lines if line.get("purchases") != 0]

        kept = story(["O1", "O2"]).rows
        for at, operation in (("2026-01-05 11:00:01", "move"), ("2026-03-11 11:00:00", "move"), ("2026-01-06 11:00:00", "snapshot")):
            s = story(["O1", "O2", "O3"])
            for sku in ("pen", "ink"):
                s.move(f"O3-{sku}", at, "CANCELLED", "O3")["operation"] = operation
            for name in sales:
                with self.subTest(name, at=at, operation=operation):
                    self.assertEqual(shown(s.rows, name), shown(kept, name))
                    self.assertTrue(shown(kept, name))

    def test_payments_and_ledger_volume(self):
        with tempfile.TemporaryDirectory() as folder:
            number = itertools.count()

            def row(table, key, version, operation="insert", **values):
                one = {"event_id": f"{next(number)}", "operation": operation, "changed_at": "2026-03-02 10:00:00", "sequence_number": "1"}
                target = pathlib.Path(folder, "cart-lake/changes", table, "hour=2026-03-02-10/part.json")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("a") as out:
                    out.write(json.dumps(one | key | {"version": version} | values) + "\n")

            paid = lambda number: {"account_id": "A", "payment_id": f"P{number}"}
            due = {"scheduled_at": "2026-03-02 09:30:00", "currency": "USD"}
            row("payments", paid(1), 1, status="SCHEDULED", amount="5.00", attempts=0, **due)
            row("payments", paid(1), 2, "modify", status="FAILED", amount="5.00", attempts=2, **due)
            # The removal of an archived payment has not arrived, and that of another one has.
            row("payments", paid(2), 1, status="PROCESSED", amount="7.00", attempts=0, **due)
            row("archived-payments", paid(2), 1, status="PROCESSED", amount="7.00", attempts=0, **due)
            row("payments", paid(3), 1, status="PROCESSED", attempts=0, **due)
            row("payments", paid(3), 2, "remove", **due)
            row("archived-payments", paid(3), 1, status="PROCESSED", attempts=0, retry_of="P0", **due)
            row("payments", paid(4), 1, status="SCHEDULED", amount="1.00", attempts=0, scheduled_at="2025-12-14 23:59:59", currency="USD")
            posted = lambda number: {"transaction_id": f"T{number}"}
            usd = {"currency": "USD", "created_at": "2026-03-01 10:00:00"}
            row("ledger-transactions", posted(1), 1, merchant_id="M", amount="100.00", **usd)
            row("ledger-transactions", posted(2), 1, merchant_id="M", amount="20.00", **usd)
            row("ledger-transactions", posted(3), 1, reverses_id="T1", amount="30.00", **usd)
            row("ledger-transactions", posted(4), 1, amount="9.00", **usd)
            row("ledger-transactions", posted(5), 1, merchant_id="N", amount="1.00", currency="EUR", created_at="2025-03-01 00:00:00")
            row("ledger-transactions", posted(6), 1, merchant_id="N", amount="1.00", currency="EUR", created_at="2025-02-28 23:59:59")
            lake = report.Lake(folder)
        self.assertEqual(lake.faults, [])
        self.assertEqual(
            answer(lake.database, "payments_by_day"),
            [("2026-03-02", "FAILED", "USD", 1, D("5"), 0, 2, 0), ("2026-03-02", "PROCESSED", "USD", 2, D("7"), 1, 0, 1)],
        )
        self.assertEqual(
            answer(lake.database, "ledger_volume"),
            [("2026-03-01", "M", "USD", 2, D("120"), 1, D("30"), D("90")), ("2025-03-01", "N", "EUR", 1, D("1"), 0, D("0"), D("1"))],
        )

    def test_period_limits_the_rows_and_the_intervals(self):
        first, last = datetime.date(2026, 2, 25), datetime.date(2026, 3, 3)
        period = report.Period(first, last)
        with tempfile.TemporaryDirectory() as folder:
            write_lake(folder, [(hour_of(row), row) for row in handmade()])
            lake = report.Lake(folder, period.end)
        found = {name: report.Answer(lake.database, name, period) for name in CART}
        self.assertEqual({row[0] for row in found["weekly_report"].rows}, {datetime.date(2026, 2, 23), datetime.date(2026, 3, 2)})
        self.assertEqual([str(row[0]) for row in found["sales_per_hour"].rows], ["2026-03-03 08:00:00", "2026-02-26 10:00:00", "2026-02-26 10:00:00"])
        # The items as of the last day: L3 was bought later, and L5 was removed later.
        state = {row["item_id"]: row["status"] for row in found["cart_state"].records()}
        self.assertEqual((state["L3"], state["L5"], state["L1"]), ("ACTIVE", "ACTIVE", "PURCHASED"))
        with self.assertRaises(SystemExit):
            report.Period(last, first)

    def test_session_time_zone_does_not_change_results(self):
        lake = lake_of([(hour_of(row), row) for row in handmade()])
        for zone in ("America/Los_Angeles", "Pacific/Kiritimati"):
            lake.database.execute(f"SET TimeZone = '{zone}'")
            for name, expected in EXPECTED.items():
                with self.subTest(name, zone=zone):
                    self.assertEqual(answer(lake.database, name), expected)

    def test_queries_use_the_current_time(self):
        """Runs the files with the current time.

        The results must contain current items. Only cart_state must contain a purchase of three
        years ago."""
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
        s = Story()
        for item, at in (("new", now), ("old", now - datetime.timedelta(days=3 * 365))):
            s.insert(item, "A", item, str(at), 1, "1", "USD")
            s.move(item, str(at), "PURCHASED", "O")
        s.insert("left", "A", "left", str(now - datetime.timedelta(days=8)), 1, "1", "USD", expires=str(now + datetime.timedelta(days=1)))
        s.insert("kept", "A", "kept", str(now - datetime.timedelta(days=6)), 1, "1", "USD", expires=str(now + datetime.timedelta(days=1)))
        lake = lake_of([(hour_of(row), row) for row in s.rows])
        seen = {name: {record.get("sku") for record in report.Answer(lake.database, name).records()} for name in CART}
        added = {"new", "left", "kept"}
        self.assertEqual(seen["weekly_report"], added)
        self.assertEqual(seen["monthly_report"], added)
        self.assertEqual(seen["conversion_funnel"], added)
        self.assertEqual(seen["time_to_purchase"], {"new"})
        self.assertEqual(seen["abandoned_carts"], {"left"})
        self.assertEqual(seen["cart_state"], added | {"old"})

    def test_hour_filter_does_not_change_results(self):
        """Each query must return the same rows without its partition filter.

        The filter only reduces the amount of scanned data."""
        lake = lake_of(arrivals(handmade(), random.Random(1)))
        for name, expected in EXPECTED.items():
            text, filters = re.subn(r"hour >= .*'-00'\n", "TRUE\n", sql_at(name))
            self.assertEqual(filters, 1 if name in CART and name != "cart_state" else 0, name)
            result = lake.database.execute(text)
            self.assertEqual(simple(name, [column[0] for column in result.description], result.fetchall()), expected, name)

    def test_random_carts_are_rebuilt(self):
        for seed in range(20):
            chance = random.Random(seed)
            s, gone = Story(), set()
            at = datetime.datetime(2026, 1, 1)
            for step in range(300):
                at += datetime.timedelta(minutes=chance.randrange(90))
                active_cart_items = [item for item, line in s.lines.items() if item not in gone and line["status"] in ("ACTIVE", "SAVED")]
                if not active_cart_items or chance.random() < 0.3:
                    price = chance.choice([None, "0.01", "12.49", "9999999.9999"])
                    s.insert(f"I{step}", chance.choice("ABC"), chance.choice("xyz"), str(at), chance.randint(1, 9), price, price and chance.choice(["USD", "EUR"]))
                    continue
                item = chance.choice(active_cart_items)
                line = s.lines[item]
                others = [o for o in active_cart_items if o != item and s.lines[o]["account_id"] == line["account_id"] and s.lines[o]["sku"] == line["sku"]]
                kind = chance.choice(["change", "move", "move", "buy", "remove", "expire", "join"])
                if kind == "change":
                    s.change(item, str(at), chance.randint(1, 9))
                elif kind == "move":
                    s.move(item, str(at), "SAVED" if line["status"] == "ACTIVE" else "ACTIVE")
                elif kind == "buy":
                    s.move(item, str(at), "PURCHASED", f"O{step}")
                    if later := chance.choice([None, "SHIPPED", "CANCELLED"]):
                        s.move(item, str(at), later, f"O{step}")
                elif kind == "join" and others:
                    s.join(item, others[0], str(at))
                elif kind == "remove":
                    s.remove(item, str(at))
                    gone.add(item)
                elif kind == "expire" and line["status"] == "ACTIVE":
                    s.expire(item, str(at))
                    gone.add(item)
            lake = lake_of(arrivals(s.rows, chance))
            model = sorted(
                (line["account_id"], item, line["sku"], line["status"], line["quantity"], D(line["price"]) if line["price"] else None, line["currency"], line["order_id"], line["version"])
                for item, line in s.lines.items()
                if item not in gone and line["status"] != "JOINED"
            )
            self.assertEqual(answer(lake.database, "cart_state"), model, seed)
            self.check_totals(lake, s, seed)

    def check_totals(self, lake, story, seed):
        """Compares the totals of all weeks with the generated rows."""
        rows = [dict(zip(("week", "sku", "currency", "adds", "pieces", "saves", "purchases", "bought", "orders", "revenue", "unpriced"), row)) for row in answer(lake.database, "weekly_report")]
        raised = [row for row in story.rows if row["operation"] == "modify" and row["quantity"] > row["old_quantity"]]
        joined = [row for row in story.rows if row.get("status") == "JOINED"]
        inserted = [row for row in story.rows if row["operation"] == "insert"]
        cancelled = {row["item_id"] for row in story.rows if row.get("status") == "CANCELLED"}
        bought = [row for row in story.rows if row.get("status") == "PURCHASED" and row["item_id"] not in cancelled]
        self.assertEqual(sum(row["adds"] for row in rows), len(inserted) + len(raised) - len(joined), seed)
        pieces = sum(row["quantity"] for row in inserted) + sum(row["quantity"] - row["old_quantity"] for row in raised) - sum(row["quantity"] for row in joined)
        self.assertEqual(sum(row["pieces"] for row in rows), pieces, seed)
        self.assertEqual(sum(row["saves"] for row in rows), sum(row.get("status") == "SAVED" and row["operation"] == "move" for row in story.rows), seed)
        self.assertEqual(sum(row["unpriced"] for row in rows), sum("price" not in row for row in bought), seed)
        revenue, totals = collections.Counter(), collections.Counter()
        for row in bought:
            if "price" in row:
                revenue[row["sku"], row["currency"]] += row["quantity"] * D(row["price"])
        for row in rows:
            if row["revenue"] is not None:
                totals[row["sku"], row["currency"]] += row["revenue"]
        self.assertEqual(totals, revenue, seed)
        took = collections.defaultdict(list)
        for row in bought:
            took[row["sku"]].append((datetime.datetime.fromisoformat(row["status_changed_at"]) - datetime.datetime.fromisoformat(row["added_at"])).total_seconds())
        for sku, purchases, average, median, slowest in answer(lake.database, "time_to_purchase"):
            times = took.pop(sku)
            self.assertEqual((purchases, slowest), (len(times), max(times)), seed)
            self.assertLessEqual(abs(average - statistics.mean(times)), 0.5, seed)
            self.assertLessEqual(abs(median - statistics.median(times)), 0.5, seed)
        self.assertFalse(took, seed)
        funnel = answer(lake.database, "conversion_funnel")
        self.assertEqual(sum(row[2] for row in funnel), len(inserted), seed)
        for row in funnel:
            self.assertEqual(row[2], sum(row[4:11]), seed)

    def test_empty_table_returns_no_rows(self):
        lake = report.Lake("no-such-folder")
        for name in report.QUESTIONS:
            self.assertEqual(answer(lake.database, name), [], name)

    def test_weekly_and_monthly_report_differ_only_in_the_period(self):
        weekly, monthly = ("\n".join(report.QUERIES[name]) for name in ("weekly_report", "monthly_report"))
        turned = weekly.replace("'85' day", "'12' month - interval '1' day").replace("'84' day", "'12' month").replace("12 weeks", "12 months")
        self.assertEqual(re.sub(r"\bweek\b", "month", turned), monthly)


class Texts(unittest.TestCase):
    """Checks requirements of DuckDB and Athena that a run on DuckDB does not check."""

    def test_queries_contain_only_characters_that_every_client_accepts(self):
        for name in report.QUESTIONS:
            about, text = report.QUERIES[name]
            self.assertTrue(text.isascii() and about.endswith("."), name)
            self.assertTrue(text.startswith("-- ") and text.endswith("\n"), name)
            self.assertLess(len(text), 262_144, name)
            # A client may treat a semicolon as the end of a statement, a question mark as a
            # parameter, and an apostrophe in a comment as the start of a string.
            self.assertFalse(set(text) & set(";?\"\t`"), name)
            self.assertFalse([line for line in text.splitlines() if "--" in line and "'" in line and "'2026" not in line], name)
            self.assertLessEqual(len(about), 120, name)

    def test_queries_use_only_functions_that_both_engines_share(self):
        alike = set("avg cast coalesce count date_diff date_trunc max min nullif round row_number sum".split())
        for name in report.QUESTIONS:
            text = re.sub("--.*", "", report.QUERIES[name][1])
            used = {word.lower() for word in re.findall(r"(\w+)\(", text)}
            self.assertFalse(used - alike, name)
            self.assertNotRegex(text, r"[^-]/ [^n]", f"{name}: integer division differs between DuckDB and Athena")

    @unittest.skipUnless(importlib.util.find_spec("sqlglot"), "sqlglot is not installed")
    def test_queries_parse_as_trino_sql(self):
        import sqlglot
        import sqlglot.optimizer.qualify

        schema = {name: dict(table.columns) | {"hour": "varchar"} for table in report.TABLES.values() for name in (table.changes, table.items)}
        database = lake_of(arrivals(handmade(), random.Random(2))).database
        for name in report.QUESTIONS:
            for dialect in ("trino", "athena"):
                tree = sqlglot.parse_one(sql_at(name), read=dialect)
                sqlglot.optimizer.qualify.qualify(tree.copy(), schema=schema, dialect=dialect)
            # Translated from Trino SQL to DuckDB SQL, the query must return the same rows.
            result = database.execute(sqlglot.transpile(sql_at(name), read="trino", write="duckdb")[0])
            columns = [column[0] for column in result.description]
            self.assertEqual(simple(name, columns, result.fetchall()), EXPECTED[name], name)


@unittest.skipUnless(importlib.util.find_spec("ministack"), "ministack is not installed")
class Athena(unittest.TestCase):
    """Runs the queries on ministack.

    The Parquet files are in S3, the table is in Glue, and the Athena API uses DuckDB."""

    def setUp(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        own = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(self.port), "S3_DATA_DIR": f"{self.folder}/s3", "SERVICES": "s3,glue,athena"}
        self.log = open(f"{self.folder}/log", "w+b")
        self.addCleanup(self.log.close)
        server = subprocess.Popen([sys.executable, "-m", "ministack"], env={**os.environ, **own}, cwd=self.folder, stdout=self.log, stderr=self.log)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        for _ in range(150):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            if server.poll() is not None:
                break
            time.sleep(0.2)
        self.log.seek(0)
        self.fail(f"ministack did not start: {self.log.read().decode(errors='replace')[-2000:]}")

    def call(self, target, body):
        service = "athena" if target.startswith("AmazonAthena") else "glue"
        signed = f"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1", "Authorization": signed}
        return self.send("POST", "/", json.dumps(body).encode(), headers)

    def send(self, method, path, body=b"", headers=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answered:
                return json.loads(answered.read() or b"{}") if method == "POST" else None
        except urllib.error.HTTPError as error:
            self.fail(f"{method} {path}: {error.code} {error.read()[:500]!r}")

    def test_queries_run_through_athena(self):
        database = lake_of(arrivals(handmade(), random.Random(3))).database
        for bucket in ("lake", "results"):
            self.send("PUT", f"/{bucket}")
        for (hour,) in database.execute("SELECT DISTINCT hour FROM cart_changes").fetchall():
            file = pathlib.Path(self.folder, "part.parquet")
            database.execute(f"COPY (SELECT * EXCLUDE (hour) FROM cart_changes WHERE hour = '{hour}') TO '{file}' (FORMAT parquet)")
            self.send("PUT", f"/lake/changes/cart-items/hour={hour}/part.parquet", file.read_bytes())
        columns = [{"Name": name, "Type": kind.replace("varchar", "string")} for name, kind in report.COLUMNS.items()]
        location = {"Columns": columns[:-1], "Location": "s3://lake/changes/cart-items/"}
        shape = {"Name": "cart_changes", "PartitionKeys": columns[-1:], "StorageDescriptor": location, "Parameters": {"classification": "parquet"}}
        self.call("AWSGlue.CreateDatabase", {"DatabaseInput": {"Name": "cart"}})
        self.call("AWSGlue.CreateTable", {"DatabaseName": "cart", "TableInput": shape})
        for name in CART:
            with self.subTest(name):
                result = database.execute(sql_at(name))
                wanted = [[column[0] for column in result.description]]
                wanted += [[None if cell is None else str(cell) for cell in row] for row in result.fetchall()]
                self.assertEqual(self.athena(sql_at(name)), wanted)
                self.athena(report.QUERIES[name][1])

    def test_added_column_is_null_in_older_files(self):
        for bucket in ("lake", "results"):
            self.send("PUT", f"/{bucket}")
        columns = [{"Name": "event_id", "Type": "string"}, {"Name": "version", "Type": "bigint"}, {"Name": "added_later", "Type": "string"}]
        for file, select in {"1.parquet": "SELECT 'a' AS event_id, 1::bigint AS version", "2.parquet": "SELECT 'b' AS event_id, 2::bigint AS version, 'new' AS added_later"}.items():
            path = pathlib.Path(self.folder, file)
            duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
            self.send("PUT", f"/lake/changes/some-items/hour=2026-03-0{file[0]}-00/{file}", path.read_bytes())
        shape = {
            "Name": "some_changes",
            "PartitionKeys": [{"Name": "hour", "Type": "string"}],
            "StorageDescriptor": {"Columns": columns, "Location": "s3://lake/changes/some-items/"},
            "Parameters": {"classification": "parquet"},
        }
        self.call("AWSGlue.CreateDatabase", {"DatabaseInput": {"Name": "cart"}})
        self.call("AWSGlue.CreateTable", {"DatabaseName": "cart", "TableInput": shape})
        found = self.athena("SELECT event_id, version, added_later FROM some_changes ORDER BY event_id")
        self.assertEqual(found, [["event_id", "version", "added_later"], ["a", "1", None], ["b", "2", "new"]])

    def athena(self, text):
        asked = {"QueryString": text, "QueryExecutionContext": {"Database": "cart"}, "ResultConfiguration": {"OutputLocation": "s3://results/"}}
        query = self.call("AmazonAthena.StartQueryExecution", asked)
        for _ in range(300):
            status = self.call("AmazonAthena.GetQueryExecution", query)["QueryExecution"]["Status"]
            if status["State"] == "SUCCEEDED":
                rows = self.call("AmazonAthena.GetQueryResults", query)["ResultSet"]["Rows"]
                return [[cell.get("VarCharValue") for cell in row["Data"]] for row in rows]
            if status["State"] == "FAILED":
                break
            time.sleep(0.1)
        self.fail(f"the query did not succeed: {status}")


class Strict(html.parser.HTMLParser):
    """Fails if tags are not closed in order, or if the page executes or loads anything."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], collections.Counter(), []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        for key, value in attributes:
            assert not key.startswith("on") and key not in ("src", "srcset"), (tag, key)
            assert key != "href" or value.startswith("#") or value in ("report.html", "report-bank.html", "report-ledger.html"), value
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.words.append(data)


class Report(unittest.TestCase):
    def run_report(self, folder):
        page = pathlib.Path(folder, "report.html")
        done = subprocess.run([sys.executable, report.FOLDER / "report.py", "--lake", folder, "--output", page], capture_output=True, text=True)
        return done, page.read_text() if page.exists() else None

    def test_empty_lake_prints_a_hint(self):
        with tempfile.TemporaryDirectory() as folder:
            for missing in (folder, f"{folder}/none"):
                done, page = self.run_report(missing)
                self.assertEqual((done.returncode, page, done.stdout), (1, None, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn("make run", done.stderr)
                self.assertIn(report.ARRIVAL, done.stderr)

    def test_arrival_covers_the_batching_window_of_the_export(self):
        [window] = re.findall(r"\n  ExportWindowSeconds:\n.*\n.*\n    Default: (\d+)\n", TEMPLATE.read_text())
        # The other half is for the export itself.
        self.assertEqual((int(window), "ten seconds" in report.ARRIVAL), (5, True))

    def test_unreadable_lines_are_reported_and_counted(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        row = {"event_id": "1", "operation": "insert", "changed_at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "account_id": "A", "item_id": "I", "sku": "s", "version": 1}
        bad = [b"{", b"[]", b"\xff", b'"x"', b"{}", b'{"version": NaN}', b"[" * 100_000]
        bad += [
            json.dumps({**row, **fault}).encode()
            for fault in (
                {"event_id": None}, {"operation": "upsert"}, {"version": "1"}, {"version": True}, {"version": 2**63}, {"quantity": 1.5},
                {"quantity": 2**31}, {"price": "1.23456"}, {"price": "1e99"}, {"price": "NaN"}, {"price": []}, {"changed_at": "yesterday"},
                {"changed_at": "2026-02-30 00:00:00"}, {"changed_at": 1}, {"sku": 1}, {"sku": {}},
            )
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            write_lake(folder, [(f"{now:%Y-%m-%d-%H}", row)])
            (file,) = pathlib.Path(folder).rglob("*.json")
            file.write_bytes(file.read_bytes() + b"\n\n" + b"\n".join(bad))
            (file.parent / ".hidden").write_bytes(b"{")
            done, page = self.run_report(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = f"1 row in 1 file, 0 of them repeated; {len(bad)} unreadable lines"
        self.assertIn(told, done.stdout)
        self.assertIn(told, page)
        self.assertIn(f"{file.name}:4: is not valid JSON\n", done.stderr)
        self.assertIn(f"and {len(bad) - report.SHOWN_FAULTS} more", done.stderr)
        self.assertIn(f"and {len(bad) - report.SHOWN_FAULTS} more", page)

    def test_every_notation_of_a_value_is_read_exactly(self):
        rows = [
            {"event_id": str(number), "operation": "insert", "changed_at": at, "account_id": "A", "item_id": str(number), "sku": "s", "version": 1, "price": price}
            for number, (at, price) in enumerate(
                [
                    ("2026-01-02 10:30:00", "0.1"),
                    ("2026-01-02T10:30:00Z", 0.1),
                    ("2026-01-02T12:30:00.000+02:00", "0.1000"),
                    ("2026-01-02 10:30:00.000000", "1e-1"),
                ]
            )
        ]
        lake = lake_of([("2026-01-02-10", row) for row in rows])
        self.assertEqual(lake.faults, [])
        found = lake.database.execute("SELECT DISTINCT changed_at, price, hour FROM cart_changes").fetchall()
        self.assertEqual(found, [(datetime.datetime(2026, 1, 2, 10, 30), D("0.1"), "2026-01-02-10")])

    def test_page_is_complete_and_executes_nothing(self):
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
        evil = "<script>alert('1')</script>&\"\x1b[31m"
        s = Story()
        for number in range(12):
            s.insert(f"I{number}", evil, f"{evil}{number}", str(now), 1, "12.5", evil)
            s.move(f"I{number}", str(now), "PURCHASED", evil)
        with tempfile.TemporaryDirectory() as folder:
            write_lake(folder, [(hour_of(row), row) for row in s.rows])
            done, page = self.run_report(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout + page)
        for forbidden in ("<script", "http:", "https:", "url(", "@import"):
            self.assertNotIn(forbidden, page.lower().replace("http-equiv", ""))
        strict = Strict()
        strict.feed(page)
        strict.close()
        self.assertEqual(strict.open, [])
        self.assertEqual(strict.tags["svg"], 2)
        self.assertGreaterEqual(strict.tags["title"], 3)
        self.assertEqual(strict.tags["desc"], 2)
        self.assertIn("2 other SKUs", "".join(strict.words))
        self.assertIn(report.ARRIVAL, page)
        self.assertIn(report.ARRIVAL, done.stdout)
        titles = re.findall("<h2 id=\"(\\w+)\">(.*?)</h2>\n<p>(.*?)</p>", page)
        self.assertEqual([(name, about) for name, _, about in titles], [(name, report.QUERIES[name][0]) for name in CART])
        for name, title, about in titles:
            self.assertRegex(title, r"^[A-Z][a-z ]{4,30}$", "a title is no sentence")
            self.assertIn(f'<a href="#{name}">{title}</a>', page)
            self.assertIn(f"{title}\n{about}\n\n", done.stdout)

    def test_page_fits_phones_and_desktops(self):
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)
        s = Story()
        for week in range(12):
            at = str(now - datetime.timedelta(weeks=week))
            s.insert(f"I{week}", "A" * 64, "S" * 64, at, 1, "12345.67", "USD")
            s.move(f"I{week}", at, "PURCHASED", "O" * 64)
        with tempfile.TemporaryDirectory() as folder:
            write_lake(folder, [(hour_of(row), row) for row in s.rows])
            _, page = self.run_report(folder)
        self.assertNotRegex(report.STYLE, r"svg \{[^}]*min-width")
        self.assertNotRegex(page, r'<(svg|table|th|td)[^>]* (width|style)="')
        # A phone of 420 px shows a chart at this width or smaller, with a font of at least 10 px.
        for chart in re.findall(r'<svg.*?viewBox="0 0 (\d+) \d+".*?</svg>', page, re.DOTALL):
            self.assertGreaterEqual(13 * (420 - 32) / int(chart), 10)
        # Only columns of ids contain long words, and these words can break.
        self.assertIn('<td class="id">' + "S" * 64, page)
        self.assertIn('<td class="id">' + "A" * 64, page)
        self.assertRegex(report.STYLE, r"\.id \{ overflow-wrap: anywhere")
        self.assertRegex(page, r'<td class="time">\d{4}-')
        weeks = re.findall(r'<text class="middle" x="([\d.]+)" y="[\d.]+">\d\d-\d\d<', page)
        gaps = [float(b) - float(a) for a, b in zip(weeks, weeks[1:])]
        self.assertTrue(gaps and min(gaps) >= 42, gaps)

    def test_numbers_are_formatted_for_readers(self):
        shown = [report.shown("x_seconds", seconds) for seconds in (0, 59, 3_600, 90_061, 1_857_600)]
        self.assertEqual(shown, ["0 s", "59 s", "1 h", "1 d 1 h", "21 d 12 h"])
        amounts = [report.shown("x", D(amount)) for amount in ("1234.5000", "0.0001", "2.1250", "0.0000")]
        self.assertEqual(amounts, ["1,234.50", "0.0001", "2.125", "0.00"])
        for highest in (0, 0.01, 1, 3, 4, 5, 7, 99, 100, 101, 12_345.678, 10**12):
            for whole in (False, True):
                marks = report.ticks(highest, whole)
                self.assertGreaterEqual(marks[-1] * 1.002, highest)
                self.assertTrue(2 <= len(marks) <= 7, marks)


def main():
    if not sys.warnoptions:
        sys.warnoptions.append("default")
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"DuckDB {duckdb.__version__}, Python {sys.version.split()[0]}", flush=True)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
