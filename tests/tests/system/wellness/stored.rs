//! An unreadable item does not make an employee wait for those of others, or for other
//! registrations. The contract damages each type of item of its world.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::collections::HashMap;
use system_tests::{
    Answer, Client, drained, send, text, until,
    wellness::{
        activity, admin, create, employee_key, of_company, put, registration, registration_of, registrations_of, stack,
    },
};
use wellness::Registration;

const COMPANY: &str = "C";
const USER: &str = "user";
const OTHER: &str = "another";

type Stored = HashMap<String, AttributeValue>;

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
    /// The id of a group of the first challenge.
    group: String,
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
        for id in ["1", "2"] {
            let section = json!({"name": "Spring", "startDate": format!("{}-01-01", year()), "endDate": end()});
            assert_eq!(admin.put(&of(&format!("sections/{id}")), &section).await.status, 201);
            for (client, path) in [(&admin, of("templates")), (&operator, "/wellness/templates".to_owned())] {
                let made = client.post(&path, &json!({"name": "Walk"})).await;
                assert_eq!(made.status, 201, "{}", made.body);
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
        let scene = Self { stack, operator, admin, activities, group };
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
}

fn attribute<'a>(item: &'a Stored, name: &str) -> &'a str {
    item[name].as_s().expect("a text")
}

fn key(item: &Stored) -> (String, String) {
    (attribute(item, "PK").to_owned(), attribute(item, "SK").to_owned())
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
    let scene = Scene { admin: admin(&stack, COMPANY), operator, stack, activities: Vec::new(), group: String::new() };
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
