"""Measures the intake and the dispatch of the bank's day, and computes what they need on AWS."""

import datetime
import json
import os
import pathlib

import day_on_aws
from measured import MEASURE, UNOPTIMISED, measured
from spread import brackets, ratios, spread, table

KEPT = pathlib.Path(__file__).parent / "results/day.json"
ROUNDS, READ_ROUNDS, MILLION = 8, 5, 1_000_000
PAYMENTS, TARGET = 100_000, 4.5
NAMES = {"intake": "import of a file", "claims": "claims of a dispatch"}
READERS = {"entries": "index entries", "payments": "entries and payments"}
# Write units of a payment of 8 KB, by table and index (B1 with an Idempotency-Key, and B10).
WRITES = {
    "intake": {"PaymentScheduler": 9, "PaymentScheduler/GSI1": 1},
    "claims": {"PaymentScheduler": 8, "PaymentScheduler/GSI1": 2},
}

TEXT = """\
## The bank's day

### Intake and claims

This section compares two functions with the same conditional writes, made by the SDK alone. Each round has
{payments:,} payments of 8 KB. There are {rounds} rounds.

- **Import of a file**: `continue-bank-job` reads a file of JSON Lines from the local S3, and puts an idempotency record
  and a payment for each line, {intake_at_once} lines at a time.
- **Claims of a dispatch**: `dispatch-due-payments` reads the index entries of the due payments, and changes the status of
  each payment, {claims_at_once} payments at a time.
- **SDK**: the same writes with the same concurrency, without the reads.

{compared}
In both cases, the measured code has its own thread with one runtime, as in Lambda. The engine uses the other threads of the two processors, and handles one write at a time, so it limits both columns. The columns "CPU" are
the CPU time of the code's own thread. They do not include the engine.

### Reading a day

This section compares five workers, one for each shard, with a single reader that reads the shards one after another.
Each call takes {delay} ms longer. A proxy replays recorded responses, so the times do not include the engine.

- **Index entries**: the pages of {page} entries that a worker reads for its claims. A claim needs nothing else. The
  reference reads the five shards one after another.
- **Entries and payments**: `dispatch-due-payments` itself, while the transaction service is down. It reads all `PENDING`
  payments, and finds that no attempt is due. A page takes three calls: the entries of the next page, the payments of
  this page, and the dispatch switch, side by side. The reference is the same function with all payments on one shard.

There are {read_rounds} rounds, and one round with a million payments (`make bench PARTS=day MILLION=1`).

{reads}
Target: five workers read the index entries at least {target} times as fast as a reader of one shard after another.
Result: {verdict}.

{limit}
{aws}"""

LIMIT = """\
All workers of a function share one thread, because a Lambda function of 1,769 MB has one processor. With {payments:,}
payments, the thread works {entries:.1f} ms for each page of index entries, and {whole:.1f} ms for each page of entries and
payments. Five workers therefore need at least this time for a page. One worker needs {alone:.1f} ms for a page of entries
and payments, so the ratio of this reader cannot exceed {most:.1f}, whatever the number of shards. It reaches {ratio:.1f}.
"""


def measure(binary=MEASURE):
    """Measures the part "day". Measures a million payments only if MILLION is set: it takes many minutes."""
    compared = {name: comparison(measured(name, ROUNDS, binary=binary)) for name in NAMES}
    reads = [reading(measured("sweeps", PAYMENTS, READ_ROUNDS, binary=binary))]
    if os.environ.get("MILLION"):
        of_a_million = reading(measured("sweeps", MILLION, 1, "entries", binary=binary))
        reads.append({**of_a_million, "date": f"{datetime.date.today()}"})
    elif KEPT.exists():
        reads += [read for read in json.loads(KEPT.read_text())["result"]["reads"] if read["payments"] == MILLION]
    return {**compared, "reads": reads, "design": day_on_aws.design()}


def comparison(result):
    """Returns the rates and CPU times of both ways, and their ratios in each round."""
    count, ways = result["payments"], {}
    for way in ("ours", "bare"):
        times = result[way]
        ways[way] = {
            "rate": [count / millis * 1_000 for millis in times["millis"]],
            "cpu": [cpu / count for cpu in times["cpu"]],
        }
    ratio = {what: ratios(ways["ours"][what], ways["bare"][what]) for what in ("rate", "cpu")}
    told = {way: {what: spread(values) for what, values in of.items()} for way, of in ways.items()}
    return {**result, **told, "ratio": ratio, "units": per_payment(result)}


