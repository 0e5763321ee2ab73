//! Tests of W20: the job that enrols existing employees, and W11 for new and moved employees.

use aws_sdk_dynamodb::types::AttributeValue;
use jobs::State;
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Client, drained,
    faults::{Fault, Process},
    send, text,
    wellness::{
        admin, create, of_company, put,
        references::{by_hand, step_of},
        registration_of, stack, stored_in,
    },
};
use table::Item as _;
use tokio::time::sleep;
use wellness::{Employee, LastChange, Registration, job_key};

const COMPANY: &str = "C";
const FUNCTION: &str = "continue-job";
const DEPARTMENTS: [&str; 4] = ["Sales", "Legal", "Plant 1", "Büro"];
const ENOUGH: Duration = Duration::from_secs(30);

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn challenge(end: &str, departments: &[&str]) -> Value {
    json!({"name": "Walk", "type": "challenge", "subType": "Fitness", "startDate": "2020-01-01", "endDate": end,
        "filters": {"roles": [], "departments": departments}})
}

/// Puts employees directly, and waits until the stream has passed. There are no activities yet.
async fn employ(stack: &Stack, count: usize) -> BTreeMap<String, &'static str> {
    let who: BTreeMap<_, _> =
        (0..count).map(|number| (format!("u-{number}"), DEPARTMENTS[number % DEPARTMENTS.len()])).collect();
    let employee = |(user, department): (&String, &&str)| {
        let key = system_tests::wellness::employee_key(COMPANY, user);
        Employee {
            partition: key.partition().parse().expect("a partition"),
            sort: key.sort().parse().expect("a sort key"),
            name: None,
            role: "R".parse().expect("a role"),
            department: department.parse().expect("a department"),
            last_change: LastChange::Other,
            version: 1,
        }
    };
    put(stack, &who.iter().map(employee).collect::<Vec<_>>()).await;
    drained(&Client::operator(stack), "register-new-employee").await;
    who
}

/// Returns the users that are registered for an activity.
async fn registered(stack: &Stack, activity: &str) -> BTreeSet<String> {
    let items = stored_in("Activities", stack, None, &format!("ActivityId-{activity}")).await;
    let sort = |item: &std::collections::HashMap<_, AttributeValue>| item["SK"].as_s().expect("a key").clone();
    items.iter().filter_map(|item| sort(item).strip_prefix("Registration#UserId-").map(str::to_owned)).collect()
}

fn within(who: &BTreeMap<String, &'static str>, departments: &[&str]) -> BTreeSet<String> {
    let is_in = |department: &str| departments.is_empty() || departments.contains(&department);
    who.iter().filter(|(_, department)| is_in(department)).map(|(user, _)| user.clone()).collect()
}

