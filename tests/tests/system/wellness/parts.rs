//! Changes of an activity's parts (W28) and references (W29), and records (W30):
//! docs/requirements/wellness.md#edit-all-parts-of-an-activity.

use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem, send, text, until,
    wellness::{admin, challenge, create, employee, event_at, of_company, stack, stored},
};

const COMPANY: &str = "C-1";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

async fn delete(client: &Client, path: &str) -> Answer {
    send(client.request("DELETE", path)).await
}

/// Creates an activity with all parts and two groups. Returns its path.
async fn walk(client: &Client) -> String {
    let made = create(client, COMPANY, &challenge("Walk", END)).await;
    of(&format!("activities/{}", text(&made, "activityId")))
}

async fn start() -> (Stack, Client, String) {
    let stack = stack().start().await.expect("a stack");
    let client = admin(&stack, COMPANY);
    let path = walk(&client).await;
    (stack, client, path)
}

async fn put_venue(client: &Client, id: &str, name: &str) -> u16 {
    let path = of(&format!("references/venues/{id}"));
    let answer = client.put(&path, &json!({"name": name, "data": {"Name": name}})).await;
    let record = json!({"facet": "venues", "id": id, "companyId": COMPANY, "name": name, "data": {"Name": name}});
    assert_eq!(answer.body, record);
    answer.status
}

/// Each part with its path, a body, and its form in a response.
fn contents() -> [(&'static str, Value, &'static str, Value); 5] {
    let detail = json!({"b": 1.50, "a": null});
    let goal = json!({"type": "minutes", "parameters": {"target": 30}});
    let reward = json!({"kind": "Goal reached", "name": "Points", "amount": 7, "percent": 50.0});
    let groups = json!({"type": "squad", "rules": [1.50], "items": []});
    let group = json!({"groupId": "green", "name": "Green", "progress": 0.0});
    [
        ("detail", json!({"detail": detail}), "detail", detail),
        ("goal", goal.clone(), "goal", goal),
        ("rewards/Goal%20reached", json!({"name": "Points", "amount": 7, "percent": 50}), "reward", reward),
        ("groups", json!({"type": "squad", "rules": [1.50]}), "groups", groups),
        ("groups/green", json!({"name": "Green"}), "group", group),
    ]
}

#[tokio::test]
async fn each_part_can_be_added_replaced_and_removed_under_the_version() {
    let (stack, client, activity) = start().await;
    for part in ["detail", "goal", "rewards/Attendance", "groups"] {
        let path = format!("{activity}/{part}");
        assert_eq!(delete(&client, &path).await.status, 204, "{part}");
        assert_problem(&delete(&client, &path).await, 404, "not-found");
    }
    let bare = client.get(&activity).await.body;
    assert_eq!((&bare["version"], &bare["rewards"]), (&json!(5), &json!([])), "{bare}");
    assert!(["detail", "goal", "groups"].iter().all(|part| bare[*part].is_null()), "{bare}");
    let orphan = client.put(&format!("{activity}/groups/green"), &json!({"version": 5, "name": "Green"})).await;
    assert_problem(&orphan, 404, "not-found");
    let mut version = 5;
    for (part, mut body, member, expected) in contents() {
        let path = format!("{activity}/{part}");
        for outdated in [version - 1, version + 1] {
            body["version"] = outdated.into();
            assert_problem(&client.put(&path, &body).await, 412, "another-version");
            let removal = delete(&client, &format!("{path}?version={outdated}")).await;
            assert_problem(&removal, 412, "another-version");
        }
        body["version"] = version.into();
        let mut made = client.put(&path, &body).await;
        version += 1;
        assert_eq!((made.status, &made.body["version"], &made.body[member]), (201, &json!(version), &expected));
        assert_eq!(made.headers["location"], path.as_str());
        assert_eq!(made.body["jobId"].is_string(), member == "reward", "{part}");
        // The same content keeps the version, and starts no job.
        body["version"] = version.into();
        let same = client.put(&path, &body).await;
        made.body.as_object_mut().expect("an object").remove("jobId");
        assert_eq!((same.status, &same.body), (200, &made.body), "{part}");
    }
    let whole = client.get(&activity).await.body;
    let [.., (.., reward), _, (.., green)] = contents();
    assert_eq!((&whole["version"], &whole["rewards"]), (&json!(version), &json!([reward])));
    assert_eq!(whole["groups"]["items"], json!([green]));
    let renamed = client.put(&format!("{activity}/groups/green"), &json!({"version": version, "name": "Lime"})).await;
    let lime = json!({"groupId": "green", "name": "Lime", "progress": 0.0});
    assert_eq!((renamed.status, &renamed.body["group"]), (200, &lime));
    assert_eq!(delete(&client, &format!("{activity}/groups?version={}", version + 1)).await.status, 204);
    let partition = activity.replace(&of("activities/"), "ActivityId-");
    let rows = stored(&stack, None, &partition).await;
    let mut sorts = rows.iter().map(|row| row["SK"].as_s().expect("a key"));
    assert!(sorts.all(|sort| !sort.starts_with("Program#Groups")), "the groups are removed together");
}

