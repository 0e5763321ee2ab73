//! Tests of unreadable stored items: an item of each type in turn, against every reader, job and
//! stream.
//!
//! Lists skip an unreadable item and count it. A read of the item itself returns 500. Jobs pass
//! over it, report it and finish. The stream function passes over it, and other employees do not
//! wait for it.

use aws_sdk_dynamodb::types::AttributeValue;
use function::Pattern;
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use system_tests::{
    Answer, Client, changed, drained, send, stack, stride, text, until,
    wellness::{
        activity, admin, create, employee_key, of_company, put, registration, registration_of, registrations_of,
    },
};
use wellness::Registration;

const COMPANY: &str = "C";
const USER: &str = "user";
const OTHER: &str = "another";

type Stored = HashMap<String, AttributeValue>;

/// Items by table, partition key and sort key.
type Snapshot = BTreeMap<(&'static str, String, String), Stored>;

fn year() -> String {
    Timestamp::now().strftime("%Y").to_string()
}

fn end() -> String {
    format!("{}-12-31T23:59:59", year())
}

/// Returns an activity with all parts and a reference to the venue, as the body of a request.
fn whole(name: &str) -> Value {
    let mut activity = system_tests::wellness::challenge(name, &end());
    activity["sectionId"] = "1".into();
    activity["data"] = json!({"banner": "walk.png"});
    activity["references"] = json!([{"facet": "venues", "id": "venue", "data": {"Name": "Hall"}}]);
    activity
}

/// A company with two items of each type. One employee has the only seat of the event, and another
/// one waits.
struct Scene {
    stack: Stack,
    operator: Client,
    admin: Client,
    /// The ids of both challenges and of an event.
    activities: Vec<String>,
    /// The id of an import of employees.
    import: String,
    /// The id of a group of the first challenge.
    group: String,
    /// The ids of a template of the company and of a global template.
    templates: Vec<String>,
}

/// Returns the path of the points of a user.
fn points_of(user: &str) -> String {
    format!("/wellness/users/{user}/points?companyId={COMPANY}")
}

fn correction() -> Value {
    json!({"planId": "current", "amount": 1, "reason": "Helped"})
}

impl Scene {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        let (operator, admin) = (Client::operator(&stack), admin(&stack, COMPANY));
        let of = |rest: &str| of_company(COMPANY, rest);
        let mut templates = Vec::new();
        for id in ["1", "2"] {
            let section = json!({"name": "Spring", "startDate": format!("{}-01-01", year()), "endDate": end()});
            assert_eq!(admin.put(&of(&format!("sections/{id}")), &section).await.status, 201);
            for (client, path) in [(&admin, of("templates")), (&operator, "/wellness/templates".to_owned())] {
                let made = client.post(&path, &json!({"name": "Walk"})).await;
                assert_eq!(made.status, 201, "{}", made.body);
                templates.push(text(&made.body, "templateId").to_owned());
            }
        }
        let plan = json!({"name": "Year", "startDate": format!("{}-01-01", year()), "endDate": end()});
        assert_eq!(admin.put(&of("plans/current"), &plan).await.status, 201);
        for id in ["venue", "of-job"] {
            let record = json!({"name": "Hall", "data": {"Name": "Hall"}});
            assert_eq!(admin.put(&of(&format!("references/venues/{id}")), &record).await.status, 201);
        }
        let mut activities = Vec::new();
        for name in ["Walk", "Run"] {
            activities.push(text(&create(&admin, COMPANY, &whole(name)).await, "activityId").to_owned());
        }
        let event = json!({"name": "Flu shots", "type": "event", "subType": "Health",
            "startDate": format!("{}-01-01", year()), "endDate": end(), "capacity": 1});
        activities.push(text(&create(&admin, COMPANY, &event).await, "activityId").to_owned());
        let groups = admin.get(&of(&format!("activities/{}?include=Program%23Groups", activities[0]))).await;
        let group = text(&groups.body["groups"]["items"][0], "groupId").to_owned();
        let import = admin.post(&of("employee-imports"), &system_tests::wellness::new_import()).await;
        let import = text(&import.body, "importId").to_owned();
        let scene = Self { stack, operator, admin, activities, import, group, templates };
        let loaded = [("PK", "Global"), ("SK", "TemplateSet"), ("Type", "TemplateSet")];
        let loaded = loaded.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
        let version = ("Version".to_owned(), AttributeValue::N("1".to_owned()));
        scene.put("Activities", &loaded.into_iter().chain([version]).collect()).await;
        for user in [USER, OTHER] {
            let placed = json!({"role": "R", "department": "D", "name": "Ann"});
            assert_eq!(scene.admin.put(&of(&format!("employees/{user}")), &placed).await.status, 201);
            let registered = |answer: &Answer| answer.body["items"].as_array().is_some_and(|items| items.len() == 2);
            until(&scene.operator, &registrations_of(COMPANY, user), registered).await;
            let seat = registration_of(COMPANY, user, &scene.activities[2]);
            assert_eq!(send(scene.operator.request("PUT", &seat)).await.status, 201);
        }
        let (walk, group) = (registration_of(COMPANY, USER, &scene.activities[0]), json!({"groupId": scene.group}));
        assert_eq!(scene.admin.put(&walk, &group).await.status, 200);
        assert_eq!(scene.admin.post(&points_of(USER), &correction()).await.status, 201);
        assert_eq!(scene.admin.patch(&of("references/venues/of-job"), &json!({"data": {}})).await.status, 202);
        scene.done("VenueId-of-job").await;
        assert_eq!(scene.admin.post(&of("plans/current/report"), &json!({})).await.status, 202);
        scene.done("ReportId-current").await;
        drained(&scene.operator, "register-new-employee").await;
        scene.put_tenant_jobs().await;
        scene
    }

    /// Puts an export and two erasures that are done. A real erasure would delete the items.
    async fn put_tenant_jobs(&self) {
        let report = self.items("WellnessJobs").await;
        let report = report.iter().find(|item| attribute(item, "ID") == "ReportId-current").expect("the job");
        let export = json!({"Export": {"Export": "0".repeat(32)}});
        let erasure = json!({"Erase": {"WasEmployed": false}});
        let employee = format!("EmployeeErasureId-{USER}");
        for (id, kind, task) in [
            (format!("ExportId-{COMPANY}"), "export", &export),
            (format!("ErasureId-{COMPANY}"), "erasure", &erasure),
            (employee, "erasure", &erasure),
        ] {
            let mut job = report.clone();
            job.remove("Progress");
            job.insert("SK".to_owned(), AttributeValue::S(format!("Job#{id}")));
            job.insert("ID".to_owned(), AttributeValue::S(id));
            job.insert("Kind".to_owned(), AttributeValue::S(kind.to_owned()));
            job.insert("Task".to_owned(), serde_dynamo::to_attribute_value(task).expect("a task"));
            self.put("WellnessJobs", &job).await;
        }
    }

    /// Copies the items to a stack whose streams trigger no functions, so that only requests write.
    async fn without_streams(self) -> Self {
        let mapping = "          Type: DynamoDB\n          Properties:\n";
        let stack = changed("wellness", (mapping, 2), &format!("{mapping}            Enabled: false\n"));
        let stack = stack.start().await.expect("a stack");
        let (operator, admin) = (Client::operator(&stack), admin(&stack, COMPANY));
        let items = self.snapshot().await;
        let Self { activities, import, group, templates, .. } = &self;
        let (activities, import) = (activities.clone(), import.clone());
        let (group, templates) = (group.clone(), templates.clone());
        let scene = Self { stack, operator, admin, activities, import, group, templates };
        for ((table, ..), item) in &items {
            scene.put(table, item).await;
        }
        self.stack.stop().await;
        scene
    }

    /// Returns all items of both tables by table and key.
    async fn snapshot(&self) -> Snapshot {
        let mut all = Snapshot::new();
        for table in ["Activities", "WellnessJobs"] {
            for item in self.items(table).await {
                let (partition, sort) = key(&item);
                all.insert((table, partition, sort), item);
            }
        }
        all
    }

    /// Replaces the items of `now` by those of `before`.
    async fn restore(&self, now: &Snapshot, before: &Snapshot) {
        let client = self.stack.client().expect("a client");
        for at in now.keys().filter(|at| !before.contains_key(*at)) {
            let (table, partition, sort) = at;
            let delete = client.delete_item().table_name(self.stack.table(table).expect("a table"));
            let delete = delete.key("PK", AttributeValue::S(partition.clone()));
            delete.key("SK", AttributeValue::S(sort.clone())).send().await.expect("deleted");
        }
        for (at, item) in before.iter().filter(|(at, item)| now.get(*at) != Some(*item)) {
            self.put(at.0, item).await;
        }
    }

    /// Waits until the job has ended, and returns its state.
    async fn done(&self, job: &str) -> Value {
        let path = of_company(COMPANY, &format!("jobs/{job}"));
        until(&self.admin, &path, |answer| answer.body["status"] != "running").await.body
    }

    async fn items(&self, table: &str) -> Vec<Stored> {
        let client = self.stack.client().expect("a client");
        let scan = client.scan().table_name(self.stack.table(table).expect("a table")).consistent_read(true);
        scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
    }

    async fn put(&self, table: &str, item: &Stored) {
        let client = self.stack.client().expect("a client");
        let put = client.put_item().table_name(self.stack.table(table).expect("a table"));
        put.set_item(Some(item.clone())).send().await.expect("written");
    }

    /// Returns a request for each GET route.
    fn readers(&self) -> BTreeMap<String, String> {
        let patterns = wellness::patterns();
        let routes = patterns.iter().flat_map(Pattern::routes).filter(|route| route.method == "GET");
        let path = |route: &str| {
            let path = function::path(route, |name| {
                Some(match name {
                    "companyId" => COMPANY.to_owned(),
                    "userId" => USER.to_owned(),
                    "activityId" => self.activities[0].clone(),
                    "facet" => "venues".to_owned(),
                    "facetId" => "venue".to_owned(),
                    "jobId" => "VenueId-of-job".to_owned(),
                    "templateId" if route.contains("{companyId}") => self.templates[0].clone(),
                    "templateId" => self.templates[1].clone(),
                    "planId" => "current".to_owned(),
                    "importId" => self.import.clone(),
                    other => unreachable!("{other}"),
                })
            });
            if route.contains("/users/") { format!("{path}?companyId={COMPANY}") } else { path }
        };
        routes.map(|route| (route.path.to_owned(), path(route.path))).collect()
    }

    async fn answers(&self) -> BTreeMap<String, Answer> {
        let mut answers = BTreeMap::new();
        for (route, path) in self.readers() {
            answers.insert(route, self.operator.get(&path).await);
        }
        answers
    }
}

