"""Summarises repeated measurements as a median and quartiles."""

import statistics


def brackets(spread, digits):
    """Returns the median, and the quartiles in brackets."""
    return f"{spread['median']:,.{digits}f} ({spread['q1']:,.{digits}f}–{spread['q3']:,.{digits}f})"


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"q1": round(low, 3), "median": round(middle, 3), "q3": round(high, 3), "n": len(values)}


def ratios(ours, others):
    """Returns the median and quartiles of the ratios per round."""
    return spread([one / other for one, other in zip(ours, others, strict=True)])


def verdict(of, target):
    return "met" if of["median"] <= target else "**missed**"


def table(head, rows, of_numbers=True):
    """Returns a Markdown table. All columns except the first are numbers, or texts."""
    lines = [head, ["---", *("---:" if of_numbers else "---" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
