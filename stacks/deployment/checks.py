"""Checks before a deployment. Each returns lines that state a problem and the command that mends it."""

import functools
import json
import pathlib
import re
import urllib.parse
import urllib.request

from botocore.exceptions import BotoCoreError, ClientError

from . import leftovers
from .account import FAILED
from .settings import ROOT, functions

# e_machine in the header of an ELF file.
MACHINES = {b"\x3e\x00": "x86_64", b"\xb7\x00": "arm64"}
# A new on-demand table accepts 4,000 write units a second, so it has four partitions. Its stream
# has as many shards.
SHARDS = 4
# Lambda keeps at least this number of concurrent executions for functions without a reservation.
UNRESERVED = 100


def problems(stacks, account_of, takes_over=False):
    """Returns the problems of all stacks, each once."""
    found = [f"{stack.name}: {line}" for stack in stacks for check in (settings, issuer, binaries) for line in check(stack)]
    accounts = {stack: account_of(stack.section) for stack in stacks}
    missing = [line for account in accounts.values() for line in access(account)]
    if missing:
        return list(dict.fromkeys(found + missing))
    deployed = {stack.name for stack in stacks}
    last = (functools.partial(sources, deployed=deployed, account_of=account_of), functools.partial(leftovers.problems, takes_over=takes_over))
    for stack, account in accounts.items():
        found += [f"{stack.name}: {line}" for check in (status, streams, topic, *last) for line in answered(check, account, stack)]
    reservations = functools.partial(concurrency, reserves_only=True)
    found += [line for account, group in by_place(accounts) for line in answered(reservations, account, group)]
    return list(dict.fromkeys(found))


def warnings(stacks, account_of):
    """Returns what does not prevent the deployment of the stacks, but needs the operator, each once."""
    accounts = {stack: account_of(stack.section) for stack in stacks}
    found = [line for stack, account in accounts.items() for line in answered(subscription, account, stack)]
    found += [line for account, group in by_place(accounts) for line in answered(concurrency, account, group)]
    return list(dict.fromkeys(found))


def by_place(accounts):
    """Returns each account and region once, with its stacks."""
    places = {}
    for stack, account in accounts.items():
        places.setdefault(account.place(), (account, []))[1].append(stack)
    return list(places.values())


def answered(check, *given):
    """Runs a check, and reports a call that AWS refuses as a problem."""
    try:
        return check(*given)
    except (ClientError, BotoCoreError) as error:
        return [f"a check failed: {error}. Permit the call, or repair the cause, and run make deploy ARGS=--check"]


def settings(stack):
    where = f"[{stack.name}.deploy.parameters] in samconfig.toml"
    lines = [f"the template has no parameter {name}. Remove it from {where}" for name in stack.given if name not in stack.declared]
    empty = [name for name, value in stack.values().items() if value == "" and "Default" not in stack.declared[name]]
    return lines + [f"{name} has no value. Add {name}=… to parameter_overrides of {where}" for name in empty]


def issuer(stack):
    values = stack.values()
    url = values.get("JwtIssuer")
    if not url:
        return []
    found = urllib.parse.urlsplit(url)
    if (found.hostname or "").endswith(".example"):
        return [f"JwtIssuer is the placeholder {url}. Set it to your token issuer in samconfig.toml"]
    if found.scheme != "https" and not values.get("EndpointUrl"):
        return [f"JwtIssuer is {url}, but API Gateway needs an https URL. Correct it in samconfig.toml"]
    return configuration(url)


@functools.cache
def configuration(url):
    """Checks the document that API Gateway fetches. Without it, API Gateway creates an API without routes."""
    document = f"{url.rstrip('/')}/.well-known/openid-configuration"
    try:
        with urllib.request.urlopen(document, timeout=10) as answer:
            found = json.load(answer)
    except (OSError, ValueError) as error:
        return [f"the token issuer cannot be reached ({error}). Correct JwtIssuer, or the issuer, until this works: curl {document}"]
    wrong = not isinstance(found, dict) or found.get("issuer") != url
    if wrong or not found.get("jwks_uri"):
        issuer = found.get("issuer") if isinstance(found, dict) else None
        needs = f"has the issuer {issuer!r}, and needs {url!r} and a jwks_uri"
        return [f"{document} {needs}. Set JwtIssuer to the issuer of the document, to the letter"]
    return []


def binaries(stack):
    wanted = stack.values()["Architecture"]
    found = {function: machine(ROOT / "target/lambda" / function / "bootstrap") for part in stack.parts for function in functions(part)}
    lines = []
    for other in sorted(set(found.values()) - {wanted}):
        names = [name for name, one in found.items() if one == other]
        file = f"target/lambda/{names[0]}/bootstrap{more(names)}"
        lines.append(f"Architecture is {wanted}, but {file} is {other}. Build again: make build ARCHITECTURE={wanted}")
    return lines


def more(names):
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def machine(path):
    """Returns the architecture of an ELF file."""
    if not path.exists():
        return "missing"
    with path.open("rb") as file:
        header = file.read(20)
    return MACHINES.get(header[18:20], "of another machine") if header.startswith(b"\x7fELF") else "no ELF file"


def access(account):
    if not account.session.region_name:
        return ["no region is set. Set it: export AWS_DEFAULT_REGION=us-east-1, or region in the sections of samconfig.toml"]
    try:
        account.client("sts").get_caller_identity()
    except (ClientError, BotoCoreError) as error:
        return [f"there are no valid credentials ({error}). Sign in: aws configure sso, or export AWS_PROFILE=…"]
    return []