fn attribute<'a>(item: &'a Stored, name: &str) -> &'a str {
    item[name].as_s().expect("a text")
}

fn key(item: &Stored) -> (String, String) {
    (attribute(item, "PK").to_owned(), attribute(item, "SK").to_owned())
}

/// Number of items in a list, including skipped items and sections. `None` for a single item.
fn total(answer: &Answer) -> Option<u64> {
    let count = |member: &str| answer.body[member].as_array().map_or(0, Vec::len) as u64;
    answer.body["items"]
        .is_array()
        .then(|| count("items") + count("sections") + answer.body["skipped"].as_u64().unwrap_or_default())
}

/// Returns the readers that must notice an unreadable item of each type.
fn expected() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    const ACTIVITY: &str = "/wellness/companies/{companyId}/activities/{activityId}";
    const ACTIVITIES: &str = "/wellness/companies/{companyId}/activities";
    const OPTIONS: &str = "/wellness/companies/{companyId}/activity-options";
    const REGISTRATIONS: &str = "/wellness/users/{userId}/registrations";
    const REFERENCES: &str = "/wellness/companies/{companyId}/references/{facet}/{facetId}/activities";
    const PARTICIPANTS: &str = "/wellness/companies/{companyId}/activities/{activityId}/participants";
    const POINTS: &str = "/wellness/users/{userId}/points";
    const RECORD: &str = "/wellness/companies/{companyId}/references/{facet}/{facetId}";
    const REPORT: &str = "/wellness/companies/{companyId}/plans/{planId}/report";
    BTreeMap::from([
        ("Activity", BTreeSet::from([ACTIVITY, ACTIVITIES, OPTIONS, REGISTRATIONS])),
        ("Detail", BTreeSet::from([ACTIVITY])),
        ("Goal", BTreeSet::from([ACTIVITY])),
        ("Reward", BTreeSet::from([ACTIVITY])),
        ("Groups", BTreeSet::from([ACTIVITY])),
        ("Group", BTreeSet::from([ACTIVITY])),
        ("Reference", BTreeSet::from([ACTIVITY, REFERENCES])),
        ("Section", BTreeSet::from([ACTIVITIES, "/wellness/companies/{companyId}/sections"])),
        (
            "Template",
            BTreeSet::from([
                "/wellness/companies/{companyId}/templates",
                "/wellness/companies/{companyId}/templates/{templateId}",
                "/wellness/templates",
                "/wellness/templates/{templateId}",
            ]),
        ),
        ("ReferenceRecord", BTreeSet::from([RECORD, "/wellness/companies/{companyId}/references/{facet}"])),
        (
            "Plans",
            BTreeSet::from(["/wellness/companies/{companyId}/plans", "/wellness/companies/{companyId}/plans/{planId}"]),
        ),
        (
            "Employee",
            BTreeSet::from([
                "/wellness/companies/{companyId}/employees",
                "/wellness/companies/{companyId}/employees/{userId}",
                PARTICIPANTS,
            ]),
        ),
        ("Starts", BTreeSet::new()),
        ("Tickets", BTreeSet::new()),
        ("Ticket", BTreeSet::new()),
        ("TemplateSet", BTreeSet::new()),
        ("Registration", BTreeSet::from([PARTICIPANTS, POINTS, REGISTRATIONS])),
        ("Correction", BTreeSet::from([POINTS])),
        ("Upload", BTreeSet::from(["/wellness/companies/{companyId}/employee-imports/{importId}"])),
        ("PlanReport", BTreeSet::from([REPORT])),
        ("ReportRow", BTreeSet::from([REPORT])),
        (
            "Job",
            BTreeSet::from([
                "/wellness/companies/{companyId}/jobs/{jobId}",
                "/wellness/companies/{companyId}/export",
                "/wellness/companies/{companyId}/erasure",
                "/wellness/companies/{companyId}/employees/{userId}/erasure",
            ]),
        ),
    ])
}

