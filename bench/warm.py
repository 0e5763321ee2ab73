"""What an invocation of a warm function takes through the runtime, beside the bare call that it makes."""

import chart
import contestants
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.15
PICTURE = "A warm invocation, beside the bare call and a function that does nothing"
NAMES = {"ours": "the function", "bare": "the bare call", "hello": "hello-world"}

TEXT = """\
## Warm

An invocation of the deployed binary, from the moment when the Runtime API has the event until it has the answer, beside
the bare call of the SDK that does the same, from the engine's own process, and beside a function that does
nothing (`hello-world`): what an answer costs through the runtime at all. One after the other, round by round: {rounds:,} rounds, and {rounds_away:,} further away. The page of
`list-account-payments` has {page} payments.

### DynamoDB in this machine's memory

{here}
No function escapes the runtime's two requests an event, which are a large part of so short a call; so the last column
takes them off.

### DynamoDB further away

Each call takes {added:.1f} ms longer: {away_ms} ms that are waited for, and the way that does it. A page of {page} payments takes more than the others: they are read from
attributes and written as JSON ([our own code](#our-own-code)), and the answer is the larger part of what goes through the runtime.

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
    head = ["", *NAMES.values(), "function ÷ bare call", f"≤ {TARGET}", "less hello-world"]
    rows = [
        [f"`{name}`", *(f"{brackets(of[what], 2)} ms" for what in NAMES), brackets(of["ratio"], 2), verdict(of["ratio"], TARGET),
         brackets(of["less_runtime"], 2)]
        for name, of in functions.items()
    ]
    return table(head, rows)


def picture(result):
    panels = []
    for place, title in (("here", "in this machine's memory"), ("away", "further away")):
        for name, of in result["places"][place].items():
            rows = [(NAMES[what], of[what]["median"], of[what]["q1"], of[what]["q3"]) for what in NAMES]
            panels.append(chart.bars(f"{name}, DynamoDB {title}", rows, "ms"))
    return chart.page(panels)
