"""Measures reads of due payments: one page of days with different sizes, and a whole day."""

import chart
from measured import MEASURE, UNOPTIMISED, measured
from spread import brackets, ratios, spread, table

PICTURE = "Time of a page by number of payments on the day, and speedup of concurrent calls by number of shards"
MOST, ROUNDS = 1_000_000, 100
SHARDS, DELAY, TARGET = 5, 5, 4

TEXT = """\
## Scale of reads

### One page

This section measures pages of `GET /bank/payments/due`, for days with an increasing number of payments. The index
has {shards} shards and projects KEYS_ONLY. After {warm_up} warm-up reads, each page is read {rounds} times through
the local gateway. The unit columns show the read request units (RRU) of one page on the table and on the index. A
ratio compares a day with the smallest day in the same round.

{pages}
### A whole day

This section reads all {payments:,} payments of a day, in pages of {page}. Each DynamoDB call is
delayed by the time in the column "delay". Two readers fetch the same data. Both query the index
entries of each shard, and then get the items of the entries in batches.

- **By shard**: one worker per shard reads the shard to its end. The workers run either concurrently or one after the
  other. The results of different shards are not merged by time. The workers share the processors of this machine
  with the DynamoDB engine.
- **By page**: the function `list-due-payments` returns one page after the other, sorted by time over all shards. The
  function makes its DynamoDB calls either concurrently or one at a time.

In a warm-up round, the engine responds to each call, and a proxy stores the responses. The measured
rounds replay the stored responses, so the times do not include the work of the engine. The number
of waits is the number of calls that must run one after the other. If calls took no time except the
delay, the ratio of waits would equal the ratio of times. There are {reps} measured rounds, and a
ratio compares times of the same round.

{whole}
Target: with {target_shards} shards and a delay of {delay} ms, concurrent workers are at least {target} times as fast
as sequential workers. Result: {verdict} ({times:.1f} times).

{limit}"""

LIMIT = """\
For the reader by shard, the maximum possible ratio is {shard_waits:.0f}. The measured ratio is
lower because of the work of the reader itself: without any delay, it needs {own:.0f} ms to sign
{shard_calls} calls and parse the responses.

For the reader by page, the measured ratio is {by_page:.1f}, and the maximum possible ratio is
{most:.1f}. The function gets the items of a page after the slowest query of the page. The next page
starts only after these items are read. The {calls} calls of a day therefore take {waits} round trips.
Reading the day by page, sorted by time, takes {ordered:.0f} ms with concurrent calls. Reading it by
shard, without sorting, takes {alone:.0f} ms with one worker after the other.
"""


def measure(binary=MEASURE, most=MOST, rounds=ROUNDS):
    """Measures the part "reads" of the results."""
    pages, fan_out = measured("pages", most, rounds, binary=binary), measured("fan-out", binary=binary)
    cases = [{"shards": case["shards"], "delay": case["delay"], **compared(case)} for case in fan_out["cases"]]
    pages["days"] = [day(each, pages["days"][0]) for each in pages["days"]]
    return {"pages": pages, "fan_out": {**fan_out, "cases": cases}}


def day(day, fewest):
    pages = {}
    for name, page in day["pages"].items():
        ratio = ratios(page["millis"], fewest["pages"][name]["millis"])
        pages[name] = {"units": page["units"], "millis": spread(page["millis"]), "ratio": ratio}
    return {"payments": day["payments"], "pages": pages}


def compared(case):
    """Compares concurrent with sequential calls, for each reader."""
    ways = {}
    # With one shard, concurrent and sequential calls are the same.
    for by in ("shard", "page"):
        together, alone = [reader for reader in case["readers"] if reader["by"] == by]
        ways[by] = {
            "together": {**together, "millis": spread(together["millis"])},
            "alone": {**alone, "millis": spread(alone["millis"])},
            "ratio": ratios(alone["millis"], together["millis"]),
            "waits": round(alone["waits"] / together["waits"], 2),
        }
    return ways


def faults():
    """Yields the pages that do not consume the same units on every day."""
    days = measured("pages", 10_000, 1, binary=UNOPTIMISED)["days"]
    for name, page in days[0]["pages"].items():
        for day in days[1:]:
            units = day["pages"][name]["units"]
            if units != page["units"]:
                yield f"{name} of {day['payments']:,} payments consumes {units}, but {page['units']} with {days[0]['payments']:,} payments"


