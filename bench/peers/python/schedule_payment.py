"""crates/bank/src/patterns/schedule_payment.rs in Python.

Makes the same DynamoDB requests and returns the same responses."""

import base64
import hashlib
import json
import os
import random
import re
import time
from datetime import datetime, timezone
from urllib.parse import quote

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from problems import Refusal, invalid, problem

PAYMENTS, TRANSACTIONS = os.environ["PAYMENTS_TABLE"], os.environ["TRANSACTIONS_TABLE"]
WRITE_SHARDS = int(os.environ["WRITE_SHARDS"])
MOST_BYTES = 8 * 1024
LATER_BYTES = len("TransactionId") + 4 * 128 + len("MovedBy") + 32
MOST_BODY = 64 * 1024
RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}

# The init phase loads the module, so each process creates one client.
client = boto3.client("dynamodb", config=Config(
    connect_timeout=1, read_timeout=2, tcp_keepalive=True,
    retries={"mode": "standard", "total_max_attempts": 5},
))
cold = True


def warm_up():
    """Opens the connection before the first event. No item has this key."""
    try:
        get(PAYMENTS, {"PK": "#", "SK": "#"}, consistent=False)
    except Exception:  # The first event fails in the same way, and reports the reason.
        pass


def handler(event, context):
    began = time.perf_counter()
    try:
        answer = schedule(event)
    except Exception as error:
        answer = problem(error, context.aws_request_id)
    measure(answer["statusCode"], context.aws_request_id, 1000 * (time.perf_counter() - began))
    return answer


