"""Draws docs/architecture.svg from template.yaml and its nested stacks.

usage: draw.py           writes the picture
       draw.py --check   fails if the picture is stale, or lacks an arrow of a kind
"""

import re
import sys
from html import escape
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/architecture.svg"

WIDTH, MARGIN, GAP, GUTTER = 1000, 16, 12, 28
TOP, HEADER, BOX, SPACE = 64, 42, 44, 18
# Distance between the parallel lines next to the boxes, if there is room for it.
LANE = 7
FONTS = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
# One arrow of each kind, by its title. The checks look for them in the committed picture.
ARROWS = [
    "callers call the HTTP API of bank",
    "the HTTP API of cart invokes its functions",
    "functions of wellness call its tables",
    "the stream of BankJobs invokes continue-bank-job",
    "react-to-transactions writes to Totals",
    "execute-payment writes to FinancialTransactions of ledger",
    "the stream of FinancialTransactions invokes export-changes",
    "export-changes sends to Firehose",
    "Firehose writes to S3: Lake",
    "Athena reads S3: Lake with the tables of Glue",
    "RefreshLake invokes plan-refresh",
    "RefreshLake invokes convert-export",
    "RefreshLake runs queries in Athena",
    "convert-export writes to S3: Lake",
]
# ARN of a table whose name is a parameter.
TABLE = re.compile(r"arn:.*:dynamodb:.*:table/\$\{(\w+)\}")
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}
# Fill and line colour of each kind of resource.
COLOURS = {
    "api": ("#f3ecff", "#7a3ff2"),
    "function": ("#fff1e3", "#c75b00"),
    "table": ("#e8eefc", "#2f4fc4"),
    "storage": ("#edf5e1", "#4d7a12"),
    "query": ("#e4f4f3", "#0f766e"),
}
STREAM, CALL, INK, QUIET = "#c75b00", "#5b6470", "#1f2430", "#4b5360"


# Connection points by table name.
Points = dict[str, tuple[float, float]]


class Loader(yaml.SafeLoader):
    """Reads CloudFormation's short tags as their long forms."""


def tagged(loader: yaml.Loader, suffix: str, node: yaml.Node) -> dict:
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


Loader.add_multi_constructor("!", tagged)


def read(path: Path) -> dict:
    return yaml.load(path.read_text(), Loader=Loader)


def as_list(value) -> list:
    return value if isinstance(value, list) else [value]


class Function:
    """A function with its name, its triggers and the tables that it can write to."""

    def __init__(self, properties: dict, mapped: list) -> None:
        self.name = Path(properties["CodeUri"]).name
        events = [(event["Type"], event.get("Properties", {})) for event in properties.get("Events", {}).values()]
        self.routes = [event for kind, event in events if kind == "HttpApi"]
        self.schedules = [event["Schedule"] for kind, event in events if kind in ("Schedule", "ScheduleV2")]
        self.streams = [source(event["Stream"]) for kind, event in events if kind == "DynamoDB"]
        self.streams += [source(one["EventSourceArn"]) for one in mapped]
        known = {"HttpApi", "Schedule", "ScheduleV2", "DynamoDB"}
        self.others = [kind for kind, _ in events if kind not in known]
        self.written, self.writes_objects = [], False
        for policy in properties.get("Policies", []):
            statements = policy.get("Statement", []) if isinstance(policy, dict) else []
            for statement in (one for statement in statements for one in unconditional(statement)):
                self.writes_objects |= "s3:PutObject" in as_list(statement["Action"])
                if any(action.removeprefix("dynamodb:") in WRITES for action in as_list(statement["Action"])):
                    for table in map(table_of, as_list(statement["Resource"])):
                        if table and table not in self.written:
                            self.written.append(table)

    def triggers(self) -> str:
        parts = [f"stream of {table}" for table in self.streams] + self.schedules + self.others
        return ", ".join(parts)


def unconditional(statement: dict) -> list:
    """Returns the statements that a statement with a condition can be."""
    return [one for one in statement["Fn::If"][1:] if "Action" in one] if "Fn::If" in statement else [statement]


