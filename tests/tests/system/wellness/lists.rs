//! Tests of three lists: activities with sections, activities in short form, and registrations.
//! They are patterns 1 to 3 of docs/requirements/wellness.md.

use futures::future::join_all;
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityEndDateSort, CompanyId, CompanyPartition, EndDateSort, ProgramPartition, SectionSort, ShownStatus,
        Status,
    },
};
use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Asks, Client, parsed, text,
    units::{Consumed, bytes, consumed},
    wellness::{activity, admin, declared, employee, json_text, of_company, put, registration, stack, stored},
};
use wellness::{Activity, Case, Filters, Registration, Section};

const REGISTRATIONS: &str = "/wellness/users/123/registrations";

fn section(company: &str, id: &str, name: &str, end: &str) -> Section {
    let company: CompanyId = company.parse().expect("a company");
    Section {
        partition: CompanyPartition(company.clone()),
        sort: SectionSort(id.parse().expect("a section")),
        program: ProgramPartition(company),
        end: EndDateSort(end.parse().expect("a time")),
        name: name.parse().expect("a name"),
        start_date: "2020-01-01T00:00:00".parse().expect("a time"),
    }
}

fn filters(roles: &[&str], departments: &[&str]) -> Filters {
    Filters {
        roles: roles.iter().map(|role| role.parse().expect("a role")).collect(),
        departments: departments.iter().map(|department| department.parse().expect("a department")).collect(),
    }
}

/// Returns the example activity from the requirement.
fn walk_5000() -> Activity {
    Activity {
        filters: filters(&["EmployeeOnPlan"], &["Sales"]),
        data: Some(json_text(&json!({"banner": "walk.png", "steps": 5000}))),
        ..activity("123", "123", "Walk 5000", "2020-12-31T00:00:00")
    }
}

async fn start() -> (Stack, Client) {
    let stack = stack().clock(parsed("2019-12-01T00:00:00Z")).start().await.expect("a stack");
    let client = admin(&stack, "123");
    (stack, client)
}

async fn list(client: &Client, path: &str) -> Vec<Value> {
    let answer = client.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    assert!(answer.body.get("nextCursor").is_none(), "the list must not have pages: {path}");
    answer.body["items"].as_array().expect("items").clone()
}

async fn ids(client: &Client, path: &str) -> Vec<String> {
    list(client, path).await.iter().map(|item| text(item, "activityId").to_owned()).collect()
}

fn attributes(item: &std::collections::HashMap<String, impl Sized>) -> BTreeSet<&str> {
    item.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn lists_activities_and_sections_as_in_the_requirement() {
    let (stack, client) = start().await;
    let whole = Activity {
        section_id: Some("7".parse().expect("a section")),
        template_id: Some("T-1".parse().expect("a template")),
        ..walk_5000()
    };
    put(&stack, &[whole]).await;
    put(&stack, &[section("123", "7", "Autumn", "2020-11-30T00:00:00")]).await;
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
            "activityId": "123",
            "companyId": "123",
            "name": "Walk 5000",
            "type": "challenge",
            "subType": "Fitness",
            "startDate": "2010-01-01T00:00:00Z",
            "endDate": "2020-12-31T00:00:00Z",
            "status": "active",
            "sectionId": "7",
            "enrolment": "automatic", "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
            "data": {"banner": "walk.png", "steps": 5000},
            "templateId": "T-1",
            "version": 1,
            "createdAt": "2019-12-01T09:30:00Z",
        }],
        "sections": [{
            "sectionId": "7",
            "name": "Autumn",
            "startDate": "2020-01-01T00:00:00Z",
            "endDate": "2020-11-30T00:00:00Z",
            "activityIds": ["123"],
        }],
    });
    assert_eq!((answer.status, answer.body), (200, expected));
}

