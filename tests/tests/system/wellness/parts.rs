//! Tests of changes of an activity's parts (W28) and references (W29), and of records (W30).

use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem,
    faults::{Fault, Twins},
    send, text,
    wellness::{admin, challenge, create, of_company, stack, stored},
};

const COMPANY: &str = "C-1";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

async fn delete(client: &Client, path: &str) -> Answer {
    send(client.request("DELETE", path)).await
}

/// A stack with an activity of the company.
async fn start() -> (Stack, Client, String) {
    let stack = stack().start().await.expect("a stack");
    let client = admin(&stack, COMPANY);
    let made = create(&client, COMPANY, &challenge("Walk", END)).await;
    let path = of(&format!("activities/{}", text(&made, "activityId")));
    (stack, client, path)
}

async fn put_venue(client: &Client, id: &str, name: &str) {
    let answer =
        client.put(&of(&format!("references/venues/{id}")), &json!({"name": name, "data": {"Name": name}})).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
}

/// Each part with its path, a body and the member of the response.
fn contents() -> [(&'static str, Value, &'static str, Value); 5] {
    let groups = |items: &Value| json!({"type": "squad", "rules": [1.50], "items": items});
    [
        ("detail", json!({"detail": {"b": 1.50, "a": null}}), "detail", json!({"b": 1.50, "a": null})),
        (
            "goal",
            json!({"type": "minutes", "parameters": {"target": 30}}),
            "goal",
            json!({"type": "minutes", "parameters": {"target": 30}}),
        ),
        (
            "rewards/Goal reached",
            json!({"name": "Points", "amount": 7, "percent": 50}),
            "reward",
            json!({"kind": "Goal reached", "name": "Points", "amount": 7, "percent": 50.0}),
        ),
        ("groups", json!({"type": "squad", "rules": [1.50]}), "groups", groups(&json!([]))),
        (
            "groups/green",
            json!({"name": "Green"}),
            "group",
            json!({"groupId": "green", "name": "Green", "progress": 0.0}),
        ),
    ]
}

/// Replaces `%20` in a path by the character of the reward kind.
fn path_of(activity: &str, part: &str) -> String {
    format!("{activity}/{}", part.replace(' ', "%20"))
}

#[tokio::test]
async fn each_part_can_be_added_replaced_and_removed_under_the_version() {
    let (stack, client, activity) = start().await;
    for part in ["detail", "goal", "rewards/Attendance", "groups"] {
        assert_eq!(delete(&client, &path_of(&activity, part)).await.status, 204, "{part}");
        assert_problem(&delete(&client, &path_of(&activity, part)).await, 404, "not-found");
    }
    let bare = client.get(&activity).await.body;
    assert_eq!((&bare["version"], &bare["rewards"]), (&json!(5), &json!([])), "{bare}");
    assert!(["detail", "goal", "groups"].iter().all(|part| bare[*part].is_null()), "{bare}");
    let mut version = 5;
    for (part, body, member, expected) in contents() {
        let path = path_of(&activity, part);
        let with = |version: i64| {
            let mut body = body.clone();
            body["version"] = version.into();
            body
        };
        for outdated in [version - 1, version + 1, 0] {
            assert_problem(&client.put(&path, &with(outdated)).await, 412, "another-version");
            let removal = delete(&client, &format!("{path}?version={outdated}")).await;
            assert_problem(&removal, 412, "another-version");
        }
        let made = client.put(&path, &with(version)).await;
        assert_eq!((made.status, &made.body["version"], &made.body[member]), (201, &json!(version + 1), &expected));
        assert_eq!(made.headers["location"].to_str().expect("a text"), path);
        assert_eq!(made.body["jobId"].is_string(), member == "reward", "{part}");
        // The same content keeps the version, and starts no job.
        let same = client.put(&path, &with(version + 1)).await;
        let mut unchanged = made.body.clone();
        unchanged.as_object_mut().expect("an object").remove("jobId");
        assert_eq!((same.status, &same.body), (200, &unchanged), "{part}");
        version += 1;
    }
    let whole = client.get(&activity).await.body;
    assert_eq!(whole["version"], json!(version));
    assert_eq!(whole["groups"]["items"], json!([{"groupId": "green", "name": "Green", "progress": 0.0}]));
    assert_eq!(whole["rewards"], json!([{"kind": "Goal reached", "name": "Points", "amount": 7, "percent": 50.0}]));
    let renamed = client.put(&path_of(&activity, "groups/green"), &json!({"version": version, "name": "Lime"})).await;
    assert_eq!((renamed.status, &renamed.body["group"]["name"]), (200, &json!("Lime")));
    assert_eq!(delete(&client, &format!("{activity}/groups?version={}", version + 1)).await.status, 204);
    let id = activity.rsplit('/').next().expect("an id");
    let rows = stored(&stack, None, &format!("ActivityId-{id}")).await;
    let is_group = |row: &&_| {
        let row: &std::collections::HashMap<_, aws_sdk_dynamodb::types::AttributeValue> = row;
        row["SK"].as_s().is_ok_and(|sort| sort.starts_with("Program#Groups"))
    };
    assert_eq!(rows.iter().filter(is_group).count(), 0, "the groups are removed together");
}

