"""What lessons use: tables of their own in the DynamoDB of a local stack, the API, and the units of both."""

import collections
import json
import pathlib
import sys
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "bench")]
from local_stack import local_stack, wait_for  # noqa: E402, F401

SIGNED = {
    "content-type": "application/json",
    "x-amz-date": "20200101T000000Z",
    "authorization": "AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request,"
    " SignedHeaders=host, Signature=none",
}


class Units(collections.Counter):
    """The consumed units: read and write of each table and index."""

    def add(self, place, read, write):
        self[place, "R"] += read
        self[place, "W"] += write

    def total(self, kind):
        return sum(units for (_, of), units in self.items() if of == kind)

    def text(self):
        """The sums, such as `1.5 R, 4 W`. A lesson compares them."""
        parts = [f"{self.total(kind):g} {kind}" for kind in ("R", "W") if self.total(kind)]
        return ", ".join(parts) or "nothing"


class Table:
    """A table with the keys PK and SK, for the design that a lesson warns of.

    `indexes` has the projection of each index, whose keys are <index>PK and <index>SK."""

    def __init__(self, url, name, **indexes):
        self.url, self.name, self.units = url, f"lesson-{name}", Units()
        keys = ["PK", "SK"] + [f"{index}{key}" for index in indexes for key in ("PK", "SK")]
        request = {
            "TableName": self.name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": schema("PK", "SK"),
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
        }
        if indexes:
            request["GlobalSecondaryIndexes"] = [
                {"IndexName": index, "KeySchema": schema(f"{index}PK", f"{index}SK"),
                 "Projection": projection if isinstance(projection, dict) else {"ProjectionType": projection}}
                for index, projection in indexes.items()
            ]
        self.call("CreateTable", request)

    def call(self, action, request):
        """Calls DynamoDB and counts the units. A failed condition returns None."""
        if action != "CreateTable":
            request = {"ReturnConsumedCapacity": "INDEXES", **request}
        headers = {**SIGNED, "x-amz-target": f"DynamoDB_20120810.{action}"}
        try:
            answer, _ = send(self.url, "POST", request, headers)
        except urllib.error.HTTPError as error:
            if b"ConditionalCheckFailed" in error.read():
                return None
            raise
        capacity = answer.get("ConsumedCapacity", [])
        is_read = action in ("GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems")
        for one in capacity if isinstance(capacity, list) else [capacity]:
            parts = [("", one.get("Table", {}))] + list(one.get("GlobalSecondaryIndexes", {}).items())
            for index, part in parts:
                units = part.get("CapacityUnits", 0)
                self.units.add(index, units if is_read else 0, 0 if is_read else units)
        return answer

    def put(self, condition=None, **attributes):
        request = {"TableName": self.name, "Item": item(attributes)}
        return self.call("PutItem", {**request, **({"ConditionExpression": condition} if condition else {})})

    def get(self, pk, sk):
        return self.call("GetItem", {"TableName": self.name, "Key": item({"PK": pk, "SK": sk})}).get("Item")

    def delete(self, pk, sk):
        return self.call("DeleteItem", {"TableName": self.name, "Key": item({"PK": pk, "SK": sk})})

    def update(self, pk, sk, **attributes):
        """Sets attributes of an item."""
        names = {f"#{at}": name for at, name in enumerate(attributes)}
        values = {f":{at}": value for at, value in enumerate(item(attributes).values())}
        sets = ", ".join(f"#{at} = :{at}" for at in range(len(attributes)))
        return self.call("UpdateItem", {
            "TableName": self.name, "Key": item({"PK": pk, "SK": sk}), "UpdateExpression": f"SET {sets}",
            "ExpressionAttributeNames": names, "ExpressionAttributeValues": values,
        })

    def query(self, pk, begins="", index="", keep=None):
        """Returns the items of an item collection. `keep` is an attribute and the value that a filter asks for."""
        values = {":pk": pk, **({":begins": begins} if begins else {}), **({":keep": keep[1]} if keep else {})}
        condition = f"{index}PK = :pk" + (f" AND begins_with({index}SK, :begins)" if begins else "")
        request = {"TableName": self.name, "KeyConditionExpression": condition, "ExpressionAttributeValues": item(values)}
        if keep:
            request.update(FilterExpression="#keep = :keep", ExpressionAttributeNames={"#keep": keep[0]})
        if index:
            request["IndexName"] = index
        return self.pages("Query", request)

    def pages(self, action, request):
        """Returns the items of all pages."""
        items = []
        while True:
            page = self.call(action, request)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class Api:
    """The API of the local stack. `units` has what its requests consumed."""

    def __init__(self, url):
        self.url, self.units = url, Units()

    def __call__(self, method, path, body=None, **headers):
        """Sends a request and counts its units. Returns the response body."""
        headers = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer, headers = send(self.url + path, method, body, headers)
        for row in json.loads(headers["x-local-consumed"] or "[]"):
            self.units.add(row["table"] + (f"/{row['index']}" if row["index"] else ""), row["read"], row["write"])
        return answer


def schema(partition, sort):
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def item(attributes):
    """Attributes as DynamoDB writes them: texts and numbers."""
    return {name: {"S": value} if isinstance(value, str) else {"N": str(value)} for name, value in attributes.items()}


def send(url, method, body, headers):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
        return json.loads(answer.read() or "null"), answer.headers


def during(units, work):
    """Returns the result of `work` and the units that it consumes."""
    before = Units(units)
    result = work()
    spent = Units(units)
    spent.subtract(before)
    return result, spent


def transact(table, *actions):
    """Writes all actions or none. An action is a pair, such as `"Put", {"Item": …}`."""
    items = [{kind: {"TableName": table.name, **action}} for kind, action in actions]
    return table.call("TransactWriteItems", {"TransactItems": items})


def job(api, method, path, body, function, table):
    """Starts a job with a request, and waits for its end. Returns what both consume of the table.

    The console of the local stack records the calls of `function`, which runs the job."""
    def traces():
        return send(f"{api.url}/_local/api/traces?function={function}", "GET", None, {})[0]

    def ends(change):
        return change["key"]["SK"]["S"] == f"Job#{started['jobId']}" and change["new"]["State"]["S"] == "done"

    def calls():
        new = [trace["number"] for trace in traces() if trace["number"] not in before]
        found = [send(f"{api.url}/_local/api/traces/{number}", "GET", None, {})[0]["calls"] for number in new]
        found = sum(found, [])
        return found if any(ends(change) for call in found for change in call["changes"]) else []

    before = {trace["number"] for trace in traces()}
    started, spent = during(api.units, lambda: api(method, path, body))
    units = Units({(place, kind): spent[place, kind] for place, kind in spent if place.split("/")[0] == table})
    for call in wait_for("the end of the job", calls):
        is_read = call["action"] in ("GetItem", "Query", "BatchGetItem")
        capacity = (call["response"] or {}).get("ConsumedCapacity", [])
        for one in capacity if isinstance(capacity, list) else [capacity]:
            if one["TableName"] == table:
                units.add(table, one["CapacityUnits"] if is_read else 0, 0 if is_read else one["CapacityUnits"])
    return units


def scan(table, **filters):
    """Reads all items of a table, page by page. `filters` are attributes and the values that a filter asks for."""
    request = {"TableName": table.name}
    if filters:
        request["FilterExpression"] = " AND ".join(f"#{at} = :{at}" for at in range(len(filters)))
        request["ExpressionAttributeNames"] = {f"#{at}": name for at, name in enumerate(filters)}
        request["ExpressionAttributeValues"] = {f":{at}": value for at, value in enumerate(item(filters).values())}
    return table.pages("Scan", request)
