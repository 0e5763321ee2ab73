//! Demo of the wellness programme: creates, uses and changes a plan year.
use http::{Method, StatusCode};
use itertools::Itertools;
use serde_json::{Value, json};

use super::{CliError, Guide, Step, check, text};
use crate::{
    client::{Call, Reply},
    sample::wellness::{COMPANY, SECTION, TEMPLATE, blood_bank_a, blood_bank_b, last_second, year},
};

/// The registrations of the new employee. An operator names the company.
const REGISTRATIONS: &str = "/wellness/users/456/registrations?companyId=123";
/// New end date of the walk, in the next year.
const NEW_END: &str = "02-28T23:59:59";

impl Guide {
    pub(super) async fn wellness(&self) -> Result<(), CliError> {
        let template = self.prepare().await?;
        let walk = self.plan(&template).await?;
        self.overview(&walk).await?;
        self.start_work(&walk).await?;
        self.walk(&walk).await?;
        self.sign_up().await?;
        self.staff().await?;
        self.import_staff().await?;
        self.file().await?;
        self.look(&walk).await?;
        let walk = self.edit(walk).await?;
        self.change_venues().await?;
        self.extend(&walk).await?;
        self.tenants().await
    }

    /// Exports the company, and erases the employee and another company.
    async fn tenants(&self) -> Result<(), CliError> {
        let export = format!("{COMPANY}/export");
        let call = Call::post(&export, json!({}));
        self.job(Step { what: "Export the company", call, status: StatusCode::ACCEPTED }).await?;
        let reply = self.get("Get the files of the export", &export).await?;
        let files = reply.body["files"].as_array().map_or(0, Vec::len);
        check(files >= 4, "the export must have files")?;
        let other = "/wellness/companies/456";
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        self.put("Add an employee of another company", &format!("{other}/employees/1"), placed).await?;
        let employee = format!("{COMPANY}/employees/456");
        for (what, path, kind) in
            [("Erase the employee", employee.as_str(), "Registration"), ("Erase the other company", other, "Employee")]
        {
            let erasure = format!("{path}/erasure");
            let call = Call::post(&erasure, json!({}));
            self.job(Step { what, call, status: StatusCode::ACCEPTED }).await?;
            let reply = self.get("Get what was removed, and what remains until when", &erasure).await?;
            let removed = reply.body["removed"].as_array().into_iter().flatten();
            check(removed.filter(|one| one["kind"] == kind).count() == 1, "the erasure must have removed items")?;
        }
        Ok(())
    }

    /// Returns the id of the template that is shared by all companies.
    async fn prepare(&self) -> Result<String, CliError> {
        let section = json!({"name": "Summer", "startDate": format!("{}-06-01", year()), "endDate": last_second()});
        self.put("Create a section of the plan", &format!("{COMPANY}/sections/summer"), section).await?;
        let plan = json!({"name": "Program of the year", "startDate": format!("{}-01-01", year()), "endDate": format!("{}-12-31", year())});
        let path = format!("{COMPANY}/plans/{}", year());
        self.put("Create the plan of the year", &path, plan).await?;
        self.get("Get the plan", &path).await?;
        self.get("List the plans", &format!("{COMPANY}/plans")).await?;
        let tracker = json!({"name": "Step counter", "data": {"unit": "steps"}});
        let path = format!("{COMPANY}/references/trackers/steps");
        self.put("Create a tracker for references from activities", &path, tracker).await?;
        let own = json!({"name": "Stairs challenge", "type": "challenge", "subType": "Fitness"});
        self.post("Create a template of the company", &format!("{COMPANY}/templates"), own).await?;
        let what = "Load the global templates that ship with the service: only the first run of a release writes";
        let call = Call::post("/_local/functions/load-templates/invocations", json!({}));
        self.step(Step { what, call, status: StatusCode::OK }).await?;
        let courses = "/wellness/templates/alcohol-courses";
        let reply = self.get("Get the template with three courses", courses).await?;
        check(
            reply.body["references"].as_array().is_some_and(|it| it.len() == 3),
            "the template must have three courses",
        )?;
        let own = json!({"name": "Lunch walk", "type": "challenge", "subType": "Fitness"});
        let reply = self.post("Create another template", &format!("{COMPANY}/templates"), own).await?;
        let path = format!("{COMPANY}/templates/{}", text(&reply.body, "templateId"));
        self.patch("Rename it under its version", &path, json!({"version": 1, "name": "Evening walk"})).await?;
        let what = "Remove it";
        self.step(Step { what, call: Call::delete(&path), status: StatusCode::NO_CONTENT }).await?;
        let reply = self.get("List the templates that all companies share", "/wellness/templates").await?;
        let walking = items(&reply).find(|template| template["name"] == TEMPLATE);
        check(walking.is_some(), "the list must have the sample template")?;
        Ok(walking.map(|template| text(template, "templateId")).unwrap_or_default())
    }

