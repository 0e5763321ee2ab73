"""Follows cart changes to the results of the named queries, over the real protocols.

ministack emulates CloudFormation, S3, Firehose, Glue and Athena. The buckets, the delivery stream, the table and the
queries come from stacks/lake.yaml. The cart, its stream and the exporter run in the local stack. The exporter sends to
ministack's Firehose. Usage: test_lake.py <the binary `local`>
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import boto3
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "analytics")]
import lake  # noqa: E402
from local_stack import free_ports, wait_for  # noqa: E402

STACK = "local"
# The resource types that ministack deploys: the delivery stream and everything behind it.
TYPES = ("AWS::S3::", "AWS::KinesisFirehose::", "AWS::IAM::Role", "AWS::Glue::", "AWS::Athena::", "AWS::Logs::")


@contextlib.contextmanager
def process(command, environment, folder):
    """Runs a process with its log in the folder, and stops it at the end."""
    log = pathlib.Path(folder, pathlib.Path(command[0]).name + ".log")
    with log.open("w") as out:
        running = subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=out, cwd=ROOT)
        try:
            yield log
        except BaseException:
            print(log.read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            running.terminate()
            running.wait(20)


class Template(yaml.SafeLoader):
    """Reads CloudFormation's short tags as their long forms."""

    def tag(self, suffix, node):
        if isinstance(node, yaml.ScalarNode):
            value = self.construct_scalar(node)
        elif isinstance(node, yaml.SequenceNode):
            value = self.construct_sequence(node, deep=True)
        else:
            value = self.construct_mapping(node, deep=True)
        if suffix in ("Ref", "Condition"):
            return {suffix: value}
        return {f"Fn::{suffix}": value.split(".", 1) if suffix == "GetAtt" else value}


Template.add_multi_constructor("!", Template.tag)


