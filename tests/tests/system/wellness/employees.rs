//! Tests of W10 (put-employee) and W11 (register-new-employee)
//! (docs/requirements/wellness.md#new-employees-join-eligible-challenges).
//!
//! The simulation races employees, activities and their jobs.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;
use jiff::Timestamp;
use keys::wellness::{ActivityEndDateSort, ActivityType, Status};
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};
use system_tests::{
    Client, drained,
    faults::{Call, Fault, Process, Proxy},
    parsed, until,
    wellness::{
        activity, admin, employee_key, of_company, put, references::staff, registration, registration_of, stack,
    },
};
use table::Item;
use wellness::{Activity, Employee, Filters, Registration};

const FUNCTION: &str = "register-new-employee";
const AT: &str = "2030-06-15T12:00:00Z";
const END: &str = "2030-12-31T23:59:59";

/// Returns an active challenge of company 1.
fn challenge(id: &str, end: &str, roles: &[&str], departments: &[&str]) -> Activity {
    let roles = roles.iter().map(|role| parsed(role)).collect();
    let departments = departments.iter().map(|department| parsed(department)).collect();
    Activity { filters: Filters { roles, departments, ..Filters::default() }, ..activity("1", id, "Walk 5000", end) }
}

/// Returns the stream record of a change to an employee of company 1.
fn change(number: usize, user: &str, at: &str) -> Value {
    let key = employee_key("1", user);
    json!({
        "eventID": number.to_string(),
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": at.parse::<Timestamp>().expect("a time").as_second(),
            "Keys": {"PK": {"S": key.partition()}, "SK": {"S": key.sort()}},
            "SequenceNumber": number.to_string(),
            "StreamViewType": "NEW_IMAGE",
        },
    })
}

/// The response to a batch whose records fail from this one on.
fn failed_from(number: Option<usize>) -> Value {
    let failed = number.map(|number| json!({"itemIdentifier": number.to_string()}));
    json!({"batchItemFailures": failed.into_iter().collect::<Vec<_>>()})
}

async fn deliver(stack: &Stack, changes: &[Value]) {
    let answer = Client::operator(stack).invoke(FUNCTION, &json!({"Records": changes})).await;
    assert_eq!(answer.body, failed_from(None), "{changes:?}");
}

/// Starts a stack with employees of Sales and activities. Nobody is registered yet, because the
/// stream delivered the employees before the activities existed.
async fn scene(users: &[&str], activities: &[Activity]) -> Stack {
    let stack = stack().start().await.expect("a stack");
    put(&stack, &users.iter().map(|user| staff("1", user, "Sales")).collect::<Vec<_>>()).await;
    drained(&Client::operator(&stack), FUNCTION).await;
    put(&stack, activities).await;
    stack
}

/// Reads all registrations.
async fn registrations(stack: &Stack) -> Vec<Registration> {
    let client = stack.client().expect("a client");
    let scan = client.scan().table_name(stack.table("Activities").expect("a table")).consistent_read(true);
    let items = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.expect("items");
    let is_one = |item: &HashMap<String, AttributeValue>| item["Type"].as_s().is_ok_and(|it| it == Registration::TYPE);
    items.into_iter().filter(is_one).map(|item| serde_dynamo::from_item(item).expect("readable")).collect()
}

/// Returns the activities with a registration.
async fn registered(stack: &Stack) -> BTreeSet<String> {
    registrations(stack).await.iter().map(|one| one.partition.0.to_string()).collect()
}

fn expected<const N: usize>(ids: [&str; N]) -> BTreeSet<String> {
    ids.map(str::to_owned).into()
}

/// A transferred employee leaves the challenges of the old department, except for those with
/// progress.
#[tokio::test]
async fn a_new_department_replaces_registrations_without_progress() {
    let of = |id: &str, departments: &[&str]| challenge(id, "2099-12-31", &[], departments);
    let offers = [of("all", &[]), of("sales", &["Sales"]), of("legal", &["Legal"]), of("finance", &["Finance"])];
    let stack = scene(&[], &offers).await;
    let (operator, admin) = (Client::operator(&stack), admin(&stack, "1"));
    for (number, (department, right)) in [
        ("Sales", &["all", "sales"][..]),
        ("Legal", &["all", "legal"]),
        ("Sales", &["all", "sales"]),
        ("Finance", &["all", "finance", "sales"]),
        ("Legal", &["all", "legal", "sales"]),
    ]
    .into_iter()
    .enumerate()
    {
        let placed = json!({"role": "R", "department": department});
        let answer = admin.put(&of_company("1", "employees/U"), &placed).await;
        assert_eq!(answer.status, if number == 0 { 201 } else { 200 }, "{}", answer.body);
        drained(&operator, FUNCTION).await;
        let right: BTreeSet<String> = right.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(registered(&stack).await, right, "{department}");
        if number == 2 {
            let path = registration_of("1", "U", "sales");
            assert_eq!(operator.patch(&path, &json!({"progress": 1})).await.status, 200);
        }
    }
}