    /// Creates the walk and returns its id, path and version.
    async fn plan(&self, template: &str) -> Result<Walk, CliError> {
        let body = json!({
            "name": "Walk 5000 in summer",
            "templateId": template,
            "startDate": format!("{}-06-01", year()),
            "endDate": last_second(),
            "sectionId": "summer",
            "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
            "references": [{"facet": "trackers", "id": "steps", "data": {"unit": "steps"}}],
        });
        let call = Call::post(format!("{COMPANY}/activities"), body).key("demo-walk");
        let mut replies = Vec::new();
        for what in ["Create a challenge for Sales from a template", "Retry: the response is the same"] {
            replies.push(self.step(Step { what, call: call.clone(), status: StatusCode::CREATED }).await?);
        }
        check(replies.iter().map(|reply| &reply.body).all_equal(), "a retry must return the same response")?;
        let walk = replies.first().map(Walk::made).unwrap_or_default();
        check(!walk.id.is_empty(), "the activity must have an id")?;
        let job = format!("{COMPANY}/jobs/EnrolmentId-{}", walk.id);
        self.done(&job).await?;
        let path = "/wellness/users/123/registrations?companyId=123";
        let reply = self.get("List the registrations of Sue, who was an employee before", path).await?;
        check(registration(&reply.body, &walk).is_some(), "the job must have enrolled her")?;
        Ok(walk)
    }

    async fn overview(&self, walk: &Walk) -> Result<(), CliError> {
        let path = format!("{COMPANY}/activities?year={}", year());
        let reply = self.get("List the activities and sections of the plan year", &path).await?;
        let mut sections = reply.body["sections"].as_array().into_iter().flatten();
        let summer = sections.find(|section| section["sectionId"] == "summer");
        check(summer.is_some_and(|it| it["activityIds"] == json!([walk.id])), "the section must have the walk")?;
        let path = format!("{COMPANY}/activity-options?role=EmployeeOnPlan&department=Sales&type=challenge");
        let reply = self.get("List the challenges for Sales", &path).await?;
        let names = items(&reply).map(|option| text(option, "name")).sorted().collect_vec();
        check(names == ["Walk 5000", "Walk 5000 in summer"], "the list must not have the challenge of Engineering")
    }

