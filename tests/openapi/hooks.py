"""Limits the requests of schemathesis, and adds a check."""

import re
import uuid

import schemathesis

# Fields with rules that a schema cannot express: a cursor must come from a page, a day must exist,
# a day to close must be over, the time of a balance must not be in the future, a job id must have
# the form of its kind, a range must not be reversed, a currency must exist, and an amount has two
# decimals. Only operators must name the company of a user, and only a request that closes an account
# may have transferTo.
BEYOND_SCHEMA = re.compile(
    "/path/(paymentId|jobId|date)"
    "|/query/(companyId|cursor|at|date|from|to|since|until|year|idempotencyKey)"
    "|/body/(scheduledTime|startDate|endDate|from|to|currency|price|creditAccountId|replacementId|progress|transferTo)"
    "|/body/(amount|legs|rewards|groups|references)(/.*)?"
)
# JSON Schema accepts 42.0 as an integer, but the functions reject it.
WRITTEN_AS_FLOAT = "must be a whole number"


@schemathesis.hook
def filter_case(_context, case):
    """Skips headers with non-ASCII bytes, because API Gateway defines how they are decoded."""
    return all(str(value).isascii() for value in (case.headers or {}).values())


@schemathesis.hook
def before_call(_context, case, **_arguments):
    """Gives each request its own idempotency key. A repeated key would return the first response again."""
    if case.meta is not None and case.meta.phase.name.value == "stateful" and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


@schemathesis.check
def valid_data_is_accepted(_context, response, case):
    """Checks that a request that the document allows is rejected only because of rules that a schema cannot express."""
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    faults = [fault for fault in response.json().get("errors", []) if not fault["detail"].startswith(WRITTEN_AS_FLOAT)]
    unforeseen = [fault for fault in faults if not BEYOND_SCHEMA.fullmatch(fault["pointer"])]
    assert not unforeseen, f"the document allows values that the function rejects: {unforeseen}"
