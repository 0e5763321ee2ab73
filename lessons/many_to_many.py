"""The venues of activities: by reference, and as copies that a job updates."""

import json

from lab import Api, Table, during, job

ACTIVITIES, VENUES = 100, 5
OLD = {"Name": "Blood Bank A", "Addr1": "211 Wabash Street", "City": "Chicago", "ST": "IL", "Postal": "60606"}
NEW = {**OLD, "Addr1": "311 Wabash Street"}


def naive(dynamo):
    """An activity has the ids of its venues. A read gets each venue by its id."""
    table = Table(dynamo, "references", Venue="KEYS_ONLY")
    for venue in range(VENUES):
        table.put(PK="CompanyId-1", SK=f"VenueId-{venue}", Data=json.dumps(OLD))

    def refer(activity, *venues):
        for venue in venues:
            keys = {"VenuePK": f"VenueId-{venue}", "VenueSK": f"active#{activity}"}
            table.put(PK=activity, SK=f"Venue#VenueId-{venue}", **keys)

    def create(activity, venues):
        table.put(PK=activity, SK="Program", Name="Blood drive")
        refer(activity, *venues)
        return activity

    def read(activity):
        for item in table.query(activity)[1:]:
            table.get("CompanyId-1", item["SK"]["S"].removeprefix("Venue#"))

    def replace(old, new):
        for entry in table.query(f"VenueId-{old}", index="Venue"):
            table.delete(entry["PK"]["S"], entry["SK"]["S"])
            refer(entry["PK"]["S"], new)

    for at in range(ACTIVITIES):
        one = create(f"ActivityId-{at:032}", [0])
    works = [lambda: read(one), lambda: table.update("CompanyId-1", "VenueId-0", Data=json.dumps(NEW)),
             lambda: replace(0, 1)]
    alone, change, replacement = [during(table.units, work)[1] for work in works]
    several = create("ActivityId-several", range(VENUES))
    return [alone, during(table.units, lambda: read(several))[1], change, replacement]


def ours(url):
    """The wellness service: an activity has copies of its venues. A job changes the copies."""
    api = Api(url)
    company = "/wellness/companies/many-to-many"
    for venue in range(VENUES):
        api("PUT", f"{company}/references/venues/{venue}", {"name": OLD["Name"], "data": OLD})

    def create(venues):
        references = [{"facet": "venues", "id": str(venue), "data": OLD} for venue in venues]
        activity = {"name": "Blood drive", "type": "event", "subType": "Health", "references": references,
                    "startDate": "2099-01-01", "endDate": "2099-12-31"}
        return f"{company}/activities/{api('POST', f'{company}/activities', activity)['activityId']}"

    for _ in range(ACTIVITIES):
        path = create([0])
    alone = during(api.units, lambda: api("GET", path))[1]
    venue, where = f"{company}/references/venues/0", ("continue-job", "local-Activities")
    change = job(api, "PATCH", venue, {"data": NEW}, *where)
    replacement = job(api, "POST", f"{venue}/replacement", {"replacementId": "1", "data": OLD}, *where)
    path = create(range(VENUES))
    return [alone, during(api.units, lambda: api("GET", path))[1], change, replacement]


def play(url, dynamo):
    steps = ["read an activity with 1 venue", f"read an activity with {VENUES} venues",
             f"change the venue of {ACTIVITIES} activities", f"replace the venue of {ACTIVITIES} activities"]
    rows = [["", "references", "copies"]]
    designs = zip(steps, naive(dynamo), ours(url), strict=True)
    return rows + [[step, one.text(), other.text()] for step, one, other in designs]
