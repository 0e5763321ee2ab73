//! Points, attendance and completion (W24 to W27): docs/requirements/wellness.md#points,
//! docs/requirements/wellness.md#attendance and docs/requirements/wellness.md#completion.

use jiff::SignedDuration;
use keys::wellness::Status;
use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    clock::At,
    parsed, send,
    wellness::{
        activity, admin, create, employee, of_company, put,
        references::{staff, step_of, without_jobs},
        registration, registration_of, registrations_of, reward, stack, table,
    },
};
use wellness::{Activity, Registration};

const COMPANY: &str = "C";
const USER: &str = "erin";
const END: &str = "2099-12-31T23:59:59";
const POINTS: &str = "/wellness/users/erin/points";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

/// Puts an activity with three rewards and registrations of the users.
async fn seed(stack: &Stack, id: &str, end: &str, users: &[&str]) {
    let walk = activity(COMPANY, id, "Walk", end);
    put(stack, &users.iter().map(|user| registration(&walk, user)).collect::<Vec<_>>()).await;
    put(stack, &[reward(id, "Half", 10, Some(50.0)), reward(id, "Goal", 50, None)]).await;
    put(stack, &[reward(id, "Attendance", 40, None)]).await;
    put(stack, &[walk]).await;
}

async fn attend(client: &Client, id: &str, users: &[&str]) -> Answer {
    client.post(&of(&format!("activities/{id}/attendance")), &json!({"userIds": users})).await
}

/// Returns some members of each item of a list.
fn members<const N: usize>(list: &Value, names: [&str; N]) -> Vec<[Value; N]> {
    let items = list["items"].as_array().expect("items").iter();
    items.map(|item| names.map(|name| item[name].clone())).collect()
}

#[tokio::test]
async fn progress_and_attendance_earn_each_reward_once() {
    let stack = stack().start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
    seed(&stack, "walk", END, &[USER]).await;
    put(&stack, &[staff(COMPANY, USER, "Sales")]).await;
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
    let right = [("award", 10), ("award", 50), ("award", 40), ("correction", -30)];
    for client in [&user, &admin] {
        let points = client.get(&format!("{POINTS}?planId=2099")).await.body;
        let entries = right.map(|(kind, points)| [json!(kind), json!(points)]);
        assert_eq!((&points["total"], members(&points, ["type", "points"])), (&json!(70), entries.to_vec()));
    }
    let before = admin.get(&format!("{POINTS}?planId=2098")).await.body;
    assert_eq!((&before["total"], &before["items"]), (&json!(0), &json!([])));
}

/// The time of an entry decides, not the order of the requests.
#[tokio::test]
async fn entries_are_listed_oldest_first() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    put(&stack, &[staff(COMPANY, USER, "Sales")]).await;
    let now = jiff::Timestamp::now();
    for (amount, age) in [(2, 0), (1, 60)] {
        let past = At::new(&stack, &operator, now - SignedDuration::from_secs(age));
        let correction = json!({"planId": "2099", "amount": amount, "reason": "Helped"});
        let path = format!("{POINTS}?companyId={COMPANY}");
        let corrected = past.post_once(&path, &format!("K-{amount}"), &correction).await;
        assert_eq!(corrected.status, 201, "{}", corrected.body);
    }
    let points = admin.get(&format!("{POINTS}?planId=2099")).await.body;
    assert_eq!(members(&points, ["points"]), [[json!(1)], [json!(2)]], "{points}");
}

#[tokio::test]
async fn attendance_is_recorded_for_the_enrolled_and_can_be_removed() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack, "walk", END, &["a", "b", "waits", "gone", "bad"]).await;
    let (dynamo, own) = table(&stack);
    for (user, attribute, value) in [
        ("waits", Registration::ABSENCE, "waiting"),
        ("gone", Registration::ABSENCE, "withdrawn"),
        ("bad", Registration::PROGRESS, "none"),
    ] {
        let registration = own.update(Registration::key_of(&parsed("walk"), &parsed(user)));
        dynamo.write(registration.set(attribute, &value)).await.expect("written");
    }
    let answer = attend(&admin, "walk", &["a", "waits", "gone", "nobody", "bad", "b"]).await;
    let right = ["recorded", "not-enrolled", "not-enrolled", "not-enrolled", "skipped", "recorded"];
    assert_eq!(members(&answer.body, ["outcome"]), right.map(|outcome| [json!(outcome)]), "{}", answer.body);
    let participants = admin.get(&of("activities/walk/participants")).await.body;
    let of_a = &participants["items"][0];
    assert_eq!((&of_a["status"], &of_a["earnedPoints"]), (&json!("completed"), &json!(40)), "{participants}");
    assert!(of_a["attendedAt"].is_string());
    let path = of("activities/walk/attendance");
    let removed = admin.post(&path, &json!({"userIds": ["a"], "attended": false})).await;
    assert_eq!(removed.body, json!({"items": [{"userId": "a", "outcome": "recorded", "earnedPoints": 40}]}));
    let participants = admin.get(&of("activities/walk/participants")).await.body;
    let of_a = &participants["items"][0];
    assert_eq!((&of_a["attendedAt"], &of_a["earnedPoints"]), (&Value::Null, &json!(40)), "{participants}");
    // A repeated request awards a reward that was added since.
    let late = activity(COMPANY, "late", "Walk", END);
    put(&stack, &[registration(&late, "a")]).await;
    put(&stack, &[late]).await;
    assert_eq!(attend(&admin, "late", &["a"]).await.body["items"][0]["earnedPoints"], 0);
    put(&stack, &[reward("late", "Attendance", 40, None)]).await;
    assert_eq!(attend(&admin, "late", &["a"]).await.body["items"][0]["earnedPoints"], 40);
    assert_eq!(admin.post(&path, &json!({"userIds": ["a", "a"]})).await.status, 400);
}

