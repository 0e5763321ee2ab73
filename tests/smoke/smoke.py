"""Checks the HTTP contract of running services with test data. Removes the data if the API allows it.

Usage: TOKEN=… smoke.py <service>=<url>…, such as bank=https://…. The token needs the operate scope of each service.
Without a token, requests have no Authorization header, as for a local stack.
"""

import http.client
import os
import sys

import bank
import cart
import ledger
import wellness
from contract import Contract


# The services, each with one of its routes.
SERVICES = {
    "bank": (bank.walk, "/bank/payments/due"),
    "cart": (cart.walk, "/cart/accounts/smoke/items"),
    "wellness": (wellness.walk, "/wellness/companies/smoke/activities"),
    "ledger": (ledger.walk, "/ledger/merchants/smoke"),
}


def gateway(stack, path):
    """Checks the responses of API Gateway itself."""
    for what, token in [("no token", "")] * bool(stack.token) + [("an invalid token", "e30.e30.e30")]:
        answer = stack.send("GET", path, token=token)
        right = (answer.status, answer.body.get("message")) == (401, "Unauthorized")
        stack.check(f"gateway: {what}: 401", right, f"{answer.status} {answer.body}")
    answer = stack.send("GET", "/smoke")
    right = (answer.status, answer.body.get("message")) == (404, "Not Found")
    stack.check("gateway: unknown route: 404", right, f"{answer.status} {answer.body}")


def check(service, url):
    """Checks one service. Returns the checks and the data that remains."""
    stack = Contract(url, os.environ.get("TOKEN", ""))
    walk, path = SERVICES[service]
    try:
        gateway(stack, path)
        walk(stack)
    except (KeyError, TypeError, IndexError, ValueError, OSError, http.client.HTTPException) as error:
        stack.check(f"{service}: complete", False, repr(error))
    try:
        stack.clean()
    except (ValueError, OSError, http.client.HTTPException) as error:
        stack.check(f"{service}: clean-up", False, repr(error))
    return stack


def main(*targets):
    stacks = [check(*target.split("=", 1)) for target in targets]
    for what in (what for stack in stacks for what in stack.stays):
        print(f"stays   {what}")
    failed = sum(stack.failed for stack in stacks)
    print(f"{sum(stack.held for stack in stacks)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if len(sys.argv) < 2 or any(target.partition("=")[0] not in SERVICES or not target.partition("=")[2] for target in sys.argv[1:]):
    sys.exit(__doc__)
main(*sys.argv[1:])