def source(stream: dict) -> str:
    """Returns the table of a stream in this stack, or the parameter with the stream of another stack."""
    return stream["Fn::GetAtt"].split(".")[0] if "Fn::GetAtt" in stream else stream["Ref"]


def table_of(resource) -> str | None:
    """Returns the table that a policy resource names, or the parameter with the name of a table of another stack.
    None for an index or a bucket."""
    if not isinstance(resource, dict):
        return None
    if named := TABLE.fullmatch(str(resource.get("Fn::Sub"))):
        return named[1]
    value = resource.get("Fn::GetAtt")
    return value.removesuffix(".Arn") if isinstance(value, str) and value.endswith(".Arn") else None


class Stack:
    def __init__(self, path: Path) -> None:
        document = read(path)
        self.name, self.file = path.stem, path.relative_to(ROOT).as_posix()
        self.outputs = document.get("Outputs", {})
        self.resources, self.parameters = document["Resources"], document.get("Parameters", {})
        self.tables = self.of("AWS::DynamoDB::Table")
        mappings = self.of("AWS::Lambda::EventSourceMapping").values()
        mapped = lambda name: [one for one in mappings if one["FunctionName"]["Ref"] == f"{name}.Alias"]
        self.named_functions = [(name, Function(one, mapped(name))) for name, one in self.of("AWS::Serverless::Function").items()]
        self.functions = [one for _, one in self.named_functions]
        self.http = [one for one in self.functions if one.routes]
        self.triggered = [one for one in self.functions if not one.routes or one.triggers()]
        self.has_api = bool(self.of("AWS::Serverless::HttpApi"))
        self.keeps_failures = any(
            "OnFailure" in str(event.get("Properties", {})) or "EventInvokeConfig" in one
            for one in self.of("AWS::Serverless::Function").values()
            for event in one.get("Events", {}).values()
        )

    def of(self, kind: str) -> dict:
        found = {name: one for name, one in self.resources.items() if one["Type"] == kind}
        return {name: one.get("Properties", {}) for name, one in found.items()}

    def indexes(self, table: str) -> str:
        """Returns the index names of the table. Conditional indexes are alternatives."""
        always, either = [], []
        for index in self.tables[table].get("GlobalSecondaryIndexes", []):
            if "Fn::If" in index:
                either += [one["IndexName"] for one in index["Fn::If"][1:] if "IndexName" in one]
            else:
                always.append(index["IndexName"])
        return ", ".join([" or ".join(either)] * bool(either) + always) or "no index"

    def has_stream(self, table: str) -> bool:
        return "StreamSpecification" in self.tables[table]


def tables_of_parameters(root: dict, stacks: dict[str, Stack]) -> dict[str, tuple[str, str]]:
    """Returns the stack and table behind each parameter that the root passes from an output. The parameter has the
    name of the table, or the ARN of its stream."""
    found = {}
    for nested in root["Resources"].values():
        for parameter, value in nested["Properties"]["Parameters"].items():
            names = value.get("Fn::GetAtt", "").split(".") if isinstance(value, dict) else []
            if len(names) == 3:
                stack = stacks[Path(root["Resources"][names[0]]["Properties"]["Location"]).stem]
                found[parameter] = (stack.name, source(stack.outputs[names[2]]["Value"]))
    return found


def count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


