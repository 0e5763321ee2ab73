//! Moves of activities between sections (W6), progress reports (W12), and updates of activities
//! (W16), as in docs/requirements/wellness.md.

use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Client, assert_problem, parsed, text,
    wellness::{
        activity, admin, employee, json_text, of_company, put, references::without_jobs, registration, reward, stored,
    },
};
use wellness::Activity;

const WALK: &str = "2020-12-31T00:00:00";
const REPORT: &str = "/wellness/users/123/registrations/789?companyId=123";

async fn start() -> (Stack, Client) {
    let stack = without_jobs().clock(parsed("2020-06-01T00:00:00Z")).start().await.expect("a stack");
    let client = Client::operator(&stack);
    (stack, client)
}

fn of(rest: &str) -> String {
    of_company("123", rest)
}

/// Activity 123 of company 123.
fn walk() -> Activity {
    activity("123", "123", "Walk 5000", WALK)
}

/// Puts activity 789 with user 123's registration.
async fn register(stack: &Stack, end: &str) {
    let walk = activity("123", "789", "Walk 1000", end);
    put(stack, &[registration(&walk, "123")]).await;
    put(stack, &[walk]).await;
}

/// Returns the activity in the form of a response.
fn body(activity: Activity) -> Value {
    serde_json::to_value(activity.body(parsed("2020-06-01T00:00:00Z"))).expect("JSON")
}

#[tokio::test]
async fn an_activity_moves_between_sections_and_out_of_them() {
    let (stack, client) = start().await;
    put(&stack, &[walk()]).await;
    let section = json!({"name": "Autumn", "startDate": "2020-01-01", "endDate": "2020-12-31"});
    for id in ["7", "8"] {
        assert_eq!(client.put(&of(&format!("sections/{id}")), &section).await.status, 201);
    }
    for to in [json!("7"), json!("8"), json!("8"), Value::Null, Value::Null, json!("7")] {
        let answer = client.put(&of("activities/123/section"), &json!({"sectionId": to})).await;
        assert_eq!((answer.status, &answer.body["sectionId"]), (200, &to), "{}", answer.body);
        let moved = Activity { section_id: to.as_str().map(parsed), ..walk() };
        let programme = client.get(&of("activities?year=2020")).await.body;
        assert_eq!(programme["items"], json!([body(moved)]), "a move changes only the section");
        for section in programme["sections"].as_array().expect("sections") {
            let ids = if to == section["sectionId"] { json!(["123"]) } else { json!([]) };
            assert_eq!(section["activityIds"], ids, "{programme}");
        }
    }
}

#[tokio::test]
async fn records_progress_as_in_the_requirement() {
    let (stack, _) = start().await;
    register(&stack, WALK).await;
    put(&stack, &[reward("789", "Milestone", 40, Some(40.0)), reward("789", "Goal", 100, None)]).await;
    let admin = admin(&stack, "123");
    let report = json!({"progress": 40.4, "progressText": "404 / 1000 steps"});
    let answer = admin.patch(REPORT, &report).await;
    let mut expected = json!({
        "activityId": "789", "userId": "123", "endDate": "2020-12-31T00:00:00Z", "progress": 40.4,
        "progressText": "404 / 1000 steps", "earnedPoints": 40, "registeredAt": "2019-12-01T09:30:00Z",
        "status": "enrolled",
    });
    assert_eq!((answer.status, &answer.body), (200, &expected));
    let points = admin.get("/wellness/users/123/points?year=2020").await.body;
    assert_eq!((&points["total"], &points["items"][0]["kind"]), (&json!(40), &json!("Milestone")));
    let entries = stored(&stack, Some("GSI3"), "CompanyId-123#UserId-123#Registrations").await;
    assert_eq!(entries[0]["Progress"].as_n().map(String::as_str), Ok("40.4"));
    let answer = admin.patch(REPORT, &json!({"progress": 40.4, "data": {"device": "watch"}})).await;
    expected["data"] = json!({"device": "watch"});
    assert_eq!((answer.status, &answer.body), (200, &expected), "omitted fields do not change");
    let home = employee(&stack, "123", "123").get("/wellness/users/123/registrations?year=2020").await.body;
    assert_eq!((&home["items"][0]["progress"], &home["items"][0]["name"]), (&json!(40.4), &json!("Walk 1000")));
}

