//! Tests of W24 to W27: points, attendance and completion.

use futures::future::join_all;
use jiff::SignedDuration;
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Client, assert_problem,
    clock::At,
    faults::{Fault, MOMENTS, Process},
    parsed, send,
    wellness::{
        activity, admin, create, employee, employee_key, of_company, put,
        references::{by_hand, step_of},
        registration, registration_of, registrations_of, reward, stack, stored, table,
    },
};
use wellness::{Activity, Award, Employee, LastChange, Registration};

const COMPANY: &str = "C";
const USER: &str = "erin";
const END: &str = "2099-12-31T23:59:59";
const POINTS: &str = "/wellness/users/erin/points";

/// The employee, to be put directly into the table.
fn staff() -> Employee {
    let key = employee_key(COMPANY, USER);
    Employee {
        partition: parsed(key.partition()),
        sort: parsed(key.sort()),
        name: None,
        role: parsed("R"),
        department: parsed("Sales"),
        last_change: LastChange::Other,
        version: 1,
    }
}

/// Puts an activity with three rewards and registrations of the users.
async fn seed(stack: &Stack, id: &str, end: &str, users: &[&str]) {
    let walk = activity(COMPANY, id, "Walk", end);
    put(stack, &users.iter().map(|user| registration(&walk, user)).collect::<Vec<_>>()).await;
    put(stack, &[reward(id, "Half", 10, Some(50.0)), reward(id, "Goal", 50, None)]).await;
    put(stack, &[reward(id, "Attendance", 40, None)]).await;
    put(stack, &[walk]).await;
}

async fn stands(stack: &Stack, id: &str, user: &str) -> Registration {
    let items = stored(stack, None, &format!("ActivityId-{id}")).await;
    let sort = format!("Registration#UserId-{user}");
    let item = items.into_iter().find(|item| item["SK"].as_s().is_ok_and(|found| *found == sort));
    serde_dynamo::from_item(item.expect("an item")).expect("a registration")
}

fn kinds(awards: &[Award]) -> Vec<String> {
    awards.iter().map(|award| award.kind.to_string()).collect()
}

async fn attend(client: &Client, id: &str, users: &[&str]) -> Answer {
    client.post(&of_company(COMPANY, &format!("activities/{id}/attendance")), &json!({"userIds": users})).await
}

#[tokio::test]
async fn progress_and_attendance_earn_each_reward_once() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
    seed(&stack, "walk", END, &[USER]).await;
    put(&stack, &[staff()]).await;
    let path = registration_of(COMPANY, USER, "walk");
    for (progress, points, status) in
        [(49.99, 0, "enrolled"), (50.0, 10, "enrolled"), (50.0, 10, "enrolled"), (100.0, 60, "completed")]
    {
        let answer = user.patch(&path, &json!({"progress": progress})).await;
        assert_eq!((&answer.body["earnedPoints"], &answer.body["status"]), (&json!(points), &json!(status)));
    }
    for _ in 0..2 {
        let attended = attend(&admin, "walk", &[USER]).await;
        assert_eq!(attended.body, json!({"items": [{"userId": USER, "outcome": "recorded", "earnedPoints": 100}]}));
    }
    let lowered = admin.patch(&path, &json!({"progress": 0, "correction": true})).await;
    assert_eq!((&lowered.body["earnedPoints"], &lowered.body["status"]), (&json!(100), &json!("completed")));
    assert_eq!(user.patch(&path, &json!({"progress": 100})).await.body["earnedPoints"], 100);

    let correction = json!({"planId": "2099", "amount": -30, "reason": "Counted twice"});
    assert_eq!(user.post(POINTS, &correction).await.status, 403);
    let corrected = admin.post_once(POINTS, "K", &correction).await;
    assert_eq!((corrected.status, &corrected.body["points"]), (201, &json!(-30)));
    assert_eq!(corrected.body["correctedBy"], "admin-of-C");
    assert_eq!(admin.post_once(POINTS, "K", &correction).await.body, corrected.body);
    let other = json!({"planId": "2099", "amount": -31, "reason": "Counted twice"});
    assert_problem(&admin.post_once(POINTS, "K", &other).await, 422, "idempotency-key-reused");
    for client in [&user, &admin] {
        let points = client.get(&format!("{POINTS}?planId=2099")).await.body;
        let entries: Vec<(&Value, &Value)> =
            points["items"].as_array().expect("items").iter().map(|item| (&item["type"], &item["points"])).collect();
        let [award, correction] = [json!("award"), json!("correction")];
        let right = [10, 50, 40].map(|points| (award.clone(), json!(points)));
        assert_eq!(points["total"], 70, "{points}");
        assert_eq!(entries[..3], right.each_ref().map(|(kind, points)| (kind, points)), "{points}");
        assert_eq!(entries[3], (&correction, &json!(-30)), "{points}");
    }
    let before = admin.get(&format!("{POINTS}?planId=2098")).await.body;
    assert_eq!((&before["total"], &before["items"]), (&json!(0), &json!([])));
}

