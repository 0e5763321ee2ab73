"""Compares events/ with the events of `sam local generate-event`: both must have the same fields with the same types.
A variant in variants.json is a change of such an event. It is not compared.

Field names that come from a caller or an item may differ. Fields that AWS omits if they are empty are optional."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]

# For requests, records and schedule events: SAM's arguments, the optional fields, and the fields
# whose members may have any name.
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
    "objects": (["s3", "put"], set(), set()),
}
# Fields that are missing from SAM's samples: the version of an event, and the user identity of a
# TTL deletion.
UNKNOWN_TO_SAM = {"detail-type": {"version": str}, "Records": {"Records.userIdentity.type": str, "Records.userIdentity.principalId": str}}
# Events that differ on purpose, because no service sends them.
NO_SHAPE = ("unknown-fields",)


def members(value, free, path=""):
    """Yields the path and type of each field."""
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
            yield f"{path} is not in SAM's event"
        elif known[path] is not form:
            yield f"{path} has the type {form.__name__}, but {known[path].__name__} in SAM's event"
    needed = {path for path in dict(members(sample, free)) if not is_optional(path, optional)}
    yield from (f"{path} is missing" for path in sorted(needed - has.keys()))


def kind_of(event):
    if "routeKey" in event:
        return "version"
    if any(record.get("eventSource") == "aws:s3" for record in event.get("Records", [])):
        return "objects"
    # The workflow of the lake sends its own events.
    return next((kind for kind in KINDS if kind in event and kind != "version"), None)


def main():
    samples = {kind: generated(kind) for kind in KINDS}
    seen, bad = 0, []
    for file in sorted(ROOT.glob("events/*/*.json")):
        event = json.loads(file.read_text())
        if file.stem == "world":
            continue
        if "routeKey" not in event and file.stem.partition(".")[2] in NO_SHAPE:
            continue
        if (kind := kind_of(event)) is None:
            continue
        bad += [f"{file.relative_to(ROOT)}: {fault}" for fault in faults(event, kind, samples[kind])]
        seen += 1
    print("\n".join(bad) if bad else f"{seen} events have the same fields as SAM's")
    return 1 if bad or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
