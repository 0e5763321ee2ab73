#!/usr/bin/env python3
"""Tests the SQL of target/lake-sql on rows of random items: views, states, backfills, verification and added columns.

    make lake-sql && python analytics/test_lake.py

Requires duckdb. If sqlglot is installed, the SQL is also parsed as Trino SQL and translated to DuckDB SQL. If jsonata is
installed, the expressions of the state machine are evaluated.
"""

import contextlib
import datetime
import importlib.util
import json
import pathlib
import random
import re
import tempfile
import unittest
from collections import Counter

import duckdb

with contextlib.suppress(ImportError):
    import jsonata

import lake
import refresh

# Step Functions, "Task, Map, Parallel and Activity execution quotas": the maximum result of a task.
MAX_TASK_RESULT_BYTES = 262_144
START = datetime.datetime(2026, 3, 1)
COMMON = ("event_id", "operation", "sequence_number", "changed_at")
SCHEMAS = {one["items"]: one for one in json.loads((lake.FOLDER / "schema.json").read_text())}
TABLES = {table.items: table for table in lake.tables()}


def text_of(at):
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


class Source:
    """A table with random items. It has the rows of every change, in the order of the changes."""

    def __init__(self, table, chance):
        self.table, self.chance, self.schema = table, chance, SCHEMAS[table.items]
        self.now, self.rows, self.items = START, [], {}
        self.state = self.schema["state"]
        self.tracked = self.schema["tracked"]
        old = {f"old_{name}" for name in self.tracked}
        fixed = {*COMMON, *table.key, "version", *self.state, *old}
        self.constants = [name for name in table.columns if name not in fixed]

    def value(self, column):
        kind = self.table.columns[column]
        if column == "status":
            return self.chance.choice(["ACTIVE", "SAVED", "PENDING"])
        if kind == "varchar":
            return f"{column} {self.chance.randrange(1000)}"
        if kind == "boolean":
            return self.chance.random() < 0.5
        if kind.startswith("decimal"):
            return f"{self.chance.randrange(1, 10**6)}.{self.chance.randrange(100):02}"
        if kind == "timestamp":
            return text_of(START + datetime.timedelta(milliseconds=self.chance.randrange(10**9)))
        return self.chance.randrange(1, 10**6)

    def emit(self, key, operation, item, old=None):
        number = len(self.rows) + 1
        row = {"event_id": f"event {number}", "operation": operation, "sequence_number": str(10**20 + number * 7), "changed_at": text_of(self.now)}
        row |= dict(zip(self.table.key, key))
        row |= {name: value for name, value in item.items() if value is not None}
        row |= {f"old_{name}": old[name] for name in self.tracked if old and old.get(name) is not None}
        self.rows.append(row)

    def step(self):
        """Inserts, modifies or removes an item."""
        self.now += datetime.timedelta(seconds=self.chance.randrange(1, 600))
        numbered = self.schema["numbered"]
        if not numbered or not self.items or self.chance.random() < 0.4:
            key = tuple(f"{name} {self.chance.randrange(10**9)}" for name in self.table.key)
            item = {name: self.value(name) for name in self.constants} | {"version": 1} | {name: self.value(name) for name in self.state}
            self.emit(key, "insert", item)
            self.items[key] = item
            return
        key = self.chance.choice(list(self.items))
        old = self.items[key]
        if self.chance.random() < 0.2:
            gone = {name: old[name] for name in self.constants} | {"version": old["version"] + 1}
            self.emit(key, self.chance.choice(["remove", "expire"]), gone, old)
            del self.items[key]
            return
        changed = {name: self.value(name) for name in self.state if name in self.tracked or self.chance.random() < 0.7}
        item = {**old, **changed, "version": old["version"] + 1}
        self.emit(key, "modify", item, old)
        self.items[key] = item

    def snapshot(self, at):
        """Returns the rows of an export of the current items."""
        for key, item in self.items.items():
            identity = f"snapshot {key} {item['version']}"
            yield {"event_id": identity, "operation": "snapshot", "changed_at": text_of(at), **dict(zip(self.table.key, key)), **item}

    def expected(self):
        return sorted((key, item["version"], *(str(item[name]) for name in self.state)) for key, item in self.items.items())


