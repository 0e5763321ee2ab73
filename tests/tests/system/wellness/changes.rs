//! Tests of changes: moves between sections (W6), progress reports (W12), and updates of activities
//! (W16).

use aws_sdk_dynamodb::types::AttributeValue;
use fastrand::Rng;
use function::Batch;
use futures::future::{join, join_all};
use jobs::{Job, State};
use keys::wellness::{
    ActivityId, CompanyId, CompanyPartition, EndDateSort, FacetRef, JobId, ProgramPartition, ProgramSort, SectionSort,
    Status, UseSort,
};
use local::{Builder, Stack};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use system_tests::{
    Answer, Client, End,
    faults::{Call, Fault, Moment, Twins},
    parsed, stack, text,
    units::{Consumed, bytes, consumed},
    wellness::{
        activity, admin, declared, employee, json_text, of_company, put, registration, registration_of, reward, stored,
        table,
    },
};
use table::{Item, Table};
use wellness::{Activity, Case, Reference, Registration, Section, Task, Wellness, job_key};

/// A stack whose job function does nothing.
fn resting() -> Builder {
    let rest = function::stream(async |_: Wellness, _: Batch| Ok(BTreeSet::new()), async |_| ());
    let others = local::functions().filter(|(name, _)| *name != "continue-job");
    stack().functions(others.chain([("continue-job", rest)]))
}

async fn start() -> (Stack, Client) {
    let stack = resting().clock(parsed("2020-06-01T00:00:00Z")).start().await.expect("a stack");
    let client = Client::operator(&stack);
    (stack, client)
}

const WALK: &str = "2020-12-31T00:00:00";

/// Activity 123 of company 123.
fn walk() -> Activity {
    activity("123", "123", "Walk 5000", WALK)
}

fn path_of(activity: &str) -> String {
    of_company("123", &format!("activities/{activity}"))
}

fn section(company: &str, id: &str) -> Section {
    let company: CompanyId = company.parse().expect("a company");
    Section {
        partition: CompanyPartition(company.clone()),
        sort: SectionSort(id.parse().expect("a section")),
        program: ProgramPartition(company),
        end: EndDateSort(WALK.parse().expect("a time")),
        name: "Autumn".parse().expect("a name"),
        start_date: "2020-01-01T00:00:00".parse().expect("a time"),
    }
}

/// Returns a reference of the activity to `of`, such as `VenueId-123`, with the example data from
/// the requirement.
fn reference(activity: &Activity, of: &str) -> Reference {
    let of: FacetRef = of.parse().expect("a reference");
    let place = UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
    let data = json!({"Name": "Blood Bank A", "Addr1": "211 Wabash Street", "City": "Chicago", "ST": "IL"});
    Reference::new(activity.company.clone(), of, place, json_text(&data))
}

/// Reads the stored base row and references of an activity.
async fn collection(stack: &Stack, activity: &str) -> (Activity, Vec<Reference>) {
    let (_, table) = table(stack);
    let id: ActivityId = activity.parse().expect("an activity");
    let row = table.get(&Activity::key_of(&id)).await.expect("an answer").expect("an activity");
    let items = stored(stack, None, &format!("ActivityId-{activity}")).await.into_iter();
    let references = items.filter(|item| item["Type"] == AttributeValue::S(Reference::TYPE.to_owned()));
    (row, references.map(|item| serde_dynamo::from_item(item).expect("a reference")).collect())
}

fn key(item: &HashMap<String, AttributeValue>, name: &str) -> String {
    item[name].as_s().expect("text").clone()
}

fn assert_problem(answer: &Answer, status: u16, kind: &str, why: &str) {
    let problem = (status, &json!(format!("/problems/{kind}")));
    assert_eq!((answer.status, &answer.body["type"]), problem, "{why}: {}", answer.body);
}

fn pointers(answer: &Answer) -> Vec<String> {
    let faults = answer.body["errors"].as_array();
    faults.into_iter().flatten().map(|fault| text(fault, "pointer").to_owned()).collect()
}

// W6

#[tokio::test]
async fn an_activity_moves_between_sections_and_out_of_them() {
    let (stack, client) = start().await;
    put(&stack, &[walk()]).await;
    put(&stack, &["7", "8"].map(|id| section("123", id))).await;
    let admin = admin(&stack, "123");
    for to in [json!("7"), json!("8"), json!("8"), Value::Null, Value::Null, json!("7")] {
        let answer = admin.put(&format!("{}/section", path_of("123")), &json!({"sectionId": to})).await;
        assert_eq!((answer.status, &answer.body["version"]), (200, &json!(1)), "{}", answer.body);
        assert_eq!(answer.body["sectionId"], to);
        let (row, _) = collection(&stack, "123").await;
        let expected = to.as_str().map(|id| id.parse().expect("a section"));
        assert_eq!(row, Activity { section_id: expected, ..walk() }, "a move changes only the section");
        let programme = client.get(&of_company("123", "activities?year=2020")).await.body;
        let within = |id: &str| if to == id { json!(["123"]) } else { json!([]) };
        let sections = programme["sections"].as_array().expect("sections");
        assert!(sections.iter().all(|section| section["activityIds"] == within(text(section, "sectionId"))));
    }
}

