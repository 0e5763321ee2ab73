#!/usr/bin/env python3
"""Runs the saved queries of stacks/lake.yaml on the lake.

Prints the results as tables, and writes an HTML page for each service:

    python analytics/report.py [--lake lake] [--output report.html] [--from 2026-12-01] [--to 2026-12-31]

Requires Python 3.9 and duckdb. The same queries run here on DuckDB and on AWS in Athena
(docs/decisions/lake.md).
"""

import argparse
import datetime
import decimal
import html
import itertools
import json
import math
import pathlib
import re
import sys
import tempfile

import duckdb

from lake import saved_queries, tables

FOLDER = pathlib.Path(__file__).resolve().parent
QUERIES = saved_queries()

# The pages: a title, and the queries in the order of the page.
PAGES = {
    "cart": (
        "Retail cart report",
        ["weekly_report", "monthly_report", "sales_per_hour", "baskets", "cohorts", "abandoned_carts", "time_to_purchase", "conversion_funnel", "cart_state"],
    ),
    "bank": ("Bank report", ["payments_by_day"]),
    "ledger": ("Ledger report", ["ledger_volume"]),
}
QUESTIONS = [name for _, questions in PAGES.values() for name in questions]

OPERATIONS = {"insert", "modify", "move", "remove", "expire", "snapshot"}

TABLES = {table.changes: table for table in tables()}
# The columns of `cart_changes`. The last column is the partition.
COLUMNS = TABLES["cart_changes"].columns | {"hour": "varchar"}

# The width of a chart in pixels. The text is still readable if a phone shrinks the chart.
WIDTH = 480
TERMINAL_ROWS = 20
PAGE_ROWS = 500
SHOWN_FAULTS = 10
# A change waits for the batching window of export-changes, ExportWindowSeconds. The local Firehose
# has no buffer.
ARRIVAL = "A change takes up to ten seconds to reach the lake."


# --- The lake ---


class Unreadable(Exception):
    """A line is not a valid row. The message is the reason."""