def section(result):
    pages, whole = result["pages"], result["fan_out"]
    [target] = [case for case in whole["cases"] if (case["shards"], case["delay"]) == (SHARDS, DELAY)]
    ratio = target["shard"]["ratio"]["median"]
    return TEXT.format(
        shards=pages["shards"], rounds=pages["rounds"], warm_up=pages["warm_up"], pages=pages_table(pages["days"]),
        payments=whole["payments"], page=whole["page"], reps=whole["rounds"], whole=whole_table(whole["cases"]),
        target=TARGET, target_shards=SHARDS, delay=DELAY, times=ratio,
        verdict="met" if ratio >= TARGET else "**missed**", limit=limit(target, whole["cases"]),
    )


def limit(target, cases):
    [here] = [case for case in cases if (case["shards"], case["delay"]) == (SHARDS, 0)]
    page, shard, alone = target["page"], target["shard"]["together"], target["shard"]["alone"]
    return LIMIT.format(
        own=here["shard"]["together"]["millis"]["median"], shard_waits=target["shard"]["waits"], shard_calls=shard["calls"],
        by_page=page["ratio"]["median"], calls=page["together"]["calls"], waits=page["together"]["waits"], most=page["waits"],
        ordered=page["together"]["millis"]["median"], alone=alone["millis"]["median"],
    )


def pages_table(days):
    columns = ["page", "payments of the day", "table RRU", "index RRU", "time", "ratio"]
    rows = []
    for name in days[0]["pages"]:
        for day in days:
            page = day["pages"][name]
            units = [f"{units:g}" for _, units in sorted(page["units"].items())]
            times = [f"{brackets(page['millis'], 1)} ms", brackets(page["ratio"], 2)]
            rows.append([name, f"{day['payments']:,}", *units, *times])
    return table(columns, rows)


def whole_table(cases):
    columns = ["", "shards", "delay, ms", "calls", "waits, concurrent", "waits, sequential", "concurrent", "sequential", "ratio",
               "ratio of waits"]
    rows = []
    for by in ("shard", "page"):
        for case in cases:
            way = case[by]
            together, alone = way["together"], way["alone"]
            counts = [case["shards"], case["delay"], together["calls"], together["waits"], alone["waits"]]
            times = [f"{brackets(side['millis'], 0)} ms" for side in (together, alone)]
            ratio = [brackets(way["ratio"], 1), f"{way['waits']:.1f}"]
            rows.append([f"by {by}", *map(str, counts), *times, *ratio])
    return table(columns, rows)


def picture(result):
    days = [(f"{day['payments']:,}", day["pages"]["first 100"]["millis"]) for day in result["pages"]["days"]]
    rows = [row(*day) for day in days]
    panels = [chart.bars("The first page of 100 payments of a day", rows, "time, ms", "payments", ours=())]
    cases = [case for case in result["fan_out"]["cases"] if case["delay"] == DELAY and case["shards"] > 1]
    most = max(case[by]["ratio"]["q3"] for case in cases for by in ("shard", "page"))
    for by in ("shard", "page"):
        rows = [row(str(case["shards"]), case[by]["ratio"]) for case in cases]
        title = f"A day of {result['fan_out']['payments']:,} payments by {by}, {DELAY} ms per call"
        axis = "speedup: time of sequential calls ÷ time of concurrent calls"
        ours = [number for number, case in enumerate(cases) if case["shards"] == SHARDS]
        panels.append(chart.bars(title, rows, axis, "shards", ours, to=most, target=TARGET if by == "shard" else None))
    legend = [
        ("ours", f"{SHARDS} shards, the case of the target (median)"),
        ("others", "other cases (median)"),
        chart.RANGE,
        ("target", f"target: {TARGET} times with {SHARDS} shards"),
    ]
    notes = [
        ("by shard", "one worker per shard reads the shard to its end."),
        ("by page", "the function list-due-payments returns one page after the other, sorted by time over all shards."),
    ]
    return chart.page(panels, legend, notes)


def row(name, of):
    return name, of["median"], of["q1"], of["q3"]
