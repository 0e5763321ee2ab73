"""Tests `make deploy`: the order of the stacks, their settings, and the functions that a changed setting affects.

A fake sam records its calls and returns the outputs of all stacks.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/app-%s/stream/2026-12-01T00:00:00.000"
STREAMS = {f"{table}StreamArn": ARN % table for table in ("Cart", "PaymentScheduler", "TransactionHistory", "FinancialTransactions")}
OUTPUTS = [{"OutputKey": key, "OutputValue": value} for key, value in {**STREAMS, "LedgerTableName": "app-Books"}.items()]
SAM = f"""#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
*"$FAILS"*) exit 1 ;;
list*) echo '{json.dumps(OUTPUTS)}' ;;
esac
"""


class Checkout:
    """A copy of the deployed files, with a fake sam."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "stacks", folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("template.yaml", "samconfig.toml"):
            shutil.copy(ROOT / name, folder / name)
        for template in (folder / "stacks").glob("*.yaml"):
            for function in re.findall(r"target/lambda/(\S+)", template.read_text()):
                binary = folder / "target/lambda" / function / "bootstrap"
                binary.parent.mkdir(parents=True)
                binary.touch()
        (folder / "sam").write_text(SAM)
        (folder / "sam").chmod(0o755)

    def deploy(self, stack, *options, fails="nothing"):
        """Returns the calls of sam and the error output."""
        calls = self.folder / "calls"
        calls.write_text("")
        command = [sys.executable, self.folder / "stacks/deploy.py", self.folder / "sam", stack, *options]
        environment = {**os.environ, "CALLS": str(calls), "FAILS": fails}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return calls.read_text().splitlines(), done.stderr.strip()

    def marks(self):
        return {file.parent.name: file.read_text() for file in self.folder.glob("target/lambda/*/settings")}

    def change(self, old, new):
        config = self.folder / "samconfig.toml"
        assert old in config.read_text()
        config.write_text(config.read_text().replace(old, new))


def functions(stack):
    return set(re.findall(r"target/lambda/(\S+)", (ROOT / f"stacks/{stack}.yaml").read_text()))


def warnings(checkout):
    """Checks that a deployment of the bank warns below what its day needs. Leaves the bank with enough."""
    begin = "warning: the bank is deployed with less than "
    paying = "warning: the ledger is deployed with less than WarmWriteUnits=8000. "

    def warned(stack):
        said = checkout.deploy(stack)[1]
        assert said == "" or said.startswith(begin), said
        return said.removeprefix(begin).partition(". ")[0]

    assert [warned(stack) for stack in ("cart", "ledger", "system")] == ["", "", "WarmWriteUnits=21000"]
    given = "Name=app"
    for settings, least in [
        ("WarmWriteUnits=20999", "WarmWriteUnits=21000"),
        ("WarmWriteUnits=x", ""),
        ("WriteShards=3 WarmWriteUnits=30000", "WriteShards=4"),
        ("WriteShards=4 WarmWriteUnits=21000", ""),
        ("IndexProjection=KEYS_ONLY_AND_ALL WarmWriteUnits=21000", "WriteShards=32 WarmWriteUnits=32000"),
        ("IndexProjection=ALL WriteShards=31 WarmWriteUnits=32000", "WriteShards=32"),
        ("IndexProjection=ALL WriteShards=32 WarmWriteUnits=32000", ""),
        ("WarmWriteUnits=21000", ""),
    ]:
        wanted = f"Name=app {settings}"
        checkout.change(f'"{given} JwtIssuer=https://issuer.example JwtAudience=app"\n\n[cart', f'"{wanted} JwtIssuer=https://issuer.example JwtAudience=app"\n\n[cart')
        assert warned("bank") == least, settings
        given = wanted
    service = " TransactionService=ledger"
    checkout.change(given, given + service)
    said = checkout.deploy("ledger")[1]
    assert said.startswith(paying), said
    checkout.change(given + service, given)


def main():
    with tempfile.TemporaryDirectory() as name:
        checkout = Checkout(pathlib.Path(name))
        calls, said = checkout.deploy("")
        order = [re.search(r"--config-env (\w+)", call)[1] for call in calls if call.startswith("deploy")]
        assert order == ["ledger", "bank", "cart", "lake", "wellness"], order
        assert said.startswith("warning: the bank is deployed with less than WarmWriteUnits=21000. "), said
        assert said.count("\n") == 0, said
        [lake] = [call for call in calls if "--config-env lake" in call]
        given = " ".join(f"{name}={arn}" for name, arn in STREAMS.items())
        assert lake.endswith(f"stacks/lake.yaml --parameter-overrides Name=app {given}"), lake

        warnings(checkout)
        assert checkout.deploy("")[1] == ""

        before = checkout.marks()
        checkout.change('stack_name = "app-bank"', 'stack_name = "other-bank"')
        checkout.change("WarmWriteUnits=21000 JwtIssuer=https://issuer.example JwtAudience=app\"\n\n[cart", "WarmWriteUnits=21000 ReadShards=7 JwtIssuer=https://issuer.example JwtAudience=app\"\n\n[cart")
        checkout.deploy("")
        after = checkout.marks()
        assert {one for one in before if before[one] != after[one]} == functions("bank"), "a setting of the bank affects only the bank"

        checkout.change('"JwtIssuer=https://issuer.example JwtAudience=app"', '"WarmWriteUnits=21000 JwtIssuer=https://issuer.example JwtAudience=app"')
        assert checkout.deploy("system")[1] == ""
        before = checkout.marks()
        checkout.change('"WarmWriteUnits=21000 JwtIssuer=https://issuer.example JwtAudience=app"', '"WarmWriteUnits=21000 JwtIssuer=https://issuer.example JwtAudience=app CartDays=9"')
        calls, _ = checkout.deploy("system", "--no-confirm-changeset")
        [call] = calls
        assert call.endswith("--template-file " + str(checkout.folder / "template.yaml") + " --no-confirm-changeset"), call
        after = checkout.marks()
        assert {one for one in before if before[one] != after[one]} == functions("cart"), "a setting of the cart affects only the cart, also in the stack with all services"

        checkout.change(" ReadShards=7", " TransactionService=ledger ReadShards=7")
        calls, _ = checkout.deploy("bank")
        assert calls[-1].endswith(" LedgerTableName=app-Books") and "TransactionService=ledger" in calls[-1], calls
        checkout.change(" TransactionService=ledger ReadShards=7", " ReadShards=7")

        calls, said = checkout.deploy("", fails="--config-env cart")
        assert (len(calls), said) == (3, "cart is not deployed: sam deploy failed"), (calls, said)
        assert checkout.deploy("bnak") == ([], "there is no stack bnak: choose one of ledger, bank, cart, lake, wellness, or system for all of them as one")
        (checkout.folder / "target/lambda/get-payment/bootstrap").unlink()
        assert checkout.deploy("bank") == ([], "target/lambda/get-payment/bootstrap is missing: make build")
    print("make deploy: order, settings and failures are right")


main()
