"""What SAM makes of template.yaml, offline: how many resources, that a version of each function is called and never the
function itself, that tables and failures are kept, and that all has its alarm. Writes what SAM made.
"""

import json
import logging
import os
import re
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

# CloudFormation takes 500; the rest is for what comes.
MOST = 450
METRICS_OF_AN_ALARM = 10
# A shard is read by two consumers without throttling.
MAX_CONSUMERS_OF_A_STREAM = 2
# The log group of a crate's functions, where it is not named after the crate.
LOGS = {"export": "CartLogs"}
# What may name a function: these are about it, and do not call it.
ABOUT = {"AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"}


def main(template: Path, made: Path) -> None:
    resources = transform(yaml_parse(template.read_text()))
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(json.dumps({"AWSTemplateFormatVersion": "2010-09-09", **resources}, indent=1))
    stack = Stack(resources["Resources"])
    faults = [*stack.size(), *stack.calls(), *stack.keeps(), *stack.alarms(), *stack.dashboards(), *stack.streams(), *stack.logs()]
    for fault in faults:
        print(fault)
    print(f"{len(stack.resources)} resources, {len(stack.functions)} functions, {len(faults)} faults")
    sys.exit(bool(faults))


def transform(template: dict) -> dict:
    logging.disable(logging.WARNING)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # As after `sam package`.
            resource["Properties"]["CodeUri"] = "s3://bucket/" + resource["Properties"]["CodeUri"]
    policies = {"AWSLambdaBasicExecutionRole": "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"}
    return Translator(policies, Parser()).translate(template, {})


class Stack:
    def __init__(self, resources: dict) -> None:
        self.resources = resources
        self.functions = set(self.of("AWS::Lambda::Function"))

    def of(self, kind: str) -> dict:
        return {name: one["Properties"] for name, one in self.resources.items() if one["Type"] == kind}

    def size(self):
        if len(self.resources) >= MOST:
            yield f"{len(self.resources)} resources; it must be fewer than {MOST}"

    def calls(self):
        aliases = {one["FunctionName"]["Ref"] for one in self.of("AWS::Lambda::Alias").values()}
        yield from (f"{name} has no alias" for name in self.functions - aliases)
        for name, resource in self.resources.items():
            # With a qualifier it is the alias.
            if resource["Type"] not in ABOUT and "Qualifier" not in resource["Properties"]:
                yield from (f"{name} calls {one} and not its alias" for one in self.functions & names(resource))

    def keeps(self):
        for name, table in self.of("AWS::DynamoDB::Table").items():
            if not table["DeletionProtectionEnabled"] or not table["SSESpecification"]["SSEEnabled"]:
                yield f"{name} is not protected, or not encrypted"
            if self.resources[name].get("DeletionPolicy") != "Retain":
                yield f"{name} goes with the stack"
        for name, mapping in self.of("AWS::Lambda::EventSourceMapping").items():
            if not mapping.get("DestinationConfig"):
                yield f"{name} drops what its function fails on"
        kept = self.of("AWS::Lambda::EventInvokeConfig").values()
        kept = {one["FunctionName"]["Ref"] for one in kept if one.get("DestinationConfig")}
        for name, rule in self.of("AWS::Events::Rule").items():
            if not kept.issuperset(self.called(target["Arn"]) for target in rule["Targets"]):
                yield f"{name} drops what its function fails on"

    def alarms(self):
        alarms = self.of("AWS::CloudWatch::Alarm")
        watched = Counter()
        for name, alarm in alarms.items():
            if "AlarmActions" not in alarm:
                yield f"{name} tells nobody"
            metrics = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", []) if "MetricStat" in query]
            if len(metrics) > METRICS_OF_AN_ALARM:
                yield f"{name} has {len(metrics)} metrics"
            for metric in [*metrics, *([alarm] if "MetricName" in alarm else [])]:
                watched.update((metric["MetricName"], one) for one in names(metric.get("Dimensions")))
            for query in alarm.get("Metrics", []):
                for metric in re.findall(r"SUM\((\w+)\)", str(query.get("Expression"))):
                    watched.update((metric, one) for one in names(query))
        wanted = [("Errors", name) for name in self.functions]
        for metric in ("ThrottledRequests", "SystemErrors"):
            wanted += [(metric, name) for name in self.of("AWS::DynamoDB::Table")]
        for mapping in self.of("AWS::Lambda::EventSourceMapping").values():
            wanted.append(("IteratorAge", self.called(mapping["FunctionName"])))
        for rule in self.of("AWS::Events::Rule").values():
            wanted += [("AsyncEventsDropped", self.called(target["Arn"])) for target in rule["Targets"]]
        for metric, name in wanted:
            if watched[metric, name] != 1:
                yield f"{name} has {watched[metric, name]} alarms of {metric}, not 1"

    def streams(self):
        mappings = self.of("AWS::Lambda::EventSourceMapping").values()
        consumers = Counter(json.dumps(mapping["EventSourceArn"]) for mapping in mappings)
        for stream, count in consumers.items():
            if count > MAX_CONSUMERS_OF_A_STREAM:
                yield f"{stream} has {count} consumers; a stream takes {MAX_CONSUMERS_OF_A_STREAM}"

    def logs(self):
        """A function's log group is its service's: defects are counted there."""
        for name, function in self.of("AWS::Lambda::Function").items():
            crate = crate_of(Path(function["Code"]["S3Key"]).name)
            wanted, group = LOGS.get(crate, f"{crate.title()}Logs"), function.get("LoggingConfig", {}).get("LogGroup")
            if group != {"Ref": wanted}:
                yield f"{name} logs to {group}, not to {wanted}"

    def called(self, alias: dict) -> str:
        return self.resources[alias["Ref"]]["Properties"]["FunctionName"]["Ref"]

    def dashboards(self):
        shown = set()
        for name, dashboard in self.of("AWS::CloudWatch::Dashboard").items():
            try:
                json.loads(dashboard["DashboardBody"]["Fn::Sub"])
            except ValueError as error:
                yield f"{name} is no JSON: {error}"
            shown |= names(dashboard["DashboardBody"])
        wanted = self.functions | set(self.of("AWS::DynamoDB::Table")) | set(self.of("AWS::CloudWatch::Alarm"))
        yield from (f"no dashboard shows {name}" for name in sorted(wanted - shown))


def crate_of(function: str) -> str:
    [source] = Path("crates").glob(f"*/src/bin/{function}.rs")
    return source.parts[1]


def names(node) -> set[str]:
    """The names in a part of the template, of parameters and resources."""
    text = json.dumps(node)
    found = re.findall(r'"Ref": "(\w+)"|"Fn::GetAtt": \["(\w+)"|\$\{(\w+)[.}]', text)
    return {name for groups in found for name in groups if name}


if __name__ == "__main__":
    main(Path("template.yaml"), Path("target/template.json"))
