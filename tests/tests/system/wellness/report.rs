//! Tests of W33: the report of a plan.

use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client, assert_problem, parsed, until,
    wellness::{activity, admin, employee_key, of_company, put, registration, stack, stored, table},
};
use wellness::{Activity, Employee, LastChange, Registration};

const COMPANY: &str = "C";
const END: &str = "2099-06-30T23:59:59";
const REPORT: &str = "plans/2099/report";
const JOB: &str = "ReportId-2099";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn staff(user: &str, department: &str) -> Employee {
    let key = employee_key(COMPANY, user);
    Employee {
        partition: parsed(key.partition()),
        sort: parsed(key.sort()),
        name: None,
        role: parsed("R"),
        department: parsed(department),
        last_change: LastChange::Other,
        version: 1,
    }
}

/// Returns a registration with progress and points.
fn walked(activity: &Activity, user: &str, progress: f64, points: u32) -> Registration {
    let progress = progress.try_into().expect("a percentage");
    Registration { progress, earned_points: points, ..registration(activity, user) }
}

/// Puts employees of two departments, and three activities. Employee `gone` has been removed.
async fn seed(stack: &Stack) {
    put(stack, &[staff("a", "Sales"), staff("b", "Sales"), staff("c", "Legal")]).await;
    let (walk, run) = (activity(COMPANY, "1-walk", "=Walk", END), activity(COMPANY, "2-run", "Run", END));
    let draft = Activity { status: keys::wellness::Status::Draft, ..activity(COMPANY, "3-draft", "Draft", END) };
    let other = activity(COMPANY, "4-other", "Other", "2098-06-30");
    let mut waits = registration(&run, "b");
    waits.absence = Some(serde_json::from_value(json!("waiting")).expect("an absence"));
    let mut attended = walked(&run, "c", 0.0, 40);
    attended.attended_at = Some(attended.registered_at);
    let of_walk = [("a", 100.0, 50), ("b", 40.0, 10), ("c", 0.0, 0), ("gone", 100.0, 50)];
    put(stack, &of_walk.map(|(user, progress, points)| walked(&walk, user, progress, points))).await;
    put(stack, &[walked(&run, "a", 50.0, 5), waits, attended]).await;
    put(stack, &[registration(&draft, "a"), walked(&other, "a", 100.0, 7)]).await;
    put(stack, &[walk, run, draft, other]).await;
}

/// The counts of each activity and department: registered, completed and points. The sums have no
/// activity, and removed employees have no department.
type Counts = BTreeMap<(String, String), [u64; 3]>;

fn counts(items: &[Value]) -> Counts {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let of = |row: &Value| {
        let departments = row["departments"].as_array().expect("departments").clone();
        let activity = text(row, "activityId");
        departments.into_iter().map(move |one| {
            let number = |name: &str| one[name].as_u64().expect("a number");
            let numbers = [number("registered"), number("completed"), number("points")];
            ((activity.clone(), text(&one, "department")), numbers)
        })
    };
    items.iter().flat_map(of).collect()
}

fn right() -> Counts {
    [
        ("1-walk", "", [1, 1, 50]),
        ("1-walk", "Legal", [1, 0, 0]),
        ("1-walk", "Sales", [2, 1, 60]),
        ("2-run", "Legal", [1, 1, 40]),
        ("2-run", "Sales", [1, 0, 5]),
        ("", "", [1, 1, 50]),
        ("", "Legal", [2, 1, 40]),
        ("", "Sales", [3, 1, 65]),
    ]
    .into_iter()
    .map(|(activity, department, numbers)| ((activity.to_owned(), department.to_owned()), numbers))
    .collect()
}

/// Returns the rows of the report from pages of two rows.
async fn rows(client: &Client) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&of(&format!("{REPORT}?limit=2{cursor}"))).await;
        assert_eq!(page.status, 200, "{}", page.body);
        rows.extend(page.body["items"].as_array().expect("items").clone());
        match page.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return rows,
        }
    }
}

async fn stored_rows(stack: &Stack) -> BTreeSet<String> {
    let items = stored(stack, None, &format!("CompanyId-{COMPANY}#Reports")).await;
    items.iter().map(|item| item["SK"].as_s().expect("a key").clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_each_department_of_each_activity() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack).await;
    assert_problem(&admin.get(&of(REPORT)).await, 404, "not-found");
    assert_problem(&admin.post(&of("plans/unknown/report"), &json!({})).await, 404, "not-found");
    let done = |answer: &system_tests::Answer| answer.body["status"] == "done";
    let mut reports = Vec::new();
    for _ in 0..2 {
        let started = admin.post(&of(REPORT), &json!({})).await;
        assert_eq!((started.status, &started.body["jobId"]), (202, &json!(JOB)), "{}", started.body);
        let job = until(&admin, &of(&format!("jobs/{JOB}")), done).await;
        assert_eq!(job.body["done"], 2, "{}", job.body);
        let rows = rows(&admin).await;
        assert_eq!(counts(&rows), right());
        assert_eq!(rows.last().expect("the sums").get("activityId"), None);
        assert_eq!(stored_rows(&stack).await.len(), 1 + 3, "only the last report is kept");
        reports.push(rows[0]["name"].clone());
    }
    assert_eq!(reports, ["=Walk", "=Walk"]);
    let (_, _, file) = admin.request("GET", &of(REPORT)).header("accept", "text/csv").send().await;
    let header = "activityId,name,type,endDate,asOf,department,registered,completed,points\r\n";
    assert!(file.starts_with(header), "{file}");
    assert!(
        file.contains(",Sales,2,1,60\r\n") && file.contains("\r\n1-walk,\"'=Walk\",challenge,2099-06-30T23:59:59Z,"),
        "{file}"
    );
    assert!(file.contains("\r\n,,,,") && file.ends_with(",Sales,3,1,65\r\n"), "{file}");
}

/// A page of registrations is 1,000. The report of 2,500 registrations has several pages, and an
/// unreadable one does not stop it.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_several_pages_passes_over_an_unreadable_registration() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = activity(COMPANY, "walk", "Walk", END);
    let users: Vec<String> = (0..2_500).map(|number| format!("u-{number}")).collect();
    put(&stack, &users.iter().map(|user| staff(user, "Sales")).collect::<Vec<_>>()).await;
    put(&stack, &users.iter().map(|user| walked(&walk, user, 100.0, 2)).collect::<Vec<_>>()).await;
    put(&stack, &[walk]).await;
    let (dynamo, own) = table(&stack);
    let bad = Registration::key_of(&parsed("walk"), &parsed("u-7"));
    dynamo.write(own.update(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
    assert_eq!(admin.post(&of(REPORT), &json!({})).await.status, 202);
    let done = |answer: &system_tests::Answer| answer.body["status"] == "done";
    let job = until(&admin, &of(&format!("jobs/{JOB}")), done).await;
    assert_eq!((&job.body["done"], &job.body["skipped"]), (&json!(1), &json!(1)), "{}", job.body);
    let sums = counts(&rows(&admin).await);
    assert_eq!(sums[&("walk".to_owned(), "Sales".to_owned())], [2_499, 2_499, 4_998]);
}