    async fn start_work(&self, walk: &Walk) -> Result<(), CliError> {
        let employee = json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "Ann"});
        self.put("Add an employee in Sales", &format!("{COMPANY}/employees/456"), employee).await?;
        self.wait(REGISTRATIONS, |body| registration(body, walk).is_some()).await?;
        let what = "The table's stream enrols the employee in challenges";
        self.handed_on(what, "register-new-employee").await?;
        let reply = self.get("List her registrations of the year", REGISTRATIONS).await?;
        let names = items(&reply).map(|registration| text(registration, "name")).sorted().collect_vec();
        check(names == ["Walk 5000", "Walk 5000 in summer"], "she must be registered for the challenges of Sales only")
    }

    async fn walk(&self, walk: &Walk) -> Result<(), CliError> {
        let path = format!("/wellness/users/456/registrations/{}?companyId=123", walk.id);
        let body = json!({"progress": 40.4, "progressText": "404 / 1000 steps"});
        self.patch("Report 404 of 1000 steps", &path, body).await?;
        let participants = format!("{}/participants", walk.path);
        let reply = self.get("List the participants of the walk", &participants).await?;
        check(items(&reply).any(|one| one["progress"] == 40.4), "the list must have her progress")?;
        let call = Call::patch(&path, json!({"progress": 30}));
        let what = "Report less progress: rejected";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await?;
        let reply = self.get("List her registrations with the progress", REGISTRATIONS).await?;
        let shown = registration(&reply.body, walk).map(|it| &it["progress"]);
        check(shown == Some(&json!(40.4)), "the progress must be unchanged")?;
        self.points(walk, &path).await
    }

    /// Earns points with the whole goal and with attendance, and corrects them.
    async fn points(&self, walk: &Walk, registration: &str) -> Result<(), CliError> {
        let reply = self.patch("Report the whole goal", registration, json!({"progress": 100})).await?;
        check(reply.body["status"] == "completed", "the registration must be completed")?;
        let attended = json!({"userIds": ["456"]});
        let call = Call::post(format!("{}/attendance", walk.path), attended);
        let reply = self.step(Step { what: "Record her attendance", call, status: StatusCode::OK }).await?;
        check(reply.body["items"][0]["outcome"] == "recorded", "the attendance must be recorded")?;
        let earned = reply.body["items"][0]["earnedPoints"].as_i64().unwrap_or_default();
        let points = "/wellness/users/456/points?companyId=123";
        let correction = json!({"planId": year().to_string(), "amount": 5, "reason": "Helped at the start"});
        self.post("Add points by hand", points, correction).await?;
        let reply = self.get("List her points of the plan", points).await?;
        check(reply.body["total"] == earned + 5, "the total must have the awards and the correction")?;
        let report = format!("{COMPANY}/plans/{}/report", year());
        let call = Call::post(&report, json!({}));
        self.step(Step { what: "Start the report of the plan", call, status: StatusCode::ACCEPTED }).await?;
        self.done(&format!("{COMPANY}/jobs/ReportId-{}", year())).await?;
        let reply = self.get("Read the report", &report).await?;
        let row = items(&reply).find(|row| row["activityId"] == walk.id);
        let completed = row.map(|row| row["departments"][0]["completed"] == 1);
        check(completed == Some(true), "the report must have her completed walk")
    }

    /// Signs up two employees for an event with one seat, and gives the seat to the second one.
    async fn sign_up(&self) -> Result<(), CliError> {
        let event = json!({
            "name": "Flu shots", "type": "event", "subType": "Health", "capacity": 1,
            "startDate": format!("{}-06-01", year()), "endDate": last_second(),
            "groups": {"type": "team", "rules": {"progress": "average"}, "items": [{"name": "Early birds"}]},
        });
        let reply = self.post("Create an event with one seat", &format!("{COMPANY}/activities"), event).await?;
        let id = text(&reply.body, "activityId");
        let seat = |user: &str| format!("/wellness/users/{user}/registrations/{id}?companyId=123");
        for (user, what, status) in [("456", "She joins the event", "enrolled"), ("123", "Sue has to wait", "waiting")]
        {
            let call = Call { method: Method::PUT, ..Call::get(seat(user)) };
            let reply = self.step(Step { what, call, status: StatusCode::CREATED }).await?;
            check(reply.body["status"] == status, "the event must have one seat")?;
        }
        let call = Call { method: Method::DELETE, ..Call::get(seat("456")) };
        self.step(Step { what: "She leaves the event", call, status: StatusCode::NO_CONTENT }).await?;
        self.done(&format!("{COMPANY}/jobs/SeatsId-{id}")).await?;
        let call = Call { method: Method::PUT, ..Call::get(seat("123")) };
        let reply = self.step(Step { what: "Sue has the seat", call, status: StatusCode::OK }).await?;
        check(reply.body["status"] == "enrolled", "the seat must be given to her")?;
        self.group(&id, &seat("123")).await
    }

    /// Puts an employee into a group, and computes the progress of the group.
    async fn group(&self, event: &str, seat: &str) -> Result<(), CliError> {
        let path = format!("{COMPANY}/activities/{event}?include=Program%23Groups");
        let reply = self.get("Get the groups of the event", &path).await?;
        let group = reply.body["groups"]["items"][0]["groupId"].clone();
        let call = Call { method: Method::PUT, ..Call::post(seat, json!({"groupId": group})) };
        let reply = self.step(Step { what: "Sue joins a group", call, status: StatusCode::OK }).await?;
        check(reply.body["groupId"] == group, "she must be in the group")?;
        let what = "Start the jobs that compute the progress of groups, as the schedule does every hour";
        let call = Call::post("/_local/functions/start-group-progress/invocations", json!({}));
        self.step(Step { what, call, status: StatusCode::OK }).await?;
        self.done(&format!("{COMPANY}/jobs/GroupsId-{event}")).await?;
        let reply = self.get("Get the groups with their progress", &path).await?;
        check(reply.body["groups"]["items"][0]["members"] == 1, "the group must have one member")
    }

    /// Hires an employee, lists the department, and removes the employee.
    async fn staff(&self) -> Result<(), CliError> {
        let path = format!("{COMPANY}/employees/789");
        let employee = json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "Bob"});
        self.put("Add another employee in Sales", &path, employee).await?;
        let reply = self.get("Get the employee", &path).await?;
        check(reply.body["name"] == "Bob", "the employee must have the name")?;
        let reply = self.get("List the employees in Sales", &format!("{COMPANY}/employees?department=Sales")).await?;
        check(items(&reply).any(|one| one["userId"] == "789"), "the list must have the employee")?;
        let what = "Remove the employee: a job ends the registrations";
        self.job(Step { what, call: Call::delete(&path), status: StatusCode::ACCEPTED }).await?;
        let what = "List the registrations of the removed employee: there are none";
        let reply = self.get(what, "/wellness/users/789/registrations?companyId=123").await?;
        check(items(&reply).next().is_none(), "the registrations must have ended")
    }

    /// Uploads a file by a presigned URL.
    async fn file(&self) -> Result<(), CliError> {
        let content = "Flu shots start in October.";
        let sha256 = "71c823fe986aab76a7c2040da51414fa6d0a9ca01010eb2b5d9882f3ec8c10c8";
        let file = json!({"name": "Notice", "contentType": "text/plain", "bytes": content.len(), "sha256": sha256});
        let reply = self.post("Create a file and sign its upload", &format!("{COMPANY}/files"), file).await?;
        self.send_upload(&reply.body["upload"], content, "receive-file").await?;
        let path = format!("{COMPANY}/references/files/{}", text(&reply.body, "fileId"));
        self.wait(&path, |body| body["status"] == "ready").await?;
        let reply = self.get("Get the file with the URL of its content", &path).await?;
        check(reply.body["downloadUrl"].is_string(), "the file must be ready")
    }

    /// Imports an employee from a CSV file.
    async fn import_staff(&self) -> Result<(), CliError> {
        let content = "userId,role,department,name\n790,EmployeeOnPlan,Sales,Cleo\n";
        let sha256 = "00e375093bd944a0287227e4c5d915358784eea9d075b226301b7b54dc005088";
        let import = json!({"bytes": content.len(), "sha256": sha256});
        let imports = format!("{COMPANY}/employee-imports");
        let reply = self.post("Create an import of employees and sign its upload", &imports, import).await?;
        self.send_upload(&reply.body["upload"], content, "receive-file").await?;
        let path = format!("{imports}/{}", text(&reply.body, "importId"));
        self.wait(&path, |body| body["status"] == "done").await?;
        let reply = self.get("Get the result of the import", &path).await?;
        check(reply.body["added"] == 1, "the import must have added an employee")
    }

    async fn look(&self, walk: &Walk) -> Result<(), CliError> {
        let reply = self.get("Get an activity with all its parts", &walk.path).await?;
        check(reply.body["goal"]["parameters"]["target"] == 1000, "the goal must come from the template")?;
        let path = format!("{}?include=Program%23Groups", walk.path);
        let reply = self.get("Get only its groups", &path).await?;
        check(
            reply.body["groups"]["items"].as_array().is_some_and(|it| it.len() == 2),
            "the activity must have two groups",
        )?;
        let call = Call::put(format!("{}/section", walk.path), json!({"sectionId": SECTION}));
        let what = "Move the activity to another section: an attribute changes, but no key";
        let reply = self.step(Step { what, call, status: StatusCode::OK }).await?;
        check(reply.body["sectionId"] == SECTION, "the activity must be in the other section")
    }
}

