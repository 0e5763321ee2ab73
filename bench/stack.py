"""Calls the API and the DynamoDB endpoint of a local stack."""

import json
import pathlib
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOCAL = ROOT / "target/debug/local"
SIGNED = {
    "x-amz-date": "20200101T000000Z",
    "authorization": "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request,"
    " SignedHeaders=host, Signature=none",
}


def call(url, method="GET", body=None, headers=()):
    headers = {"content-type": "application/json", **dict(headers)}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
        return answer.headers, json.loads(answer.read() or "null")


def loaded(url):
    """Returns whether the sample data is loaded. Until then, the health is 503."""
    try:
        return call(url + "/_local/health")[1]["status"] == "ok"
    except urllib.error.HTTPError:
        return False


def dynamo(url, operation, request):
    """Calls DynamoDB."""
    _, answer = call(url, "POST", request, {**SIGNED, "x-amz-target": f"DynamoDB_20120810.{operation}"})
    return answer


def consumed(headers):
    """Returns the consumed units of an API call.

    Each combination of DynamoDB call and table or index has a row."""
    return json.loads(headers["x-local-consumed"] or "[]")
