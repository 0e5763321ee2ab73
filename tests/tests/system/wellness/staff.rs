//! Tests of W23: the list of employees, and the end of a removed employee's registrations.

use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client, assert_problem, drained,
    faults::Twins,
    send, text, until,
    wellness::{
        activity, admin, create, of_company, put, references, registration, registration_of, reward, stack, stored,
    },
};
use wellness::Employee;

const COMPANY: &str = "C";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn staff(company: &str, user: &str, department: &str) -> Employee {
    let name = format!("=Name, {user}").parse().expect("a name");
    Employee { name: Some(name), ..references::staff(company, user, department) }
}

/// Puts employees of two departments, and an employee of another company.
async fn employ(stack: &Stack, count: usize) {
    let department = |number: usize| if number.is_multiple_of(20) { "Legal" } else { "Sales" };
    let all: Vec<_> = (0..count).map(|number| staff(COMPANY, &format!("u-{number}"), department(number))).collect();
    put(stack, &all).await;
    put(stack, &[staff("other", "u-1", "Legal")]).await;
}

fn expected(count: usize, step: usize) -> BTreeSet<String> {
    (0..count).step_by(step).map(|number| format!("u-{number}")).collect()
}

/// Reads all pages of the list. No employee may be on two pages.
async fn all(client: &Client, path: &str) -> (BTreeSet<String>, usize) {
    let (items, pages) = client.all(path).await;
    assert!(items.iter().all(|item| item["companyId"] == COMPANY), "{items:?}");
    let found: BTreeSet<_> = items.iter().map(|item| text(item, "userId").to_owned()).collect();
    assert_eq!(found.len(), items.len(), "somebody is on two pages");
    (found, pages)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_employee_is_on_one_page_of_the_list_and_of_the_department() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    employ(&stack, 300).await;
    for limit in [7, 100] {
        let (found, pages) = all(&admin, &of(&format!("employees?limit={limit}"))).await;
        assert_eq!(found, expected(300, 1));
        assert!(pages <= 300_usize.div_ceil(limit) + 1, "{pages} pages of {limit}");
        assert_eq!(all(&admin, &of(&format!("employees?department=Legal&limit={limit}"))).await.0, expected(300, 20));
    }
    assert_eq!(all(&admin, &of("employees?department=Nobody&limit=50")).await.0, BTreeSet::new());
    let one = admin.get(&of("employees/u-20")).await.body;
    let right =
        json!({"userId": "u-20", "companyId": COMPANY, "role": "R", "department": "Legal", "name": "=Name, u-20"});
    assert_eq!(one, right);
    let first = admin.get(&of("employees?limit=1")).await.body;
    let other = of(&format!("employees?department=Legal&cursor={}", text(&first, "nextCursor")));
    assert_eq!(admin.get(&other).await.status, 400);
}