/// The time of an entry decides, not the order of the requests.
#[tokio::test]
async fn entries_are_listed_oldest_first() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    put(&stack, &[staff()]).await;
    let now = jiff::Timestamp::now();
    for (amount, age) in [(2, 0), (1, 60)] {
        let past = At::new(&stack, &operator, now - SignedDuration::from_secs(age));
        let correction = json!({"planId": "2099", "amount": amount, "reason": "Helped"});
        let path = format!("{POINTS}?companyId={COMPANY}");
        let corrected = past.post_once(&path, &format!("K-{amount}"), &correction).await;
        assert_eq!(corrected.status, 201, "{}", corrected.body);
    }
    let points = admin.get(&format!("{POINTS}?planId=2099")).await.body;
    assert_eq!([0, 1].map(|number| &points["items"][number]["points"]), [&json!(1), &json!(2)], "{points}");
}

#[tokio::test]
async fn attendance_is_recorded_for_the_enrolled_and_can_be_removed() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack, "walk", END, &["a", "b", "waits", "gone", "bad"]).await;
    let (dynamo, own) = table(&stack);
    let of = |user: &str| Registration::key_of(&parsed("walk"), &parsed(user));
    for (user, attribute, value) in [
        ("waits", Registration::ABSENCE, "waiting"),
        ("gone", Registration::ABSENCE, "withdrawn"),
        ("bad", Registration::PROGRESS, "none"),
    ] {
        dynamo.write(own.update(of(user)).set(attribute, &value)).await.expect("written");
    }
    let outcomes = |answer: &Answer| -> Vec<String> {
        let items = answer.body["items"].as_array().expect("items").iter();
        items.map(|item| item["outcome"].as_str().expect("a text").to_owned()).collect()
    };
    let answer = attend(&admin, "walk", &["a", "waits", "gone", "nobody", "bad", "b"]).await;
    assert_eq!(
        outcomes(&answer),
        ["recorded", "not-enrolled", "not-enrolled", "not-enrolled", "skipped", "recorded"],
        "{}",
        answer.body
    );
    let participants = admin.get(&of_company(COMPANY, "activities/walk/participants")).await.body;
    let of_a = &participants["items"][0];
    assert_eq!((&of_a["status"], &of_a["earnedPoints"]), (&json!("completed"), &json!(40)), "{participants}");
    assert!(of_a["attendedAt"].is_string());
    let path = of_company(COMPANY, "activities/walk/attendance");
    let removed = admin.post(&path, &json!({"userIds": ["a"], "attended": false})).await;
    assert_eq!(removed.body, json!({"items": [{"userId": "a", "outcome": "recorded", "earnedPoints": 40}]}));
    let now = stands(&stack, "walk", "a").await;
    assert_eq!((now.attended_at, kinds(&now.awards)), (None, vec!["Attendance".to_owned()]));
    // A repeated request awards a reward that was added since.
    let late = activity(COMPANY, "late", "Walk", END);
    put(&stack, &[registration(&late, "a")]).await;
    put(&stack, &[late]).await;
    assert_eq!(attend(&admin, "late", &["a"]).await.body["items"][0]["earnedPoints"], 0);
    put(&stack, &[reward("late", "Attendance", 40, None)]).await;
    assert_eq!(attend(&admin, "late", &["a"]).await.body["items"][0]["earnedPoints"], 40);
    let many: Vec<String> = (0..26).map(|number| format!("u-{number}")).collect();
    for bad in [json!([]), json!(["a", "a"]), json!(many), json!("a"), json!([1])] {
        let answer = admin.post(&path, &json!({"userIds": bad})).await;
        let pointer = answer.body["errors"][0]["pointer"].as_str().expect("a pointer");
        assert!(answer.status == 400 && pointer.starts_with("/body/userIds"), "{bad}: {}", answer.body);
    }
}

