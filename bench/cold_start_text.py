"""Generates the section on cold starts of docs/performance.md: text and tables."""

from spread import brackets

NAMES = {
    "ours": "schedule-payment",
    "hello": "hello-world",
    "connected": "connected",
    "late": "late",
    "node": "Node.js",
    "python": "Python",
    "go": "Go",
}
MEASURES = {
    "next": "start to first `next`",
    "answer": "start to first response",
    "second": "second event",
    "cpu": "CPU time",
    "memory": "peak memory",
}

TEXT = """\
## Cold start

This section measures the time from the start of a process to its first response. A fake Runtime API
and a fake DynamoDB with TLS run on the same machine. They respond immediately, so the times contain
only the work of the function. Most functions schedule the same payment with an `Idempotency-Key`.
Before the measurement, a check compares these functions. Their responses and their DynamoDB requests
must be equal, except for a parameter that Debian's SDK for Go does not know.

- **schedule-payment**: the deployed binary.
- **hello-world**: a function that does nothing. It has only `lambda_runtime`, one thread and no
  logs, and shows the minimum for a Lambda function in Rust.
- **connected**: hello-world with our DynamoDB client. Like our functions, it opens the connection
  before its first `next` request to the Runtime API.
- **late**: schedule-payment without the DynamoDB call before the first `next`. The first payment opens the
  connection.
- **Node.js** {node}: AWS SDK v3, bundled and minified by esbuild, with keep-alive and a connection
  that is opened before the first event. It has its own minimal runtime loop, because AWS's runtime
  client does more and needs a C++ compiler to install.
- **Python** {python}: boto3 under AWS's runtime client (`awslambdaric`), compiled to bytecode, with a
  connection that is opened before the first event.
- **Go** {go}: AWS SDK v2 {go_sdk} of Debian's packages, with a connection that is opened before the first event and
  a minimal runtime loop.

The functions in other languages have no code for other requests or for errors. The function in Go prints shorter
metrics.

The code is in [bench/peers](../bench/peers). A round starts each function once, in random order. The first
{warm_up} rounds are warm-up and are not counted. A ratio compares two functions in the same round.

{full}
{share}"""

LIMIT = """
Opening the DynamoDB connection takes about half of the time to the first `next`. In **connected**, this
time is {connected} times as long as in hello-world. schedule-payment also loads a larger binary, and
starts the logs and the metrics. In **late**, it is only {late} times as long,
but the first payment then waits for the connection. For the time to the first response, the ratio
schedule-payment ÷ late is {full} at full CPU{as_in_lambda}.
"""


LAMBDA = """\
### As in Lambda

The process runs at full CPU until the first `next`, and is then limited to {megabytes}/1769 of a
processor. Lambda does the same, so work before the first event is faster than work during an event.
The time to move the process into the cgroup is not counted.

{tables}"""

NO_SHARE = """\
The CPU share of {megabytes} MB was not measured: {no_share}. Use the column "CPU time" instead. At
a share *s*, a start takes about CPU time ÷ *s*.
"""


def section(result):
    worth = {part: brackets(against_late(result[part]), 2) for part in ("full", "lambda") if part in result}
    as_in_lambda = f" and {worth['lambda']} [as in Lambda](#as-in-lambda)" if "lambda" in worth else ""
    limits = {name: brackets(limit, 2) for name, limit in result["full"]["limit"].items()}
    limit = LIMIT.format(**limits, full=worth["full"], as_in_lambda=as_in_lambda)
    full = f"### At full CPU\n\n{tables(result['full'], 'cpu')}{limit}"
    share = LAMBDA.format(tables=tables(result["lambda"]), **result) if "lambda" in result else NO_SHARE.format(**result)
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
    lines += ["", f"{number} rounds. Comparison with the targets:", ""]
    lines += ["| schedule-payment | ratio | target | |", "| --- | ---: | ---: | --- |"]
    for ratio in part["ratios"]:
        what = f"{MEASURES[ratio['what']]} ÷ {NAMES[ratio['against']]}"
        target, verdict = "", ""
        if "target" in ratio:
            target, verdict = f"≤ {ratio['target']:.2f}", "met" if ratio["holds"] else "**missed**"
        lines.append(f"| {what} | {brackets(ratio, 2)} | {target} | {verdict} |")
    return "\n".join(lines) + "\n"


def quantity(column, spread):
    return brackets(spread, 1) + (" MB" if column == "memory" else " ms")
