"""The stacks, with their templates and their settings in samconfig.toml."""

import contextlib
import functools
import json
import pathlib
import re
import shlex
import sys
import tempfile
import tomllib

from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samtranslator.yaml_helper import yaml_parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A stack comes after the stacks whose outputs it takes.
STACKS = ["ledger", "bank", "cart", "lake", "wellness"]


@functools.cache
def template_of(name):
    """Returns the template of a stack."""
    return yaml_parse(file_of(name).read_text())


def file_of(name):
    return ROOT / ("template.yaml" if name == "system" else f"stacks/{name}.yaml")


class Stack:
    """A stack with its section of samconfig.toml."""

    def __init__(self, name, config):
        self.name = name
        self.config = config
        self.section = self.section_of(name)
        self.stack_name = self.section["stack_name"]
        self.parts = STACKS if name == "system" else [name]
        self.declared = template_of(name)["Parameters"]
        given = self.section.get("parameter_overrides", [])
        try:
            pairs = shlex.split(given) if isinstance(given, str) else given
        except ValueError as error:
            sys.exit(f"parameter_overrides of [{name}.deploy.parameters] in samconfig.toml cannot be read: {error}. Quote it as in a shell")
        self.given = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        # Outputs of other stacks that are parameters of this stack.
        self.found = {}

    def values(self):
        """Returns the value of each parameter of the template. An empty setting means the default.

        SAM keeps the deployed value of a parameter that it does not get. A deployment must therefore
        pass every parameter, so that a removed setting gets its default again.
        """
        known = {**self.found, **self.given}
        return {name: known.get(name) or text(one.get("Default", "")) for name, one in self.declared.items()}

    def sources(self):
        """Returns the parameters that are outputs of other stacks, each with its stack."""
        sources = {}
        if self.name == "lake":
            sources = {
                "CartStreamArn": "cart",
                "PaymentSchedulerStreamArn": "bank",
                "TransactionHistoryStreamArn": "bank",
                "FinancialTransactionsStreamArn": "ledger",
            }
        if self.name == "bank" and self.given.get("TransactionService") == "ledger":
            sources = {"LedgerTableName": "ledger"}
        return {name: source for name, source in sources.items() if name not in self.given}

    def section_of(self, other):
        return self.config[other]["deploy"]["parameters"]

    @functools.cached_property
    def resources(self):
        """Returns the definitions of the resources by logical id, with the settings instead of their references.

        The id of a resource in a nested stack is a path, such as Bank/PaymentScheduler.
        """
        values = {**self.values(), "AWS::StackName": self.stack_name}
        stacks, _ = SamLocalStackProvider.get_stacks(str(file_of(self.name)), parameter_overrides=values)
        return [(str(pathlib.PurePosixPath(stack.stack_path, name)), one) for stack in stacks for name, one in stack.resources.items()]

    def of(self, kind):
        return [(name, one) for name, one in self.resources if one["Type"] == kind]


def functions(name):
    """Returns the names of the binaries of a stack."""
    found = template_of(name)["Resources"].values()
    return [pathlib.Path(one["Properties"]["CodeUri"]).name for one in found if one["Type"] == "AWS::Serverless::Function"]


def read():
    return tomllib.loads((ROOT / "samconfig.toml").read_text())


def text(value):
    """Returns a value of a template as CloudFormation writes it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def quoted(value):
    r"""Quotes a value that SAM would change: SAM removes outer quotes, and replaces `\ `, `\"` and `\'`."""
    if not re.search(r"""^["']|\\[ "']""", value):
        return value
    return '"' + re.sub(r"""\\(?=[ "'])""", r"\\\\", value) + '"'


@contextlib.contextmanager
def overrides(values):
    """Writes the values to a file, and yields it as a value of `--parameter-overrides`.

    SAM's syntax for the command line has no form for an empty value, or for a backslash before a
    quote. The file also keeps secrets out of the list of processes. SAM unquotes the values of a
    file twice.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({name: quoted(quoted(value)) for name, value in values.items()}, file)
        file.flush()
        yield f"file://{file.name}"
