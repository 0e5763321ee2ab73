"""crates/bank/src/patterns/schedule_payment.rs in Python: the path that is measured.

Makes the same DynamoDB requests and returns the same response. Any other request fails."""

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

PAYMENTS, WRITE_SHARDS = os.environ["PAYMENTS_TABLE"], int(os.environ["WRITE_SHARDS"])
RFC3339 = "%Y-%m-%dT%H:%M:%SZ"

# The init phase loads the module, so each process creates one client.
client = boto3.client("dynamodb", config=Config(
    connect_timeout=1, read_timeout=2, tcp_keepalive=True,
    retries={"mode": "standard", "total_max_attempts": 5},
))
cold = True


def warm_up():
    """Opens the connection before the first event. No item has this key."""
    try:
        client.get_item(TableName=PAYMENTS, Key={"PK": {"S": "#"}, "SK": {"S": "#"}}, ReturnConsumedCapacity="INDEXES")
    except Exception:  # The first event fails in the same way, and reports the reason.
        pass


def handler(event, context):
    began = time.perf_counter()
    answer = schedule(event)
    measure(context.aws_request_id, 1000 * (time.perf_counter() - began))
    return answer


def schedule(event):
    account, key, due, data = read(event)
    at = event["requestContext"]["timeEpoch"]
    now = datetime.fromtimestamp(at // 1000, timezone.utc).strftime(RFC3339)
    if due[:10] < now[:10]:
        raise ValueError("the day is over")
    payment_id = f"{re.sub('[-:]', '', due)}-{uuid7(at)}"
    author = {"sub": {"S": claims(event)["sub"]}, "scope": {"S": "bank:write"}}
    common = {"CreatedAt": {"S": now}, "ChangedBy": {"M": author}}
    request = {"Request": {"S": fingerprint(due, data, "")}, "PaymentId": {"S": payment_id}}
    put("IdempotencyRecord", account, f"IDEMPOTENCY#{key}", {**common, **request})
    put("Payment", account, f"{due}#{payment_id}", {
        **common,
        "GSI1PK": {"S": str(random.randrange(WRITE_SHARDS))},
        "GSI1SK": {"S": f"SCHEDULED#{due}#{payment_id}"},
        "Version": {"N": "1"},
        "Data": {"S": data},
    })
    known = {"paymentId": payment_id, "accountId": account, "scheduledTime": due, "status": "SCHEDULED"}
    location = f"/bank/accounts/{quote(account, safe='-._~')}/payments/{payment_id}"
    return {
        "statusCode": 201,
        "headers": {"content-type": "application/json", "location": location},
        # The data is returned unchanged.
        "body": f'{json.dumps(known)[:-1]}, "data": {data}, "createdAt": "{now}"}}',
        "isBase64Encoded": False,
    }


def read(event):
    body = json.loads(event["body"])
    account, key, due = event["pathParameters"]["accountId"], event["headers"]["idempotency-key"], body["scheduledTime"]
    datetime.strptime(due, RFC3339)
    is_id = all(1 <= len(text) <= 128 and not re.search(r"[#\x00-\x1f\x7f-\x9f]", text) for text in (account, key))
    if not is_id or set(body) != {"scheduledTime", "data"}:
        raise ValueError("invalid request")

    def listed(claim):
        return re.sub(r"^\[(.*)\]$", r"\1", claims(event)[claim]).split()

    if account not in listed("account_ids") and "bank:operate" not in listed("scope"):
        raise PermissionError("not allowed")
    return account, key, due, json.dumps(body["data"], separators=(",", ":"), ensure_ascii=False)


def claims(event):
    return event["requestContext"]["authorizer"]["jwt"]["claims"]


def uuid7(milliseconds):
    return f"{milliseconds:012x}7{random.getrandbits(12):03x}{8 | random.getrandbits(2):x}{random.getrandbits(60):015x}"


def fingerprint(*parts):
    digest = hashlib.sha256()
    for part in map(str.encode, parts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return base64.b64encode(digest.digest()).decode().rstrip("=")


def put(kind, account, sort, attributes):
    client.put_item(
        TableName=PAYMENTS, Item={"PK": {"S": account}, "SK": {"S": sort}, **attributes, "Type": {"S": kind}},
        ConditionExpression="attribute_not_exists(PK)", ReturnConsumedCapacity="INDEXES",
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def measure(request_id, latency):
    global cold
    print(json.dumps({"level": "INFO", "request_id": request_id, "status": 201, "cold_start": cold}))
    metrics = [{"Name": name} for name in ("LatencyMs", "ColdStarts", "Defects")]
    print(json.dumps({
        "_aws": {
            "Timestamp": time.time_ns() // 1_000_000,
            "CloudWatchMetrics": [{"Namespace": "Functions", "Dimensions": [["Function"]], "Metrics": metrics}],
        },
        "Function": os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        "LatencyMs": latency, "ColdStarts": int(cold), "Defects": 0,
    }))
    cold = False


warm_up()
