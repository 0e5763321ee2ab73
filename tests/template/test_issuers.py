"""Checks stacks/issuers/ and the example tokens of docs/issuers.md.

The scopes of an issuer are those of the routes of all services. Users cannot write the attributes
that decide what they may access. The trigger runs with sample events. Each example token has the
claims that API Gateway and the services read.
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from sam import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).resolve().parents[2]
# The limit of API Gateway for a scope of a route.
MAX_SCOPE = 64
# Cognito waits at most five seconds for a trigger.
MAX_TRIGGER_SECONDS = 5
# The attributes and the claims that are named after them.
CLAIMS = ("account_ids", "company_id")
# The beginnings of the issuers of the example tokens.
ISSUERS = ("cognito-idp.", "example.eu.auth0.com/", "example.okta.com/oauth2/", "login.microsoftonline.com/")
# A scope of an operator or an administrator. Only members of a group get it.
PRIVILEGED = re.compile(r".+:(operate|admin)")
# The shape of the events of the trigger versions 2 and 3 in the developer guide of Cognito.
OF_USER = {
    "version": "3",
    "triggerSource": "TokenGeneration_HostedAuth",
    "region": "us-east-1",
    "userPoolId": "us-east-1_EXAMPLE",
    "userName": "3b0f6c5e-4d1c-4f3e-9d53-0a2f6d1c7b10",
    "callerContext": {"awsSdkVersion": "aws-sdk-unknown-unknown", "clientId": "1example23456789"},
    "request": {
        "userAttributes": {"sub": "3b0f6c5e-4d1c-4f3e-9d53-0a2f6d1c7b10", "cognito:user_status": "CONFIRMED", "email": "a@b.example"},
        "groupConfiguration": {"groupsToOverride": [], "iamRolesToOverride": [], "preferredRole": None},
        "scopes": ["openid", "api/bank:read"],
        "clientMetadata": {"custom:account_ids": "A-666", "custom:company_id": "C-666", "groups": "bank:operate"},
    },
    "response": {"claimsAndScopeOverrideDetails": None},
}
# The developer guide has no sample event of a program. Attributes and groups can be empty, null or
# missing.
OF_MACHINES = [{"userAttributes": {}, "groupConfiguration": {}}, {"userAttributes": None, "groupConfiguration": None}, {"groupConfiguration": {"groupsToOverride": None}}, {}]


def main() -> None:
    routes = scopes_of_routes()
    file = ROOT / "stacks/issuers/cognito.yaml"
    template = yaml_parse(file.read_text())
    faults = [*lints(file), *Pool(template, routes).faults(), *pages(routes)]
    print("\n".join(faults) if faults else f"stacks/issuers and docs/issuers.md: {len(routes)} scopes, no faults")
    sys.exit(bool(faults))


def scopes_of_routes() -> set[str]:
    """Returns the scopes of all routes, without the prefix that the services add."""
    found = set()

    def collect(node):
        if isinstance(node, dict):
            for name, value in node.items():
                found.update(re.findall(r"[a-z]+:[a-z]+", json.dumps(value))) if name == "AuthorizationScopes" else collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    for file in (ROOT / "stacks").glob("*.yaml"):
        collect(yaml_parse(file.read_text()))
    return found


def lints(file: Path):
    """Runs cfn-lint on the template, and on the result of SAM's transform."""
    with tempfile.TemporaryDirectory() as name:
        translated = Path(name) / "translated.json"
        translated.write_text(json.dumps(transform(yaml_parse(file.read_text()))))
        done = subprocess.run([Path(sys.executable).with_name("cfn-lint"), file, translated], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        yield f"cfn-lint: {done.stdout}{done.stderr}"


class Pool:
    def __init__(self, template: dict, routes: set[str]) -> None:
        self.template = template
        self.routes = routes
        self.resources = template["Resources"]

    def faults(self):
        for check in (self.keeps, self.scopes, self.attributes, self.trigger, self.adds, self.outputs):
            yield from check()

    def of(self, kind: str) -> dict:
        return {name: one["Properties"] for name, one in self.resources.items() if one["Type"] == kind}

    def keeps(self):
        for name, pool in self.of("AWS::Cognito::UserPool").items():
            kept = {self.resources[name].get(policy) for policy in ("DeletionPolicy", "UpdateReplacePolicy")}
            if kept != {"Retain"} or pool.get("DeletionProtection") != "ACTIVE":
                yield f"the users of {name} can be deleted with the stack"
            if pool.get("AdminCreateUserConfig") != {"AllowAdminCreateUserOnly": True}:
                yield f"anybody can sign up in {name}"

    def scopes(self):
        [server] = self.of("AWS::Cognito::UserPoolResourceServer").values()
        declared = {one["ScopeName"] for one in server["Scopes"]}
        if declared != self.routes:
            yield f"the resource server and the routes of the services differ in the scopes {sorted(declared ^ self.routes)}"
        allowed = self.template["Parameters"]["Identifier"]["AllowedPattern"]
        longest = MAX_SCOPE - len("/") - max(map(len, self.routes))
        if not re.fullmatch(allowed, "a" * longest) or re.fullmatch(allowed, "a" * (longest + 1)):
            yield f"Identifier must allow at most {longest} characters, because a scope of a route has at most {MAX_SCOPE}"
        for name, client in self.of("AWS::Cognito::UserPoolClient").items():
            granted = [scope["Fn::Sub"] if isinstance(scope, dict) else scope for scope in client["AllowedOAuthScopes"] if scope != "openid"]
            if unknown := [scope for scope in granted if scope.removeprefix("${Identifier}/") not in self.routes]:
                yield f"{name} allows the scopes {unknown}, which no route requires"
            if client["AllowedOAuthFlows"] != ["client_credentials"] and (open_to_all := [one for one in granted if PRIVILEGED.fullmatch(one)]):
                yield f"every user of {name} can request {open_to_all}"
            if self.resources[name].get("DependsOn") != "ResourceServer":
                yield f"{name} can be created before its scopes"
        groups = {group["GroupName"] for group in self.of("AWS::Cognito::UserPoolGroup").values()}
        if groups != {scope for scope in self.routes if PRIVILEGED.fullmatch(scope)}:
            yield f"the groups {sorted(groups)} are not the scopes of operators and administrators"

    def attributes(self):
        [pool] = self.of("AWS::Cognito::UserPool").values()
        if missing := set(CLAIMS) - {one["Name"] for one in pool["Schema"]}:
            yield f"the user pool has no attributes {sorted(missing)}"
        for name, client in self.of("AWS::Cognito::UserPoolClient").items():
            if not client.get("WriteAttributes"):
                yield f"{name} does not limit the attributes that users can write"
            if writable := [one for one in client.get("WriteAttributes", []) if one.startswith("custom:")]:
                yield f"users of {name} can write {writable}"
            if "aws.cognito.signin.user.admin" in client["AllowedOAuthScopes"]:
                yield f"users of {name} can change their attributes"
            if client.get("ExplicitAuthFlows") != ["ALLOW_REFRESH_TOKEN_AUTH"]:
                yield f"users can sign in to {name} without the sign-in page"

    def trigger(self):
        [pool] = self.of("AWS::Cognito::UserPool").values()
        [(name, function)] = self.of("AWS::Serverless::Function").items()
        if pool["LambdaConfig"] != {"PreTokenGenerationConfig": {"LambdaArn": {"Fn::GetAtt": [name, "Arn"]}, "LambdaVersion": "V3_0"}} or pool["UserPoolTier"] != "ESSENTIALS":
            yield "the trigger is not called for access tokens of users and machines"
        [permission] = self.of("AWS::Lambda::Permission").values()
        if permission["FunctionName"] != {"Ref": name} or permission["SourceArn"] != {"Fn::GetAtt": ["UserPool", "Arn"]}:
            yield f"the user pool, and nobody else, must be able to call {name}"
        if function["Timeout"] > MAX_TRIGGER_SECONDS:
            yield f"{name} has more time than Cognito waits"

    def adds(self):
        """Runs the trigger. An attribute that exists becomes a claim, and a group becomes a scope."""
        [function] = self.of("AWS::Serverless::Function").values()
        if function["Environment"]["Variables"] != {"SCOPE_PREFIX": {"Fn::Sub": "${Identifier}/"}}:
            yield "the trigger adds scopes with another prefix"
        both = {"account_ids": "A-1 A-2", "company_id": "C-1"}
        for attributes, groups, claims, scopes in [
            ({}, [], {}, []),
            (both, [], both, []),
            ({"account_ids": "A-1"}, [], {"account_ids": "A-1"}, []),
            ({"company_id": "C-1"}, [], {"company_id": "C-1"}, []),
            ({"account_ids": "  A-1   A-2 ", "company_id": " "}, [], {"account_ids": "A-1 A-2"}, []),
            ({"account_ids": "", "company_id": None}, [], {}, []),
            # Only a plain space separates values: the services ignore this one.
            ({"account_ids": "A-1\u00a0A-2"}, [], {"account_ids": "A-1\u00a0A-2"}, []),
            (both, ["wellness:admin", "bank:read", "Staff", "bank:operate"], both, ["api/wellness:admin", "api/bank:operate"]),
            ({}, sorted(self.routes), {}, [f"api/{scope}" for scope in sorted(self.routes) if PRIVILEGED.fullmatch(scope)]),
        ]:
            event = copy.deepcopy(OF_USER)
            event["request"]["userAttributes"] |= {f"custom:{name}": value for name, value in attributes.items()}
            event["request"]["groupConfiguration"]["groupsToOverride"] = groups
            yield from self.answers(function, event, claims, scopes)
        for request in OF_MACHINES:
            machine = {**OF_USER, "triggerSource": "TokenGeneration_ClientCredentials", "response": {}}
            machine["request"] = {**request, "scopes": ["api/bank:operate"], "clientMetadata": OF_USER["request"]["clientMetadata"]}
            yield from self.answers(function, machine, {}, [])

    def answers(self, function: dict, event: dict, claims: dict, scopes: list):
        module = {}
        with mock.patch.dict(os.environ, {"SCOPE_PREFIX": "api/"}):
            exec(compile(function["InlineCode"], "index.py", "exec"), module)
            try:
                answer = module[function["Handler"].removeprefix("index.")](copy.deepcopy(event), None)
            except (LookupError, TypeError, AttributeError) as error:
                yield f"the trigger fails with {error!r}: {event['request']}"
                return
        wanted = {"claimsAndScopeOverrideDetails": {"accessTokenGeneration": {"claimsToAddOrOverride": claims, "scopesToAdd": scopes}}}
        if answer != {**event, "response": wanted}:
            yield f"the trigger answers {answer['response']} instead of {wanted}"

    def outputs(self):
        values = {name: one["Value"] for name, one in self.template["Outputs"].items()}
        clients = ",".join(f"${{{name}}}" for name in self.of("AWS::Cognito::UserPoolClient"))
        for name, value in {
            "JwtIssuer": "https://cognito-idp.${AWS::Region}.${AWS::URLSuffix}/${UserPool}",
            "JwtAudience": clients,
            "ScopePrefix": "${Identifier}/",
        }.items():
            if values.get(name) != {"Fn::Sub": value}:
                yield f"the output {name} is {values.get(name)}"


def pages(routes: set[str]):
    """Checks each example token of the page. The comment before it has the settings of the services."""
    text = (ROOT / "docs/issuers.md").read_text()
    examples = re.findall(r"<!-- token: (.*?) -->\n\n```json\n(.*?)```", text, re.DOTALL)
    if len(examples) != text.count("<!-- token:") or len(examples) != text.count("```json"):
        yield "a block of JSON in docs/issuers.md is not marked as a token"
    for settings, block in examples:
        settings = dict(one.split("=", 1) for one in settings.split())
        yield from (f"the token of {settings['JwtIssuer']} {fault}" for fault in wrong(json.loads(block), settings, routes))
    for issuer in ISSUERS:
        if not any(f"JwtIssuer=https://{issuer}" in settings for settings, _ in examples):
            yield f"docs/issuers.md has no token of https://{issuer}"


def wrong(claims: dict, settings: dict, routes: set[str]):
    if claims["iss"] != settings["JwtIssuer"]:
        yield f"has the issuer {claims['iss']}"
    audiences = claims.get("aud", claims.get("client_id"))
    audiences = audiences if isinstance(audiences, list) else [audiences]
    if not set(audiences) & set(settings["JwtAudience"].split(",")):
        yield f"has the audiences {audiences}"
    if not 0 < claims["exp"] - claims["iat"] <= 3600:
        yield "is valid for more than an hour"
    prefix = settings.get("ScopePrefix", "")
    scopes = [one.removeprefix(prefix) for name in ("scope", "scp") for one in values(claims.get(name)) if one.startswith(prefix)]
    scopes = routes & set(scopes)
    if not scopes:
        yield "has no scope of a route"
    services = {scope.split(":")[0] for scope in scopes if not PRIVILEGED.fullmatch(scope)}
    needed = {"sub"} | ({"account_ids"} if services & {"bank", "cart"} else set())
    needed |= {"company_id"} if "wellness" in services or "wellness:admin" in scopes else set()
    for name in needed:
        given = values(claims.get(name))
        if not given or not all(re.fullmatch(r"[^\s#\[\]]{1,128}", one) for one in given) or (name != "account_ids" and not isinstance(claims[name], str)):
            yield f"has no valid {name}"


def values(claim) -> list[str]:
    return claim if isinstance(claim, list) else (claim or "").split(" ")


if __name__ == "__main__":
    main()
