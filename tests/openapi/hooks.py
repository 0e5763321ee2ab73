"""What schemathesis is not to send, and what it checks beside its own checks."""

import re
import uuid

import schemathesis

# What no schema says: that a cursor was handed out, a day exists, one time is not before another, a currency is one,
# a number has two decimals.
BEYOND_SCHEMA = re.compile(
    "/path/paymentId"
    "|/query/(cursor|date|from|to|since|until|year|idempotencyKey)"
    "|/body/(scheduledTime|startDate|endDate|from|to|currency|price|creditAccountId|replacementId|progress)"
    "|/body/(amount|legs|rewards|groups|references)(/.*)?"
)
# To a schema 42.0 is an integer, to the functions it is none.
WRITTEN_AS_FLOAT = "invalid type: floating point"


@schemathesis.hook
def filter_case(_context, case):
    """A header's bytes beyond ASCII mean what the gateway makes of them, which no schema says."""
    return all(str(value).isascii() for value in (case.headers or {}).values())


@schemathesis.hook
def before_call(_context, case, **_arguments):
    """A repeated key gets the first answer again: 201 for what another scenario deleted since. So each gets its own."""
    if case.meta is not None and case.meta.phase.name.value == "stateful" and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


@schemathesis.check
def valid_data_is_taken(_context, response, case):
    """A request that the document allows has no fault but one that no schema could name."""
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    faults = [fault for fault in response.json().get("errors", []) if not fault["detail"].startswith(WRITTEN_AS_FLOAT)]
    unforeseen = [fault for fault in faults if not BEYOND_SCHEMA.fullmatch(fault["pointer"])]
    assert not unforeseen, f"the document allows what is refused: {unforeseen}"