/// Returns the pages of a list as CSV files.
async fn files(client: &Client, path: &str) -> Vec<String> {
    let (mut files, mut cursor) = (Vec::new(), String::new());
    loop {
        let request = client.request("GET", &format!("{path}{cursor}")).header("accept", "text/csv");
        let (_, headers, file) = request.send().await;
        assert_eq!(headers["content-type"], "text/csv; charset=utf-8; header=present");
        files.push(file);
        match headers.get("next-cursor") {
            Some(next) => cursor = format!("&cursor={}", next.to_str().expect("a text")),
            None => return files,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_a_csv_file_with_a_cursor_in_a_header() {
    let stack = stack().start().await.expect("a stack");
    employ(&stack, 30).await;
    let mut rows = BTreeSet::new();
    for file in files(&admin(&stack, COMPANY), &of("employees?limit=8")).await {
        let mut lines = file.split("\r\n");
        assert_eq!(lines.next(), Some("userId,role,department,name"));
        rows.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
    }
    assert_eq!(rows.len(), 30);
    assert!(rows.contains("u-20,R,Legal,\"'=Name, u-20\""), "{rows:?}");
}

/// Each participant has the current name and department. Removed employees have neither.
#[tokio::test(flavor = "multi_thread")]
async fn participants_are_listed_with_their_departments() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    employ(&stack, 30).await;
    let walk = activity(COMPANY, "walk", "Walk", END);
    let users: Vec<_> = (0..31).map(|number| format!("u-{number}")).collect();
    put(&stack, &users.iter().map(|user| registration(&walk, user)).collect::<Vec<_>>()).await;
    put(&stack, &[walk]).await;
    put(&stack, &[reward("walk", "Milestone", 7, Some(40.0))]).await;
    let report = json!({"progress": 40.4, "progressText": "=1 / 2"});
    assert_eq!(operator.patch(&registration_of(COMPANY, "u-20", "walk"), &report).await.status, 200);
    let path = of("activities/walk/participants");
    let (found, _) = admin.all(&format!("{path}?limit=8")).await;
    let one = |user: &str| found.iter().find(|one| one["userId"] == user).expect("a participant");
    let right = json!({"userId": "u-20", "name": "=Name, u-20", "department": "Legal", "status": "enrolled",
        "progress": 40.4, "progressText": "=1 / 2", "earnedPoints": 7});
    assert_eq!((found.len(), one("u-20")), (31, &right));
    assert_eq!(one("u-30").get("department"), None);
    let file = &files(&admin, &format!("{path}?limit=100")).await[0];
    assert!(
        file.starts_with("userId,name,department,status,progress,progressText,earnedPoints,groupId,attendedAt\r\n"),
        "{file}"
    );
    assert!(file.contains("\r\nu-20,\"'=Name, u-20\",Legal,enrolled,40.4,\"'=1 / 2\",7,,\r\n"), "{file}");
    assert!(file.contains("\r\nu-30,,,enrolled,0,,0,,\r\n"), "{file}");
}

/// A page makes few calls, even if almost no employee is in the department.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_list_makes_a_bounded_number_of_calls() {
    let twins = Twins::start(stack).await;
    employ(&twins.healthy, 1_000).await;
    let admin = admin(&twins.faulty, COMPANY);
    for (query, most) in
        [("limit=100", 10), ("limit=1", 10), ("department=Nobody&limit=1", 10), ("department=Legal", 100)]
    {
        twins.proxy.heal();
        assert_eq!(admin.get(&of(&format!("employees?{query}"))).await.status, 200);
        let calls = twins.proxy.count("Query");
        assert!((1..=most).contains(&calls), "{query}: {calls} calls");
    }
}

async fn departed(client: &Client, user: &str) -> Value {
    until(client, &of(&format!("jobs/DepartureId-{user}")), |answer| answer.body["status"] != "running").await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_employee_loses_future_registrations_and_the_seat() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    put(&stack, &[staff(COMPANY, "u", "Sales"), staff(COMPANY, "other", "Sales"), staff("D", "u", "Sales")]).await;
    // The user has the only seat of an event, and another employee waits.
    let event = json!({"name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-01-01",
        "endDate": END, "capacity": 1});
    let event = text(&create(&admin, COMPANY, &event).await, "activityId").to_owned();
    let join = async |user: &str| send(operator.request("PUT", &registration_of(COMPANY, user, &event))).await;
    for user in ["u", "other"] {
        assert_eq!(join(user).await.status, 201);
    }
    let walks = [
        activity(COMPANY, "empty", "Walk", END),
        activity(COMPANY, "walked", "Walk", END),
        activity(COMPANY, "ended", "Walk", "2021-01-01T00:00:00"),
        activity(COMPANY, "attended", "Walk", END),
        activity("D", "theirs", "Walk", END),
    ];
    let mut registrations = walks.each_ref().map(|walk| registration(walk, "u"));
    registrations[3].attended_at = Some(registrations[3].registered_at);
    put(&stack, &registrations).await;
    put(&stack, &walks).await;
    put(&stack, &[reward("walked", "Milestone", 7, Some(40.0))]).await;
    let walked = registration_of(COMPANY, "u", "walked");
    assert_eq!(operator.patch(&walked, &json!({"progress": 40})).await.status, 200);
    let removed = send(admin.request("DELETE", &of("employees/u"))).await;
    assert_eq!((removed.status, &removed.body["kind"]), (202, &json!("departure")), "{}", removed.body);
    assert_eq!(removed.headers["location"], of("jobs/DepartureId-u").as_str());
    let job = departed(&admin, "u").await;
    assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(4)), "{job}");
    // Exactly the registrations for current activities of the company have ended.
    let mut stays = BTreeMap::new();
    for id in ["empty", "walked", "ended", "attended", "theirs", &event] {
        for item in stored(&stack, None, &format!("ActivityId-{id}")).await {
            if item["SK"].as_s().is_ok_and(|sort| sort == "Registration#UserId-u") {
                let points = item["EarnedPoints"].as_n().expect("a number").clone();
                stays.insert(id.to_owned(), (item.contains_key("Absence"), points));
            }
        }
    }
    let right = [("walked", true, "7"), ("ended", false, "0"), ("attended", true, "0"), ("theirs", false, "0")];
    let right = right.map(|(id, is_absent, points)| (id.to_owned(), (is_absent, points.to_owned())));
    assert_eq!(stays, right.into());
    until(&admin, &of(&format!("jobs/SeatsId-{event}")), |answer| answer.body["status"] == "done").await;
    assert_eq!(join("other").await.body["status"], "enrolled");
    assert_problem(&admin.get(&of("employees/u")).await, 404, "not-found");
    assert_problem(&send(admin.request("DELETE", &of("employees/u"))).await, 404, "not-found");
    let theirs = operator.get(&of_company("D", "employees/u")).await;
    assert_eq!(theirs.status, 200, "{}", theirs.body);
    // An employee who is hired again is enrolled again.
    let placed = json!({"role": "R", "department": "Sales"});
    assert_eq!(admin.put(&of("employees/u"), &placed).await.status, 201);
    drained(&operator, "register-new-employee").await;
    let back = registration_of(COMPANY, "u", "empty");
    assert_eq!(operator.patch(&back, &json!({"progress": 1})).await.status, 200);
}

/// More registrations end in the same second than the job reads at once, and all of them stay in
/// the index.
#[tokio::test(flavor = "multi_thread")]
async fn a_departure_ends_all_registrations_with_the_same_end() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    put(&stack, &[staff(COMPANY, "u", "Sales")]).await;
    let walks: Vec<_> = (0..120).map(|number| activity(COMPANY, &format!("W-{number}"), "Walk", END)).collect();
    let walked = |walk| wellness::Registration { progress_text: "1 / 2".to_owned(), ..registration(walk, "u") };
    put(&stack, &walks.iter().map(walked).collect::<Vec<_>>()).await;
    put(&stack, &walks).await;
    assert_eq!(send(admin.request("DELETE", &of("employees/u"))).await.status, 202);
    let job = departed(&admin, "u").await;
    assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(120)), "{job}");
}