#[tokio::test]
async fn attendance_needs_a_published_activity_that_has_started() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let of_status = |id: &str, status| Activity { status, ..activity(COMPANY, id, "Walk", "2021-12-31") };
    put(&stack, &[of_status("ended", Status::Active), of_status("draft", Status::Draft)]).await;
    let later = Activity { start_date: parsed("2098-01-01"), ..activity(COMPANY, "later", "Walk", END) };
    put(&stack, &[of_status("cancelled", Status::Cancelled), later]).await;
    for id in ["later", "draft", "cancelled"] {
        assert_problem(&attend(&admin, id, &[USER]).await, 409, "activity-not-open");
    }
    assert_eq!(attend(&admin, "ended", &[USER]).await.status, 200);
}

/// Another amount applies to later awards. A lower percentage is earned by more employees. Nothing
/// is awarded to those who wait or have left.
#[tokio::test]
async fn only_a_new_reward_or_another_percentage_is_awarded_later() {
    let stack = without_jobs().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    seed(&stack, "walk", END, &[USER]).await;
    let walk = activity(COMPANY, "walk", "Walk", END);
    let absent = [("left", "withdrawn"), ("waits", "waiting")].map(|(user, absence)| Registration {
        progress: 100.0.try_into().expect("a percentage"),
        absence: serde_json::from_value(json!(absence)).expect("an absence"),
        ..registration(&walk, user)
    });
    put(&stack, &absent).await;
    let walked = admin.patch(&registration_of(COMPANY, USER, "walk"), &json!({"progress": 50})).await;
    assert_eq!(walked.body["earnedPoints"], 10, "{}", walked.body);
    let mut version = json!(1);
    for (kind, change, has_job, points) in [
        ("Half", json!({"amount": 11, "percent": 50}), false, 10),
        ("Half", json!({"amount": 11, "percent": 40}), true, 10),
        ("Goal", json!({"amount": 50, "percent": 60}), true, 10),
        ("Goal", json!({"amount": 52, "percent": 50}), true, 62),
        ("Goal", json!({"amount": 52, "percent": 50}), false, 62),
        ("Attendance", json!({"amount": 41}), false, 62),
        ("Bonus", json!({"amount": 7, "percent": 50}), true, 69),
    ] {
        let mut body = change.clone();
        (body["version"], body["name"]) = (version, "Points".into());
        let put = admin.put(&of(&format!("activities/walk/rewards/{kind}")), &body).await;
        let status = if kind == "Bonus" { 201 } else { 200 };
        assert_eq!((put.status, put.body["jobId"].is_string()), (status, has_job), "{kind} {change}: {}", put.body);
        version = put.body["version"].clone();
        for _ in 0..4 {
            admin.invoke("continue-job", &step_of(COMPANY, "RewardsId-walk")).await;
        }
        let participants = admin.get(&of("activities/walk/participants")).await.body;
        let right = [(USER, points), ("left", 0), ("waits", 0)].map(|(user, points)| [json!(user), json!(points)]);
        assert_eq!(members(&participants, ["userId", "earnedPoints"]), right, "{kind} {change}");
    }
}