#[tokio::test]
async fn only_new_or_transferred_employees_reach_the_function() {
    let stack = scene(&[], &[]).await;
    let operator = Client::operator(&stack);
    let count = async |name: &str| {
        let streams = operator.get("/_local/streams").await.body;
        let mut mappings = streams["mappings"].as_array().expect("mappings").iter();
        mappings.find(|mapping| mapping["function"] == FUNCTION).expect("the mapping")[name].clone()
    };
    let puts = [
        (json!({"role": "R", "department": "Sales"}), 1, "new"),
        (json!({"role": "R", "department": "Sales"}), 1, "no change"),
        (json!({"role": "R", "department": "Sales", "name": "Ann"}), 1, "a new name"),
        (json!({"role": "R", "department": "Sales", "name": "Ann Smith"}), 1, "another name"),
        (json!({"role": "Spouse", "department": "Sales", "name": "Ann Smith"}), 2, "another role"),
        (json!({"role": "Spouse", "department": "Legal"}), 3, "another department"),
        (json!({"role": "Spouse", "department": "Legal", "attributes": {}}), 3, "no change"),
        (json!({"role": "Spouse", "department": "Legal", "attributes": {"shift": "night"}}), 4, "an attribute"),
        (json!({"role": "Spouse", "department": "Legal", "attributes": {"shift": "day"}}), 5, "another value"),
        (json!({"role": "Spouse", "department": "Legal"}), 6, "no attribute"),
    ];
    for (number, (body, delivered, what)) in puts.iter().enumerate() {
        let answer = operator.put(&of_company("1", "employees/U"), body).await;
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
        drained(&operator, FUNCTION).await;
        // Records of activities and registrations must not reach the function.
        put(&stack, &[challenge(&format!("A-{number}"), "2099-12-31", &[], &[])]).await;
        drained(&operator, FUNCTION).await;
        assert_eq!(count("delivered").await, json!(delivered), "{what}");
    }
    assert_eq!(
        registered(&stack).await.len(),
        puts.len() - 1,
        "one for each activity that was put before the last transfer"
    );
    // The filter removes the records of the activities, the registrations and the two changes of
    // the name.
    until(&operator, "/_local/streams", |answer| {
        let mappings = answer.body["mappings"].as_array().expect("mappings");
        mappings.iter().any(|it| it["function"] == FUNCTION && it["filtered"] == json!(puts.len() + puts.len() - 1 + 2))
    })
    .await;
}

#[tokio::test]
async fn eligibility_uses_the_time_of_the_change_and_current_employee_data() {
    let mut offers = [
        ("ends-later", END, &[][..], &[][..]),
        ("ends-this-second", "2030-06-15T12:00:00", &[], &[]),
        ("ended-a-second-ago", "2030-06-15T11:59:59", &[], &[]),
        ("ends-today", "2030-06-15", &[], &[]),
        ("ended-yesterday", "2030-06-14", &[], &[]),
        ("ends-in-the-previous-year", "2029-12-31T23:59:59", &[], &[]),
        ("ends-in-the-next-year", "2031-01-01T00:00:00", &[], &[]),
        ("the-role", END, &["R"], &[]),
        ("another-role", END, &["Spouse"], &[]),
        ("two-departments", END, &[], &["Sales", "Legal"]),
        ("a-similar-department", END, &[], &["sales"]),
        ("the-role-and-another-department", END, &["R"], &["Legal"]),
    ]
    .into_iter()
    .map(|(id, end, roles, departments)| challenge(id, end, roles, departments))
    .collect::<Vec<_>>();
    offers.extend([
        Activity { activity_type: ActivityType::Event, ..challenge("an-event", END, &[], &[]) },
        Activity { status: Status::Draft, ..challenge("a-draft", END, &[], &[]) },
        Activity { status: Status::Cancelled, ..challenge("cancelled", END, &[], &[]) },
        activity("2", "of-another-company", "Walk 5000", END),
    ]);
    let stack = scene(&["U"], &offers).await;
    // An existing registration keeps its progress, and gets the end of its activity.
    let reached = Registration {
        progress: 40.4.try_into().expect("a progress"),
        progress_text: "404 / 1000 steps".to_owned(),
        earned_points: 40,
        ..registration(&offers[0], "U")
    };
    put(&stack, &[Registration { end: ActivityEndDateSort(parsed("2030-07-01")), ..reached.clone() }]).await;
    deliver(&stack, &[change(1, "U", AT)]).await;
    let first =
        ["ends-later", "ends-this-second", "ends-today", "ends-in-the-next-year", "the-role", "two-departments"];
    assert_eq!(registered(&stack).await, expected(first));
    let new = Registration { registered_at: parsed(AT), ..registration(&offers[3], "U") };
    let all = registrations(&stack).await;
    assert!(all.contains(&reached) && all.contains(&new), "{all:?}");

    // All that is open later was open at the first change, too.
    deliver(&stack, &[change(2, "U", "2030-12-31T23:59:59Z"), change(3, "U", "2031-01-01T00:00:00Z")]).await;
    assert_eq!(registered(&stack).await, expected(first));

    // Eligibility depends on the employee's current role and department, and not on those at the
    // time of the change. The stream does not deliver this change by itself. A deleted employee
    // gets no registrations.
    put(&stack, &[Employee { role: parsed("Spouse"), ..staff("1", "U", "Legal") }]).await;
    deliver(&stack, &[change(4, "U", AT), change(5, "gone", AT)]).await;
    let now =
        ["ends-later", "ends-this-second", "ends-today", "ends-in-the-next-year", "another-role", "two-departments"];
    assert_eq!(registered(&stack).await, expected(now), "the employee leaves what is for another role");
    assert!(registrations(&stack).await.iter().all(|one| one.sort.0.to_string() == "U"));
}

