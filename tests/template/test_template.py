"""Checks the templates offline: the result of SAM's transform of each stack, and the parameters that the root passes.

Each stack must be small enough, invoke functions by their aliases, and retain tables and failed events. Its functions must
log to the log group of the service. Alarms and the dashboard must be complete. Writes the transformed templates to a folder.
"""

import json
import re
import sys
from collections import Counter
from functools import reduce
from pathlib import Path

import yaml
from athena import CHANGE, CONSOLE, NAMES, QUERY, TRACE
from sam import transform
from samtranslator.yaml_helper import yaml_parse

# CloudFormation allows 500 resources per stack. The lower limit leaves a reserve.
MAX_RESOURCES = 450
MAX_LINES_OF_A_STACK = 2200
MAX_LINES_OF_A_FUNCTION = 40
# DynamoDB recommends at most two consumers per stream shard, to avoid throttling.
MAX_CONSUMERS_OF_A_STREAM = 2
# docs/operations.md promises an alarm for records that are older than 15 minutes.
MAX_STREAM_AGE_MS = 900_000
# Value of WebOrigin in the translated templates.
ORIGIN = "https://web.example"
METHODS = {"get", "post", "put", "patch", "delete"}
# Resource types that may refer to a function without invoking it.
ABOUT = {"AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"}
# The property of an encrypted resource. Without a key, AWS uses its own keys.
KEY = {"Fn::If": ["HasKey", {"Ref": "KmsKeyArn"}, {"Ref": "AWS::NoValue"}]}
# The encryption of a table with this key.
SSE = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": {"Ref": "KmsKeyArn"}}
# The key of the account tokens. CloudFormation reads the secret.
TOKEN_KEY = {"Fn::If": ["HasTokenSecret", {"Fn::Sub": "{{resolve:secretsmanager:${AccountTokenSecretArn}}}"}, ""]}
# Parameters of a nested stack that the root stack sets itself.
SET_BY_ROOT = {
    "Name",
    "CartStreamArn",
    "PaymentSchedulerStreamArn",
    "TransactionHistoryStreamArn",
    "FinancialTransactionsStreamArn",
    "LedgerTableName",
}
# Parameters with another default in the root stack, which has all services.
DEFAULTS_OF_ROOT = {"TransactionService": "ledger"}


def main(root: Path, made: Path) -> None:
    made.mkdir(parents=True, exist_ok=True)
    files = sorted((root.parent / "stacks").glob("*.yaml"))
    templates = {file: yaml_parse(file.read_text()) for file in files}
    faults = [*root_faults(yaml_parse(root.read_text()), templates), *advice(root.parent / "docs"), *pins(root.parent / ".github/workflows")]
    for file, template in templates.items():
        translated = transform(template, {"WebOrigin": ORIGIN})
        (made / f"{file.stem}.json").write_text(json.dumps({"AWSTemplateFormatVersion": "2010-09-09", **translated}, indent=1))
        stack = Stack(file.stem, translated["Resources"])
        found = [*lines(file), *stack.faults(), *first_hour(stack.of("AWS::Glue::Table"), Path("crates/lake/src/sql.rs"))]
        faults += [f"{file.name}: {fault}" for fault in found]
        print(f"{file.name}: {len(stack.resources)} resources, {len(stack.functions)} functions")
    print("\n".join(faults) if faults else "no faults")
    sys.exit(bool(faults))


def root_faults(root: dict, templates: dict):
    """Checks that the root nests every stack, and passes each parameter with the same name and declaration."""
    nested = {one["Properties"]["Location"]: one["Properties"]["Parameters"] for one in root["Resources"].values()}
    if set(nested) != {f"stacks/{file.name}" for file in templates}:
        yield f"template.yaml nests {sorted(nested)}; it must nest every stack"
    passed = set()
    for file, template in templates.items():
        given = nested.get(f"stacks/{file.name}", {})
        if set(given) != set(template["Parameters"]):
            yield f"template.yaml and {file.name} differ in the parameters {sorted(set(given) ^ set(template['Parameters']))}"
        for name in set(given) - SET_BY_ROOT:
            passed.add(name)
            if given[name] != {"Ref": name}:
                yield f"template.yaml passes {given[name]} as {name}"
            declared = template["Parameters"].get(name)
            if name in DEFAULTS_OF_ROOT:
                declared = {**declared, "Default": DEFAULTS_OF_ROOT[name]}
            if root["Parameters"].get(name) != declared:
                yield f"{name} is declared differently in template.yaml and {file.name}"
    yield from (f"template.yaml declares the parameter {name}, but no stack does" for name in set(root["Parameters"]) - passed)
    if root["Parameters"].get("ProtectTables", {}).get("Default") != "true":
        yield "ProtectTables does not protect the tables by default"


