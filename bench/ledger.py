"""Compares ledger transfers with their SDK calls, and measures many writers on one account."""

import chart
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.2
PICTURE = "Transfers a second into one account and into several accounts, by number of writers"
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

This section compares two cases with a distant DynamoDB. In the first case, all writers pay into one shared account. In
the second case, each payment goes to one of {receiving} accounts, chosen at random. Each writer pays from its own
account. Each of the {runs} runs has {transfers} transfers. Rejected transfers (429, 503) are retried. A conflict is a
transaction that failed because another transaction had changed the account.

{hot}"""


def measure():
    result = measured("ledger")
    for name, times in result["places"].items():
        result["places"][name] = {
            **{what: spread(values) for what, values in times.items()},
            "to_transaction": ratios(times["ours"], times["transaction"]),
            "to_reads": ratios(times["ours"], times["with_reads"]),
        }
    for row in result["hot"]:
        for into in ("one", "many"):
            row[into] = hot(row[into], result["transfers"])
    return result


def hot(runs, transfers):
    return {
        "rate": spread([transfers / run["ms"] * 1_000 for run in runs]),
        "conflicts": spread([run["conflicts"] / transfers for run in runs]),
        "told_to_come_again": spread([run["told_to_come_again"] for run in runs]),
    }


def section(result):
    names = {"here": "in this machine's memory", "away": f"{result['away_ms']} ms further away, by a proxy"}
    head = ["DynamoDB", *NAMES.values(), "÷ transaction", "÷ reads and transaction", f"≤ {TARGET}"]
    places = [
        [names[place], *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["to_transaction"], 2), brackets(of["to_reads"], 2),
         f"{verdict(of['to_transaction'], TARGET)}, {verdict(of['to_reads'], TARGET)}"]
        for place, of in ((place, result["places"][place]) for place in names)
    ]
    head_hot = ["writers", "one account, transfers a second", "conflicts per transfer", "rejected",
                f"{result['receiving']} accounts, transfers a second", "conflicts per transfer", "rejected"]
    hot = []
    for row in result["hot"]:
        numbers = [[brackets(row[into]["rate"], 0), brackets(row[into]["conflicts"], 2), brackets(row[into]["told_to_come_again"], 0)]
                   for into in ("one", "many")]
        hot.append([str(row["writers"]), *numbers[0], *numbers[1]])
    rounds = result["places"]["here"]["ours"]["n"]
    runs = result["hot"][0]["one"]["rate"]["n"]
    return TEXT.format(**{**result, "rounds": rounds, "runs": runs, "places": table(head, places), "hot": table(head_hot, hot)})


def picture(result):
    rows = []
    for row in result["hot"]:
        for into, accounts in (("one", "1 account"), ("many", f"{result['receiving']} accounts")):
            rate = row[into]["rate"]
            rows.append((f"{row['writers']}, {accounts}", rate["median"], rate["q1"], rate["q3"]))
    title, many = f"Transfers, DynamoDB {result['away_ms']} ms further away", range(1, len(rows), 2)
    panel = chart.bars(title, rows, "transfers a second", "writers, paying into", many)
    legend = [
        ("others", "all writers pay into one shared account (median)"),
        ("ours", f"each payment goes to one of {result['receiving']} accounts, chosen at random (median)"),
        chart.RANGE,
    ]
    return chart.page([panel], legend)