/// Makes each attribute of each item unreadable in turn, except for index keys, which DynamoDB
/// checks. No list fails or loses another item, and no read of another item is affected.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_item_affects_only_the_readers_that_return_it() {
    let scene = Scene::start().await;
    let healthy = scene.answers().await;
    for (route, answer) in &healthy {
        assert_eq!((answer.status, &answer.body["skipped"]), (200, &Value::Null), "{route}: {}", answer.body);
    }
    let mut noticed = BTreeMap::<String, BTreeSet<String>>::new();
    let mut wrong = Vec::new();
    for table in ["Activities", "WellnessJobs"] {
        for item in scene.items(table).await {
            let kind = attribute(&item, "Type").to_owned();
            let (partition, sort) = key(&item);
            let names = item.keys().filter(|name| !name.starts_with("GSI") && *name != "PK" && *name != "SK");
            // An item without a company belongs to no list of a company.
            let names = names.filter(|name| !(kind == "Registration" && *name == "CompanyId") && *name != "Type");
            for name in names.collect::<BTreeSet<_>>().into_iter().step_by(stride(5)) {
                let mut broken = item.clone();
                broken.insert(name.clone(), AttributeValue::Bool(true));
                scene.put(table, &broken).await;
                for (route, answer) in scene.answers().await {
                    let before = &healthy[&route];
                    if answer.body == before.body {
                        continue;
                    }
                    noticed.entry(kind.clone()).or_default().insert(route.clone());
                    // The points list the awards of a registration, not the registration.
                    let has_all = route.ends_with("/points") || total(&answer) == total(before);
                    let is_skipped = answer.status == 200 && has_all && answer.body["skipped"].as_u64() >= Some(1);
                    // Without the report, its rows are unknown.
                    let is_own = (total(before).is_none() || kind == "PlanReport")
                        && answer.status == 500
                        && answer.body["type"] == "/problems/internal";
                    if !is_skipped && !is_own {
                        wrong.push(format!("{kind} {partition} {sort} without {name}: {route}: {}", answer.body));
                    }
                }
            }
            scene.put(table, &item).await;
        }
    }
    assert!(wrong.is_empty(), "{} failures:\n{}", wrong.len(), wrong.join("\n"));
    let after = scene.answers().await;
    assert!(after.iter().all(|(route, answer)| answer.body == healthy[route].body), "each item was restored");
    for (kind, readers) in expected() {
        let noticed = noticed.remove(kind).unwrap_or_default();
        assert_eq!(noticed.iter().map(String::as_str).collect::<BTreeSet<_>>(), readers, "{kind}");
    }
    assert!(noticed.is_empty(), "every type must have an expectation: {noticed:?}");
}

