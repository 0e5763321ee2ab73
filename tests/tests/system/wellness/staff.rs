//! Tests of W23: the list of employees, and the end of a removed employee's registrations.

use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem, drained,
    faults::{Process, Twins},
    send, text, until,
    wellness::{
        activity, admin, create, employee_key, of_company, put,
        references::{by_hand, step_of},
        registration, registration_of, registrations_of, reward, stack, stored,
    },
};
use wellness::{Employee, LastChange};

const COMPANY: &str = "C";
const END: &str = "2099-12-31T23:59:59";
const ENOUGH: Duration = Duration::from_secs(30);

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn staff(company: &str, user: &str, department: &str) -> Employee {
    let key = employee_key(company, user);
    Employee {
        partition: key.partition().parse().expect("a partition"),
        sort: key.sort().parse().expect("a sort key"),
        name: Some(format!("=Name, {user}").parse().expect("a name")),
        role: "R".parse().expect("a role"),
        department: department.parse().expect("a department"),
        last_change: LastChange::Other,
        version: 1,
    }
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
    let (mut found, mut cursor, mut pages) = (BTreeSet::new(), String::new(), 0);
    loop {
        let page = client.get(&format!("{path}{cursor}")).await;
        assert_eq!((page.status, &page.body["skipped"]), (200, &Value::Null), "{}", page.body);
        for item in page.body["items"].as_array().expect("items") {
            assert_eq!(item["companyId"], COMPANY);
            assert!(found.insert(text(item, "userId").to_owned()), "{item} is on two pages");
        }
        pages += 1;
        match page.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (found, pages),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_employee_is_on_one_page_of_the_list_and_of_the_department() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    employ(&stack, 300).await;
    for limit in [1, 7, 100] {
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
    assert_problem(&admin.get(&of("employees/nobody")).await, 404, "not-found");
    let cursor = admin.get(&of("employees?limit=1")).await.body["nextCursor"].as_str().expect("a cursor").to_owned();
    for (path, status) in [("employees?limit=1", 200), ("employees?department=Legal", 400), ("sections?limit=1", 400)] {
        let mark = if path.contains('?') { '&' } else { '?' };
        assert_eq!(admin.get(&of(&format!("{path}{mark}cursor={cursor}"))).await.status, status, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_a_csv_file_with_a_cursor_in_a_header() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    employ(&stack, 30).await;
    let (mut rows, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let path = of(&format!("employees?limit=8{cursor}"));
        let (_, headers, file) = admin.request("GET", &path).header("accept", "text/csv").send().await;
        assert_eq!(headers["content-type"], "text/csv; charset=utf-8; header=present");
        let next = headers.get("next-cursor").map(|next| next.to_str().expect("a text").to_owned());
        let mut lines = file.split("\r\n");
        assert_eq!(lines.next(), Some("userId,role,department,name"));
        rows.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
        match next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
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
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = admin.get(&format!("{path}?limit=8{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        found.extend(page.body["items"].as_array().expect("items").clone());
        match page.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let one = |user: &str| found.iter().find(|one| one["userId"] == user).expect("a participant");
    let right = json!({"userId": "u-20", "name": "=Name, u-20", "department": "Legal", "status": "enrolled",
        "progress": 40.4, "progressText": "=1 / 2", "earnedPoints": 7});
    assert_eq!((found.len(), one("u-20")), (31, &right));
    assert_eq!(one("u-30").get("department"), None);
    let request = admin.request("GET", &format!("{path}?limit=100")).header("accept", "text/csv");
    let (_, _, file) = request.send().await;
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

/// A user with a registration of each kind, and the ids of the activities.
struct Scene {
    /// Challenges: without progress, with progress, after its end, and with attendance.
    walks: [&'static str; 4],
    /// An event with one seat. The user has the seat, and another employee waits.
    event: String,
}

impl Scene {
    async fn start(stack: &Stack, user: &str) -> Self {
        let (admin, operator) = (admin(stack, COMPANY), Client::operator(stack));
        put(stack, &[staff(COMPANY, user, "Sales"), staff(COMPANY, "other", "Sales"), staff("D", user, "Sales")]).await;
        let event = json!({"name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-01-01",
            "endDate": END, "capacity": 1});
        let event = text(&create(&admin, COMPANY, &event).await, "activityId").to_owned();
        for one in [user, "other"] {
            let seat = registration_of(COMPANY, one, &event);
            assert_eq!(send(operator.request("PUT", &seat)).await.status, 201);
        }
        let walks = ["empty", "walked", "ended", "attended"];
        let ends = [END, END, "2021-01-01T00:00:00", END];
        let activities = [0, 1, 2, 3].map(|at| activity(COMPANY, walks[at], "Walk", ends[at]));
        let mut registrations = activities.each_ref().map(|one| registration(one, user));
        registrations[3].attended_at = Some(registrations[3].registered_at);
        put(stack, &registrations).await;
        put(stack, &activities).await;
        let theirs = activity("D", "theirs", "Walk", END);
        put(stack, &[registration(&theirs, user)]).await;
        put(stack, &[theirs]).await;
        put(stack, &[reward("walked", "Milestone", 7, Some(40.0))]).await;
        let walked = registration_of(COMPANY, user, "walked");
        let report = json!({"progress": 40});
        assert_eq!(operator.patch(&walked, &report).await.status, 200);
        Self { walks, event }
    }

    /// Checks that exactly the registrations for current activities of the company have ended.
    async fn assert_ended(&self, stack: &Stack, user: &str) {
        let mut stays = BTreeMap::new();
        for id in self.walks.into_iter().chain([self.event.as_str(), "theirs"]) {
            for item in stored(stack, None, &format!("ActivityId-{id}")).await {
                if item["SK"].as_s().is_ok_and(|sort| *sort == format!("Registration#UserId-{user}")) {
                    let points = item["EarnedPoints"].as_n().expect("a number").clone();
                    stays.insert(id.to_owned(), (item.contains_key("Absence"), points));
                }
            }
        }
        let right = [("walked", true, "7"), ("ended", false, "0"), ("attended", true, "0"), ("theirs", false, "0")];
        let right = right.map(|(id, is_absent, points)| (id.to_owned(), (is_absent, points.to_owned())));
        assert_eq!(stays, right.into());
    }
}

async fn departed(client: &Client, user: &str) -> Value {
    until(client, &of(&format!("jobs/DepartureId-{user}")), |answer| answer.body["status"] != "running").await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_employee_loses_future_registrations_and_the_seat() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let scene = Scene::start(&stack, "u").await;
    let removed = send(admin.request("DELETE", &of("employees/u"))).await;
    assert_eq!((removed.status, &removed.body["kind"]), (202, &json!("departure")), "{}", removed.body);
    assert_eq!(removed.headers["location"], of("jobs/DepartureId-u").as_str());
    let job = departed(&admin, "u").await;
    assert_eq!((&job["status"], &job["done"]), (&json!("done"), &json!(4)), "{job}");
    scene.assert_ended(&stack, "u").await;
    let seat = registration_of(COMPANY, "other", &scene.event);
    let has_seat = |answer: &Answer| answer.body["status"] == "done";
    until(&admin, &of(&format!("jobs/SeatsId-{}", scene.event)), has_seat).await;
    assert_eq!(send(admin.request("PUT", &seat)).await.body["status"], "enrolled");
    assert_problem(&admin.get(&of("employees/u")).await, 404, "not-found");
    assert_problem(&send(admin.request("DELETE", &of("employees/u"))).await, 404, "not-found");
    let theirs = Client::operator(&stack).get(&of_company("D", "employees/u")).await;
    assert_eq!(theirs.status, 200, "{}", theirs.body);
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

/// The job never ends a registration of an employee who was hired again, and enrols the employee.
#[tokio::test(flavor = "multi_thread")]
async fn an_employee_who_is_hired_again_is_enrolled_again() {
    let (stack, proxy) = by_hand().await;
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    let process = Process::start(&stack, &proxy, "continue-job", &wellness::patterns::continue_job::function());
    put(&stack, &[activity(COMPANY, "walk", "Walk", END)]).await;
    let placed = json!({"role": "R", "department": "Sales"});
    let registrations = format!("{}&year=2099", registrations_of(COMPANY, "u"));
    let enrolled = |answer: &Answer| answer.body["items"].as_array().is_some_and(|items| items.len() == 1);
    for runs in 0..3 {
        assert_eq!(admin.put(&of("employees/u"), &placed).await.status, 201);
        until(&operator, &registrations, enrolled).await;
        assert_eq!(send(admin.request("DELETE", &of("employees/u"))).await.status, 202);
        for _ in 0..runs {
            assert!(process.run(&step_of(COMPANY, "DepartureId-u"), ENOUGH).await.is_some());
        }
        assert_eq!(admin.put(&of("employees/u"), &placed).await.status, 201);
        for _ in 0..4 {
            assert!(process.run(&step_of(COMPANY, "DepartureId-u"), ENOUGH).await.is_some());
        }
        drained(&operator, "register-new-employee").await;
        until(&operator, &registrations, enrolled).await;
        assert_eq!(admin.get(&of("jobs/DepartureId-u")).await.body["status"], "done");
        assert_eq!(send(admin.request("DELETE", &of("employees/u"))).await.status, 202);
        for _ in 0..4 {
            assert!(process.run(&step_of(COMPANY, "DepartureId-u"), ENOUGH).await.is_some());
        }
        assert!(
            stored(&stack, None, "ActivityId-walk")
                .await
                .iter()
                .all(|item| item["SK"].as_s().is_ok_and(|it| it == "Program"))
        );
    }
}