class Canvas:
    def __init__(self) -> None:
        self.back, self.front = [], []
        # Middle of the left side of each box, by title.
        self.sides: Points = {}

    def box(self, kind: str, x: float, y: float, width: float, title: str, detail: str, height: float = BOX) -> None:
        self.sides[title] = (x, y + height / 2)
        fill, line = COLOURS[kind]
        self.front.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
            f'fill="{fill}" stroke="{line}" stroke-width="1.4"/>'
        )
        middle = x + width / 2
        self.text(middle, y + height / 2 - 3.5, title, 12.5, weight=600, anchor="middle", fit=width - 10)
        self.text(middle, y + height / 2 + 12.5, detail, 11, fill=QUIET, anchor="middle", fit=width - 10)

    def text(self, x, y, text, size, fill=INK, weight=400, anchor="start", fit=None) -> None:
        # Average letter width of the widest of the fonts below, relative to the font size.
        letter = 0.65 if weight > 400 else 0.58
        if fit and len(text) * size * letter > fit:
            size = round(fit / len(text) / letter, 1)
        self.front.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" fill="{fill}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )

    def arrow(self, points: list[tuple[float, float]], colour: str, dashed: bool = False, title: str = "") -> None:
        path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        inside = f"<title>{escape(title)}</title>" if title else ""
        self.back.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linejoin="round"{dash}>{inside}</path>')
        (before_x, before_y), (x, y) = points[-2:]
        dx, dy = (x > before_x) - (x < before_x), (y > before_y) - (y < before_y)
        tip = f"{x:g},{y:g} {x - 7 * dx - 4 * dy:g},{y - 7 * dy - 4 * dx:g} {x - 7 * dx + 4 * dy:g},{y - 7 * dy + 4 * dx:g}"
        self.front.append(f'<polygon points="{tip}" fill="{colour}"/>')


def draw_service(canvas: Canvas, stack: Stack, left: float, width: float, exported: set[str]) -> tuple[Points, float]:
    """Draws a column. Returns the starting points of the streams that another stack reads, by table, and the lower end."""
    x, inner, right = left + GUTTER, width - 2 * GUTTER, left + width - GUTTER
    y = TOP + HEADER
    writers = sum(bool(one.written) for one in stack.http)
    canvas.text(left + width / 2, TOP + 19, stack.name, 16, weight=700, anchor="middle")
    canvas.text(left + width / 2, TOP + 33, stack.file, 10.5, fill=QUIET, anchor="middle")
    middle = left + width / 2
    canvas.arrow([(middle, TOP - 22), (middle, TOP)], CALL, title=f"callers call the HTTP API of {stack.name}")
    canvas.box("api", x, y, inner, "HTTP API", count(sum(len(one.routes) for one in stack.http), "route"))
    canvas.arrow([(middle, y + BOX), (middle, y + BOX + SPACE)], CALL, title=f"the HTTP API of {stack.name} invokes its functions")
    y += BOX + SPACE
    canvas.box("function", x, y, inner, count(len(stack.http), "Lambda function"), f"{len(stack.http) - writers} read, {writers} write")
    canvas.arrow([(middle, y + BOX), (middle, y + BOX + SPACE)], CALL, title=f"functions of {stack.name} call its tables")
    y += BOX + SPACE
    tables = {}
    for table in stack.tables:
        detail = stack.indexes(table) + (" · stream" if stack.has_stream(table) else "")
        canvas.box("table", x, y, inner, table, detail)
        tables[table] = y
        y += BOX + 8
    y += SPACE
    leaving = {table: (right, tables[table] + BOX / 2) for table in stack.tables if table in exported}
    step = min(LANE, (GUTTER - 14) / max(1, len(stack.triggered)))
    for place, function in enumerate(stack.triggered):
        canvas.box("function", x, y, inner, function.name, function.triggers())
        shift, center = step * place, y + BOX / 2
        for table in function.streams:
            lane, start = right + 12 + shift, tables[table] + BOX / 2 + shift
            canvas.arrow([(right, start), (lane, start), (lane, center), (right, center)], STREAM, True, f"the stream of {table} invokes {function.name}")
        for table in function.written:
            if table in tables:
                lane, end = x - 12 - shift, tables[table] + BOX / 2 + shift
                canvas.arrow([(x, center), (lane, center), (lane, end), (x, end)], CALL, title=f"{function.name} writes to {table}")
        y += BOX + 10
    if stack.keeps_failures:
        canvas.box("storage", x, y, inner, "FailedChanges", "S3: events given up", BOX)
        y += BOX + 10
    return leaving, y