/// Each kind of job passes over an unreadable item, changes the others and reports the number.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_pass_over_unreadable_items_and_report_them() {
    for kind in ["update", "replacement", "registrations"] {
        let scene = Scene::start().await;
        let items = scene.items("Activities").await;
        let poison = |sort: &str| {
            let partition = format!("ActivityId-{}", scene.activities[0]);
            items.iter().find(|item| key(item) == (partition.clone(), sort.to_owned())).expect("the item").clone()
        };
        let reference = "Program#Venue#VenueId-venue";
        let venue = of_company(COMPANY, "references/venues/venue");
        let (job, is_changed): (String, fn(&Stored) -> bool) = match kind {
            "update" => {
                let mut broken = poison(reference);
                broken.insert("CompanyId".to_owned(), AttributeValue::Bool(true));
                broken.insert("CopiedData".to_owned(), AttributeValue::Bool(true));
                scene.put("Activities", &broken).await;
                let started = scene.admin.patch(&venue, &json!({"data": {"Name": "Great Hall"}})).await;
                (text(&started.body, "jobId").to_owned(), |item| {
                    item.get("CopiedData").is_some_and(|data| format!("{data:?}").contains("Great Hall"))
                })
            }
            "replacement" => {
                let mut broken = poison(reference);
                broken.insert("CopiedData".to_owned(), AttributeValue::Bool(true));
                scene.put("Activities", &broken).await;
                let body = json!({"replacementId": "other", "data": {}});
                let started = scene.admin.post(&format!("{venue}/replacement"), &body).await;
                (text(&started.body, "jobId").to_owned(), |item| attribute(item, "SK").ends_with("#VenueId-other"))
            }
            _ => {
                let activity = of_company(COMPANY, &format!("activities/{}", scene.activities[0]));
                // The index key is not a time. The registration of the other employee follows.
                let mut broken = poison(&format!("Registration#UserId-{USER}"));
                broken.insert("GSI3SK".to_owned(), AttributeValue::S("ActivityEndDate#never".to_owned()));
                scene.put("Activities", &broken).await;
                let end = format!("{}-12-30T00:00:00", year());
                let moved = scene.admin.patch(&activity, &json!({"version": 1, "endDate": end})).await;
                (text(&moved.body, "jobId").to_owned(), |item| {
                    item.get("GSI3SK").is_some_and(|end| format!("{end:?}").contains("12-30T00:00:00"))
                })
            }
        };
        let job = scene.done(&job).await;
        assert_eq!(
            (&job["status"], &job["skipped"], &job["done"]),
            (&json!("done"), &json!(1), &json!(1)),
            "{kind}: {job}"
        );
        let changed = scene.items("Activities").await.iter().filter(|item| is_changed(item)).count();
        // An update also changes the record.
        assert_eq!(changed, 1, "{kind}");
    }
}