class Cloud:
    """The services of ministack."""

    def __init__(self, url):
        self.url = url

    def service(self, name):
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        return boto3.client(name, endpoint_url=self.url, region_name="us-east-1", **keys)

    def deploy(self):
        template = yaml.load((ROOT / "stacks/lake.yaml").read_text(), Template)
        resources = {name: one for name, one in template["Resources"].items() if one["Type"].startswith(TYPES)}
        # ministack's CloudFormation does not support named queries, but its Athena does.
        queries = [resources.pop(name)["Properties"] for name in list(resources) if resources[name]["Type"].endswith("NamedQuery")]
        part = {"Parameters": template["Parameters"], "Resources": resources}
        needed = [name for name, one in template["Parameters"].items() if "Default" not in one]
        values = [{"ParameterKey": name, "ParameterValue": STACK} for name in needed]
        cloud = self.service("cloudformation")
        # The template is larger than a request may be. `sam deploy` also uploads it.
        bucket = self.service("s3")
        bucket.create_bucket(Bucket="templates")
        bucket.put_object(Bucket="templates", Key="lake.json", Body=json.dumps(part))
        cloud.create_stack(StackName=STACK, TemplateURL=f"{self.url}/templates/lake.json", Parameters=values)
        status = lambda: cloud.describe_stacks(StackName=STACK)["Stacks"][0]["StackStatus"]
        wait_for("the stack", lambda: "PROGRESS" not in status())
        assert status() == "CREATE_COMPLETE", cloud.describe_stack_events(StackName=STACK)
        found = cloud.describe_stack_resources(StackName=STACK)["StackResources"]
        names = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}
        for query in queries:
            name = query["Name"]["Fn::Sub"].replace("${Name}", STACK)
            database, workgroup = (names[query[of]["Ref"]] for of in ("Database", "WorkGroup"))
            self.service("athena").create_named_query(
                Name=name, Description=query["Description"], Database=database, WorkGroup=workgroup, QueryString=query["QueryString"]
            )
        return names

    def objects(self, bucket):
        return [one["Key"] for one in self.service("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]

    def queries(self, workgroup):
        athena = self.service("athena")
        for one in athena.list_named_queries(WorkGroup=workgroup)["NamedQueryIds"]:
            yield athena.get_named_query(NamedQueryId=one)["NamedQuery"]

    def ask(self, text, database, workgroup):
        """Runs a query and returns its rows."""
        athena = self.service("athena")
        context = {"Database": database}
        begun = athena.start_query_execution(QueryString=text, QueryExecutionContext=context, WorkGroup=workgroup)
        one = {"QueryExecutionId": begun["QueryExecutionId"]}
        status = lambda: athena.get_query_execution(**one)["QueryExecution"]["Status"]
        wait_for("the query", lambda: status()["State"] not in ("QUEUED", "RUNNING"))
        assert status()["State"] == "SUCCEEDED", (text, status())
        rows = [[cell.get("VarCharValue") for cell in row["Data"]] for row in athena.get_query_results(**one)["ResultSet"]["Rows"]]
        return [dict(zip(rows[0], row)) for row in rows[1:]]


class Api:
    """The local stack."""

    def __init__(self, url):
        self.url = url

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def offer(self, sku, price):
        self.call("PUT", f"/cart/products/{sku}", {"name": sku, "price": price, "currency": "USD"})

    def add(self, account, sku, quantity):
        return self.call("POST", f"/cart/accounts/{account}/items", {"sku": sku, "quantity": quantity})

    def change(self, line, **changes):
        return self.call("PATCH", f"/cart/accounts/{line['accountId']}/items/{line['itemId']}", changes)

    def exported(self):
        mappings = [one for one in self.call("GET", "/_local/streams")["mappings"] if one["function"] == "export-changes"]
        return mappings and all(one["pending"] == 0 for one in mappings)


def shop(api):
    """Changes the carts of four customers, and returns their final content by account and item."""
    for sku, price in (("shoes", "89.90"), ("socks", "4.50"), ("hat", "15.00")):
        api.offer(sku, price)
    first = api.add("Ann", "shoes", 1)
    api.add("Ann", "shoes", 1)
    api.change(first, status="SAVED")
    api.offer("shoes", "79.90")
    again = api.add("Ann", "shoes", 3)
    joined = api.change(first, status="ACTIVE")
    assert joined["itemId"] == again["itemId"] and joined["quantity"] == 5, joined
    socks = api.add("Ben", "socks", 2)
    api.change(socks, quantity=4)
    api.call("DELETE", f"/cart/accounts/Ben/items/{socks['itemId']}")
    api.add("Cem", "socks", 3)
    api.add("Cem", "shoes", 1)
    api.call("POST", "/cart/accounts/Cem/checkout")
    api.change(api.add("Cem", "hat", 1), status="SAVED")
    api.add("Dea", "hat", 1)
    carts = {}
    world = json.loads((ROOT / "events/cart/world.json").read_text())
    others = {step["with"]["path"]["accountId"] for step in world if step.get("event") == "add-cart-item"}
    for account in {"Ann", "Ben", "Cem", "Dea"} | others:
        for status in ("ACTIVE", "SAVED", "PURCHASED", "SHIPPED", "CANCELLED"):
            for line in api.call("GET", f"/cart/accounts/{account}/items?status={status}")["items"]:
                carts[account, line["itemId"]] = line
    return carts


def check_state(rows, carts):
    """Checks that the rebuilt state equals the state of the carts."""
    price = lambda text: None if text is None else float(text)
    rebuilt = {
        (row["account_id"], row["item_id"]): (row["sku"], row["status"], int(row["quantity"]), price(row["price"]), row["order_id"])
        for row in rows
    }
    is_now = {
        key: (line["sku"], line["status"], line["quantity"], price(line.get("price")), line.get("orderId"))
        for key, line in carts.items()
    }
    assert rebuilt == is_now, (rebuilt, is_now)


def check_reports(answers, carts):
    """Checks that the reports match the carts. A merge must not count as an addition, nor a move as a removal."""
    for report in ("weekly_report", "monthly_report"):
        by_sku = {row["sku"]: row for row in answers[report] if row["sku"] in ("shoes", "socks", "hat")}
        bought = sum(line["quantity"] * float(line["price"]) for line in carts.values() if line["status"] == "PURCHASED" and line["sku"] in by_sku)
        revenue = sum(float(row["revenue"] or 0) for row in by_sku.values())
        assert by_sku and abs(revenue - bought) < 1e-9 and bought > 90, (report, revenue, bought, by_sku)
    for name, rows in answers.items():
        print(f"{name}: {len(rows)} rows")


def main(local):
    with tempfile.TemporaryDirectory() as folder:
        ports = free_ports(3)
        cloud_url, api_url = (f"http://127.0.0.1:{port}" for port in ports[:2])
        ministack = pathlib.Path(sys.executable).with_name("ministack")
        environment = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": ports[0], "IOT_MTLS_ENABLED": "0", "LOG_LEVEL": "WARNING"}
        with process([str(ministack)], environment, folder):
            wait_for("ministack", lambda: urllib.request.urlopen(cloud_url + "/_ministack/health", timeout=5))
            cloud = Cloud(cloud_url)
            names = cloud.deploy()
            # Jobs of the wellness service use the buckets of its stack.
            for bucket in ("files", "failedchanges"):
                cloud.service("s3").create_bucket(Bucket=f"local-wellness-{bucket}")
            elsewhere = ["--firehose-endpoint", cloud_url, "--s3-endpoint", cloud_url, "--lake", str(pathlib.Path(folder, "unused"))]
            command = [local, "run", "--port", ports[1], "--dynamodb-port", ports[2], *elsewhere]
            with process(command, {}, folder) as log:
                wait_for("the stack", lambda: "Ctrl-C" in log.read_text(), 120)
                api = Api(api_url)
                carts = shop(api)
                wait_for("the export", api.exported)
                check(cloud, names, carts)


def with_views(queries, files):
    """Yields the queries whose tables have files. A refresh would create the views, so their texts replace their names."""
    tables = {table.items: table for table in lake.tables()}
    for name, text in queries.items():
        used = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", text)) & set(tables)
        if all(any(f"/{tables[one].folder}/" in file for file in files) for one in used):
            yield name, re.sub(r"\b(FROM|JOIN) (\w+)", lambda found: f"{found[1]} ({tables[found[2]].sql('view')})" if found[2] in used else found[0], text)


def check_views(ask, files, carts):
    """Checks the SQL of the views, of the states and of the verification in the dialect of Athena."""
    for table in lake.tables():
        if not any(table.folder in name for name in files):
            continue
        items = ask(table.sql("view"))
        values = {"state": table.changes, "since": lake.FIRST_HOUR, "at": "2099-01-01 00:00:00"}
        newest = ask(table.sql("compact", **values))
        columns = ", ".join(table.columns)
        rows = f"(SELECT {columns} FROM ({table.sql('compact', **values)}) WHERE operation NOT IN ('remove', 'expire'))"
        differences = [one for one in ask(table.sql("verify", snapshot=rows, **values)) if one["kind"] != "repeated"]
        assert len(items) <= len(newest) and not differences, (table.items, differences[:5])
        if table.items == "cart_items":
            assert {(one["account_id"], one["item_id"]) for one in items} == set(carts), "the view differs from the carts"
        print(f"{table.items}: {len(items)} items")


def check(cloud, names, carts):
    files = wait_for("files in the lake", lambda: cloud.objects(names["Lake"]))
    assert all(name.startswith("changes/") and name.endswith(".parquet") for name in files), files
    assert not cloud.objects(names["FailedChanges"]), "a change was not exported"
    database, workgroup = names["LakeDatabase"], names["BiWorkGroup"]
    queries = {query["Name"].removeprefix(f"{STACK} ").replace(" ", "_"): query["QueryString"] for query in cloud.queries(workgroup)}
    assert set(queries) == set(lake.saved_queries()), queries.keys()
    state = lambda: cloud.ask(queries["cart_state"], database, workgroup)
    wait_for("every delivery", lambda: len(state()) == len(carts))
    check_state(state(), carts)
    check_reports({name: cloud.ask(text, database, workgroup) for name, text in with_views(queries, files)}, carts)
    check_views(lambda text: cloud.ask(text, database, workgroup), files, carts)
    print(f"{len(carts)} cart items were rebuilt from {len(files)} files by {len(queries)} named queries.")


if __name__ == "__main__":
    main(sys.argv[1])