#[tokio::test]
async fn rejects_invalid_moves() {
    let (stack, _) = start().await;
    put(&stack, &[walk(), activity("12", "of-12", "Walk", WALK)]).await;
    put(&stack, &[section("123", "7"), section("12", "8")]).await;
    let to = |section: &str| json!({"sectionId": section});
    let (admin, other) = (admin(&stack, "123"), admin(&stack, "12"));
    let colleague = employee(&stack, "123", "123");
    let of = |activity: &str| format!("{}/section", path_of(activity));
    for (client, path, body, status) in [
        (&admin, of("123"), to("9"), 404),
        (&admin, of("123"), to("8"), 404),
        (&admin, of("124"), to("7"), 404),
        (&admin, of("124"), json!({"sectionId": null}), 404),
        (&admin, of("of-12"), to("7"), 404),
        (&admin, of("of-12"), json!({"sectionId": null}), 404),
        (&other, of("123"), to("7"), 403),
        (&other, of("of-12"), to("7"), 403),
        (&colleague, of("123"), to("7"), 403),
        (&admin, of("123"), json!({}), 400),
        (&admin, of("123"), to(""), 400),
        (&admin, of("123"), to("a#b"), 400),
        (&admin, of("123"), json!({"sectionId": 7}), 400),
        (&admin, of("a%23b"), json!({"sectionId": "7", "more": 1}), 400),
    ] {
        let answer = client.put(&path, &body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.body);
    }
    let faults = admin.put(&of("a%23b"), &json!({"more": 1})).await;
    assert_eq!(pointers(&faults), ["/path/activityId", "/body/sectionId", "/body/more"]);
    assert_eq!(collection(&stack, "123").await.0, walk());
    assert_eq!(collection(&stack, "of-12").await.0.section_id, None);
    assert!(stored(&stack, None, "ActivityId-124").await.is_empty(), "a rejected move creates no item");
}

// W12

const REPORT: &str = "/wellness/users/123/registrations/789?companyId=123";

/// Returns user 123's registration for activity 789.
fn registered() -> Registration {
    registration(&activity("123", "789", "Walk 1000", WALK), "123")
}

async fn progress(stack: &Stack) -> Registration {
    let items = stored(stack, None, "ActivityId-789").await;
    let item = items.iter().find(|item| item["Type"].as_s().is_ok_and(|kind| kind == "Registration"));
    serde_dynamo::from_item(item.expect("an item").clone()).expect("a registration")
}

#[tokio::test]
async fn records_progress_as_in_the_requirement() {
    let (stack, _) = start().await;
    put(&stack, &[activity("123", "789", "Walk 1000", WALK)]).await;
    put(&stack, &[registered()]).await;
    put(&stack, &[reward("789", "Milestone", 40, Some(40.0)), reward("789", "Goal", 100, None)]).await;
    let admin = admin(&stack, "123");
    let report = json!({"progress": 40.4, "progressText": "404 / 1000 steps"});
    let answer = admin.patch(REPORT, &report).await;
    let expected = json!({
        "activityId": "789",
        "userId": "123",
        "endDate": "2020-12-31T00:00:00Z",
        "progress": 40.4,
        "progressText": "404 / 1000 steps",
        "earnedPoints": 40,
        "registeredAt": "2019-12-01T09:30:00Z",
        "status": "enrolled",
    });
    assert_eq!((answer.status, &answer.body), (200, &expected));
    let points = admin.get("/wellness/users/123/points?year=2020").await.body;
    assert_eq!((&points["total"], &points["items"][0]["kind"]), (&json!(40), &json!("Milestone")));
    let entries = stored(&stack, Some("GSI3"), "CompanyId-123#UserId-123#Registrations").await;
    assert_eq!(entries[0]["Progress"], AttributeValue::N("40.4".to_owned()));
    let answer = admin.patch(REPORT, &json!({"progress": 40.4, "data": {"device": "watch"}})).await;
    let mut with_data = expected;
    with_data["data"] = json!({"device": "watch"});
    assert_eq!((answer.status, &answer.body), (200, &with_data), "omitted fields do not change");
    let home = employee(&stack, "123", "123").get("/wellness/users/123/registrations?year=2020").await.body;
    assert_eq!((&home["items"][0]["progress"], &home["items"][0]["name"]), (&json!(40.4), &json!("Walk 1000")));
}

