//! Compares the capacity that each access pattern consumes with its declared cost, per table and
//! index.
//!
//! The tests use small and large items, one item or many items, and requests with and without an
//! idempotency key. They also check the cost of rejected requests.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use keys::wellness::{ActivityPartition, ProgramSort};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use system_tests::{
    Answer, Client, parsed,
    patterns::{cost_of, labels},
    send, template_of, text,
    units::{Consumed, bytes, consumed, declared},
    until,
    wellness::references::step_of,
    wellness::{
        employee, employee_key,
        files::{created, file_of, upload_file},
        json_text, of_company, put, registration_of, registrations_of, stored, stored_in, table,
    },
};
use table::{Key, Units};
use wellness::{Case, Goal, Registration};

const COMPANY: &str = "C-1";
const USER: &str = "u-1";
const VENUE: &str = "VenueId-123";

/// Number of bytes of free text in the base row, the detail and the references of an activity.
#[derive(Debug, Clone, Copy)]
struct Size {
    data: usize,
    detail: usize,
    copied: usize,
}

const SMALL: Size = Size { data: 20, detail: 20, copied: 20 };
const LARGE: Size = Size { data: 6_500, detail: 12_500, copied: 2_600 };

type Item = HashMap<String, AttributeValue>;

/// A stack without event source mappings. The test invokes the stream functions itself.
fn by_hand() -> Builder {
    let mut template = template_of("wellness");
    for table in ["Activities", "WellnessJobs"] {
        let mapping = format!("            Stream: !GetAtt {table}.StreamArn\n");
        assert_eq!(template.matches(&mapping).count(), 1);
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
    functions: BTreeSet<String>,
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

/// Returns the mean of the sizes. Panics unless items of all these sizes consume the same number of
/// write request units.
fn each(sizes: &[usize]) -> usize {
    let mean = sizes.iter().sum::<usize>().div_ceil(sizes.len().max(1));
    assert!(
        sizes.iter().all(|size| size.div_ceil(1_024) == mean.div_ceil(1_024)),
        "items of these sizes consume different numbers of write request units: {sizes:?}"
    );
    mean
}

impl Measured {
    async fn start(size: Size) -> Self {
        let stack = by_hand().parameter("ErasureQuietSeconds", "0").start().await.expect("a stack");
        let client = Client::operator(&stack);
        Self { client, stack, size, activity: String::new(), functions: BTreeSet::new() }
    }

    fn assert(&mut self, function: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200..=204), "{function}: {}", answer.body);
        self.assert_sum(function, case, &consumed(answer));
    }

    fn assert_sum(&mut self, function: &str, case: &Case, consumed: &Consumed) {
        assert_eq!(*consumed, declared(&cost_of(&wellness::patterns(), function, case)), "{function} of {case:?}");
        self.functions.insert(function.to_owned());
    }

    /// Returns the body of the request that creates the activity. All parts of the activity consume
    /// the same number of write request units.
    fn new_activity(&self) -> Value {
        let copied = free(self.size.copied);
        let mut activity = json!({
            "name": "Walk 5000", "type": "challenge", "subType": "Fitness",
            "startDate": format!("{}-01-01", year()), "endDate": format!("{}-12-31T23:59:58", year()),
            "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
            "detail": free(self.size.detail), "data": free(self.size.data),
            "references": [{"facet": "venues", "id": "123", "data": copied}, {"facet": "files", "id": "1", "data": copied}],
        });
        if self.size.detail < 1_024 {
            activity["goal"] = json!({"type": "steps", "parameters": {"target": 1000}});
            activity["rewards"] = json!([{"kind": "Attendance", "name": "Points", "amount": 40}]);
            activity["groups"] = json!({"type": "team", "rules": {}, "items": [{"name": "Red"}, {"name": "Blue"}]});
        }
        activity
    }

    async fn create(&mut self, key: Option<&str>) -> Answer {
        let (path, body) = (of("activities"), self.new_activity());
        let answer = match key {
            Some(key) => self.client.post_once(&path, key, &body).await,
            None => self.client.post(&path, &body).await,
        };
        text(&answer.body, "activityId").clone_into(&mut self.activity);
        answer
    }

    fn path(&self) -> String {
        of(&format!("activities/{}", self.activity))
    }

    /// Returns the input of the cost formulas: the sizes of the stored items and index entries.
    async fn case(&self) -> Case {
        let collection = stored(&self.stack, None, &format!("ActivityId-{}", self.activity)).await;
        let is_part = |item: &Item| !["Activity", "Reference", "Registration"].iter().any(|kind| is_a(item, kind));
        let sizes =
            |is: &dyn Fn(&Item) -> bool| collection.iter().filter(|item| is(item)).map(bytes).collect::<Vec<_>>();
        let (parts, references) = (sizes(&is_part), sizes(&|item| is_a(item, "Reference")));
        let entry = async |index, partition: &str| {
            let entries = stored(&self.stack, Some(index), partition).await;
            let own = AttributeValue::S(format!("ActivityId-{}", self.activity));
            entries.iter().find(|entry| entry["PK"] == own).map(bytes).unwrap_or_default()
        };
        let employee = stored(&self.stack, None, employee_key(COMPANY, USER).partition()).await;
        let points = stored(&self.stack, None, &format!("CompanyId-{COMPANY}#Points")).await;
        let reports = stored(&self.stack, None, &format!("CompanyId-{COMPANY}#Reports")).await;
        Case {
            activity: each(&sizes(&|item| is_a(item, "Activity"))),
            program: entry("GSI1", &format!("CompanyId-{COMPANY}#Program")).await,
            narrow: entry("GSI2", &format!("CompanyId-{COMPANY}#Program#List")).await,
            part: each(&parts),
            parts: parts.len(),
            groups: sizes(&|item| is_a(item, "Groups")).len(),
            reference: each(&references),
            references: references.len(),
            rewards: sizes(&|item| is_a(item, "Reward")).into_iter().sum(),
            corrections: points.iter().map(bytes).sum(),
            report: each(&reports.iter().filter(|item| is_a(item, "ReportRow")).map(bytes).collect::<Vec<_>>()),
            registration: each(&sizes(&|item| is_a(item, "Registration"))),
            employee: each(&employee.iter().map(bytes).collect::<Vec<_>>()),
            items: 1,
            eligible: 1,
            upload: 0,
            job: self.own("Job").await,
            own: 0,
            record: None,
        }
    }

    /// Returns the mean size of the company's items of type `kind`.
    async fn own(&self, kind: &str) -> usize {
        let table = if kind == "Job" { "WellnessJobs" } else { "Activities" };
        let items = stored_in(table, &self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        let own: Vec<&Item> = items.iter().filter(|item| is_a(item, kind)).collect();
        // The enrolment jobs of the activities are smaller than the measured job.
        let is_enrolment = |item: &&&Item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("Job#EnrolmentId-"));
        let others: Vec<usize> = own.iter().filter(|item| !is_enrolment(item)).map(|item| bytes(*item)).collect();
        if others.is_empty() { each(&own.into_iter().map(bytes).collect::<Vec<_>>()) } else { each(&others) }
    }

    async fn own_case(&self, kind: &str) -> Case {
        Case { own: self.own(kind).await, ..self.case().await }
    }

    /// Invokes the job function until the job is done. Returns the capacity consumed by all
    /// invocations.
    async fn until_done(&self, job: &str) -> Consumed {
        self.until_done_of(COMPANY, job).await
    }

    async fn until_done_of(&self, company: &str, job: &str) -> Consumed {
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
}

/// Returns the stream event for a new employee.
fn starts() -> Value {
    let key = employee_key(COMPANY, USER);
    json!({"Records": [{
        "eventID": "1",
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": Timestamp::now().as_second(),
            "Keys": {"PK": {"S": key.partition()}, "SK": {"S": key.sort()}},
            "SequenceNumber": "1",
            "StreamViewType": "NEW_IMAGE",
        },
    }]})
}

