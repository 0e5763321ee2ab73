"""Measures how many payments a second one machine can schedule.

Compares this rate with plain puts."""

import chart
from measured import MEASURE, measured
from spread import brackets, ratios, spread, table

PICTURE = "Payments a second by number of clients: scheduled, and put directly"
# 1,000,000 in 30 minutes: docs/requirements/bank.md.
TARGET = 1_000_000 / (30 * 60)

TEXT = """\
### Sustained rate

This section compares two ways to write payments of {bytes:,} bytes, which consume eight WRU each.
The first way is to schedule the payments through the local stack: gateway, event, function, and
DynamoDB over HTTP. The second way is a plain conditional `PutItem` of the same item, into the same
growing table. The same clients alternate between both ways, with {turns} turns of {turn} seconds
for each. Clients, gateway, function and engine share {cores} processors with other work on the
machine. On AWS, each of them has its own processors.

{rows}

Target: more than {target:.0f} payments a second, which is the required million in 30 minutes.
Result: {holds}.
"""


def measure(binary=MEASURE):
    """Measures the part "writes" of the results."""
    result = measured("writes", binary=binary)
    return {**result, "cases": [{"clients": case["clients"], **told(case)} for case in result["cases"]]}


def told(case):
    quarter = len(case["scheduled"]) // 4
    first, last = case["scheduled"][:quarter], case["scheduled"][-quarter:]
    return {
        "scheduled": spread(case["scheduled"]),
        "put": spread(case["put"]),
        "ratio": ratios(case["scheduled"], case["put"]),
        "first": round(sum(first) / quarter, 1),
        "last": round(sum(last) / quarter, 1),
    }


def section(result):
    columns = ["clients", "scheduled a second", "first quarter", "last quarter", "put a second", "ratio"]
    rows = []
    for case in result["cases"]:
        ends = [f"{case[end]:,.0f}" for end in ("first", "last")]
        scheduled, put = brackets(case["scheduled"], 0), brackets(case["put"], 0)
        rows.append([str(case["clients"]), scheduled, *ends, put, brackets(case["ratio"], 2)])
    holds = all(min(case["first"], case["last"], case["scheduled"]["q1"]) > TARGET for case in result["cases"])
    return TEXT.format(
        bytes=result["bytes"], turn=result["turn"], turns=result["cases"][0]["put"]["n"], cores=result["cores"],
        rows=table(columns, rows).rstrip(), target=TARGET, holds="met" if holds else "**missed**",
    )


def picture(result):
    rows = []
    for case in result["cases"]:
        for what in ("scheduled", "put"):
            of = case[what]
            rows.append((f"{case['clients']}, {what}", of["median"], of["q1"], of["q3"]))
    title, scheduled = f"Payments of {result['bytes']:,} bytes", range(0, len(rows), 2)
    panel = chart.bars(title, rows, "payments a second", "clients, method", scheduled, target=TARGET)
    legend = [
        ("ours", "scheduled: through gateway, event, function and DynamoDB over HTTP (median)"),
        ("others", "put: a plain conditional PutItem of the same item (median)"),
        chart.RANGE,
        ("target", f"target: {TARGET:.0f} payments a second, a million in 30 minutes"),
    ]
    return chart.page([panel], legend)