def integer(bits):
    def read(value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unreadable("is not an integer")
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise Unreadable(f"exceeds {bits} bits")
        return value

    return read


def amount(value):
    """Reads a string or number with at most four decimals, without conversion to float."""
    if isinstance(value, bool) or not isinstance(value, (str, int, decimal.Decimal)):
        raise Unreadable("is not an amount")
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:
        raise Unreadable("is not an amount") from None
    if not number.is_finite() or abs(number) >= 10**16 or number != round(number, 4):
        raise Unreadable("is outside the range of decimal(20,4)")
    return f"{number:.4f}"


MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def moment(value):
    """Reads a time such as `2026-01-02 10:30:00.123`.

    `T` can replace the space. The time zone is optional, and the default is UTC."""
    found = MOMENT.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise Unreadable("is not a time")
    day, time, fraction, zone = found.groups()
    micros = ((fraction or "") + "000000")[:6]
    try:
        at = datetime.datetime.fromisoformat(f"{day} {time}.{micros}{'' if zone in (None, 'Z') else zone}")
    except ValueError:
        raise Unreadable("is not a time") from None
    if at.tzinfo:
        at = at.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return at.isoformat(" ")


def fail(why):
    raise Unreadable(why)


def text(value):
    if not isinstance(value, str):
        raise Unreadable("is not a string")
    return value


READERS = {
    "varchar": text,
    "timestamp": moment,
    "boolean": lambda value: value if isinstance(value, bool) else fail("is neither true nor false"),
    "bigint": integer(64),
    "integer": integer(32),
    "decimal(20,4)": amount,
}


def not_a_number(name):
    raise Unreadable(f"contains {name}")


def read_row(table, line, hour):
    """Parses one line of a file of the table. `hour` is the partition of the file."""
    try:
        found = json.loads(line.decode("utf-8"), parse_float=decimal.Decimal, parse_constant=not_a_number)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise Unreadable("is not valid JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("is not a JSON object")
    row = {"hour": hour}
    for column, kind in table.columns.items():
        value = found.get(column)
        if value is None:
            continue
        try:
            row[column] = READERS[kind](value)
        except Unreadable as why:
            raise Unreadable(f"{column} {why}") from None
    required = ["event_id", "operation", "changed_at", *table.key, "version"]
    missing = [column for column in required if column not in row]
    if missing:
        raise Unreadable(f"has no {missing[0]}")
    if row["operation"] not in OPERATIONS:
        raise Unreadable("has an unknown operation")
    return row


class Lake:
    """Loads the rows of a lake into DuckDB, with a view of the current items of each table.

    `faults` lists the unreadable lines. Rows of changes after `end` are left out."""

    def __init__(self, folder, end=None):
        self.files = self.rows = self.repeated = 0
        self.faults, self.end = [], end and f"{end:%Y-%m-%d %H:%M:%S}.999999"
        self.database = duckdb.connect(":memory:")
        for table in TABLES.values():
            self.load(table, pathlib.Path(folder))
            self.database.execute(f"CREATE VIEW {table.items} AS {table.sql('view')}")

    def load(self, table, folder):
        kinds = table.columns | {"hour": "varchar"}
        self.database.execute(f"CREATE TABLE {table.changes} ({', '.join(f'{column} {kind}' for column, kind in kinds.items())})")
        before = self.rows
        with tempfile.TemporaryDirectory() as scratch:
            rows = pathlib.Path(scratch, "rows.json")
            with rows.open("w", encoding="utf-8") as out:
                for path in sorted(folder.glob(f"*-lake/changes/{table.folder}/hour=*/*")):
                    if path.is_file() and not path.name.startswith((".", "_")):
                        self.read(table, path, out)
            if self.rows > before:
                columns = ", ".join(f"{column}: '{kind}'" for column, kind in kinds.items())
                self.database.execute(
                    f"INSERT INTO {table.changes} SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})",
                    [str(rows)],
                )
        counts = f"SELECT count(*) - count(DISTINCT event_id) FROM {table.changes}"
        self.repeated += self.database.execute(counts).fetchone()[0]

    def read(self, table, path, out):
        self.files += 1
        hour = path.parent.name[len("hour=") :]
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = read_row(table, line, hour)
                except Unreadable as why:
                    self.faults.append(f"{path}:{number}: {why}")
                    continue
                if self.end is None or row["changed_at"] <= self.end:
                    out.write(json.dumps(row) + "\n")
                    self.rows += 1

    def summary(self):
        return (
            f"{plural(self.rows, 'row')} in {plural(self.files, 'file')}, {self.repeated:,} of them repeated; "
            f"{plural(len(self.faults), 'unreadable line')}"
        )


# --- The queries ---


class Period:
    """The days of a report. Queries by week or month cover all weeks or months that have one of the days."""

    def __init__(self, first=None, last=None):
        if first and last and last < first:
            sys.exit(f"--to {last} is before --from {first}")
        self.first, self.last = first, last
        self.end = last and datetime.datetime.combine(last, datetime.time(23, 59, 59))

    def sql(self, text):
        """Returns the query as of the last day, with intervals that reach back to the first day."""
        if self.end:
            text = text.replace("current_timestamp", f"TIMESTAMP WITH TIME ZONE '{self.end} UTC'")
        if self.first:
            last = self.last or datetime.datetime.now(datetime.timezone.utc).date()
            monday = lambda day: day - datetime.timedelta(days=day.weekday())
            days = max(0, (monday(last) - monday(self.first)).days)
            months = max(0, 12 * (last.year - self.first.year) + last.month - self.first.month)
            for old, new in (("'84' day", f"'{days}' day"), ("'85' day", f"'{days + 1}' day"), ("'12' month", f"'{months}' month")):
                text = text.replace(f"interval {old}", f"interval {new}")
        return text

    def has(self, column, value):
        """Returns whether a row belongs to the period. The value is that of its first column."""
        if not isinstance(value, datetime.date):
            return True
        day = value.date() if isinstance(value, datetime.datetime) else value
        exact = column in ("day", "sold_at")
        return not (self.last and day > self.last) and not (exact and self.first and day < self.first)

    def __str__(self):
        return f"{self.first or 'the beginning'} to {self.last or 'today'}" if self.first or self.last else ""


class Answer:
    """A query, with its title, its description, its SQL and its result."""

    def __init__(self, database, name, period=None):
        period = period or Period()
        self.name, self.title = name, name.replace("_", " ").capitalize()
        self.about, sql = QUERIES[name]
        self.sql = period.sql(sql)
        self.notes = [line[3:] for line in itertools.takewhile(lambda line: line.startswith("--"), self.sql.splitlines())]
        result = database.execute(self.sql)
        self.columns = [column[0] for column in result.description]
        self.rows = [row for row in result.fetchall() if period.has(self.columns[0], row[0])]

    def records(self):
        return [dict(zip(self.columns, row)) for row in self.rows]


def plural(count, noun):
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds):
    """Formats a duration with its two largest units, such as `2 d 3 h`."""
    parts, rest = [], int(seconds)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or "0 s"


def money(value):
    """Formats an amount with two to four decimals. Omits zeros in the third and fourth decimals."""
    shown = f"{value:,.4f}"
    return shown[:-2] if shown.endswith("00") else shown.rstrip("0")


def shown(column, value):
    if value is None:
        return "–"
    if column.endswith("_seconds"):
        return duration(value)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, decimal.Decimal):
        return money(value)
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def heading(column):
    if column.endswith("_percent"):
        return column[: -len("_percent")].replace("_", " ") + " %"
    return re.sub("_seconds$", "", column).replace("_", " ")


