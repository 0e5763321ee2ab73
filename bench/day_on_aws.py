"""Computes how fast the bank's functions claim and import payments on AWS, from measured calls."""

import math
import pathlib
import re

from spread import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Assumptions: latencies of a DynamoDB call and of the first byte from S3, and the pause between two
# invocations of a job.
LATENCIES_MS, PAUSE_S = (5, 10), 1
UNITS_A_PARTITION, NEW_WRITES, SHARDS = 1_000, 4_000, 5
MILLION, WINDOW_S, INTAKE_S = 1_000_000, 120, 1_800

# The limits of a rate, as the pages name them.
MEANINGS = {
    "CPU": "CPU of one processor", "index": f"write units of {SHARDS} shards of the index",
    "table": "write units of the table, with warm throughput", "new table": "write units of a new table",
}

TEXT = """\
### What the calls mean on AWS

This section computes the time for a million payments of 8 KB. It takes the units and the CPU time of the table above,
and makes these assumptions:

- A DynamoDB call takes {latencies} ms. Nothing is throttled below the limits in the table.
- A processor of Lambda is as fast as a processor of this machine, and a function has one.
- A partition accepts {partition:,} write units a second, so the index with {shards} shards accepts {index:,}. A new table
  accepts {new:,}, and a table with the warm throughput of `make plan` {warm:,}. Payments spread evenly over accounts.
- A dispatch works {claim_s} of the {window} seconds between two dispatches: until its timeout, less the reserve. A job works
  {job_s} seconds in each invocation, and its stream starts the next one {pause} s later.

{limits}
**Dispatch.** A claim is one `UpdateItem`. Each page of {page} entries also needs one `Query` and one
`GetItem`. In each shard, {side} claims run at a time, so a page takes {waves} calls one after another. If a million
payments are due at once, the
{claims_limit} allows {claims_rate:,.0f} claims a second. A dispatch claims {in_window:,.0f} payments, and {windows} dispatches
claim the million, in {claims_minutes:.0f} minutes. In one dispatch, the million would need {one_shards} shards, {one_table:,.0f} write
units a second on the table, and {one_cpu:.0f} seconds of CPU time. A single function has {claim_s} seconds, so it claims at most
{cpu_claims:,.0f} payments, with any number of shards. The required day needs less: {arriving:,.0f} payments arrive between two
dispatches, and are claimed in {arriving_s:.0f} seconds.

**Intake.** A line needs two `PutItem`, one after the other. {line_side} lines are scheduled at a time, while the next lines are
read from S3. With the warm throughput of `make plan`, the {intake_limit} allows {intake_rate:,.0f} lines a second, and a million take {intake_minutes:.0f} minutes of the required {required:.0f}. On a new table, they take {new_minutes:.0f} minutes.
"""


def constant(path, name):
    """Returns the value of a constant in a Rust file, such as 128 * 1024 or a duration in seconds."""
    value = re.search(rf"const {name}: \w+ = (?:Duration::from_secs\()?([\d_* ]+)", (ROOT / path).read_text())[1]
    return math.prod(int(factor) for factor in value.replace("_", "").split("*"))


def design():
    """Returns the constants of the functions, as deployed."""
    dispatch, job = "crates/bank/src/dispatch.rs", "crates/jobs/src/engine.rs"
    importer = "crates/bank/src/jobs/import.rs"
    timeout = re.search(r"^  DispatchDuePayments:\n(?:    .*\n)*?      Timeout: (\d+)$", (ROOT / "stacks/bank.yaml").read_text(), re.MULTILINE)
    warm = re.search(r'"KEYS_ONLY": .*"WarmWriteUnits": (\d+)', (ROOT / "stacks/deploy.py").read_text())
    return {
        "page": constant(dispatch, "PAGE"),
        "side": constant(dispatch, "SIDE_BY_SIDE"),
        "claim_s": int(timeout[1]) - constant("crates/bank/src/patterns/dispatch_due_payments.rs", "RESERVE"),
        "line_side": constant(importer, "SIDE_BY_SIDE"),
        "job_s": constant(job, "BUDGET") - constant(job, "RESERVE"),
        "warm": int(warm[1]),
    }