#[tokio::test]
async fn lists_activities_in_short_form_with_filters() {
    let (stack, client) = start().await;
    let everybodys = activity("123", "456", "Sleep 8", "2020-12-31T00:00:00");
    put(&stack, &[walk_5000(), everybodys]).await;
    let entries = stored(&stack, Some("GSI2"), "CompanyId-123#Program#List").await;
    for entry in &entries {
        let narrow = "PK SK GSI2PK GSI2SK Name ActivityType SubType Status Filters";
        assert_eq!(attributes(entry), narrow.split(' ').collect(), "GSI2 must not project Data");
        assert_eq!(entry["GSI2SK"].as_s().map(String::as_str), Ok("EndDate#2020-12-31T00:00:00"));
    }
    let options = of_company("123", "activity-options?year=2020");
    let expected = json!({
        "activityId": "123",
        "name": "Walk 5000",
        "type": "challenge",
        "subType": "Fitness",
        "status": "active",
        "endDate": "2020-12-31T00:00:00Z",
        "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
    });
    assert!(list(&client, &options).await.contains(&expected));
    for (query, found) in [
        ("", ["123", "456"].as_slice()),
        ("&role=EmployeeOnPlan&department=Sales", &["123", "456"]),
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
        // The entries have the same index sort key, so their order is undefined.
        let mut ids = ids(&client, &format!("{options}{query}")).await;
        ids.sort();
        assert_eq!(ids, found, "{query}");
    }
}

#[tokio::test]
async fn lists_registrations_as_in_the_requirement() {
    let (stack, client) = start().await;
    let walk = activity("123", "789", "Walk 1000", "2020-12-31T00:00:00");
    let progress = Registration {
        progress: 40.4.try_into().expect("progress"),
        progress_text: "404 / 1000 steps".to_owned(),
        earned_points: 40,
        data: Some(json_text(&json!({"device": "watch"}))),
        ..registration(&walk, "123")
    };
    let plain = activity("123", "790", "Read", "2020-12-31T00:00:01");
    put(&stack, &[registration(&plain, "123"), progress]).await;
    put(&stack, &[plain, Activity { section_id: Some("7".parse().expect("a section")), ..walk }]).await;
    let entries = stored(&stack, Some("GSI3"), "CompanyId-123#UserId-123#Registrations").await;
    assert_eq!(entries[0]["GSI3SK"].as_s().map(String::as_str), Ok("ActivityEndDate#2020-12-31T00:00:00"));
    assert_eq!(entries[0]["Progress"].as_n().map(String::as_str), Ok("40.4"));
    let expected = json!([
        {
            "activityId": "789",
            "name": "Walk 1000",
            "endDate": "2020-12-31T00:00:00Z",
            "activityStatus": "active",
            "status": "enrolled",
            "sectionId": "7",
            "progress": 40.4,
            "progressText": "404 / 1000 steps",
            "earnedPoints": 40,
            "data": {"device": "watch"},
        },
        {
            "activityId": "790",
            "name": "Read",
            "endDate": "2020-12-31T00:00:01Z",
            "activityStatus": "active",
            "status": "enrolled",
            "progress": 0.0,
            "progressText": "",
            "earnedPoints": 0,
        },
    ]);
    assert_eq!(Value::from(list(&client, &format!("{REGISTRATIONS}?year=2020")).await), expected);
}

#[tokio::test]
async fn registrations_show_the_current_state_of_their_activities() {
    let (stack, client) = start().await;
    let old = activity("123", "789", "Walk 1000", "2020-12-31T00:00:00");
    let gone = activity("123", "790", "Gone", "2020-12-31T00:00:00");
    put(&stack, &[registration(&old, "123"), registration(&gone, "123"), registration(&old, "1234")]).await;
    assert_eq!(
        list(&client, &format!("{REGISTRATIONS}?year=2020")).await,
        [] as [Value; 0],
        "a registration without an activity is omitted"
    );
    let now = Activity {
        name: "Walk 2000".parse().expect("a name"),
        status: Status::Cancelled,
        section_id: Some("8".parse().expect("a section")),
        ..old
    };
    put(&stack, &[now]).await;
    let items = list(&client, &format!("{REGISTRATIONS}?year=2020")).await;
    assert_eq!(items.len(), 1);
    assert_eq!(
        ["name", "activityStatus", "sectionId"].map(|name| text(&items[0], name)),
        ["Walk 2000", "cancelled", "8"],
        "{items:?}"
    );
}

/// Returns the paths of the three lists, without a query string.
fn lists() -> [String; 3] {
    [of_company("123", "activities"), of_company("123", "activity-options"), REGISTRATIONS.to_owned()]
}

const ENDS: [&str; 6] = [
    "2018-12-31T23:59:59",
    "2019-12-31T23:59:59",
    "2020-01-01T00:00:00",
    "2020-12-31T23:59:59",
    "2021-01-01T00:00:00",
    "2021-12-31T23:59:59",
];

