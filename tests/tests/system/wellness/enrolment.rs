//! Tests of W20: the job that enrols existing employees, and W11 for new and moved employees.

use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Client, drained,
    faults::{Fault, Process},
    send, text, until,
    wellness::{
        admin, create, employee_key, of_company, put,
        references::{by_hand, staff, step_of, without_jobs},
        registration_of, stack, stored, table,
    },
};
use wellness::{Employee, Registration};

const COMPANY: &str = "C";
const DEPARTMENTS: [&str; 4] = ["Sales", "Legal", "Plant 1", "Büro"];

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
    put(stack, &who.iter().map(|(user, department)| staff(COMPANY, user, department)).collect::<Vec<_>>()).await;
    drained(&Client::operator(stack), "register-new-employee").await;
    who
}

/// Returns the users that are registered for an activity.
async fn registered(stack: &Stack, activity: &str) -> BTreeSet<String> {
    let items = stored(stack, None, &format!("ActivityId-{activity}")).await;
    let sorts = items.iter().map(|item| item["SK"].as_s().expect("a key"));
    sorts.filter_map(|sort| sort.strip_prefix("Registration#UserId-").map(str::to_owned)).collect()
}

fn within(who: &BTreeMap<String, &'static str>, departments: &[&str]) -> BTreeSet<String> {
    let is_in = |department: &str| departments.is_empty() || departments.contains(&department);
    who.iter().filter(|(_, department)| is_in(department)).map(|(user, _)| user.clone()).collect()
}

/// Waits until the enrolment job of the activity has ended. Returns the job.
async fn enrolled(client: &Client, activity: &str) -> Value {
    let path = of(&format!("jobs/EnrolmentId-{activity}"));
    until(client, &path, |answer| answer.body["status"] != "running").await.body
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

#[tokio::test]
async fn the_job_passes_over_unreadable_employees_and_registrations() {
    let stack = without_jobs().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let who = employ(&stack, 12).await;
    let made = create(&admin, COMPANY, &challenge("2099-12-31", &[])).await;
    let id = text(&made, "activityId");
    let (dynamo, table) = table(&stack);
    dynamo.write(table.update(employee_key(COMPANY, "u-1")).set(Employee::DEPARTMENT, 1)).await.expect("written");
    for _ in 0..5 {
        operator.invoke("continue-job", &step_of(COMPANY, &format!("EnrolmentId-{id}"))).await;
    }
    let job = enrolled(&admin, id).await;
    assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(11)), "{job}");
    assert!(job["skipped"].as_u64() >= Some(1), "{job}");
    let mut right = within(&who, &[]);
    right.remove("u-1");
    assert_eq!(registered(&stack, id).await, right);
}

/// The second pass waits until the index shows the employees who were put before the job.
#[tokio::test(flavor = "multi_thread")]
async fn the_job_looks_again_after_the_lag_of_the_index() {
    for (lag, status) in [("0", "done"), ("300", "running")] {
        let stack = without_jobs().parameter("IndexLagSeconds", lag).start().await.expect("a stack");
        let admin = admin(&stack, COMPANY);
        let who = employ(&stack, 3).await;
        let id = text(&create(&admin, COMPANY, &challenge("2099-12-31", &[])).await, "activityId").to_owned();
        for _ in 0..5 {
            let step = step_of(COMPANY, &format!("EnrolmentId-{id}"));
            Client::operator(&stack).invoke("continue-job", &step).await;
        }
        let job = admin.get(&of(&format!("jobs/EnrolmentId-{id}"))).await.body;
        assert_eq!(
            (&job["status"], registered(&stack, &id).await),
            (&json!(status), within(&who, &[])),
            "{lag}: {job}"
        );
    }
}

/// The job has read the registration when the employee leaves or reports progress. The mark of the
/// employee who has left stays, so that nothing enrols the employee again, and nobody who has
/// reported progress is withdrawn.
#[tokio::test(flavor = "multi_thread")]
async fn an_employee_who_acts_during_the_withdrawal_keeps_the_registration() {
    for (method, status, body) in [("DELETE", 204, Value::Null), ("PATCH", 200, json!({"progress": 40}))] {
        let (stack, proxy) = by_hand().await;
        let admin = admin(&stack, COMPANY);
        employ(&stack, 4).await;
        let id = text(&create(&admin, COMPANY, &challenge("2099-12-31", &["Legal"])).await, "activityId").to_owned();
        let [company, activity, user] = [COMPANY, &id, "u-0"];
        let (end, now) = ("2099-12-31".parse().expect("a time"), "2020-01-01T00:00:00Z".parse().expect("a time"));
        let ids = (company.parse().expect("an id"), activity.parse().expect("an id"), user.parse().expect("an id"));
        put(&stack, &[Registration::new(ids.0, ids.1, end, ids.2, now)]).await;
        let process =
            Process::start(&stack, &proxy, "continue-job", &(wellness::patterns::continue_job::PATTERN.function)());
        proxy.rule(|call| if call.action == "DeleteItem" { Fault::Held } else { Fault::None });
        let runs = async {
            for _ in 0..3 {
                let step = step_of(COMPANY, &format!("EnrolmentId-{id}"));
                assert!(process.run(&step, Duration::from_secs(30)).await.is_some());
            }
        };
        let acts = async {
            proxy.held(1).await;
            let request = admin.request(method, &registration_of(COMPANY, user, &id));
            let answer = send(if body.is_null() { request } else { request.json(&body) }).await;
            assert_eq!(answer.status, status, "{}", answer.body);
            proxy.release();
        };
        tokio::join!(runs, acts);
        assert_eq!(enrolled(&admin, &id).await["status"], "done");
        assert_eq!(registered(&stack, &id).await, ["u-0", "u-1"].map(str::to_owned).into(), "{method}");
    }
}
