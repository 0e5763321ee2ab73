"""Compares ledger transfers with their SDK calls, and measures many writers on one account."""

from measured import measured
from spread import brackets, ratios, spread, table, verdict

# Maximum ratio of a transfer and the SDK calls that it needs, and minimum ratio of a grouped
# account with 64 writers and one with one writer.
TARGET, GROUPED = 1.10, 8
INTO = {"one": "one account", "distinct": "separate accounts", "grouped": "grouped account"}

TEXT = """\
## Ledger

This section measures transfers between two accounts, with a distant DynamoDB: a proxy delays each call by {away_ms} ms.
{customers} customers work concurrently. Each customer makes one transfer after the other, between two accounts that no
other customer uses. `process-payment` is called in the same process, without the Lambda runtime. It is compared with
the SDK calls that a transfer needs: strongly consistent reads, and then the transaction. Each time is the duration of a
round, divided by the number of transfers in the round. There are {rounds} rounds.

{transfers}
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

{lag}
Target: with {most} writers, a grouped account takes at least {grouped_target} times as many transfers a second as with one writer.
Result: {grouped_verdict} ({grouped_ratio:.1f} times). In the same runs, {most} separate accounts, which share nothing, take
{separate_ratio:.1f} times as many as one: the processors of this machine are the limit.
"""


def measure():
    result = measured("ledger")
    times = result["transfers"]
    ratio = ratios(times["ours"], times["with_reads"])
    result["transfers"] = {**{what: spread(values) for what, values in times.items()}, "ratio": ratio}
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
    transfers = result["transfers"]
    head = ["process-payment", "reads and transaction", "ratio", f"≤ {TARGET:.2f}"]
    compared = [*(f"{brackets(transfers[what], 2)} ms" for what in ("ours", "with_reads")), brackets(transfers["ratio"], 2),
           verdict(transfers["ratio"], TARGET)]
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
    grouped = [row["grouped"]["rate"]["median"] for row in result["hot"]]
    separate = [row["distinct"]["rate"]["median"] for row in result["hot"]]
    ratio = grouped[-1] / grouped[0]
    return TEXT.format(
        **{**result, "transfers": table(head, [compared]), "hot": table(head_hot, hot)}, rounds=transfers["ours"]["n"], runs=result["hot"][0]["one"]["rate"]["n"],
        lag=table(head_lag, lags), most=result["hot"][-1]["writers"], grouped_target=GROUPED,
        grouped_verdict="met" if ratio >= GROUPED else "**missed**", grouped_ratio=ratio,
        separate_ratio=separate[-1] / separate[0],
    )
