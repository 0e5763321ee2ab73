"""Uses a local stack with the AWS CLI, boto3 and dynamodb-admin, as their users do.

Usage: test_tools.py <the binary `local`> <folder of the npm packages>
The interpreter must have boto3, and its folder must have the AWS CLI.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import free_ports, local_stack, wait_for  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
REGION = "us-east-1"
ARN = re.compile(rf"arn:aws:dynamodb:{REGION}:\d{{12}}:table/[\w.-]+(/index/[\w.-]+|/stream/\d{{4}}-\d\d-\d\dT[\d:.]+)?")
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
DEFINITION = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "Color")],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {"IndexName": "Colors", "KeySchema": [{"AttributeName": "Color", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "BillingMode": "PAY_PER_REQUEST",
}


def check(what, found, wanted=True):
    print(f"{'ok     ' if found == wanted else 'FAILED '} {what}", flush=True)
    if found != wanted:
        sys.exit(f"{what}: expected {wanted}, found {found}")


@contextlib.contextmanager
def refused(what, code):
    """Checks that the block is refused with the error code."""
    try:
        yield
        found = "no error"
    except ClientError as error:
        found = error.response["Error"]["Code"]
    check(what, found, code)


def arns(value):
    """Yields every ARN in an answer."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from arns(one)
    elif isinstance(value, str) and value.startswith("arn:"):
        yield value


def walk_tables(client, tables):
    pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2})
    check("boto3 lists every table in pages", sorted(name for page in pages for name in page["TableNames"]), sorted(tables))
    for name in tables:
        table = client.describe_table(TableName=name)["Table"]
        wrong = [arn for arn in arns(table) if not ARN.fullmatch(arn)]
        check(f"{name} has the ARNs of its region", wrong, [])
        check(f"{name} shows its deletion protection", table["DeletionProtectionEnabled"])
        with refused(f"{name} refuses its deletion", "ValidationException"):
            client.delete_table(TableName=name)
        check(f"{name} remains", client.describe_table(TableName=name)["Table"]["TableStatus"], "ACTIVE")


def walk_client(client):
    made = client.create_table(TableName="Things", **DEFINITION)["TableDescription"]
    client.get_waiter("table_exists").wait(TableName="Things", WaiterConfig={"Delay": 1})
    check("a new table has the ARNs of its region", [arn for arn in arns(made) if not ARN.fullmatch(arn)], [])
    client.tag_resource(ResourceArn=made["TableArn"], Tags=[{"Key": "a", "Value": "b"}])
    check("tags are stored", client.list_tags_of_resource(ResourceArn=made["TableArn"])["Tags"], [{"Key": "a", "Value": "b"}])
    client.update_time_to_live(TableName="Things", TimeToLiveSpecification={"AttributeName": "ExpiresAt", "Enabled": True})
    expiry = client.describe_time_to_live(TableName="Things")["TimeToLiveDescription"]
    check("the expiry is enabled", expiry, {"TimeToLiveStatus": "ENABLED", "AttributeName": "ExpiresAt"})
    put = {"Put": {"TableName": "Things", "Item": {"PK": {"S": "t"}, "SK": {"S": "1"}, "Color": {"S": "red"}}}}
    client.transact_write_items(TransactItems=[put], ClientRequestToken="1")
    client.transact_write_items(TransactItems=[put], ClientRequestToken="1")
    got = client.transact_get_items(TransactItems=[{"Get": {"TableName": "Things", "Key": {"PK": {"S": "t"}, "SK": {"S": "1"}}}}])
    check("a transaction is stored once", got["Responses"][0]["Item"]["Color"], {"S": "red"})
    missing = {"ConditionCheck": {"TableName": "Things", "Key": {"PK": {"S": "no"}, "SK": {"S": "no"}}, "ConditionExpression": "attribute_exists(PK)"}}
    with refused("a failed condition cancels a transaction", "TransactionCanceledException"):
        client.transact_write_items(TransactItems=[missing])


