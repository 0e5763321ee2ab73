"""Tests `make deploy`: the order of the stacks, their settings, and the functions that a changed setting affects.

A fake sam records its calls, and reads the parameters with SAM's own parser. tests/deploy/test_lifecycle.py uses SAM.
"""

import contextlib
import copy
import io
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from unittest import mock

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "stacks"))

import deploy  # noqa: E402
import undeploy  # noqa: E402
from deployment import settings  # noqa: E402
from deployment.settings import Stack  # noqa: E402
from samcli.cli.types import CfnParameterOverridesType  # noqa: E402

ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/app-%s/stream/2026-12-01T00:00:00.000"
STREAMS = {f"{table}StreamArn": ARN % table for table in ("Cart", "PaymentScheduler", "TransactionHistory", "FinancialTransactions")}
SECTIONS = settings.read()


class OtherStacks:
    """An account in which all other stacks are deployed."""

    def place(self):
        return "the account 123456789012 in us-east-1"

    def __init__(self, section):
        pass

    def outputs(self, _):
        return {**STREAMS, "LedgerTableName": "app-Books"}


class Sam:
    """Records each deployment, with its parameters as SAM reads them."""

    def __init__(self, fails=None):
        self.fails = fails
        self.calls = []

    def run(self, command, check):
        stack = command[command.index("--config-env") + 1]
        at = command.index("--parameter-overrides")
        self.calls.append((stack, read(command[at + 1]), command[at + 2 :]))
        if stack == self.fails:
            raise subprocess.CalledProcessError(1, command)


def read(value):
    return CfnParameterOverridesType().convert((value,), None, None)


def config(stack=None, given=""):
    """Returns samconfig.toml with more settings of a stack."""
    found = copy.deepcopy(SECTIONS)
    if stack:
        found[stack]["deploy"]["parameters"]["parameter_overrides"] += f" {given}"
    return found


def run(name, *options, given=SECTIONS, fails=None, warnings=()):
    """Deploys to a temporary folder. Returns the calls of sam, the marks of the functions, and what was printed."""
    sam, said = Sam(fails), io.StringIO()
    with contextlib.ExitStack() as held:
        root = pathlib.Path(held.enter_context(tempfile.TemporaryDirectory()))
        for function in (one for part in settings.STACKS if name in ("", "system", part) for one in settings.functions(part)):
            (root / "target/lambda" / function).mkdir(parents=True)
        for target, value in [
            ("deploy.ROOT", root), ("deploy.Account", OtherStacks), ("deploy.checks.problems", lambda *_: []),
            ("deploy.checks.warnings", lambda *_: warnings),
            ("deploy.settings.read", lambda: given), ("deploy.subprocess.run", sam.run),
        ]:
            held.enter_context(mock.patch(target, value))
        held.enter_context(contextlib.redirect_stdout(io.StringIO()))
        held.enter_context(contextlib.redirect_stderr(said))
        try:
            deploy.main("sam", name, *options)
        except SystemExit as error:
            said.write(error.code)
        marks = {file.parent.name: file.read_text() for file in root.glob("target/lambda/*/settings")}
    return sam.calls, marks, said.getvalue().strip()


def values_survive_the_parser_of_sam():
    """SAM reads exactly the given value, for every text of up to four of these characters."""
    texts = ["".join(one) for length in range(5) for one in itertools.product("a \\\"',=", repeat=length)]
    values = {f"P{number}": text for number, text in enumerate([*texts, "cron(0 2 * * ? *)", "é\n", "file://x"])}
    with settings.overrides(values) as file:
        assert read(file) == values
    command = read("P=cron(0 2 * * ? *)")
    assert command == {"P": "cron(0"}, f"without the file, SAM cuts a value: {command}"


def every_parameter_is_passed():
    for stack in [*settings.STACKS, "system"]:
        declared = settings.template_of(stack)["Parameters"]
        [(_, passed, _)], _, _ = run(stack)
        assert passed.keys() == declared.keys(), stack
        for name, one in declared.items():
            assert "Default" not in one or name in ("Name", *STREAMS) or passed[name] == settings.text(one["Default"]), (stack, name)
    quoted = "RefreshSchedule='cron(0 3 * * ? *)' AccountTokenSecretArn='a b=c,d\"' CartStreamArn= LakeRetentionDays="
    [(_, passed, _)], _, _ = run("lake", given=config("lake", quoted))
    assert passed["RefreshSchedule"] == "cron(0 3 * * ? *)" and passed["AccountTokenSecretArn"] == 'a b=c,d"', passed
    assert passed["CartStreamArn"] == "", "an empty setting leaves out the source"
    assert passed["LakeRetentionDays"] == "1095", "an empty setting means the default"
    assert passed["PaymentSchedulerStreamArn"] == STREAMS["PaymentSchedulerStreamArn"], passed
    said = run("lake", given=config("lake", "RefreshSchedule='cron(0"))[2]
    assert said == "parameter_overrides of [lake.deploy.parameters] in samconfig.toml cannot be read: No closing quotation. Quote it as in a shell", said
    assert settings.text(True) == "true" and settings.text(5) == "5"


def an_empty_value_never_differs_from_the_default():
    """An empty setting means the default. No parameter may have another use for an empty value."""
    for stack in [*settings.STACKS, "system"]:
        for name, one in settings.template_of(stack)["Parameters"].items():
            if one.get("Default", "") != "":
                assert "" not in one.get("AllowedValues", []), f"{stack} {name}"
                assert "AllowedPattern" not in one or not re.fullmatch(one["AllowedPattern"], ""), f"{stack} {name}"


