"""What docs/performance.md says of cold starts: words, tables and a chart of the measured numbers."""

import chart
from spread import brackets

NAMES = {
    "ours": "schedule-payment",
    "hello": "hello-world",
    "connected": "connected",
    "late": "late",
    "untrimmed": "untrimmed",
    "node": "Node.js",
    "python": "Python",
}
MEASURES = {
    "next": "start to first `next`",
    "answer": "start to first answer",
    "second": "second event",
    "cpu": "CPU time",
    "memory": "peak memory",
}

TEXT = """\
## Cold start

From the start of the process to its first answer, with the Runtime API and a DynamoDB behind real TLS on loopback,
which answers at once: what is left is the function's own start. All schedule the same payment with an
`Idempotency-Key`; before anything is timed, their answers (a 201 and a 400) and their requests to DynamoDB are
compared and must be equal.

- **schedule-payment**: the binary that is deployed.
- **hello-world**: `lambda_runtime` and nothing else, one thread, no logs: the least that a Lambda in Rust can be.
- **connected**: hello-world that has our client and opens its connection before the first `next`, as ours does.
- **late**: schedule-payment itself, but without the call before the first `next`: its connection opens with its first
  payment.
- **untrimmed**: schedule-payment with the default features and the default client of the SDK, the system's roots,
  aws-lc's jitter entropy, and no call before the first event. Same profile.
- **Node.js** {node}: AWS SDK v3, bundled and minified by esbuild, keep-alive, warm connection before the first event.
  Its runtime loop is the shortest there can be: AWS's own needs a C++ compiler to install, and does more.
- **Python** {python}: boto3 under AWS's own runtime client (`awslambdaric`), compiled to bytecode, warm connection
  too.

The code is in [bench/peers](../bench/peers). A round starts everybody once, each round in another order; {warm_up}
rounds to warm up are not counted. Numbers are medians, with the quartiles in brackets; ratios are taken round by
round.

{full}
{share}"""

LIMIT = """
The limit: a hello-world that opens its connection, the least that we know of a function on this SDK that has one before
the first event, needs {connected} × the time of one that does not. Ours without that call (late) needs {late} ×,
and its first payment waits for the connection instead. Start to first answer with the call ÷ without it: {full} here{as_in_lambda}.
"""

PICTURE = "Start to first answer"

SHARE = """\
### At the CPU share of {megabytes} MB

A cgroup holds the process at {megabytes}/1769 of a processor, in periods of 20 ms, from its first instruction on;
DynamoDB and the Runtime API stay outside. That is harder than Lambda, which gives the init phase a whole processor. A
start of two or three periods is told to the period: the quartiles of the ratios of `next` say how blurred they are.

{tables}"""

LAMBDA = """\
### As in Lambda

No limit until the first `next`, as Lambda gives the init phase more than the function has, and {megabytes}/1769 of a processor
from then on: what is done before the first event is done faster. The time that it takes to put the process into the cgroup is
left out.

{tables}"""

NO_SHARE = """\
The CPU share of {megabytes} MB was not measured: {no_share}. The column of CPU time is the substitute: at a share *s*
a start takes about the CPU time ÷ *s*.
"""


def section(result):
    worth = {part: brackets(against_late(result[part]), 2) for part in ("full", "lambda") if part in result}
    as_in_lambda = f", {worth['lambda']} [as in Lambda](#as-in-lambda)" if "lambda" in worth else ""
    limits = {name: brackets(limit, 2) for name, limit in result["full"]["limit"].items()}
    limit = LIMIT.format(**limits, full=worth["full"], as_in_lambda=as_in_lambda)
    full = f"### At full CPU\n\n{tables(result['full'], 'cpu')}{limit}"
    if "share" in result:
        share = "\n".join(text.format(tables=tables(result[part]), **result) for text, part in ((SHARE, "share"), (LAMBDA, "lambda")))
    else:
        share = NO_SHARE.format(**result)
    return TEXT.format(**{**result, "full": full, "share": share})


def against_late(part):
    [ratio] = [ratio for ratio in part["ratios"] if ratio["against"] == "late"]
    return ratio


def tables(part, *more):
    columns = ["next", "answer", "second", *more, "memory"]
    rows = [["", *(MEASURES[column] for column in columns)], ["---", *("---:" for _ in columns)]]
    for name, measured in part["contestants"].items():
        rows.append([NAMES[name], *(quantity(column, measured[column]) for column in columns)])
    number = part["contestants"]["ours"]["next"]["n"]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", f"{number} rounds. Against the targets:", ""]
    lines += ["| schedule-payment's | ratio | target | |", "| --- | ---: | ---: | --- |"]
    for ratio in part["ratios"]:
        what = f"{MEASURES[ratio['what']]} ÷ {NAMES[ratio['against']]}'s"
        target, verdict = "", ""
        if "target" in ratio:
            target, verdict = f"≤ {ratio['target']:.2f}", "holds" if ratio["holds"] else "**missed**"
        lines.append(f"| {what} | {brackets(ratio, 2)} | {target} | {verdict} |")
    return "\n".join(lines) + "\n"


def quantity(column, spread):
    return brackets(spread, 1) + (" MB" if column == "memory" else " ms")


def picture(result):
    shares = {"full": "full CPU", "share": f"CPU share of {result['megabytes']} MB", "lambda": "as in Lambda"}
    panels = []
    for part, share in shares.items():
        if part in result:
            answers = {name: measured["answer"] for name, measured in result[part]["contestants"].items()}
            rows = [(NAMES[name], of["median"], of["q1"], of["q3"]) for name, of in answers.items()]
            panels.append(chart.bars(f"Start to first answer, {share}", rows, "ms"))
    return chart.page(panels)