#[tokio::test]
async fn converts_a_value_in_the_units_of_the_goal() {
    let (stack, client) = start().await;
    put(&stack, &[activity("123", "789", "Walk 1000", "2099-12-31")]).await;
    put(&stack, &[registered()]).await;
    let employee = employee(&stack, "123", "123");
    let no_target = employee.patch(REPORT, &json!({"value": 404})).await;
    assert_problem(&no_target, 409, "goal-without-target", "an activity without a goal");
    let goal_of = async |version: u32, parameters: Value| {
        let body = json!({"version": version, "type": "steps", "parameters": parameters});
        let answer = client.put(&format!("{}/goal", path_of("789")), &body).await;
        assert!([200, 201].contains(&answer.status), "{parameters}: {}", answer.body);
    };
    let useless = [json!(1000), json!({}), json!({"target": 0}), json!({"target": -5}), json!({"target": "far"})];
    for (version, parameters) in (1..).zip(useless) {
        goal_of(version, parameters.clone()).await;
        let answer = employee.patch(REPORT, &json!({"value": 404})).await;
        assert_problem(&answer, 409, "goal-without-target", &parameters.to_string());
    }
    goal_of(6, json!({"target": 1000, "of": "steps"})).await;
    let other = admin(&stack, "12").patch(REPORT, &json!({"value": 1})).await;
    assert_eq!(End::of(&other), Some(End::NoReach), "{}", other.body);
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
    assert_problem(&employee.patch(REPORT, &json!({"value": 2})).await, 409, "progress-backwards", "a lower value");
    for (body, field) in [
        (json!({"value": -1}), "/body/value"),
        (json!({"value": 0.001}), "/body/value"),
        (json!({"value": 1_000_000_001}), "/body/value"),
        (json!({"value": null}), "/body/value"),
        (json!({"value": 1, "progress": 1}), "/body/progress"),
    ] {
        let answer = employee.patch(REPORT, &body).await;
        assert_problem(&answer, 400, "invalid-request", &body.to_string());
        assert_eq!(pointers(&answer), [field], "{body}");
    }
    assert_eq!(serde_json::to_value(progress(&stack).await.progress).expect("JSON"), json!(0.3));
}

#[tokio::test]
async fn employees_report_from_the_start_date() {
    let (stack, client) = start().await;
    let mut later = activity("123", "789", "Walk 1000", "2099-12-31");
    later.start_date = parsed("2099-01-01");
    put(&stack, &[later]).await;
    put(&stack, &[registered()]).await;
    let report = json!({"progress": 1});
    let early = employee(&stack, "123", "123").patch(REPORT, &report).await;
    assert_problem(&early, 409, "activity-not-open", "a report before the start");
    assert_eq!(client.patch(REPORT, &report).await.status, 200, "administrators report at any time");
}

