"""This part compares the units that each access pattern consumes with the minimum units for the
same key design. All calls run on a local stack.

R means read request units (RRU), and W means write request units (WRU).

The minimum is computed from DynamoDB's rules, and from the sizes of the items that a request
changes or returns. The computation does not use the formulas that the crates declare.

- A write of an item costs ⌈item size ÷ 1 KB⌉ W. Each changed index entry costs ⌈entry size ÷ 1 KB⌉
  W, or twice as much if its key changes. If a pattern must change several items together, it needs
  a transaction, which doubles the write cost on the table.
- A query costs ½ ⌈Σ sizes ÷ 4 KB⌉ R, also if it finds nothing. A list of several partitions, shards
  or statuses needs a query of each. If an index does not project all attributes, reading each item
  from the table costs another ½ ⌈item size ÷ 4 KB⌉ R. An item whose content the response needs,
  such as the owner of the account, costs the same.
- The minimum of a request that changes an item includes no read before the write.

The last column explains each difference. `make bench-counts` fails if a difference is not
explained. Stream functions (C7, W11, W18 and reconcile of L8), K1 and K3 are not in the table. Tests compare
the cost of these functions with the declarations."""

import json
import re
import sys
import time

import capacity
from cost_reasons import REASONS, REQUIRED
from cost_walk import walk
from stack import LOCAL, ROOT, call, consumed, dynamo, loaded

sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack  # noqa: E402

TEXT = r'"(?:[^"\\]|\\.)*"'
CONDITION = re.compile(rf"(\w+) = ({TEXT})(?: AND (\w+) BETWEEN ({TEXT}) AND ({TEXT}))?")
# Tables whose index GSI1 has five shards. A list queries each shard, but the stack reports the
# consumed units of all shards in one row.
SHARDED, SHARDS = ("PaymentScheduler", "TransactionHistory"), "01234"
UNITS = "RWI"
# Matches the section of a function in docs/access-patterns, if its trigger is a route.
ROUTE = re.compile(r"^## (\w+) ([\w-]+)\n\n`(GET|POST|PUT|PATCH|DELETE) (\S+)`", re.MULTILINE)
# These patterns need a failed job, or erase a company. Tests check their cost.
NOT_WALKED = {
    "retry-job", "retry-bank-job", "retry-cart-job", "retry-import", "retry-reconciliation",
    "start-export", "get-export", "start-erasure", "get-erasure",
}


class Meter:
    """Records the consumed and the minimum units of each call."""

    def __init__(self, url):
        self.url, self.rows = url, []
        _, health = call(f"{url}/_local/health")
        self.dynamodb = health["dynamodb"]
        told = (dynamo(self.dynamodb, "DescribeTable", {"TableName": name})["Table"] for name in health["tables"])
        self.tables = {table.name: table for table in map(capacity.Table, told)}
        self.wait(lambda: loaded(url))

    def get(self, path):
        return call(self.url + path)[1]

    def wait(self, is_so):
        end = time.monotonic() + 60
        while not is_so():
            if time.monotonic() > end:
                sys.exit("the local stack is not ready after 60 seconds")
            time.sleep(0.02)

    def step(self, pattern, name, method, path, body=None, *, key=None, **least):
        self.wait(lambda: all(mapping["pending"] == 0 for mapping in self.get("/_local/streams")["mappings"]))
        before = self.items() if name else {}
        headers, answer = call(self.url + path, method, body, {"idempotency-key": key} if key else {})
        if name:
            rows = consumed(headers)
            row = {"pattern": pattern, "name": name, "measured": units(rows)}
            least = {"reads": method == "GET", **least}
            self.rows.append(row | {"least": self.least(rows, before, **least)})
        return answer

    def items(self):
        """Returns all items of all tables, by table and keys."""
        found = {}
        for name in self.tables:
            request = {"TableName": name}
            while request:
                page = dynamo(self.dynamodb, "Scan", request)
                found |= {(name, item["PK"]["S"], item["SK"]["S"]): item for item in page["Items"]}
                start = page.get("LastEvaluatedKey")
                request = {**request, "ExclusiveStartKey": start} if start else None
        return found

    def least(self, rows, before, *, reads, types="", under="", items=(), empty=0, fetched=True):
        written, indexed = self.least_written(before, types.split(), under) if types else (0, 0)
        read = self.least_read(rows, before, fetched) if reads else 0
        for kind, *names in items:
            of_kind = {f"{pk} {sk} ": item for (_, pk, sk), item in before.items() if item["Type"]["S"] == kind}
            [got] = [item for key, item in of_kind.items() if all(name in key for name in names)]
            read += capacity.eventual_read([got])
        return [read + empty * capacity.eventual_read([]), written, indexed]

    def least_written(self, before, types, under):
        """Returns the minimum cost of the writes on the tables and on the indexes.

        Counts the changed items that have one of the types and the sort key prefix `under`."""
        after, base, indexed = self.items(), [], 0
        for key in before.keys() | after.keys():
            old, new = before.get(key), after.get(key)
            if old != new and (new or old)["Type"]["S"] in types and key[2].startswith(under):
                base.append(capacity.base_written(old, new))
                indexed += sum(index.written(old, new) for index in self.tables[key[0]].indexes)
        return sum(base) * (2 if len(base) > 1 else 1), indexed

    def least_read(self, rows, items, fetched):
        """Returns the minimum cost of reading the queried ranges.

        If the call also got items by key, adds the cost of getting the items of the ranges."""
        read, fetched = 0, fetched and any(row["action"] in ("GetItem", "BatchGetItem") for row in rows)
        ranges = {(row["table"], row["index"] or "", row["condition"]) for row in rows if row["condition"]}
        for table, index, condition in sorted(ranges):
            for entries in self.ranges(items, table, index, condition):
                read += capacity.eventual_read([entry for entry, _ in entries])
                if index and fetched:
                    read += sum(capacity.eventual_read([item]) for _, item in entries)
        return read

    def ranges(self, items, table, index, condition):
        """Yields a list of the index entries that match the key condition, each with its item.

        For a sharded index, yields one list per shard."""
        partition, *texts = CONDITION.match(condition).groups()
        value, low, high = (text and unquoted(text) for text in (texts[0], *texts[2:]))
        entry = next((of.entry for of in self.tables[table].indexes if of.name == index), lambda item: item)
        there = [(entry(item), item) for key, item in items.items() if key[0] == table]
        within = [(kept, item) for kept, item in there if kept and (not low or low <= kept[texts[1]]["S"] <= high)]
        sharded = table.endswith(SHARDED) and partition == "GSI1PK"
        for value in SHARDS if sharded else [value]:
            yield [(kept, item) for kept, item in within if kept[partition]["S"] == value]


