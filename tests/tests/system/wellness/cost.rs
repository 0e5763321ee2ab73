//! Compares the capacity that access patterns consume with their declared costs, per table and
//! index: for large items, and for long lists and jobs.
//!
//! The contract has the units of each event of the API.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jobs::Job;
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use system_tests::{
    Answer, Client, parsed,
    patterns::{cost_of, labels},
    send, template_of, text,
    units::{Consumed, bytes, consumed, declared},
    until,
    wellness::references::step_of,
    wellness::{
        employee, employee_key,
        files::{file_of, upload_file},
        of_company, put, registration_of, registrations_of, stored, stored_in, table,
    },
};
use table::Units;
use wellness::{Case, Registration, job_key};

const COMPANY: &str = "C-1";
const USER: &str = "u-1";
const VENUE: &str = "VenueId-123";
const NONE: &Value = &Value::Null;

/// Number of bytes of free text in the base row, the detail and the references of an activity, and
/// the attributes of employees.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Size {
    data: usize,
    detail: usize,
    copied: usize,
    /// Number of attributes of an employee. The filters name the first twelve.
    attributes: usize,
}

const SMALL: Size = Size { data: 20, detail: 20, copied: 20, attributes: 0 };
const LARGE: Size = Size { data: 4_500, detail: 12_500, copied: 2_600, attributes: 20 };

type Item = HashMap<String, AttributeValue>;

/// A stack without event source mappings. The test invokes the stream functions itself.
pub(super) fn by_hand() -> Builder {
    let mut template = template_of("wellness");
    for (table, readers) in [("Activities", 2), ("WellnessJobs", 1)] {
        let mapping = format!("            Stream: !GetAtt {table}.StreamArn\n");
        assert_eq!(template.matches(&mapping).count(), readers);
        template = template.replace(&mapping, &format!("{mapping}            Enabled: false\n"));
    }
    Stack::of_text(template)
}

/// An activity of the given size, and the patterns whose cost was measured on that activity.
struct Measured {
    stack: Stack,
    client: Client,
    size: Size,
    activity: String,
    /// The type of the company's items whose size is `own` in the formulas.
    kind: &'static str,
    seen: BTreeSet<String>,
}

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn year() -> String {
    Timestamp::now().strftime("%Y").to_string()
}

fn free(bytes: usize) -> Value {
    json!({"text": "x".repeat(bytes)})
}

fn is_a(item: &Item, kind: &str) -> bool {
    item.get("Type").and_then(|kind| kind.as_s().ok()).is_some_and(|found| found == kind)
}

/// Returns the mean size of the items.
fn each<'a>(items: impl IntoIterator<Item = &'a Item>) -> usize {
    let sizes: Vec<usize> = items.into_iter().map(bytes).collect();
    sizes.iter().sum::<usize>().div_ceil(sizes.len().max(1))
}

fn same(case: Case) -> Case {
    case
}

impl Measured {
    async fn start(size: Size) -> Self {
        let stack = by_hand().parameter("ErasureQuietSeconds", "0").start().await.expect("a stack");
        let client = Client::operator(&stack);
        Self { client, stack, size, activity: String::new(), kind: "", seen: BTreeSet::new() }
    }