/// Each request that changes an activity names its caller. A request that changes nothing and a job
/// keep the author.
#[tokio::test]
async fn administrators_see_who_changed_an_activity_last() {
    let stack = stack().start().await.expect("a stack");
    let by = |user: &str| Client::member(&stack, "wellness:read wellness:admin", COMPANY, user);
    let author = |user: &str| json!({"sub": user, "scope": "wellness:admin"});
    let (ann, bob, activities) = (by("ann"), by("bob"), of("activities"));
    let made = ann.post_once(&activities, "walk", &challenge("Walk", END)).await;
    assert_eq!((made.status, &made.body["changedBy"]), (201, &author("ann")));
    let repeated = bob.post_once(&activities, "walk", &challenge("Walk", END)).await;
    assert_eq!((repeated.status, &repeated.body), (201, &made.body));
    let path = format!("{activities}/{}", text(&made.body, "activityId"));
    let section = json!({"name": "Autumn", "startDate": "2099-01-01", "endDate": END});
    assert_eq!(ann.put(&of("sections/7"), &section).await.status, 201);
    assert_eq!(put_venue(&ann, "V1", "Hall").await, 201);
    for (number, (method, part, mut body)) in [
        ("PATCH", "", json!({"version": 1, "name": "Run"})),
        ("PUT", "/section", json!({"sectionId": "7"})),
        ("PUT", "/detail", json!({"version": 2, "detail": {"a": 1}})),
        ("DELETE", "/detail", Value::Null),
        ("PUT", "/references/venues/V1", json!({})),
        ("DELETE", "/references/venues/V1", Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let (user, at) = (format!("user-{number}"), format!("{path}{part}"));
        let done = send(by(&user).request(method, &at).json(&body)).await;
        assert!(done.status < 300, "{method} {at}: {}", done.body);
        if done.body["name"].is_string() {
            assert_eq!(done.body["changedBy"], author(&user), "{method} {at}");
        }
        let now = bob.get(&path).await.body;
        assert_eq!(now["changedBy"], author(&user), "{method} {at}");
        if body["version"].is_number() {
            body["version"] = now["version"].clone();
        }
        let again = send(bob.request(method, &at).json(&body)).await;
        assert_eq!(again.status, if method == "DELETE" { 404 } else { 200 }, "{method} {at}: {}", again.body);
        assert_eq!(bob.get(&path).await.body, now, "{method} {at} changes nothing");
    }
    assert_eq!(ann.put(&format!("{path}/references/venues/V1"), &json!({})).await.status, 201);
    let job = bob.patch(&of("references/venues/V1"), &json!({"data": {"Name": "Gym"}})).await;
    let job = of(&format!("jobs/{}", text(&job.body, "jobId")));
    until(&bob, &job, |answer| answer.body["status"] == "done").await;
    let after = bob.get(&path).await.body;
    assert_eq!((&after["references"][0]["data"]["Name"], &after["changedBy"]), (&json!("Gym"), &author("ann")));
    let (operator, change) = (Client::operator(&stack), json!({"version": after["version"], "name": "Swim"}));
    let changed = operator.patch(&path, &change).await.body;
    assert_eq!(changed["changedBy"]["scope"], "wellness:operate");
    assert_eq!(bob.get(&path).await.body["changedBy"], changed["changedBy"]);
    let ways = ["?include=Program%23Detail", "?include=Program"].map(|levels| format!("{path}{levels}"));
    for path in [path, format!("{activities}?year=2099")].into_iter().chain(ways) {
        let seen = employee(&stack, COMPANY, "eve").get(&path).await;
        assert!(seen.status == 200 && !seen.body.to_string().contains("changedBy"), "{path}: {}", seen.body);
    }
}

#[tokio::test]
async fn an_activity_has_at_most_10_rewards_50_groups_and_25_references() {
    let (_stack, client, activity) = start().await;
    let mut version = 1;
    // The activity starts with a reward and two groups.
    for (part, mut body, more) in
        [("rewards", json!({"name": "Points", "amount": 1}), 9), ("groups", json!({"name": "Group"}), 48)]
    {
        for number in 0..more {
            body["version"] = version.into();
            let answer = client.put(&format!("{activity}/{part}/n-{number}"), &body).await;
            assert_eq!(answer.status, 201, "{part} {number}: {}", answer.body);
            version += 1;
        }
        (body["version"], body["name"]) = (version.into(), "Other".into());
        assert_problem(&client.put(&format!("{activity}/{part}/more"), &body).await, 409, "part-limit");
        assert_eq!(client.put(&format!("{activity}/{part}/n-0"), &body).await.status, 200, "{part}");
        version += 1;
    }
    let reference = |number: usize| format!("{activity}/references/venues/{number}");
    for number in 0..25 {
        put_venue(&client, &number.to_string(), "Hall").await;
        assert_eq!(client.put(&reference(number), &json!({})).await.status, 201);
    }
    put_venue(&client, "25", "Hall").await;
    assert_problem(&client.put(&reference(25), &json!({})).await, 409, "part-limit");
    let large = json!({"version": version + 25, "detail": {"text": "x".repeat(17_000)}});
    assert_problem(&client.put(&format!("{activity}/detail"), &large).await, 413, "too-large");
    // The activity with all its parts can still change its end date.
    let moved = client.patch(&activity, &json!({"version": version + 25, "endDate": "2099-11-30"})).await;
    assert_eq!(moved.status, 200, "{}", moved.body);
}

#[tokio::test]
async fn a_reference_copies_the_data_of_its_record() {
    let (_stack, client, activity) = start().await;
    let path = format!("{activity}/references/venues/hall");
    assert_problem(&client.put(&path, &json!({})).await, 404, "not-found");
    assert_eq!(put_venue(&client, "hall", "Hall").await, 201);
    assert_problem(&client.put(&path, &json!({"version": 2})).await, 412, "another-version");
    let added = client.put(&path, &json!({"version": 1})).await;
    let id = activity.rsplit('/').next().expect("an id");
    let expected = json!({"activityId": id, "facet": "venues", "id": "hall", "data": {"Name": "Hall"}, "version": 2});
    assert_eq!((added.status, &added.body), (201, &expected));
    let again = send(client.request("PUT", &path)).await;
    assert_eq!((again.status, &again.body), (200, &expected), "a repeated request changes nothing");
    assert_eq!(put_venue(&client, "hall", "Great Hall").await, 200);
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
    let (stack, client, _) = start().await;
    let record = of("references/venues/hall");
    for status in ["active", "draft", "cancelled"] {
        let activity = walk(&client).await;
        put_venue(&client, "hall", "Hall").await;
        let reference = format!("{activity}/references/venues/hall");
        assert_eq!(client.put(&reference, &json!({})).await.status, 201, "{status}");
        let moved = client.patch(&activity, &json!({"version": 2, "status": status})).await;
        assert_eq!(moved.status, 200, "{}", moved.body);
        assert_problem(&delete(&client, &record).await, 409, "reference-in-use");
        // The index may not show the reference yet, so a replaced record keeps its last use.
        put_venue(&client, "hall", "New hall").await;
        let items = stored(&stack, None, &format!("CompanyId-{COMPANY}")).await;
        let stored = items.iter().find(|item| item["SK"].as_s().is_ok_and(|sort| sort == "Venue#VenueId-hall"));
        let last = stored.and_then(|record| record.get("UsedBy")?.as_s().ok());
        assert!(last.is_some_and(|id| activity.ends_with(id.as_str())), "{stored:?}");
        assert_eq!(delete(&client, &reference).await.status, 204);
        assert_eq!(delete(&client, &record).await.status, 204, "{status}");
        assert_problem(&delete(&client, &record).await, 404, "not-found");
    }
    // An activity whose creation named the venue uses it as well.
    put_venue(&client, "hall", "Hall").await;
    create(&client, COMPANY, &event_at("Drive", END, &["hall"])).await;
    assert_problem(&delete(&client, &record).await, 409, "reference-in-use");
}
