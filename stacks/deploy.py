"""Deploys a stack with its section of samconfig.toml, or the five stacks in turn.

Usage: deploy.py <sam> <stack, or nothing for all> [options of sam deploy]

A version of a function keeps its settings, and SAM publishes a version only for changed code
(docs/decisions/stacks.md).
This script therefore writes a checksum of the stack's settings into the folder of each binary.
"""

import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What the bank's day needs at 70 % utilisation, by IndexProjection. A test compares the values with
# `make plan` (docs/decisions/indexes.md).
NEEDED = {
    "KEYS_ONLY": {"WriteShards": 4, "WarmWriteUnits": 21000},
    "ALL": {"WriteShards": 32, "WarmWriteUnits": 32000},
}
# What the ledger needs if it executes the payments of that day.
NEEDED_TO_PAY = {"WarmWriteUnits": 8000}
# A stack comes after the stacks whose outputs it takes.
STACKS = ["ledger", "bank", "cart", "lake", "wellness"]


def template_of(stack):
    return ROOT / ("template.yaml" if stack == "system" else f"stacks/{stack}.yaml")


def settings(section):
    """Returns the parameters of a section."""
    given = section.get("parameter_overrides", [])
    pairs = shlex.split(given) if isinstance(given, str) else given
    return dict(pair.split("=", 1) for pair in pairs)


def lacking(stack, section, needed):
    """Returns the settings that are below the needed values, as `name=needed`."""
    declared = re.findall(r"^  (\w+):\n(?:    .*\n)*?    Default: (\S+)$", template_of(stack).read_text(), re.MULTILINE)
    values = {**dict(declared), **settings(section)}
    least = needed(values)
    return [f"{name}={most}" for name, most in least.items() if values[name].isdigit() and int(values[name]) < most]


def warn(stack, config):
    """Warns if the bank, or the ledger that executes its payments, has settings below what the bank's day needs."""
    bank = settings(config["bank"]["deploy"]["parameters"])
    needed = {
        "bank": lambda values: NEEDED["KEYS_ONLY" if values["IndexProjection"] == "KEYS_ONLY" else "ALL"],
        "ledger": lambda _: NEEDED_TO_PAY if bank.get("TransactionService") == "ledger" else {},
    }
    service = "bank" if stack == "system" else stack
    if service in needed and (names := lacking(stack, config[stack]["deploy"]["parameters"], needed[service])):
        print(
            f"warning: the {service} is deployed with less than {' '.join(names)}. Until its tables have grown, DynamoDB throttles "
            "the peak of a million payments in 30 minutes. docs/operations.md#warm-throughput has the price of these settings",
            file=sys.stderr,
            flush=True,
        )


def mark(folder, stack, section):
    """Writes the checksum of the stack's settings into the folder of each of its binaries."""
    text = template_of(stack).read_text()
    declared = re.findall(r"^  (\w+):$", text.partition("\nParameters:\n")[2].partition("\nConditions:\n")[0], re.MULTILINE)
    own = {name: value for name, value in settings(section).items() if name in declared}
    checksum = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()
    for function in re.findall(r"CodeUri: \.\./target/lambda/(\S+)", text):
        if not (folder / function / "bootstrap").exists():
            sys.exit(f"target/lambda/{function}/bootstrap is missing: make build")
        (folder / function / "settings").write_text(f"{checksum}\n")


def sources(stack, given):
    """Returns the outputs that are parameters of this stack, each with its stack."""
    if stack == "lake":
        return {
            "CartStreamArn": "cart",
            "PaymentSchedulerStreamArn": "bank",
            "TransactionHistoryStreamArn": "bank",
            "FinancialTransactionsStreamArn": "ledger",
        }
    return {"LedgerTableName": "ledger"} if stack == "bank" and given.get("TransactionService") == "ledger" else {}


def outputs(sam, config, stack):
    section = config[stack]["deploy"]["parameters"]
    command = [sam, "list", "stack-outputs", "--stack-name", section["stack_name"], "--output", "json"]
    command += [part for option in ("region", "profile") if option in section for part in (f"--{option}", section[option])]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {one["OutputKey"]: one["OutputValue"] for one in json.loads(answer)}


def deploy(sam, stack, config, options):
    section = config[stack]["deploy"]["parameters"]
    for part in STACKS if stack == "system" else [stack]:
        mark(ROOT / "target/lambda", part, section)
    command = [sam, "deploy", "--config-file", ROOT / "samconfig.toml", "--config-env", stack, "--template-file", template_of(stack)]
    given = settings(section)
    missing = {name: source for name, source in sources(stack, given).items() if name not in given}
    found = {source: outputs(sam, config, source) for source in sorted(set(missing.values()))}
    if missing:
        given |= {name: found[source][name] for name, source in missing.items()}
        command += ["--parameter-overrides", *(f"{name}={value}" for name, value in given.items())]
    warn(stack, config)
    print(f"deploying {stack}", flush=True)
    subprocess.run([*command, *options], check=True)


def main(sam, stack, *options):
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    if stack and stack not in (*STACKS, "system"):
        sys.exit(f"there is no stack {stack}: choose one of {', '.join(STACKS)}, or system for all of them as one")
    for one in [stack] if stack else STACKS:
        try:
            deploy(sam, one, config, options)
        except subprocess.CalledProcessError as error:
            sys.exit(f"{one} is not deployed: {pathlib.Path(error.cmd[0]).name} {error.cmd[1]} failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