#[tokio::test]
async fn attendance_needs_a_published_activity_that_has_started() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = |id: &str| activity(COMPANY, id, "Walk", "2021-12-31");
    let status = |id: &str, status| Activity { status, ..walk(id) };
    let later = Activity { start_date: parsed("2098-01-01"), ..activity(COMPANY, "later", "Walk", END) };
    let draft = status("draft", keys::wellness::Status::Draft);
    put(&stack, &[walk("ended"), draft, status("cancelled", keys::wellness::Status::Cancelled), later]).await;
    put(&stack, &[activity("D", "theirs", "Walk", END)]).await;
    for id in ["later", "draft", "cancelled"] {
        assert_problem(&attend(&admin, id, &[USER]).await, 409, "activity-not-open");
    }
    assert_eq!(attend(&admin, "ended", &[USER]).await.status, 200);
    for id in ["theirs", "nothing"] {
        assert_problem(&attend(&admin, id, &[USER]).await, 404, "not-found");
    }
}

/// Reports and attendance at the same time award each reward once, and lose no award.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reports_and_attendance_earn_each_reward_once() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
    seed(&stack, "walk", END, &[USER]).await;
    let path = registration_of(COMPANY, USER, "walk");
    let both = (0..12).map(async |number| {
        if number % 2 == 0 {
            attend(&admin, "walk", &[USER]).await.status
        } else {
            user.patch(&path, &json!({"progress": 100})).await.status
        }
    });
    assert!(join_all(both).await.into_iter().all(|status| status == 200));
    let now = stands(&stack, "walk", USER).await;
    let mut kinds = kinds(&now.awards);
    kinds.sort();
    assert_eq!((kinds, now.earned_points), (["Attendance", "Goal", "Half"].map(str::to_owned).to_vec(), 100));
}

/// Returns the points of each registration.
async fn points_of(stack: &Stack, id: &str) -> Vec<(String, u32)> {
    let items = stored(stack, None, &format!("ActivityId-{id}")).await;
    let registrations = items.into_iter().filter_map(|item| serde_dynamo::from_item::<_, Registration>(item).ok());
    registrations.map(|one| (one.sort.0.to_string(), one.earned_points)).collect()
}

