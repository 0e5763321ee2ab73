"""A list of whole activities and a list of their names: from one index, or from an index for each."""

import json

from lab import Api, Table, Units, during

ACTIVITIES = 100
FILTERS = {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]}
BYTES = 1_600
COMPANY = "one-index-two-readers"
NAMES = {
    "ProjectionType": "INCLUDE",
    "NonKeyAttributes": ["Name", "ActivityType", "SubType", "Status", "Filters", "Enrolment"],
}


def naive(dynamo, projection):
    """One index for both lists. If it has only names, the list of activities gets each activity by its key."""
    table = Table(dynamo, "wide-index" if projection == "ALL" else "narrow-index", Program=projection)
    program = f"CompanyId-{COMPANY}#Program"
    attributes = {
        "Name": "Walk 5000", "ActivityType": "challenge", "SubType": "Fitness", "Status": "active", "Enrolment": "open",
        "Filters": json.dumps(FILTERS), "StartDate": "2099-01-01T00:00:00", "CreatedAt": "2099-01-01T00:00:00Z",
        "Type": "Activity", "CompanyId": COMPANY, "Version": 1, "Data": "x" * BYTES,
    }
    for at in range(ACTIVITIES):
        keys = {"PK": f"ActivityId-{at:032}", "SK": "Program", "ProgramPK": program, "ProgramSK": "EndDate#2099-12-31"}
        _, created = during(table.units, lambda keys=keys: table.put(**keys, **attributes))
    first = f"ActivityId-{0:032}"
    _, data = during(table.units, lambda: table.update(first, "Program", Data="y" * BYTES))
    _, name = during(table.units, lambda: table.update(first, "Program", Name="Walk 6000"))

    entries, names = during(table.units, lambda: table.query(program, index="Program"))
    activities = names
    if projection != "ALL":
        _, gets = during(table.units, lambda: [table.get(entry["PK"]["S"], "Program") for entry in entries])
        activities = Units(names + gets)
    return [in_indexes(created), in_indexes(data), in_indexes(name), activities, names]


def ours(url):
    """The wellness service: GSI1 has all attributes that the list of activities shows, and GSI2 has the names."""
    api = Api(url)
    company = f"/wellness/companies/{COMPANY}"
    activity = {"name": "Walk 5000", "type": "challenge", "subType": "Fitness", "enrolment": "open", "filters": FILTERS,
                "startDate": "2099-01-01", "endDate": "2099-12-31", "data": {"text": "x" * BYTES}}
    for _ in range(ACTIVITIES):
        made, created = during(api.units, lambda: api("POST", f"{company}/activities", activity))
    path = f"{company}/activities/{made['activityId']}"
    _, data = during(api.units, lambda: api("PATCH", path, {"version": 1, "data": {"text": "y" * BYTES}}))
    _, name = during(api.units, lambda: api("PATCH", path, {"version": 2, "name": "Walk 6000"}))
    period = "?from=2099-01-01&to=2099-12-31"
    _, activities = during(api.units, lambda: api("GET", f"{company}/activities{period}"))
    _, names = during(api.units, lambda: api("GET", f"{company}/activity-options{period}"))
    return [in_indexes(created), in_indexes(data), in_indexes(name), activities, names]


def in_indexes(spent):
    """Returns the write units of the indexes. Those of the table are the same with any index."""
    return Units({
        (place, kind): units for (place, kind), units in spent.items()
        if kind == "W" and (place == "Program" or "/" in place)
    })


def play(url, dynamo):
    steps = ["create an activity", "change its data", "change its name",
             f"list {ACTIVITIES} activities", f"list {ACTIVITIES} names"]
    rows = [["", "one wide index", "one narrow index", "two indexes"]]
    designs = zip(steps, naive(dynamo, "ALL"), naive(dynamo, NAMES), ours(url), strict=True)
    return rows + [[step, *[one.text() for one in units]] for step, *units in designs]
