//! Three lists: activities with sections, activities in short form, and registrations
//! (docs/requirements/wellness.md#pattern-1-list-activities-and-sections-of-a-plan-year).

use keys::wellness::{CompanyPartition, EndDateSort, ProgramPartition, SectionSort, ShownStatus, Status};
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client, parsed, text, texts,
    wellness::{activity, admin, json_text, of_company, put, registration, stack, stored},
};
use wellness::{Activity, Filters, Registration, Section};

const REGISTRATIONS: &str = "/wellness/users/123/registrations?companyId=123&";
const END: &str = "2020-12-31T00:00:00";

fn section(id: &str, end: &str) -> Section {
    Section {
        partition: CompanyPartition(parsed("123")),
        sort: SectionSort(parsed(id)),
        program: ProgramPartition(parsed("123")),
        end: EndDateSort(parsed(end)),
        name: parsed("Autumn"),
        start_date: parsed("2020-01-01T00:00:00"),
        revision: None,
    }
}

/// Returns the example activity from the requirement.
fn walk_5000() -> Activity {
    Activity {
        filters: Filters {
            roles: vec![parsed("EmployeeOnPlan")],
            departments: vec![parsed("Sales")],
            ..Filters::default()
        },
        data: Some(json_text(&json!({"banner": "walk.png", "steps": 5000}))),
        ..activity("123", "123", "Walk 5000", END)
    }
}

async fn start() -> (Stack, Client) {
    let stack = stack().clock(parsed("2019-12-01T00:00:00Z")).start().await.expect("a stack");
    let client = admin(&stack, "123");
    (stack, client)
}

/// Returns the paths of the three lists, up to the query string.
fn lists() -> [String; 3] {
    [of_company("123", "activities?"), of_company("123", "activity-options?"), REGISTRATIONS.to_owned()]
}

async fn list(client: &Client, path: &str) -> Vec<Value> {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    assert!(answer.body.get("nextCursor").is_none(), "the list must not have pages: {path}");
    answer.body["items"].as_array().expect("items").clone()
}