def draw_write(canvas: Canvas, function: str, stack: str, table: str, bus: float) -> None:
    """Draws the arrow of a function that writes to a table of another stack. It runs between and below the columns."""
    (x, center), (end_x, end) = canvas.sides[function], canvas.sides[table]
    # The arrows within a column use the middle of the boxes and the space below it.
    lane, end_lane, start, end = x - GUTTER - GAP / 2, end_x - GUTTER - GAP / 2, center - 8, end - 8
    points = [(x, start), (lane, start), (lane, bus), (end_lane, bus), (end_lane, end), (end_x, end)]
    canvas.arrow(points, CALL, title=f"{function} writes to {table} of {stack}")


def draw_lake(canvas: Canvas, stack: Stack, top: float, sources: Points) -> float:
    """Draws the band below the columns: the path of a change to the BI team, and the state machines."""
    buckets = [name for name in stack.of("AWS::S3::Bucket") if name != "FailedChanges"]
    exporters = [one for one in stack.functions if one.streams]
    bucket = f"S3: {', '.join(buckets)}"
    stations = [("function", one.name, count(len(one.streams), "stream")) for one in exporters]
    stations += [
        ("storage", "Firehose", count(len(stack.of("AWS::KinesisFirehose::DeliveryStream")), "delivery stream")),
        ("storage", bucket, "Parquet"),
        ("query", "Glue", count(len(stack.of("AWS::Glue::Table")), "table")),
        ("query", "Athena", count(len(stack.of("AWS::Athena::NamedQuery")), "named query")),
    ]
    titles = [f"{one.name} sends to Firehose" for one in exporters] + [f"Firehose writes to {bucket}"]
    left, y, between, height = MARGIN + 112, top + 20, 24, BOX + 4
    width = (WIDTH - MARGIN - 16 - left - between * (len(stations) - 1)) / len(stations)
    column = lambda place: left + place * (width + between)
    canvas.text(MARGIN + 14, y + 20, stack.name, 16, weight=700)
    canvas.text(MARGIN + 14, y + 35, stack.file, 10.5, fill=QUIET)
    for place, (kind, title, detail) in enumerate(stations):
        canvas.box(kind, column(place), y, width, title, detail, height)
    middle = y + height / 2
    for place, title in enumerate(titles, 1):
        canvas.arrow([(column(place) - between, middle), (column(place), middle)], CALL, title=title)
    # Athena finds the columns in Glue, and reads the objects.
    last = len(stations) - 1
    reads = f"Athena reads {bucket} with the tables of Glue"
    for place in (last, last - 1):
        canvas.arrow([(column(place), middle), (column(place) - between, middle)], CALL, title=reads)
    bus, end = top - 12, left + width / 2
    for place, (table, (x, start)) in enumerate(sources.items()):
        lane, title = x + GUTTER / 2, f"the stream of {table} invokes {exporters[0].name}"
        points = [(x, start), (lane, start), (lane, bus), (end + 8 * place, bus), (end + 8 * place, y)]
        canvas.arrow(points, STREAM, True, title)
    for machine in stack.of("AWS::StepFunctions::StateMachine"):
        row = y + height + 26
        draw_machine(canvas, stack, machine, row, [(column(place), width) for place in range(len(stations))], (bucket, y + height))
        y = row
    return y + height + 36