#[tokio::test]
async fn a_group_keeps_its_id_and_needs_groups() {
    let (_stack, client, activity) = start().await;
    let made = create(&client, COMPANY, &challenge("Run", END)).await;
    let run = of(&format!("activities/{}", text(&made, "activityId")));
    let group = client.get(&run).await.body["groups"]["items"][0].clone();
    let path = format!("{run}/groups/{}", text(&group, "groupId"));
    let renamed = client.put(&path, &json!({"version": 1, "name": "Scarlet"})).await;
    assert_eq!((renamed.status, &renamed.body["group"]["groupId"]), (200, &group["groupId"]), "{}", renamed.body);
    assert_eq!(delete(&client, &format!("{activity}/groups")).await.status, 204);
    let orphan = client.put(&format!("{activity}/groups/green"), &json!({"version": 2, "name": "Green"})).await;
    assert_problem(&orphan, 404, "not-found");
}

#[tokio::test]
async fn an_activity_has_at_most_10_rewards_50_groups_and_25_references() {
    let (_stack, client, activity) = start().await;
    let mut version = 1;
    // The activity starts with a reward and two groups.
    for (part, body, more) in
        [("rewards", json!({"name": "Points", "amount": 1}), 9), ("groups", json!({"name": "Group"}), 48)]
    {
        for number in 0..=more {
            let mut body = body.clone();
            body["version"] = version.into();
            let answer = client.put(&format!("{activity}/{part}/n-{number}"), &body).await;
            if number < more {
                assert_eq!(answer.status, 201, "{part} {number}: {}", answer.body);
                version += 1;
            } else {
                assert_problem(&answer, 409, "part-limit");
            }
        }
        let mut changed = body.clone();
        (changed["version"], changed["name"]) = (version.into(), "Other".into());
        assert_eq!(client.put(&format!("{activity}/{part}/n-0"), &changed).await.status, 200, "{part}");
        version += 1;
    }
    for number in 0..=25 {
        put_venue(&client, &number.to_string(), "Hall").await;
        let answer = client.put(&format!("{activity}/references/venues/{number}"), &json!({})).await;
        if number < 25 {
            assert_eq!(answer.status, 201, "{}", answer.body);
        } else {
            assert_problem(&answer, 409, "part-limit");
        }
    }
    // The activity with all its parts can still change its end date.
    let version = client.get(&activity).await.body["version"].clone();
    let moved = client.patch(&activity, &json!({"version": version, "endDate": "2099-11-30"})).await;
    assert_eq!(moved.status, 200, "{}", moved.body);
}

#[tokio::test]
async fn a_part_over_16_kb_is_rejected() {
    let (_stack, client, activity) = start().await;
    let large = json!({"version": 1, "detail": {"text": "x".repeat(17_000)}});
    assert_problem(&client.put(&format!("{activity}/detail"), &large).await, 413, "too-large");
    assert_eq!(client.get(&activity).await.body["version"], 1);
}