/// Returns the sorted ids of the activities in a list.
async fn ids(client: &Client, path: &str) -> Vec<String> {
    let list = list(client, path).await;
    texts(&list, "activityId").into_iter().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

fn attributes(item: &std::collections::HashMap<String, impl Sized>) -> BTreeSet<&str> {
    item.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn lists_activities_and_sections_as_in_the_requirement() {
    let (stack, client) = start().await;
    put(&stack, &[Activity { section_id: Some(parsed("7")), template_id: Some(parsed("T-1")), ..walk_5000() }]).await;
    put(&stack, &[section("7", "2020-11-30T00:00:00")]).await;
    let entries = stored(&stack, Some("GSI1"), "CompanyId-123#Program").await;
    let key = |at: usize| ["GSI1SK", "PK", "SK"].map(|name| entries[at][name].as_s().expect("text").as_str());
    assert_eq!(key(0), ["EndDate#2020-11-30T00:00:00", "CompanyId-123", "Section#SectionId-7"]);
    assert_eq!(key(1), ["EndDate#2020-12-31T00:00:00", "ActivityId-123", "Program"]);
    let projected = "PK SK GSI1PK GSI1SK Type CompanyId Name ActivityType SubType Status StartDate SectionId Filters Data \
                     TemplateId Version CreatedAt";
    assert_eq!(attributes(&entries[1]), projected.split(' ').collect());
    let answer = client.get(&of_company("123", "activities?year=2020")).await;
    let expected = json!({
        "items": [{
            "activityId": "123", "companyId": "123", "name": "Walk 5000", "type": "challenge", "subType": "Fitness",
            "startDate": "2010-01-01T00:00:00Z", "endDate": "2020-12-31T00:00:00Z", "status": "active",
            "sectionId": "7", "enrolment": "automatic",
            "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
            "data": {"banner": "walk.png", "steps": 5000}, "templateId": "T-1", "version": 1,
            "createdAt": "2019-12-01T09:30:00Z",
        }],
        "sections": [{
            "sectionId": "7", "name": "Autumn", "startDate": "2020-01-01T00:00:00Z",
            "endDate": "2020-11-30T00:00:00Z", "activityIds": ["123"],
        }],
    });
    assert_eq!((answer.status, answer.body), (200, expected));
}

#[tokio::test]
async fn lists_activities_in_short_form_with_filters() {
    let (stack, client) = start().await;
    put(&stack, &[walk_5000(), activity("123", "456", "Sleep 8", END)]).await;
    for entry in stored(&stack, Some("GSI2"), "CompanyId-123#Program#List").await {
        let narrow = "PK SK GSI2PK GSI2SK Name ActivityType SubType Status Filters";
        assert_eq!(attributes(&entry), narrow.split(' ').collect(), "GSI2 must not project Data");
    }
    let options = of_company("123", "activity-options?year=2020");
    let expected = json!({
        "activityId": "123", "name": "Walk 5000", "type": "challenge", "subType": "Fitness", "status": "active",
        "endDate": "2020-12-31T00:00:00Z", "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
    });
    assert!(list(&client, &options).await.contains(&expected));
    for (query, found) in [
        ("", ["123", "456"].as_slice()),
        ("&role=EmployeeOnPlan", &["123", "456"]),
        ("&department=Sales", &["123", "456"]),
        ("&department=Finance", &["456"]),
        ("&role=Spouse", &["456"]),
        ("&role=EmployeeOnPlan&department=Finance", &["456"]),
        ("&role=employeeonplan", &["456"]),
        ("&type=challenge&subType=Fitness&role=EmployeeOnPlan&department=Sales", &["123", "456"]),
        ("&type=event", &[]),
        ("&subType=Education", &[]),
    ] {
        assert_eq!(ids(&client, &format!("{options}{query}")).await, found, "{query}");
    }
}

/// The progress is that of the registration. The rest is the current state of the activity.
#[tokio::test]
async fn lists_registrations_as_in_the_requirement() {
    let (stack, client) = start().await;
    let walk = activity("123", "789", "Walk 1000", END);
    let read = activity("123", "790", "Read", "2020-12-31T00:00:01");
    let progress = Registration {
        progress: 40.4.try_into().expect("progress"),
        progress_text: "404 / 1000 steps".to_owned(),
        earned_points: 40,
        data: Some(json_text(&json!({"device": "watch"}))),
        ..registration(&walk, "123")
    };
    put(&stack, &[registration(&read, "123"), progress, registration(&walk, "1234")]).await;
    let entries = stored(&stack, Some("GSI3"), "CompanyId-123#UserId-123#Registrations").await;
    assert_eq!(entries[0]["GSI3SK"].as_s().map(String::as_str), Ok("ActivityEndDate#2020-12-31T00:00:00"));
    assert_eq!(entries[0]["Progress"].as_n().map(String::as_str), Ok("40.4"));
    let path = format!("{REGISTRATIONS}year=2020");
    assert_eq!(list(&client, &path).await, [] as [Value; 0], "a registration without an activity is omitted");
    let walk = Activity { section_id: Some(parsed("7")), status: Status::Cancelled, ..walk };
    put(&stack, &[read, Activity { name: parsed("Walk 2000"), ..walk }]).await;
    let expected = json!([
        {
            "activityId": "789", "name": "Walk 2000", "endDate": "2020-12-31T00:00:00Z",
            "activityStatus": "cancelled", "status": "enrolled", "sectionId": "7", "progress": 40.4,
            "progressText": "404 / 1000 steps", "earnedPoints": 40, "data": {"device": "watch"},
        },
        {
            "activityId": "790", "name": "Read", "endDate": "2020-12-31T00:00:01Z", "activityStatus": "active",
            "status": "enrolled", "progress": 0.0, "progressText": "", "earnedPoints": 0,
        },
    ]);
    assert_eq!(Value::from(list(&client, &path).await), expected);
}

const ENDS: [&str; 6] = [
    "2018-12-31T23:59:59",
    "2019-12-31T23:59:59",
    "2020-01-01T00:00:00",
    "2020-12-31T23:59:59",
    "2021-01-01T00:00:00",
    "2021-12-31T23:59:59",
];

#[tokio::test]
async fn a_period_includes_its_first_and_last_second() {
    let (stack, client) = start().await;
    let activities = ENDS.map(|end| activity("123", end, end, end));
    put(&stack, &activities.each_ref().map(|activity| registration(activity, "123"))).await;
    put(&stack, &activities).await;
    put(&stack, &ENDS.map(|end| section(end, end))).await;
    for (query, found) in [
        ("year=2020", &ENDS[2..4]),
        ("year=2022", &[]),
        ("from=2020-12-31T23:59:59&to=2021-01-01T00:00:00", &ENDS[3..5]),
        ("from=2020-12-31&to=2020-12-31", &ENDS[3..4]),
        ("from=2020-01-01&to=2021-01-01", &ENDS[2..5]),
        ("from=2019-12-31T23:59:58&to=2020-12-31T23:59:58", &ENDS[1..3]),
        ("from=2021-01-01T01:59:59%2B02:00&to=2021-01-01T02:00:00%2B02:00", &ENDS[3..5]),
        ("from=2020-12-31T23:59:59.001Z&to=2021-01-01T00:00:00.999Z", &ENDS[4..5]),
        ("from=2020-01-01&to=2021-12-31", &ENDS[2..6]),
    ] {
        for path in lists() {
            let listed = list(&client, &format!("{path}{query}")).await;
            assert_eq!(texts(&listed, "activityId"), found, "{path} {query}");
        }
        let programme = client.get(&of_company("123", &format!("activities?{query}"))).await.body;
        assert_eq!(texts(programme["sections"].as_array().expect("sections"), "sectionId"), found, "{query}");
    }
}

#[tokio::test]
async fn the_status_filter_applies_to_activities_only() {
    let stack = stack().clock(parsed("2020-02-01T00:00:00Z")).start().await.expect("a stack");
    let client = admin(&stack, "123");
    let of_status = |status: ShownStatus| {
        let end = if status == ShownStatus::Completed { "2020-01-31T23:59:59" } else { "2020-06-30T00:00:00" };
        let activity = activity("123", status.as_str(), "Walk", end);
        Activity { status: status.stored(), section_id: Some(parsed("7")), ..activity }
    };
    put(&stack, &ShownStatus::ALL.map(of_status)).await;
    put(&stack, &["7", "8"].map(|id| section(id, "2020-06-30"))).await;
    for (status, found) in [
        ("", ["active"].as_slice()),
        ("&status=active", &["active"]),
        ("&status=draft", &["draft"]),
        ("&status=draft,%20completed,draft", &["completed", "draft"]),
        ("&status=active,cancelled,completed,draft", &["active", "cancelled", "completed", "draft"]),
    ] {
        for path in &lists()[..2] {
            assert_eq!(ids(&client, &format!("{path}year=2020{status}")).await, found, "{path} {status}");
        }
        let programme = client.get(&of_company("123", &format!("activities?year=2020{status}"))).await.body;
        for section in programme["sections"].as_array().expect("sections") {
            let within = section["activityIds"].as_array().expect("ids").iter().filter_map(Value::as_str);
            let right = if text(section, "sectionId") == "7" { found } else { &[] };
            assert_eq!(within.collect::<BTreeSet<_>>(), right.iter().copied().collect(), "{status}");
        }
        assert_eq!(programme["sections"].as_array().map(Vec::len), Some(2), "{status}");
    }
}