#[tokio::test]
async fn small_items_consume_their_declared_cost() {
    measure_all_patterns(SMALL).await;
}

#[tokio::test]
async fn large_items_consume_their_declared_cost() {
    let case = measure_all_patterns(LARGE).await;
    assert!(case.activity > 6 * 1_024 && case.part > 12 * 1_024 && case.reference > 2 * 1_024, "{case:?}");
    assert!(case.narrow < 1_024, "GSI2 must not project the data: {case:?}");
}

/// Measures all patterns on one activity. Returns the input of the cost formulas after the last
/// measurement.
async fn measure_all_patterns(size: Size) -> Case {
    let mut measured = Measured::start(size).await;
    measured.company().await;
    measured.activity().await;
    measured.file().await;
    measured.import().await;
    measured.parts().await;
    measured.employee().await;
    measured.departure().await;
    measured.sign_ups().await;
    measured.changes().await;
    measured.venue().await;
    measured.tenant().await;
    assert_eq!(measured.functions, labels(&wellness::patterns()), "some patterns were not measured");
    let case = measured.case().await;
    measured.stack.stop().await;
    case
}

impl Measured {
    async fn company(&mut self) {
        let client = self.client.clone();
        // The section ends in another year, so that the list of this plan year does not include it.
        let section = json!({"name": "Summer", "startDate": "2030-06-01", "endDate": "2030-09-01"});
        let put = client.put(&of("sections/7"), &section).await;
        let case = self.own_case("Section").await;
        self.assert("put-section", &case, &put);
        let sections = client.get(&of("sections")).await;
        assert_eq!(sections.body, json!({"items": [put.body]}));
        self.assert("list-sections", &case, &sections);
        let plan = json!({"name": "x".repeat(200), "startDate": format!("{}-01-01", year()),
            "endDate": format!("{}-12-31T23:59:59", year())});
        let put = client.put(&of("plans/current"), &plan).await;
        let case = self.own_case("Plans").await;
        // The first plan is read as a missing item, which consumes the same units.
        self.assert("put-plan", &case, &put);
        self.assert("get-plan", &case, &client.get(&of("plans/current")).await);
        self.assert("list-plans", &case, &client.get(&of("plans")).await);
        let record = json!({"name": "Blood Bank A", "data": free(self.size.copied)});
        let put = client.put(&of("references/venues/123"), &record).await;
        let case = self.own_case("ReferenceRecord").await;
        self.assert("put-reference", &case, &put);
        let venue = of("references/venues/123");
        self.assert("get-reference", &case, &client.get(&venue).await);
        self.assert("list-references-of-facet", &case, &client.get(&of("references/venues")).await);
        let removed = send(client.request("DELETE", &venue)).await;
        self.assert("remove-reference-record", &case, &removed);
        assert_eq!(client.put(&venue, &record).await.status, 201);
        let template = json!({"name": "Walking", "detail": free(self.size.detail)});
        let made = client.post(&of("templates"), &template).await;
        let case = self.own_case("Template").await;
        self.assert("create-template", &case, &made);
        self.assert("list-templates", &case, &client.get(&of("templates")).await);
        let path = of(&format!("templates/{}", text(&made.body, "templateId")));
        self.assert("get-template", &case, &client.get(&path).await);
        self.assert("update-template", &case, &client.patch(&path, &json!({"version": 1, "name": "Strolls"})).await);
        self.assert("remove-template", &case, &send(client.request("DELETE", &path)).await);
        let run = async || client.invoke("load-templates", &json!({})).await;
        let first = run().await;
        let loaded = stored(&self.stack, None, "Global").await;
        let sizes: Vec<_> = loaded.iter().filter(|item| is_a(item, "Template")).map(bytes).collect();
        self.assert("load-templates, after a deployment", &Case { own: each(&sizes), items: 10, ..case }, &first);
        self.assert("load-templates", &case, &run().await);
    }