def advice(docs: Path):
    """Checks that no page tells operators to redrive an execution. The query that creates a state would find its own files."""
    for page in sorted(docs.rglob("*.md")):
        if re.search(r"(?i)(?<!do not )\bredrive\b", " ".join(page.read_text().split())):
            yield f"{page} advises to redrive an execution; a new execution writes a state with a new name"


def pins(workflows: Path):
    """Checks that each workflow names the commits of its actions. A tag can be moved to other code."""
    for workflow in sorted(workflows.glob("*.yml")):
        for action in re.findall(r"uses: (\S+)", workflow.read_text()):
            if not re.fullmatch(r"[^@]+@[0-9a-f]{40}", action):
                yield f"{workflow} uses {action} without a commit"


def first_hour(tables: dict, source: Path):
    """Checks that FIRST_HOUR has the format of the partition column. Athena parses the value to prune partitions."""
    value = re.search(r'FIRST_HOUR: &str = "(.*)"', source.read_text())[1]
    for name, table in tables.items():
        form = table["TableInput"]["Parameters"].get("projection.hour.format")
        if form and not re.fullmatch(re.sub(r"[yMdH]", r"\\d", form), value):
            yield f"FIRST_HOUR is {value}, but the hours of {name} have the format {form}"


def lines(file: Path):
    text = file.read_text()
    # Nobody edits the sections that make docs writes.
    written = re.sub(r"(?s)  # The [^\n]*: written from [^\n]* by make docs\.\n.*?  # The end of [^\n]*\n", "", text)
    if (count := len(written.splitlines())) > MAX_LINES_OF_A_STACK:
        yield f"{count} lines; the maximum is {MAX_LINES_OF_A_STACK}"
    for key, node in resources_of(yaml.compose(text, Loader=yaml.SafeLoader)):
        kind = next(value.value for name, value in node.value if name.value == "Type")
        count = last_line(node) - key.start_mark.line + 1
        if kind == "AWS::Serverless::Function" and count > MAX_LINES_OF_A_FUNCTION:
            yield f"{key.value} has {count} lines; the maximum is {MAX_LINES_OF_A_FUNCTION}"


def resources_of(document: yaml.MappingNode):
    return next(value.value for name, value in document.value if name.value == "Resources")


