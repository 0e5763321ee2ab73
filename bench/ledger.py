"""Transfers of the ledger beside the bare calls that they make, and many writers on one account."""

import chart
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.2
PICTURE = "Transfers a second into one account and into several, by writers"
NAMES = {"ours": "process-payment", "with_reads": "bare reads and transaction", "transaction": "bare transaction"}

TEXT = """\
## Ledger

{customers} customers at once, each with two accounts of their own, pay one transfer after the other: by `process-payment`,
called in the process and without the runtime, by the bare `TransactWriteItems` of the same items, and by the bare reads that must come before it, strongly consistent and
side by side, and then the transaction. The time of a round of all of them, divided by its transfers, round by round: {rounds} rounds.

{places}
The transaction alone is not a transfer: the balance that a leg leaves stands in the leg and in the account, so the
accounts must be read first; the time away is that of two calls one after the other, where the transaction is one.

### One hot account

Writers that each pay from an account of their own into the same one, and into one of {receiving} that receive for one
owner, {transfers} transfers in all, {runs} runs each, DynamoDB further away. Who is told to come again (429, 503) does. A conflict is a
transaction that was written for nothing because another changed the account first.

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
    names = {"here": "in this machine's memory", "away": f"{result['away_ms']} ms further away, and the way there"}
    head = ["DynamoDB", *NAMES.values(), "ours ÷ transaction", "ours ÷ reads and transaction", f"≤ {TARGET}"]
    places = [
        [names[place], *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["to_transaction"], 2), brackets(of["to_reads"], 2),
         f"{verdict(of['to_transaction'], TARGET)}, {verdict(of['to_reads'], TARGET)}"]
        for place, of in ((place, result["places"][place]) for place in names)
    ]
    head_hot = ["writers", "one account, transfers a second", "conflicts a transfer", "told to come again",
                f"{result['receiving']} accounts, transfers a second", "conflicts a transfer", "told to come again"]
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
        for into, named in (("one", "1 account"), ("many", f"{result['receiving']} accounts")):
            rate = row[into]["rate"]
            rows.append((f"{row['writers']} into {named}", rate["median"], rate["q1"], rate["q3"]))
    return chart.page([chart.bars("Transfers a second, by writers", rows, "/s", ours=range(1, len(rows), 2))])
