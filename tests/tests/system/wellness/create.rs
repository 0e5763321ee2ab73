//! Activities with all kinds of parts: their stored items, their form in a response, and their
//! largest size (docs/requirements/wellness.md#pattern-4-get-an-activity).

use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    assert_problem, parsed, text,
    wellness::{admin, challenge, create, employee, of_company, stack, stored},
};

const END: &str = "2020-12-31T00:00:00";

/// Reads the items of a partition. Returns them by sort key.
async fn collection(stack: &Stack, partition: &str) -> BTreeMap<String, Value> {
    let items = stored(stack, None, partition).await.into_iter();
    let items = items.map(|item| serde_dynamo::from_item::<_, Value>(item).expect("JSON"));
    items.map(|item| (text(&item, "SK").to_owned(), item)).collect()
}

/// Returns the JSON object with some fields replaced or added.
fn with(json: &Value, members: &Value) -> Value {
    let mut all = json.as_object().cloned().expect("an object");
    all.extend(members.as_object().cloned().expect("an object"));
    all.into()
}

#[tokio::test]
async fn an_activity_is_one_item_collection_with_all_parts() {
    let stack = stack().clock(parsed("2020-06-01T00:00:00Z")).start().await.expect("a stack");
    let (admin, employee) = (admin(&stack, "C-1"), employee(&stack, "C-1", "U-1"));
    let section = json!({"name": "Spring", "startDate": "2020-03-01", "endDate": "2020-05-31"});
    assert_eq!(admin.put(&of_company("C-1", "sections/S-1"), &section).await.status, 201);
    let finish = json!({"kind": "Finish", "name": "Points", "amount": 12, "percent": 99.5});
    let attendance = json!({"kind": "Attendance", "name": "Points", "amount": 40});
    let reference = |facet, id, data: Value| json!({"facet": facet, "id": id, "data": data});
    let venue = reference("venues", "123", json!({"Name": "Blood Bank A"}));
    let mut parts = json!({
        "sectionId": "S-1",
        "filters": {"roles": ["EmployeeOnPlan"], "departments": ["Sales"]},
        "detail": {"description": "Walk", "steps": 5000, "exact": [1.50, null]},
        "goal": {"type": "steps", "parameters": {"target": 5000}},
        "rewards": [finish, attendance],
        "groups": {"type": "team", "rules": {"most": 10}, "items": [{"name": "Red"}, {"name": "Blue"}]},
        "data": {"colour": "red"},
        "references": [
            venue,
            reference("files", "123", json!({"Name": "Plan"})),
            reference("courses", "9", json!({})),
            reference("trackers", "9", json!({"unit": "km"})),
            reference("notifications", "9", json!({"at": "noon"})),
        ],
    });
    let made = admin.post(&of_company("C-1", "activities"), &with(&challenge("Walk 5000", END), &parts)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = text(&made.body, "activityId");
    let path = of_company("C-1", &format!("activities/{id}"));
    assert_eq!(made.headers["location"], path.as_str());

    let rows = collection(&stack, &format!("ActivityId-{id}")).await;
    let groups: Vec<&str> = rows.keys().filter_map(|sort| sort.strip_prefix("Program#Groups#GroupId-")).collect();
    let [red, blue] = groups[..] else { unreachable!("{rows:?}") };
    let expected = [
        "Program",
        "Program#Course#CourseId-9",
        "Program#Detail",
        "Program#File#FileId-123",
        "Program#GoalPrimary",
        "Program#Groups",
        &format!("Program#Groups#GroupId-{red}"),
        &format!("Program#Groups#GroupId-{blue}"),
        "Program#Notification#NotificationId-9",
        "Program#Reward#Attendance",
        "Program#Reward#Finish",
        "Program#Tracker#TrackerId-9",
        "Program#Venue#VenueId-123",
    ];
    assert_eq!(rows.keys().collect::<Vec<_>>(), expected);
    // The response has the parts in the order of their keys.
    parts["rewards"] = json!([attendance, finish]);
    parts["references"].as_array_mut().expect("references").sort_by_key(|one| one["facet"].to_string());
    parts["groups"]["items"] = json!([
        {"groupId": red, "name": "Red", "progress": 0.0}, {"groupId": blue, "name": "Blue", "progress": 0.0},
    ]);
    let whole = employee.get(&format!("{path}?include=Program")).await.body;
    for (member, part) in parts.as_object().expect("parts") {
        assert_eq!(whole[member], *part, "{member}: {whole}");
    }
    let got = employee.get(&format!("{path}?include=Program%23Groups")).await;
    let level = json!({"activityId": id, "companyId": "C-1", "groups": parts["groups"]});
    assert_eq!((got.status, &got.body), (200, &level));
}

#[tokio::test]
async fn creates_the_largest_activity_and_rejects_larger_ones() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, "C-1");
    let reward = |number| json!({"kind": format!("K{number}"), "name": "Points", "amount": number});
    let group = |number| json!({"name": format!("Group {number}")});
    let reference = |number| json!({"facet": "venues", "id": format!("V{number}"), "data": {"number": number}});
    let walk = challenge("Walk", END);
    let most = json!({
        "rewards": (0..10).map(reward).collect::<Vec<_>>(),
        "groups": {"type": "team", "rules": {}, "items": (0..50).map(group).collect::<Vec<_>>()},
        "references": (0..25).map(reference).collect::<Vec<_>>(),
    });
    let most = create(&admin, "C-1", &with(&walk, &most)).await;
    let got = admin.get(&of_company("C-1", &format!("activities/{}", text(&most, "activityId")))).await.body;
    let groups = got["groups"]["items"].as_array().expect("groups").iter();
    assert!(groups.map(|group| text(group, "name").to_owned()).eq((0..50).map(|number| format!("Group {number}"))));
    let length = |member: &str| got[member].as_array().map(Vec::len);
    assert_eq!((length("rewards"), length("references")), (Some(10), Some(25)));
    let large = |kilobytes: usize| json!({"a": "x".repeat(kilobytes * 1024)});
    for (members, kind) in [
        (json!({"data": large(8)}), "Activity"),
        (json!({"detail": large(16)}), "Detail"),
        (json!({"goal": {"type": "steps", "parameters": large(16)}}), "Goal"),
        (json!({"groups": {"type": "team", "rules": large(16), "items": []}}), "Groups"),
        (json!({"references": [{"facet": "venues", "id": "1", "data": large(4)}]}), "Reference"),
    ] {
        let answer = admin.post(&of_company("C-1", "activities"), &with(&walk, &members)).await;
        assert_problem(&answer, 413, "too-large");
        assert!(text(&answer.body, "detail").starts_with(&format!("{kind} must not exceed")), "{}", answer.body);
    }
    let record = json!({"name": "A", "data": large(4)});
    assert_problem(&admin.put(&of_company("C-1", "references/venues/1"), &record).await, 413, "too-large");
    assert_eq!(stored(&stack, Some("GSI1"), "CompanyId-C-1#Program").await.len(), 1);
    assert!(collection(&stack, "CompanyId-C-1").await.keys().all(|sort| !sort.starts_with("Venue#")));
    let fitting = json!({
        "data": large(7), "detail": large(15), "references": [{"facet": "venues", "id": "1", "data": large(3)}],
    });
    create(&admin, "C-1", &with(&walk, &fitting)).await;
}