/// The job dies before or after any of its calls, and completes later. An unreadable registration
/// does not stop it.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_reward_is_awarded_once_to_those_who_have_earned_it() {
    let (stack, proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    let process = Process::start(&stack, &proxy, "continue-job", &wellness::patterns::continue_job::function());
    let (dynamo, own) = table(&stack);
    let mut deaths = 0;
    for (call, moment) in (1..=14).flat_map(|call| MOMENTS.map(|moment| (call, moment))) {
        let id = format!("walk-{call}-{moment:?}");
        let walk = activity(COMPANY, &id, "Walk", END);
        let progress = |user: &str, percent: f64| Registration {
            progress: percent.try_into().expect("a percentage"),
            ..registration(&walk, user)
        };
        let absence = |text: &str| Some(serde_json::from_value(json!(text)).expect("an absence"));
        let left = Registration { absence: absence("withdrawn"), ..progress("left", 100.0) };
        let waits = Registration { absence: absence("waiting"), ..progress("waits", 100.0) };
        put(&stack, &[progress("all", 100.0), progress("bad", 100.0), progress("half", 50.0)]).await;
        put(&stack, &[left, progress("none", 49.99), waits]).await;
        put(&stack, &[walk]).await;
        let bad = Registration::key_of(&parsed(&id), &parsed("bad"));
        dynamo.write(own.update(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
        let path = of_company(COMPANY, &format!("activities/{id}/rewards/Bonus"));
        let added = admin.put(&path, &json!({"version": 1, "name": "Bonus", "amount": 7, "percent": 50})).await;
        let job = format!("RewardsId-{id}");
        assert_eq!((added.status, &added.body["jobId"]), (201, &json!(job)), "{}", added.body);
        proxy.rule(move |it| if it.number == call { Fault::Death(moment) } else { Fault::None });
        deaths += usize::from(process.run(&step_of(COMPANY, &job), Duration::from_mins(1)).await.is_none());
        proxy.heal();
        for _ in 0..4 {
            admin.invoke("continue-job", &step_of(COMPANY, &job)).await;
        }
        let job = admin.get(&of_company(COMPANY, &format!("jobs/{job}"))).await.body;
        assert_eq!((&job["status"], &job["done"], &job["skipped"]), (&json!("done"), &json!(2), &json!(1)), "{job}");
        let right = [("all", 7), ("half", 7), ("left", 0), ("none", 0), ("waits", 0)];
        assert_eq!(
            points_of(&stack, &id).await,
            right.map(|(user, points)| (user.to_owned(), points)),
            "{call} {moment:?}"
        );
    }
    assert!(deaths >= 20, "{deaths}");
}

/// Another amount applies to later awards. A lower percentage is earned by more employees.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_new_reward_or_another_percentage_is_awarded_later() {
    let (stack, _proxy) = by_hand().await;
    let admin = admin(&stack, COMPANY);
    seed(&stack, "walk", END, &[USER]).await;
    let walked = admin.patch(&registration_of(COMPANY, USER, "walk"), &json!({"progress": 50})).await;
    assert_eq!(walked.body["earnedPoints"], 10, "{}", walked.body);
    let mut version = 1;
    for (kind, change, has_job, points) in [
        ("Half", json!({"amount": 11, "percent": 50}), false, 10),
        ("Half", json!({"amount": 11, "percent": 40}), true, 10),
        ("Goal", json!({"amount": 50, "percent": 60}), true, 10),
        ("Goal", json!({"amount": 52, "percent": 50}), true, 62),
        ("Goal", json!({"amount": 52, "percent": 50}), false, 62),
        ("Attendance", json!({"amount": 41}), false, 62),
    ] {
        let mut body = change.clone();
        (body["version"], body["name"]) = (version.into(), "Points".into());
        let put = admin.put(&of_company(COMPANY, &format!("activities/walk/rewards/{kind}")), &body).await;
        assert_eq!((put.status, put.body["jobId"].is_string()), (200, has_job), "{kind} {change}: {}", put.body);
        version = put.body["version"].as_i64().expect("a version");
        for _ in 0..4 {
            admin.invoke("continue-job", &step_of(COMPANY, "RewardsId-walk")).await;
        }
        assert_eq!(points_of(&stack, "walk").await, [(USER.to_owned(), points)], "{kind} {change}");
    }
}

/// The home page needs two requests: pattern 1 with all statuses, and pattern 3.
#[tokio::test]
async fn the_home_page_shows_activities_by_section_and_status_in_two_requests() {
    let stack = stack().clock(parsed("2020-06-15T12:00:00Z")).start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
    let section = json!({"name": "Spring", "startDate": "2020-01-01", "endDate": "2020-12-31"});
    assert_eq!(admin.put(&of_company(COMPANY, "sections/spring"), &section).await.status, 201);
    let walk = |id: &str, start: &str, end: &str| Activity {
        start_date: parsed(start),
        section_id: Some(parsed("spring")),
        ..activity(COMPANY, id, id, end)
    };
    let activities = [
        walk("done", "2020-01-01", "2020-03-31T23:59:59"),
        walk("missed", "2020-01-01", "2020-06-15T11:59:59"),
        walk("current", "2020-06-01", "2020-06-15T12:00:00"),
        walk("upcoming", "2020-09-01", "2020-12-31T23:59:59"),
    ];
    put(&stack, &activities).await;
    let mut registrations = activities.each_ref().map(|activity| registration(activity, USER));
    registrations[0].progress = 100.0.try_into().expect("a percentage");
    put(&stack, &registrations).await;

    let list = of_company(COMPANY, "activities?year=2020&status=active,completed");
    let (programme, own) = (user.get(&list).await.body, user.get(&registrations_of(COMPANY, USER)).await.body);
    assert_eq!(programme["sections"][0]["activityIds"], json!(["done", "missed", "current", "upcoming"]));
    let pairs = |body: &Value, names: [&str; 2]| -> Vec<[Value; 2]> {
        let items = body["items"].as_array().expect("items").iter();
        items.map(|item| names.map(|name| item[name].clone())).collect()
    };
    let right = |pairs: [[&str; 2]; 4]| pairs.map(|pair| pair.map(Value::from)).to_vec();
    assert_eq!(
        pairs(&programme, ["activityId", "status"]),
        right([["done", "completed"], ["missed", "completed"], ["current", "active"], ["upcoming", "active"]])
    );
    assert_eq!(
        pairs(&own, ["activityStatus", "status"]),
        right([
            ["completed", "completed"],
            ["completed", "not-completed"],
            ["active", "enrolled"],
            ["active", "enrolled"]
        ])
    );
    assert_eq!(programme["items"][3]["startDate"], "2020-09-01T00:00:00Z", "upcoming activities start later");
}

/// Ending an activity early, or extending it, changes its status and that of its registrations.
#[tokio::test]
async fn the_end_date_alone_completes_an_activity() {
    let stack = stack().clock(parsed("2020-06-15T12:00:00Z")).start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack, "walk", "2020-12-31T23:59:59", &[USER]).await;
    let path = of_company(COMPANY, "activities/walk");
    let completed = admin.patch(&path, &json!({"version": 1, "status": "completed"})).await;
    assert_eq!((completed.status, &completed.body["errors"][0]["pointer"]), (400, &json!("/body/status")));
    for (version, end, status) in [(1, "2020-06-15T11:59:59", "completed"), (2, "2020-06-15T12:00:00", "active")] {
        let moved = admin.patch(&path, &json!({"version": version, "endDate": end})).await;
        assert_eq!((moved.status, &moved.body["status"]), (200, &json!(status)), "{}", moved.body);
        assert_eq!(admin.get(&path).await.body["status"], status);
        for list in ["activities", "activity-options"] {
            for asked in ["active", "completed"] {
                let found = admin.get(&of_company(COMPANY, &format!("{list}?year=2020&status={asked}"))).await.body;
                let count = found["items"].as_array().map(Vec::len);
                assert_eq!(count, Some(usize::from(asked == status)), "{list} {asked}: {found}");
            }
        }
    }
}