def per_payment(result):
    """Returns the calls' read and write units of a payment, by table or index."""
    places = {}
    for row in result["units"]:
        place = places.setdefault(row["place"], {"read": 0, "write": 0})
        for kind in place:
            place[kind] += row[kind] / result["payments"]
    return places


def reading(result):
    """Compares the concurrent readers with the others."""
    by = {}
    for reader in result.pop("readers"):
        side = "together" if reader["concurrent"] else "alone"
        by.setdefault(reader["by"], {})[side] = {"calls": reader["calls"], **reader["times"]}
    for sides in by.values():
        ratio = ratios_of_one(*(sides[side]["millis"] for side in ("alone", "together")))
        for side in sides.values():
            side.update({what: spread_of_one(side[what]) for what in ("millis", "cpu")})
        sides["ratio"] = ratio
    return {**result, "by": by}


def spread_of_one(values):
    """Returns the spread of values, which may be a single value."""
    return spread(values * 2 if len(values) == 1 else values) | {"n": len(values)}


def ratios_of_one(ours, others):
    return spread_of_one([one / other for one, other in zip(ours, others, strict=True)])


def faults():
    """Yields the differences from the expected write units and calls."""
    for name, expected in WRITES.items():
        places = per_payment(measured(name, 1, binary=UNOPTIMISED))
        for place, units in expected.items():
            if places[place]["write"] != units:
                yield f"{name}: a payment consumes {places[place]['write']} WRU on {place}, and not {units}"
    result = reading(measured("sweeps", 1_000, 1, binary=UNOPTIMISED))
    # One more query in each shard finds the end of the entries.
    pages = result["payments"] // result["page"] + result["shards"]
    for side in ("together", "alone"):
        calls = result["by"]["entries"][side]["calls"]
        if calls > pages:
            yield f"reading {result['payments']:,} entries {side} takes {calls} calls, and not {pages}"


def section(result):
    first = result["reads"][0]
    ratio = min(read["by"]["entries"]["ratio"]["median"] for read in result["reads"])
    times = ", ".join(f"{read['by']['entries']['ratio']['median']:.1f} times with {read['payments']:,} payments" for read in result["reads"])
    return TEXT.format(
        payments=result["intake"]["payments"], rounds=result["intake"]["ours"]["rate"]["n"],
        intake_at_once=result["intake"]["at_once"], claims_at_once=result["claims"]["at_once"],
        compared=compared_table(result), delay=first["delay"], read_rounds=first["rounds"], page=first["page"], reads=reads_table(result["reads"]),
        target=TARGET, verdict=f"{'met' if ratio >= TARGET else '**missed**'} ({times})", limit=limit(first),
        aws=day_on_aws.section(result),
    )


def limit(read):
    pages = read["payments"] / read["page"]
    each = lambda by, side, what: read["by"][by][side][what]["median"] / pages
    whole, alone = each("payments", "together", "cpu"), each("payments", "alone", "millis")
    return LIMIT.format(payments=read["payments"], entries=each("entries", "together", "cpu"), whole=whole, alone=alone, most=alone / whole,
                        ratio=read["by"]["payments"]["ratio"]["median"])


def compared_table(result):
    head = ["", "payments a second", "SDK", "ratio", "CPU of a payment", "SDK", "ratio"]
    rows = []
    for name, meaning in NAMES.items():
        of = result[name]
        rates = [brackets(of[way]["rate"], 0) for way in ("ours", "bare")]
        cpu = [f"{brackets(of[way]['cpu'], 2)} ms" for way in ("ours", "bare")]
        rows.append([meaning, *rates, brackets(of["ratio"]["rate"], 2), *cpu, brackets(of["ratio"]["cpu"], 2)])
    return table(head, rows)


def reads_table(reads):
    head = ["", "payments", "calls", "five workers", "CPU of the thread", "one shard after another", "ratio"]
    rows = []
    for by, meaning in READERS.items():
        for read in reads:
            if by in read["by"]:
                of = read["by"][by]
                together, alone = of["together"], of["alone"]
                times = [f"{shown(one, 0)} ms" for one in (together["millis"], together["cpu"], alone["millis"])]
                date = f", {read['date']}" if "date" in read else ""
                rows.append([meaning, f"{read['payments']:,}{date}", f"{together['calls']:,}", *times, shown(of["ratio"], 1)])
    return table(head, rows)


def shown(of, digits):
    """Returns the median, with the quartiles if there are several rounds."""
    return brackets(of, digits) if of["n"] > 1 else f"{of['median']:,.{digits}f}"