#[tokio::test]
async fn converts_a_value_in_the_units_of_the_goal() {
    let (stack, client) = start().await;
    register(&stack, "2099-12-31").await;
    let employee = employee(&stack, "123", "123");
    let useless = [json!(1000), json!({}), json!({"target": 0}), json!({"target": -5}), json!({"target": "far"})];
    let goals = useless.into_iter().chain([json!({"target": 1000, "of": "steps"})]);
    for (version, parameters) in (1..).zip(goals) {
        assert_problem(&employee.patch(REPORT, &json!({"value": 404})).await, 409, "goal-without-target");
        let goal = json!({"version": version, "type": "steps", "parameters": parameters});
        let answer = client.put(&of("activities/789/goal"), &goal).await;
        assert_eq!(answer.status, if version == 1 { 201 } else { 200 }, "{parameters}: {}", answer.body);
    }
    for (client, report, percent, text) in [
        (&employee, json!({"value": 0.09}), 0.0, "0.09 / 1000 steps"),
        (&employee, json!({"value": 404}), 40.4, "404 / 1000 steps"),
        (&employee, json!({"value": "999.99"}), 99.99, "999.99 / 1000 steps"),
        (&employee, json!({"value": 1000, "progressText": "done"}), 100.0, "done"),
        (&client, json!({"value": 2500.5}), 250.05, "2500.5 / 1000 steps"),
        (&client, json!({"value": 1_000_000_000}), 10_000.0, "1000000000 / 1000 steps"),
        (&client, json!({"value": 3, "correction": true}), 0.3, "3 / 1000 steps"),
    ] {
        let answer = client.patch(REPORT, &report).await;
        let shown = (answer.status, &answer.body["progress"], &answer.body["progressText"]);
        assert_eq!(shown, (200, &json!(percent), &json!(text)), "{report}: {}", answer.body);
    }
    assert_problem(&employee.patch(REPORT, &json!({"value": 2})).await, 409, "progress-backwards");
    let both = employee.patch(REPORT, &json!({"value": 1, "progress": 1})).await;
    assert_problem(&both, 400, "invalid-request");
    assert_eq!(both.body["errors"][0]["pointer"], "/body/progress");
}

#[tokio::test]
async fn only_a_correction_lowers_progress_and_each_reward_is_earned_once() {
    let (stack, client) = start().await;
    register(&stack, WALK).await;
    put(&stack, &[reward("789", "Half", 40, Some(50.0)), reward("789", "Goal", 100, None)]).await;
    for (report, status, stands) in [
        (json!({"progress": 50}), 200, (50.0, 40)),
        (json!({"progress": 50}), 200, (50.0, 40)),
        (json!({"progress": 49.99}), 409, (50.0, 40)),
        (json!({"progress": 49.99, "correction": false}), 409, (50.0, 40)),
        (json!({"progress": 60}), 200, (60.0, 40)),
        (json!({"progress": 10.5, "correction": true}), 200, (10.5, 40)),
        (json!({"progress": 10.49}), 409, (10.5, 40)),
        (json!({"progress": 0, "correction": true}), 200, (0.0, 40)),
        (json!({"progress": 9.99}), 200, (9.99, 40)),
        (json!({"progress": 50}), 200, (50.0, 40)),
        (json!({"progress": 100}), 200, (100.0, 140)),
        (json!({"progress": 10_000}), 200, (10_000.0, 140)),
    ] {
        let answer = client.patch(REPORT, &report).await;
        if status == 409 {
            assert_problem(&answer, 409, "progress-backwards");
        } else {
            assert_eq!(answer.status, status, "{report}: {}", answer.body);
        }
        let now = client.get("/wellness/users/123/registrations?companyId=123&year=2020").await.body;
        let now = ["progress", "earnedPoints"].map(|member| now["items"][0][member].clone());
        assert_eq!(now, [json!(stands.0), json!(stands.1)], "{report}");
    }
}