def a_setting_affects_its_functions():
    """A changed, an added and a removed setting change the checksum of the functions of its stack only."""
    def affected(one, given):
        before, after = run(one)[1], run(one, given=given)[1]
        return {function for function in before if before[function] != after[function]}

    other = config()
    other["bank"]["deploy"]["parameters"]["stack_name"] = "other-bank"
    assert not affected("", other), "the name of a stack is no setting of its functions"
    assert affected("", config("bank", "ReadShards=7")) == set(settings.functions("bank"))
    assert affected("system", config("system", "CartDays=9")) == set(settings.functions("cart"))
    assert not affected("", config("bank", "ReadShards=5")), "a setting that equals the default"


def outputs_become_parameters():
    [(_, passed, _)], _, _ = run("lake")
    assert STREAMS.items() <= passed.items(), passed
    assert run("bank")[0][0][1]["LedgerTableName"] == ""
    assert run("bank", given=config("bank", "TransactionService=ledger"))[0][0][1]["LedgerTableName"] == "app-Books"
    with mock.patch.object(OtherStacks, "outputs", lambda *_: {}):
        said = run("lake")[2]
    assert said == "lake is not deployed: the stack app-cart has no output CartStreamArn. Deploy it: make deploy STACK=cart", said


def the_bank_warns_below_what_its_day_needs():
    def warned(stack, service="bank", given=SECTIONS):
        said = run(stack, given=given)[2]
        begin = f"warning: the {service} is deployed with less than "
        assert said == "" or said.startswith(begin) and "\n" not in said, said
        return said.removeprefix(begin).partition(". ")[0]

    assert [warned(stack) for stack in ("", "cart", "ledger", "system")] == ["WarmWriteUnits=21000", "", "", "WarmWriteUnits=21000"]
    for given, least in [
        ("WarmWriteUnits=20999", "WarmWriteUnits=21000"),
        ("WarmWriteUnits=x", ""),
        ("WriteShards=3 WarmWriteUnits=30000", "WriteShards=4"),
        ("WriteShards=4 WarmWriteUnits=21000", ""),
        ("IndexProjection=KEYS_ONLY_AND_ALL WarmWriteUnits=21000", "WriteShards=32 WarmWriteUnits=32000"),
        ("IndexProjection=ALL WriteShards=31 WarmWriteUnits=32000", "WriteShards=32"),
        ("IndexProjection=ALL WriteShards=32 WarmWriteUnits=32000", ""),
        ("WarmWriteUnits=21000", ""),
    ]:
        assert warned("bank", given=config("bank", given)) == least, given
    assert warned("ledger", "ledger", config("bank", "TransactionService=ledger")) == "WarmWriteUnits=8000"
    assert warned("system", given=config("system", "WarmWriteUnits=21000")) == ""


def stacks_are_deployed_in_turn():
    calls, _, _ = run("", "--no-confirm-changeset")
    assert [stack for stack, _, _ in calls] == ["ledger", "bank", "cart", "lake", "wellness"], calls
    assert all(rest == ["--no-confirm-changeset"] for _, _, rest in calls), calls
    calls, _, said = run("", fails="cart")
    assert ([stack for stack, _, _ in calls], said.splitlines()[-1]) == (["ledger", "bank", "cart"], "cart is not deployed: sam deploy failed"), said
    assert run("bnak") == ([], {}, "there is no stack bnak: choose one of ledger, bank, cart, lake, wellness, or system for all of them as one")
    assert run("cart", "--check", warnings=["one", "two"]) == ([], {}, "warning: one\nwarning: two"), "--check changes nothing"
    assert [stack for stack, _, _ in run("cart", warnings=["one"])[0]] == ["cart"], "a warning prevents no deployment"


def an_old_python_is_refused():
    code = "import runpy, sys; sys.version_info = (3, 10, 12); sys.path.insert(0, sys.argv[1]); runpy.run_module('deploy', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code, ROOT / "stacks"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "make deploy needs Python 3.11 or later. Install it as python3, and run: rm -r .venv/sam && make deploy"), done


def a_deletion_keeps_tables_and_buckets_only():
    """A retained bucket with a fixed name would also prevent the next creation, as a table does."""
    for stack in settings.STACKS:
        for name, one in settings.template_of(stack)["Resources"].items():
            assert one.get("DeletionPolicy", "Delete").startswith("Retain") == (one["Type"] in undeploy.DATA), f"{stack} {name}"
            assert one["Type"] != "AWS::S3::Bucket" or "BucketName" not in one["Properties"], f"{stack} {name}"


def the_policy_of_the_deployer_covers_every_resource():
    policy = (ROOT / "docs/operations.md").read_text().partition("**Permissions of the deployer.**")[2].partition("```json\n")[2].partition("```")[0]
    [statement] = json.loads(policy)["Statement"]
    # The services of a type that do not have its name.
    other = {"serverless": {"lambda", "apigateway", "codedeploy", "iam", "events"}, "kinesisfirehose": {"firehose"}, "stepfunctions": {"states"}}
    for stack in settings.STACKS:
        for name, one in settings.template_of(stack)["Resources"].items():
            service = one["Type"].split("::")[1].lower()
            missing = other.get(service, {service}) - {action.removesuffix(":*") for action in statement["Action"]}
            assert not missing, f"docs/operations.md does not permit {missing}, for {stack} {name}"


def main():
    values_survive_the_parser_of_sam()
    every_parameter_is_passed()
    an_empty_value_never_differs_from_the_default()
    a_setting_affects_its_functions()
    outputs_become_parameters()
    the_bank_warns_below_what_its_day_needs()
    stacks_are_deployed_in_turn()
    an_old_python_is_refused()
    a_deletion_keeps_tables_and_buckets_only()
    the_policy_of_the_deployer_covers_every_resource()
    assert Stack("system", SECTIONS).values()["TransactionService"] == "ledger"
    print("make deploy: order, settings and failures are right")


main()