/// The home page needs two requests: pattern 1 with all statuses, and pattern 3.
#[tokio::test]
async fn the_home_page_shows_activities_by_section_and_status_in_two_requests() {
    let stack = stack().clock(parsed("2020-06-15T12:00:00Z")).start().await.expect("a stack");
    let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
    let section = json!({"name": "Spring", "startDate": "2020-01-01", "endDate": "2020-12-31"});
    assert_eq!(admin.put(&of("sections/spring"), &section).await.status, 201);
    let right = [
        ("done", "2020-01-01", "2020-03-31T23:59:59", 100.0, "completed", "completed"),
        ("missed", "2020-01-01", "2020-06-15T11:59:59", 0.0, "completed", "not-completed"),
        ("current", "2020-06-01", "2020-06-15T12:00:00", 0.0, "active", "enrolled"),
        ("upcoming", "2020-09-01", "2020-12-31T23:59:59", 0.0, "active", "enrolled"),
    ];
    for (id, start, end, progress, ..) in right {
        let walk = activity(COMPANY, id, id, end);
        let progress = progress.try_into().expect("a percentage");
        put(&stack, &[Registration { progress, ..registration(&walk, USER) }]).await;
        put(&stack, &[Activity { start_date: parsed(start), section_id: Some(parsed("spring")), ..walk }]).await;
    }
    let programme = user.get(&of("activities?year=2020&status=active,completed")).await.body;
    let own = user.get(&registrations_of(COMPANY, USER)).await.body;
    assert_eq!(programme["sections"][0]["activityIds"], json!(right.map(|(id, ..)| id)));
    let shown = right.map(|(id, _, _, _, status, _)| [json!(id), json!(status)]);
    assert_eq!(members(&programme, ["activityId", "status"]), shown);
    let registered = right.map(|(id, .., status, own)| [json!(id), json!(status), json!(own)]);
    assert_eq!(members(&own, ["activityId", "activityStatus", "status"]), registered);
    assert_eq!(programme["items"][3]["startDate"], "2020-09-01T00:00:00Z", "upcoming activities start later");
}

/// A date as an end includes its day, in UTC. A time does not.
#[tokio::test]
async fn an_activity_that_ends_today_is_open_until_the_day_is_over() {
    for (now, end, is_open) in [
        ("2020-06-15T23:59:59Z", "2020-06-15", true),
        ("2020-06-15T23:59:59Z", "2020-06-15T00:00:00Z", true),
        ("2020-06-16T00:00:00Z", "2020-06-15", false),
        ("2020-06-15T12:00:00Z", "2020-06-15T11:59:59Z", false),
    ] {
        let stack = stack().clock(parsed(now)).start().await.expect("a stack");
        let (admin, user) = (admin(&stack, COMPANY), employee(&stack, COMPANY, USER));
        put(&stack, &[staff(COMPANY, USER, "Sales")]).await;
        let event = json!({"name": "Flu shots", "type": "event", "subType": "Health", "startDate": "2020-06-15",
            "endDate": end, "references": [{"facet": "venues", "id": "v", "data": {}}]});
        let created = create(&admin, COMPANY, &event).await;
        let (status, when) = (if is_open { "active" } else { "completed" }, format!("{now} {end}"));
        assert_eq!(created["status"], status, "{when}: {created}");
        for asked in ["active", "completed"] {
            for list in
                ["activities?year=2020", "activity-options?year=2020", "references/venues/v/activities?from=2020-06-01"]
            {
                let found = admin.get(&of(&format!("{list}&status={asked}"))).await.body;
                let count = found["items"].as_array().map(Vec::len);
                assert_eq!(count, Some(usize::from(asked == status)), "{when} {list} {asked}: {found}");
            }
        }
        let path = registration_of(COMPANY, USER, created["activityId"].as_str().expect("an id"));
        let or_closed = |open: u16| if is_open { open } else { 409 };
        let joined = send(user.request("PUT", &path)).await;
        assert_eq!(joined.status, or_closed(201), "{when}: {}", joined.body);
        if !is_open {
            assert_eq!(send(admin.request("PUT", &path)).await.status, 201, "an administrator may");
        }
        let listed = user.get("/wellness/users/erin/registrations?year=2020").await.body;
        let right = if is_open { "enrolled" } else { "not-completed" };
        assert_eq!(members(&listed, ["activityStatus", "status"]), [[json!(status), json!(right)]], "{when}");
        let reported = user.patch(&path, &json!({"progress": 1})).await;
        assert_eq!(reported.status, or_closed(200), "{when}: {}", reported.body);
        let left = send(user.request("DELETE", &path)).await;
        assert_eq!(left.status, or_closed(204), "{when}: {}", left.body);
    }
}

/// An event in the evening of a day may have this day as its end. So may a section.
#[tokio::test]
async fn an_end_includes_a_start_on_its_day() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let section = |end: &str| json!({"name": "Dinner", "startDate": "2099-06-15T18:00:00", "endDate": end});
    let evening = |end: &str| {
        let mut event = section(end);
        (event["type"], event["subType"]) = ("event".into(), "Social".into());
        event
    };
    let created = create(&admin, COMPANY, &evening("2099-06-15")).await;
    let path = of(&format!("activities/{}", created["activityId"].as_str().expect("an id")));
    for (end, status) in [("2099-06-15", 201), ("2099-06-14", 400), ("2099-06-15T17:59:59", 400)] {
        assert_eq!(admin.post(&of("activities"), &evening(end)).await.status, status, "{end}");
        let put = admin.put(&of("sections/dinner"), &section(end)).await.status;
        assert_eq!(put, status, "{end}");
        let moved = admin.patch(&path, &json!({"version": 1, "endDate": end})).await.status;
        assert_eq!(moved, if status == 201 { 200 } else { 400 }, "{end}");
    }
}
