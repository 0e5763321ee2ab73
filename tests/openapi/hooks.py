"""Limits the requests of schemathesis, and adds a check."""

import re
import urllib.parse
import uuid

import schemathesis

# Fields with rules that a schema cannot express: a cursor must come from a page, a day must exist,
# a day to close must be over, the time of a balance must not be in the future, a hold must expire
# within 366 days, a job id must have the form of its kind, a range must not be reversed, a currency
# must exist, and amounts, values and percentages have two decimals. Only operators must name the
# company of a user, a list takes only one of a plan, a year and a period, only a request that
# closes an account may have transferTo, a reversal in parts needs an Idempotency-Key, and a cart
# cannot be merged into itself. Names have only visible characters. The transactions of a batch have
# the rules of a single one. A list by reference has no other filter, attributes in a query are
# JSON, filters have at most 2,048 bytes, and the type and subtype of the activity, and the day of a
# standing order follows from its schedule.
BEYOND_SCHEMA = re.compile(
    "/path/(paymentId|jobId|date)"
    "|/query/(companyId|cursor|at|date|planId|from|to|since|until|year|idempotencyKey|reference|attributes)"
    "|/body/(value|percent|scheduledTime|startDate|endDate|expiresAt|from|to|currency|price|creditAccountId|replacementId|progress|transferTo|fromAccountId|expectedTotal|expectedCurrency|name|day|lastDate)"
    "|/body/filters(/(type|subType))?"
    "|/body/(amount|legs|rewards|groups|references)(/.*)?"
    r"|/body/transactions/\d+/(idempotencyKey|currency|creditAccountId|(amount|legs)(/.*)?)"
    "|/header/idempotency-key"
)
# JSON Schema accepts any number in free JSON. The functions reject numbers that DynamoDB cannot
# store. Whether a capacity is valid depends on the stored activity.
DETAILS = ("must have at most 38 significant digits", "requires an enrolment that is open or closed")


@schemathesis.hook
def filter_case(_context, case):
    """Skips headers with non-ASCII bytes, because API Gateway defines how they are decoded."""
    return all(str(value).isascii() for value in (case.headers or {}).values())


@schemathesis.hook
def before_call(_context, case, **_arguments):
    """Gives each request its own idempotency key. A repeated key would return the first response again."""
    if case.meta is not None and case.meta.phase.name.value == "stateful" and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


def has_valid_path(case):
    """Returns whether the path matches the document. Schemathesis decodes a generated %0F before it sends it."""
    sent = {name: urllib.parse.unquote(str(value)) for name, value in (case.path_parameters or {}).items()}
    return all(one.is_valid(sent[one.name]) for one in case.operation.path_parameters)


@schemathesis.check
def valid_data_is_accepted(_context, response, case):
    """Checks that a request that the document allows is rejected only because of rules that a schema cannot express."""
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if not has_valid_path(case):
        return
    faults = [fault for fault in response.json().get("errors", []) if not fault["detail"].startswith(DETAILS)]
    unforeseen = [fault for fault in faults if not BEYOND_SCHEMA.fullmatch(fault["pointer"])]
    assert not unforeseen, f"the document allows values that the function rejects: {unforeseen}"
