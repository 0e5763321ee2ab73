//! The report of a plan (W33): docs/requirements/wellness.md#plan-report.

use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Client, assert_problem, parsed, until,
    wellness::{activity, admin, of_company, put, references::staff, registration, stack, stored, table},
};
use wellness::{Activity, Registration};

const COMPANY: &str = "C";
const END: &str = "2099-06-30T23:59:59";
const REPORT: &str = "plans/2099/report";
const JOB: &str = "ReportId-2099";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

/// Returns a registration with progress and points.
fn walked(activity: &Activity, user: &str, progress: f64, points: u32) -> Registration {
    let progress = progress.try_into().expect("a percentage");
    Registration { progress, earned_points: points, ..registration(activity, user) }
}

/// Puts employees of two departments, and three activities. Employee `gone` has been removed.
async fn seed(stack: &Stack) {
    put(stack, &[("a", "Sales"), ("b", "Sales"), ("c", "Legal")].map(|(user, of)| staff(COMPANY, user, of))).await;
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

/// Registered, completed and points of each department of each activity. The sums have no activity,
/// and removed employees have no department.
const RIGHT: [(&str, &str, [u64; 3]); 8] = [
    ("1-walk", "", [1, 1, 50]),
    ("1-walk", "Legal", [1, 0, 0]),
    ("1-walk", "Sales", [2, 1, 60]),
    ("2-run", "Legal", [1, 1, 40]),
    ("2-run", "Sales", [1, 0, 5]),
    ("", "", [1, 1, 50]),
    ("", "Legal", [2, 1, 40]),
    ("", "Sales", [3, 1, 65]),
];

type Counts = BTreeMap<(String, String), [u64; 3]>;

/// Returns the counts of all departments in the rows of a report.
fn counts(rows: &[Value]) -> Counts {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut counts = Counts::new();
    for row in rows {
        for one in row["departments"].as_array().expect("departments") {
            let numbers = ["registered", "completed", "points"].map(|name| one[name].as_u64().expect("a number"));
            counts.insert((text(row, "activityId"), text(one, "department")), numbers);
        }
    }
    counts
}

/// Starts the report, waits until it is done, and returns the job.
async fn reported(admin: &Client) -> Value {
    let started = admin.post(&of(REPORT), &json!({})).await;
    assert_eq!((started.status, &started.body["jobId"]), (202, &json!(JOB)), "{}", started.body);
    until(admin, &of(&format!("jobs/{JOB}")), |answer| answer.body["status"] == "done").await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_each_department_of_each_activity() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack).await;
    assert_problem(&admin.get(&of(REPORT)).await, 404, "not-found");
    let right: Counts = RIGHT.map(|(of, department, counts)| ((of.to_owned(), department.to_owned()), counts)).into();
    for _ in 0..2 {
        let job = reported(&admin).await;
        assert_eq!(job["done"], 2, "{job}");
        let (rows, _) = admin.all(&of(&format!("{REPORT}?limit=2"))).await;
        assert_eq!(counts(&rows), right);
        assert_eq!(rows[0]["name"], "=Walk");
        assert_eq!(rows.last().expect("the sums").get("activityId"), None);
        let kept = stored(&stack, None, &format!("CompanyId-{COMPANY}#Reports")).await;
        assert_eq!(kept.len(), 1 + 3, "only the last report is kept");
    }
    let (_, _, file) = admin.request("GET", &of(REPORT)).header("accept", "text/csv").send().await;
    let header = "activityId,name,type,endDate,asOf,department,registered,completed,points\r\n";
    assert!(file.starts_with(header) && file.contains("\r\n,,,,") && file.ends_with(",Sales,3,1,65\r\n"), "{file}");
    for part in [",Sales,2,1,60\r\n", "\r\n1-walk,\"'=Walk\",challenge,2099-06-30T23:59:59Z,"] {
        assert!(file.contains(part), "{file}");
    }
}

/// A page of registrations is 1,000. The report of 2,500 registrations has several pages, and an
/// unreadable one does not stop it.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_several_pages_passes_over_an_unreadable_registration() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = activity(COMPANY, "walk", "Walk", END);
    let users: Vec<String> = (0..2_500).map(|number| format!("u-{number}")).collect();
    put(&stack, &users.iter().map(|user| staff(COMPANY, user, "Sales")).collect::<Vec<_>>()).await;
    put(&stack, &users.iter().map(|user| walked(&walk, user, 100.0, 2)).collect::<Vec<_>>()).await;
    put(&stack, &[walk]).await;
    let (dynamo, own) = table(&stack);
    let bad = Registration::key_of(&parsed("walk"), &parsed("u-7"));
    dynamo.write(own.update(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
    let job = reported(&admin).await;
    assert_eq!((&job["done"], &job["skipped"]), (&json!(1), &json!(1)), "{job}");
    let (rows, _) = admin.all(&of(&format!("{REPORT}?limit=2"))).await;
    assert_eq!(counts(&rows)[&("walk".to_owned(), "Sales".to_owned())], [2_499, 2_499, 4_998]);
}