/// Puts an activity and a section for each end date, and registers user 123 for each activity.
async fn seed_ends(stack: &Stack) {
    let activities = ENDS.map(|end| activity("123", end, end, end));
    put(stack, &activities.each_ref().map(|activity| registration(activity, "123"))).await;
    put(stack, &activities).await;
    put(stack, &ENDS.map(|end| section("123", end, end, end))).await;
}

#[tokio::test]
async fn a_period_includes_its_first_and_last_second() {
    let (stack, client) = start().await;
    seed_ends(&stack).await;
    for (query, found) in [
        ("year=2020", &ENDS[2..4]),
        ("year=2019", &ENDS[1..2]),
        ("year=2022", &[]),
        ("from=2020-12-31T23:59:59&to=2021-01-01T00:00:00", &ENDS[3..5]),
        ("from=2021-01-01T00:00:00&to=2021-01-01T00:00:00", &ENDS[4..5]),
        ("from=2020-12-31&to=2020-12-31", &ENDS[3..4]),
        ("from=2020-01-01&to=2021-01-01", &ENDS[2..5]),
        ("from=2019-12-31T23:59:58&to=2020-12-31T23:59:58", &ENDS[1..3]),
        ("from=2020-12-31T23:59:59Z&to=2021-01-01T00:00:00Z", &ENDS[3..5]),
        ("from=2021-01-01T01:59:59%2B02:00&to=2021-01-01T02:00:00%2B02:00", &ENDS[3..5]),
        ("from=2020-12-31T23:59:59.001Z&to=2021-01-01T00:00:00.999Z", &ENDS[4..5]),
        ("from=2019-12-31&to=2021-12-30", &ENDS[1..5]),
        ("from=2020-01-01&to=2021-12-31", &ENDS[2..6]),
    ] {
        for path in lists() {
            assert_eq!(ids(&client, &format!("{path}?{query}")).await, found, "{path} {query}");
        }
        let programme = client.get(&of_company("123", &format!("activities?{query}"))).await;
        let sections = programme.body["sections"].as_array().expect("sections");
        assert_eq!(sections.iter().map(|section| text(section, "sectionId")).collect::<Vec<_>>(), found, "{query}");
    }
}

#[tokio::test]
async fn the_default_period_is_the_current_year() {
    let (stack, _) = start().await;
    let client = Client::operator(&stack);
    seed_ends(&stack).await;
    for (time, found) in [
        ("2019-12-31T23:59:59.999Z", &ENDS[1..2]),
        ("2020-01-01T00:00:00Z", &ENDS[2..4]),
        ("2020-12-31T23:59:59.999Z", &ENDS[2..4]),
        ("2021-01-01T00:00:00Z", &ENDS[4..6]),
    ] {
        for (function, route, parameters) in [
            ("list-activities", "/wellness/companies/{companyId}/activities", json!({"companyId": "123"})),
            ("list-activity-options", "/wellness/companies/{companyId}/activity-options", json!({"companyId": "123"})),
            ("list-registrations", "/wellness/users/{userId}/registrations", json!({"userId": "123"})),
        ] {
            let (route, path) = (format!("GET {route}"), route);
            let is_of_user = path.starts_with("/wellness/users");
            let query = if is_of_user { "companyId=123" } else { "status=active,completed" };
            let path = &format!("{path}?{query}");
            let event = Asks { route: &route, path, parameters, key: None, body: None };
            let answer = client.invoke(function, &event.at(time.parse().expect("a time"))).await.body;
            let body: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
            let items = body["items"].as_array().expect("items");
            assert_eq!(
                items.iter().map(|item| text(item, "activityId").to_owned()).collect::<Vec<_>>(),
                found,
                "{path} {time}"
            );
        }
    }
}

const ENDED: &str = "2020-01-31T23:59:59";
const LATER: &str = "2020-06-30T00:00:00";

