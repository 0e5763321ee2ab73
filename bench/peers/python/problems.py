"""crates/function/src/error.rs in Python: maps each error to a problem of RFC 9457."""

import json
import sys

from botocore.exceptions import ClientError, HTTPClientError

AGAIN = "Retry the same request after a short wait."
THROTTLED = ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")


class Refusal(Exception):
    def __init__(self, status, kind, title, detail, errors=None):
        super().__init__(kind)
        self.problem = {"type": f"/problems/{kind}", "status": status, "title": title, "detail": detail}
        self.errors = {"errors": errors} if errors else {}


def invalid(faults):
    names = ", ".join(fault["pointer"] for fault in faults)
    return Refusal(400, "invalid-request", "Invalid request", f"See errors: {names}.", faults)


def refusal_of(error):
    if isinstance(error, Refusal):
        return error
    answer = error.response if isinstance(error, ClientError) else {}
    if answer.get("Error", {}).get("Code") in THROTTLED:
        return Refusal(429, "throttled", "Too many requests", AGAIN)
    if isinstance(error, HTTPClientError) or answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        return Refusal(503, "unavailable", "Temporarily unavailable", AGAIN)
    print(json.dumps({"level": "ERROR", "error": repr(error)}), file=sys.stderr)
    return Refusal(500, "internal", "Internal error", "The error is logged.")


def problem(error, instance):
    refusal = refusal_of(error)
    status = refusal.problem["status"]
    again = {"retry-after": "1"} if status in (429, 503) else {}
    return {
        "statusCode": status,
        "headers": {"content-type": "application/problem+json", **again},
        "body": json.dumps({**refusal.problem, "instance": instance, **refusal.errors}),
        "isBase64Encoded": False,
    }
