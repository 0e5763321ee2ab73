"""How repeated measurements are told: the median, and the quartiles around it."""

import statistics


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"q1": round(low, 3), "median": round(middle, 3), "q3": round(high, 3), "n": len(values)}