fn event(number: usize, company: &str, user: &str) -> Value {
    let key = employee_key(company, user);
    json!({
        "eventID": number.to_string(),
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": Timestamp::now().as_second(),
            "Keys": {"PK": {"S": key.partition()}, "SK": {"S": key.sort()}},
            "SequenceNumber": number.to_string(),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    })
}

/// No unreadable item makes the function retry a record, because all later records of the shard
/// would wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn employees_do_not_wait_for_unreadable_items_of_others() {
    let scene = Scene::start().await;
    let others = activity("other-company", "others", "Walk", &end());
    put(&scene.stack, &[others]).await;
    let batch = |user: &str| json!({"Records": [event(1, COMPANY, USER), event(2, "other-company", user)]});
    let mut number = 0;
    for item in scene.items("Activities").await {
        let names =
            item.keys().filter(|name| !["PK", "SK", "Type"].contains(&name.as_str()) && !name.starts_with("GSI"));
        for name in names {
            number += 1;
            let mut broken = item.clone();
            broken.insert(name.clone(), AttributeValue::Bool(true));
            scene.put("Activities", &broken).await;
            let user = format!("user-{number}");
            let placed = json!({"role": "R", "department": "D"});
            let path = of_company("other-company", &format!("employees/{user}"));
            assert_eq!(scene.operator.put(&path, &placed).await.status, 201);
            let answer = scene.operator.invoke("register-new-employee", &batch(&user)).await;
            assert_eq!(answer.body, json!({"batchItemFailures": []}), "{:?} {name}", key(&item));
            let registered = registrations_of("other-company", &user);
            let list = scene.operator.get(&registered).await;
            let expected = if attribute(&item, "PK") == "ActivityId-others" { 0..=1 } else { 1..=1 };
            let count = list.body["items"].as_array().map_or(0, Vec::len);
            assert!(expected.contains(&count), "{:?} {name}: {}", key(&item), list.body);
        }
        scene.put("Activities", &item).await;
    }
    drained(&scene.operator, "register-new-employee").await;
    let streams = scene.operator.get("/_local/streams").await.body;
    let mappings = streams["mappings"].as_array().expect("mappings");
    let mapping = mappings.iter().find(|mapping| mapping["function"] == "register-new-employee").expect("the mapping");
    let counts = ["failedBatches", "retries", "givenUp"].map(|count| mapping[count].clone());
    assert_eq!(counts, [json!(0), json!(0), json!(0)], "{mapping}");
}

