"""Tests the checks of `make deploy`, with stubbed answers of AWS. tests/deploy/test_lifecycle.py uses ministack."""

import contextlib
import copy
import http.server
import io
import json
import os
import pathlib
import sys
import tempfile
import threading
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "stacks"))

import boto3  # noqa: E402
import undeploy  # noqa: E402
from botocore.exceptions import NoCredentialsError  # noqa: E402
from botocore.stub import Stubber  # noqa: E402
from deployment import checks, leftovers, settings  # noqa: E402
from deployment.account import Account  # noqa: E402
from deployment.settings import Stack  # noqa: E402

SECTIONS = settings.read()
STREAM = "arn:aws:dynamodb:us-east-1:123456789012:table/app-Cart/stream/2026-12-01T00:00:00.000"


def stack(name, given="", issuer="https://login.example.com"):
    """Returns a stack with more settings."""
    found = copy.deepcopy(SECTIONS)
    section = found[name]["deploy"]["parameters"]
    section["parameter_overrides"] = section["parameter_overrides"].replace("https://issuer.example", issuer) + f" {given}"
    return Stack(name, found)


class Stubbed(Account):
    """An account that gives prepared answers: (service, operation, answer or error code), in order."""

    def __init__(self, *answers, region="us-east-1"):
        super().__init__({})
        with mock.patch.dict(os.environ, {}, clear=True):
            self.session = boto3.Session("key", "secret", region_name=region)
        self.stubs = {}
        for service, operation, answer in answers:
            if service not in self.stubs:
                self.stubs[service] = Stubber(self.session.client(service))
                self.stubs[service].activate()
            if isinstance(answer, str):
                code, _, message = answer.partition(": ")
                self.stubs[service].add_client_error(operation, code, message)
            else:
                self.stubs[service].add_response(operation, answer)

    def client(self, service):
        return self.stubs[service].client


def described(status):
    return {"Stacks": [{"StackName": "app-cart", "StackStatus": status, "CreationTime": "2026-12-01T00:00:00Z"}]}


CALLER = {"UserId": "1", "Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/one"}
TABLES = ("app-Cart", "app-CartJobs", "app-Products")
ABSENT = ("cloudformation", "describe_stacks", "ValidationError: Stack with id app-cart does not exist")


