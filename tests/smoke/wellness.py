"""Smoke test of the wellness service, with a new company."""

import datetime

from contract import body_of


def walk(stack):
    company, user = f"{stack.run}-company", f"{stack.run}-user"
    base, year = f"/wellness/companies/{company}", datetime.datetime.now(datetime.timezone.utc).year
    dates = {"startDate": f"{year}-01-01", "endDate": f"{year}-12-31T23:59:59"}
    section = {**body_of("put-section"), **dates}
    stack.expect(201, "wellness: create a section", "PUT", f"{base}/sections/1", body=section)
    stack.expect(200, "wellness: replace the section", "PUT", f"{base}/sections/1", body=section)
    venue = f"{base}/references/venues/1"
    stack.expect(201, "wellness: create a venue", "PUT", venue, body=body_of("put-reference"))
    kind = body_of("create-template")
    path = f"{base}/templates"
    template = stack.created("wellness: create a template", path, kind, "template", {**kind, "name": "Run"})
    stack.expect(200, "wellness: list the templates", "GET", f"{base}/templates")
    use = {"facet": "venues", "id": "1", "data": {"Name": "Hall"}}
    new = {**dates, "templateId": template["templateId"], "sectionId": "1", "references": [use]}
    activity = stack.created("wellness: create an activity", f"{base}/activities", new, "activity", {**new, "name": "Run"})
    one = f"{base}/activities/{activity['activityId']}"
    second = stack.expect(201, "wellness: create another activity", "POST", f"{base}/activities", body={**new, "name": "Second"})
    stack.expect(200, "wellness: change the activity", "PATCH", one, body={"version": 1, "name": "Walk 5000"})
    stack.undo("wellness: cancel the activity", "PATCH", one, body={"version": 2, "status": "cancelled"})
    stack.undo("wellness: cancel the other activity", "PATCH", f"{base}/activities/{second['activityId']}",
               body={"version": 1, "status": "cancelled"})
    stack.refused(412, "another-version", "wellness: reject an old version", "PATCH", one,
                  body={"version": 1, "name": "Run"})
    stack.until("wellness: list the activities", f"{base}/activities", lambda found: len(found["items"]) == 2)
    stack.until("wellness: list the activity options", f"{base}/activity-options", lambda found: len(found["items"]) == 2)
    parts = stack.expect(200, "wellness: get the whole activity", "GET", one)
    stack.check("wellness: the activity has the venue", parts["references"] == [use], parts.body)
    stack.expect(200, "wellness: remove the activity from its section", "PUT", f"{one}/section", body={"sectionId": None})
    stack.refused(404, "not-found", "wellness: reject an unknown section", "PUT", f"{one}/section", body={"sectionId": "2"})
    faults = ["/body/endDate", "/body/type"]
    wrong = {**kind, "startDate": f"{year}-01-01", "type": "walk"}
    stack.refused(400, "invalid-request", "wellness: report all faults", "POST", f"{base}/activities",
                  body=wrong, faults=faults)
    ids = [activity["activityId"], second["activityId"]]
    stack.paged("wellness: list the venue's activities", f"{venue}/activities?from={year}-01-01", "activityId", ids)
    _jobs(stack, base, venue)
    _registrations(stack, base, user, ids)
    stack.stays.append(f"two cancelled activities of {company}, a section, a venue, a template, two jobs, and {user}")


def _jobs(stack, base, venue):
    job = stack.expect(202, "wellness: change the venue", "PATCH", venue, body={"data": {"Name": "Great Hall"}})
    of_job = f"{base}/jobs/{job['jobId']}"
    stack.until("wellness: the job is done", of_job, lambda found: found["status"] == "done")
    stack.refused(409, "job-not-failed", "wellness: reject a retry of a finished job", "POST", f"{of_job}/retry")
    body, path = {"replacementId": "2", "data": {}}, f"{venue}/replacement"
    other = {**body, "replacementId": "3"}
    stack.created("wellness: replace the venue", path, body, "replacement", other, 202, f"{base}/jobs")
    stack.until("wellness: the replacement is done", of_job, lambda found: found["status"] == "done")


def _registrations(stack, base, user, activities):
    employee = body_of("put-employee")
    stack.expect(201, "wellness: create an employee", "PUT", f"{base}/employees/{user}", body=employee)
    of_company = f"?companyId={stack.run}-company"
    path = f"/wellness/users/{user}/registrations"
    stack.until("wellness: the employee is enrolled", path + of_company, lambda found: len(found["items"]) == len(activities))
    one = f"{path}/{activities[0]}{of_company}"
    stack.expect(200, "wellness: record progress", "PATCH", one, body={"progress": 50.25})
    stack.refused(409, "progress-backwards", "wellness: reject lower progress", "PATCH", one, body={"progress": 50})
