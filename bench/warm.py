"""Measures warm invocations.

Compares them with the SDK call alone, and with a function that does nothing."""

import contestants
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.10
NAMES = {"ours": "function", "bare": "SDK call", "hello": "hello-world"}

TEXT = """\
## Warm

This section measures a warm invocation of a deployed binary with a distant DynamoDB: a proxy delays each call by
{away_ms} ms, and its own work takes about two more. The time starts when the Runtime API delivers the event, and ends
with the response. There are two comparisons:

- **SDK call**: the DynamoDB call of the function, made by the SDK alone.
- **hello-world**: a function that does nothing. It shows the cost of the two requests to the Runtime API that each
  event needs. The last column subtracts it.

Each of {rounds:,} rounds measures the function, the SDK call and hello-world, one after the other. The page of
`list-account-payments` has {page} payments. The function converts them from attributes to JSON, and its response is
large ([our own code](#our-own-code)), so its ratio is the highest.

{functions}"""


def measure():
    contestants.build()
    result = measured("warm")
    for name, times in result["functions"].items():
        result["functions"][name] = {
            **{what: spread(values) for what, values in times.items()},
            "ratio": ratios(times["ours"], times["bare"]),
            "less_runtime": ratios([ours - hello for ours, hello in zip(times["ours"], times["hello"], strict=True)], times["bare"]),
        }
    return result


def section(result):
    rounds = result["functions"]["get-payment"]["bare"]["n"]
    return TEXT.format(**{**result, "functions": compared(result["functions"]), "rounds": rounds})


def compared(functions):
    head = ["", *NAMES.values(), "function ÷ SDK call", f"≤ {TARGET:.2f}", "without hello-world"]
    rows = [
        [f"`{name}`", *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["ratio"], 2), verdict(of["ratio"], TARGET),
         brackets(of["less_runtime"], 2)]
        for name, of in functions.items()
    ]
    return table(head, rows)