def status(account, stack):
    """Checks that the stack can be updated. SAM creates a stack that is in review, such as after a rejected change set."""
    found = account.stack(stack.stack_name)
    status = found["StackStatus"] if found else ""
    is_in = f"the stack {stack.stack_name} is {status}"
    if status in FAILED:
        return [f"{is_in}. Delete it; its tables and buckets stay: make undeploy STACK={stack.name}"]
    if status == "UPDATE_ROLLBACK_FAILED":
        return [f"{is_in}. Finish the rollback: aws cloudformation continue-update-rollback --stack-name {stack.stack_name}"]
    if status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        return [f"{is_in}. Wait for its end: aws cloudformation describe-stacks --stack-name {stack.stack_name} --query 'Stacks[].StackStatus'"]
    return []


def sources(account, stack, deployed, account_of):
    """Checks that the stacks whose outputs this stack takes exist, unless they are deployed before it.

    A stack can use only streams and tables of its own account and region.
    """
    lines = []
    for source in sorted(set(stack.sources().values())):
        names = [name for name, one in stack.sources().items() if one == source]
        omit = f", or leave it out: {' '.join(f'{name}=' for name in names)}" if stack.name == "lake" else ""
        section = stack.section_of(source)
        found = f"{' and '.join(names)}: the stack {section['stack_name']}"
        other = account_of(section)
        place, own = other.place(), account.place()
        if place != own:
            lines.append(f"{found} is for {place}, and {stack.name} for {own}. Set the same profile and region in both sections of samconfig.toml{omit}")
        elif source not in deployed and other.stack(section["stack_name"]) is None:
            lines.append(f"{found} does not exist. Deploy it: make deploy STACK={source}{omit}")
    return lines


def streams(account, stack):
    given = {name: arn for name, arn in stack.given.items() if name.endswith("StreamArn") and arn}
    return [
        f"{name} names a stream that does not exist: {arn}. Find the streams: aws dynamodbstreams list-streams"
        for name, arn in given.items()
        if not account.has_stream(arn)
    ]


def topic(account, stack):
    """Checks that the alarms can publish to their topic."""
    arn, region = stack.values()["AlarmTopicArn"], account.session.region_name
    if not arn:
        return []
    if not re.fullmatch(rf"arn:[^:]+:sns:{region}:\d+:[\w-]+", arn):
        return [f"AlarmTopicArn is {arn}, and must be a standard topic in {region}. Find the topics: aws sns list-topics --region {region}"]
    found = account.topic(arn)
    if found is None:
        return [f"the topic {arn} does not exist. Create it: aws sns create-topic --name {arn.split(':')[-1]}"]
    if found.get("KmsMasterKeyId", "").endswith("alias/aws/sns"):
        change = f"aws sns set-topic-attributes --topic-arn {arn} --attribute-name KmsMasterKeyId --attribute-value …"
        return [f"alarms cannot use the key alias/aws/sns of the topic {arn}. Choose a key that admits cloudwatch.amazonaws.com: {change}"]
    return []


def subscription(account, stack):
    arn = stack.values()["AlarmTopicArn"]
    if not arn or (account.topic(arn) or {}).get("SubscriptionsConfirmed") != "0":
        return []
    subscribe = f"aws sns subscribe --topic-arn {arn} --protocol email --notification-endpoint …"
    return [f"nobody gets the alarms, because the topic {arn} has no confirmed subscription. Confirm it in the mail, or subscribe: {subscribe}"]


def concurrency(account, stacks, reserves_only=False):
    """Checks that requests can run while all streams are busy.

    Lambda runs up to ParallelizationFactor batches of each shard at the same time. It refuses
    reservations that exceed the quota. If other batches use up the quota, it refuses requests.
    """
    reserved = batches = functions = 0
    for stack in stacks:
        given = stack.values().get("StreamConcurrency", "")
        limit = int(given) if given.isdigit() else 0
        for factors, is_limited in mappings(stack):
            functions += 1
            reserved += limit if is_limited else 0
            batches += 0 if reserves_only or limit and is_limited else sum(factors) * SHARDS
    needed = reserved + batches + UNRESERVED
    quota = account.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    if not reserved + batches or quota >= needed:
        return []
    most = (quota - UNRESERVED) // functions
    advice = f"Set StreamConcurrency={most} in each section of samconfig.toml, or request more" if most > 0 else "Request more"
    return [
        f"the account may run {quota} functions at the same time, and needs {needed}: {reserved} reserved by StreamConcurrency, "
        f"{batches} for batches of streams ({SHARDS} shards each), and {UNRESERVED} for requests. {advice}: "
        f"aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value {max(1000, needed)}"
    ]


def mappings(stack):
    """Returns for each function with streams their parallelization factors, and whether StreamConcurrency limits it."""
    found = {}
    for name, one in stack.of("AWS::Serverless::Function"):
        events = [event["Properties"] for event in one["Properties"].get("Events", {}).values() if event["Type"] == "DynamoDB"]
        found[name] = ([factor(event) for event in events], "ReservedConcurrentExecutions" in one["Properties"])
    for name, one in stack.of("AWS::Lambda::EventSourceMapping"):
        function = one["Properties"]["FunctionName"].removesuffix(".Alias")
        found[str(pathlib.PurePosixPath(name).with_name(function))][0].append(factor(one["Properties"]))
    return [one for one in found.values() if one[0]]


def factor(mapping):
    return int(mapping.get("ParallelizationFactor", 1))