    async fn activity(&mut self) {
        let client = self.client.clone();
        let made = self.create(None).await;
        let case = self.case().await;
        self.assert("create-activity, automatic enrolment", &case, &made);
        forget(&self.stack, &format!("EnrolmentId-{}", self.activity)).await;
        let mut draft = self.new_activity();
        draft["status"] = "draft".into();
        draft["startDate"] = "2031-01-01".into();
        draft["endDate"] = "2031-12-31T23:59:58".into();
        draft["references"] = json!([]);
        let drafted = client.post(&of("activities"), &draft).await;
        self.assert("create-activity", &Case { references: 0, ..case }, &drafted);
        self.assert("list-activities", &case, &client.get(&of(&format!("activities?year={}", year()))).await);
        self.assert(
            "list-activity-options",
            &case,
            &client.get(&of(&format!("activity-options?year={}", year()))).await,
        );
        let planned = Case { own: self.own("Plans").await, ..case };
        for query in ["", "?planId=current"] {
            let (activities, options) = (of(&format!("activities{query}")), of(&format!("activity-options{query}")));
            self.assert("list-activities, of a plan", &planned, &client.get(&activities).await);
            self.assert("list-activity-options, of a plan", &planned, &client.get(&options).await);
        }
        self.assert("get-activity", &case, &client.get(&self.path()).await);
        let (level, parts) = if case.parts > 1 { ("Groups", 3) } else { ("Detail", 1) };
        let part = client.get(&format!("{}?include=Program%23{level}", self.path())).await;
        self.assert("get-activity, one level", &Case { parts, ..case }, &part);
        let moved = client.put(&format!("{}/section", self.path()), &json!({"sectionId": "7"})).await;
        let case = self.case().await;
        self.assert("move-activity", &case, &moved);
        let used = client.get(&of("references/venues/123/activities")).await;
        self.assert("list-references", &Case { references: 1, ..case }, &used);
    }

