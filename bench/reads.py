"""Measures pages of due payments, for days of different sizes."""

from measured import MEASURE, UNOPTIMISED, measured
from spread import brackets, ratios, spread, table

MOST, ROUNDS = 1_000_000, 100

TEXT = """\
## Scale of reads

This section measures pages of `GET /bank/payments/due`, for days with an increasing number of payments. The index
has {shards} shards and projects KEYS_ONLY. After {warm_up} warm-up reads, each page is read {rounds} times through
the local gateway. The unit columns show the read request units (RRU) of one page on the table and on the index. A
ratio compares a day with the smallest day in the same round. [The bank's day](#the-banks-day) measures the reading of
whole days.

{pages}"""


def measure(binary=MEASURE, most=MOST, rounds=ROUNDS):
    """Measures the part "reads" of the results."""
    pages = measured("pages", most, rounds, binary=binary)
    return {**pages, "days": [compared(each, pages["days"][0]) for each in pages["days"]]}


def compared(day, fewest):
    pages = {}
    for name, page in day["pages"].items():
        ratio = ratios(page["millis"], fewest["pages"][name]["millis"])
        pages[name] = {"units": page["units"], "millis": spread(page["millis"]), "ratio": ratio}
    return {"payments": day["payments"], "pages": pages}


def faults():
    """Yields the pages that do not consume the same units on every day."""
    days = measured("pages", 10_000, 1, binary=UNOPTIMISED)["days"]
    for name, page in days[0]["pages"].items():
        for day in days[1:]:
            units = day["pages"][name]["units"]
            if units != page["units"]:
                yield f"{name} of {day['payments']:,} payments consumes {units}, but {page['units']} with {days[0]['payments']:,} payments"


def section(result):
    return TEXT.format(**{**result, "pages": pages_table(result["days"])})


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