def schedule(event):
    given = read(event)
    must_own(event, given["account"])
    at = event["requestContext"].get("timeEpoch") or time.time_ns() // 1_000_000
    now = second(datetime.fromtimestamp(at // 1000, timezone.utc))
    payment_id = f"{re.sub('[-:]', '', given['time'])}-{uuid7(at)}"
    payment = scheduled(given, payment_id, now)
    must_fit(payment, given)
    if given["key"] is None:
        must_not_be_past(given, now)
        put_new(payment)
    else:
        payment = schedule_once(given, payment, payment_id, now)
    return created(payment)


def read(event):
    faults = []

    def fault(pointer, detail):
        faults.append({"pointer": pointer, "detail": detail})

    def identifier(pointer, text):
        if wrong := identifier_fault(text):
            fault(pointer, wrong)

    body = read_body(event, fault)
    key = event.get("headers", {}).get("idempotency-key")
    if key is not None:
        identifier("/header/idempotency-key", key)
    account = (event.get("pathParameters") or {}).get("accountId")
    if account is None:
        fault("/path/accountId", "is missing")
    else:
        identifier("/path/accountId", account)
    due = None
    if body is not None:
        if "scheduledTime" in body:
            due = parse_second(body["scheduledTime"], lambda wrong: fault("/body/scheduledTime", wrong))
        else:
            fault("/body/scheduledTime", "is missing")
        if "data" not in body:
            fault("/body/data", "is missing")
    for name in event.get("queryStringParameters") or {}:
        fault(f"/query/{name}", "is unknown")
    for name in body or {}:
        if name not in ("scheduledTime", "data"):
            fault(f"/body/{name}", "is unknown")
    if faults:
        raise invalid(faults)
    data = json.dumps(body["data"], separators=(",", ":"), ensure_ascii=False)
    return {"account": account, "key": key, "time": due, "data": data}


def read_body(event, fault):
    text = (event.get("body") or "").encode()
    if event.get("isBase64Encoded"):
        text = base64.b64decode(text)
    if not text:
        return fault("/body", "is missing: send a JSON object")
    if len(text) > MOST_BODY:
        raise Refusal(413, "too-large", "Too large", f"The body must have at most {MOST_BODY} bytes.")
    kind = event.get("headers", {}).get("content-type", "").split(";")[0].strip().lower()
    if not re.fullmatch(r"application/(.+\+)?json", kind):
        raise Refusal(415, "unsupported-media-type", "Unsupported media type", "Send the body as application/json.")
    try:
        body = json.loads(text)
    except ValueError as error:
        return fault("/body", str(error))
    return body if isinstance(body, dict) else fault("/body", "expected a JSON object")


def identifier_fault(text):
    if not text:
        return "must not be empty"
    if len(text) > 128:
        return "must have at most 128 characters"
    if "#" in text:
        return "must not contain `#`"
    if re.search(r"[\x00-\x1f\x7f-\x9f]", text):
        return "must not contain control characters"
    return None


def parse_second(text, wrong):
    """Returns the time in UTC, truncated to a second."""
    if not isinstance(text, str) or not RFC3339.fullmatch(text):
        return wrong("must be an RFC 3339 time such as 2026-12-01T09:30:00Z")
    try:
        return second(datetime.fromisoformat(text.upper()).astimezone(timezone.utc))
    except (ValueError, OverflowError):
        return wrong("must be an existing time between the years 0000 and 9999")


def second(instant):
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def uuid7(milliseconds):
    return f"{milliseconds:012x}7{random.getrandbits(12):03x}{8 | random.getrandbits(2):x}{random.getrandbits(60):015x}"


def must_own(event, account):
    claims = event["requestContext"].get("authorizer", {}).get("jwt", {}).get("claims", {})

    def listed(claim):
        return re.sub(r"^\[(.*)\]$", r"\1", claims.get(claim, "").strip()).split()

    if account not in listed("account_ids") and "bank:operate" not in listed("scope"):
        raise Refusal(403, "forbidden", "Not allowed", "The caller has no permission for this request.")


def must_not_be_past(given, now):
    if given["time"][:10] < now[:10]:
        raise invalid([{"pointer": "/body/scheduledTime", "detail": f"must not be on a day before {now[:10]}"}])


def scheduled(given, payment_id, created_at):
    return {
        "PK": given["account"],
        "SK": f"{given['time']}#{payment_id}",
        "GSI1PK": str(random.randrange(WRITE_SHARDS)),
        "GSI1SK": f"SCHEDULED#{given['time']}#{payment_id}",
        "CreatedAt": created_at,
        "Data": given["data"],
        "Type": "Payment",
    }


def must_fit(payment, given):
    over = sum(len(name) + len(text.encode()) for name, text in payment.items()) + LATER_BYTES - MOST_BYTES
    if over > 0:
        most = max(0, len(given["data"].encode()) - over)
        detail = f"A payment with its keys must not exceed 8 KB. Here, data may have up to {most} bytes."
        raise Refusal(413, "too-large", "Too large", detail)


def schedule_once(given, payment, payment_id, now):
    """Writes the idempotency record before the payment.

    If the function crashes between the two writes, a retry writes the payment."""
    record = {
        "PK": given["account"],
        "SK": f"IDEMPOTENCY#{given['key']}",
        "Request": fingerprint(given["time"], given["data"]),
        "PaymentId": payment_id,
        "CreatedAt": now,
        "Type": "IdempotencyRecord",
    }
    first = first_under(record, given, now)
    if not first or first["PaymentId"] == payment_id:
        put_new(payment)
        return payment
    if first["Request"] != record["Request"]:
        raise Refusal(422, "idempotency-key-reused", "Idempotency key already used",
                      "The Idempotency-Key was already used for a different request.")
    again = {**scheduled(given, first["PaymentId"], first["CreatedAt"]), "GSI1PK": payment["GSI1PK"]}
    finish(again)
    return again


def fingerprint(*parts):
    digest = hashlib.sha256()
    for part in map(str.encode, parts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return base64.b64encode(digest.digest()).decode().rstrip("=")


def first_under(record, given, now):
    try:
        must_not_be_past(given, now)
    except Refusal:
        if first := get(PAYMENTS, record, consistent=True):
            return first
        raise
    return put_new(record)


def finish(payment):
    if get(PAYMENTS, payment, consistent=True) or get(TRANSACTIONS, payment, consistent=True):
        return
    changes = [
        {"Put": {"TableName": PAYMENTS, "Item": attributes(payment), **ABSENT}},
        {"ConditionCheck": {"TableName": TRANSACTIONS, "Key": key_of(payment), **ABSENT}},
    ]
    try:
        client.transact_write_items(TransactItems=changes, ReturnConsumedCapacity="INDEXES")
    except client.exceptions.TransactionCanceledException as error:
        reasons = error.response.get("CancellationReasons", [])
        if not any(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons):
            raise


def put_new(item):
    """Puts the item if no item has its key. Otherwise, returns the existing item."""
    try:
        client.put_item(
            TableName=PAYMENTS, Item=attributes(item), **ABSENT,
            ReturnConsumedCapacity="INDEXES", ReturnValues="ALL_OLD", ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return plain(error.response.get("Item"))
    return None


def get(table, key, consistent):
    answer = client.get_item(
        TableName=table, Key=key_of(key), ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES"
    )
    return plain(answer.get("Item"))


def attributes(item):
    return {name: {"S": text} for name, text in item.items()}


def plain(item):
    return item and {name: value["S"] for name, value in item.items()}


def key_of(item):
    return attributes({"PK": item["PK"], "SK": item["SK"]})


def created(payment):
    due, payment_id = payment["SK"].split("#")
    known = {"paymentId": payment_id, "accountId": payment["PK"], "scheduledTime": due, "status": "SCHEDULED"}
    start = json.dumps(known, ensure_ascii=False)
    # The data is returned unchanged.
    body = f'{start[:-1]}, "data": {payment["Data"]}, "createdAt": "{payment["CreatedAt"]}"}}'
    location = f"/bank/accounts/{quote(payment['PK'], safe='-._~')}/payments/{payment_id}"
    headers = {"content-type": "application/json", "location": location}
    return {"statusCode": 201, "headers": headers, "body": body, "isBase64Encoded": False}


def measure(status, request_id, latency):
    global cold
    level = "ERROR" if status >= 500 else "INFO"
    print(json.dumps({"level": level, "request_id": request_id, "status": status, "cold_start": cold}))
    metrics = [{"Name": name} for name in ("LatencyMs", "ColdStarts", "Defects")]
    print(json.dumps({
        "_aws": {
            "Timestamp": time.time_ns() // 1_000_000,
            "CloudWatchMetrics": [{"Namespace": "Functions", "Dimensions": [["Function"]], "Metrics": metrics}],
        },
        "Function": os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        "LatencyMs": latency, "ColdStarts": int(cold), "Defects": int(status == 500),
    }))
    cold = False


warm_up()