/// An employee whose registration cannot be read still gets the other registrations.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_registration_does_not_block_the_others_of_the_employee() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let walks = ["A-1", "A-2"].map(|id| activity(COMPANY, id, "Walk", &end()));
    put(&stack, &walks).await;
    let poison = Registration { progress_text: "poison".to_owned(), ..registration(&walks[0], USER) };
    let scene = Scene {
        admin: admin(&stack, COMPANY),
        operator,
        stack,
        activities: Vec::new(),
        import: String::new(),
        group: String::new(),
        templates: Vec::new(),
    };
    let mut poison: Stored = serde_dynamo::to_item(&poison).expect("an item");
    poison.insert("Progress".to_owned(), AttributeValue::Bool(true));
    scene.put("Activities", &poison).await;
    // An unreadable registration of another company's user with the same id is not counted.
    let others = registration(&activity("other-company", "A-3", "Walk", &end()), USER);
    let mut others: Stored = serde_dynamo::to_item(&others).expect("an item");
    others.insert("Progress".to_owned(), AttributeValue::Bool(true));
    scene.put("Activities", &others).await;
    let placed = json!({"role": "R", "department": "D"});
    assert_eq!(scene.operator.put(&of_company(COMPANY, &format!("employees/{USER}")), &placed).await.status, 201);
    let list = registrations_of(COMPANY, USER);
    let found = until(&scene.operator, &list, |answer| answer.body["items"][0]["activityId"] == "A-2").await;
    assert_eq!(found.body["skipped"], 1, "{}", found.body);
    let stored = scene.items("Activities").await;
    let registrations = stored.iter().filter(|item| attribute(item, "SK").starts_with("Registration#")).count();
    assert_eq!(registrations, 3, "the unreadable registrations are kept");
}

/// An employee without a registration for the event.
const NEW: &str = "new";