def unquoted(text):
    """Parses a text in the notation of Rust, which writes some characters as \\u{10ffff}."""
    return json.loads(re.sub(r"\\u\{(\w+)\}", lambda found: json.dumps(chr(int(found[1], 16)))[1:-1], text))


def units(rows):
    """Returns the units read, written to tables, and written to indexes."""
    return [
        sum(row["read"] for row in rows),
        sum(row["write"] for row in rows if not row["index"]),
        sum(row["write"] for row in rows if row["index"]),
    ]


def measure(binary=LOCAL):
    """Measures the part "cost" of the results."""
    # Without a batching window, the measurement does not wait for the export.
    # The erasure of the sample would wait for a quarter of an hour.
    with local_stack(binary, "--parameter", "ExportWindowSeconds=0", "--parameter", "ErasureQuietSeconds=0") as url:
        meter = Meter(url)
        walk(meter.step)
        for name, (pattern, method, path) in routes().items():
            if method == "GET" and name not in walked(meter.rows) | NOT_WALKED:
                [event] = [json.loads(file.read_text()) for file in ROOT.glob(f"events/*/{name}.json")]
                meter.step(pattern, name, method, f"{event['rawPath']}?{event['rawQueryString']}")
                # A read of one small item by its key.
                if meter.rows[-1]["least"] == [0, 0, 0] and meter.rows[-1]["measured"] == [0.5, 0, 0]:
                    meter.rows[-1]["least"] = [0.5, 0, 0]
    return {"patterns": meter.rows}


def routes():
    """Returns the pattern id, method and path of each route, by the name of its function."""
    pages = "".join(page.read_text() for page in sorted((ROOT / "docs/access-patterns").glob("*.md")))
    return {name: (pattern, method, path) for pattern, name, method, path in ROUTE.findall(pages)}


def walked(rows):
    return {row["name"].partition(",")[0] for row in rows}


def reasoned(row):
    """Returns the minimum plus the units that the reasons explain."""
    more = dict.fromkeys(UNITS, 0)
    for text in REASONS.get(row["name"], {}):
        number, unit = text.split()
        more[unit] += float(number)
    return [least + more[unit] for unit, least in zip(UNITS, row["least"], strict=True)]


def faults():
    """Yields a fault for each call whose units differ from the minimum plus the explained units."""
    patterns = measure()["patterns"]
    for name in routes().keys() - walked(patterns) - NOT_WALKED:
        yield f"{name} was not measured: add a step to bench/cost_walk.py"
    for name in REASONS.keys() - {row["name"] for row in patterns}:
        yield f"{name} has reasons but was not measured"
    for row in patterns:
        if row["measured"] != reasoned(row):
            least = f"the minimum is {told(row['least'])}, or {told(reasoned(row))} with the reasons"
            yield f"{row['pattern']} {row['name']}: {told(row['measured'])}; {least}"


def told(units):
    names = ["R", "W", "W of indexes"]
    return ", ".join(f"{number:g} {name}" for number, name in zip(units, names, strict=True) if number) or "nothing"


def section(result):
    rows = ["| # | call | minimum | measured | difference |", "| --- | --- | --- | --- | --- |"]
    for row in result["patterns"]:
        why = "; ".join(f"{units}: {reason}" for units, reason in REASONS.get(row["name"], {}).items())
        same = row["measured"] == row["least"]
        cells = [row["pattern"], row["name"], told(row["least"]), "minimum" if same else told(row["measured"]), why]
        rows.append(f"| {' | '.join(cells)} |")
    required = ["| operation of the ledger | required | measured | reason |", "| --- | ---: | ---: | --- |"]
    by_name = {row["name"]: row["measured"] for row in result["patterns"]}
    for operation, (low, high), name, which, why in REQUIRED:
        number = sum(by_name[name][UNITS.index(unit)] for unit in which)
        required.append(f"| {operation} | {low:g}{f' to {high:g}' if high > low else ''} | {number:g} | {why} |")
    same = sum(row["measured"] == row["least"] for row in result["patterns"])
    count = f"{same} of {len(result['patterns'])} calls consume the minimum."
    introduction = "The [ledger requirements](requirements/ledger.md#performance-targets) state the cost of six operations:"
    tables = ["\n".join(rows), count, introduction, "\n".join(required)]
    return "\n\n".join(["## Cost", __doc__.strip(), *tables]) + "\n"
