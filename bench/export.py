"""Measures the export of cart changes: Firehose records, billed volume, and memory per batch."""

from measured import MEASURE, ROOT, UNOPTIMISED, measured
from spread import table

FUNCTION = ROOT / "target/lambda/export-changes/bootstrap"
# The maximum ratio of billed bytes to real bytes.
MOST = 1.1

TEXT = """\
## Export

### Firehose billing

All changes of a batch have the same size. A batch contains at most 1,000 changes (the batch size of
the event source mapping) and at most 6 MB (the limit of an invocation). The exporter packs the
changes into records of up to 50 KB, and the records into calls of up to 4 MB. For comparison, the
last three columns show unpacked changes, with one record per change. Firehose rounds the size of
each record up to a multiple of 5 KB.

{packing}
### Memory

This section measures the peak resident memory of the release binary while it exports a batch of
cart changes. A change has {change:,.0f} bytes in the event and {row} bytes in the row. An event of
6 MB contains at most {most:,} such changes. The export of this batch uses {share:.0%} of the
function's {memory} MB. If one process exports twenty batches of this size, its peak memory is
{again:.1f} MB.

{batches}"""


def measure(binary=MEASURE, function=FUNCTION):
    """Measures the part "export" of the results."""
    return {"packing": measured("packing", binary=binary), **measured("memory", function, binary=binary)}


def faults():
    """Yields the change sizes for which packing is worse than not packing.

    Also yields the sizes for which Firehose bills more than `MOST` times the real bytes."""
    for size in measured("packing", binary=UNOPTIMISED):
        packed, alone = size["packed"], size["alone"]
        dearer = [what for what in ("records", "calls", "billed") if packed[what] > alone[what]]
        if dearer:
            yield f"changes of {size['bytes']} bytes: more {', '.join(dearer)} with packing than without"
        if share(packed) > MOST:
            yield f"changes of {size['bytes']} bytes: {share(packed):.2f} times their real bytes are billed"


def share(sent):
    return sent["billed"] / sent["bytes"]


def section(result):
    batches, again = result["batches"], result["again"]
    largest = batches[-1]
    return TEXT.format(
        packing=packing_table(result["packing"]), batches=batches_table(batches), most=largest["changes"],
        change=largest["event"] / largest["changes"], row=round(largest["bytes"] / largest["changes"]),
        memory=largest["memory"], share=largest["peak"] / 1024 / largest["memory"], again=again["peak"] / 1024,
    )


def packing_table(sizes):
    columns = ["change size", "changes", "per record", "records per call", "calls", "billed ÷ bytes", "unpacked: records per call",
               "calls", "billed ÷ bytes"]
    rows = []
    for size in sizes:
        packed, alone = size["packed"], size["alone"]
        changes = [f"{size['changes']:,}", f"{size['changes'] / packed['records']:,.1f}"]
        rows.append([name(size), *changes, *sent(packed), *sent(alone)])
    return table(columns, rows)


def sent(of):
    return [f"{of['records'] / of['calls']:,.1f}", str(of["calls"]), f"{share(of):.2f}"]


def batches_table(batches):
    rows = []
    for batch in batches:
        sizes = [f"{batch['changes']:,}", f"{batch['event'] / 1e6:.2f} MB"]
        rows.append([*sizes, str(batch["calls"]), f"{share(batch):.2f}", f"{batch['peak'] / 1024:.1f} MB"])
    return table(["changes", "event", "calls", "billed ÷ bytes", "peak memory"], rows)


def name(size):
    return f"{size['bytes'] / 1000:g} KB"