def is_number(answer, index):
    values = [row[index] for row in answer.rows if row[index] is not None]
    return bool(values) and all(isinstance(value, (int, float, decimal.Decimal)) for value in values)


def css_class(answer, index):
    """Returns the class of a column. Ids and times break into several lines if the page is narrow."""
    column = answer.columns[index]
    if is_number(answer, index):
        return ' class="number"'
    if column == "sku" or column.endswith("_id"):
        return ' class="id"'
    return ' class="time"' if column.endswith("_at") else ""


# --- The terminal ---


def cut(cell, width=26):
    """Returns one line without control characters, truncated to the width."""
    cell = "".join(character if character.isprintable() else "?" for character in cell)
    return cell if len(cell) <= width else cell[: width - 1] + "…"


def table(answer):
    rows = [[cut(shown(column, value)) for column, value in zip(answer.columns, row)] for row in answer.rows[:TERMINAL_ROWS]]
    head = [heading(column) for column in answer.columns]
    widths = [max(len(row[index]) for row in [head] + rows) for index in range(len(head))]
    right = [is_number(answer, index) for index in range(len(head))]

    def line(cells):
        return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right)).rstrip()

    lines = [line(head), line(["─" * width for width in widths])] + [line(row) for row in rows]
    if len(answer.rows) > TERMINAL_ROWS:
        lines.append(f"… and {plural(len(answer.rows) - TERMINAL_ROWS, 'more row')}")
    return "\n".join(lines) if rows else "(nothing)"


# --- The page ---


def escape(value):
    """Escapes text for HTML and SVG."""
    return html.escape("".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in str(value)))


def ticks(highest, whole=False):
    """Returns round numbers for an axis from 0 to at least the highest value."""
    highest = max(float(highest), 1.0 if whole else 0.01)
    size = 10 ** math.floor(math.log10(highest / 4))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor * 4 >= highest * 0.999)
    if whole:
        step = max(1, math.ceil(step))
    return [step * index for index in range(math.ceil(highest / step - 0.001) + 1)]


def tick_label(value):
    return f"{value:,.10g}" if value < 10**9 else f"{value:,.0f}"


def legend(names, left, top):
    parts, x = [], left
    for index, name in enumerate(names):
        parts.append(f'<rect class="series{index}" x="{x}" y="{top}" width="12" height="12"/>')
        parts.append(f'<text x="{x + 18}" y="{top + 10}">{escape(name)}</text>')
        x += 46 + 7.5 * len(name)
    return "".join(parts)


def figure(name, title, description, width, height, body):
    return (
        f'<svg role="img" aria-labelledby="{name}-title {name}-desc" viewBox="0 0 {width} {height}">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>{body}</svg>'
    )