#[tokio::test]
async fn only_a_correction_lowers_progress_and_each_reward_is_earned_once() {
    let (stack, client) = start().await;
    put(&stack, &[reward("789", "Half", 40, Some(50.0)), reward("789", "Goal", 100, None)]).await;
    put(&stack, &[registered()]).await;
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
        assert_eq!(answer.status, status, "{report}: {}", answer.body);
        if status == 409 {
            assert_problem(&answer, 409, "progress-backwards", "a lower report");
        }
        let now = progress(&stack).await;
        assert_eq!((f64::from(now.progress), now.earned_points), stands, "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_highest_of_fifty_concurrent_reports_wins() {
    let (stack, client) = start().await;
    put(&stack, &[registered()]).await;
    let reports: Vec<u32> = (0..50).map(|_| fastrand::u32(0..=10_000)).collect();
    let rewards = (1_u8..=10).map(|tenth| reward("789", &format!("At{tenth}"), 1, Some(f64::from(tenth) * 10.0)));
    put(&stack, &rewards.collect::<Vec<_>>()).await;
    let report = |percent: f64, text: u32| {
        let body = json!({"progress": percent, "progressText": text.to_string()});
        let client = &client;
        async move { client.patch(REPORT, &body).await }
    };
    let answers = join_all(reports.iter().map(async |hundredths| {
        let percent = f64::from(*hundredths) / 100.0;
        (*hundredths, report(percent, *hundredths).await)
    }))
    .await;
    let highest = reports.iter().copied().max().expect("fifty");
    for (hundredths, answer) in &answers {
        let taken = answer.status == 200 && answer.body["progressText"].as_str() == Some(&*hundredths.to_string());
        assert!(taken || answer.status == 409, "{hundredths}: {}", answer.body);
        assert!(taken || *hundredths < highest, "the highest report is never rejected");
    }
    let now = progress(&stack).await;
    assert_eq!((f64::from(now.progress), now.progress_text), (f64::from(highest) / 100.0, highest.to_string()));
    assert_eq!((now.earned_points, now.awards.len()), (highest / 1_000, (highest / 1_000) as usize));
    assert_problem(&report(0.0, highest).await, 409, "progress-backwards", "a late, lower report");
}

#[tokio::test]
async fn rejects_reports_of_other_users_and_invalid_reports() {
    let (stack, operator) = start().await;
    put(&stack, &[registered()]).await;
    put(&stack, &[activity("123", "789", "Walk 1000", "2099-12-31")]).await;
    let reader = Client::member(&stack, "wellness:read", "123", "123");
    let body = json!({"progress": 1});
    for (client, end) in [
        (employee(&stack, "123", "124"), End::NoReach),
        (employee(&stack, "123", "12"), End::NoReach),
        (admin(&stack, "12"), End::NoReach),
        (reader, End::NoScope),
        (employee(&stack, "123", "123"), End::Done),
        (admin(&stack, "123"), End::Done),
        (operator.clone(), End::Done),
    ] {
        let answer = client.patch(REPORT, &body).await;
        assert_eq!(End::of(&answer), Some(end), "{}", answer.body);
    }
    for (user, activity) in [("123", "790"), ("124", "789")] {
        let path = &registration_of("123", user, activity);
        assert_problem(&operator.patch(path, &body).await, 404, "not-found", path);
    }
    assert_eq!(stored(&stack, None, "ActivityId-790").await, []);
    let long = "x".repeat(201);
    for (body, found) in [
        (json!({}), ["/body/progress"].as_slice()),
        (json!({"progress": null}), &["/body/progress"]),
        (json!({"progress": "40.4"}), &["/body/progress"]),
        (json!({"progress": -0.01}), &["/body/progress"]),
        (json!({"progress": 10_000.01}), &["/body/progress"]),
        (json!({"progress": 40.404}), &["/body/progress"]),
        (json!({"progress": 1e300}), &["/body/progress"]),
        (json!({"progress": 1, "earnedPoints": 1}), &["/body/earnedPoints"]),
        (json!({"progress": 1, "progressText": long}), &["/body/progressText"]),
        (json!({"progress": 1, "progressText": "a\nb"}), &["/body/progressText"]),
        (json!({"progress": 1, "data": []}), &["/body/data"]),
        (json!({"progress": 1, "data": null}), &["/body/data"]),
        (json!({"progress": 1, "correction": "yes"}), &["/body/correction"]),
        (
            json!({"progressText": 1, "data": 1, "correction": 1, "points": 1}),
            &["/body/progress", "/body/progressText", "/body/data", "/body/correction", "/body/points"],
        ),
    ] {
        let answer = operator.patch(REPORT, &body).await;
        assert_problem(&answer, 400, "invalid-request", &body.to_string());
        // A fault within a field names its location in the field.
        let fields: Vec<_> =
            pointers(&answer).iter().map(|at| at.split('/').take(3).collect::<Vec<_>>().join("/")).collect();
        assert_eq!(fields, found, "{body}");
    }
    let big = json!({"progress": 1, "data": {"text": "x".repeat(2_048)}});
    assert_problem(&operator.patch(REPORT, &big).await, 413, "too-large", "2 KB of data");
    assert_eq!(progress(&stack).await.data, None);
}

// W16

/// Returns the activity in the form of a response.
fn body(activity: Activity) -> Value {
    serde_json::to_value(activity.body(parsed("2020-06-01T00:00:00Z"))).expect("JSON")
}

#[tokio::test]
async fn a_patch_changes_the_named_fields_and_the_version() {
    let (stack, _) = start().await;
    let whole = Activity {
        section_id: Some("7".parse().expect("a section")),
        template_id: Some("T-1".parse().expect("a template")),
        data: Some(json_text(&json!({"banner": "walk.png"}))),
        ..walk()
    };
    let mut expected = body(whole.clone());
    put(&stack, &[whole]).await;
    let admin = admin(&stack, "123");
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
        let mut answer = admin.patch(&path_of("123"), &json!({"version": version, member: sent})).await;
        expected[member] = answered;
        expected["version"] = (version + 1).into();
        let members = expected.as_object_mut().expect("an object");
        members.retain(|_, value| !value.is_null());
        let job = answer.body.as_object_mut().expect("an object").remove("jobId");
        assert_eq!((answer.status, &answer.body), (200, &expected), "{member}");
        assert_eq!(job.is_some(), member == "endDate");
        let (row, _) = collection(&stack, "123").await;
        for (index, partition) in [("GSI1", "CompanyId-123#Program"), ("GSI2", "CompanyId-123#Program#List")] {
            let entries = stored(&stack, Some(index), partition).await;
            let ends: Vec<String> = entries.iter().map(|entry| key(entry, &format!("{index}SK"))).collect();
            assert_eq!(ends, [row.end.to_string()], "{index} after {member}");
        }
        assert_eq!((row.list_end, body(row.clone())), (Some(row.end), expected.clone()), "{member}");
    }
    let same = json!({"version": expected["version"], "name": "Walk 6000", "status": "cancelled"});
    let answer = admin.patch(&path_of("123"), &same).await;
    assert_eq!((answer.status, &answer.body), (200, &expected), "a patch without a change keeps the version");
    assert_eq!(body(collection(&stack, "123").await.0), expected);
}

