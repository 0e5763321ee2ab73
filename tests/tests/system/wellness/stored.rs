//! An unreadable item does not make an employee wait for those of others, or for other
//! registrations (docs/security.md#stored-data).

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::collections::HashMap;
use system_tests::{
    Client,
    wellness::{activity, employee_key, put, references::staff, registration, registrations_of, stack, stored},
};

const COMPANY: &str = "C";
const USER: &str = "user";
const OTHER: &str = "other-company";

type Stored = HashMap<String, AttributeValue>;

fn end() -> String {
    format!("{}-12-31T23:59:59", Timestamp::now().strftime("%Y"))
}

/// Overwrites an item with one that has no readable value of the attribute.
async fn damage(stack: &Stack, item: &Stored, attribute: &str) {
    let mut damaged = item.clone();
    damaged.insert(attribute.to_owned(), AttributeValue::Bool(true));
    put_raw(stack, damaged).await;
}

async fn put_raw(stack: &Stack, item: Stored) {
    let put = stack.client().expect("a client").put_item().table_name(stack.table("Activities").expect("a table"));
    put.set_item(Some(item)).send().await.expect("written");
}

fn change(number: usize, company: &str, user: &str) -> Value {
    let key = employee_key(company, user);
    json!({
        "eventID": number.to_string(),
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {
            "ApproximateCreationDateTime": Timestamp::now().as_second(),
            "Keys": {"PK": {"S": key.partition()}, "SK": {"S": key.sort()}},
            "SequenceNumber": number.to_string(),
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    })
}

/// No unreadable item makes the function retry a record, because all later records of the shard
/// would wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn employees_do_not_wait_for_unreadable_items_of_others() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let walk = activity(COMPANY, "walk", "Walk", &end());
    put(&stack, &[registration(&walk, USER)]).await;
    put(&stack, &[walk, activity(OTHER, "others", "Walk", &end())]).await;
    put(&stack, &[staff(COMPANY, USER, "D")]).await;
    let mut items = stored(&stack, None, "ActivityId-walk").await;
    items.extend(stored(&stack, None, employee_key(COMPANY, USER).partition()).await);
    assert_eq!(items.len(), 3, "an activity, a registration and an employee");
    let mut number = 0;
    for item in items {
        let is_key = |name: &str| ["PK", "SK", "Type"].contains(&name) || name.starts_with("GSI");
        for name in item.keys().filter(|name| !is_key(name)) {
            number += 1;
            damage(&stack, &item, name).await;
            let user = format!("user-{number}");
            put(&stack, &[staff(OTHER, &user, "D")]).await;
            let batch = json!({"Records": [change(1, COMPANY, USER), change(2, OTHER, &user)]});
            let answer = operator.invoke("register-new-employee", &batch).await;
            assert_eq!(answer.body, json!({"batchItemFailures": []}), "{name} of {item:?}");
            let list = operator.get(&registrations_of(OTHER, &user)).await;
            assert_eq!(list.body["items"].as_array().map(Vec::len), Some(1), "{name} of {item:?}");
        }
        put_raw(&stack, item).await;
    }
    // An employee whose registration cannot be read still gets the others. An unreadable one of
    // a namesake in another company is not counted.
    for walk in [activity(COMPANY, "walk", "Walk", &end()), activity(OTHER, "theirs", "Walk", &end())] {
        put(&stack, &[registration(&walk, USER)]).await;
        let items = stored(&stack, None, &walk.partition.to_string()).await;
        let is_registration = |item: &&Stored| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("Registration#"));
        damage(&stack, items.iter().find(is_registration).expect("the registration"), "Progress").await;
    }
    put(&stack, &[activity(COMPANY, "run", "Run", &end())]).await;
    let answer = operator.invoke("register-new-employee", &json!({"Records": [change(1, COMPANY, USER)]})).await;
    assert_eq!(answer.body, json!({"batchItemFailures": []}));
    let list = operator.get(&registrations_of(COMPANY, USER)).await.body;
    assert_eq!((&list["items"][0]["activityId"], &list["skipped"]), (&json!("run"), &json!(1)), "{list}");
}