/// Returns a valid request for each route that writes, with the method and the body. A name may
/// have a variant after a comma.
fn writers(scene: &Scene) -> BTreeMap<&'static str, (String, Value)> {
    let of = |rest: &str| of_company(COMPANY, rest);
    let activity = of(&format!("activities/{}", scene.activities[0]));
    let venue = of("references/venues/venue");
    let global = format!("/wellness/templates/{}", scene.templates[1]);
    let part = |rest: &str, body: Value| (format!("{activity}/{rest}"), body);
    let section = json!({"name": "Summer", "startDate": format!("{}-02-01", year()), "endDate": end()});
    let progress = json!({"progress": 50});
    let walk = |user: &str| registration_of(COMPANY, user, &scene.activities[0]);
    let event = |user: &str| registration_of(COMPANY, user, &scene.activities[2]);
    let group = json!({"groupId": scene.group});
    let of_event = of(&format!("activities/{}", scene.activities[2]));
    BTreeMap::from([
        ("POST activities", (of("activities"), whole("New"))),
        ("PATCH activities/{activityId}", (activity.clone(), json!({"version": 1, "name": "Renamed"}))),
        ("PUT activities/{activityId}/section", (format!("{activity}/section"), json!({"sectionId": "2"}))),
        ("PUT sections/{sectionId}", (of("sections/1"), section)),
        (
            "PUT plans/{planId}",
            (of("plans/next"), json!({"name": "Next", "startDate": "2030-01-01", "endDate": "2030-12-31"})),
        ),
        ("POST plans/{planId}/report", (of("plans/current/report"), json!({}))),
        ("POST export", (of("export"), Value::Null)),
        ("POST erasure", (of("erasure"), Value::Null)),
        ("POST employees/{userId}/erasure", (of(&format!("employees/{USER}/erasure")), Value::Null)),
        ("PUT employees/{userId}", (of(&format!("employees/{USER}")), json!({"role": "R2", "department": "D2"}))),
        ("POST files", (of("files"), system_tests::wellness::new_file())),
        ("POST employee-imports", (of("employee-imports"), system_tests::wellness::new_import())),
        ("DELETE employees/{userId}", (of(&format!("employees/{USER}")), Value::Null)),
        ("PUT references/{facet}/{facetId}", (venue.clone(), json!({"name": "New hall", "data": {"Name": "New"}}))),
        ("PATCH references/{facet}/{facetId}", (venue.clone(), json!({"data": {"Name": "Patched"}}))),
        (
            "POST references/{facet}/{facetId}/replacement",
            (format!("{venue}/replacement"), json!({"replacementId": "other", "data": {}})),
        ),
        ("POST jobs/{jobId}/retry", (of("jobs/VenueId-of-job/retry"), json!({}))),
        ("DELETE references/{facet}/{facetId}", (of("references/venues/of-job"), Value::Null)),
        ("PUT activities/{activityId}/detail", part("detail", json!({"version": 1, "detail": {"new": 1}}))),
        ("PUT activities/{activityId}/goal", part("goal", json!({"version": 1, "type": "N", "parameters": 1}))),
        (
            "PUT activities/{activityId}/rewards/{kind}",
            part("rewards/Attendance", json!({"version": 1, "name": "N", "amount": 1})),
        ),
        ("PUT activities/{activityId}/groups", part("groups", json!({"version": 1, "type": "N", "rules": 1}))),
        ("PUT activities/{activityId}/groups/{groupId}", part("groups/new", json!({"version": 1, "name": "N"}))),
        ("PUT activities/{activityId}/references/{facet}/{facetId}", part("references/venues/of-job", json!({}))),
        ("DELETE activities/{activityId}/detail", part("detail", Value::Null)),
        ("DELETE activities/{activityId}/goal", part("goal", Value::Null)),
        ("DELETE activities/{activityId}/rewards/{kind}", part("rewards/Attendance", Value::Null)),
        ("DELETE activities/{activityId}/groups", part("groups", Value::Null)),
        ("DELETE activities/{activityId}/groups/{groupId}", part("groups/none", Value::Null)),
        ("DELETE activities/{activityId}/references/{facet}/{facetId}", part("references/venues/venue", Value::Null)),
        ("POST templates", (of("templates"), json!({"name": "New"}))),
        ("PATCH templates/{templateId}", (of(&format!("templates/{}", scene.templates[0])), json!({"name": "New"}))),
        ("DELETE templates/{templateId}", (of(&format!("templates/{}", scene.templates[0])), Value::Null)),
        ("PATCH /wellness/templates/{templateId}", (global.clone(), json!({"name": "New"}))),
        ("DELETE /wellness/templates/{templateId}", (global, Value::Null)),
        ("POST /wellness/templates", ("/wellness/templates".to_owned(), json!({"name": "New"}))),
        ("PUT /wellness/users/{userId}/registrations/{activityId}", (walk(USER), Value::Null)),
        ("DELETE /wellness/users/{userId}/registrations/{activityId}", (walk(USER), Value::Null)),
        ("PATCH /wellness/users/{userId}/registrations/{activityId}", (walk(USER), progress)),
        ("PUT /wellness/users/{userId}/registrations/{activityId}, without a seat", (event(NEW), Value::Null)),
        ("PUT /wellness/users/{userId}/registrations/{activityId}, waiting", (event(OTHER), Value::Null)),
        ("PUT /wellness/users/{userId}/registrations/{activityId}, with a group", (walk(USER), group)),
        ("DELETE /wellness/users/{userId}/registrations/{activityId}, with a seat", (event(USER), Value::Null)),
        ("DELETE /wellness/users/{userId}/registrations/{activityId}, waiting", (event(OTHER), Value::Null)),
        ("POST activities/{activityId}/attendance", part("attendance", json!({"userIds": [USER]}))),
        ("POST /wellness/users/{userId}/points", (points_of(USER), correction())),
        ("PATCH activities/{activityId}, of an event", (of_event, json!({"version": 1, "capacity": 2}))),
    ])
}