/// A date as an end includes its day, in UTC. A time does not.
#[tokio::test]
async fn an_activity_that_ends_today_is_open_until_the_day_is_over() {
    for (now, end, is_open) in [
        ("2020-06-15T00:00:00Z", "2020-06-15", true),
        ("2020-06-15T00:00:01Z", "2020-06-15", true),
        ("2020-06-15T23:59:59Z", "2020-06-15", true),
        ("2020-06-15T23:59:59Z", "2020-06-15T00:00:00Z", true),
        ("2020-06-16T00:00:00Z", "2020-06-15", false),
        ("2020-06-15T12:00:00Z", "2020-06-15T11:59:59Z", false),
    ] {
        let stack = stack().clock(parsed(now)).start().await.expect("a stack");
        let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
        put(&stack, &[staff()]).await;
        let venue = json!([{"facet": "venues", "id": "v", "data": {}}]);
        let event = json!({"name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-06-15",
            "endDate": end, "references": venue});
        let created = create(&admin, COMPANY, &event).await;
        let status = if is_open { "active" } else { "completed" };
        assert_eq!(created["status"], status, "{now} {end}: {created}");
        assert_eq!(
            stored(&stack, Some("GSI1"), "CompanyId-C#Program").await[0]["GSI1SK"].as_s().map(|it| &it[..18]),
            Ok("EndDate#2020-06-15")
        );
        let id = created["activityId"].as_str().expect("an id");
        for asked in ["active", "completed"] {
            let lists = ["activities?year=2020&", "activity-options?year=2020&", "references/venues/v/activities?"];
            for list in lists {
                let from = if list.starts_with("references") { "&from=2020-06-01" } else { "" };
                let found = admin.get(&of_company(COMPANY, &format!("{list}status={asked}{from}"))).await.body;
                let count = found["items"].as_array().map(Vec::len);
                assert_eq!(count, Some(usize::from(asked == status)), "{now} {end} {list}{asked}: {found}");
            }
        }
        let path = registration_of(COMPANY, USER, id);
        let joined = send(user.request("PUT", &path)).await;
        assert_eq!(joined.status, if is_open { 201 } else { 409 }, "{now} {end}: {}", joined.body);
        if !is_open {
            assert_eq!(send(admin.request("PUT", &path)).await.status, 201, "an administrator may");
        }
        let listed = user.get("/wellness/users/erin/registrations?year=2020").await.body["items"][0].clone();
        let right = if is_open { "enrolled" } else { "not-completed" };
        assert_eq!((&listed["activityStatus"], &listed["status"]), (&json!(status), &json!(right)), "{now} {end}");
        let reported = user.patch(&path, &json!({"progress": 1})).await;
        assert_eq!(reported.status, if is_open { 200 } else { 409 }, "{now} {end}: {}", reported.body);
        let left = send(user.request("DELETE", &path)).await;
        assert_eq!(left.status, if is_open { 204 } else { 409 }, "{now} {end}: {}", left.body);
    }
}

/// An event in the evening of a day may have this day as its end. So may a section.
#[tokio::test]
async fn an_end_includes_a_start_on_its_day() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let evening = |end: &str| json!({"name": "Dinner", "type": "event", "subType": "Social", "startDate": "2099-06-15T18:00:00", "endDate": end});
    let section = |end: &str| json!({"name": "Dinner", "startDate": "2099-06-15T18:00:00", "endDate": end});
    let created = create(&admin, COMPANY, &evening("2099-06-15")).await;
    let path = of_company(COMPANY, &format!("activities/{}", created["activityId"].as_str().expect("an id")));
    for (end, status) in [("2099-06-15", 201), ("2099-06-14", 400), ("2099-06-15T17:59:59", 400)] {
        assert_eq!(admin.post(&of_company(COMPANY, "activities"), &evening(end)).await.status, status, "{end}");
        let put = admin.put(&of_company(COMPANY, "sections/dinner"), &section(end)).await.status;
        assert_eq!(put, status, "{end}");
        let moved = admin.patch(&path, &json!({"version": 1, "endDate": end})).await.status;
        assert_eq!(moved, if status == 201 { 200 } else { 400 }, "{end}");
    }
}