def walk_resource(resource):
    things = resource.Table("Things")
    with things.batch_writer(overwrite_by_pkeys=["PK", "SK"]) as batch:
        for number in [*range(60), 0]:
            batch.put_item(Item={"PK": "many", "SK": f"{number:02}", "Color": "blue" if number % 2 else "green", "Number": number})
    check("the batch writer stores every item", things.query(KeyConditionExpression=Key("PK").eq("many"), Select="COUNT")["Count"], 60)
    first = things.query(KeyConditionExpression=Key("PK").eq("many") & Key("SK").begins_with("0"), FilterExpression=Attr("Number").gt(7))
    check("a filter applies to a query", [item["SK"] for item in first["Items"]], ["08", "09"])
    blue = things.query(IndexName="Colors", KeyConditionExpression=Key("Color").eq("blue"), Limit=7)
    check("an index answers a page", (blue["Count"], "LastEvaluatedKey" in blue), (7, True))
    key = {"PK": "many", "SK": "00"}
    changed = things.update_item(Key=key, UpdateExpression="ADD #n :one", ExpressionAttributeNames={"#n": "Number"}, ExpressionAttributeValues={":one": 1}, ReturnValues="UPDATED_NEW")
    check("an update returns the new number", changed["Attributes"]["Number"], 1)
    with refused("a condition is checked", "ConditionalCheckFailedException"):
        things.put_item(Item=key, ConditionExpression=Attr("PK").not_exists())
    got = resource.batch_get_item(RequestItems={"Things": {"Keys": [{"PK": "many", "SK": f"{number:02}"} for number in range(10)]}})
    check("a batch returns ten items", len(got["Responses"]["Things"]), 10)
    pages = list(resource.meta.client.get_paginator("scan").paginate(TableName="Things", PaginationConfig={"PageSize": 25}))
    check("a scan has pages", [page["Count"] for page in pages], [25, 25, 11])
    pages = resource.meta.client.get_paginator("query").paginate(
        TableName="Things", KeyConditionExpression=Key("PK").eq("many"), PaginationConfig={"PageSize": 20, "MaxItems": 50}
    )
    check("a query has pages", [len(page["Items"]) for page in pages], [20, 20, 10])


def walk_partiql(client):
    insert = "INSERT INTO Things VALUE {'PK': ?, 'SK': ?, 'Color': 'red'}"
    client.execute_statement(Statement=insert, Parameters=[{"S": "partiql"}, {"S": "1"}])
    with refused("PartiQL rejects a duplicate", "DuplicateItemException"):
        client.execute_statement(Statement=insert, Parameters=[{"S": "partiql"}, {"S": "1"}])
    client.execute_transaction(TransactStatements=[{"Statement": insert, "Parameters": [{"S": "partiql"}, {"S": number}]} for number in "23"])
    select = "SELECT SK FROM Things WHERE PK = ?"
    found = client.execute_statement(Statement=select, Parameters=[{"S": "partiql"}])["Items"]
    check("PartiQL selects by key", [item["SK"]["S"] for item in found], ["1", "2", "3"])
    by_index = client.execute_statement(Statement='SELECT PK FROM Things."Colors" WHERE Color = ? AND PK = ?', Parameters=[{"S": "red"}, {"S": "t"}])
    check("PartiQL reads an index", by_index["Items"], [{"PK": {"S": "t"}}])
    update = "UPDATE Things SET Color = 'black' WHERE PK = ? AND SK = ?"
    delete = "DELETE FROM Things WHERE PK = ? AND SK = ?"
    both = [{"Statement": statement, "Parameters": [{"S": "partiql"}, {"S": number}]} for statement, number in ((update, "1"), (delete, "2"))]
    answers = client.batch_execute_statement(Statements=both)["Responses"]
    check("a PartiQL batch succeeds", [answer.get("Error") for answer in answers], [None, None])
    left = client.execute_statement(Statement=select.replace("SK", "SK, Color"), Parameters=[{"S": "partiql"}])["Items"]
    check("the batch has changed the items", [item["Color"]["S"] for item in left], ["black", "red"])


def records_of(streams, arn, shard, **start):
    """Returns all records of a shard from the given start."""
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, **start)["ShardIterator"]
    found = []
    while page := streams.get_records(ShardIterator=iterator, Limit=10):
        found += page["Records"]
        iterator = page["NextShardIterator"]
        if not page["Records"]:
            return found


