"""How many payments a second one machine takes through the whole path, beside bare puts of the same item."""

import chart
from measured import MEASURE, measured
from spread import brackets, ratios, spread, table

PICTURE = "Payments a second, scheduled and put"
# The seed's 1,000,000 in 30 minutes.
TARGET = 1_000_000 / (30 * 60)

TEXT = """\
### What the path sustains

Payments of {bytes:,} bytes, eight write units each, scheduled by so many clients at once, through the local stack:
gateway, event, function, DynamoDB over HTTP. Beside it the same clients put the same item with a bare `PutItem`, if absent, in
turns of {turn} seconds into the same table, which grows: {turns} turns each. Clients, gateway, function and engine
share {cores} processors here, with whatever else runs on the machine; on AWS each has its own.

{rows}

Target: more than {target:.0f} a second, the seed's million in 30 minutes: {holds}.
"""


def measure(binary=MEASURE):
    """The part "writes" of the results."""
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
    columns = ["clients", "scheduled a second", "in the first quarter", "in the last", "put a second", "ratio"]
    rows = []
    for case in result["cases"]:
        ends = [f"{case[end]:,.0f}" for end in ("first", "last")]
        scheduled, put = brackets(case["scheduled"], 0), brackets(case["put"], 0)
        rows.append([str(case["clients"]), scheduled, *ends, put, brackets(case["ratio"], 2)])
    holds = all(min(case["first"], case["last"], case["scheduled"]["q1"]) > TARGET for case in result["cases"])
    return TEXT.format(
        bytes=result["bytes"], turn=result["turn"], turns=result["cases"][0]["put"]["n"], cores=result["cores"],
        rows=table(columns, rows).rstrip(), target=TARGET, holds="holds" if holds else "**missed**",
    )


def picture(result):
    rows = []
    for case in result["cases"]:
        for what in ("scheduled", "put"):
            of = case[what]
            rows.append((f"{what} by {case['clients']}", of["median"], of["q1"], of["q3"]))
    return chart.page([chart.bars("Payments of 8 KB a second, by so many clients at once", rows, "a second", ours=range(0, len(rows), 2))])
