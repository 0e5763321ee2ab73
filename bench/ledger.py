"""Compares ledger transfers with their SDK calls, and measures many writers on one account."""

import chart
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGETS = {"to_transaction": 1.4, "to_reads": 1.2}
PICTURE = "Transfers a second into one account, separate accounts and a grouped account, by number of writers"
INTO = {"one": "one account", "distinct": "separate accounts", "grouped": "grouped account"}
NAMES = {"ours": "process-payment", "with_reads": "reads and transaction", "transaction": "transaction"}

TEXT = """\
## Ledger

This section measures transfers between two accounts. {customers} customers work concurrently. Each
customer makes one transfer after the other, between two accounts that no other customer uses. The
table compares three ways to make a transfer:

- **process-payment**: our function, called in the same process without the Lambda runtime.
- **reads and transaction**: the SDK calls that a transfer needs. These are strongly consistent
  reads, and then the transaction.
- **transaction**: only `TransactWriteItems` with the same items.

Each time is the duration of a round, divided by the number of transfers in the round. There are
{rounds} rounds.

{places}
The transaction alone cannot make a transfer. It writes the new balances, so a transfer must first
read the accounts. With a distant DynamoDB, a transfer takes two calls in sequence, and the
transaction alone takes one.

### One hot account

All writers pay into one account. The DynamoDB is distant. The account has direct posting, or
[grouped posting](decisions/ledger-throughput.md). For comparison, each writer also pays into a separate account
with direct posting. Each writer pays from its own account. Each of the {runs} runs uses a new stack. Rejected
transfers (429, 503) are retried. A conflict is a transaction that failed because another transaction had changed the
account. The ratio is the rate of the grouped account divided by the rate of the separate accounts in the same run.

{hot}
A credit of a grouped account waits in its inbox until the settlement posts it. *In the inbox* is the number of waiting
credits when the last payment is done. *Lag* is this number divided by the rate of the payments. *Drained* is the time
until the inbox is empty.

{lag}"""


def measure():
    result = measured("ledger")
    for name, times in result["places"].items():
        result["places"][name] = {
            **{what: spread(values) for what, values in times.items()},
            "to_transaction": ratios(times["ours"], times["transaction"]),
            "to_reads": ratios(times["ours"], times["with_reads"]),
        }
    result["hot"] = [
        {
            "writers": row["writers"],
            **{into: hot(row[into]) for into in INTO},
            "ratio": ratios(rates(row["grouped"]), rates(row["distinct"])),
            "lag": lag(row["grouped"]),
        }
        for row in result["hot"]
    ]
    return result


def rates(runs):
    return [run["transfers"] / run["ms"] * 1_000 for run in runs]


def hot(runs):
    return {
        "rate": spread(rates(runs)),
        "conflicts": spread([run["conflicts"] / run["transfers"] for run in runs]),
        "asked_to_retry": spread([run["asked_to_retry"] for run in runs]),
    }


def lag(runs):
    return {
        "pending": spread([run["pending"] for run in runs]),
        "ms": spread([run["pending"] / rate * 1_000 for run, rate in zip(runs, rates(runs), strict=True)]),
        "drain_ms": spread([run["drain_ms"] for run in runs]),
    }


def section(result):
    names = {"here": "in this machine's memory", "away": f"{result['away_ms']} ms further away, by a proxy"}
    head = ["DynamoDB", *NAMES.values(), "÷ transaction", "÷ reads and transaction", " and ".join(f"≤ {target}" for target in TARGETS.values())]
    places = [
        [names[place], *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["to_transaction"], 2), brackets(of["to_reads"], 2),
         ", ".join(verdict(of[what], target) for what, target in TARGETS.items())]
        for place, of in ((place, result["places"][place]) for place in names)
    ]
    head_hot = ["writers", "one account, transfers a second", "conflicts per transfer", "rejected",
                "separate accounts, transfers a second", "grouped account, transfers a second", "conflicts per transfer",
                "grouped ÷ separate"]
    head_lag = ["writers", "in the inbox", "lag, ms", "drained, ms"]
    hot, lags = [], []
    for row in result["hot"]:
        one, grouped, lag = row["one"], row["grouped"], row["lag"]
        hot.append([
            str(row["writers"]), brackets(one["rate"], 0), brackets(one["conflicts"], 2), brackets(one["asked_to_retry"], 0),
            brackets(row["distinct"]["rate"], 0), brackets(grouped["rate"], 0), brackets(grouped["conflicts"], 2),
            brackets(row["ratio"], 2),
        ])
        lags.append([str(row["writers"]), *(brackets(lag[what], 0) for what in ("pending", "ms", "drain_ms"))])
    rounds = result["places"]["here"]["ours"]["n"]
    runs = result["hot"][0]["one"]["rate"]["n"]
    tables = {"places": table(head, places), "hot": table(head_hot, hot), "lag": table(head_lag, lags)}
    return TEXT.format(**{**result, "rounds": rounds, "runs": runs, **tables})


def picture(result):
    rows = []
    for row in result["hot"]:
        for into, name in INTO.items():
            rate = row[into]["rate"]
            rows.append((f"{row['writers']}, {name}", rate["median"], rate["q1"], rate["q3"]))
    title, grouped = f"Transfers, DynamoDB {result['away_ms']} ms further away", range(2, len(rows), 3)
    panel = chart.bars(title, rows, "transfers a second", "writers, paying into", grouped)
    legend = [
        ("others", "all writers pay into one account, or each into a separate account (median)"),
        ("ours", "all writers pay into one account with grouped posting (median)"),
        chart.RANGE,
    ]
    return chart.page([panel], legend)
