"""Deploys, changes and deletes the cart's stack with `make deploy`, `make undeploy` and SAM on ministack.

ministack has no CodeDeploy, so that releases are not shifted. It ignores the OpenAPI body of an HTTP API: an API without
routes is tested on the translated templates (tests/template/test_template.py). It answers no DescribeStackResources for a
physical name, and its quota of concurrent executions is fixed: tests/template/test_checks.py has stubs for both.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from botocore.exceptions import ClientError  # noqa: E402
from cloud import Issuer, running  # noqa: E402
from local_stack import free_ports  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402
from templates import ROOT, unsupported  # noqa: E402

TABLES = ["app-Cart", "app-CartJobs", "app-Products"]
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\x00"


class Checkout:
    """A copy of the deployed files, with functions that are never invoked."""

    def __init__(self, folder, cloud, issuer):
        self.folder = folder
        self.cloud = cloud
        shutil.copytree(ROOT / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("__pycache__", "*.yaml"))
        self.template = yaml_parse((ROOT / "stacks/cart.yaml").read_text())
        del self.template["Globals"]["Function"]["DeploymentPreference"]
        self.template["Resources"] = {name: one for name, one in self.template["Resources"].items() if not unsupported(one)}
        self.write({})
        for one in self.template["Resources"].values():
            if one["Type"] == "AWS::Serverless::Function":
                binary = folder / "stacks" / one["Properties"]["CodeUri"] / "bootstrap"
                binary.parent.mkdir(parents=True)
                binary.write_bytes(ELF)
        self.settings = {"Name": "app", "JwtIssuer": issuer, "JwtAudience": "'a=c,\"d\"'", "EndpointUrl": cloud.url}

    def write(self, resources):
        """Writes the template with more resources."""
        text = json.dumps({**self.template, "Resources": {**self.template["Resources"], **resources}})
        (self.folder / "stacks/cart.yaml").write_text(text)

    def run(self, script, *arguments, answer=""):
        """Runs a script. Returns its exit code and its output."""
        given = " ".join(f"{name}={value}" for name, value in self.settings.items())
        section = {"stack_name": "app-cart", "capabilities": "CAPABILITY_IAM", "resolve_s3": True, "parameter_overrides": given}
        lines = [f"{name} = {json.dumps(value)}" for name, value in section.items()]
        (self.folder / "samconfig.toml").write_text("\n".join(["version = 0.1", "[cart.deploy.parameters]", *lines]))
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": self.cloud.url}
        environment = {**os.environ, **keys, "SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": "0.2"}
        command = [sys.executable, self.folder / "stacks" / script, *arguments]
        done = subprocess.run(command, env=environment, input=answer, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def deploy(self, *options):
        return self.run("deploy.py", pathlib.Path(sys.executable).with_name("sam"), "cart", *options)

    def undeploy(self, *options, answer=""):
        return self.run("undeploy.py", "cart", *options, answer=answer)

    def stack(self):
        try:
            return self.cloud.service("cloudformation").describe_stacks(StackName="app-cart")["Stacks"][0]
        except ClientError:
            return None

    def status(self):
        return (self.stack() or {}).get("StackStatus")

    def parameter(self, name):
        return {one["ParameterKey"]: one["ParameterValue"] for one in self.stack()["Parameters"]}[name]

    def tables(self):
        return [name for name in self.cloud.service("dynamodb").list_tables()["TableNames"] if name in TABLES]


def expect(what, result, code, *parts):
    """Checks the exit code and the texts of a command."""
    found, output = result
    if found != code or any(part not in output for part in parts):
        sys.exit(f"FAILED  {what}: exit code {found}, expected {code} and {parts} in:\n{output}")
    print(f"ok      {what}", flush=True)


def a_wrong_issuer_changes_nothing(checkout):
    issuer, checkout.settings["JwtIssuer"] = checkout.settings["JwtIssuer"], "http://127.0.0.1:1"
    expect("an issuer that cannot be reached is refused", checkout.deploy(), 1, "the token issuer cannot be reached")
    assert checkout.stack() is None, "the stack was created"
    checkout.settings["JwtIssuer"] = issuer


def a_failed_creation_does_not_block_the_next(checkout):
    """A wait condition without a signal makes the creation fail, after the tables exist."""
    fails = {"Type": "AWS::CloudFormation::WaitCondition", "DependsOn": ["Cart", "Products"], "Properties": {"Handle": {"Ref": "Signal"}, "Timeout": "1"}}
    checkout.write({"Signal": {"Type": "AWS::CloudFormation::WaitConditionHandle"}, "Fails": fails})
    expect("a creation fails", checkout.deploy(), 1, "cart is not deployed: sam deploy failed")
    assert checkout.status() == "ROLLBACK_COMPLETE", checkout.status()
    checkout.write({})
    expect("the failed stack is reported", checkout.deploy("--check"), 1, "ROLLBACK_COMPLETE. Delete it; its tables and buckets stay: make undeploy STACK=cart")
    expect("the failed stack is deleted", checkout.undeploy("--yes"), 0, "deleted")
    expect("the next creation succeeds", checkout.deploy("--take-over"), 0, "deploying cart")
    assert checkout.parameter("JwtAudience") == 'a=c,"d"', checkout.parameter("JwtAudience")


def a_removed_setting_gets_its_default(checkout):
    checkout.settings["CartDays"] = "9"
    expect("a setting is changed", checkout.deploy(), 0)
    assert checkout.parameter("CartDays") == "9", checkout.parameter("CartDays")
    del checkout.settings["CartDays"]
    expect("a setting is removed", checkout.deploy(), 0)
    assert checkout.parameter("CartDays") == "30", checkout.parameter("CartDays")
    expect("a deployment without a change succeeds", checkout.deploy("--no-fail-on-empty-changeset"), 0)


def a_new_deployment_uses_the_tables_of_a_deleted_stack(checkout):
    item = {"PK": {"S": "USER#one"}, "SK": {"S": "kept"}}
    table = checkout.cloud.service("dynamodb")
    table.put_item(TableName="app-Cart", Item=item)
    expect("a deletion asks", checkout.undeploy(answer="no\n"), 1, "kept: table app-Cart", "lost: the logs in /app/cart", "nothing is deleted")
    assert checkout.stack() is not None, "the stack was deleted without a confirmation"
    expect("a confirmed deletion", checkout.undeploy(answer="app-cart\n"), 0, "deleted")
    assert (checkout.stack(), checkout.tables()) == (None, TABLES), checkout.tables()
    expect("the retained tables are reported", checkout.deploy(), 1, f"exist already: {', '.join(TABLES)}. Use them with their items: make deploy STACK=cart ARGS=--take-over")
    expect("a deployment takes over the tables", checkout.deploy("--take-over"), 0, "importing app-Cart")
    assert table.get_item(TableName="app-Cart", Key=item)["Item"] == item, "the item is lost"
    expect("the imported tables belong to the stack", checkout.deploy("--check"), 0, "nothing prevents the deployment")


def data_is_deleted_on_request(checkout):
    buckets = checkout.cloud.service("s3")
    [own] = [one["OutputValue"] for one in checkout.stack()["Outputs"] if one["OutputKey"] == "FailedChangesBucket"]
    buckets.put_object(Bucket=own, Key="aws/lambda/one", Body=b"{}")
    expect("a deletion with its data", checkout.undeploy("--yes", "--delete-data"), 0, "lost: table app-Cart", f"lost: bucket {own}")
    left = [one["Name"] for one in buckets.list_buckets()["Buckets"]]
    assert not checkout.tables() and own not in left, (checkout.tables(), left)
    expect("nothing prevents another creation", checkout.deploy("--check"), 0, "nothing prevents the deployment")
    expect("a deleted stack is not deleted again", checkout.undeploy("--yes"), 1, "there is no stack app-cart")


def main():
    with contextlib.ExitStack() as held:
        folder = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        [port] = free_ports(1)
        issuer = held.enter_context(Issuer().running())
        cloud = held.enter_context(running(ROOT / ".venv/bin/ministack", int(port), folder))
        checkout = Checkout(folder, cloud, issuer.url)
        a_wrong_issuer_changes_nothing(checkout)
        a_failed_creation_does_not_block_the_next(checkout)
        a_removed_setting_gets_its_default(checkout)
        a_new_deployment_uses_the_tables_of_a_deleted_stack(checkout)
        data_is_deleted_on_request(checkout)


main()
