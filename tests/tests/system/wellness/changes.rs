//! Tests of changes: moves between sections (W6), progress reports (W12), and updates of activities
//! (W16).

use aws_sdk_dynamodb::types::AttributeValue;
use function::Batch;
use futures::future::join_all;
use jobs::{Job, State};
use keys::wellness::{
    ActivityId, CompanyId, CompanyPartition, EndDateSort, FacetRef, JobId, ProgramPartition, ProgramSort, SectionSort,
    UseSort,
};
use local::{Builder, Stack};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use system_tests::{
    Answer, Client, End, parsed, text,
    units::{Consumed, bytes, consumed},
    wellness::{
        activity, admin, declared, employee, json_text, of_company, put, registration, reward, stack, stored, table,
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

#[tokio::test]
async fn a_report_has_at_most_2_kb_of_data() {
    let (stack, operator) = start().await;
    put(&stack, &[registered()]).await;
    put(&stack, &[activity("123", "789", "Walk 1000", "2099-12-31")]).await;
    let report = |length| json!({"progress": 1, "data": {"text": "x".repeat(length)}});
    assert_problem(&operator.patch(REPORT, &report(2_038)).await, 413, "too-large", "2,049 bytes");
    assert_eq!(operator.patch(REPORT, &report(2_037)).await.status, 200);
    stack.stop().await;
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
