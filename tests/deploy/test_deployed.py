"""Deploys stacks to ministack, and tests them over HTTP.

ministack creates the translated templates, enforces the policies of the roles, and runs the binaries as Lambda functions.
Usage: test_deployed.py <folder of the built functions> [<stack>…]
Without a stack: the five stacks, each stack alone, and the root stack, which nests them.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from cloud import AUDIENCE, Issuer, running  # noqa: E402
from local_stack import free_ports, wait_for  # noqa: E402
from templates import LEFT_OUT, ROOT, Stack, archive, root_template  # noqa: E402
from sam import BUCKET  # noqa: E402, I001: templates adds the folder of sam

NAME = "test"
# The lake reads streams of the bank, the cart and the ledger.
SERVICES = ["bank", "cart", "ledger", "lake", "wellness"]
# A GET route of each API.
ROUTES = {
    "bank": "/bank/payments/due",
    "cart": "/cart/accounts/smoke/items",
    "wellness": "/wellness/companies/smoke/activities",
    "ledger": "/ledger/merchants/smoke",
}


class Deployment:
    """Stacks in one ministack."""

    def __init__(self, held, binaries, services):
        folder = held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        [port] = free_ports(1)
        self.held = held
        self.issuer = held.enter_context(Issuer().running())
        self.cloud = held.enter_context(running(ROOT / ".venv/bin/ministack", int(port), folder))
        self.formation = self.cloud.service("cloudformation")
        self.stacks = {service: Stack(service) for service in services}
        self.urls = {}
        self.made = {}
        self.upload(binaries)

    def upload(self, binaries):
        """Uploads each function, as `sam package` does."""
        s3 = self.cloud.service("s3")
        s3.create_bucket(Bucket=BUCKET)
        for key in sorted({key for stack in self.stacks.values() for key in stack.functions}):
            s3.put_object(Bucket=BUCKET, Key=key, Body=archive(binaries / key / "bootstrap"))

    def template(self, name, body):
        """Uploads a template. A template in a request may have at most 51,200 bytes."""
        self.cloud.service("s3").put_object(Bucket=BUCKET, Key=f"{name}.json", Body=json.dumps(body))
        return f"{self.cloud.url}/{BUCKET}/{name}.json"

    def apply(self, act, name, body, **given):
        """Creates or updates a stack."""
        given = {"Name": NAME, "EndpointUrl": self.cloud.url, "EventBusName": "default", "JwtIssuer": self.issuer.url, "JwtAudience": AUDIENCE, **given}
        values = [{"ParameterKey": one, "ParameterValue": given[one]} for one in body["Parameters"] if one in given]
        act(StackName=name, TemplateURL=self.template(name, body), Parameters=values, Capabilities=["CAPABILITY_IAM"])
        found = lambda: self.formation.describe_stacks(StackName=name)["Stacks"][0]
        wait_for(name, lambda: not found()["StackStatus"].endswith("IN_PROGRESS"))
        if found()["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            events = self.formation.describe_stack_events(StackName=name)["StackEvents"]
            failed = [f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason')}" for one in events if "FAILED" in one["ResourceStatus"]]
            sys.exit("\n".join([f"{name}: {found()['StackStatus']}", *failed]))
        return {one["OutputKey"]: one["OutputValue"] for one in found().get("Outputs", [])}

    def create(self, service, **given):
        stack = self.stacks[service]
        outputs = self.apply(self.formation.create_stack, f"{NAME}-{service}", stack.template, **given)
        self.adopt(service, f"{NAME}-{service}")
        return outputs

    def adopt(self, service, name):
        """Checks that every resource of the stack was created, and serves its API."""
        pages = self.formation.get_paginator("list_stack_resources").paginate(StackName=name)
        made = {one["LogicalResourceId"]: one["PhysicalResourceId"] for page in pages for one in page["StackResourceSummaries"]}
        stack = self.stacks[service]
        if missing := stack.wanted() - made.keys():
            sys.exit(f"{name}: {sorted(missing)} not created")
        print(f"{name}: {len(made)} resources created, {len(stack.left_out)} left out", flush=True)
        self.made[service] = made
        if "Api" in made:
            self.urls[service] = self.held.enter_context(self.cloud.api(made["Api"]))

    def send(self, service, path, token, body=None, headers=()):
        """Returns the status of a request."""
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json", **dict(headers)}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.urls[service] + path, data, headers), timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def operator(self):
        return self.issuer.token(*(f"{service}:operate" for service in self.urls))

    def check(self):
        """Runs the smoke test with an operator's token. Checks a token without scopes, the schedules, and the lake."""
        targets = [f"{service}={url}" for service, url in self.urls.items()]
        command = [sys.executable, ROOT / "tests/smoke/smoke.py", *targets]
        if targets and subprocess.run(command, env={**os.environ, "TOKEN": self.operator()}, check=False).returncode != 0:
            sys.exit("the smoke test failed")
        for service in self.urls:
            expect(f"{service}: a token without scopes is rejected", 403, self.send(service, ROUTES[service], self.issuer.token()))
        for service in self.made:
            self.run_schedules(service)
        if "cart" in self.made and "lake" in self.made:
            bucket, s3 = self.made["lake"]["Lake"], self.cloud.service("s3")
            wait_for("the lake", lambda: s3.list_objects_v2(Bucket=bucket).get("KeyCount"))
            print("ok      lake: the changes of the cart arrive")

    def run_schedules(self, service):
        """Sends the input of each schedule to its target, as EventBridge does."""
        events, functions = self.cloud.service("events"), self.cloud.service("lambda")
        for name, one in self.stacks[service].of("AWS::Events::Rule"):
            rule = self.made[service][name].rpartition("/")[2]
            for target in events.list_targets_by_rule(Rule=rule)["Targets"]:
                event = target.get("Input") or json.dumps(scheduled_event(rule))
                answer = functions.invoke(FunctionName=target["Arn"], Payload=event.encode())
                expect(f"{service}: {name} runs", None, answer.get("FunctionError") and answer["Payload"].read().decode())

    def update_under_load(self):
        """Adds an index and changes a setting of the bank's stack while requests are in progress. No request may fail."""
        statuses, stop, token = [], threading.Event(), self.operator()

        def load(number):
            count = 0
            while not stop.is_set():
                body = {"scheduledTime": "2030-12-01T09:30:00Z", "data": {"number": count}}
                statuses.append(self.send("bank", f"/bank/accounts/load-{number}/payments", token, body, [("idempotency-key", str(count))]))
                statuses.append(self.send("bank", "/bank/payments/due?date=2030-12-01&limit=5", token))
                count += 1

        threads = [threading.Thread(target=load, args=[number]) for number in range(2)]
        for thread in threads:
            thread.start()
        try:
            wait_for("load", lambda: len(statuses) > 20)
            body = self.stacks["bank"].template
            self.apply(self.formation.update_stack, f"{NAME}-bank", body, IndexProjection="KEYS_ONLY_AND_ALL", WriteShards="7", ReadShards="7")
            updated = len(statuses)
            wait_for("load after the update", lambda: len(statuses) > updated + 20)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        table = self.cloud.service("dynamodb").describe_table(TableName=self.made["bank"]["PaymentScheduler"])["Table"]
        indexes = sorted(index["IndexName"] for index in table["GlobalSecondaryIndexes"])
        expect("bank: the update adds an index", ["GSI1", "GSI1All"], indexes)
        expect(f"bank: no request of {len(statuses)} fails during the update", set(), set(statuses) - {200, 201})