def walk_streams(client, streams, tables):
    with_stream = [name for name in [*tables, "Things"] if "LatestStreamArn" in client.describe_table(TableName=name)["Table"]]
    listed, start = [], {}
    while page := streams.list_streams(Limit=1, **start):
        listed += page["Streams"]
        if "LastEvaluatedStreamArn" not in page:
            break
        start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
    check("every stream is listed once, in pages", sorted(stream["TableName"] for stream in listed), sorted(with_stream))
    for stream in listed:
        arn, name = stream["StreamArn"], stream["TableName"]
        check(f"the stream of {name} has one ARN", client.describe_table(TableName=name)["Table"]["LatestStreamArn"], arn)
        described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
        [shard] = described["Shards"]
        check(f"the shard id of {name} is valid", bool(re.fullmatch(r"shardId-\d{20}-[0-9a-f]{8}", shard["ShardId"])))
        check(f"the shard of {name} is open", "EndingSequenceNumber" in shard["SequenceNumberRange"], False)
        more = streams.describe_stream(StreamArn=arn, ExclusiveStartShardId=shard["ShardId"])["StreamDescription"]
        check(f"{name} has no further shard", more["Shards"], [])
        found = records_of(streams, arn, shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
        check(f"the records of {name} have the region", {record["awsRegion"] for record in found} <= {REGION})
        numbers = [record["dynamodb"]["SequenceNumber"] for record in found]
        check(f"the records of {name} are in order", numbers == sorted(numbers))
        if name == "Things":
            check_positions(client, streams, arn, shard["ShardId"], numbers)
    with refused("an unknown shard is refused", "ResourceNotFoundException"):
        streams.get_shard_iterator(StreamArn=arn, ShardId=f"shardId-{0:020}-{0:08x}", ShardIteratorType="LATEST")


def check_positions(client, streams, arn, shard, numbers):
    """Checks each type of iterator."""
    read = lambda **start: [record["dynamodb"]["SequenceNumber"] for record in records_of(streams, arn, shard, **start)]
    check("the stream has all records", len(numbers) > 60)
    check("an iterator starts at a record", read(ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=numbers[5]), numbers[5:])
    check("an iterator starts after a record", read(ShardIteratorType="AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[5]), numbers[6:])
    latest = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")["ShardIterator"]
    client.delete_item(TableName="Things", Key={"PK": {"S": "t"}, "SK": {"S": "1"}})
    [record] = streams.get_records(ShardIterator=latest)["Records"]
    check("the latest iterator returns the next change", (record["eventName"], record["dynamodb"]["OldImage"]["Color"]), ("REMOVE", {"S": "red"}))


def walk_deletion(client):
    client.update_table(TableName="Things", DeletionProtectionEnabled=True)
    with refused("a protected table refuses its deletion", "ValidationException"):
        client.delete_table(TableName="Things")
    client.update_table(TableName="Things", DeletionProtectionEnabled=False)
    client.delete_table(TableName="Things")
    client.get_waiter("table_not_exists").wait(TableName="Things", WaiterConfig={"Delay": 1})
    with refused("the table is deleted", "ResourceNotFoundException"):
        client.describe_table(TableName="Things")


def walk_s3(s3, bucket):
    check("boto3 lists the buckets", bucket in [found["Name"] for found in s3.list_buckets()["Buckets"]])
    s3.put_object(Bucket=bucket, Key="tools/test", Body=b"content")
    check("boto3 reads an object of the lake", s3.get_object(Bucket=bucket, Key="tools/test")["Body"].read(), b"content")


def walk_cli(environment, client, tables):
    def aws(*command):
        cli = pathlib.Path(sys.executable).with_name("aws")
        done = subprocess.run([cli, *command, "--output", "json"], env=environment, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"aws {' '.join(command)}: {done.stderr}")
        return json.loads(done.stdout or "null")

    check("the AWS CLI lists every table", sorted(aws("dynamodb", "list-tables", "--page-size", "2")["TableNames"]), sorted(tables))
    buckets = [bucket["Name"] for bucket in aws("s3api", "list-buckets", "--page-size", "2")["Buckets"]]
    check("the AWS CLI lists every bucket once, in pages", ("local-bank-inbox" in buckets, len(set(buckets))), (True, len(buckets)))
    [payments] = [name for name in tables if name.endswith("PaymentScheduler")]
    [stream] = aws("dynamodbstreams", "list-streams", "--table-name", next(name for name in tables if name.endswith("Cart")))["Streams"]
    aws("dynamodb", "wait", "table-exists", "--table-name", payments)
    check("the AWS CLI describes a table", aws("dynamodb", "describe-table", "--table-name", payments)["Table"]["DeletionProtectionEnabled"])
    query = ["dynamodb", "query", "--table-name", payments, "--key-condition-expression", "PK = :pk", "--expression-attribute-values", '{":pk": {"S": "Account1"}}']
    found = client.query(TableName=payments, KeyConditionExpression="PK = :pk", ExpressionAttributeValues={":pk": {"S": "Account1"}})
    check("the AWS CLI and boto3 find the same payments", aws(*query, "--page-size", "1")["Items"], found["Items"])
    page = aws("dynamodb", "scan", "--table-name", payments, "--max-items", "1")
    rest = aws("dynamodb", "scan", "--table-name", payments, "--starting-token", page["NextToken"])
    check("the AWS CLI continues a scan", len(page["Items"]) + len(rest["Items"]), aws("dynamodb", "scan", "--table-name", payments)["Count"])
    selected = aws("dynamodb", "execute-statement", "--statement", f"SELECT * FROM \"{payments}\" WHERE PK = 'Account2'")
    check("the AWS CLI runs PartiQL", {item["PK"]["S"] for item in selected["Items"]}, {"Account2"})
    shards = aws("dynamodbstreams", "describe-stream", "--stream-arn", stream["StreamArn"])["StreamDescription"]["Shards"]
    start = ["--shard-id", shards[0]["ShardId"], "--shard-iterator-type", "TRIM_HORIZON"]
    iterator = aws("dynamodbstreams", "get-shard-iterator", "--stream-arn", stream["StreamArn"], *start)["ShardIterator"]
    check("the AWS CLI reads a stream", len(aws("dynamodbstreams", "get-records", "--shard-iterator", iterator)["Records"]) > 0)


def walk_admin(packages, endpoint):
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"no browser is installed; this test needs one of {', '.join(BROWSERS)}")
    [port] = free_ports(1)
    environment = {**os.environ, "NODE_NO_WARNINGS": "1", "DYNAMO_ENDPOINT": endpoint, "AWS_REGION": REGION}
    command = ["node", packages / "node_modules/dynamodb-admin/dist/dynamodb-admin.js", "--host", "127.0.0.1", "--port", port]
    admin = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for("dynamodb-admin", lambda: urllib.request.urlopen(url, timeout=5).status == 200)
        environment = {**os.environ, "NODE_PATH": str(packages / "node_modules")}
        if subprocess.run(["node", HERE / "admin.js", browser, url], env=environment, check=False).returncode != 0:
            sys.exit("dynamodb-admin does not work")
    finally:
        admin.terminate()
        admin.wait(20)


def main(binary, packages):
    packages = pathlib.Path(packages).resolve()
    with local_stack(binary) as url, tempfile.TemporaryDirectory() as folder:
        with urllib.request.urlopen(f"{url}/_local/health") as answer:
            health = json.load(answer)
        endpoint, tables = health["dynamodb"], health["tables"]
        subprocess.run([binary, "sam-env", "--folder", folder], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        lake = next(iter(json.loads((pathlib.Path(folder) / "lake.json").read_text()).values()))
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": REGION}
        session = boto3.Session(**keys)
        client, streams = (session.client(name, endpoint_url=endpoint) for name in ("dynamodb", "dynamodbstreams"))
        walk_tables(client, tables)
        walk_client(client)
        walk_resource(session.resource("dynamodb", endpoint_url=endpoint))
        walk_partiql(client)
        walk_streams(client, streams, tables)
        walk_deletion(client)
        walk_s3(session.client("s3", endpoint_url=endpoint), lake["FAILURE_BUCKET"])
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "AWS_ENDPOINT_URL": endpoint, "AWS_DEFAULT_REGION": REGION}
        walk_cli({**environment, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}, client, tables)
        walk_admin(packages, endpoint)


main(*sys.argv[1:])