def limits(result, latency):
    """Returns the limits of claims and of lines, in payments a second."""
    design, intake, claims = result["design"], result["intake"], result["claims"]
    writes = lambda of, place: of["units"][f"PaymentScheduler{place}"]["write"]
    waves = math.ceil(design["page"] / design["side"])
    rows = {}
    for name, of, waiting in (
        ("claims", claims, SHARDS * design["page"] / (waves * latency / 1_000)),
        ("intake", intake, design["line_side"] / (2 * latency / 1_000)),
    ):
        rows[name] = {
            "concurrency": waiting,
            "CPU": 1_000 / of["ours"]["cpu"]["median"],
            "index": SHARDS * UNITS_A_PARTITION / writes(of, "/GSI1"),
            "table": design["warm"] / writes(of, ""),
            "new table": NEW_WRITES / writes(of, ""),
        }
    return rows


def lowest(rows):
    """Returns the name and the value of the lowest limit with warm throughput."""
    return min(((name, value) for name, value in rows.items() if name != "new table"), key=lambda named: named[1])


def share(result):
    """Returns the share of the time in which a job works."""
    works = result["design"]["job_s"]
    return works / (works + PAUSE_S)


def section(result):
    design = result["design"]
    slow = limits(result, max(LATENCIES_MS))
    claims_limit, claims_rate = lowest(slow["claims"])
    intake_limit, intake_rate = lowest(slow["intake"])
    in_window, works = claims_rate * design["claim_s"], share(result)
    windows, last = divmod(MILLION, in_window)
    arriving = MILLION / INTAKE_S * WINDOW_S
    units = result["claims"]["units"]
    return TEXT.format(
        **{name: design[name] for name in ("page", "side", "claim_s", "line_side", "job_s", "warm")},
        latencies=" or ".join(map(str, LATENCIES_MS)), partition=UNITS_A_PARTITION, shards=SHARDS, window=WINDOW_S,
        index=SHARDS * UNITS_A_PARTITION, new=NEW_WRITES, pause=PAUSE_S, limits=limits_table(result),
        waves=math.ceil(design["page"] / design["side"]), claims_limit=claims_limit, claims_rate=claims_rate, in_window=in_window,
        windows=math.ceil(MILLION / in_window), claims_minutes=(windows * WINDOW_S + last / claims_rate) / 60,
        one_shards=math.ceil(MILLION * units["PaymentScheduler/GSI1"]["write"] / UNITS_A_PARTITION / design["claim_s"]),
        one_table=MILLION * units["PaymentScheduler"]["write"] / design["claim_s"],
        one_cpu=MILLION * result["claims"]["ours"]["cpu"]["median"] / 1_000, cpu_claims=slow["claims"]["CPU"] * design["claim_s"],
        arriving=arriving, arriving_s=arriving / claims_rate,
        intake_limit=intake_limit, intake_rate=intake_rate * works, intake_minutes=MILLION / intake_rate / works / 60,
        required=INTAKE_S / 60, new_minutes=MILLION / min(slow["intake"]["new table"], intake_rate) / works / 60,
    )


def limits_table(result):
    head = ["limit, payments a second", "claims", "lines of a file"]
    each = {latency: limits(result, latency) for latency in LATENCIES_MS}
    cells = lambda rows, name: [f"{rows[of][name]:,.0f}" for of in ("claims", "intake")]
    rows = [[f"concurrency, {latency} ms a call", *cells(rows, "concurrency")] for latency, rows in each.items()]
    rows += [[meaning, *cells(each[LATENCIES_MS[0]], name)] for name, meaning in MEANINGS.items()]
    return table(head, rows)