#[tokio::test]
async fn the_status_filter_applies_to_activities_only() {
    let stack = stack().clock(parsed("2020-02-01T00:00:00Z")).start().await.expect("a stack");
    let client = admin(&stack, "123");
    let of_status = |status: ShownStatus| Activity {
        status: status.stored(),
        section_id: Some("7".parse().expect("a section")),
        ..activity("123", status.as_str(), "Walk", if status == ShownStatus::Completed { ENDED } else { LATER })
    };
    put(&stack, &ShownStatus::ALL.map(of_status)).await;
    put(&stack, &[section("123", "7", "Spring", "2020-06-30"), section("123", "8", "Empty", "2020-06-30")]).await;
    for (status, found) in [
        ("", ["active"].as_slice()),
        ("&status=active", &["active"]),
        ("&status=draft", &["draft"]),
        ("&status=draft,completed", &["completed", "draft"]),
        ("&status=draft,%20completed,draft", &["completed", "draft"]),
        ("&status=active,cancelled,completed,draft", &["active", "cancelled", "completed", "draft"]),
    ] {
        let sorted = |mut ids: Vec<String>| {
            ids.sort();
            ids
        };
        for path in &lists()[..2] {
            assert_eq!(sorted(ids(&client, &format!("{path}?year=2020{status}")).await), found, "{path} {status}");
        }
        let programme = client.get(&of_company("123", &format!("activities?year=2020{status}"))).await.body;
        let sections: BTreeMap<String, Vec<String>> = programme["sections"]
            .as_array()
            .expect("sections")
            .iter()
            .map(|section| {
                let within = serde_json::from_value(section["activityIds"].clone()).expect("ids");
                (text(section, "sectionId").to_owned(), sorted(within))
            })
            .collect();
        let found: Vec<String> = found.iter().map(|&id| id.to_owned()).collect();
        assert_eq!(sections, BTreeMap::from([("7".to_owned(), found), ("8".to_owned(), Vec::new())]), "{status}");
    }
}

#[tokio::test]
async fn lists_consume_their_declared_cost() {
    join_all([(1, 100), (40, 720), (150, 3_010)].map(async |(items, filling)| {
        let (stack, client) = start().await;
        let data = || Some(json_text(&json!({"text": "x".repeat(filling)})));
        let activities: Vec<Activity> = (0..items)
            .map(|number| Activity {
                data: data(),
                ..activity("123", &format!("A-{number:03}"), "Walk", "2020-12-31T00:00:00")
            })
            .collect();
        let registered = activities.iter().map(|activity| registration(activity, "123"));
        let registered: Vec<Registration> = registered.map(|one| Registration { data: data(), ..one }).collect();
        put(&stack, &activities).await;
        put(&stack, &registered).await;
        let size = async |index, partition| bytes(&stored(&stack, index, partition).await[0]);
        let case = Case {
            activity: size(None, "ActivityId-A-000").await,
            program: size(Some("GSI1"), "CompanyId-123#Program").await,
            narrow: size(Some("GSI2"), "CompanyId-123#Program#List").await,
            registration: size(Some("GSI3"), "CompanyId-123#UserId-123#Registrations").await,
            items,
            ..Case::default()
        };
        let functions = ["list-activities", "list-activity-options", "list-registrations"];
        for (path, function) in lists().into_iter().zip(functions) {
            let answer = client.get(&format!("{path}?year=2020")).await;
            assert_eq!(answer.body["items"].as_array().map(Vec::len), Some(items), "{function}");
            assert_eq!(consumed(&answer), declared(function, &case), "{function} of {case:?}");
            let stranger = employee(&stack, "12", "124").get(&format!("{path}?year=2020")).await;
            assert_eq!(consumed(&stranger), Consumed::new(), "a forbidden request reads nothing");
        }
    }))
    .await;
}

/// Checks the key ranges directly, without invoking a function.
#[test]
fn key_ranges_of_a_plan_year_include_its_first_and_last_second() {
    let second: TimestampSeconds = "2020-06-30T12:00:00Z".parse().expect("a time");
    let year = keys::wellness::Period::of_year(keys::wellness::Year::of(second));
    let activities = EndDateSort::within(year);
    assert_eq!(activities.from(), "EndDate#2020-01-01T00:00:00");
    for (end, is_within) in ENDS.into_iter().zip([false, false, true, true, false, false]) {
        assert_eq!(activities.contains(&format!("EndDate#{end}")), is_within, "{end}");
        let registrations = ActivityEndDateSort::within(year);
        assert_eq!(registrations.contains(&format!("ActivityEndDate#{end}")), is_within, "{end}");
    }
}