#[tokio::test]
async fn a_report_has_at_most_2_kb_of_data() {
    let (stack, operator) = start().await;
    register(&stack, "2099-12-31").await;
    let report = |length| json!({"progress": 1, "data": {"text": "x".repeat(length)}});
    assert_problem(&operator.patch(REPORT, &report(2_038)).await, 413, "too-large");
    assert_eq!(operator.patch(REPORT, &report(2_037)).await.status, 200);
}

/// The limit of 8 KB does not count the author, so each administrator can change a full row.
#[tokio::test]
async fn a_full_row_takes_an_author_with_a_longer_id() {
    let (stack, _) = start().await;
    let with = |length: usize| Activity { data: Some(json_text(&json!({"a": "x".repeat(length)}))), ..walk() };
    let rest = 8 * 1024 - table::size(&with(0)).expect("a size");
    put(&stack, &[with(rest)]).await;
    for (version, (user, name, status)) in (1..).zip([
        ("a".repeat(9), "Walk 6000", 200),
        ("b".repeat(99), "Walk 7000", 200),
        ("c".repeat(9), "Walk 80000", 413),
    ]) {
        let admin = Client::member(&stack, "wellness:admin", "123", &user);
        let answer = admin.patch(&of("activities/123"), &json!({"version": version, "name": name})).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
}

#[tokio::test]
async fn a_patch_changes_the_named_fields_and_the_version() {
    let (stack, _) = start().await;
    let whole = Activity {
        section_id: Some(parsed("7")),
        template_id: Some(parsed("T-1")),
        data: Some(json_text(&json!({"banner": "walk.png"}))),
        ..walk()
    };
    let mut expected = body(whole.clone());
    put(&stack, &[whole]).await;
    let (admin, path) = (admin(&stack, "123"), of("activities/123"));
    let sales = json!({"roles": ["EmployeeOnPlan"], "departments": ["Sales"]});
    for (member, sent, answered) in [
        ("name", json!("Walk 6000"), json!("Walk 6000")),
        ("status", json!("cancelled"), json!("cancelled")),
        ("startDate", json!("2020-02-01"), json!("2020-02-01T00:00:00Z")),
        ("endDate", json!("2021-01-01T01:00:00+01:00"), json!("2021-01-01T00:00:00Z")),
        ("filters", sales.clone(), sales),
        ("filters", json!({}), json!({"roles": [], "departments": []})),
        ("data", json!({"banner": "run.png"}), json!({"banner": "run.png"})),
        ("data", Value::Null, Value::Null),
        ("data", json!({}), json!({})),
    ] {
        let version = expected["version"].as_i64().expect("a version");
        let mut answer = admin.patch(&path, &json!({"version": version, member: sent})).await;
        expected[member] = answered;
        expected["version"] = (version + 1).into();
        expected.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
        // A new end starts the job that updates the registrations.
        let job = answer.body.as_object_mut().expect("an object").remove("jobId");
        assert_eq!(job, (member == "endDate").then(|| json!("ActivityId-123")));
        expected["changedBy"] = json!({"sub": "admin-of-123", "scope": "wellness:admin"});
        assert_eq!((answer.status, &answer.body), (200, &expected), "{member}");
    }
    let same = json!({"version": expected["version"], "name": "Walk 6000", "endDate": "2021-01-01T00:00:00Z"});
    let answer = admin.patch(&path, &same).await;
    assert_eq!((answer.status, &answer.body), (200, &expected), "a patch without a change keeps the version");
    expected.as_object_mut().expect("an object").remove("changedBy");
    let period = "from=2021-01-01T00:00:00&to=2021-01-01T00:00:00&status=cancelled";
    let programme = admin.get(&of(&format!("activities?{period}"))).await.body;
    assert_eq!(programme["items"], json!([expected]));
    let options = admin.get(&of(&format!("activity-options?{period}"))).await.body;
    assert_eq!(text(&options["items"][0], "name"), "Walk 6000", "{options}");
}