#[tokio::test]
async fn rejects_invalid_patches() {
    let (stack, operator) = start().await;
    put(&stack, &[walk(), activity("12", "of-12", "Walk", WALK)]).await;
    let path = path_of("123");
    for (body, found) in [
        (json!({}), ["/body/version", "/body"].as_slice()),
        (json!({"version": 1}), &["/body"]),
        (json!({"name": "Walk"}), &["/body/version"]),
        (json!({"version": "1", "name": "Walk"}), &["/body/version"]),
        (json!({"version": 1.5, "name": "Walk"}), &["/body/version"]),
        (json!({"version": -1, "name": "Walk"}), &["/body/version"]),
        (json!({"version": i64::MAX, "name": "Walk"}), &["/body/version"]),
        (json!({"version": 1, "name": ""}), &["/body/name"]),
        (json!({"version": 1, "name": null}), &["/body/name"]),
        (json!({"version": 1, "status": "open"}), &["/body/status"]),
        (json!({"version": 1, "endDate": "2020-13-01"}), &["/body/endDate"]),
        (json!({"version": 1, "filters": [[], []]}), &["/body/filters"]),
        (json!({"version": 1, "filters": {"roles": ["a#b"]}}), &["/body/filters"]),
        (json!({"version": 1, "filters": {"role": []}}), &["/body/filters"]),
        (json!({"version": 1, "data": []}), &["/body/data"]),
        (json!({"version": 1, "data": "x"}), &["/body/data"]),
        (json!({"version": 1, "name": "Walk", "type": "event"}), &["/body/type"]),
        (json!({"version": 1, "sectionId": "7"}), &["/body", "/body/sectionId"]),
        (json!({"version": 1, "startDate": "2020-02-02", "endDate": "2020-02-01"}), &["/body/endDate"]),
        (json!({"version": 1, "startDate": "2021-01-01"}), &["/body/startDate"]),
        (json!({"version": 1, "endDate": "2009-12-31T23:59:59"}), &["/body/endDate"]),
        (
            json!({"version": 0.5, "name": 1, "status": 1, "startDate": 1, "endDate": 1, "filters": 1, "data": 1, "more": 1}),
            &[
                "/body/version",
                "/body/name",
                "/body/status",
                "/body/startDate",
                "/body/endDate",
                "/body/filters",
                "/body/data",
                "/body/more",
            ],
        ),
    ] {
        let answer = operator.patch(&path, &body).await;
        assert_problem(&answer, 400, "invalid-request", &body.to_string());
        // A fault within a field names its location in the field.
        let fields: Vec<_> =
            pointers(&answer).iter().map(|at| at.split('/').take(3).collect::<Vec<_>>().join("/")).collect();
        assert_eq!(fields, found, "{body}");
    }
    let named = |version: i64| json!({"version": version, "name": "Walk"});
    for version in [0, 2, 9_007_199_254_740_991] {
        assert_problem(&operator.patch(&path, &named(version)).await, 412, "another-version", "412");
    }
    let (admin, other) = (admin(&stack, "123"), admin(&stack, "12"));
    assert_problem(&admin.patch(&path_of("124"), &named(1)).await, 404, "not-found", "no such activity");
    assert_problem(
        &admin.patch(&path_of("of-12"), &named(1)).await,
        404,
        "not-found",
        "an activity of another company",
    );
    assert_eq!(End::of(&other.patch(&path, &named(1)).await), Some(End::NoReach));
    assert_eq!(End::of(&other.patch(&path_of("of-12"), &named(1)).await), Some(End::NoReach), "another company's path");
    assert_eq!(End::of(&employee(&stack, "123", "123").patch(&path, &named(1)).await), Some(End::NoScope));
    for data in [json!({"text": "x".repeat(8_192)}), json!({"text": "x".repeat(60_000)})] {
        let answer = admin.patch(&path, &json!({"version": 1, "data": data})).await;
        assert_problem(&answer, 413, "too-large", "8 KB");
    }
    assert_eq!(collection(&stack, "123").await.0, walk(), "a rejected patch changes nothing");
}

#[tokio::test]
async fn an_oversized_activity_accepts_changes_that_do_not_enlarge_it() {
    let (stack, client) = start().await;
    let data = |length: usize| json!({"text": "x".repeat(length)});
    put(&stack, &[Activity { data: Some(json_text(&data(8_192))), ..walk() }]).await;
    for (version, patch, status) in [
        (1, json!({"status": "cancelled"}), 200),
        (2, json!({"name": "Walk 6000"}), 200),
        (3, json!({"name": "Walk 60000"}), 413),
        (3, json!({"data": data(8_100)}), 200),
        (4, json!({"data": data(4_000)}), 200),
        (5, json!({"data": data(8_192)}), 413),
    ] {
        let mut body = patch.clone();
        body["version"] = version.into();
        assert_eq!(client.patch(&path_of("123"), &body).await.status, status, "{}", body["name"]);
    }
}

/// Queries the references to `of` with the key condition of pattern 5, for a status and the year
/// 2020. Returns the values of GSI2SK.
async fn uses(stack: &Stack, of: &str, status: &str) -> Vec<String> {
    let query = stack.client().expect("a client").query().table_name(stack.table("Activities").expect("a table"));
    let text = |text: String| AttributeValue::S(text);
    let query = query
        .index_name("GSI2")
        .key_condition_expression("GSI2PK = :p AND GSI2SK BETWEEN :from AND :to")
        .expression_attribute_values(":p", text(format!("CompanyId-123#{of}")))
        .expression_attribute_values(":from", text(format!("{status}#2020-01-01T00:00:00")))
        .expression_attribute_values(":to", text(format!("{status}#2021-01-01T00:00:00")));
    query.send().await.expect("an answer").items().iter().map(|item| key(item, "GSI2SK")).collect()
}

const OF: [&str; 5] = ["VenueId-123", "FileId-1", "CourseId-1", "TrackerId-1", "NotificationId-1"];