impl Guide {
    /// Changes parts and references of the walk. Returns the walk with its new version.
    async fn edit(&self, walk: Walk) -> Result<Walk, CliError> {
        let goal = json!({"version": walk.version, "type": "steps", "parameters": {"target": 2000}});
        let call = Call::put(format!("{}/goal", walk.path), goal);
        let reply = self.step(Step { what: "Change the goal", call, status: StatusCode::OK }).await?;
        let version = reply.body["version"].clone();
        let call = Call::delete(format!("{}/rewards/Half?version={version}", walk.path));
        let what = "Remove a reward under the version of the activity";
        self.step(Step { what, call, status: StatusCode::NO_CONTENT }).await?;
        let course = json!({"name": "Healthy feet", "data": {"minutes": 20}});
        let record = format!("{COMPANY}/references/courses/feet");
        self.put("Create a course", &record, course).await?;
        let reference = format!("{}/references/courses/feet", walk.path);
        let reply = self.put("Add the course to the walk, with a copy of its data", &reference, json!({})).await?;
        check(reply.body["data"]["minutes"] == 20, "the reference must have the data of the record")?;
        let in_use =
            Step { what: "Remove the course: rejected", call: Call::delete(&record), status: StatusCode::CONFLICT };
        self.step(in_use).await?;
        for (what, path) in [("Remove it from the walk", &reference), ("Remove the unused course", &record)] {
            self.step(Step { what, call: Call::delete(path), status: StatusCode::NO_CONTENT }).await?;
        }
        let reply = self.get("Get the walk with its new version", &walk.path).await?;
        check(reply.body["goal"]["parameters"]["target"] == 2000, "the walk must have the new goal")?;
        Ok(Walk { version: reply.body["version"].clone(), ..walk })
    }
}

