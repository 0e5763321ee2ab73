"""Measures warm invocations.

Compares them with the SDK call alone, and with a function that does nothing."""

import chart
import contestants
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.15
PICTURE = "Milliseconds of a warm invocation, of the SDK call alone, and of a function that does nothing"
NAMES = {"ours": "function", "bare": "SDK call", "hello": "hello-world"}

TEXT = """\
## Warm

This section measures a warm invocation of a deployed binary. The time starts when the Runtime API delivers the
event, and ends with the response. There are two comparisons:

- **SDK call**: the DynamoDB call of the function, made by the SDK alone.
- **hello-world**: a function that does nothing. It shows the cost of the runtime.

Each round measures the function, the SDK call and hello-world, one after the other. There are
{rounds:,} rounds with DynamoDB in memory, and {rounds_away:,} with a distant DynamoDB. The page of
`list-account-payments` has {page} payments.

### DynamoDB in this machine's memory

{here}
For each event, a function makes two requests to the Runtime API. These requests take a large part
of such a short invocation. The last column therefore subtracts the time of hello-world.

### DynamoDB further away

A proxy delays each DynamoDB call by {away_ms} ms. With the work of the proxy itself, a call takes
{added:.1f} ms longer. `list-account-payments` takes longer than the other functions, because it
converts {page} items from attributes to JSON ([our own code](#our-own-code)), and because its
response is large.

{away}"""


def measure():
    contestants.build()
    result = measured("warm")
    for functions in result["places"].values():
        for name, times in functions.items():
            functions[name] = {
                **{what: spread(values) for what, values in times.items()},
                "ratio": ratios(times["ours"], times["bare"]),
                "less_runtime": ratios(
                    [ours - hello for ours, hello in zip(times["ours"], times["hello"], strict=True)], times["bare"]
                ),
            }
    return result


def section(result):
    places = {place: tables(functions) for place, functions in result["places"].items()}
    here, away = (result["places"][place]["get-payment"]["bare"] for place in ("here", "away"))
    return TEXT.format(**{**result, **places, "added": away["median"] - here["median"], "rounds": here["n"], "rounds_away": away["n"]})


def tables(functions):
    head = ["", *NAMES.values(), "function ÷ SDK call", f"≤ {TARGET}", "without hello-world"]
    rows = [
        [f"`{name}`", *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["ratio"], 2), verdict(of["ratio"], TARGET),
         brackets(of["less_runtime"], 2)]
        for name, of in functions.items()
    ]
    return table(head, rows)


def picture(result):
    panels = []
    for place, title in (("here", "in this machine's memory"), ("away", f"{result['away_ms']} ms further away")):
        functions = result["places"][place]
        longest = max(of[what]["q3"] for of in functions.values() for what in NAMES)
        for name, of in functions.items():
            rows = [(NAMES[what], of[what]["median"], of[what]["q1"], of[what]["q3"]) for what in NAMES]
            panels.append(chart.bars(f"{name}, DynamoDB {title}", rows, "time, ms", "measurement", to=longest))
    legend = [("ours", "the deployed function (median)"), ("others", "for comparison (median)"), chart.RANGE]
    notes = [
        ("function", "a warm invocation, from the delivery of the event to the response."),
        ("SDK call", "the DynamoDB call of the function, made by the SDK alone."),
        ("hello-world", "a warm invocation of a function that does nothing. It is the cost of the runtime."),
    ]
    return chart.page(panels, legend, notes)
