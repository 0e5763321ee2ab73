"""The HTTP contract against a stack that runs, with data of its own, which it takes away again as far as that can be.

Usage: TOKEN=… smoke.py <url>. The token needs bank:operate, cart:operate, wellness:operate and ledger:operate.
Without one no Authorization header is sent, as to a local stack.
"""

import http.client
import os
import sys

import bank
import cart
import ledger
import wellness
from contract import Contract


def gateway(stack):
    """What API Gateway answers by itself."""
    for what, token in [("no token", "")] * bool(stack.token) + [("an invalid token", "e30.e30.e30")]:
        answer = stack.send("GET", "/bank/payments/due", token=token)
        right = (answer.status, answer.body) == (401, {"message": "Unauthorized"})
        stack.check(f"gateway: {what}: 401", right, f"{answer.status} {answer.body}")
    answer = stack.send("GET", "/smoke")
    right = (answer.status, answer.body) == (404, {"message": "Not Found"})
    stack.check("gateway: no such route: 404", right, f"{answer.status} {answer.body}")


def main(url):
    stack = Contract(url, os.environ.get("TOKEN", ""))
    for walk in (gateway, bank.walk, cart.walk, wellness.walk, ledger.walk):
        try:
            walk(stack)
        except (KeyError, TypeError, IndexError, ValueError, OSError, http.client.HTTPException) as error:
            stack.check(f"{walk.__module__}: to its end", False, repr(error))
        try:
            stack.clean()
        except (ValueError, OSError, http.client.HTTPException) as error:
            stack.check(f"{walk.__module__}: clean-up", False, repr(error))
    for what in stack.stays:
        print(f"stays   {what}")
    print(f"{stack.held} passed, {stack.failed} failed")
    sys.exit(1 if stack.failed else 0)


if len(sys.argv) != 2 or not sys.argv[1]:
    sys.exit(__doc__)
main(sys.argv[1])