def write(bucket, table, hour, rows, name="part"):
    folder = pathlib.Path(bucket, "changes", table.folder, f"hour={hour}")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.json").open("a") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def write_snapshot(bucket, table, export, rows):
    folder = pathlib.Path(bucket, "snapshots", table.folder, f"export={export}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data-0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def hour_of(row, hours=0):
    return f"{datetime.datetime.fromisoformat(row['changed_at']) + datetime.timedelta(hours=hours):%Y-%m-%d-%H}"


def current(opened, table):
    """Returns the items that the view contains, in the form of `Source.expected`."""
    state = SCHEMAS[table.items]["state"]
    result = opened.database.execute(f"SELECT * FROM {table.items}")
    names = [column[0] for column in result.description]
    shown = lambda name, value: text_of(value) if isinstance(value, datetime.datetime) else plain(value)
    rows = (dict(zip(names, row)) for row in result.fetchall())
    return sorted((tuple(row[name] for name in table.key), row["version"], *(shown(name, row[name]) for name in state)) for row in rows)


def plain(value):
    """Returns an amount without the zeros that the column adds."""
    return str(value)[:-2] if type(value).__name__ == "Decimal" else str(value)


def quiet(source):
    """Returns a time after which no row is too new to be compared."""
    return source.now + datetime.timedelta(minutes=5)


class Views(unittest.TestCase):
    def test_view_and_state_equal_the_table(self):
        for table in TABLES.values():
            for seed in range(3):
                with self.subTest(table.items, seed=seed), tempfile.TemporaryDirectory() as bucket:
                    source = Source(table, random.Random(seed))
                    for _ in range(120):
                        source.step()
                    chance = random.Random(seed)
                    for row in chance.sample(source.rows, len(source.rows)):
                        for _ in range(chance.choice([1, 1, 2])):
                            write(bucket, table, hour_of(row), [row], str(chance.randrange(3)))
                    opened = refresh.Refresh(bucket)
                    opened.open()
                    self.assertEqual(current(opened, table), source.expected())
                    opened.compact(table, quiet(source))
                    opened.open()
                    self.assertEqual(current(opened, table), source.expected())
                    # Later changes, and a state that is made from the state before.
                    before = len(source.rows)
                    for _ in range(40):
                        source.step()
                    for row in source.rows[before:]:
                        write(bucket, table, hour_of(row), [row])
                    opened.open()
                    self.assertEqual(current(opened, table), source.expected())
                    opened.compact(table, quiet(source))
                    opened.open()
                    self.assertEqual(current(opened, table), source.expected())

    def test_backfill_and_stream_can_interleave_in_any_way(self):
        """Takes exports at random times, delivers them and the stream in a random order, and compacts in between."""
        tables = list(TABLES.values())
        for seed in range(1_000):
            chance = random.Random(seed)
            table = tables[seed % len(tables)]
            with tempfile.TemporaryDirectory() as bucket:
                source = Source(table, chance)
                # The lake begins after some of the changes. Rows of earlier changes never arrive.
                first = chance.randrange(0, 8)
                deliveries, last = [], chance.randrange(first + 1, 20)
                exports = {chance.randrange(first, last + 1) for _ in range(chance.randrange(1, 4))} | {last}
                for number in range(last + 1):
                    source.step()
                    if number >= first:
                        deliveries.append([source.rows[-1]])
                    if number in exports:
                        deliveries.append(list(source.snapshot(source.now)))
                chance.shuffle(deliveries)
                deliveries += [chance.choice(deliveries) for _ in range(chance.randrange(3))]
                opened = refresh.Refresh(bucket)
                for number, rows in enumerate(deliveries):
                    write(bucket, table, f"{quiet(source):%Y-%m-%d-%H}", rows, str(number))
                    if chance.random() < 0.1:
                        opened.open()
                        opened.compact(table, quiet(source))
                opened.open()
                self.assertEqual(current(opened, table), source.expected(), f"{table.items} {seed}")


class Verification(unittest.TestCase):
    maxDiff = None

    def lake(self, table, seed, plant, bucket, steps=150):
        """Writes the rows after `plant` has changed them, and returns what the verification finds."""
        source = Source(table, random.Random(seed))
        for _ in range(steps):
            source.step()
        rows = [(hour_of(row), dict(row)) for row in source.rows]
        expected = plant(source, rows, random.Random(seed + 1)) if plant else []
        for hour, row in rows:
            write(bucket, table, hour, [row])
        write_snapshot(bucket, table, "E", source.snapshot(quiet(source)))
        opened = refresh.Refresh(bucket)
        opened.open()
        found = [(kind, item, version) for kind, item, version, *_ in opened.verify(table, "E", quiet(source))]
        return sorted(found), sorted(expected)

    def test_lake_without_faults_has_no_differences(self):
        for table in TABLES.values():
            for seed in range(3):
                with self.subTest(table.items, seed=seed), tempfile.TemporaryDirectory() as bucket:
                    self.assertEqual(self.lake(table, seed, None, bucket), ([], []))

    def test_finds_exactly_the_planted_differences(self):
        for table in TABLES.values():
            for plant in (drop, double, delay, alter, invent):
                for seed in range(6):
                    with self.subTest(table.items, plant=plant.__name__, seed=seed), tempfile.TemporaryDirectory() as bucket:
                        found, expected = self.lake(table, seed, plant, bucket)
                        self.assertEqual(found, expected)
                        self.assertTrue(expected)

    def test_finds_all_kinds_at_once(self):
        for table in TABLES.values():
            with self.subTest(table.items), tempfile.TemporaryDirectory() as bucket:
                plants = lambda source, rows, chance: [one for plant in (delay, double, invent) for one in plant(source, rows, chance)]
                found, expected = self.lake(table, 9, plants, bucket)
                self.assertEqual(found, expected)


def item_of(table, row):
    return " ".join(row[name] for name in table.key)


def chosen(table, rows, chance, count=5):
    """Chooses rows of different items."""
    picked, seen = [], set()
    for place in chance.sample(range(len(rows)), len(rows)):
        key = item_of(table, rows[place][1])
        if key not in seen and len(picked) < count:
            seen.add(key)
            picked.append(place)
    return picked


def of_item(table, rows, row):
    return sorted(one["version"] for _, one in rows if item_of(table, one) == item_of(table, row))


def is_gone(table, source, row):
    return tuple(row[name] for name in table.key) not in source.items


def drop(source, rows, chance):
    """Drops rows of different items. A lost row is a gap if a later row exists, and otherwise the item is behind or missing."""
    table, expected, places = source.table, [], chosen(source.table, rows, chance)
    for place in places:
        row = rows[place][1]
        versions = of_item(table, rows, row)
        item, version = item_of(table, row), row["version"]
        if version < versions[-1]:
            expected.append(("gap", item, version + 1))
        elif not is_gone(table, source, row):
            expected.append(("missing" if len(versions) == 1 else "behind", item, version))
        else:
            # The item is deleted, but the lake does not know it.
            expected.append(("extra", item, version - 1))
    for place in sorted(places, reverse=True):
        del rows[place]
    return expected


def double(source, rows, chance):
    expected = []
    for place in chosen(source.table, rows, chance):
        hour, row = rows[place]
        rows.append((hour, row))
        expected.append(("repeated", item_of(source.table, row), row["version"]))
    return expected


def delay(source, rows, chance):
    expected = []
    for place in chosen(source.table, rows, chance):
        _, row = rows[place]
        rows[place] = (hour_of(row, chance.randrange(4, 30)), row)
        expected.append(("late", item_of(source.table, row), row["version"]))
    return expected


def alter(source, rows, chance):
    """Alters a value of the newest row of an item, or a tracked value or a constant of an older one."""
    table, expected = source.table, []
    for place in chosen(table, rows, chance, 8):
        row = rows[place][1]
        newest = row["version"] == of_item(table, rows, row)[-1]
        gone = is_gone(table, source, row)
        if newest and gone:
            continue
        columns = [*source.constants, *source.state] if newest else source.tracked + ([] if gone else source.constants)
        column = chance.choice([name for name in columns if row.get(name) is not None])
        was = row[column]
        while row[column] == was:
            row[column] = source.value(column)
        expected.append(("different" if newest else "altered", item_of(table, row), row["version"]))
    return expected


def invent(source, rows, chance):
    """Adds an item that the table does not have."""
    hour, row = rows[0]
    row = {**rows[-1][1], **{name: f"invented {name}" for name in source.table.key}, "event_id": "invented", "operation": "insert", "version": 1}
    row = {name: value for name, value in row.items() if not name.startswith("old_")} | {"changed_at": rows[0][1]["changed_at"]}
    row |= {name: source.value(name) for name in source.state}
    rows.append((hour, row))
    return [("extra", item_of(source.table, row), 1)]


class Evolution(unittest.TestCase):
    """A column that is added later is null in the files that were written before."""

    def check(self, ending):
        for table in TABLES.values():
            with self.subTest(table.items), tempfile.TemporaryDirectory() as bucket:
                source = Source(table, random.Random(4))
                for _ in range(30):
                    source.step()
                added = SCHEMAS[table.items]["state"][-1]
                half = len(source.rows) // 2
                for version, rows in ((1, source.rows[:half]), (2, source.rows[half:])):
                    columns = {name: kind for name, kind in table.columns.items() if version == 2 or name != added}
                    rows = [{name: row[name] for name in columns if name in row} for row in rows]
                    folder = pathlib.Path(bucket, "changes", table.folder, f"hour={hour_of(source.rows[0])}")
                    folder.mkdir(parents=True, exist_ok=True)
                    path = folder / f"version-{version}.json"
                    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
                    if ending == "parquet":
                        kinds = "{" + ", ".join(f"{name}: '{kind}'" for name, kind in columns.items()) + "}"
                        duckdb.connect().execute(f"COPY (SELECT * FROM read_json('{path}', format = 'newline_delimited', columns = {kinds})) TO '{path.with_suffix('.parquet')}' (FORMAT parquet)")
                        path.unlink()
                opened = refresh.Refresh(bucket)
                opened.open()
                found = opened.database.execute(f"SELECT event_id, {added} IS NULL FROM {table.changes}").fetchall()
                wanted = [(row["event_id"], number < half or row.get(added) is None) for number, row in enumerate(source.rows)]
                self.assertEqual(sorted(found), sorted(wanted))

    def test_added_column_is_null_in_older_json(self):
        self.check("json")

    def test_added_column_is_null_in_older_parquet(self):
        self.check("parquet")


def expression(state, name):
    """Returns a JSONata expression of a state of the state machine."""
    found = re.search(rf'^ +{state}:\n(?:.*\n)*?.*\b{name}: "{{% (.*) %}}"', lake.TEMPLATE.read_text(), re.MULTILINE)
    return found[1]


def evaluated(text, **states):
    compiled = jsonata.Jsonata(text)
    compiled.assign("states", states)
    return compiled.evaluate(None)


@unittest.skipUnless(importlib.util.find_spec("jsonata"), "jsonata is not installed")
class Metric(unittest.TestCase):
    """The metric Differences, computed from the first rows of the result of the verification."""

    def metric(self, found):
        text = lake.TEMPLATE.read_text()
        count = int(re.search(r"Arguments: {QueryExecutionId: .*, MaxResults: (\d+)}", text)[1])
        # Athena returns all values as text, and the names of the columns as the first row.
        rows = [("kind", "item", "version", "detail", "total"), *found][:count]
        page = {"ResultSet": {"Rows": [{"Data": [{"VarCharValue": str(value)} for value in row]} for row in rows]}}
        self.assertLess(len(json.dumps(page)), MAX_TASK_RESULT_BYTES)
        counts = evaluated(expression("Differences", "Output"), result=page)
        return counts, evaluated(expression("Report", "Value"), input=counts)

    def test_late_rows_do_not_hide_a_lost_row(self):
        table = TABLES["ledger_transactions"]
        source = Source(table, random.Random(1))
        for _ in range(2_500):
            source.step()
        with tempfile.TemporaryDirectory() as bucket:
            write(bucket, table, hour_of(source.rows[-1], hours=9), source.rows[1:])
            write_snapshot(bucket, table, "E", source.snapshot(quiet(source)))
            opened = refresh.Refresh(bucket)
            opened.open()
            found = opened.verify(table, "E", quiet(source))
        self.assertEqual(self.metric(found), ({"late": 2_499, "missing": 1}, 1))
        self.assertLessEqual(max(Counter(kind for kind, *_ in found).values()), 1_000)

    def test_lake_without_differences_has_the_metric_0(self):
        self.assertEqual(self.metric([]), ({}, 0))

    def test_kinds_fit_into_the_first_rows(self):
        kinds = re.findall(r"^\| `(\w+)` \| ", lake.TEMPLATE.parents[1].joinpath("docs/lake.md").read_text().partition("## Verification")[2], re.MULTILINE)
        found = [(kind, "item " * 50, 1, "column " * 40, 2_000_000) for kind in sorted(kinds)]
        serious = len(kinds) - len(refresh.HARMLESS)
        self.assertEqual(self.metric(found), (dict.fromkeys(sorted(kinds), 2_000_000), serious * 2_000_000))


class Dialects(unittest.TestCase):
    def texts(self):
        values = {"state": "some_state", "since": "2026-01-01-00", "snapshot": "(SELECT * FROM some_snapshot WHERE export = 'E')", "at": "2026-03-01 00:00:00", "hour": "2026-03-01-00"}
        for table in TABLES.values():
            for name in ("view", "backfill", "compact", "current", "verify"):
                yield table, name, table.sql(name, **values)

    def test_texts_have_no_other_placeholders(self):
        for table, name, text in self.texts():
            self.assertNotRegex(text, r"[{}<>]\w+[}>]", f"{table.items} {name}")

    @unittest.skipUnless(importlib.util.find_spec("sqlglot"), "sqlglot is not installed")
    def test_texts_are_valid_in_both_dialects(self):
        import sqlglot
        import sqlglot.optimizer.qualify

        for table, name, text in self.texts():
            columns = dict(table.columns)
            schema = {table.changes: columns | {"hour": "varchar"}, "some_state": columns, "some_snapshot": columns | {"export": "varchar"}}
            for dialect in ("trino", "athena", "duckdb"):
                tree = sqlglot.parse_one(text, read=dialect)
                if name != "backfill":
                    sqlglot.optimizer.qualify.qualify(tree, schema=schema, dialect=dialect)

    @unittest.skipUnless(importlib.util.find_spec("sqlglot"), "sqlglot is not installed")
    def test_texts_translated_from_trino_have_the_same_result(self):
        import sqlglot

        with tempfile.TemporaryDirectory() as bucket:
            for table in TABLES.values():
                source = Source(table, random.Random(5))
                for _ in range(60):
                    source.step()
                for row in source.rows[3:]:
                    write(bucket, table, hour_of(row), [row])
                write_snapshot(bucket, table, "E", source.snapshot(quiet(source)))
            opened = refresh.Refresh(bucket)
            opened.open()
            for table in TABLES.values():
                values = {"state": table.changes, "since": lake.FIRST_HOUR, "snapshot": opened.snapshot(table, "E"), "at": "2026-03-09 00:00:00"}
                for name in ("view", "compact", "current", "verify"):
                    text = table.sql(name, **values)
                    translated = sqlglot.transpile(text, read="trino", write="duckdb")[0]
                    rows = [sorted(map(str, opened.database.execute(one).fetchall())) for one in (text, translated)]
                    self.assertEqual(*rows, f"{table.items} {name}")
                    self.assertTrue(rows[0], f"{table.items} {name}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
