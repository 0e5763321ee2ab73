//! Helpers for tests of the wellness service.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

pub mod files;
pub mod references;

use crate::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use keys::wellness::{
    ActivityPartition, ActivityType, CompanyId, EmployeeKey, EndDateSort, ListPartition, ProgramPartition, ProgramSort,
    Status,
};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::HashMap;
use table::{BatchWrite, Dynamo, Item, JsonText, Key, Table};
use wellness::{Activity, Employee, Filters, Progress, Registration, Reward};

/// The stack of the wellness programme alone.
pub fn stack() -> Builder {
    crate::stack().stacks(["wellness"])
}

/// Returns a client for an administrator of the company.
pub fn admin(stack: &Stack, company: &str) -> Client {
    Client::member(stack, "wellness:read wellness:write wellness:admin", company, &format!("admin-of-{company}"))
}

/// Returns a client for a user of the company who lacks the admin scope.
pub fn employee(stack: &Stack, company: &str, user: &str) -> Client {
    Client::member(stack, "wellness:read wellness:write", company, user)
}

/// Returns a path below `/wellness/companies/{company}`.
pub fn of_company(company: &str, rest: &str) -> String {
    format!("/wellness/companies/{company}/{rest}")
}

/// Returns the path of a user's registrations in a company. Only operators need the query string.
pub fn registrations_of(company: &str, user: &str) -> String {
    format!("/wellness/users/{user}/registrations?companyId={company}")
}

/// Returns the path of a user's registration for an activity.
pub fn registration_of(company: &str, user: &str, activity: &str) -> String {
    format!("/wellness/users/{user}/registrations/{activity}?companyId={company}")
}

/// Returns the stored key of an employee.
pub fn employee_key(company: &str, user: &str) -> Key {
    let [company, user] = [company, user].map(str::to_owned);
    Employee::key_of(&EmployeeKey { company: company.parse().expect("a company"), user: user.parse().expect("a user") })
}

/// Returns the body of a request to create a challenge for all employees. The challenge has a
/// detail, a goal, a reward and two groups.
pub fn challenge(name: &str, end: &str) -> Value {
    json!({
        "name": name,
        "type": "challenge",
        "subType": "Fitness",
        "startDate": "2020-01-01T00:00:00",
        "endDate": end,
        "filters": {"roles": [], "departments": []},
        "detail": {"description": name},
        "goal": {"type": "steps", "parameters": {"target": 1000}},
        "rewards": [{"kind": "Attendance", "name": "Points", "amount": 40}],
        "groups": {"type": "team", "rules": {}, "items": [{"name": "Red"}, {"name": "Blue"}]},
        "references": [],
    })
}

/// Returns the body of a request to create an event at these venues. Each reference copies the name
/// of its venue.
pub fn event_at(name: &str, end: &str, venues: &[&str]) -> Value {
    let reference = |venue: &&str| json!({"facet": "venues", "id": venue, "data": {"Name": format!("Venue {venue}")}});
    let mut event = challenge(name, end);
    event["type"] = "event".into();
    event["references"] = venues.iter().map(reference).collect();
    event
}

/// Creates an activity and returns the response body.
pub async fn create(client: &Client, company: &str, activity: &Value) -> Value {
    let answer = client.post(&of_company(company, "activities"), activity).await;
    assert_eq!(answer.status, 201, "{activity}: {}", answer.body);
    answer.body
}

/// Returns the `Activities` table for direct access.
pub fn table(stack: &Stack) -> (Dynamo, Table) {
    let dynamo = crate::dynamo(stack);
    let table = dynamo.table(stack.table("Activities").expect("a table"));
    (dynamo, table)
}

/// Puts items directly into the table.
pub async fn put<T: Item>(stack: &Stack, items: &[T]) {
    let (dynamo, table) = table(stack);
    let mut batch = BatchWrite::default();
    for item in items {
        batch.put(&table, item).expect("an item");
    }
    dynamo.batch_write(batch).await.expect("written");
}

/// Returns a reward of an activity, to be put directly into the table.
pub fn reward(activity: &str, kind: &str, points: u32, percent: Option<f64>) -> Reward {
    let percent = percent.map(|percent| Progress::try_from(percent).expect("a percentage"));
    Reward {
        partition: ActivityPartition(activity.parse().expect("an id")),
        sort: ProgramSort::Reward(kind.parse().expect("a kind")),
        name: "Points".parse().expect("a name"),
        amount: points.try_into().expect("points"),
        percent: percent.map(|percent| percent.try_into().expect("a milestone")),
    }
}

/// Returns the base row of an active challenge for all employees, to be put directly into the
/// table.
pub fn activity(company: &str, id: &str, name: &str, end: &str) -> Activity {
    let company: CompanyId = company.parse().expect("a company");
    let end = EndDateSort(end.parse().expect("a time"));
    Activity {
        moved_by: None,
        partition: ActivityPartition(id.parse().expect("an activity")),
        sort: ProgramSort::Program,
        program: ProgramPartition(company.clone()),
        end,
        list: Some(ListPartition(company.clone())),
        list_end: Some(end),
        company,
        name: name.parse().expect("a name"),
        activity_type: ActivityType::Challenge,
        sub_type: "Fitness".parse().expect("a subtype"),
        status: Status::Active,
        start_date: "2010-01-01T00:00:00".parse().expect("a time"),
        section_id: None,
        filters: Filters::default(),
        data: None,
        capacity: None,
        enrolment: None,
        template_id: None,
        version: 1,
        created_at: "2019-12-01T09:30:00Z".parse().expect("a time"),
        changed_by: None,
    }
}

/// Converts JSON to the form that the table stores.
pub fn json_text(json: &Value) -> JsonText {
    serde_json::from_value(json.to_string().into()).expect("JSON")
}

/// Returns a user's registration for the activity, without progress.
pub fn registration(activity: &Activity, user: &str) -> Registration {
    let user = user.parse().expect("a user");
    Registration::new(activity.company.clone(), activity.id().clone(), activity.end(), user, activity.created_at)
}

/// Reads a partition of the table `Activities` or of one of its indexes.
pub async fn stored(stack: &Stack, index: Option<&str>, partition: &str) -> Vec<HashMap<String, AttributeValue>> {
    stored_in("Activities", stack, index, partition).await
}

/// Reads a partition of a wellness table or of one of its indexes.
pub async fn stored_in(
    table: &str,
    stack: &Stack,
    index: Option<&str>,
    partition: &str,
) -> Vec<HashMap<String, AttributeValue>> {
    let query = stack.client().expect("a client").query().table_name(stack.table(table).expect("a table"));
    let key = index.map_or_else(|| "PK".to_owned(), |index| format!("{index}PK"));
    let query = query.set_index_name(index.map(str::to_owned)).key_condition_expression("#p = :p");
    let query = query.expression_attribute_names("#p", key);
    let query = query.expression_attribute_values(":p", AttributeValue::S(partition.to_owned()));
    let items = query.into_paginator().items().send().collect::<Result<_, _>>().await;
    items.expect("items")
}
