"""What the exporter sends and Firehose bills for changes of a cart, and what memory a batch takes."""

import chart
from measured import MEASURE, ROOT, UNOPTIMISED, measured
from spread import table

PICTURE = "Billed bytes over real bytes by the size of a change, and memory by the size of an event"
FUNCTION = ROOT / "target/lambda/export-cart-changes/bootstrap"
# What a full batch may cost beside its bytes.
MOST = 1.1

TEXT = """\
## Export

### What Firehose bills

Batches of changes of one size, as many as a mapping asks for (1,000) and an invocation holds (6 MB), packed as the
exporter does (records of up to 50 KB, calls of up to 4 MB), and with a record for each change. Firehose bills
a record in steps of 5 KB.

{packing}
### Memory

The release binary, which gets one batch of a cart's changes ({change:,.0f} bytes each in the event, {row} in the row)
from a Runtime API and delivers it; the peak of its resident memory. The mapping asks for 1,000 records; more than
{most:,} do not fit the 6 MB of an invocation, so that is the most there can be: {share:.0%} of the {memory} MB that the
function has. Twenty such batches in the same process, one after the other, take {again:.1f} MB at the peak.

{batches}"""


def measure(binary=MEASURE, function=FUNCTION):
    """The part "export" of the results."""
    return {"packing": measured("packing", binary=binary), **measured("memory", function, binary=binary)}


def faults():
    """Where packing costs more than it saves, or a full batch much more than its bytes."""
    for size in measured("packing", binary=UNOPTIMISED):
        packed, alone = size["packed"], size["alone"]
        dearer = [what for what in ("records", "calls", "billed") if packed[what] > alone[what]]
        if dearer:
            yield f"changes of {size['bytes']} bytes: more {', '.join(dearer)} packed than not"
        if share(packed) > MOST:
            yield f"changes of {size['bytes']} bytes: {share(packed):.2f} times their bytes are billed"


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
    columns = ["change", "changes", "a record", "records a call", "calls", "billed ÷ bytes", "unpacked: records a call",
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


def picture(result):
    rows = []
    for size in result["packing"]:
        for words, what in {"packed": "packed", "not": "alone"}.items():
            rows.append((f"{name(size)}, {words}", *[share(size[what])] * 3))
    memory = [(f"changes: {batch['changes']:,}", *[batch["peak"] / 1024] * 3) for batch in result["batches"]]
    return chart.page([
        chart.bars("Billed bytes over real bytes", rows, "times", ours=range(0, len(rows), 2)),
        chart.bars("Peak memory of one batch", memory, "MB", ours=()),
    ])