@contextlib.contextmanager
def serving(document):
    """Serves one document as the configuration of an issuer. Yields the issuer's URL, which the document may contain."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_found = self.path == "/tenant/.well-known/openid-configuration"
            self.send_response(200 if is_found else 404)
            self.end_headers()
            self.wfile.write(document.replace("URL", url).encode() if is_found else b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}/tenant"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()


def expect(lines, *parts):
    """Checks that each line contains the text at its place, and that there are no other lines."""
    assert len(lines) == len(parts) and all(part in line for part, line in zip(parts, lines, strict=True)), (lines, parts)
    assert all("\n" not in line for line in lines), lines


def settings_are_checked():
    expect(checks.settings(stack("cart")))
    expect(checks.settings(stack("cart", "Nmae=x")), "the template has no parameter Nmae. Remove it from [cart.deploy.parameters]")
    expect(checks.settings(stack("cart", "JwtAudience=")), "JwtAudience has no value. Add JwtAudience=…")


def the_issuer_is_checked():
    emulated = "EndpointUrl=http://127.0.0.1:1"
    expect(checks.issuer(stack("lake")))
    expect(checks.issuer(stack("cart", issuer="https://issuer.example")), "JwtIssuer is the placeholder https://issuer.example")
    expect(checks.issuer(stack("cart", issuer="http://127.0.0.1:1")), "API Gateway needs an https URL")
    expect(checks.issuer(stack("cart", emulated, "http://127.0.0.1:1")), "the token issuer cannot be reached")
    with serving('{"issuer": "URL", "jwks_uri": "URL/jwks.json"}') as url:
        expect(checks.issuer(stack("cart", emulated, url)))
        expect(checks.issuer(stack("cart", emulated, f"{url}/")), f"has the issuer '{url}', and needs '{url}/'")
        expect(checks.issuer(stack("cart", emulated, f"{url}/none")), "HTTP Error 404")
    for document, part in [("<html>", "cannot be reached"), ("[]", "has the issuer None"), ('{"issuer": "URL"}', "and a jwks_uri")]:
        with serving(document) as url:
            expect(checks.issuer(stack("cart", emulated, url)), part)


def the_processor_is_checked():
    header = {"x86_64": b"\x3e\x00", "arm64": b"\xb7\x00", "of another machine": b"\xf3\x00"}
    with tempfile.TemporaryDirectory() as folder, mock.patch("deployment.checks.ROOT", pathlib.Path(folder)):
        expect(checks.binaries(stack("lake")), "target/lambda/export-changes/bootstrap (and 2 more) is missing. Build again: make build ARCHITECTURE=x86_64")
        for function in settings.functions("lake"):
            file = pathlib.Path(folder, "target/lambda", function, "bootstrap")
            file.parent.mkdir(parents=True)
            file.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + header["x86_64"])
        expect(checks.binaries(stack("lake")))
        expect(checks.binaries(stack("lake", "Architecture=arm64")), "Architecture is arm64, but target/lambda/export-changes/bootstrap (and 2 more) is x86_64")
        file.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + header["of another machine"])
        expect(checks.binaries(stack("lake")), f"target/lambda/{file.parent.name}/bootstrap is of another machine")
        file.write_bytes(b"#!/bin/sh")
        expect(checks.binaries(stack("lake")), "is no ELF file")


def access_is_checked():
    expect(checks.access(Stubbed(region=None)), "no region is set")
    expect(checks.access(Stubbed(("sts", "get_caller_identity", CALLER))))
    expect(checks.access(Stubbed(("sts", "get_caller_identity", "ExpiredToken: The token has expired"))), "there are no valid credentials (An error occurred (ExpiredToken)")
    with mock.patch.object(Stubbed, "client", side_effect=NoCredentialsError):
        expect(checks.access(Stubbed()), "there are no valid credentials (Unable to locate credentials)")


def the_state_of_the_stack_is_checked():
    assert checks.status(Stubbed(ABSENT), stack("cart")) == []
    for status, part in [
        ("CREATE_COMPLETE", None), ("UPDATE_ROLLBACK_COMPLETE", None), ("IMPORT_COMPLETE", None), ("REVIEW_IN_PROGRESS", None),
        ("ROLLBACK_COMPLETE", "make undeploy STACK=cart"), ("ROLLBACK_FAILED", "make undeploy STACK=cart"), ("CREATE_FAILED", "make undeploy STACK=cart"),
        ("DELETE_FAILED", "make undeploy STACK=cart"), ("UPDATE_IN_PROGRESS", "Wait"), ("ROLLBACK_IN_PROGRESS", "Wait"),
        ("UPDATE_ROLLBACK_FAILED", "aws cloudformation continue-update-rollback --stack-name app-cart"),
    ]:
        expect(checks.status(Stubbed(("cloudformation", "describe_stacks", described(status))), stack("cart")), *[part] * bool(part))


def sources_and_streams_are_checked():
    def sources(one, deployed, *answers, account="123456789012"):
        own, other = (("sts", "get_caller_identity", {**CALLER, "Account": number}) for number in ("123456789012", account))
        return checks.sources(Stubbed(own), one, deployed, lambda _: Stubbed(other, *answers))

    lake = stack("lake", "PaymentSchedulerStreamArn= TransactionHistoryStreamArn= FinancialTransactionsStreamArn=")
    missing = "CartStreamArn: the stack app-cart does not exist. Deploy it: make deploy STACK=cart, or leave it out: CartStreamArn="
    expect(sources(lake, {"lake"}, ABSENT), missing)
    bank = stack("bank", "TransactionService=ledger")
    [line] = sources(bank, {"bank"}, ABSENT)
    assert line == "LedgerTableName: the stack app-ledger does not exist. Deploy it: make deploy STACK=ledger", line
    expect(sources(lake, {"lake", "cart"}))
    expect(sources(lake, {"lake"}, ("cloudformation", "describe_stacks", described("CREATE_COMPLETE"))))
    elsewhere = "the stack app-ledger is for the account 210987654321 in us-east-1, and bank for the account 123456789012 in us-east-1. Set the same profile"
    for deployed in ({"bank"}, {"bank", "ledger"}):
        expect(sources(bank, deployed, account="210987654321"), elsewhere)
    given = stack("lake", f"CartStreamArn={STREAM} PaymentSchedulerStreamArn=")
    missing = ("dynamodbstreams", "describe_stream", "ResourceNotFoundException: no stream")
    expect(checks.streams(Stubbed(missing), given), f"CartStreamArn names a stream that does not exist: {STREAM}")
    expect(checks.streams(Stubbed(("dynamodbstreams", "describe_stream", {"StreamDescription": {"StreamArn": STREAM}})), given))


def the_alarm_topic_is_checked():
    arn = "arn:aws:sns:us-east-1:123456789012:app-alarms"
    given = stack("lake", f"AlarmTopicArn={arn}")

    def answer(confirmed="1", **more):
        return Stubbed(("sns", "get_topic_attributes", {"Attributes": {"SubscriptionsConfirmed": confirmed, "SubscriptionsPending": "1", **more}}))

    for check in (checks.topic, checks.subscription):
        expect(check(Stubbed(), stack("lake")))
        expect(check(answer(), given))
    for wrong in (arn.replace("us-east-1", "eu-west-1"), f"{arn}.fifo", arn.replace("sns", "sqs"), f"{arn}:subscription"):
        expect(checks.topic(Stubbed(), stack("lake", f"AlarmTopicArn={wrong}")), f"AlarmTopicArn is {wrong}, and must be a standard topic in us-east-1")
    expect(checks.topic(Stubbed(("sns", "get_topic_attributes", "NotFound: no topic")), given), f"the topic {arn} does not exist. Create it: aws sns create-topic --name app-alarms")
    expect(checks.topic(answer(KmsMasterKeyId="alias/aws/sns"), given), "set-topic-attributes")
    expect(checks.topic(answer(KmsMasterKeyId="alias/own"), given))
    denied = Stubbed(("sns", "get_topic_attributes", "AuthorizationError: not authorized"))
    expect(checks.answered(checks.topic, denied, given), "a check failed: An error occurred (AuthorizationError)")
    expect(checks.subscription(answer("0"), given), f"nobody gets the alarms, because the topic {arn} has no confirmed subscription")


def concurrency_is_checked():
    def found(quota, *stacks, **more):
        limit = {"AccountLimit": {"ConcurrentExecutions": quota}}
        return checks.concurrency(Stubbed(("lambda", "get_account_settings", limit)), stacks, **more)

    functions = len(checks.mappings(stack("ledger")))
    batches = sum(sum(factors) for factors, _ in checks.mappings(stack("ledger"))) * 4
    expect(found(batches + 100, stack("ledger")))
    expect(found(batches + 100 - 1, stack("ledger")), f"needs {batches + 100}: 0 reserved by StreamConcurrency, {batches} for batches of streams (4 shards each), and 100 for requests")
    expect(found(10, stack("ledger"), reserves_only=True))
    for quota, advice in [(10, "for requests. Request more: aws"), (99 + functions, "for requests. Request more: aws"), (99 + 3 * functions, "Set StreamConcurrency=2 in")]:
        expect(found(quota, stack("ledger")), advice)
    expect(found(100 + 2 * functions, stack("ledger", "StreamConcurrency=2")))
    for reserves_only in (False, True):
        limited = stack("ledger", "StreamConcurrency=5")
        expect(found(100 + 5 * functions, limited, reserves_only=reserves_only))
        expect(found(99 + 5 * functions, limited, reserves_only=reserves_only), f"{5 * functions} reserved by StreamConcurrency, 0 for batches")
    expect(found(10, stack("cart"), stack("bank")), "--quota-code L-B99A9384 --desired-value 1000")
    parts = [stack(name, "TransactionService=ledger" * (name == "bank")) for name in settings.STACKS]
    assert sorted(one for part in parts for one in checks.mappings(part)) == sorted(checks.mappings(stack("system"))), "the root stack has the mappings of all stacks"
    assert all(is_limited for part in parts for _, is_limited in checks.mappings(part)), "StreamConcurrency does not limit every stream"
    assert all(checks.mappings(part) for part in parts), "no stream is found"


def each_account_has_its_own_quota():
    """Stacks in other accounts do not count."""
    def account_of(number, *answers):
        return Stubbed(("sts", "get_caller_identity", {**CALLER, "Account": number}), *answers)

    def limit(quota):
        return ("lambda", "get_account_settings", {"AccountLimit": {"ConcurrentExecutions": quota}})

    cart, ledger = stack("cart"), stack("ledger")
    [(first, one), (second, other)] = checks.by_place({cart: account_of("1"), ledger: account_of("2")})
    assert (one, other) == ([cart], [ledger]) and first is not second, (one, other)
    [(_, both)] = checks.by_place({cart: account_of("1"), ledger: account_of("1")})
    assert both == [cart, ledger], both
    accounts = {"app-cart": account_of("1", limit(1000)), "app-ledger": account_of("2", limit(10))}
    expect(checks.warnings([cart, ledger], lambda section: accounts[section["stack_name"]]), "the account may run 10 functions at the same time")


def table(name):
    return {"Table": {"TableName": name}}


def resource(name, status="CREATE_COMPLETE", kind="AWS::DynamoDB::Table"):
    return {"LogicalResourceId": name, "PhysicalResourceId": name, "ResourceType": kind, "ResourceStatus": status, "LastUpdatedTimestamp": "2026-12-01T00:00:00Z"}


def leftovers_are_found():
    """An account with the table app-Cart, the log group /app/cart, and no other resource of the cart."""
    def account(*formation, own=(), again=()):
        tables = [("dynamodb", "describe_table", table(name) if name == "app-Cart" else "ResourceNotFoundException: no table") for name in TABLES if name not in own]
        groups = [("logs", "describe_log_groups", {"logGroups": [{"logGroupName": name} for name in names]}) for names in ([], ["/app/cart", "/app/cart-2"])]
        return Stubbed(*formation, *tables, *(("dynamodb", "describe_table", one) for one in again), *groups)

    nobody = ("cloudformation", "describe_stack_resources", "ValidationError: Stack for app-Cart does not exist")
    # The answer has another resource of the stack that has the table.
    times = {"LastUpdatedTimestamp": None, "Timestamp": "2026-12-01T00:00:00Z", "StackName": "app-Cart-1A2B", "StackId": "arn:app-Cart-1A2B"}
    other = {"StackResources": [{name: value for name, value in {**resource("Api"), **times}.items() if value}]}
    has_it = ("cloudformation", "list_stack_resources", {"StackResourceSummaries": [resource("Api"), resource("app-Cart")]})
    use = (
        "the tables of a deleted or failed stack exist already: app-Cart. Use them with their items: make deploy STACK=cart "
        "ARGS=--take-over. Delete them with their items: make undeploy STACK=cart ARGS=--delete-data"
    )
    group = "the log group /app/cart exists already. Delete it: aws logs delete-log-group --log-group-name /app/cart"
    new = account(ABSENT, nobody, nobody, ABSENT, ABSENT)
    assert leftovers.problems(new, stack("cart"), False) == [group, use]
    keys = [{"AttributeName": "GSI1PK", "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}]
    by_status = {
        "IndexName": "GSI2", "KeySchema": [{"AttributeName": "GSI2PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Total", "StatusChangedAt"]},
    }
    for projection, more in [(None, []), ("ALL", []), ("KEYS_ONLY", ["app-Cart are not those of the settings: it has GSI1 (GSI1PK GSI1SK KEYS_ONLY), "])]:
        indexes = [{"IndexName": "GSI1", "KeySchema": keys, "Projection": {"ProjectionType": projection}}] if projection else []
        indexes.append(by_status)
        new = account(ABSENT, nobody, nobody, ABSENT, again=[{"Table": {"TableName": "app-Cart", "GlobalSecondaryIndexes": indexes}}])
        expect(leftovers.problems(new, stack("cart"), True), group, *more)
    for projection, names in [("KEYS_ONLY", ["GSI1"]), ("KEYS_ONLY_AND_ALL", ["GSI1", "GSI1All"]), ("ALL_AND_KEYS_ONLY", ["GSI1", "GSI1All"]), ("ALL", ["GSI1All"])]:
        found = leftovers.defined_indexes(stack("bank", f"IndexProjection={projection}"), "PaymentScheduler").values()
        assert [one["IndexName"] for one in found] == names, (projection, found)
    orders = [{"IndexName": "GSI1", "KeySchema": keys, "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": names}} for names in ("AB", "BA")]
    assert len({words for one in orders for words in leftovers.indexes({"GlobalSecondaryIndexes": [one]})}) == 1, "DynamoDB may return another order"
    owned = ("cloudformation", "describe_stack_resources", other)
    found = leftovers.problems(account(ABSENT, owned, has_it, nobody), stack("cart"), True)
    assert found == ["the table app-Cart belongs to the stack app-Cart-1A2B. Delete that stack, or set another Name", group], found
    for status, kept, found in [("CREATE_COMPLETE", "CREATE_COMPLETE", []), ("ROLLBACK_COMPLETE", "DELETE_SKIPPED", [use])]:
        live = ("cloudformation", "describe_stacks", described(status))
        listed = {"StackResourceSummaries": [resource("app-Cart", kept), resource("/app/cart", kind="AWS::Logs::LogGroup")]}
        one = account(live, ("cloudformation", "list_stack_resources", listed), nobody, live, live, own=["app-Cart"] * (not found))
        assert leftovers.problems(one, stack("cart"), False) == found, status
    live = ("cloudformation", "describe_stacks", described("UPDATE_COMPLETE"))
    update = account(live, ("cloudformation", "list_stack_resources", {"StackResourceSummaries": [resource("/app/cart")]}), nobody, live, live)
    [line] = leftovers.problems(update, stack("cart"), True)
    assert "--take-over" not in line, "an existing stack cannot import the tables"
    assert "--delete-data" not in line and "delete-table --table-name app-Cart" in line, "that would delete the other tables of the stack"
    skipped = ("cloudformation", "list_stack_resources", {"StackResourceSummaries": [resource("app-Cart", "DELETE_SKIPPED")]})
    assert Stubbed(owned, skipped).owner("app-Cart") is None, "a deleted stack has kept the table"


def an_import_states_what_the_tables_have():
    """The update after the import changes what differs from the imported definition, such as the key and the indexes."""
    def imported(given="", **found):
        one, formation = stack("bank", given), mock.Mock()
        tables = {"app-PaymentScheduler": found, "app-BankJobs": {"DeletionProtectionEnabled": True, "AttributeDefinitions": [], **key("other")}}
        account = mock.Mock(**{"client.return_value": formation, "stack.return_value": None, "table": tables.get})
        with mock.patch.object(leftovers, "retained", lambda *_: list(tables)), contextlib.redirect_stdout(io.StringIO()):
            leftovers.take_over(account, one)
        return [each["Properties"] for each in json.loads(formation.create_change_set.call_args.kwargs["TemplateBody"])["Resources"].values()]

    def key(name):
        return {"SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": f"arn:aws:kms:us-east-1:123456789012:key/{name}"}}

    def index(name, partition, projection):
        keys = [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}]
        return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": projection}}

    declared = settings.template_of("bank")["Resources"]["PaymentScheduler"]["Properties"]
    attributes = declared["AttributeDefinitions"]
    given = "KmsKeyArn=arn:aws:kms:us-east-1:123456789012:key/new ProtectTables=false"
    active = {"IndexStatus": "ACTIVE", "ItemCount": 1}
    old = {"AttributeName": "GSI9PK", "AttributeType": "S"}
    indexes = [{**index("GSI9", "GSI9PK", "ALL"), **active}, {**index("GSI1", "GSI1PK", "KEYS_ONLY"), **active}]
    payments, jobs = imported(given, **key("old"), GlobalSecondaryIndexes=indexes, AttributeDefinitions=[old, *attributes])
    encrypted = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": "arn:aws:kms:us-east-1:123456789012:key/old"}
    assert payments["SSESpecification"] == encrypted and jobs["SSESpecification"]["KMSMasterKeyId"].endswith("/other"), (payments, jobs)
    assert (payments["DeletionProtectionEnabled"], jobs["DeletionProtectionEnabled"]) == ("false", "true"), (payments, jobs)
    kept = declared["GlobalSecondaryIndexes"][0]["Fn::If"][1]
    assert payments["GlobalSecondaryIndexes"] == [kept, index("GSI9", "GSI9PK", "ALL")] and "WarmThroughput" in kept, payments
    assert payments["AttributeDefinitions"] == [*attributes, old], payments
    [payments, _] = imported(AttributeDefinitions=attributes)
    assert payments["SSESpecification"] == {"Ref": "AWS::NoValue"} and payments["GlobalSecondaryIndexes"] == {"Ref": "AWS::NoValue"}, payments
    same = {"GlobalSecondaryIndexes", "SSESpecification", "DeletionProtectionEnabled"}
    assert all(payments[name] == value for name, value in declared.items() if name not in same), payments


def a_stack_that_cannot_be_deleted_is_refused():
    [found] = described("UPDATE_IN_PROGRESS")["Stacks"]
    assert undeploy.refusal(found) == "app-cart is UPDATE_IN_PROGRESS. Run the command again after its end"
    assert "update-termination-protection" in undeploy.refusal({**found, "StackStatus": "CREATE_COMPLETE", "EnableTerminationProtection": True})
    for status in ("CREATE_COMPLETE", "REVIEW_IN_PROGRESS", "DELETE_FAILED"):
        assert undeploy.refusal({**found, "StackStatus": status}) is None, status


def every_check_runs():
    names = ["settings", "issuer", "binaries", "access", "status", "streams", "topic", "sources", "leftovers.problems", "concurrency", "subscription"]
    lake, account = stack("lake"), mock.Mock(**{"place.return_value": "here"})

    def check(name):
        return lambda *_, reserves_only=False, **__: [] if name == "access" else [name + " of reservations" * reserves_only]

    with contextlib.ExitStack() as held:
        for name in names:
            held.enter_context(mock.patch(f"deployment.checks.{name}", check(name)))
        problems, warnings = checks.problems([lake], lambda _: account), checks.warnings([lake], lambda _: account)
    ran = ["settings", "issuer", "binaries", "status", "streams", "topic", "sources", "leftovers.problems"]
    assert problems == [*(f"lake: {name}" for name in ran), "concurrency of reservations"], problems
    assert warnings == ["subscription", "concurrency"], warnings


def all_problems_are_reported_at_once():
    """Without credentials, the checks that need none are still reported, each once."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("deployment.checks.ROOT", pathlib.Path(folder)):
        found = checks.problems([stack(name, issuer="https://issuer.example") for name in ("cart", "ledger")], lambda _: Stubbed(region=None))
    expect(found, "cart: JwtIssuer", "cart: Architecture", "ledger: JwtIssuer", "ledger: Architecture", "no region is set")
    denied = checks.answered(checks.status, Stubbed(("cloudformation", "describe_stacks", "AccessDenied: not authorized")), stack("cart"))
    expect(denied, "a check failed: An error occurred (AccessDenied)")


def main():
    # The settings of the person who runs the test have no influence.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.devnull
    settings_are_checked()
    the_issuer_is_checked()
    the_processor_is_checked()
    access_is_checked()
    the_state_of_the_stack_is_checked()
    sources_and_streams_are_checked()
    the_alarm_topic_is_checked()
    concurrency_is_checked()
    each_account_has_its_own_quota()
    leftovers_are_found()
    an_import_states_what_the_tables_have()
    a_stack_that_cannot_be_deleted_is_refused()
    every_check_runs()
    all_problems_are_reported_at_once()
    print("make deploy: every check reports its problem and the command that mends it")


main()