def last_line(node: yaml.Node) -> int:
    """Returns the line of the last value. The end mark of a block is after the comments that follow it."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        return max(last_line(value) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style:
        return max(last_line(value) for value in node.value)
    end = node.end_mark
    return end.line - (1 if end.column == 0 else 0)


class Stack:
    def __init__(self, service: str, resources: dict) -> None:
        self.service = service
        self.resources = resources
        self.functions = set(self.of("AWS::Lambda::Function"))
        self.alarms = self.of("AWS::CloudWatch::Alarm")

    def faults(self):
        for check in (self.size, self.calls, self.keeps, self.encrypts, self.writes, self.watches, self.shows, self.streams, self.logs, self.releases, self.imports, self.origins, self.workgroups, self.workflows, self.analyst):
            yield from check()

    def of(self, kind: str) -> dict:
        return {name: one["Properties"] for name, one in self.resources.items() if one["Type"] == kind}

    def size(self):
        if len(self.resources) >= MAX_RESOURCES:
            yield f"{len(self.resources)} resources; the limit is {MAX_RESOURCES}"

    def calls(self):
        aliases = {one["FunctionName"]["Ref"] for one in self.of("AWS::Lambda::Alias").values()}
        yield from (f"{name} has no alias" for name in self.functions - aliases)
        for name, resource in self.resources.items():
            # A resource with a qualifier refers to the alias.
            if resource["Type"] not in ABOUT and "Qualifier" not in resource["Properties"]:
                yield from (f"{name} invokes {one} instead of its alias" for one in self.functions & names(resource))

    def keeps(self):
        for name, resource in self.resources.items():
            if resource["Type"] not in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"):
                continue
            # Retain would also keep what a failed first deployment has created, and the next one
            # would find its name in use.
            kept = (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy"))
            if kept != ("RetainExceptOnCreate", "Retain"):
                yield f"{name} has the policies {kept}"
        for name, table in self.of("AWS::DynamoDB::Table").items():
            if table["DeletionProtectionEnabled"] != {"Ref": "ProtectTables"}:
                yield f"ProtectTables does not protect {name}"
            # SSEEnabled without a key chooses the AWS managed key, whose use is billed.
            if table["SSESpecification"] != {"Fn::If": ["HasKey", SSE, {"Ref": "AWS::NoValue"}]}:
                yield f"{name} is not encrypted with the free key of DynamoDB by default"
            if table.get("StreamSpecification", {}).get("StreamViewType", "NEW_AND_OLD_IMAGES") != "NEW_AND_OLD_IMAGES":
                yield f"the stream of {name} does not contain old and new images"
        for name, mapping in self.of("AWS::Lambda::EventSourceMapping").items():
            if not mapping.get("DestinationConfig"):
                yield f"{name} has no destination for failed events"
        kept = self.of("AWS::Lambda::EventInvokeConfig").values()
        kept = {one["FunctionName"]["Ref"] for one in kept if one.get("DestinationConfig")}
        for name, rule in self.of("AWS::Events::Rule").items():
            if not kept.issuperset(self.called(target["Arn"]) for target in rule["Targets"]):
                yield f"{name} has no destination for failed events"

    def encrypts(self):
        """Checks that KmsKeyArn encrypts everything that is stored, and that every role may use this key."""
        stored = {
            "AWS::DynamoDB::Table": ("SSESpecification", "Fn::If", 1, "KMSMasterKeyId"),
            "AWS::Logs::LogGroup": ("KmsKeyId",),
            "AWS::S3::Bucket": ("BucketEncryption", "Fn::If", 1, "ServerSideEncryptionConfiguration", 0, "ServerSideEncryptionByDefault", "KMSMasterKeyID"),
            "AWS::KinesisFirehose::DeliveryStream": ("DeliveryStreamEncryptionConfigurationInput", "KeyARN"),
            "AWS::Athena::WorkGroup": ("WorkGroupConfiguration", "ResultConfiguration", "EncryptionConfiguration", "KmsKey"),
        }
        for kind, path in stored.items():
            for name, resource in self.of(kind).items():
                if reduce(lambda node, key: node[key] if node and (isinstance(key, int) or key in node) else None, path, resource) not in (KEY, KEY["Fn::If"][1]):
                    yield f"{name} is not encrypted with KmsKeyArn"
        [use] = self.of("AWS::IAM::ManagedPolicy").values()
        # CodeDeploy only points aliases to versions.
        roles = set(self.of("AWS::IAM::Role")) - {"CodeDeployServiceRole"}
        if (differ := roles ^ {role.get("Fn::If", [None, role])[1]["Ref"] for role in use["Roles"]}):
            yield f"the roles of KeyUse differ from those of the stack: {sorted(differ)}"

    def writes(self):
        """Checks that each condition on partition keys excludes some keys."""
        for name, role in self.of("AWS::IAM::Role").items():
            if re.search(r'"dynamodb:LeadingKeys": \[[^]]*"\*', json.dumps(role)):
                yield f"{name} has a condition on partition keys that starts with a wildcard"

    def watches(self):
        """Checks that each kind of failure has an alarm. Metric filters of a log group cover all functions that log to it."""
        yield from (f"{name} has no alarm actions" for name, alarm in self.alarms.items() if "AlarmActions" not in alarm)
        for name, alarm in self.alarms.items():
            if alarm["TreatMissingData"] == "breaching" and "fires from the deployment until the first" not in alarm["AlarmDescription"]:
                yield f"{name} does not say that it fires before its first data point"
        namespace = {"Fn::Sub": f"${{Name}}/{self.service}"}
        filtered = {}
        for one in self.of("AWS::Logs::MetricFilter").values():
            [metric] = one["MetricTransformations"]
            if one["LogGroupName"] == {"Ref": "Logs"} and metric["MetricNamespace"] == namespace:
                filtered[metric["MetricName"]] = one["FilterPattern"]
        wanted = {"Failures", "Defects", "UnreadableItems"} | ({"StreamAgeMs"} if self.of("AWS::Lambda::EventSourceMapping") else set())
        watched = [one["MetricName"] for one in self.alarms.values() if one.get("Namespace") == namespace and "Dimensions" not in one]
        yield from (f"no metric filter counts {metric} in the service's log group" for metric in wanted - set(filtered))
        yield from (f"no alarm watches {metric}" for metric in wanted - set(watched))
        for name, alarm in self.alarms.items():
            if alarm.get("MetricName") == "StreamAgeMs" and alarm["Threshold"] > MAX_STREAM_AGE_MS:
                yield f"{name} permits an age of {alarm['Threshold']} ms; the maximum is {MAX_STREAM_AGE_MS}"
        named = Counter()
        for alarm in self.alarms.values():
            metrics = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", []) if "MetricStat" in query]
            for metric in [*metrics, *([alarm] if "MetricName" in alarm else [])]:
                named.update((metric["MetricName"], str(one["Value"])) for one in metric.get("Dimensions", []))
            for query in alarm.get("Metrics", []):
                for metric in re.findall(r"SUM\((\w+)\)", str(query.get("Expression"))):
                    named.update((metric, one) for one in names(query))
        needed = [(metric, name) for metric in ("ThrottledRequests", "SystemErrors") for name in self.of("AWS::DynamoDB::Table")]
        needed += [("FailedInvocations", str(rule["Name"])) for rule in self.of("AWS::Events::Rule").values()]
        needed += [("5xx", str({"Ref": api})) for api in self.of("AWS::ApiGatewayV2::Api")]
        if self.of("AWS::Lambda::EventSourceMapping") or self.of("AWS::Events::Rule"):
            needed.append(("PutRequests", str({"Ref": "FailedChanges"})))
        yield from (f"{name} has {named[metric, name]} alarms for {metric} instead of 1" for metric, name in needed if named[metric, name] != 1)

    def shows(self):
        """Checks that the dashboard shows every alarm and table, and finds function metrics with SEARCH."""
        [(name, dashboard)] = self.of("AWS::CloudWatch::Dashboard").items()
        try:
            body = json.loads(dashboard["DashboardBody"]["Fn::Sub"])
        except ValueError as error:
            yield f"{name} is not JSON: {error}"
            return
        shown = names(dashboard["DashboardBody"])
        for wanted in sorted(self.alarms.keys() | self.of("AWS::DynamoDB::Table").keys()):
            if wanted not in shown:
                yield f"{name} does not show {wanted}"
        metrics = [metric for widget in body["widgets"] for row in widget["properties"].get("metrics", []) for metric in row]
        searches = [metric["expression"] for metric in metrics if isinstance(metric, dict) and "expression" in metric]
        if self.resources[name].get("Condition") != "HasDashboard":
            yield f"{name} is created and billed without the parameter Dashboards"
        # CloudWatch divides a search term without quotation marks at hyphens, and Name may have
        # hyphens.
        yield from (f"{name} searches for a name without quotation marks: {search}" for search in searches if re.search(r"=\$", search))
        for stream in self.of("AWS::KinesisFirehose::DeliveryStream"):
            if stream not in shown:
                yield f"{name} does not show {stream}"
        for metric in ("LatencyMs", "Defects", "UnreadableItems"):
            wanted = f"SEARCH('{{\"${{Name}}/{self.service}\",Function}} MetricName=\"{metric}\"',"
            if not any(search.startswith(wanted) for search in searches):
                yield f"{name} does not search for {metric}"

    def streams(self):
        mappings = self.of("AWS::Lambda::EventSourceMapping").values()
        consumers = Counter(json.dumps(mapping["EventSourceArn"]) for mapping in mappings)
        for stream, count in consumers.items():
            if count > MAX_CONSUMERS_OF_A_STREAM:
                yield f"{stream} has {count} consumers; the maximum is {MAX_CONSUMERS_OF_A_STREAM}"

    def logs(self):
        """Checks that every function is in the stack of its service, and uses the log group and metrics namespace of the service."""
        for name, function in self.of("AWS::Lambda::Function").items():
            binary = function["Code"]["S3Key"]
            if (service := service_of(binary)) != self.service:
                yield f"{name} belongs to the stack {service}"
            if function["FunctionName"] != {"Fn::Sub": f"${{Name}}-{binary}"}:
                yield f"{name} is named {function['FunctionName']}"
            if (group := function.get("LoggingConfig", {}).get("LogGroup")) != {"Ref": "Logs"}:
                yield f"{name} logs to {group}, not to Logs"
            namespace = function["Environment"]["Variables"].get("METRICS_NAMESPACE")
            if namespace != {"Fn::Sub": f"${{Name}}/{self.service}"}:
                yield f"{name} has the metrics namespace {namespace}"
            token = function["Environment"]["Variables"].get("ACCOUNT_TOKEN_KEY", TOKEN_KEY)
            if token != TOKEN_KEY:
                yield f"{name} does not take its token key from Secrets Manager: {token}"
            # `sam local invoke` drops a variable whose value is not a plain reference.
            if function["Environment"]["Variables"].get("AWS_ENDPOINT_URL") != {"Ref": "EndpointUrl"}:
                yield f"{name} does not take its endpoint from EndpointUrl"
        group = self.of("AWS::Logs::LogGroup").get("Logs", {}).get("LogGroupName")
        if group != {"Fn::Sub": f"/${{Name}}/{self.service}"}:
            yield f"the log group is named {group}"

    def releases(self):
        """Checks that only alarms of the same stack roll back a release."""
        for name, group in self.of("AWS::CodeDeploy::DeploymentGroup").items():
            stopping = names(group.get("AlarmConfiguration")) & self.alarms.keys()
            if stopping != {"FunctionsFail", "Defects"}:
                yield f"the alarms {sorted(stopping)} roll back {name}; expected Defects and FunctionsFail"

    def imports(self):
        """Checks that API Gateway refuses an API that it cannot import as a whole. Otherwise it skips routes, and the deployment succeeds."""
        for name, api in self.of("AWS::ApiGatewayV2::Api").items():
            if api.get("FailOnWarnings") is not True:
                yield f"{name} is deployed without the routes that API Gateway cannot import"

    def origins(self):
        """Checks that a page of WebOrigin can send every request of openapi.yaml, and read every response header."""
        openapi = yaml.load(Path("docs/openapi.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if self.of("AWS::ApiGatewayV2::Api") else {}
        operations = [operation for path in openapi.get("paths", {}).values() for operation in path.items() if operation[0] in METHODS]
        parameters = [*openapi.get("components", {}).get("parameters", {}).values(), *(one for _, operation in operations for one in operation.get("parameters", []))]
        sent = {"authorization", "content-type"} | {one["name"].lower() for one in parameters if one.get("in") == "header"}
        shown = {name.lower() for _, one in operations for answer in one["responses"].values() for name in answer.get("headers", {})}
        shown |= {name.lower() for answer in openapi.get("components", {}).get("responses", {}).values() for name in answer.get("headers", {})}
        for name, api in self.of("AWS::ApiGatewayV2::Api").items():
            # With cors, API Gateway answers preflight requests itself, unless a route matches
            # OPTIONS.
            cors = api["Body"].get("x-amazon-apigateway-cors", {}).get("Fn::If", [None, {}, None])
            if cors[0] != "HasWebOrigin" or cors[1].get("allowOrigins") != [ORIGIN] or cors[2] != {"Ref": "AWS::NoValue"}:
                yield f"{name} does not admit WebOrigin, or admits pages without it"
            if preflight := [path for path, one in api["Body"]["paths"].items() if path == "$default" or not METHODS.issuperset(one)]:
                yield f"{name} requires a token for preflight requests of {preflight}"
            for key, needed in {"allowMethods": {method.upper() for method, _ in operations}, "allowHeaders": sent, "exposeHeaders": shown}.items():
                if lacking := needed - set(cors[1].get(key, [])):
                    yield f"{name} lacks {sorted(lacking)} in {key}"
        for name, bucket in self.of("AWS::S3::Bucket").items():
            if "CorsConfiguration" in bucket and "WebOrigin" not in names(bucket["CorsConfiguration"]):
                yield f"{name} admits another origin than WebOrigin"

    def workgroups(self):
        """Checks that a deletion of the stack also deletes the history of the queries. Without it, CloudFormation cannot delete a workgroup."""
        for name, group in self.of("AWS::Athena::WorkGroup").items():
            if group.get("RecursiveDeleteOption") is not True:
                yield f"{name} cannot be deleted after its first query"

    def workflows(self):
        """Checks that the state machine works in every partition, and that its role can write the traces."""
        for name, machine in self.of("AWS::StepFunctions::StateMachine").items():
            if "arn:aws:" in json.dumps(machine):
                yield f"{name} names the partition aws"
            role = self.of("AWS::IAM::Role")[machine["RoleArn"]["Fn::GetAtt"][0]]
            if machine["TracingConfiguration"]["Enabled"] and (lacking := TRACE - set(allowed(role))):
                yield f"the role of {name} lacks {sorted(lacking)}"

    def analyst(self):
        """Checks that analysts can only query the lake in the workgroup with the scan limit, also with the console or a JDBC driver."""
        roles = self.of("AWS::IAM::Role")
        if "AnalystRole" not in roles:
            return
        [policy] = roles["AnalystRole"]["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]:
            resources = json.dumps(statement["Resource"])
            for action in statement["Action"]:
                service, name = action.split(":")
                reads = name.startswith(("Get", "List", "BatchGet")) or action in ("athena:StartQueryExecution", "athena:StopQueryExecution")
                writes_results = service == "s3" and "athena-results/*" in resources and "changes" not in resources
                if service not in ("athena", "glue", "s3") or not (reads or writes_results):
                    yield f"analysts may {action} on {resources}"
            own = any(one in resources for one in ("${BiWorkGroup}", ":datacatalog/AwsDataCatalog", "${LakeDatabase}", "Lake.Arn", '["Lake", "Arn"]'))
            if not own and not NAMES.issuperset(statement["Action"]):
                yield f"the resources of {statement['Action'][0]} are not specific: {resources}"
        for name, needed in {"AnalystRole": QUERY | CONSOLE | NAMES, "RefreshRole": QUERY | CHANGE}.items():
            if lacking := needed - set(allowed(roles[name])):
                yield f"{name} lacks {sorted(lacking)}"
        limit = self.of("AWS::Athena::WorkGroup")["BiWorkGroup"]["WorkGroupConfiguration"]
        if limit["BytesScannedCutoffPerQuery"] != {"Ref": "QueryScanLimitBytes"} or limit["EnforceWorkGroupConfiguration"] is not True:
            yield "the workgroup of analysts has no enforced scan limit"

    def called(self, alias: dict) -> str:
        return self.resources[alias["Ref"]]["Properties"]["FunctionName"]["Ref"]


def service_of(function: str) -> str:
    [source] = Path("crates").glob(f"*/src/bin/{function}.rs")
    return source.parts[1]


def allowed(role: dict):
    """Returns the actions that a role allows."""
    for policy in role["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield from statement["Action"]


def names(node) -> set[str]:
    """Returns the parameters and resources that a part of the template refers to."""
    text = json.dumps(node)
    found = re.findall(r'"Ref": "(\w+)"|"Fn::GetAtt": \["(\w+)"|\$\{(\w+)[.}]', text)
    return {name for groups in found for name in groups if name}


if __name__ == "__main__":
    main(Path("template.yaml"), Path("target/stacks"))
