"""Generates docs/numbers.md: what a request costs, how long it takes, and where it stops scaling."""

import pathlib
import re

import day_on_aws
from spread import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The requests of the table of costs, by their names in the part "cost".
COSTS = {
    "schedule-payment": "bank: schedule a payment of 8 KB",
    "list-account-payments": "bank: list the payments of an account",
    "add-cart-item": "cart: add an item",
    "list-cart-items, ten items": "cart: list a cart of ten items",
    "checkout-cart, one item": "cart: check out",
    "list-activities": "wellness: list the activities of a company",
    "record-progress": "wellness: report progress",
    "process-payment": "ledger: transfer",
    "get-statement, 100 legs": "ledger: list 100 legs of an account",
}

TEXT = """\
# Numbers

What a request costs, how long it takes, and where it stops scaling. [Performance](performance.md)
explains each number, with the machine and the date of its measurement.

## What a request costs

R and W are the read and write request units of DynamoDB, and W includes those of the indexes. The
price of DynamoDB is that of a million requests in us-east-1. [Monthly
cost](operations.md#monthly-cost) has the price of API Gateway, Lambda and logs.

{costs}
Command: `make bench PARTS=cost` measures these and all other requests, and `make plan` the price of
a month.

## How long it takes

{times}
## Where it stops scaling

{limits}"""


def page(results):
    """Returns the page. `results` has the origin and the result of each part."""
    told = {name: result for name, (_, result) in results.items()}
    return TEXT.format(costs=costs(told["cost"]), times=times(told), limits=limits(told))


def prices():
    """Returns the prices of a million R and of a million W in dollars, as `make plan` declares them."""
    declared = (ROOT / "crates/plan/src/price.rs").read_text()
    return [int(re.search(rf"const {name}: Dollars = millionths\(([\d_]+)\)", declared)[1]) / 1e6 for name in ("READS", "WRITES")]


def costs(result):
    measured, (read, write) = {call["name"]: call["measured"] for call in result["patterns"]}, prices()
    rows = []
    for name, text in COSTS.items():
        reads, writes, indexes = measured[name]
        rows.append([text, f"{reads:g} R", f"{writes + indexes:g} W", f"{reads * read + (writes + indexes) * write:.2f}"])
    return table(["request", "reads", "writes", "dollars a million"], rows)


def times(told):
    start, warm = told["cold_start"].get("lambda", told["cold_start"]["full"]), told["warm"]["functions"]["get-payment"]
    answer = lambda name: start["contestants"][name]["answer"]["median"]
    found, ready = told["load"]["found"], told["local"]["ready"]["median"]
    added = warm["ours"]["median"] - warm["bare"]["median"]
    rows = [
        ["cold start of a function of 128 MB, to the first response", f"{answer('ours'):.0f} ms", "`make bench PARTS=cold_start`"],
        ["the same in Go, Node.js and Python", "{:.0f}, {:.0f} and {:.0f} ms".format(*map(answer, ("go", "node", "python"))),
         "`make bench PARTS=cold_start`"],
        ["warm request, in addition to its DynamoDB call", f"{added:.1f} ms", "`make bench PARTS=warm`"],
        ["due page under 32 connections on two processors, p50 and p99", f"{found['due']['p50']:.0f} and {found['due']['p99']:.0f} ms",
         "`make load PROFILE=release`"],
        ["start of the local stack", f"{ready:.0f} ms", "`make bench PARTS=local`"],
        ["build of all functions on two processors", f"{told['size']['seconds'] / 60:.0f} minutes", "`make build`"],
    ]
    return table(["what", "time", "command"], rows, of_numbers=False)


def limits(told):
    at_once = {row["writers"]: row for row in told["ledger"]["hot"]}
    rate = lambda writers, into: f"{at_once[writers][into]['rate']['median']:,.0f}"
    slow = day_on_aws.limits(told["day"], max(day_on_aws.LATENCIES_MS))
    (claims_limit, claims), (intake_limit, intake) = (day_on_aws.lowest(slow[what]) for what in ("claims", "intake"))
    most = max(day["payments"] for day in told["reads"]["days"])
    [page] = [day["pages"]["first 50"] for day in told["reads"]["days"] if day["payments"] == most]
    meaning = lambda limit: day_on_aws.MEANINGS.get(limit, limit)
    rows = [
        ["payments that are due at once", f"{claims:,.0f} claims a second, limited by the {meaning(claims_limit)}",
         "more shards and more warm throughput (`make plan`)"],
        ["payments in a file", f"{intake * day_on_aws.share(told['day']):,.0f} lines a second, limited by the {meaning(intake_limit)}", "more warm throughput"],
        ["a day with many payments", f"a page of a day with {most:,} payments takes {page['ratio']['median']:.2f} times as long as one of 1,000",
         "none"],
        ["transfers into one account", f"{rate(1, 'one')} a second with one writer, {rate(64, 'one')} with 64", "grouped posting"],
        ["transfers into one grouped account", f"{rate(64, 'grouped')} a second with 64 writers on two processors", "more accounts"],
        ["reconciliation", f"{told['postgres']['reconciliation']['transactions'] / told['postgres']['reconciliation']['ours']['median']:,.0f} "
         "transactions a second, by one function", "it runs at night"],
    ]
    commands = ["day", "day", "reads", "ledger", "ledger", "postgres"]
    rows = [[*row, f"`make bench PARTS={part}`"] for row, part in zip(rows, commands, strict=True)]
    return table(["limit", "measured", "next step", "command"], rows, of_numbers=False)