#[tokio::test]
async fn references_get_the_new_status_and_end_date() {
    let (stack, client) = start().await;
    let others = activity("123", "456", "Blood drive", WALK);
    put(&stack, &[walk(), others.clone()]).await;
    put(&stack, &OF.map(|of| reference(&walk(), of))).await;
    put(&stack, &[reference(&others, "VenueId-123")]).await;
    let unmoved = "active#2020-12-31T00:00:00#ActivityId-456".to_owned();
    for (patch, found) in [
        (json!({"name": "Blood drive"}), [Some("active#2020-12-31T00:00:00"), None, None]),
        (json!({"endDate": "2020-06-30"}), [Some("active#2020-06-30T00:00:00"), None, None]),
        (json!({"status": "cancelled"}), [None, Some("cancelled#2020-06-30T00:00:00"), None]),
        (json!({"status": "draft", "endDate": "2020-12-31T23:59:59"}), [None, None, Some("draft#2020-12-31T23:59:59")]),
        (json!({"endDate": "2021-01-01"}), [None, None, None]),
        (json!({"status": "active", "endDate": WALK}), [Some("active#2020-12-31T00:00:00"), None, None]),
    ] {
        let (row, _) = collection(&stack, "123").await;
        let mut body = patch.clone();
        body["version"] = row.version.into();
        assert_eq!(client.patch(&path_of("123"), &body).await.status, 200, "{patch}");
        for (of, (status, place)) in
            OF.iter().flat_map(|of| ["active", "cancelled", "draft"].into_iter().zip(found).map(move |it| (of, it)))
        {
            let mut expected: Vec<String> = place.iter().map(|place| format!("{place}#ActivityId-123")).collect();
            expected.extend((*of == "VenueId-123" && status == "active").then(|| unmoved.clone()));
            expected.sort();
            assert_eq!(uses(&stack, of, status).await, expected, "{of} {status} after {patch}");
        }
        let (_, references) = collection(&stack, "123").await;
        assert!(references.iter().all(|one| one.copied_data == reference(&walk(), "FileId-1").copied_data));
    }
    for entry in stored(&stack, Some("GSI2"), "CompanyId-123#VenueId-123").await {
        let names: BTreeSet<&str> = entry.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            BTreeSet::from(["PK", "SK", "GSI2PK", "GSI2SK", "CopiedData"]),
            "the attributes that GSI2 projects"
        );
    }
}

fn jobs_of(stack: &Stack) -> Table {
    table(stack).0.table(stack.table("WellnessJobs").expect("a table"))
}

async fn job(stack: &Stack) -> Option<Job> {
    let (company, id) = ("123".parse().expect("a company"), JobId::Registrations("123".parse().expect("an activity")));
    jobs_of(stack).get(&job_key(&company, &id)).await.expect("an answer")
}

#[tokio::test]
async fn a_new_end_date_starts_the_job_that_updates_the_registrations() {
    let (stack, client) = start().await;
    put(&stack, &[walk()]).await;
    let mut before = None;
    for (version, patch, starts) in [
        (1, json!({"name": "Walk"}), false),
        (2, json!({"status": "draft"}), false),
        (3, json!({"endDate": WALK, "name": "Walk 1"}), false),
        (4, json!({"endDate": "2020-06-30"}), true),
        (5, json!({"status": "active"}), false),
        (6, json!({"endDate": "2020-07-31"}), true),
    ] {
        let mut body = patch.clone();
        body["version"] = version.into();
        let answer = client.patch(&path_of("123"), &body).await;
        let id = if starts { json!("ActivityId-123") } else { Value::Null };
        assert_eq!((answer.status, &answer.body["jobId"]), (200, &id), "{patch}: {}", answer.body);
        let now = job(&stack).await;
        if starts {
            let job = now.as_ref().expect("a job");
            assert_eq!((job.state, job.done), (State::Running, 0));
            assert_eq!(job.task::<Task>().expect("a task"), Task::Follow);
            assert_ne!(now, before, "the job must have a new run");
        } else {
            assert_eq!(now, before, "{patch}");
        }
        before = now;
    }
}

/// Returns a patch with a new name and other random changes.
fn random_patch(rng: &mut Rng, version: i64, name: &str) -> Value {
    let mut patch = json!({"version": version, "name": name});
    if rng.bool() {
        patch["status"] = rng.choice(Status::ALL).expect("a status").as_str().into();
    }
    if rng.bool() {
        patch["endDate"] = format!("20{}-{:02}-28", rng.u8(11..99), rng.u8(1..=12)).into();
    }
    if rng.bool() {
        patch["data"] = json!({"round": version});
    }
    patch
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_concurrent_patch_succeeds_and_no_move_is_lost() {
    let seed = std::env::var("WELLNESS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("set WELLNESS_SEED={seed} to repeat the requests of this run");
    let mut rng = Rng::with_seed(seed);
    let (stack, client) = start().await;
    put(&stack, &[walk()]).await;
    put(&stack, &OF.map(|of| reference(&walk(), of))).await;
    put(&stack, &["0", "1", "2"].map(|id| section("123", id))).await;
    let (path, to) = (path_of("123"), format!("{}/section", path_of("123")));
    for version in 1..=20 {
        let patches: Vec<Value> =
            (0..8).map(|number| random_patch(&mut rng, version, &format!("Walk {version}.{number}"))).collect();
        let sections: Vec<Value> =
            (0..3).map(|_| rng.choice([json!("0"), json!("1"), json!("2"), Value::Null]).expect("one")).collect();
        let (answers, moved) = join(
            join_all(patches.iter().map(|patch| client.patch(&path, patch))),
            join_all(sections.iter().map(async |section| client.put(&to, &json!({"sectionId": section})).await)),
        )
        .await;
        assert!(moved.iter().all(|answer| answer.status == 200), "{moved:?}");
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 7), "round {version}");
        for answer in lost {
            assert_problem(answer, 412, "another-version", "all other patches are rejected");
        }
        let (row, references) = collection(&stack, "123").await;
        let mut stands = body(row.clone());
        let mut winner = won[0].body.clone();
        let section = stands["sectionId"].clone();
        assert!(sections.contains(&section), "{section} of {sections:?}");
        for body in [&mut stands, &mut winner] {
            body.as_object_mut()
                .expect("an object")
                .retain(|member, _| !["sectionId", "jobId", "enrolmentJobId"].contains(&member.as_str()));
        }
        assert_eq!((row.version, stands), (version + 1, winner), "round {version}");
        assert_eq!(references.len(), OF.len());
        for reference in references {
            assert_eq!(reference.place, reference.moved(row.status, row.end()), "round {version}");
        }
    }
}