#[tokio::test]
async fn other_items_and_unreadable_changes_are_passed_over() {
    let users = ["W", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    let stack = scene(&users, &[challenge("all", END, &[], &[])]).await;
    for (pair, (pointer, value)) in users[1..].chunks(2).zip([
        ("/dynamodb/Keys/SK/S", json!("Program")),
        ("/dynamodb/Keys/SK/S", json!("Registration#UserId-U")),
        ("/dynamodb/Keys/SK/S", json!("UserId-U#0")),
        ("/dynamodb/Keys/PK/S", json!("CompanyId-1#Employees#10")),
        ("/dynamodb/Keys", Value::Null),
        ("/dynamodb/ApproximateCreationDateTime", Value::Null),
        ("/dynamodb/ApproximateCreationDateTime", json!(1e300)),
    ]) {
        let before = registrations(&stack).await.len();
        let mut broken = change(2, "W", AT);
        *broken.pointer_mut(pointer).expect("a member") = value;
        deliver(&stack, &[change(1, pair[0], AT), broken.clone(), change(3, pair[1], AT)]).await;
        assert_eq!(registrations(&stack).await.len(), before + 2, "{broken}");
    }
}

/// Whether `call` writes a registration of this user.
fn is_of(call: &Call, member: &str, user: &str) -> bool {
    call.body[member]["SK"]["S"] == format!("Registration#UserId-{user}")
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_changes_are_retried_and_the_others_complete() {
    type Hits = fn(&Call) -> bool;
    let cases: [(&str, Hits, Fault, usize, usize); 5] = [
        ("a put is throttled", |call| is_of(call, "Item", "U-3"), Fault::throttled(), 3, 1),
        (
            "an employee cannot be read",
            |call| call.action == "GetItem" && call.body["Key"]["SK"]["S"] == "UserId-U-2",
            Fault::internal(),
            2,
            1,
        ),
        ("the list cannot be read", |call| call.action == "Query", Fault::internal(), 0, 4),
        (
            "the registrations of an employee cannot be read, so that nobody knows whether there are none",
            |call| call.body["ExpressionAttributeValues"][":p"]["S"] == "CompanyId-1#UserId-U-2#Registrations",
            Fault::internal(),
            2,
            1,
        ),
        ("an end date cannot be updated", |call| is_of(call, "Key", "U-4"), Fault::throttled(), 4, 0),
    ];
    let users = ["U-0", "U-1", "U-2", "U-3", "U-4"];
    join_all(cases.into_iter().map(async |(what, hits, fault, from, missing)| {
        let offer = challenge("A", END, &[], &[]);
        let stack = scene(&users, std::slice::from_ref(&offer)).await;
        let old = registration(&offer, "U-4");
        put(&stack, &[Registration { end: ActivityEndDateSort(parsed("2030-07-01")), ..old }]).await;
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let process =
            Process::start(&stack, &proxy, FUNCTION, &(wellness::patterns::register_new_employee::PATTERN.function)());
        let changes: Vec<_> = (0..).zip(users).map(|(number, user)| change(number, user, AT)).collect();
        let run = async |changes: &[Value]| {
            let run = process.run(&json!({"Records": changes}), Duration::from_secs(30)).await;
            run.expect("alive").answer.expect("an answer")
        };
        proxy.rule(move |call| if hits(call) { fault.clone() } else { Fault::None });
        assert_eq!(run(&changes).await, failed_from(Some(from)), "{what}");
        assert_eq!(registrations(&stack).await.len(), users.len() - missing, "{what}");
        proxy.heal();
        assert_eq!(run(&changes[from..]).await, failed_from(None), "{what}");
        let all = registrations(&stack).await;
        assert_eq!(all.len(), users.len(), "{what}");
        assert!(all.iter().all(|one| one.end.0 == offer.end()), "{what}: {all:?}");
    }))
    .await;
}