/// A writer must replace an item whose route it is, whatever is unreadable in it.
fn repairs(writer: &str, kind: &str) -> bool {
    matches!(
        (writer, kind),
        ("PUT sections/{sectionId}", "Section")
            | ("PUT employees/{userId}", "Employee")
            | ("PUT references/{facet}/{facetId}", "ReferenceRecord")
    )
}

fn without_taken_tickets(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    for item in snapshot.values_mut().filter(|item| attribute(item, "Type") == "Tickets") {
        item.retain(|name, _| !["Issued", "IssuedAt", "Drawn"].contains(&name.as_str()));
    }
    snapshot
}

/// Each writer, against each unreadable item that it could read or change. An error never leaves a
/// change, and a PUT of a whole item replaces it.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_against_an_unreadable_item_succeeds_or_changes_nothing() {
    let scene = Scene::start().await.without_streams().await;
    let placed = json!({"role": "R", "department": "D"});
    let new = of_company(COMPANY, &format!("employees/{NEW}"));
    assert_eq!(scene.operator.put(&new, &placed).await.status, 201);
    let writers = writers(&scene);
    let patterns = wellness::patterns();
    let routes = patterns.iter().flat_map(Pattern::routes).filter(|route| route.method != "GET");
    let routes: BTreeSet<_> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
    let full = |name: &str| {
        let (name, _) = name.split_once(", ").unwrap_or((name, ""));
        let (method, path) = name.split_once(' ').expect("a method");
        if path.starts_with('/') {
            name.to_owned()
        } else {
            format!("{method} /wellness/companies/{{companyId}}/{path}")
        }
    };
    assert_eq!(writers.keys().map(|name| full(name)).collect::<BTreeSet<_>>(), routes, "every writer must be tested");
    let healthy = scene.snapshot().await;
    let (mut wrong, mut compared, mut failed) = (Vec::new(), 0, 0);
    for ((table, _, sort), item) in &healthy {
        let kind = attribute(item, "Type");
        // No request names the second challenge, and no index leads to its parts.
        let is_part = ["Detail", "Goal", "Reward", "Groups", "Group"].contains(&kind);
        if is_part && attribute(item, "PK").ends_with(&scene.activities[1]) {
            continue;
        }
        let names = item.keys().filter(|name| !["PK", "SK", "Type"].contains(&name.as_str()));
        for name in names.collect::<BTreeSet<_>>().into_iter().step_by(stride(7)) {
            let mut broken = item.clone();
            let is_index = name.starts_with("GSI");
            let value = if is_index { AttributeValue::S("nonsense".to_owned()) } else { AttributeValue::L(Vec::new()) };
            broken.insert(name.clone(), value);
            scene.put(table, &broken).await;
            let mut before = scene.snapshot().await;
            for (writer, (path, body)) in &writers {
                let (method, _) = writer.split_once(' ').expect("a method");
                let request = scene.operator.request(method, path);
                let request = if body.is_null() { request } else { request.json(body) };
                let answer = send(request).await;
                let after = scene.snapshot().await;
                compared += 1;
                failed += usize::from(answer.status >= 500);
                let is_target = ["-1", "-venue", USER].iter().any(|end| sort.ends_with(end));
                // A failed sign-up may have taken a ticket, which the next one continues with.
                if answer.status >= 300 && without_taken_tickets(&after) != without_taken_tickets(&before) {
                    wrong.push(format!("{writer} over {kind} without {name} changed an item: {}", answer.body));
                }
                if repairs(writer, kind) && is_target && answer.status >= 300 {
                    wrong.push(format!("{writer} does not replace {kind} without {name}: {}", answer.body));
                }
                if after != before {
                    scene.restore(&after, &before).await;
                    before = scene.snapshot().await;
                }
            }
            scene.put(table, item).await;
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 1_000 && failed > 50, "{compared}, {failed}");
}
