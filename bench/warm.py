"""The duration of a warm invocation through the runtime, compared with the SDK call that it makes."""

import chart
import contestants
from measured import measured
from spread import brackets, ratios, spread, table, verdict

TARGET = 1.15
PICTURE = "A warm invocation, the SDK call alone, and a function that does nothing"
NAMES = {"ours": "function", "bare": "SDK call", "hello": "hello-world"}

TEXT = """\
## Warm

The duration of an invocation of the deployed binary, from the event at the Runtime API to the response. It is
compared with the same call by the SDK alone, in the process of the engine. It is also compared with a function
that does nothing (`hello-world`), which is the cost of the runtime. The three run one after the other in each
of {rounds:,} rounds, and in {rounds_away:,} rounds with a distant DynamoDB. The page of `list-account-payments`
has {page} payments.

### DynamoDB in this machine's memory

{here}
Every function makes two requests to the runtime per event, which are a large part of so short a call. The last
column subtracts them.

### DynamoDB further away

Each call takes {added:.1f} ms longer: the delay of {away_ms} ms, and the proxy that adds it. A page of {page} payments takes
longer than the other calls. Its items are converted from attributes to JSON ([our own code](#our-own-code)), and
its response is most of the data that passes the runtime.

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
    for place, title in (("here", "in this machine's memory"), ("away", "further away")):
        for name, of in result["places"][place].items():
            rows = [(NAMES[what], of[what]["median"], of[what]["q1"], of[what]["q3"]) for what in NAMES]
            panels.append(chart.bars(f"{name}, DynamoDB {title}", rows, "ms"))
    return chart.page(panels)