def scheduled_event(rule):
    return {
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": "2026-01-02T03:04:05Z",
        "region": "us-east-1",
        "resources": [f"arn:aws:events:us-east-1:000000000000:rule/{rule}"],
        "detail": {},
    }


def expect(what, wanted, found):
    print(f"{'ok     ' if wanted == found else 'FAILED '} {what}", flush=True)
    if wanted != found:
        sys.exit(f"{what}: expected {wanted}, found {found}")


def deploy_in_turn(binaries, services):
    """Deploys the stacks one after the other, and tests them together."""
    with contextlib.ExitStack() as held:
        deployment = Deployment(held, binaries, services)
        streams = {}
        for service in services:
            outputs = deployment.create(service, **(streams if service == "lake" else {}))
            streams |= {name: arn for name, arn in outputs.items() if name.endswith("StreamArn")}
        deployment.check()
        if "bank" in services:
            deployment.update_under_load()


def deploy_root(binaries):
    """Deploys the root stack, and tests the nested stacks together."""
    with contextlib.ExitStack() as held:
        deployment = Deployment(held, binaries, SERVICES)
        urls = {service: deployment.template(service, stack.template) for service, stack in deployment.stacks.items()}
        deployment.apply(deployment.formation.create_stack, NAME, root_template(urls))
        pages = deployment.formation.get_paginator("list_stack_resources").paginate(StackName=NAME)
        for one in (one for page in pages for one in page["StackResourceSummaries"]):
            deployment.adopt(one["LogicalResourceId"].lower(), one["PhysicalResourceId"])
        expect("root: every stack is nested", set(SERVICES), set(deployment.made))
        deployment.check()


def main(folder, *services):
    binaries = pathlib.Path(folder)
    if services:
        return deploy_in_turn(binaries, services)
    for reason in sorted(set(LEFT_OUT.values())):
        print(f"left out: {reason}")
    deploy_in_turn(binaries, SERVICES)
    for service in SERVICES[1:]:
        deploy_in_turn(binaries, [service])
    deploy_root(binaries)


main(*sys.argv[1:])