impl Guide {
    async fn change_venues(&self) -> Result<(), CliError> {
        let (bank_a, bank_b) = (format!("{COMPANY}/references/venues/123"), format!("{COMPANY}/references/venues/456"));
        let (at_a, at_b) = (format!("{bank_a}/activities"), format!("{bank_b}/activities"));
        let reply = self.get("List the upcoming activities at Blood Bank A", &at_a).await?;
        let drives = activity_ids(&reply);
        check(!drives.is_empty(), "the list must have a blood drive")?;

        let call = Call::patch(&bank_a, json!({"data": blood_bank_a("311 Wabash Street")}));
        self.job(Step { what: "Change the address of Blood Bank A", call, status: StatusCode::ACCEPTED }).await?;
        let reply = self.get("List its activities with the new address", &at_a).await?;
        check(
            items(&reply).all(|it| it["data"]["Addr1"] == "311 Wabash Street"),
            "each activity must have the new address",
        )?;

        let body = json!({"replacementId": "456", "data": blood_bank_b()});
        let call = Call::post(format!("{bank_a}/replacement"), body);
        let what = "Replace Blood Bank A with Blood Bank B";
        self.job(Step { what, call, status: StatusCode::ACCEPTED }).await?;
        let reply = self.get("List the activities at Blood Bank A: there are none", &at_a).await?;
        check(items(&reply).next().is_none(), "Blood Bank A must have no activities")?;
        let reply = self.get("List the activities at Blood Bank B", &at_b).await?;
        check(activity_ids(&reply) == drives, "Blood Bank B must have the activities of Blood Bank A")
    }

    async fn extend(&self, walk: &Walk) -> Result<(), CliError> {
        let end = format!("{}-{NEW_END}", year() + 1);
        let body = json!({"version": walk.version, "endDate": end});
        let what = "Extend the walk and its registrations into the next year";
        let reply = self.patch(what, &walk.path, body.clone()).await?;
        let job = format!("{COMPANY}/jobs/{}", text(&reply.body, "jobId"));
        self.done(&job).await?;
        let call = Call { body: None, ..Call::post(format!("{job}/retry"), Value::Null) };
        let what = "Retry the job: rejected, because the job has not failed";
        self.step(Step { what, call, status: StatusCode::CONFLICT }).await?;
        let call = Call::patch(&walk.path, body);
        let what = "Change the walk with an outdated version: rejected";
        self.step(Step { what, call, status: StatusCode::PRECONDITION_FAILED }).await?;
        let path = format!("{REGISTRATIONS}&year={}", year() + 1);
        let reply = self.get("List her registrations of the next year", &path).await?;
        let followed = registration(&reply.body, walk).is_some_and(|it| it["endDate"] == format!("{end}Z"));
        check(followed, "the registration must have the new end")?;
        self.handed_on("Progress of the job stream", "continue-job").await
    }

    /// Runs a step that starts a job, and waits for the job.
    async fn job(&self, step: Step) -> Result<(), CliError> {
        let reply = self.step(step).await?;
        let location = reply.headers.get("location").and_then(|location| location.to_str().ok());
        self.done(location.unwrap_or_default()).await
    }

    async fn done(&self, job: &str) -> Result<(), CliError> {
        self.wait(job, |body| body["status"] == "done").await?;
        let reply = self.get("Get the progress of the job", job).await?;
        check(reply.body["status"] == "done" && reply.body["left"] == 0, "the job must be done")
    }
}

/// The activity that the demo creates.
#[derive(Default)]
struct Walk {
    id: String,
    path: String,
    version: Value,
}

impl Walk {
    fn made(reply: &Reply) -> Self {
        let id = text(&reply.body, "activityId");
        Self { path: format!("{COMPANY}/activities/{id}"), version: reply.body["version"].clone(), id }
    }
}

fn items(reply: &Reply) -> impl Iterator<Item = &Value> {
    reply.body["items"].as_array().into_iter().flatten()
}

fn activity_ids(reply: &Reply) -> Vec<String> {
    items(reply).map(|item| text(item, "activityId")).sorted().collect()
}

fn registration<'a>(body: &'a Value, walk: &Walk) -> Option<&'a Value> {
    body["items"].as_array().into_iter().flatten().find(|item| item["activityId"] == walk.id)
}
