"""The events of events/ have the shape of those that `sam local generate-event` makes: no member more, none less, each of
its type. Free are the members whose names a caller or an item chooses, and those that AWS leaves out where there is
nothing to say."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]

# Of a request, a record and a schedule's event: how SAM makes one, what may be missing, and where names are free.
KINDS = {
    "version": (
        ["apigateway", "http-api-proxy"],
        {"body", "cookies", "queryStringParameters", "pathParameters", "stageVariables", "requestContext.authentication"},
        {"headers", "queryStringParameters", "pathParameters", "requestContext.authorizer.jwt.claims"},
    ),
    "Records": (
        ["dynamodb", "update"],
        {"Records.dynamodb.NewImage", "Records.dynamodb.OldImage", "Records.userIdentity"},
        {"Records.dynamodb.Keys", "Records.dynamodb.NewImage", "Records.dynamodb.OldImage"},
    ),
    "detail-type": (["cloudwatch", "scheduled-event"], set(), {"detail"}),
}
# SAM's own samples lack them: an event says its version, and a deletion by TTL who deleted.
UNKNOWN_TO_SAM = {"detail-type": {"version": str}, "Records": {"Records.userIdentity.type": str, "Records.userIdentity.principalId": str}}
# Batches and runs that no service sends: that is what they are for.
NO_SHAPE = ("by-hand", "empty", "no-batch", "no-such-day", "unknown-fields", "unreadable")


def members(value, free, path=""):
    """Every member's path and type."""
    if isinstance(value, dict) and path not in free:
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            yield from members(member, free, inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for member in value:
            yield from members(member, free, path)
    else:
        yield path, float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def generated(kind):
    command = [pathlib.Path(sys.executable).with_name("sam"), "local", "generate-event", *KINDS[kind][0]]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def is_optional(path, optional):
    return any(path == member or path.startswith(member + ".") for member in optional)


def faults(event, kind, sample):
    _, optional, free = KINDS[kind]
    known = dict(members(sample, free)) | UNKNOWN_TO_SAM.get(kind, {})
    has = dict(members(event, free))
    for path, form in has.items():
        if path not in known:
            yield f"{path} is not in SAM's"
        elif known[path] is not form:
            yield f"{path} is a {form.__name__}, in SAM's a {known[path].__name__}"
    needed = {path for path in dict(members(sample, free)) if not is_optional(path, optional)}
    yield from (f"{path} is missing" for path in sorted(needed - has.keys()))


def main():
    samples = {kind: generated(kind) for kind in KINDS}
    seen, bad = 0, []
    for file in sorted(ROOT.glob("events/*/*.json")):
        event = json.loads(file.read_text())
        if "routeKey" not in event and file.stem.partition(".")[2] in NO_SHAPE:
            continue
        kind = "version" if "routeKey" in event else next(kind for kind in KINDS if kind in event and kind != "version")
        bad += [f"{file.relative_to(ROOT)}: {fault}" for fault in faults(event, kind, samples[kind])]
        seen += 1
    print("\n".join(bad) if bad else f"{seen} events have the shape of SAM's")
    return 1 if bad or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