    /// Replaces and removes parts and references of another activity of the same size.
    async fn parts(&mut self) {
        let client = self.client.clone();
        let walk = self.activity.clone();
        let made = self.create(None).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let case = self.case().await;
        let mut other = free(self.size.detail);
        other["text"] = other["text"].as_str().expect("a text").replace('x', "y").into();
        let path = self.path();
        let put = client.put(&format!("{path}/detail"), &json!({"version": 1, "detail": other})).await;
        self.assert("update-part", &Case { parts: 1, ..case }, &put);
        let removed = send(client.request("DELETE", &format!("{path}/detail?version=2"))).await;
        self.assert("remove-part", &Case { parts: 1, ..case }, &removed);
        let groups = json!({"version": 3, "type": "team", "rules": free(self.size.detail)});
        let put = client.put(&format!("{path}/groups"), &groups).await;
        assert!(matches!(put.status, 200 | 201), "{}", put.body);
        let parts = if case.parts > 1 { 3 } else { 1 };
        let removed = send(client.request("DELETE", &format!("{path}/groups"))).await;
        self.assert("remove-part, groups", &Case { parts, ..case }, &removed);
        let version = client.get(&path).await.body["version"].clone();
        let groups = json!({"version": version, "type": "team", "rules": free(self.size.detail)});
        let put = client.put(&format!("{path}/groups"), &groups).await;
        self.assert("update-part, new groups", &Case { parts: 0, ..case }, &put);
        assert_eq!(send(client.request("DELETE", &format!("{path}/groups"))).await.status, 204);
        let reference = format!("{path}/references/venues/123");
        let removed = send(client.request("DELETE", &reference)).await;
        self.assert("remove-reference", &case, &removed);
        let case = Case { own: self.own("ReferenceRecord").await, ..self.parts_of().await };
        let added = client.put(&reference, &json!({})).await;
        self.assert("add-reference", &case, &added);
        assert_eq!(send(client.request("DELETE", &reference)).await.status, 204);
        let file = format!("{path}/references/files/1");
        assert_eq!(send(client.request("DELETE", &file)).await.status, 204);
        let version = client.get(&path).await.body["version"].clone();
        let cancelled = client.patch(&path, &json!({"version": version, "status": "cancelled"})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        self.activity = walk;
    }

    /// Returns the input of the cost formulas for an activity without the reference to the venue.
    async fn parts_of(&self) -> Case {
        let case = self.case().await;
        Case { part: if case.parts == 0 { 0 } else { case.part }, ..case }
    }

    async fn employee(&mut self) {
        let client = self.client.clone();
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        let put = client.put(&of(&format!("employees/{USER}")), &placed).await;
        let case = self.case().await;
        self.assert("put-employee", &case, &put);
        let named = json!({"role": "EmployeeOnPlan", "department": "Sales", "name": "N"});
        let named = client.put(&of(&format!("employees/{USER}")), &named).await;
        self.assert("put-employee, change", &case, &named);
        client.put(&of(&format!("employees/{USER}")), &placed).await;
        let case = self.case().await;
        self.assert("get-employee", &case, &client.get(&of(&format!("employees/{USER}"))).await);
        self.assert("list-employees", &case, &client.get(&of("employees?department=Sales")).await);
        // The job of the creation was not executed. A change of the filters starts another one.
        let filters = json!({"roles": [], "departments": ["Sales"]});
        let changed = client.patch(&self.path(), &json!({"version": 1, "filters": filters})).await;
        let case = self.case().await;
        self.assert("update-activity, enrolment", &case, &changed);
        let job = text(&changed.body, "enrolmentJobId");
        let sum = self.until_done(job).await;
        self.assert_sum("continue-job, enrolment", &self.case().await, &sum);
        forget(&self.stack, job).await;
        self.forget_registration().await;
        let registered = client.invoke("register-new-employee", &starts()).await;
        let case = self.case().await;
        self.assert("register-new-employee", &case, &registered);
        let list = registrations_of(COMPANY, USER);
        let of_year = client.get(&format!("{list}&year={}", year())).await;
        self.assert("list-registrations", &case, &of_year);
        let planned = Case { own: self.own("Plans").await, ..case };
        self.assert("list-registrations, of a plan", &planned, &client.get(&list).await);
        let participants = client.get(&format!("{}/participants", self.path())).await;
        assert_eq!(participants.body["items"].as_array().map(Vec::len), Some(1), "{}", participants.body);
        self.assert("list-participants", &case, &participants);
        let report =
            json!({"progress": 40.4, "progressText": "404 / 1000 steps", "data": free(self.size.data.min(1_900))});
        let path = registration_of(COMPANY, USER, &self.activity);
        let walked = client.patch(&path, &report).await;
        let case = self.case().await;
        self.assert("record-progress, administrator", &case, &walked);
        // An equal report would not change the index entry, and would consume no index units.
        let mut more = report.clone();
        more["progress"] = 50.5.into();
        let employee = employee(&self.stack, COMPANY, USER);
        self.assert("record-progress", &case, &employee.patch(&path, &more).await);
        more["correction"] = true.into();
        more["progress"] = 40.5.into();
        self.assert("record-progress, correction", &case, &client.patch(&path, &more).await);
        let mut value = report;
        value.as_object_mut().expect("an object").remove("progress");
        value["value"] = 900.into();
        // The goal has the size of the other parts. It is not part of the activity that the other
        // patterns measure.
        let mut parameters = free(self.size.detail);
        parameters["target"] = 1_000.into();
        let goal = Goal {
            partition: parsed(&format!("ActivityId-{}", self.activity)),
            sort: ProgramSort::GoalPrimary,
            goal_type: parsed("steps"),
            parameters: json_text(&parameters),
        };
        system_tests::wellness::put(&self.stack, std::slice::from_ref(&goal)).await;
        self.assert("record-progress, value", &case, &employee.patch(&path, &value).await);
        self.points().await;
        self.report().await;
        if self.size.detail >= 1_024 {
            let (dynamo, table) = table(&self.stack);
            dynamo.write(table.delete(Key::new(&goal.partition, &goal.sort))).await.expect("deleted");
        }
    }

    /// Records an attendance, corrects the points and reads them.
    async fn points(&mut self) {
        let attended = self.client.post(&format!("{}/attendance", self.path()), &json!({"userIds": [USER]})).await;
        assert_eq!(attended.body["items"][0]["outcome"], "recorded", "{}", attended.body);
        self.assert("record-attendance", &self.case().await, &attended);
        let path = format!("/wellness/users/{USER}/points?companyId={COMPANY}");
        let plans = self.client.get(&of("plans")).await.body;
        let correction = json!({"planId": plans["items"][0]["planId"], "amount": 1, "reason": "Helped"});
        let corrected = self.client.post(&path, &correction).await;
        let case = Case { own: self.own("Plans").await, ..self.case().await };
        self.assert("correct-points", &case, &corrected);
        self.assert("get-points", &case, &self.client.get(&format!("{path}&year={}", year())).await);
        self.assert("get-points, of a plan", &case, &self.client.get(&path).await);
    }

    /// Writes the report of the plan and reads it.
    async fn report(&mut self) {
        let plans = self.client.get(&of("plans")).await.body;
        let plan = text(&plans["items"][0], "planId");
        let path = of(&format!("plans/{plan}/report"));
        let started = self.client.post(&path, &json!({})).await;
        let job = text(&started.body, "jobId").to_owned();
        let case = Case { own: self.own("Plans").await, ..self.case().await };
        self.assert("start-report", &case, &started);
        let consumed = self.until_done(&job).await;
        let report = self.client.get(&path).await;
        let items = report.body["items"].as_array().map_or(0, Vec::len);
        let case = Case { items, ..self.case().await };
        self.assert("get-report", &case, &report);
        // The last row has the sums.
        self.assert_sum("continue-job, report", &Case { items: items - 1, ..case }, &consumed);
        forget(&self.stack, &job).await;
    }

    /// Exports and erases a company that has nothing but an employee.
    async fn tenant(&mut self) {
        const OTHER: &str = "other";
        let client = self.client.clone();
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        let user = of_company(OTHER, "employees/u");
        let partition = employee_key(OTHER, "u").partition().to_owned();
        assert_eq!(client.put(&user, &placed).await.status, 201);
        let employee = stored(&self.stack, None, &partition).await.iter().map(bytes).sum();
        let job_of = async |stack: &Stack| {
            let jobs = stored_in("WellnessJobs", stack, None, &format!("CompanyId-{OTHER}")).await;
            each(&jobs.iter().map(bytes).collect::<Vec<_>>())
        };
        for (name, path) in [("export", "export"), ("erasure", "erasure"), ("erasure", "employees/u/erasure")] {
            let of_employee = path.starts_with("employees");
            if of_employee {
                assert_eq!(client.put(&user, &placed).await.status, 201);
            }
            let path = of_company(OTHER, path);
            let started = client.post(&path, &json!({})).await;
            let case = Case { employee, job: job_of(&self.stack).await, ..Case::default() };
            let variant = if of_employee { ", of an employee" } else { "" };
            self.assert(&format!("start-{name}{variant}"), &case, &started);
            let id = text(&started.body, "jobId").to_owned();
            let consumed = self.until_done_of(OTHER, &id).await;
            if !of_employee {
                self.assert_sum(&format!("continue-job, {name}"), &case, &consumed);
            }
            self.assert(&format!("get-{name}"), &case, &client.get(&path).await);
            let (dynamo, jobs) = (system_tests::dynamo(&self.stack), self.stack.table("WellnessJobs"));
            let jobs = dynamo.table(jobs.expect("a table"));
            let key = wellness::job_key(&OTHER.parse().expect("a company"), &id.parse().expect("a job"));
            dynamo.write(jobs.delete(key)).await.expect("deleted");
        }
    }

    /// Returns the size of the upload of a file.
    async fn upload_size(&self) -> usize {
        let items = stored(&self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        items.iter().find(|item| is_a(item, "Upload")).map(bytes).unwrap_or_default()
    }

    /// Uploads a file.
    async fn file(&mut self) {
        let client = self.client.clone();
        let pdf = b"%PDF-1.7\n";
        let made = client.post(&of("files"), &file_of("Guide", "application/pdf", pdf)).await;
        let id = text(&made.body, "fileId").to_owned();
        let case = Case { upload: self.upload_size().await, ..Case::default() };
        self.assert("create-file", &case, &made);
        assert_eq!(upload_file(&made.body["upload"], pdf).await, 200);
        let job = format!("UploadId-{id}");
        let path = of(&format!("jobs/{job}"));
        until(&client, &path, |answer| answer.status == 200).await;
        let received = client.invoke("receive-file", &created(COMPANY, &id)).await;
        let case = Case { job: self.own("Job").await, ..case };
        self.assert("receive-file", &case, &received);
        let pending = Case { upload: self.upload_size().await, ..case };
        let sum = self.until_done(&job).await;
        let records = stored(&self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        let record = records.iter().find(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("File#")));
        let case = Case { own: record.map(bytes).unwrap_or_default(), upload: self.upload_size().await, ..pending };
        self.assert_sum("continue-job, upload", &case, &sum);
        let file = client.get(&of(&format!("references/files/{id}"))).await;
        assert_eq!(file.body["status"], "ready");
        self.assert("get-reference, file", &case, &file);
        let removed = send(client.request("DELETE", &of(&format!("references/files/{id}")))).await;
        assert_eq!(removed.status, 204, "{}", removed.body);
        forget(&self.stack, &job).await;
    }

    /// Imports one employee.
    async fn import(&mut self) {
        let client = self.client.clone();
        let file = b"userId,role,department\nu-9,EmployeeOnPlan,Sales\n";
        let body = file_of("", "", file);
        let path = of("employee-imports");
        let made = client.post(&path, &json!({"bytes": body["bytes"], "sha256": body["sha256"]})).await;
        let id = text(&made.body, "importId").to_owned();
        let case = Case { upload: self.upload_size().await, ..Case::default() };
        self.assert("create-employee-import", &case, &made);
        assert_eq!(upload_file(&made.body["upload"], file).await, 200);
        let job = format!("UploadId-{id}");
        until(&client, &of(&format!("jobs/{job}")), |answer| answer.status == 200).await;
        let case = Case { job: self.own("Job").await, ..case };
        let sum = self.until_done(&job).await;
        let (employee, user) = (employee_key(COMPANY, "u-9"), of("employees/u-9"));
        let stored_employee = stored(&self.stack, None, employee.partition()).await;
        let employee = each(&stored_employee.iter().map(bytes).collect::<Vec<_>>());
        let case = Case { employee, upload: self.upload_size().await, ..case };
        self.assert_sum("continue-job, import", &case, &sum);
        let import = client.get(&format!("{path}/{id}")).await;
        assert_eq!(import.body["added"], 1, "{}", import.body);
        self.assert("get-employee-import", &case, &import);
        forget(&self.stack, &job).await;
        let removed = send(client.request("DELETE", &user)).await;
        assert_eq!(removed.status, 202, "{}", removed.body);
        forget(&self.stack, text(&removed.body, "jobId")).await;
    }

    /// Removes another employee, who has one registration.
    async fn departure(&mut self) {
        let client = self.client.clone();
        let user = "u-3";
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        assert_eq!(client.put(&of(&format!("employees/{user}")), &placed).await.status, 201);
        let joined = send(client.request("PUT", &registration_of(COMPANY, user, &self.activity))).await;
        assert_eq!(joined.status, 201, "{}", joined.body);
        let employee = employee_key(COMPANY, user);
        let stored_employee = stored(&self.stack, None, employee.partition()).await;
        let registrations =
            stored(&self.stack, Some("GSI3"), &format!("CompanyId-{COMPANY}#UserId-{user}#Registrations")).await;
        let removed = send(client.request("DELETE", &of(&format!("employees/{user}")))).await;
        let job = text(&removed.body, "jobId");
        let case = Case {
            employee: each(&stored_employee.iter().map(bytes).collect::<Vec<_>>()),
            registration: each(&registrations.iter().map(bytes).collect::<Vec<_>>()),
            job: self.own("Job").await,
            ..Case::default()
        };
        self.assert("remove-employee", &case, &removed);
        let sum = self.until_done(job).await;
        self.assert_sum("continue-job, departure", &case, &sum);
        forget(&self.stack, job).await;
    }

    /// Measures sign-ups for an event with one seat.
    async fn sign_ups(&mut self) {
        let client = self.client.clone();
        let mut event = self.new_activity();
        event["type"] = "event".into();
        event["capacity"] = 1.into();
        event["references"] = json!([]);
        event["groups"] = json!({"type": "team", "rules": {}, "items": [{"name": "Red"}]});
        let made = client.post(&of("activities"), &event).await;
        let id = text(&made.body, "activityId");
        let path = |user: &str| registration_of(COMPANY, user, id);
        let case = self.case().await;
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        assert_eq!(client.put(&of("employees/u-2"), &placed).await.status, 201);
        let put = |user: &str| client.request("PUT", &path(user));
        let joined = send(put(USER)).await;
        let signed_up = stored(&self.stack, None, &format!("ActivityId-{id}")).await;
        let sizes = signed_up.iter().filter(|item| is_a(item, "Registration")).map(bytes).collect::<Vec<_>>();
        let (of_walk, case) = (case, Case { registration: each(&sizes), ..case });
        self.assert("join-activity, first", &case, &joined);
        self.groups(id, &case).await;
        let resized = client.patch(&of(&format!("activities/{id}")), &json!({"version": 1, "capacity": 2})).await;
        let job = format!("SeatsId-{id}");
        let case = Case { job: self.own("Job").await, ..case };
        self.assert("update-activity, capacity", &case, &resized);
        self.until_done(&job).await;
        forget(&self.stack, &job).await;
        assert_eq!(client.put(&of("employees/u-4"), &placed).await.status, 201);
        let joined = send(put("u-4")).await;
        assert_eq!(joined.body["status"], "enrolled");
        self.assert("join-activity", &case, &joined);
        let waiting = send(put("u-2")).await;
        assert_eq!((&waiting.body["status"], &waiting.body["place"]), (&json!("waiting"), &json!(1)));
        self.assert("join-activity, waiting", &case, &waiting);
        let left = send(client.request("DELETE", &path(USER))).await;
        let case = Case { job: self.own("Job").await, ..case };
        assert_eq!(left.status, 204);
        self.assert_sum("leave-activity", &case, &consumed(&left));
        let sum = self.until_done(&job).await;
        self.assert_sum("continue-job, seats", &case, &sum);
        forget(&self.stack, &job).await;
        let own = registration_of(COMPANY, USER, &self.activity);
        let left = send(client.request("DELETE", &own)).await;
        assert_eq!(left.status, 204);
        self.assert_sum("leave-activity, automatic enrolment", &of_walk, &consumed(&left));
        let back = send(client.request("PUT", &own)).await;
        self.assert("join-activity, automatic enrolment", &of_walk, &back);
    }

    /// Moves the employee to the group of the event, and computes its progress.
    async fn groups(&mut self, event: &str, case: &Case) {
        let groups = self.client.get(&of(&format!("activities/{event}?include=Program%23Groups"))).await;
        let group = text(&groups.body["groups"]["items"][0], "groupId");
        let path = registration_of(COMPANY, USER, event);
        let moved = self.client.put(&path, &json!({"groupId": group})).await;
        self.assert("join-activity, another group", case, &moved);
        let started = self.client.invoke("start-group-progress", &json!({})).await;
        let items = usize::try_from(started.body["started"].as_u64().expect("a number")).expect("a number");
        assert!(items > 0, "{}", started.body);
        let job = self.own("Job").await;
        self.assert("start-group-progress", &Case { items, job, ..*case }, &started);
        let job = format!("GroupsId-{event}");
        let sum = self.until_done(&job).await;
        let case = Case { items: 1, job: self.own("Job").await, ..*case };
        self.assert_sum("continue-job, groups", &case, &sum);
        for job in [job, format!("GroupsId-{}", self.activity)] {
            forget(&self.stack, &job).await;
        }
    }

    async fn forget_registration(&self) {
        let (client, table) =
            (self.stack.client().expect("a client"), self.stack.table("Activities").expect("a table"));
        let key = Registration::key_of(&self.activity.parse().expect("an id"), &USER.parse().expect("a user"));
        let delete = client.delete_item().table_name(table).key("PK", AttributeValue::S(key.partition().to_owned()));
        delete.key("SK", AttributeValue::S(key.sort().to_owned())).send().await.expect("deleted");
    }

    async fn changes(&mut self) {
        let client = self.client.clone();
        let named = client.patch(&self.path(), &json!({"version": 2, "name": "Walk 6000"})).await;
        let case = self.case().await;
        self.assert("update-activity", &case, &named);
        let called_off = client.patch(&self.path(), &json!({"version": 3, "status": "cancelled"})).await;
        let cancelled = self.case().await;
        self.assert("update-activity, status", &cancelled, &called_off);
        let end = format!("{}-12-31T23:59:59", year());
        let later = client.patch(&self.path(), &json!({"version": 4, "endDate": end})).await;
        let case = self.case().await;
        self.assert("update-activity, endDate", &case, &later);
        let job = text(&later.body, "jobId");
        let case = self.case().await;
        let sum = self.until_done(job).await;
        self.assert_sum("continue-job, registrations", &case, &sum);
        self.assert("get-job", &case, &client.get(&of(&format!("jobs/{job}"))).await);
        forget(&self.stack, job).await;
        let back = client.patch(&self.path(), &json!({"version": 5, "status": "active"})).await;
        assert_eq!(back.status, 200, "{}", back.body);
        forget(&self.stack, text(&back.body, "enrolmentJobId")).await;
        self.reward().await;
    }

    /// Adds a reward that the employee has already earned, and awards it.
    async fn reward(&mut self) {
        let before = self.case().await;
        let reward = json!({"version": 6, "name": "Points", "amount": 5, "percent": 50});
        let put = self.client.put(&format!("{}/rewards/Late", self.path()), &reward).await;
        let case = Case { part: 100, parts: 1, job: self.own("Job").await, ..before };
        self.assert("update-part, reward", &case, &put);
        let job = text(&put.body, "jobId");
        let sum = self.until_done(job).await;
        // Without the reward, all parts have the same size again.
        let (dynamo, table) = table(&self.stack);
        let key = Key::new(
            &parsed::<ActivityPartition>(&format!("ActivityId-{}", self.activity)),
            &ProgramSort::Reward(parsed("Late")),
        );
        dynamo.write(table.delete(key)).await.expect("deleted");
        let registration = self.case().await.registration;
        self.assert_sum("continue-job, rewards", &Case { registration, rewards: 200, ..case }, &sum);
        forget(&self.stack, job).await;
    }

    /// Measures an update and a replacement of the activity's venue.
    async fn venue(&mut self) {
        let client = self.client.clone();
        let venue = of("references/venues/123");
        let mut data = free(self.size.copied);
        data["text"] = data["text"].as_str().expect("a text").replace('x', "y").into();
        let updated = client.patch(&venue, &json!({"data": data})).await;
        let case = Case { references: 1, ..self.case().await };
        self.assert("update-reference", &case, &updated);
        let sum = self.until_done(VENUE).await;
        self.assert_sum("continue-job, update", &case, &sum);
        fail(&self.stack, VENUE).await;
        let retried = send(client.request("POST", &of(&format!("jobs/{VENUE}/retry")))).await;
        self.assert("retry-job", &case, &retried);
        self.until_done(VENUE).await;
        forget(&self.stack, VENUE).await;
        let body = json!({"replacementId": "456", "data": data});
        let replaced = client.post(&format!("{venue}/replacement"), &body).await;
        let case = Case { references: 1, ..self.case().await };
        self.assert("replace-reference", &case, &replaced);
        let sum = self.until_done(VENUE).await;
        self.assert_sum("continue-job, replacement", &case, &sum);
    }
}

/// Changes the state of a completed job to failed.
async fn fail(stack: &Stack, job: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table("WellnessJobs").expect("a table"));
    let update = client.update_item().table_name(table).key("PK", AttributeValue::S(format!("CompanyId-{COMPANY}")));
    let update = update.key("SK", AttributeValue::S(format!("Job#{job}"))).update_expression("SET #s = :s");
    let update = update.expression_attribute_names("#s", "State");
    update.expression_attribute_values(":s", AttributeValue::S("failed".to_owned())).send().await.expect("written");
}

/// Deletes a completed job, so that all measured jobs have the same size.
async fn forget(stack: &Stack, job: &str) {
    let (client, table) = (stack.client().expect("a client"), stack.table("WellnessJobs").expect("a table"));
    let delete = client.delete_item().table_name(table).key("PK", AttributeValue::S(format!("CompanyId-{COMPANY}")));
    delete.key("SK", AttributeValue::S(format!("Job#{job}"))).send().await.expect("deleted");
}

#[tokio::test]
async fn an_idempotency_key_consumes_its_declared_cost() {
    let long = "k".repeat(128);
    for (size, key) in [(SMALL, "K-1"), (LARGE, long.as_str())] {
        let mut measured = Measured::start(size).await;
        let (client, more) = (measured.client.clone(), format!("M{}", &key[1..]));
        let made = measured.create(Some(key)).await;
        let keyed =
            async |measured: &Measured, key: &str| Case { record: measured.record(key).await, ..measured.case().await };
        let case = keyed(&measured, key).await;
        measured.assert("create-activity, automatic enrolment", &case, &made);
        let template = client.post_once(&of("templates"), &more, &json!({"name": "N"})).await;
        let case = Case { own: measured.own("Template").await, ..keyed(&measured, &more).await };
        measured.assert("create-template", &case, &template);
        let order = format!("O{}", &key[1..]);
        let body = json!({"replacementId": "456", "data": free(size.copied)});
        let replaced = client.post_once(&of("references/venues/123/replacement"), &order, &body).await;
        let case = Case { references: 1, ..keyed(&measured, &order).await };
        measured.assert("replace-reference", &case, &replaced);
        measured.stack.stop().await;
    }
}

impl Measured {
    async fn record(&self, key: &str) -> Option<usize> {
        let items = stored(&self.stack, None, &format!("CompanyId-{COMPANY}")).await;
        let sort = AttributeValue::S(format!("IDEMPOTENCY#{key}"));
        items.iter().find(|item| item["SK"] == sort).map(bytes)
    }
}

#[tokio::test]
async fn long_lists_consume_their_declared_cost() {
    const MANY: usize = 60;
    for size in [SMALL, Size { detail: 20, ..LARGE }] {
        let mut measured = Measured::start(size).await;
        for _ in 0..MANY {
            let made = measured.create(None).await;
            assert_eq!(made.status, 201, "{}", made.body);
        }
        let client = measured.client.clone();
        let placed = json!({"role": "EmployeeOnPlan", "department": "Sales"});
        assert_eq!(client.put(&of(&format!("employees/{USER}")), &placed).await.status, 201);
        let registered = client.invoke("register-new-employee", &starts()).await;
        let case = Case { items: MANY, eligible: MANY, ..measured.case().await };
        measured.assert("register-new-employee", &case, &registered);
        measured.assert("list-activities", &case, &client.get(&of(&format!("activities?year={}", year()))).await);
        measured.assert(
            "list-activity-options",
            &case,
            &client.get(&of(&format!("activity-options?year={}", year()))).await,
        );
        let list = client.get(&format!("{}&year={}", registrations_of(COMPANY, USER), year())).await;
        measured.assert("list-registrations", &case, &list);
        let used = client.get(&of("references/venues/123/activities?limit=50")).await;
        measured.assert("list-references", &Case { references: 50, ..case }, &used);
        let used = client.get(&of("references/venues/123/activities?limit=100")).await;
        measured.assert("list-references", &Case { references: MANY, ..case }, &used);
        measured.stack.stop().await;
    }
}

/// Each job needs more than two pages. While it runs, its item also contains the ids of the current
/// page.
#[tokio::test]
async fn long_jobs_consume_their_declared_cost() {
    const MANY: usize = 120;
    let mut measured = Measured::start(SMALL).await;
    for _ in 0..MANY {
        assert_eq!(measured.create(None).await.status, 201);
    }
    let client = measured.client.clone();
    let (old, new) = (of("references/venues/123"), of("references/venues/456"));
    let data = free(SMALL.copied);
    assert_eq!(client.put(&new, &json!({"name": "Blood Bank B", "data": data})).await.status, 201);
    let replaced = client.post(&format!("{old}/replacement"), &json!({"replacementId": "456", "data": data})).await;
    let case = Case { references: MANY, ..measured.case().await };
    measured.assert("replace-reference", &case, &replaced);
    let sum = measured.until_done(VENUE).await;
    measured.assert_sum("continue-job, replacement", &case, &sum);
    forget(&measured.stack, VENUE).await;

    let updated = client.patch(&new, &json!({"data": free(SMALL.copied + 1)})).await;
    measured.assert("update-reference", &case, &updated);
    let case = Case { references: MANY, ..measured.case().await };
    let sum = measured.until_done("VenueId-456").await;
    measured.assert_sum("continue-job, update", &case, &sum);
    forget(&measured.stack, "VenueId-456").await;

    let (activity, end) = (measured.activity.clone(), format!("{}-12-31T23:59:58", year()));
    let registration = |number: usize| {
        let user = format!("{number:0>32}").parse().expect("a user");
        let (company, activity) = (COMPANY.parse().expect("a company"), activity.parse().expect("an activity"));
        let now = "2020-01-01T00:00:00Z".parse().expect("a time");
        Registration::new(company, activity, end.parse().expect("a time"), user, now)
    };
    put(&measured.stack, &(0..MANY).map(registration).collect::<Vec<_>>()).await;
    let moved = json!({"version": 1, "endDate": format!("{}-12-31T23:59:59", year())});
    assert_eq!(client.patch(&measured.path(), &moved).await.status, 200);
    let case = Case { items: MANY, ..measured.case().await };
    let sum = measured.until_done(&format!("ActivityId-{activity}")).await;
    measured.assert_sum("continue-job, registrations", &case, &sum);
    measured.stack.stop().await;
}

/// Checks the costs that the formulas describe only in words.
#[tokio::test]
async fn costs_stated_in_words_match_the_consumed_units() {
    let mut measured = Measured::start(SMALL).await;
    let client = measured.client.clone();
    let costs = |answer: &Answer, places: &[(&str, u64, u64)]| {
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        let units =
            |(place, read, write): &(&str, _, _)| ((*place).to_owned(), (Units::whole(*read), Units::whole(*write)));
        assert_eq!(consumed(answer), places.iter().map(units).collect(), "{}", answer.body);
    };
    let section = |end: &str| json!({"name": "Summer", "startDate": "2030-06-01", "endDate": end});
    let put = async |end: &str| client.put(&of("sections/7"), &section(end)).await;
    costs(&put("2030-09-01").await, &[("Activities", 1, 2), ("Activities/GSI1", 0, 1)]);
    costs(&put("2030-10-01").await, &[("Activities", 1, 2), ("Activities/GSI1", 0, 2)]);

    let template = json!({"name": "N", "type": "event", "subType": "F", "data": free(5_000)});
    let template = client.post(&of("templates"), &template).await;
    let mut activity =
        json!({"name": "N", "type": "event", "subType": "F", "startDate": "2030-01-01", "endDate": "2030-01-01"});
    let bare = [("Activities", 0, 2), ("Activities/GSI1", 0, 1), ("Activities/GSI2", 0, 1)];
    costs(&client.post(&of("activities"), &activity).await, &bare);
    activity["sectionId"] = "7".into();
    let made = client.post(&of("activities"), &activity).await;
    costs(&made, &[("Activities", 1, 2), bare[1], bare[2]]);
    activity["templateId"] = template.body["templateId"].clone();
    activity["data"] = json!({});
    costs(&client.post(&of("activities"), &activity).await, &[("Activities", 1 + 2 + 1, 2), bare[1], bare[2]]);

    text(&made.body, "activityId").clone_into(&mut measured.activity);
    let out = client.put(&format!("{}/section", measured.path()), &json!({"sectionId": null})).await;
    costs(&out, &[("Activities", 1, 2), ("Activities/GSI1", 0, 1)]);
    let begins = client.patch(&measured.path(), &json!({"version": 1, "startDate": "2029-01-01"})).await;
    costs(&begins, &[("Activities", 1, 2), ("Activities/GSI1", 0, 1)]);

    let placed = async |role: &str| {
        client.put(&of(&format!("employees/{USER}")), &json!({"role": role, "department": "D"})).await
    };
    for (role, writes) in [("R", 2), ("R", 0), ("S", 1)] {
        costs(&placed(role).await, &[("Activities", 1, writes)]);
    }
    measured.stack.stop().await;
}

fn reads(places: &[(&str, Units)]) -> Consumed {
    places.iter().map(|(place, units)| ((*place).to_owned(), (*units, Units::ZERO))).collect()
}

#[tokio::test]
async fn rejected_requests_write_nothing_and_read_at_most_one_item() {
    let mut measured = Measured::start(SMALL).await;
    let client = measured.client.clone();
    let made = measured.create(Some("K-1")).await;
    assert_eq!(made.status, 201);
    let one = reads(&[("Activities", Units::whole(1))]);
    let again = measured.create(Some("K-1")).await;
    assert_eq!((&again.body, consumed(&again)), (&made.body, one.clone()), "a replay");
    let mut body = measured.new_activity();
    body["name"] = "Walk 6000".into();
    let other = client.post_once(&of("activities"), "K-1", &body).await;
    assert_eq!((other.status, consumed(&other)), (422, one.clone()));
    let stale = client.patch(&measured.path(), &json!({"version": 7, "name": "N"})).await;
    assert_eq!((stale.status, consumed(&stale)), (412, one.clone()));
    let nobodys = of("activities/nobodys");
    let missing = client.patch(&nobodys, &json!({"version": 1, "name": "N"})).await;
    assert_eq!((missing.status, consumed(&missing)), (404, one.clone()));
    let nowhere = client.put(&format!("{}/section", measured.path()), &json!({"sectionId": "8"})).await;
    assert_eq!((nowhere.status, consumed(&nowhere)), (404, one.clone()));
    let job = client.get(&of("jobs/VenueId-1")).await;
    assert_eq!((job.status, consumed(&job)), (404, reads(&[("WellnessJobs", Units::whole(1))])));
    let stranger = Client::member(&measured.stack, "wellness:read wellness:write wellness:admin", "C-2", "u-2");
    for answer in [
        client.get(&of("activities?year=x")).await,
        stranger.get(&of("activities")).await,
        stranger.get(&measured.path()).await,
        stranger.patch(&measured.path(), &json!({"version": 1, "name": "N"})).await,
        stranger.post(&of("activities"), &measured.new_activity()).await,
        stranger.get(&registrations_of(COMPANY, USER)).await,
        stranger.put(&of("employees/u-2"), &json!({"role": "R", "department": "D"})).await,
    ] {
        assert!(matches!(answer.status, 400 | 403), "{}", answer.body);
        assert_eq!(consumed(&answer), Consumed::new(), "{}", answer.body);
    }
    measured.stack.stop().await;
}