fn is_transaction(call: &Call) -> bool {
    call.action == "TransactWriteItems"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_keeps_a_concurrent_move() {
    let twins = Twins::start(resting).await;
    put(&twins.healthy, &[walk()]).await;
    put(&twins.healthy, &[section("123", "7")]).await;
    twins.proxy.rule(|call| if is_transaction(call) { Fault::Held } else { Fault::None });
    let (healthy, faulty) = (Client::operator(&twins.healthy), Client::operator(&twins.faulty));
    let change = json!({"version": 1, "name": "Walk", "status": "draft"});
    let (path, to) = (path_of("123"), format!("{}/section", path_of("123")));
    let meanwhile = async {
        twins.proxy.held(1).await;
        let moved = healthy.put(&to, &json!({"sectionId": "7"})).await;
        assert_eq!(moved.status, 200);
        twins.proxy.release();
    };
    let (patched, ()) = join(faulty.patch(&path, &change), meanwhile).await;
    assert_eq!(patched.status, 200, "{}", patched.body);
    let (row, _) = collection(&twins.healthy, "123").await;
    assert_eq!((row.section_id, row.status), (Some("7".parse().expect("a section")), Status::Draft));
}

/// Replaces a reference in one transaction, as the job of W8 (replace-reference) does.
async fn replace(stack: &Stack, old: &str, new: &str) {
    let (dynamo, table) = table(stack);
    let (row, references) = collection(stack, "123").await;
    let old = references.iter().find(|one| one.of().to_string() == old).expect("the old reference");
    let changes = vec![
        table.delete(Reference::key_of(row.id(), old.of())),
        table.put_new(&reference(&row, new)).expect("a change"),
    ];
    dynamo.transact(changes).await.expect("done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_updates_a_concurrently_replaced_reference() {
    let twins = Twins::start(resting).await;
    put(&twins.healthy, &[walk()]).await;
    put(&twins.healthy, &[reference(&walk(), "VenueId-123"), reference(&walk(), "FileId-1")]).await;
    twins.proxy.rule(|call| if is_transaction(call) && call.nth == 1 { Fault::Held } else { Fault::None });
    let client = Client::operator(&twins.faulty);
    let meanwhile = async {
        twins.proxy.held(1).await;
        replace(&twins.healthy, "VenueId-123", "VenueId-456").await;
        twins.proxy.release();
    };
    let (path, change) = (path_of("123"), json!({"version": 1, "status": "cancelled", "endDate": "2020-06-30"}));
    let (patched, ()) = join(client.patch(&path, &change), meanwhile).await;
    assert_eq!((patched.status, twins.proxy.count("TransactWriteItems")), (200, 2), "{}", patched.body);
    let (row, references) = collection(&twins.healthy, "123").await;
    assert_eq!((row.version, references.len()), (2, 2));
    for reference in references {
        assert_eq!(reference.place.to_string(), "cancelled#2020-06-30T00:00:00#ActivityId-123", "{:?}", reference.of());
    }
}

/// A query is not a snapshot: during a replacement, it may return neither the old nor the new
/// reference. The local DynamoDB always returns a snapshot, so the proxy fakes the response.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_repeats_a_query_that_misses_a_reference() {
    let twins = Twins::start(resting).await;
    put(&twins.healthy, &[walk()]).await;
    put(&twins.healthy, &[reference(&walk(), "VenueId-123")]).await;
    let nothing = json!({"Items": [], "Count": 0, "ScannedCount": 1});
    twins.proxy.rule(move |call| match (call.action.as_str(), call.nth) {
        ("Query", 1) => Fault::Refused(axum::http::StatusCode::OK, nothing.clone()),
        _ => Fault::None,
    });
    let patch = json!({"version": 1, "status": "cancelled"});
    let patched = Client::operator(&twins.faulty).patch(&path_of("123"), &patch).await;
    assert_eq!((patched.status, twins.proxy.count("Query")), (200, 4), "{}", patched.body);
    let (_, references) = collection(&twins.healthy, "123").await;
    assert_eq!(references[0].place.status, Status::Cancelled);
}

const PATCH: &str = r#"{"version": 1, "status": "cancelled", "endDate": "2020-06-30"}"#;

/// Whether the patch was applied. Panics if only a part of it was applied.
async fn is_done(stack: &Stack, when: &str) -> bool {
    let (row, references) = collection(stack, "123").await;
    let done = row.version == 2;
    let (status, end) = if done { (Status::Cancelled, "2020-06-30T00:00:00") } else { (Status::Active, WALK) };
    assert_eq!((row.status, row.end().to_string()), (status, end.to_owned()), "{when}");
    assert!(references.iter().all(|one| one.place == one.moved(row.status, row.end())), "{when}: {references:?}");
    assert_eq!(job(stack).await.is_some(), done, "{when}");
    done
}

async fn reset(stack: &Stack) {
    let (dynamo, jobs) = (table(stack).0, jobs_of(stack));
    let (company, id) = ("123".parse().expect("a company"), JobId::Registrations("123".parse().expect("an activity")));
    // The job may not exist.
    let _ = dynamo.write(jobs.delete(job_key(&company, &id))).await;
    put(stack, &[walk()]).await;
    put(stack, &["VenueId-123", "FileId-1"].map(|of| reference(&walk(), of))).await;
}

/// A retry after a lost response gets 412, because the patch has already changed the version.
#[tokio::test(flavor = "multi_thread")]
async fn a_patch_with_a_lost_response_is_not_applied_twice() {
    let twins = Twins::start(resting).await;
    let (healthy, faulty) = (Client::operator(&twins.healthy), Client::operator(&twins.faulty));
    let patch: Value = serde_json::from_str(PATCH).expect("JSON");
    reset(&twins.healthy).await;
    twins.proxy.rule(|call| if is_transaction(call) { Fault::Lost(Moment::After) } else { Fault::None });
    assert_problem(&faulty.patch(&path_of("123"), &patch).await, 503, "unavailable", "all responses lost");
    assert!(is_done(&twins.healthy, "after the lost response").await);
    let first = job(&twins.healthy).await;
    assert_problem(&healthy.patch(&path_of("123"), &patch).await, 412, "another-version", "again");
    assert!(is_done(&twins.healthy, "again").await);
    assert_eq!(job(&twins.healthy).await, first, "the retry starts no second job");
}

/// The detail of an activity.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    sort: ProgramSort,
    detail: String,
}