#[tokio::test]
async fn a_reference_copies_the_data_of_its_record() {
    let (_stack, client, activity) = start().await;
    let path = format!("{activity}/references/venues/hall");
    assert_problem(&client.put(&path, &json!({})).await, 404, "not-found");
    put_venue(&client, "hall", "Hall").await;
    assert_problem(&client.put(&path, &json!({"version": 2})).await, 412, "another-version");
    let added = client.put(&path, &json!({"version": 1})).await;
    let id = activity.rsplit('/').next().expect("an id");
    let expected = json!({"activityId": id, "facet": "venues", "id": "hall", "data": {"Name": "Hall"}, "version": 2});
    assert_eq!((added.status, &added.body), (201, &expected));
    let again = send(client.request("PUT", &path)).await;
    assert_eq!((again.status, &again.body), (200, &expected), "a repeated request changes nothing");
    put_venue(&client, "hall", "Great Hall").await;
    let renewed = client.put(&path, &json!({})).await;
    assert_eq!((renewed.status, &renewed.body["data"]), (200, &json!({"Name": "Great Hall"})));
    let used = client.get(&of("references/venues/hall/activities")).await;
    assert_eq!(used.body["items"][0]["data"], json!({"Name": "Great Hall"}), "{}", used.body);
    let cancelled = client.patch(&activity, &json!({"version": 3, "status": "cancelled"})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    let used = client.get(&of("references/venues/hall/activities?status=cancelled")).await;
    assert_eq!(used.body["items"][0]["activityId"], id, "the reference follows its activity: {}", used.body);
    assert_problem(&delete(&client, &format!("{path}?version=3")).await, 412, "another-version");
    assert_eq!(delete(&client, &format!("{path}?version=4")).await.status, 204);
    assert_problem(&delete(&client, &path).await, 404, "not-found");
    let whole = client.get(&activity).await.body;
    assert_eq!((&whole["references"], &whole["version"]), (&json!([]), &json!(5)));
}

#[tokio::test]
async fn a_record_in_use_cannot_be_removed() {
    let (_stack, client, activity) = start().await;
    let record = of("references/venues/hall");
    for (status, version) in [("active", 1), ("draft", 4), ("cancelled", 7)] {
        put_venue(&client, "hall", "Hall").await;
        let reference = format!("{activity}/references/venues/hall");
        assert_eq!(client.put(&reference, &json!({})).await.status, 201, "{status}");
        let moved = client.patch(&activity, &json!({"version": version + 1, "status": status})).await;
        assert_eq!(moved.status, 200, "{}", moved.body);
        assert_problem(&delete(&client, &record).await, 409, "reference-in-use");
        assert_eq!(client.get(&record).await.status, 200);
        assert_eq!(delete(&client, &reference).await.status, 204);
        assert_eq!(delete(&client, &record).await.status, 204, "{status}");
        assert_problem(&delete(&client, &record).await, 404, "not-found");
        // A change to the same status keeps the version.
        if status == "active" {
            let renamed = client.patch(&activity, &json!({"version": 3, "name": "Walk 2"})).await;
            assert_eq!(renamed.status, 200, "{}", renamed.body);
        }
    }
    // An activity whose creation named the venue uses it as well.
    put_venue(&client, "hall", "Hall").await;
    create(&client, COMPANY, &system_tests::wellness::event_at("Drive", END, &["hall"])).await;
    assert_problem(&delete(&client, &record).await, 409, "reference-in-use");
}

/// The index may not show the reference yet, so the removal depends on the last use.
#[tokio::test]
async fn a_replaced_record_keeps_its_last_use() {
    let (stack, client, activity) = start().await;
    put_venue(&client, "hall", "Hall").await;
    assert_eq!(client.put(&format!("{activity}/references/venues/hall"), &json!({})).await.status, 201);
    put_venue(&client, "hall", "New hall").await;
    let items = stored(&stack, None, &format!("CompanyId-{COMPANY}")).await;
    let record = items.iter().find(|item| item["SK"].as_s().is_ok_and(|sort| sort == "Venue#VenueId-hall"));
    let last = record.and_then(|record| record.get("UsedBy")?.as_s().ok());
    assert!(last.is_some_and(|id| activity.ends_with(id.as_str())), "{record:?}");
}

/// The removal of a record and the addition of a reference exclude each other, in either order.
#[tokio::test(flavor = "multi_thread")]
async fn no_record_is_removed_while_a_reference_to_it_is_added() {
    let twins = Twins::start(stack).await;
    let (healthy, faulty) = (Client::operator(&twins.healthy), Client::operator(&twins.faulty));
    let made = create(&healthy, COMPANY, &challenge("Walk", END)).await;
    let reference = of(&format!("activities/{}/references/venues/hall", text(&made, "activityId")));
    let record = of("references/venues/hall");
    let transaction = |call: &system_tests::faults::Call| call.action == "TransactWriteItems";
    put_venue(&healthy, "hall", "Hall").await;
    twins.proxy.rule(move |call| if transaction(call) && call.nth == 1 { Fault::Held } else { Fault::None });
    let meanwhile = async {
        twins.proxy.held(1).await;
        assert_eq!(healthy.put(&reference, &json!({})).await.status, 201);
        twins.proxy.release();
    };
    let (removed, ()) = futures::future::join(delete(&faulty, &record), meanwhile).await;
    assert_problem(&removed, 409, "reference-in-use");
    assert_eq!(delete(&healthy, &reference).await.status, 204);
    twins.proxy.rule(move |call| if transaction(call) && call.nth == 1 { Fault::Held } else { Fault::None });
    let meanwhile = async {
        twins.proxy.held(1).await;
        assert_eq!(delete(&healthy, &record).await.status, 204);
        twins.proxy.release();
    };
    let (added, ()) = futures::future::join(faulty.put(&reference, &json!({})), meanwhile).await;
    assert_problem(&added, 404, "not-found");
}

/// A part that cannot be read can be replaced and removed.
#[tokio::test]
async fn an_unreadable_part_can_be_replaced_and_removed() {
    let (stack, client, activity) = start().await;
    let id = activity.rsplit('/').next().expect("an id");
    let damage = async |sort: &str, attribute: &str| {
        let rows = stored(&stack, None, &format!("ActivityId-{id}")).await;
        let mut row = rows.into_iter().find(|row| row["SK"].as_s().is_ok_and(|key| key == sort)).expect("the row");
        row.insert(attribute.to_owned(), aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        let put = stack.client().expect("a client").put_item().table_name(stack.table("Activities").expect("a table"));
        put.set_item(Some(row)).send().await.expect("written");
    };
    for (number, (sort, attribute, part, body)) in [
        ("Program#Detail", "Detail", "detail", json!({"detail": {}})),
        ("Program#GoalPrimary", "GoalType", "goal", json!({"type": "steps", "parameters": 2})),
        ("Program#Reward#Attendance", "Amount", "rewards/Attendance", json!({"name": "Points", "amount": 2})),
        ("Program#Groups", "Rules", "groups", json!({"type": "team", "rules": 2})),
    ]
    .into_iter()
    .enumerate()
    {
        damage(sort, attribute).await;
        assert_eq!(client.get(&activity).await.status, 500, "{part}");
        let mut body = body;
        body["version"] = (1 + 2 * number).into();
        let path = format!("{activity}/{part}");
        let repaired = client.put(&path, &body).await;
        assert_eq!(repaired.status, 200, "{part}: {}", repaired.body);
        assert_eq!(client.get(&activity).await.status, 200, "{part}");
        damage(sort, attribute).await;
        assert_eq!(delete(&client, &path).await.status, 204, "{part}");
        assert_eq!(client.get(&activity).await.status, 200, "{part}");
    }
}
