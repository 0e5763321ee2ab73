"""The stacks as SAM translates them, in the form that ministack deploys."""

import io
import pathlib
import re
import sys
import zipfile

from samtranslator.yaml_helper import yaml_parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/template"))
from sam import transform  # noqa: E402

# Everything that is left out, with the reason. The test fails if a resource is left out for another
# reason.
LEFT_OUT = {
    "AWS::CodeDeploy::Application": "ministack has no CodeDeploy",
    "AWS::CodeDeploy::DeploymentGroup": "ministack has no CodeDeploy",
    "AWS::Athena::NamedQuery": "the CloudFormation of ministack does not create named queries",
    "AWS::Logs::QueryDefinition": "the CloudFormation of ministack does not create queries of logs",
    "metric-math alarm": "the alarms of ministack watch one metric",
}
# Number of resources left out of each stack, without those of CodeDeploy. A higher number fails the
# test.
MAX_LEFT_OUT = {"bank": 7, "cart": 7, "lake": 13, "wellness": 6, "ledger": 7}


class Stack:
    """One stack: its translated template without the resources that ministack lacks."""

    def __init__(self, service):
        self.service = service
        self.template = transform(yaml_parse((ROOT / f"stacks/{service}.yaml").read_text()))
        resources = self.template["Resources"]
        self.left_out = {name: reason for name, one in resources.items() if (reason := unsupported(one))}
        others = [name for name, reason in self.left_out.items() if "CodeDeploy" not in reason]
        assert len(others) <= MAX_LEFT_OUT[service], f"{service}: {others} are left out"
        for name in self.left_out:
            del resources[name]
        for one in resources.values():
            # CodeDeploy shifts the traffic of an alias.
            one.pop("UpdatePolicy", None)
            depends = one.get("DependsOn", [])
            kept = [name for name in ([depends] if isinstance(depends, str) else depends) if name in resources]
            one.pop("DependsOn", None)
            if kept:
                one["DependsOn"] = kept
        for name in [name for name, one in resources.items() if one["Type"] == "AWS::ApiGatewayV2::Api"]:
            resources.update(routes(name, resources[name]["Properties"]))
        self.functions = sorted(one["Properties"]["Code"]["S3Key"] for _, one in self.of("AWS::Lambda::Function"))

    def of(self, kind):
        return [(name, one) for name, one in self.template["Resources"].items() if one["Type"] == kind]

    def wanted(self):
        """Returns the names of the resources that have no condition."""
        return {name for name, one in self.template["Resources"].items() if "Condition" not in one}


def root_template(urls):
    """Returns the root template. `urls` has the uploaded template of each stack."""
    template = yaml_parse((ROOT / "template.yaml").read_text())
    for resource in template["Resources"].values():
        resource["Properties"]["Location"] = urls[pathlib.Path(resource["Properties"]["Location"]).stem]
    return transform(template)


def unsupported(resource):
    """Returns the reason for leaving the resource out, if any."""
    if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]:
        return LEFT_OUT["metric-math alarm"]
    return LEFT_OUT.get(resource["Type"])


def routes(api, properties):
    """Replaces the OpenAPI body of an HTTP API, which ministack ignores, by an authorizer, integrations and routes."""
    body = properties.pop("Body")
    properties.update(Name={"Ref": "AWS::StackName"}, ProtocolType="HTTP")
    properties.pop("FailOnWarnings", None)
    made = {}
    for name, scheme in body["components"]["securitySchemes"].items():
        authorizer = scheme["x-amazon-apigateway-authorizer"]
        made[f"{api}{name}"] = resource("Authorizer", api, {
            "Name": name,
            "AuthorizerType": "JWT",
            "IdentitySource": [authorizer["identitySource"]],
            "JwtConfiguration": {"Issuer": authorizer["jwtConfiguration"]["issuer"], "Audience": authorizer["jwtConfiguration"]["audience"]},
        })
    for path, operations in body["paths"].items():
        for method, operation in operations.items():
            found = operation["x-amazon-apigateway-integration"]
            name = re.sub(r"\W", "", f"{api}{method}{path}")
            made[f"{name}Integration"] = resource("Integration", api, {
                "IntegrationType": "AWS_PROXY",
                "IntegrationUri": found["uri"],
                "IntegrationMethod": "POST",
                "PayloadFormatVersion": found["payloadFormatVersion"],
            })
            [(scheme, scopes)] = operation["security"][0].items()
            made[name] = resource("Route", api, {
                "RouteKey": f"{method.upper()} {path}",
                "AuthorizationType": "JWT",
                "AuthorizerId": {"Ref": f"{api}{scheme}"},
                "AuthorizationScopes": scopes,
                "Target": {"Fn::Join": ["/", ["integrations", {"Ref": f"{name}Integration"}]]},
            })
    return made


def resource(kind, api, properties):
    return {"Type": f"AWS::ApiGatewayV2::{kind}", "Properties": {"ApiId": {"Ref": api}, **properties}}


def archive(binary):
    """Returns the zip file of a function."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        entry = zipfile.ZipInfo("bootstrap")
        entry.external_attr = 0o755 << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        file.writestr(entry, binary.read_bytes())
    return packed.getvalue()
