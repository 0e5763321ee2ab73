"""How a page of what comes due on a day, and the whole day, are read, however much the day holds."""

import chart
from measured import MEASURE, UNOPTIMISED, measured
from spread import brackets, ratios, spread, table

PICTURE = "Time of a page by the payments of its day, and how much faster shards are read side by side"
MOST, ROUNDS = 1_000_000, 100
SHARDS, DELAY, TARGET = 5, 5, 4

TEXT = """\
## Scale of reads

### A page

Pages of `GET /bank/payments/due` on days with more and more payments, which lie on {shards} shards in turn, KEYS_ONLY,
through the local gateway: {rounds} times each after {warm_up}, one day after the other. Units are those of the table and of the
index; ratios are taken round by round against the day with the fewest.

{pages}
### A whole day

{payments:,} payments, {page} a page, and each call of DynamoDB takes so much longer than on this machine. Both readers
fetch the same: entries of the index by a query of a shard, then their items in one batch.

- **By shard**: each shard to its end by a worker of its own, all of them side by side against one after another. It is
  the reader that the functions are made of, over one shard; nothing waits for the order of the day. The workers have the
  processors of this machine among them, and whoever answers has as well.
- **By page**: the pages that `list-due-payments` answers one after the other, in the order of the day over all shards.
  The rival is the same function, but only one of its calls is under way at a time.

The engine answers each call once, in a round that is not counted; from then on its answers are given again, so that what
is measured is the way and the reader, not an engine that does one call after another. Waits are calls that have to wait
for one another: if a call took nothing but its way, their ratio would be that of the times. {reps} rounds, ratios round by
round.

{whole}
Target: a whole day by fan-out at least {target} times as fast as its shards one after another, at {target_shards} shards and with {delay} ms a call:
{verdict} ({times:.1f} times).

{limit}"""

LIMIT = """\
By shard {shard_waits:.0f} times would be possible; the readers' own work takes the rest: on no way at all the day takes {own:.0f} ms, to
sign {shard_calls} calls and to read their answers. By page it is {by_page:.1f} times, and {most:.1f} at most: a page's queries wait for the slowest of
them, its items for all queries, and a page for the page before, so that a day's {calls} calls wait {waits} times. In order
the day takes {ordered:.0f} ms; its shards one after another, each to its end and in no order, {alone:.0f} ms.
"""


def measure(binary=MEASURE, most=MOST, rounds=ROUNDS):
    """The part "reads" of the results."""
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
    """Each way to read, side by side and not."""
    ways = {}
    # With one shard both are the same.
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
    """Where a page of a day with more payments costs something else."""
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
        verdict="holds" if ratio >= TARGET else "**missed**", limit=limit(target, whole["cases"]),
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
    columns = ["page", "payments of the day", "units of the table", "of the index", "time", "ratio"]
    rows = []
    for name in days[0]["pages"]:
        for day in days:
            page = day["pages"][name]
            units = [f"{units:g}" for _, units in sorted(page["units"].items())]
            times = [f"{brackets(page['millis'], 1)} ms", brackets(page["ratio"], 2)]
            rows.append([name, f"{day['payments']:,}", *units, *times])
    return table(columns, rows)


def whole_table(cases):
    columns = ["", "shards", "ms a call", "calls", "waits side by side", "and not", "side by side", "one after another",
               "ratio", "of waits"]
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
        title = f"A day, {words}: side by side against one after another, {DELAY} ms a call"
        panels.append(chart.bars(title, rows, "times", ours))
    return chart.page(panels)


def row(name, of):
    return name, of["median"], of["q1"], of["q3"]