/// Waits until the enrolment job of the activity has ended, for at most half an hour. The jobs of
/// the slow test take that long together. Returns the job.
async fn enrolled(client: &Client, activity: &str) -> Value {
    let path = of(&format!("jobs/EnrolmentId-{activity}"));
    for _ in 0..18_000 {
        let job = client.get(&path).await.body;
        if job["status"] != "running" {
            return job;
        }
        sleep(Duration::from_millis(100)).await;
    }
    unreachable!("the enrolment in {activity} does not end")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_challenge_enrols_the_eligible_employees_whichever_plan_it_ends_in() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let who = employ(&stack, 130).await;
    for (end, departments) in
        [("2099-12-31T23:59:59", &[][..]), ("2031-03-31", &["Sales"]), ("2098-01-01", &["Legal", "Büro"])]
    {
        let id = text(&create(&admin, COMPANY, &challenge(end, departments)).await, "activityId").to_owned();
        let right = within(&who, departments);
        let job = enrolled(&admin, &id).await;
        assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(right.len())), "{job}");
        assert_eq!(job["kind"], "enrolment");
        assert_eq!(registered(&stack, &id).await, right);
    }
    for (member, value) in [
        ("status", json!("draft")),
        ("type", json!("event")),
        ("enrolment", json!("closed")),
        ("endDate", json!("2021-01-01")),
    ] {
        let mut activity = challenge("2099-12-31", &[]);
        activity[member] = value;
        let made = create(&admin, COMPANY, &activity).await;
        let job = admin.get(&of(&format!("jobs/EnrolmentId-{}", text(&made, "activityId")))).await;
        assert_eq!(job.status, 404, "{member}: {}", job.body);
    }
    let mut event = challenge("2099-12-31", &["Sales"]);
    event["type"] = "event".into();
    event["enrolment"] = "automatic".into();
    let made = create(&admin, COMPANY, &event).await;
    assert_eq!(made["enrolment"], "automatic");
    enrolled(&admin, text(&made, "activityId")).await;
    assert_eq!(registered(&stack, text(&made, "activityId")).await, within(&who, &["Sales"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_filters_enrol_and_withdraw_employees_and_keep_progress() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let who = employ(&stack, 60).await;
    let made = create(&admin, COMPANY, &challenge("2099-12-31", &["Sales"])).await;
    let id = text(&made, "activityId");
    enrolled(&admin, id).await;
    let walked = admin.patch(&registration_of(COMPANY, "u-0", id), &json!({"progress": 1})).await;
    assert_eq!(walked.status, 200, "{}", walked.body);
    let mut version = 1;
    for (patch, departments) in [
        (json!({"filters": {"departments": ["Sales", "Legal"]}}), &["Sales", "Legal"][..]),
        (json!({"filters": {"departments": ["Büro"]}}), &["Büro"]),
        (json!({"endDate": "2098-06-30"}), &["Büro"]),
        (json!({"filters": {}, "status": "draft"}), &["Büro"]),
        (json!({"status": "active"}), &[]),
        (json!({"status": "cancelled"}), &[]),
        (json!({"status": "active", "filters": {"departments": ["Plant 1"]}}), &["Plant 1"]),
    ] {
        let mut body = patch.clone();
        body["version"] = version.into();
        version += 1;
        let changed = admin.patch(&of(&format!("activities/{id}")), &body).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let is_active = changed.body["status"] == "active";
        assert_eq!(changed.body["enrolmentJobId"].is_string(), is_active, "{patch}: {}", changed.body);
        enrolled(&admin, id).await;
        let mut right = within(&who, departments);
        right.insert("u-0".to_owned());
        assert_eq!(registered(&stack, id).await, right, "after {patch}");
    }
    let renamed = admin.patch(&of(&format!("activities/{id}")), &json!({"version": version, "name": "Run"})).await;
    assert_eq!((renamed.status, renamed.body.get("enrolmentJobId")), (200, None), "{}", renamed.body);
}

fn registration(activity: &str, user: &str) -> Registration {
    let (company, activity) = (COMPANY.parse().expect("a company"), activity.parse().expect("an activity"));
    let (end, now) = ("2099-12-31".parse().expect("a time"), "2020-01-01T00:00:00Z".parse().expect("a time"));
    Registration::new(company, activity, end, user.parse().expect("a user"), now)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_passes_over_unreadable_employees_and_registrations() {
    let (stack, proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    let who = employ(&stack, 12).await;
    let made = create(&admin, COMPANY, &challenge("2099-12-31", &[])).await;
    let id = text(&made, "activityId");
    let client = stack.client().expect("a client");
    let table = stack.table("Activities").expect("a table");
    let key = system_tests::wellness::employee_key(COMPANY, "u-1");
    let update = client.update_item().table_name(table).key("PK", AttributeValue::S(key.partition().to_owned()));
    let update = update.key("SK", AttributeValue::S(key.sort().to_owned())).update_expression("SET #a = :a");
    let update = update.expression_attribute_names("#a", "Department");
    update.expression_attribute_values(":a", AttributeValue::Bool(true)).send().await.expect("written");
    let process = Process::start(&stack, &proxy, FUNCTION, &wellness::patterns::continue_job::function());
    for _ in 0..5 {
        assert!(process.run(&step_of(COMPANY, &format!("EnrolmentId-{id}")), ENOUGH).await.is_some());
    }
    let job = admin.get(&of(&format!("jobs/EnrolmentId-{id}"))).await.body;
    assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(11)), "{job}");
    assert!(job["skipped"].as_u64() >= Some(1), "{job}");
    let mut right = within(&who, &[]);
    right.remove("u-1");
    assert_eq!(registered(&stack, id).await, right);
}

/// The job has read the registration when the employee leaves. The mark of the employee who has
/// left stays, so that nothing enrols the employee again.
#[tokio::test(flavor = "multi_thread")]
async fn an_employee_who_leaves_during_the_withdrawal_stays_withdrawn() {
    let (stack, proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    employ(&stack, 4).await;
    let made = create(&admin, COMPANY, &challenge("2099-12-31", &["Legal"])).await;
    let id = text(&made, "activityId");
    put(&stack, &[registration(id, "u-0")]).await;
    let process = Process::start(&stack, &proxy, FUNCTION, &wellness::patterns::continue_job::function());
    let step = step_of(COMPANY, &format!("EnrolmentId-{id}"));
    proxy.rule(|call| if call.action == "DeleteItem" { Fault::Held } else { Fault::None });
    let runs = async {
        for _ in 0..3 {
            assert!(process.run(&step, ENOUGH).await.is_some());
        }
    };
    let leaves = async {
        proxy.held(1).await;
        let left = send(admin.request("DELETE", &registration_of(COMPANY, "u-0", id))).await;
        assert_eq!(left.status, 204, "{}", left.body);
        proxy.release();
    };
    tokio::join!(runs, leaves);
    let job = admin.get(&of(&format!("jobs/EnrolmentId-{id}"))).await.body;
    assert_eq!(job["status"], "done", "{job}");
    assert_eq!(registered(&stack, id).await, ["u-0", "u-1"].map(str::to_owned).into());
}

/// A second job of the same activity replaces the first one.
#[tokio::test]
async fn a_change_restarts_the_job() {
    let (stack, _proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    let made = create(&admin, COMPANY, &challenge("2099-12-31", &[])).await;
    let id = text(&made, "activityId");
    let dynamo = system_tests::dynamo(&stack);
    let jobs = dynamo.table(stack.table("WellnessJobs").expect("a table"));
    let key = job_key(&COMPANY.parse().expect("a company"), &format!("EnrolmentId-{id}").parse().expect("a job"));
    let first = jobs.get::<jobs::Job>(&key).await.expect("read").expect("a job");
    assert_eq!((first.state, jobs::Job::TYPE), (State::Running, "Job"));
    let body = json!({"version": 1, "endDate": "2098-12-31"});
    assert_eq!(admin.patch(&of(&format!("activities/{id}")), &body).await.status, 200);
    let second = jobs.get::<jobs::Job>(&key).await.expect("read").expect("a job");
    assert_ne!(first.run, second.run);
    assert_eq!(second.state, State::Running);
}