    /// Sends a request. The path may begin below that of the company.
    async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let path = if path.starts_with('/') { path.to_owned() } else { of(path) };
        let request = self.client.request(method, &path);
        send(if body.is_null() { request } else { request.json(body) }).await
    }

    /// Sends a request, and compares its units with the declared cost. The formula has the sizes
    /// after the request, or before a removal.
    async fn ask(
        &mut self,
        label: &str,
        (method, path): (&str, &str),
        body: &Value,
        with: impl FnOnce(Case) -> Case,
    ) -> Answer {
        let removed = if method == "DELETE" { Some(self.case().await) } else { None };
        let answer = self.send(method, path, body).await;
        let case = if let Some(case) = removed { case } else { self.case().await };
        self.assert(label, &with(case), &answer);
        answer
    }

    fn assert(&mut self, label: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200..=204), "{label}: {}", answer.body);
        self.assert_sum(label, case, &consumed(answer));
    }

    fn assert_sum(&mut self, label: &str, case: &Case, consumed: &Consumed) {
        assert_eq!(*consumed, declared(&cost_of(&wellness::patterns(), label, case)), "{label} of {case:?}");
        self.seen.insert(label.to_owned());
    }

    /// The longest attributes.
    fn attributes(&self) -> BTreeMap<String, String> {
        (10..10 + self.size.attributes).map(|number| (format!("{number}{}", "a".repeat(38)), "x".repeat(100))).collect()
    }

    fn placed(&self) -> Value {
        json!({"role": "EmployeeOnPlan", "department": "Sales", "attributes": self.attributes()})
    }

    fn filters(&self, roles: &[&str]) -> Value {
        let mut filters = json!({"roles": roles, "departments": ["Sales"]});
        for (name, value) in self.attributes().into_iter().take(12) {
            filters[name] = json!([value]);
        }
        filters
    }

    fn new_activity(&self) -> Value {
        let copied = free(self.size.copied);
        json!({
            "name": "Walk 5000", "type": "challenge", "subType": "Fitness",
            "startDate": format!("{}-01-01", year()), "endDate": format!("{}-12-31T23:59:58", year()),
            "filters": self.filters(&["EmployeeOnPlan"]),
            "detail": free(self.size.detail), "data": free(self.size.data),
            "references": [{"facet": "venues", "id": "123", "data": copied}, {"facet": "files", "id": "1", "data": copied}],
        })
    }

    async fn create(&mut self) {
        let answer = self.send("POST", "activities", &self.new_activity()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        text(&answer.body, "activityId").clone_into(&mut self.activity);
    }

    fn path(&self) -> String {
        of(&format!("activities/{}", self.activity))
    }

    /// Returns the input of the cost formulas: the sizes of the stored items and index entries.
    async fn case(&self) -> Case {
        let (own, company) = (format!("ActivityId-{}", self.activity), format!("CompanyId-{COMPANY}"));
        let collection = stored(&self.stack, None, &own).await;
        let all = |kind: &'static str| collection.iter().filter(move |item| is_a(item, kind));
        let is_part = |item: &&Item| !["Activity", "Reference", "Registration"].iter().any(|kind| is_a(item, kind));
        let parts = || collection.iter().filter(is_part);
        let entry = async |index, list: &str| {
            let entries = stored(&self.stack, Some(index), &format!("{company}{list}")).await;
            entries.iter().find(|entry| entry["PK"].as_s() == Ok(&own)).map(bytes).unwrap_or_default()
        };
        let items = stored(&self.stack, None, &company).await;
        let items = |kind: &'static str| items.iter().filter(move |item| is_a(item, kind));
        Case {
            activity: each(all("Activity")),
            program: entry("GSI1", "#Program").await,
            narrow: entry("GSI2", "#Program#List").await,
            part: each(parts()),
            parts: parts().count(),
            reference: each(all("Reference")),
            references: all("Reference").count(),
            registration: each(all("Registration")),
            employee: each(&stored(&self.stack, None, employee_key(COMPANY, USER).partition()).await),
            items: 1,
            eligible: 1,
            upload: each(items("Upload")),
            job: self.job().await,
            own: each(items(self.kind)),
            ..Case::default()
        }
    }

    /// Returns the mean size of the company's jobs.
    async fn job(&self) -> usize {
        let jobs = stored_in("WellnessJobs", &self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        let own = || jobs.iter().filter(|item| is_a(item, "Job"));
        // The enrolment jobs of the activities are smaller than the measured job.
        let is_other = |item: &&Item| !item["SK"].as_s().is_ok_and(|sort| sort.starts_with("Job#EnrolmentId-"));
        if own().any(|item| is_other(&item)) { each(own().filter(is_other)) } else { each(own()) }
    }

    /// Invokes the job function until the job is done. Returns the capacity consumed by all
    /// invocations.
    async fn until_done(&self, company: &str, job: &str) -> Consumed {
        let mut sum = Consumed::new();
        for _ in 0..100 {
            let answer = self.client.invoke("continue-job", &step_of(company, job)).await;
            assert_eq!(answer.body, json!({"batchItemFailures": []}));
            for (place, (read, write)) in consumed(&answer) {
                let place = sum.entry(place).or_default();
                *place = (place.0 + read, place.1 + write);
            }
            if self.client.get(&of_company(company, &format!("jobs/{job}"))).await.body["status"] == "done" {
                return sum;
            }
        }
        unreachable!("the job {job} does not end")
    }

    /// Invokes the job function until the job is done, and compares the sum with the declared cost.
    /// The formula has the sizes after the job, except that of the job.
    async fn finish(&mut self, label: &str, job: &str, with: impl FnOnce(Case) -> Case) {
        let size = self.job().await;
        let sum = self.until_done(COMPANY, job).await;
        let case = Case { job: size, ..self.case().await };
        self.assert_sum(label, &with(case), &sum);
        forget(&self.stack, COMPANY, job).await;
    }
}

/// Deletes a completed job, so that all measured jobs have the same size.
async fn forget(stack: &Stack, company: &str, job: &str) {
    let dynamo = system_tests::dynamo(stack);
    let jobs = dynamo.table(stack.table("WellnessJobs").expect("a table"));
    dynamo.write(jobs.delete(job_key(&parsed(company), &parsed(job)))).await.expect("deleted");
}

/// Returns the stream event for new employees.
fn starts(users: &[&str]) -> Value {
    let record = |user: &&str| {
        let key = employee_key(COMPANY, user);
        let keys = json!({"PK": {"S": key.partition()}, "SK": {"S": key.sort()}});
        let change = json!({"ApproximateCreationDateTime": Timestamp::now().as_second(), "Keys": keys,
            "SequenceNumber": "1", "StreamViewType": "NEW_IMAGE"});
        json!({"eventID": user, "eventName": "INSERT", "eventSource": "aws:dynamodb", "dynamodb": change})
    };
    json!({"Records": users.iter().map(record).collect::<Vec<_>>()})
}

/// Measures the patterns on one activity, and all jobs.
#[tokio::test]
async fn large_items_consume_their_declared_cost() {
    let mut measured = Measured::start(LARGE).await;
    measured.uploads().await;
    measured.company().await;
    measured.activity().await;
    measured.parts().await;
    measured.employees().await;
    measured.departure().await;
    measured.sign_ups().await;
    measured.changes().await;
    measured.venue().await;
    measured.tenant().await;
    let mut variants = labels(&wellness::patterns());
    variants.retain(|label| label.contains(", ") && !measured.seen.contains(label));
    assert_eq!(variants, BTreeSet::new(), "variants that the contract may not have were not measured");
    let case = measured.case().await;
    assert!(case.activity > 6 * 1_024 && case.reference > 2 * 1_024, "{case:?}");
    assert!(case.narrow < 2_560, "GSI2 projects the filters, but not the data: {case:?}");
}

impl Measured {
    async fn company(&mut self) {
        // The section ends in another year, so that the list of this plan year does not include it.
        let section = json!({"name": "Summer", "startDate": "2030-06-01", "endDate": "2030-09-01"});
        let put = self.send("PUT", "sections/7", &section).await;
        let sections = self.send("GET", "sections", NONE).await;
        assert_eq!(sections.body, json!({"items": [put.body]}));
        let plan = json!({"name": "x".repeat(200), "startDate": format!("{}-01-01", year()),
            "endDate": format!("{}-12-31T23:59:59", year())});
        assert_eq!(self.send("PUT", "plans/current", &plan).await.status / 100, 2);
        let record = json!({"name": "Blood Bank A", "data": free(self.size.copied)});
        let venue = "references/venues/123";
        self.kind = "ReferenceRecord";
        for (label, request, body) in [
            ("put-reference, a new one", ("PUT", venue), &record),
            ("put-reference", ("PUT", venue), &record),
            ("get-reference", ("GET", venue), NONE),
            ("list-references-of-facet", ("GET", "references/venues"), NONE),
            ("remove-reference-record", ("DELETE", venue), NONE),
        ] {
            self.ask(label, request, body, same).await;
        }
        assert_eq!(self.send("PUT", venue, &record).await.status, 201);
        self.kind = "Template";
        let template = json!({"name": "Walking", "detail": free(self.size.detail)});
        let made = self.ask("create-template", ("POST", "templates"), &template, same).await;
        let path = format!("templates/{}", text(&made.body, "templateId"));
        for (label, request, body) in [
            ("list-templates", ("GET", "templates"), NONE),
            ("get-template", ("GET", path.as_str()), NONE),
            ("update-template", ("PATCH", path.as_str()), &json!({"version": 1, "name": "Strolls"})),
            ("remove-template", ("DELETE", path.as_str()), NONE),
        ] {
            self.ask(label, request, body, same).await;
        }
        self.kind = "";
        let loaded = self.client.invoke("load-templates", &json!({})).await;
        let own = stored(&self.stack, None, "Global").await;
        let own = each(own.iter().filter(|item| is_a(item, "Template")));
        self.assert("load-templates, after the first deployment", &Case { own, items: 10, ..Case::default() }, &loaded);
    }

    async fn activity(&mut self) {
        // The longest idempotency key.
        let key = "K".repeat(128);
        let made = self.client.post_once(&of("activities"), &key, &self.new_activity()).await;
        text(&made.body, "activityId").clone_into(&mut self.activity);
        let case = self.case().await;
        let items = stored(&self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        let sort = AttributeValue::S(format!("IDEMPOTENCY#{key}"));
        let record = items.iter().find(|item| item["SK"] == sort).map(bytes);
        self.assert("create-activity, automatic enrolment", &Case { record, ..case }, &made);
        forget(&self.stack, COMPANY, &format!("EnrolmentId-{}", self.activity)).await;
        let mut draft = self.new_activity();
        draft["status"] = "draft".into();
        draft["startDate"] = "2031-01-01".into();
        draft["endDate"] = "2031-12-31T23:59:58".into();
        draft["references"] = json!([]);
        let drafted = self.send("POST", "activities", &draft).await;
        self.assert("create-activity", &Case { references: 0, ..case }, &drafted);
        self.kind = "Plans";
        for list in ["activities", "activity-options"] {
            let label = format!("list-{list}");
            self.ask(&label, ("GET", &format!("{list}?year={}", year())), NONE, same).await;
            self.ask(&format!("{label}, of a plan"), ("GET", list), NONE, same).await;
        }
        self.kind = "";
        let path = self.path();
        self.ask("get-activity", ("GET", &path), NONE, same).await;
        self.ask("get-activity, one level", ("GET", &format!("{path}?include=Program%23Detail")), NONE, same).await;
        self.ask("move-activity", ("PUT", &format!("{path}/section")), &json!({"sectionId": "7"}), same).await;
    }

    /// Uploads a file, and imports an employee.
    async fn uploads(&mut self) {
        self.kind = "ReferenceRecord";
        let (pdf, csv) = (b"%PDF-1.7\n", b"userId,role,department\nu-9,EmployeeOnPlan,Sales\n");
        let made = self.send("POST", "files", &file_of("Guide", "application/pdf", pdf)).await;
        let job = self.uploaded(&made, "fileId", pdf).await;
        self.finish("continue-job, upload", &job, same).await;
        let file = format!("references/files/{}", text(&made.body, "fileId"));
        self.ask("get-reference, file", ("GET", &file), NONE, same).await;
        assert_eq!(self.send("DELETE", &file, NONE).await.status, 204);
        forget(&self.stack, COMPANY, &job).await;
        self.kind = "";
        let file = file_of("", "", csv);
        let body = json!({"bytes": file["bytes"], "sha256": file["sha256"]});
        let made = self.send("POST", "employee-imports", &body).await;
        let job = self.uploaded(&made, "importId", csv).await;
        self.finish("continue-job, import", &job, |case| Case { employee: 100, ..case }).await;
        let removed = self.send("DELETE", "employees/u-9", NONE).await;
        assert_eq!(removed.status, 202, "{}", removed.body);
        forget(&self.stack, COMPANY, text(&removed.body, "jobId")).await;
    }

    /// Uploads the content, and waits until the job of the upload exists. Returns the job's id.
    async fn uploaded(&self, made: &Answer, id: &str, content: &[u8]) -> String {
        assert_eq!(upload_file(&made.body["upload"], content).await, 200);
        let job = format!("UploadId-{}", text(&made.body, id));
        until(&self.client, &of(&format!("jobs/{job}")), |answer| answer.status == 200).await;
        job
    }

    /// Replaces and removes parts and references of another activity of the same size.
    async fn parts(&mut self) {
        let walk = self.activity.clone();
        self.create().await;
        let other = json!({"text": "y".repeat(self.size.detail)});
        let path = self.path();
        let [detail, groups, venue] =
            ["detail", "groups", "references/venues/123"].map(|part| format!("{path}/{part}"));
        self.ask("update-part", ("PUT", &detail), &json!({"version": 1, "detail": other}), same).await;
        self.ask("remove-part", ("DELETE", &format!("{detail}?version=2")), NONE, same).await;
        let rules = json!({"version": 3, "type": "team", "rules": free(self.size.detail)});
        let none = |case| Case { parts: 0, ..case };
        self.ask("update-part, new groups", ("PUT", &groups), &rules, none).await;
        self.ask("remove-part, groups", ("DELETE", &groups), NONE, same).await;
        self.ask("remove-reference", ("DELETE", &venue), NONE, same).await;
        self.kind = "ReferenceRecord";
        let case = self.case().await;
        self.kind = "";
        let added = self.send("PUT", &venue, &json!({})).await;
        self.assert("add-reference", &case, &added);
        for reference in [venue, format!("{path}/references/files/1")] {
            assert_eq!(self.send("DELETE", &reference, NONE).await.status, 204);
        }
        let version = self.send("GET", &path, NONE).await.body["version"].clone();
        let cancelled = self.send("PATCH", &path, &json!({"version": version, "status": "cancelled"})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        self.activity = walk;
    }

    async fn employees(&mut self) {
        let user = format!("employees/{USER}");
        assert_eq!(self.send("PUT", &user, &self.placed()).await.status, 201);
        let mut named = self.placed();
        named["name"] = "N".into();
        self.ask("put-employee, change", ("PUT", &user), &named, same).await;
        // The job of the creation was not executed. A change of the filters starts another one.
        let filters = json!({"version": 1, "filters": self.filters(&[])});
        let changed = self.ask("update-activity, enrolment", ("PATCH", &self.path()), &filters, same).await;
        self.finish("continue-job, enrolment", text(&changed.body, "enrolmentJobId"), same).await;
        let (dynamo, table) = table(&self.stack);
        let registration = Registration::key_of(&parsed(&self.activity), &parsed(USER));
        dynamo.write(table.delete(registration)).await.expect("deleted");
        let registered = self.client.invoke("register-new-employee", &starts(&[USER])).await;
        // The other activities of the company are in the same list.
        let list = stored(&self.stack, Some("GSI2"), &format!("CompanyId-{COMPANY}#Program#List")).await;
        let case = Case { items: list.len(), narrow: each(&list), ..self.case().await };
        self.assert("register-new-employee", &case, &registered);
        let list = registrations_of(COMPANY, USER);
        self.ask("list-registrations", ("GET", &format!("{list}&year={}", year())), NONE, same).await;
        self.kind = "Plans";
        self.ask("list-registrations, of a plan", ("GET", &list), NONE, same).await;
        self.kind = "";
        let mut report = json!({"progress": 40.4, "progressText": "404 / 1000 steps", "data": free(1_900)});
        let path = registration_of(COMPANY, USER, &self.activity);
        self.ask("record-progress, administrator", ("PATCH", &path), &report, same).await;
        self.ask("list-participants", ("GET", &format!("{}/participants", self.path())), NONE, same).await;
        let case = self.case().await;
        // An equal report would not change the index entry, and would consume no index units.
        report["progress"] = 50.5.into();
        let employee = employee(&self.stack, COMPANY, USER);
        self.assert("record-progress", &case, &employee.patch(&path, &report).await);
        report["progress"] = 40.5.into();
        report["correction"] = true.into();
        self.ask("record-progress, correction", ("PATCH", &path), &report, same).await;
        report.as_object_mut().expect("an object").retain(|name, _| name.ends_with("Text") || name == "data");
        report["value"] = 900.into();
        let goal = json!({"version": 2, "type": "steps", "parameters": {"target": 1_000}});
        assert_eq!(self.send("PUT", &format!("{}/goal", self.path()), &goal).await.status / 100, 2);
        let of_goal = Case { part: 100, ..case };
        self.assert("record-progress, value", &of_goal, &employee.patch(&path, &report).await);
        let attendance = format!("{}/attendance", self.path());
        self.ask("record-attendance", ("POST", &attendance), &json!({"userIds": [USER]}), same).await;
        self.kind = "Plans";
        let points = format!("/wellness/users/{USER}/points?companyId={COMPANY}");
        self.ask("get-points, of a plan", ("GET", &points), NONE, same).await;
        self.kind = "";
        let plans = self.send("GET", "plans", NONE).await.body;
        let path = format!("plans/{}/report", text(&plans["items"][0], "planId"));
        let started = self.send("POST", &path, &json!({})).await;
        let job = text(&started.body, "jobId");
        let sum = self.until_done(COMPANY, job).await;
        let report = self.send("GET", &path, NONE).await;
        // The last row has the sums.
        let items = report.body["items"].as_array().map_or(0, Vec::len) - 1;
        let case = Case { items, report: 300, ..self.case().await };
        self.assert_sum("continue-job, report", &case, &sum);
        forget(&self.stack, COMPANY, job).await;
    }

    /// Removes another employee, who has one registration.
    async fn departure(&mut self) {
        assert_eq!(self.send("PUT", "employees/u-3", &self.placed()).await.status, 201);
        let joined = self.send("PUT", &registration_of(COMPANY, "u-3", &self.activity), NONE).await;
        assert_eq!(joined.status, 201, "{}", joined.body);
        let removed = self.send("DELETE", "employees/u-3", NONE).await;
        let small = |case| Case { registration: 200, ..case };
        self.finish("continue-job, departure", text(&removed.body, "jobId"), small).await;
    }

    /// Measures sign-ups for an event with one seat.
    async fn sign_ups(&mut self) {
        let mut event = self.new_activity();
        event["type"] = "event".into();
        event["capacity"] = 1.into();
        event["references"] = json!([]);
        event["groups"] = json!({"type": "team", "rules": {}, "items": [{"name": "Red"}]});
        let made = self.send("POST", "activities", &event).await;
        let id = text(&made.body, "activityId");
        let of_walk = self.case().await;
        for user in ["u-2", "u-4"] {
            assert_eq!(self.send("PUT", &format!("employees/{user}"), &self.placed()).await.status, 201);
        }
        let path = |user: &str| registration_of(COMPANY, user, id);
        let joined = self.send("PUT", &path(USER), NONE).await;
        let small = |case| Case { registration: 200, ..case };
        let case = small(of_walk);
        self.assert("join-activity, first", &case, &joined);
        let groups = self.send("GET", &format!("activities/{id}?include=Program%23Groups"), NONE).await;
        let group = json!({"groupId": groups.body["groups"]["items"][0]["groupId"]});
        let moved = self.send("PUT", &path(USER), &group).await;
        self.assert("join-activity, another group", &case, &moved);
        let started = self.client.invoke("start-group-progress", &json!({})).await;
        assert_eq!(started.body["started"], 1, "{}", started.body);
        self.finish("continue-job, groups", &format!("GroupsId-{id}"), small).await;
        let more = json!({"version": 1, "capacity": 2});
        let resized = self.send("PATCH", &format!("activities/{id}"), &more).await;
        let job = format!("SeatsId-{id}");
        let case = Case { job: self.job().await, ..case };
        self.assert("update-activity, capacity", &case, &resized);
        self.until_done(COMPANY, &job).await;
        forget(&self.stack, COMPANY, &job).await;
        assert_eq!(self.send("PUT", &path("u-4"), NONE).await.body["status"], "enrolled");
        let waiting = self.send("PUT", &path("u-2"), NONE).await;
        assert_eq!((&waiting.body["status"], &waiting.body["place"]), (&json!("waiting"), &json!(1)));
        self.assert("join-activity, waiting", &case, &waiting);
        let left = self.send("DELETE", &path(USER), NONE).await;
        let case = Case { job: self.job().await, ..case };
        self.assert("leave-activity", &case, &left);
        self.finish("continue-job, seats", &job, small).await;
        let own = registration_of(COMPANY, USER, &self.activity);
        for (label, method) in [("leave-activity", "DELETE"), ("join-activity", "PUT")] {
            let answer = self.send(method, &own, NONE).await;
            self.assert(&format!("{label}, automatic enrolment"), &of_walk, &answer);
        }
    }

    async fn changes(&mut self) {
        let path = self.path();
        let change = ("PATCH", path.as_str());
        self.ask("update-activity", change, &json!({"version": 3, "name": "Walk 6000"}), same).await;
        self.ask("update-activity, status", change, &json!({"version": 4, "status": "cancelled"}), same).await;
        let moved = json!({"version": 5, "endDate": format!("{}-12-31T23:59:59", year())});
        let later = self.ask("update-activity, endDate", change, &moved, same).await;
        self.finish("continue-job, registrations", text(&later.body, "jobId"), same).await;
        let back = self.send("PATCH", &path, &json!({"version": 6, "status": "active"})).await;
        assert_eq!(back.status, 200, "{}", back.body);
        forget(&self.stack, COMPANY, text(&back.body, "enrolmentJobId")).await;
        // A reward that the employee has already earned.
        let reward = json!({"version": 7, "name": "Points", "amount": 5, "percent": 50});
        let added = |case| Case { part: 100, parts: 1, ..case };
        let put = self.ask("update-part, reward", ("PUT", &format!("{path}/rewards/Late")), &reward, added).await;
        let rewards = |case| Case { rewards: 200, ..case };
        self.finish("continue-job, rewards", text(&put.body, "jobId"), rewards).await;
    }

    /// Measures an update and a replacement of the activity's venue.
    async fn venue(&mut self) {
        let venue = "references/venues/123";
        let one = |case| Case { references: 1, ..case };
        self.ask("list-references", ("GET", &format!("{venue}/activities")), NONE, one).await;
        let data = json!({"text": "y".repeat(self.size.copied)});
        self.ask("update-reference", ("PATCH", venue), &json!({"data": data}), one).await;
        let case = one(self.case().await);
        let sum = self.until_done(COMPANY, VENUE).await;
        self.assert_sum("continue-job, update", &case, &sum);
        let dynamo = system_tests::dynamo(&self.stack);
        let jobs = dynamo.table(self.stack.table("WellnessJobs").expect("a table"));
        let fail = jobs.update(job_key(&parsed(COMPANY), &parsed(VENUE))).set(Job::STATE, &"failed");
        dynamo.write(fail).await.expect("written");
        let retried = self.send("POST", &format!("jobs/{VENUE}/retry"), NONE).await;
        self.assert("retry-job", &case, &retried);
        self.until_done(COMPANY, VENUE).await;
        self.ask("get-job", ("GET", &format!("jobs/{VENUE}")), NONE, same).await;
        forget(&self.stack, COMPANY, VENUE).await;
        let body = json!({"replacementId": "456", "data": data});
        self.ask("replace-reference", ("POST", &format!("{venue}/replacement")), &body, one).await;
        self.finish("continue-job, replacement", VENUE, one).await;
    }

    /// Exports and erases a company that has nothing but an employee.
    async fn tenant(&mut self) {
        const OTHER: &str = "other";
        let user = of_company(OTHER, "employees/u");
        for (label, variant, path) in [
            ("start-export", "continue-job, export", "export"),
            ("start-erasure", "continue-job, erasure", "erasure"),
            ("start-erasure, of an employee", "", "employees/u/erasure"),
        ] {
            self.send("PUT", &user, &json!({"role": "EmployeeOnPlan", "department": "Sales"})).await;
            let started = self.send("POST", &of_company(OTHER, path), &json!({})).await;
            let case = Case { employee: 100, job: 500, ..Case::default() };
            self.assert(label, &case, &started);
            let job = text(&started.body, "jobId");
            let sum = self.until_done(OTHER, job).await;
            if !variant.is_empty() {
                self.assert_sum(variant, &case, &sum);
            }
            forget(&self.stack, OTHER, job).await;
        }
    }
}

#[tokio::test]
async fn long_lists_consume_their_declared_cost() {
    const MANY: usize = 60;
    for size in [SMALL, Size { detail: 20, ..LARGE }] {
        let mut measured = Measured::start(size).await;
        for _ in 0..MANY {
            measured.create().await;
        }
        for user in [USER, "u-2", "u-3"] {
            assert_eq!(measured.send("PUT", &format!("employees/{user}"), &measured.placed()).await.status, 201);
        }
        let client = measured.client.clone();
        let register = async |users: &[&str]| client.invoke("register-new-employee", &starts(users)).await;
        let registered = register(&[USER]).await;
        let many = |case| Case { items: MANY, eligible: MANY, ..case };
        let case = many(measured.case().await);
        measured.assert("register-new-employee", &case, &registered);
        let lists = "Activities/GSI2";
        let two = consumed(&register(&["u-2", "u-3"]).await);
        assert_eq!(two[lists], consumed(&registered)[lists], "a batch reads the list once");
        let again = consumed(&register(&[USER]).await);
        assert!(again.values().all(|(_, write)| *write == Units::ZERO), "a repeated record: {again:?}");
        let year = year();
        for (label, path) in [
            ("list-activities", of(&format!("activities?year={year}"))),
            ("list-activity-options", of(&format!("activity-options?year={year}"))),
            ("list-registrations", format!("{}&year={year}", registrations_of(COMPANY, USER))),
        ] {
            let list = measured.send("GET", &path, NONE).await;
            measured.assert(label, &case, &list);
        }
        if size == SMALL {
            let path = format!("{}&year={year}&limit=50", registrations_of(COMPANY, USER));
            let reads = consumed(&measured.send("GET", &path, NONE).await).into_values().map(|(read, _)| read);
            let sum = reads.fold(Units::ZERO, |sum, read| sum + read);
            assert!(sum <= Units::whole(7), "50 registrations: {sum} R");
        }
        for limit in [50, 100] {
            let path = format!("references/venues/123/activities?limit={limit}");
            let used = measured.send("GET", &path, NONE).await;
            measured.assert("list-references", &Case { references: MANY.min(limit), ..case }, &used);
        }
    }
}

/// Each job needs more than two pages. While it runs, its item also contains the ids of the current
/// page.
#[tokio::test]
async fn long_jobs_consume_their_declared_cost() {
    const MANY: usize = 120;
    let mut measured = Measured::start(SMALL).await;
    for _ in 0..MANY {
        measured.create().await;
    }
    let (new, data) = ("references/venues/456", free(SMALL.copied));
    let record = json!({"name": "Blood Bank B", "data": data});
    assert_eq!(measured.send("PUT", new, &record).await.status, 201);
    let many = |case| Case { references: MANY, ..case };
    let replacement = json!({"replacementId": "456", "data": data});
    let old = ("POST", "references/venues/123/replacement");
    measured.ask("replace-reference", old, &replacement, many).await;
    measured.finish("continue-job, replacement", VENUE, many).await;
    let update = json!({"data": free(SMALL.copied + 1)});
    measured.ask("update-reference", ("PATCH", new), &update, many).await;
    measured.finish("continue-job, update", "VenueId-456", many).await;

    let end = format!("{}-12-31T23:59:58", year());
    let registration = |number: usize| {
        let (company, activity) = (parsed(COMPANY), parsed(&measured.activity));
        let user = parsed(&format!("{number:0>32}"));
        Registration::new(company, activity, parsed(&end), user, parsed("2020-01-01T00:00:00Z"))
    };
    put(&measured.stack, &(0..MANY).map(registration).collect::<Vec<_>>()).await;
    let moved = json!({"version": 1, "endDate": format!("{}-12-31T23:59:59", year())});
    assert_eq!(measured.send("PATCH", &measured.path(), &moved).await.status, 200);
    let job = format!("ActivityId-{}", measured.activity);
    measured.finish("continue-job, registrations", &job, |case| Case { items: MANY, ..case }).await;
}

/// Checks the costs that the formulas describe only in words.
#[tokio::test]
async fn costs_stated_in_words_match_the_consumed_units() {
    let measured = Measured::start(SMALL).await;
    let costs = async |method: &str, path: &str, body: &Value, [reads, writes]: [u64; 2], indexes: [u64; 2]| {
        let answer = measured.send(method, path, body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        let mut places: Consumed = [("Activities".to_owned(), (Units::whole(reads), Units::whole(writes)))].into();
        let indexes = (1..).zip(indexes).filter(|(_, writes)| *writes > 0);
        let units = |(number, writes)| (format!("Activities/GSI{number}"), (Units::ZERO, Units::whole(writes)));
        places.extend(indexes.map(units));
        assert_eq!(consumed(&answer), places, "{}", answer.body);
        answer.body
    };
    let section = |end: &str| json!({"name": "Summer", "startDate": "2030-06-01", "endDate": end});
    costs("PUT", "sections/7", &section("2030-09-01"), [1, 1], [1, 0]).await;
    costs("PUT", "sections/7", &section("2030-10-01"), [1, 1], [2, 0]).await;

    let template = json!({"name": "N", "type": "event", "subType": "F", "data": free(5_000)});
    let template = measured.send("POST", "templates", &template).await;
    let mut activity =
        json!({"name": "N", "type": "event", "subType": "F", "startDate": "2030-01-01", "endDate": "2030-01-01"});
    costs("POST", "activities", &activity, [0, 2], [1, 1]).await;
    activity["sectionId"] = "7".into();
    let made = costs("POST", "activities", &activity, [1, 2], [1, 1]).await;
    activity["templateId"] = template.body["templateId"].clone();
    activity["data"] = json!({});
    costs("POST", "activities", &activity, [1 + 2 + 1, 2], [1, 1]).await;
    let path = format!("activities/{}", text(&made, "activityId"));
    costs("PUT", &format!("{path}/section"), &json!({"sectionId": null}), [1, 1], [1, 1]).await;
    costs("PATCH", &path, &json!({"version": 1, "startDate": "2029-01-01"}), [1, 2], [1, 0]).await;
    // The last two employees have more than 1 KB.
    let (short, long) = ("D".to_owned(), "\u{1F3C3}".repeat(128));
    let puts = [
        ("a", "R", &short, 2),
        ("a", "R", &short, 0),
        ("a", "S", &short, 1),
        ("a", "S", &long, 2),
        ("b", "S", &long, 4),
    ];
    for (user, role, name, writes) in puts {
        let body = json!({"role": role, "department": name, "name": name});
        costs("PUT", &format!("employees/{user}"), &body, [1, writes], [0, 0]).await;
    }
}
