"""Deploys a stack with its section of samconfig.toml, or the five stacks in turn.

Usage: deploy.py <sam> <stack, or nothing for all> [--check] [--take-over] [options of sam deploy]
--check only prints what would prevent the deployment. --take-over imports the tables that a deleted
stack has left.

A version of a function keeps its settings, and SAM publishes a version only for changed code
(docs/decisions/stacks.md).
This script therefore writes a checksum of the stack's settings into the folder of each binary.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

from botocore.exceptions import BotoCoreError, ClientError, WaiterError
from deployment import checks, leftovers, settings
from deployment.account import Account
from deployment.settings import ROOT, STACKS, Stack

# What the bank's day needs at 70 % utilisation, by IndexProjection. A test compares the values with
# `make plan` (docs/decisions/indexes.md).
NEEDED = {
    "KEYS_ONLY": {"WriteShards": 4, "WarmWriteUnits": 21000},
    "ALL": {"WriteShards": 32, "WarmWriteUnits": 32000},
}
# What the ledger needs if it executes the payments of that day.
NEEDED_TO_PAY = {"WarmWriteUnits": 8000}


def needed(stack):
    """Returns the settings that the bank's day needs in this stack."""
    values = stack.values()
    if "bank" in stack.parts:
        return NEEDED["KEYS_ONLY" if values["IndexProjection"] == "KEYS_ONLY" else "ALL"]
    pays = stack.name == "ledger" and Stack("bank", stack.config).values()["TransactionService"] == "ledger"
    return NEEDED_TO_PAY if pays else {}


def warn(stack):
    """Warns if the bank, or the ledger that executes its payments, has settings below what the bank's day needs."""
    values = stack.values()
    lacking = [f"{name}={least}" for name, least in needed(stack).items() if values[name].isdigit() and int(values[name]) < least]
    if lacking:
        print(
            f"warning: the {'bank' if 'bank' in stack.parts else stack.name} is deployed with less than {' '.join(lacking)}. Until its "
            "tables have grown, DynamoDB throttles the peak of a million payments in 30 minutes. "
            "docs/operations.md#warm-throughput has the price of these settings",
            file=sys.stderr,
            flush=True,
        )


def mark(stack):
    """Writes the checksum of a stack's settings into the folder of each of its binaries."""
    values = stack.values()
    for part in stack.parts:
        own = {name: value for name, value in values.items() if name in settings.template_of(part)["Parameters"]}
        checksum = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()
        for function in settings.functions(part):
            (ROOT / "target/lambda" / function / "settings").write_text(f"{checksum}\n")


def find(stack):
    """Takes the parameters that are outputs of other stacks from these stacks."""
    for name, source in stack.sources().items():
        section = stack.section_of(source)
        outputs = Account(section).outputs(section["stack_name"])
        if name not in outputs:
            sys.exit(f"{stack.name} is not deployed: the stack {section['stack_name']} has no output {name}. Deploy it: make deploy STACK={source}")
        stack.found[name] = outputs[name]


def deploy(sam, stack, options):
    find(stack)
    mark(stack)
    warn(stack)
    print(f"deploying {stack.name}", flush=True)
    command = [sam, "deploy", "--config-file", ROOT / "samconfig.toml", "--config-env", stack.name, "--template-file", settings.file_of(stack.name)]
    with settings.overrides(stack.values()) as overrides:
        subprocess.run([*command, "--parameter-overrides", overrides, *options], check=True)


# Options of SAM that contradict what the checks and the import have used.
OF_SECTIONS = ("--profile", "--region", "--stack-name", "--config-file", "--config-env", "--parameter-overrides")


def main(sam, name, *options):
    if name and name not in (*STACKS, "system"):
        sys.exit(f"there is no stack {name}: choose one of {', '.join(STACKS)}, or system for all of them as one")
    if wrong := [one for one in options if one.split("=")[0] in OF_SECTIONS]:
        sys.exit(f"{' '.join(wrong)} cannot be an argument. Set it in the sections of samconfig.toml")
    config = settings.read()
    stacks = [Stack(one, config) for one in ([name] if name else STACKS)]
    takes_over = "--take-over" in options
    if problems := checks.problems(stacks, Account, takes_over):
        sys.exit("\n".join(problems))
    for line in checks.warnings(stacks, Account):
        print(f"warning: {line}", file=sys.stderr, flush=True)
    if "--check" in options:
        places = dict.fromkeys(Account(stack.section).place() for stack in stacks)
        return print(f"nothing prevents the deployment to {' and '.join(places)}")
    for stack in stacks:
        try:
            if takes_over:
                leftovers.take_over(Account(stack.section), stack)
            deploy(sam, stack, [one for one in options if one != "--take-over"])
        except subprocess.CalledProcessError as error:
            sys.exit(f"{stack.name} is not deployed: {pathlib.Path(error.cmd[0]).name} {error.cmd[1]} failed")
        except (BotoCoreError, ClientError, WaiterError) as error:
            sys.exit(f"{stack.name} is not deployed: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