def weekly_chart(answer, today):
    """Draws a group of bars for each week, from the first week with data to the current week."""
    series = ["adds", "saves", "purchases"]
    totals = {}
    for record in answer.records():
        week = totals.setdefault(record["week"], [0, 0, 0])
        for index, name in enumerate(series):
            week[index] += int(record[name])
    last = max([today - datetime.timedelta(days=today.weekday()), *totals])
    first = min([last, *totals])
    weeks = [first + datetime.timedelta(weeks=index) for index in range((last - first).days // 7 + 1)]

    width, height, left, right, top, bottom = WIDTH, 310, 56, 8, 46, 78
    marks = ticks(max([number for week in totals.values() for number in week], default=0), whole=True)
    y = lambda value: top + (height - top - bottom) * (1 - max(0, value) / marks[-1])
    parts = [legend(series, left, 12)]
    for mark in marks:
        parts.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text class="end" x="{left - 8}" y="{y(mark) + 4:.1f}">{tick_label(mark)}</text>')
    room = (width - left - right) / len(weeks)
    bar = min(26, room * 0.78 / 3)
    # Omits labels that would overlap. The current week always has a label.
    every = math.ceil(42 / room)
    has_numbers = all(len(f"{number:,}") * 6.8 <= bar + 3 for week in totals.values() for number in week)
    for position, week in enumerate(weeks):
        middle = left + room * (position + 0.5)
        for index, number in enumerate(totals.get(week, [0, 0, 0])):
            x = middle + (index - 1.5) * bar
            label = f"{number:,} {series[index]} in the week of {week}"
            parts.append(
                f'<rect class="series{index}" x="{x:.1f}" y="{y(number):.1f}" width="{bar - 1:.1f}" '
                f'height="{y(0) - y(number):.1f}"><title>{label}</title></rect>'
            )
            if number and has_numbers:
                parts.append(f'<text class="middle small" x="{x + bar / 2 - 0.5:.1f}" y="{y(number) - 4:.1f}">{number:,}</text>')
        if (len(weeks) - 1 - position) % every:
            continue
        parts.append(f'<text class="middle" x="{middle:.1f}" y="{height - bottom + 18}">{week:%m-%d}</text>')
        if position < every or week.year != weeks[position - every].year:
            parts.append(f'<text class="middle" x="{middle:.1f}" y="{height - bottom + 34}">{week.year}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{width - right}" y1="{y(0):.1f}" y2="{y(0):.1f}"/>')
    for y_label, words in ((height - 24, "week, beginning on the given Monday (UTC)"), (height - 8, "the last week is the current week")):
        parts.append(f'<text class="middle" x="{(left + width - right) / 2}" y="{y_label}">{words}</text>')
    parts.append(f'<text class="middle" transform="translate(14 {(top + height - bottom) / 2}) rotate(-90)">number per week</text>')
    sums = [sum(week[index] for week in totals.values()) for index in range(3)]
    description = (
        f"Bars of the adds, saves and purchases of {plural(len(weeks), 'week')}, from the week of {weeks[0]} to the week of {weeks[-1]}: "
        f"{sums[0]:,} adds, {sums[1]:,} saves and {sums[2]:,} purchases in total. The weekly report has the numbers by SKU."
    )
    return figure("weekly", "Adds, saves and purchases by week", description, width, height, "".join(parts))


def revenue_chart(currency, revenue, place):
    """Draws the revenue in one currency.

    Each of the ten SKUs with the highest revenue has a bar. All other SKUs share one bar."""
    ordered = sorted(revenue.items(), key=lambda entry: (-entry[1], entry[0]))
    bars = ordered[:10]
    if len(ordered) > 10:
        bars.append((f"{plural(len(ordered) - 10, 'other SKU')}", sum(value for _, value in ordered[10:])))
    width, left, top, row = WIDTH, 150, 30, 28
    right = 20 + 8 * max(len(money(value)) for _, value in bars)
    bottom = top + row * len(bars)
    height = bottom + 48
    marks = ticks(max(value for _, value in bars))
    x = lambda value: left + (width - left - right) * max(0, float(value)) / marks[-1]
    parts = [f'<text class="end" x="{left - 8}" y="{top - 10}">SKU</text>']
    # Omits labels that would overlap.
    every = math.ceil((8 * len(tick_label(marks[-1])) + 8) / (x(marks[1]) - left))
    for number, mark in enumerate(marks):
        parts.append(f'<line class="grid" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{top}" y2="{bottom}"/>')
        if number % every == 0:
            parts.append(f'<text class="middle" x="{x(mark):.1f}" y="{bottom + 18}">{tick_label(mark)}</text>')
    for index, (sku, value) in enumerate(bars):
        y = top + row * index
        parts.append(f'<text class="end" x="{left - 8}" y="{y + 18}">{escape(cut(sku, 16))}<title>{escape(sku)}</title></text>')
        parts.append(
            f'<rect class="series0" x="{left}" y="{y + 4}" width="{max(1, x(value) - left):.1f}" height="{row - 8}">'
            f"<title>{escape(sku)}: {money(value)} {escape(currency)}</title></rect>"
        )
        parts.append(f'<text x="{x(value) + 6:.1f}" y="{y + 18}">{money(value)}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{left}" y1="{top}" y2="{bottom}"/>')
    parts.append(f'<text class="middle" x="{(left + width - right) / 2}" y="{height - 6}">revenue in {escape(currency)}</text>')
    description = (
        f"Bars of the revenue in {currency} of {plural(len(ordered), 'SKU')}, {money(sum(revenue.values()))} {currency} in total. "
        f"{ordered[0][0]} has the highest revenue, {money(ordered[0][1])}. The monthly report has the numbers by month."
    )
    return figure(f"revenue-{place}", f"Revenue by SKU in {currency}", description, width, height, "".join(parts))


def revenue_charts(answer):
    by_currency = {}
    for record in answer.records():
        if record["revenue"] is not None:
            skus = by_currency.setdefault(record["currency"] or "no currency", {})
            skus[record["sku"]] = skus.get(record["sku"], 0) + record["revenue"]
    if not by_currency:
        return "<p>No purchase had a price.</p>"
    return "".join(
        f"<h3>{escape(currency)}</h3>{revenue_chart(currency, by_currency[currency], place)}"
        for place, currency in enumerate(sorted(by_currency))
    )


STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c2126; --soft: #56606a; --line: #d5dae0; --zebra: #f5f7f9;
  --warn: #8a3b00; --warn-page: #fff3e8; --s0: #0b62a8; --s1: #e08a00; --s2: #3a9e77; }
@media (prefers-color-scheme: dark) { :root { --page: #14181c; --ink: #e6eaee; --soft: #a3adb7; --line: #39424b; --zebra: #1b2126;
  --warn: #ffc08a; --warn-page: #3a2410; --s0: #5fb0f0; --s1: #f2b134; --s2: #6fd3a8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.6rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; }
p { margin: .3rem 0; }
nav ul { margin: .8rem 0 0; padding-left: 1.2rem; }
a { color: inherit; }
.soft { color: var(--soft); }
.warn { margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid var(--warn); color: var(--warn); background: var(--warn-page); }
.warn li { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; margin: .5rem 0; min-width: 50%; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { white-space: normal; border-bottom: 2px solid var(--soft); vertical-align: bottom; }
tbody tr:nth-child(even) { background: var(--zebra); }
@media (min-width: 60rem) { th, td { padding: .3rem .4rem; } .id, .time { white-space: normal; min-width: 6rem; }
  .id { overflow-wrap: anywhere; } table { font-size: .8rem; } }
.number { text-align: right; font-variant-numeric: tabular-nums; }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--soft); }
pre { overflow-x: auto; padding: .8rem; font-size: .8rem; line-height: 1.45; background: var(--zebra); border: 1px solid var(--line); }
svg { display: block; width: 100%; max-width: 42rem; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); stroke: var(--page); stroke-width: 3px; paint-order: stroke; } svg .end { text-anchor: end; } svg .middle { text-anchor: middle; } svg .small { font-size: 11px; }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.series0 { fill: var(--s0); } .series1 { fill: var(--s1); } .series2 { fill: var(--s2); }
@page { size: A4 landscape; margin: 12mm; }
@media print { :root { --page: #fff; --ink: #000; --soft: #444; --line: #bbb; --zebra: #f3f3f3; --s0: #0b62a8; --s1: #e08a00; --s2: #3a9e77; }
  body { max-width: none; padding: 0; font-size: 10pt; } table { font-size: 7.5pt; } th, td { padding: .15rem .35rem; }
  .wide { overflow: visible; } svg, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  table { min-width: 0; } th, td { white-space: normal; } td.number { white-space: nowrap; } .id { overflow-wrap: anywhere; }
  thead { display: table-header-group; } details, nav { display: none; }
  rect, tr { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def section(answer):
    css = [css_class(answer, index) for index in range(len(answer.columns))]
    head = "".join(f'<th scope="col"{kind}>{escape(heading(column))}</th>' for column, kind in zip(answer.columns, css))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(shown(c, value))}</td>" for c, value, kind in zip(answer.columns, row, css)) + "</tr>\n"
        for row in answer.rows[:PAGE_ROWS]
    )
    content = "<p>Nothing.</p>"
    if answer.rows:
        content = f'<div class="wide" tabindex="0" role="region" aria-labelledby="{answer.name}"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'
    if len(answer.rows) > PAGE_ROWS:
        content += f'<p class="soft">The first {PAGE_ROWS:,} of {len(answer.rows):,} rows.</p>'
    notes = "<br>".join(escape(line) for line in answer.notes if line)
    return (
        f'<section><h2 id="{answer.name}">{escape(answer.title)}</h2>\n<p>{escape(answer.about)}</p>\n{content}\n'
        f"<details><summary>What the query counts</summary><p>{notes}</p></details>\n"
        f"<details><summary>SQL of {answer.name}</summary><pre>{escape(answer.sql)}</pre></details></section>\n"
    )


def faults_of(lake):
    lines = lake.faults[:SHOWN_FAULTS]
    more = len(lake.faults) - len(lines)
    return lines + ([f"… and {more:,} more"] if more else [])


def page(lake, answers, now, service, files, period):
    """Returns the page of a service. `files` has the file name of each page."""
    title = PAGES[service][0]
    warning = ""
    if lake.faults:
        items = "".join(f"<li>{escape(fault)}</li>" for fault in faults_of(lake))
        warning = f'<div class="warn"><p><strong>{plural(len(lake.faults), "unreadable line")}</strong> are not included in the numbers:</p><ul>{items}</ul></div>'
    links = "".join(f'<li><a href="#{answer.name}">{escape(answer.title)}</a></li>' for answer in answers)
    by_name = {answer.name: answer for answer in answers}
    others = "".join(f'<li><a href="{escape(name)}">{escape(PAGES[other][0])}</a></li>' for other, name in files.items() if other != service)
    charts = ""
    if service == "cart":
        charts = f"""<section><h2>Adds, saves and purchases by week</h2>
{weekly_chart(by_name["weekly_report"], period.last or now.date())}</section>
<section><h2>Revenue by SKU</h2>
<p class="soft">By month. Each currency has a separate scale, so do not compare the bars of different currencies.</p>
{revenue_charts(by_name["monthly_report"])}</section>
"""
    covered = f" · {escape(period)}" if str(period) else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{escape(title)}</h1>
<p class="soft">{now:%Y-%m-%d %H:%M} UTC{covered} · {escape(lake.summary())}</p>
<p class="soft">{ARRIVAL} To include later changes, run <code>make report</code> again.</p>
{warning}
<nav aria-label="Contents"><ul>{links}</ul></nav>
<nav aria-label="Other reports"><ul>{others}</ul></nav></header>
<main>
{charts}{"".join(section(answer) for answer in answers)}</main>
</body>
</html>
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Runs the saved queries of this folder on the lake.")
    parser.add_argument("--lake", default="lake", help="the folder that contains the buckets (default: lake)")
    parser.add_argument("--output", default="report.html", help="the page of the cart; the others get the name of their service (default: report.html)")
    parser.add_argument("--from", dest="first", type=datetime.date.fromisoformat, help="the first day, as in 2026-12-01 (default: 12 weeks or months ago)")
    parser.add_argument("--to", dest="last", type=datetime.date.fromisoformat, help="the last day (default: today)")
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")

    period = Period(options.first, options.last)
    lake = Lake(options.lake, period.end)
    for fault in faults_of(lake):
        print(f"unreadable: {fault}", file=sys.stderr)
    if not lake.rows:
        unread = f" ({plural(len(lake.faults), 'unreadable line')})" if lake.faults else ""
        sys.exit(f"There are no changes in {options.lake}{unread}. Run `make run`, use the services, and try again. {ARRIVAL}")
    now, output = datetime.datetime.now(datetime.timezone.utc), pathlib.Path(options.output)
    files = {service: output.name if service == "cart" else f"{output.stem}-{service}{output.suffix}" for service in PAGES}
    for service, (_, questions) in PAGES.items():
        answers = [Answer(lake.database, name, period) for name in questions]
        for answer in answers:
            print(f"{answer.title}\n{answer.about}\n\n{table(answer)}\n")
        output.with_name(files[service]).write_text(page(lake, answers, now, service, files, period), encoding="utf-8")
    print(f"{lake.summary()}. {ARRIVAL} The pages are {', '.join(str(output.with_name(name)) for name in files.values())}.")


if __name__ == "__main__":
    main()