impl Item for Part {
    const TYPE: &'static str = "Detail";
}

#[tokio::test]
async fn changes_consume_their_declared_cost() {
    join_all([(10, 0), (900, 1), (3_000, 5), (7_000, 4)].map(async |(filling, references)| {
        let (stack, client) = start().await;
        let data = || json_text(&json!({"text": "x".repeat(filling)}));
        let row = Activity { data: Some(data()), section_id: Some("7".parse().expect("a section")), ..walk() };
        let detail =
            Part { partition: "ActivityId-123".to_owned(), sort: ProgramSort::Detail, detail: "x".repeat(filling) };
        let referring: Vec<Reference> =
            OF[..references].iter().map(|of| Reference { copied_data: data(), ..reference(&row, of) }).collect();
        put(&stack, &[row]).await;
        put(&stack, &[detail]).await;
        put(&stack, &referring).await;
        put(&stack, &["7", "8"].map(|id| section("123", id))).await;
        put(&stack, &[Registration { data: Some(data()), ..registered() }]).await;
        let of = async |index, partition: &str, sort: &str| {
            let items = stored(&stack, index, partition).await;
            items.iter().find(|item| key(item, "SK").starts_with(sort)).map(bytes).unwrap_or_default()
        };
        let case = Case {
            activity: of(None, "ActivityId-123", "Program").await,
            program: of(Some("GSI1"), "CompanyId-123#Program", "Program").await,
            narrow: of(Some("GSI2"), "CompanyId-123#Program#List", "Program").await,
            part: of(None, "ActivityId-123", "Program#Detail").await,
            parts: 1,
            reference: of(Some("GSI2"), &format!("CompanyId-123#{}", OF[0]), "Program").await,
            references,
            registration: of(Some("GSI3"), "CompanyId-123#UserId-123#Registrations", "Registration").await,
            ..Case::default()
        };
        let path = path_of("123");
        let moved = client.put(&format!("{path}/section"), &json!({"sectionId": "8"})).await;
        let reported = client.patch(REPORT, &json!({"progress": 40.4})).await;
        let named = client.patch(&path, &json!({"version": 1, "name": "Walk 6000"})).await;
        let called_off = client.patch(&path, &json!({"version": 2, "status": "draft"})).await;
        let ended = client.patch(&path, &json!({"version": 3, "endDate": "2020-06-30"})).await;
        for (function, answer) in [
            ("move-activity", &moved),
            ("record-progress, administrator", &reported),
            ("update-activity", &named),
            ("update-activity, status", &called_off),
            ("update-activity, endDate", &ended),
        ] {
            assert_eq!(answer.status, 200, "{function}: {}", answer.body);
            assert_eq!(consumed(answer), declared(function, &case), "{function} of {case:?}");
        }
        let stranger = admin(&stack, "12").patch(&path, &json!({"version": 4, "name": "Walk"})).await;
        assert_eq!(consumed(&stranger), Consumed::new(), "a forbidden request reads nothing");
    }))
    .await;
}