def draw_machine(canvas: Canvas, stack: Stack, machine: str, y: float, columns: list, above: tuple[str, float]) -> None:
    """Draws a state machine and its functions below the path of a change. Its calls leave it at its lower end."""
    properties, (bucket, bottom), height = stack.resources[machine]["Properties"], above, BOX + 4
    schedules = [one for one in stack.of("AWS::Scheduler::Schedule").values() if one["Target"]["Arn"] == {"Ref": machine}]
    expressions = [one["ScheduleExpression"] for one in schedules]
    expressions = [stack.parameters[one["Ref"]]["Default"] if isinstance(one, dict) else one for one in expressions]
    (x, width), bus = columns[0], y + height + 16
    canvas.box("api", x, y, width, machine, ", ".join(["state machine", *expressions]), height)
    used = str(properties["DefinitionSubstitutions"])
    calls = []
    for (left, _), (name, one) in zip(columns[1:], reversed(stack.named_functions)):
        if f"'{name}.Alias'" not in used:
            continue
        canvas.box("function", left, y, width, one.name, f"invoked by {machine}", height)
        calls.append((f"{machine} invokes {one.name}", left + width / 2, y + height))
        if one.writes_objects:
            canvas.arrow([(left + width / 2, y), (left + width / 2, bottom)], CALL, title=f"{one.name} writes to {bucket}")
    if "athena:startQueryExecution" in str(properties["Definition"]):
        calls.append((f"{machine} runs queries in Athena", columns[-1][0] + width / 2, bottom))
    for title, at, end in calls:
        canvas.arrow([(x + width / 2, y + height), (x + width / 2, bus), (at, bus), (at, end)], CALL, title=title)


def picture() -> str:
    root = read(ROOT / "template.yaml")
    stacks = {}
    for nested in root["Resources"].values():
        path = ROOT / nested["Properties"]["Location"]
        stacks[path.stem] = Stack(path)
    behind = tables_of_parameters(root, stacks)
    services = [stack for stack in stacks.values() if stack.has_api]
    others = [stack for stack in stacks.values() if not stack.has_api]
    read_elsewhere = {behind[one] for stack in others for function in stack.functions for one in function.streams if one in behind}

    canvas = Canvas()
    width = (WIDTH - 2 * MARGIN - GAP * (len(services) - 1)) / len(services)
    leaving, bottom = {}, 0
    for place, stack in enumerate(services):
        exported = {table for name, table in read_elsewhere if name == stack.name}
        found, end = draw_service(canvas, stack, MARGIN + place * (width + GAP), width, exported)
        leaving.update(found)
        bottom = max(bottom, end)
    panels = [(MARGIN + place * (width + GAP), TOP, width, bottom - TOP + 4) for place in range(len(services))]
    y = bottom + 4
    for function in (function for stack in services for function in stack.triggered):
        for stack, table in (behind[one] for one in function.written if one in behind):
            draw_write(canvas, function.name, stack, table, y + 7)
    for stack in others:
        top = y + 26
        y = draw_lake(canvas, stack, top, leaving)
        panels.append((MARGIN, top, WIDTH - 2 * MARGIN, y - top))
    canvas.text(MARGIN, 28, "Callers with a JWT", 14, weight=600)
    for x, label, colour, dashed in ((560, "call or write", CALL, False), (700, "DynamoDB stream", STREAM, True)):
        canvas.arrow([(x, 24), (x + 34, 24)], colour, dashed)
        canvas.text(x + 42, 28, label, 12, fill=QUIET)
    canvas.back.append(f'<path d="M{MARGIN} {TOP - 22} H{WIDTH - MARGIN}" stroke="{CALL}" stroke-width="1.5"/>')
    height = y + 16
    frames = [
        f'<rect x="{x:g}" y="{top:g}" width="{w:g}" height="{h:g}" rx="10" fill="#f8f9fb" stroke="#c9ced6"/>' for x, top, w, h in panels
    ]
    names = ", ".join(stack.name for stack in stacks.values())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" font-family="{FONTS}">',
            f"<title>Architecture of the stacks {escape(names)}</title>",
            "<!-- Written by make picture from template.yaml and stacks/. -->",
            f'<rect width="{WIDTH}" height="{height:g}" rx="8" fill="#ffffff"/>',
            *frames,
            *canvas.back,
            *canvas.front,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    drawn = picture()
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text() != drawn:
            sys.exit(f"{PICTURE.relative_to(ROOT)} is stale: run `make picture`")
        missing = [one for one in ARROWS if f"<title>{escape(one)}</title>" not in drawn]
        if missing:
            sys.exit(f"{PICTURE.relative_to(ROOT)} has no arrow for: {'; '.join(missing)}")
    else:
        PICTURE.write_text(drawn)


if __name__ == "__main__":
    main()
