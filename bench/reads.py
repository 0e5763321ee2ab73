"""Measures reads of a page of due payments and of a whole day, for days of different sizes."""

import chart
from measured import MEASURE, UNOPTIMISED, measured
from spread import brackets, ratios, spread, table

PICTURE = "Time of a page by the payments of its day, and the speedup of concurrent shards"
MOST, ROUNDS = 1_000_000, 100
SHARDS, DELAY, TARGET = 5, 5, 4

TEXT = """\
## Scale of reads

### One page

Pages of `GET /bank/payments/due` on days with a growing number of payments. The payments are spread over {shards} shards,
KEYS_ONLY. Each page is read {rounds} times through the local gateway, after {warm_up} times that are not counted. Units
are those of the table and of the index. Ratios are computed per round, against the day with the fewest payments.

{pages}
### A whole day

{payments:,} payments in pages of {page}. Each DynamoDB call takes longer than on this machine by the given time. Both readers
fetch the same data: index entries with one query per shard, and then their items in one batch.

- **By shard**: one worker per shard reads it to its end. All workers run concurrently, compared with one after the
  other. The workers use the reader of the functions for a single shard and ignore the order of the day. They share the
  processors of this machine with the responder.
- **By page**: the pages that `list-due-payments` returns one after the other, in the order of the day over all shards.
  The comparison is the same function with one call at a time.

The engine answers each call once, in a round that is not counted. Later rounds replay these responses, so that the time of the engine is not measured. A wait is a call that starts after another one has ended. If calls took no time except the delay, the
ratio of waits would be the ratio of times. There are {reps} rounds, and ratios are computed per round.

{whole}
Target: {target_shards} concurrent shards with {delay} ms per call are at least {target} times as fast as one shard after the other: {verdict}
({times:.1f} times).

{limit}"""

LIMIT = """\
By shard, the maximum ratio is {shard_waits:.0f}. The difference is the work of the readers. Without any delay, the day takes {own:.0f} ms to
sign {shard_calls} calls and read their responses.

By page, the measured ratio is {by_page:.1f}, and the maximum is {most:.1f}. A page waits for its slowest query, its items wait for all queries, and the
next page waits for this one. The {calls} calls of a day therefore have {waits} waits. In order, the day takes {ordered:.0f} ms. Its shards one
after the other, without order, take {alone:.0f} ms.
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
    """Compares each reader with concurrent and sequential calls."""
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
    """Yields days on which a page does not consume the same units as on the smallest day."""
    days = measured("pages", 10_000, 1, binary=UNOPTIMISED)["days"]
    for name, page in days[0]["pages"].items():
        for day in days[1:]:
            units = day["pages"][name]["units"]
            if units != page["units"]:
                yield f"{name} of {day['payments']:,} payments: {units}, and {page['units']} of {days[0]['payments']:,}"


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
    columns = ["page", "payments of the day", "table units", "index units", "time", "ratio"]
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
    panels = [chart.bars("A page of 100, by the payments of its day", [row(*day) for day in days], "ms", ours=())]
    cases = [case for case in result["fan_out"]["cases"] if case["delay"] == DELAY]
    for by, words in {"shard": "each shard to its end", "page": "page after page"}.items():
        rows = [row(f"shards: {case['shards']}", case[by]["ratio"]) for case in cases]
        ours = [number for number, case in enumerate(cases) if case["shards"] == SHARDS]
        title = f"A day, {words}: concurrent against sequential, {DELAY} ms per call"
        panels.append(chart.bars(title, rows, "times", ours))
    return chart.page(panels)


def row(name, of):
    return name, of["median"], of["q1"], of["q3"]
