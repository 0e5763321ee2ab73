//! Tests of groups: membership (W21), and their progress, which a scheduled job computes (W37).

use keys::wellness::GroupId;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use system_tests::{
    Client, assert_problem, parsed, send, text, until,
    wellness::{
        activity, admin, employee, of_company, put, references::staff, registration, registration_of, registrations_of,
        stack,
    },
};
use wellness::{Activity, Enrolment, Progress, Registration};

const COMPANY: &str = "C";
const END: &str = "2099-06-30T23:59:59";
const WALK: &str = "walk";
const JOB: &str = "GroupsId-walk";
const START: &str = "start-group-progress";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

fn member(activity: &Activity, user: &str, group: &str, percent: f64) -> Registration {
    let progress = Progress::try_from(percent).expect("a percentage");
    Registration { progress, group: Some(parsed::<GroupId>(group)), ..registration(activity, user) }
}

/// Sets the rules of the groups of the activity, and adds groups.
async fn set_groups(admin: &Client, rules: &Value, groups: &[&str]) {
    let path = of(&format!("activities/{WALK}"));
    let mut version = admin.get(&path).await.body["version"].as_i64().expect("a version");
    let body = json!({"version": version, "type": "team", "rules": rules});
    let put = admin.put(&format!("{path}/groups"), &body).await;
    assert!([200, 201].contains(&put.status), "{}", put.body);
    for group in groups {
        version += 1;
        let body = json!({"version": version, "name": group});
        let put = admin.put(&format!("{path}/groups/{group}"), &body).await;
        assert_eq!(put.status, 201, "{}", put.body);
    }
}

/// Returns the progress and the members of each group.
async fn groups(admin: &Client) -> BTreeMap<String, (f64, Option<u64>)> {
    let found = admin.get(&of(&format!("activities/{WALK}"))).await.body;
    let items = found["groups"]["items"].as_array().expect("groups").clone();
    let of = |group: &Value| (group["progress"].as_f64().expect("progress"), group["members"].as_u64());
    items.iter().map(|group| (text(group, "groupId").to_owned(), of(group))).collect()
}

fn expected<const N: usize>(groups: [(&str, f64, u64); N]) -> BTreeMap<String, (f64, Option<u64>)> {
    groups.into_iter().map(|(group, progress, members)| (group.to_owned(), (progress, Some(members)))).collect()
}

/// Starts the jobs as the schedule does, and waits until the job of the activity is done.
async fn compute(stack: &Stack, admin: &Client) -> Value {
    let started = Client::operator(stack).invoke(START, &json!({})).await.body;
    assert_eq!((&started["started"], &started["left"]), (&json!(1), &json!(false)), "{started}");
    until(admin, &of(&format!("jobs/{JOB}")), |answer| answer.body["status"] == "done").await.body
}

async fn join(client: &Client, user: &str, body: &Value) -> system_tests::Answer {
    client.put(&registration_of(COMPANY, user, WALK), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn group_progress_follows_from_the_members() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = Activity { enrolment: Some(Enrolment::Open), ..activity(COMPANY, WALK, "Walk", END) };
    put(&stack, &["a", "b", "c", "d"].map(|user| staff(COMPANY, user, "D"))).await;
    put(&stack, &["a", "b", "c"].map(|user| registration(&walk, user))).await;
    put(&stack, &[walk]).await;
    set_groups(&admin, &json!({"most": 10}), &["blue", "red"]).await;
    assert_eq!(groups(&admin).await["red"], (0.0, None));
    // An employee who is registered joins a group. Another one signs up for the activity with it.
    for (user, status) in [("a", 200), ("b", 200), ("d", 201)] {
        let answer = join(&employee(&stack, COMPANY, user), user, &json!({"groupId": "red"})).await;
        assert_eq!((answer.status, &answer.body["groupId"]), (status, &json!("red")), "{}", answer.body);
    }
    // A request without a group keeps it.
    let again = send(employee(&stack, COMPANY, "a").request("PUT", &registration_of(COMPANY, "a", WALK))).await;
    assert_eq!((again.status, &again.body["groupId"]), (200, &json!("red")), "{}", again.body);
    for (user, percent) in [("a", 100.0), ("b", 40.5), ("c", 30.0)] {
        let report = admin.patch(&registration_of(COMPANY, user, WALK), &json!({"progress": percent})).await;
        assert_eq!(report.status, 200, "{}", report.body);
    }
    let job = compute(&stack, &admin).await;
    assert_eq!(job["done"], 2, "{job}");
    assert_eq!(groups(&admin).await, expected([("blue", 0.0, 0), ("red", 46.83, 3)]));
    // An administrator moves one, another one leaves, and the rule is the sum.
    assert_eq!(join(&admin, "b", &json!({"groupId": "blue"})).await.status, 200);
    assert_eq!(send(admin.request("DELETE", &registration_of(COMPANY, "d", WALK))).await.status, 204);
    set_groups(&admin, &json!({"progress": "sum"}), &[]).await;
    compute(&stack, &admin).await;
    assert_eq!(groups(&admin).await, expected([("blue", 40.5, 1), ("red", 100.0, 1)]));
    let red = admin.get(&of(&format!("activities/{WALK}"))).await.body["groups"]["items"][1].clone();
    assert!(red["asOf"].is_string(), "{red}");
    // Lists show the group.
    let home = admin.get(&format!("{}&year=2099", registrations_of(COMPANY, "b"))).await;
    assert_eq!(home.body["items"][0]["groupId"], "blue", "{}", home.body);
    let path = of(&format!("activities/{WALK}/participants"));
    let participants = admin.get(&path).await.body["items"].clone();
    let shown = ["blue", "red"].map(|group| {
        let items = participants.as_array().expect("items").iter();
        items.filter(|one| one["groupId"] == group && one["status"] != "withdrawn").count()
    });
    assert_eq!(shown, [1, 1], "{participants}");
    // A renamed group keeps its progress. A removed one has no members any more.
    let version = admin.get(&of(&format!("activities/{WALK}"))).await.body["version"].clone();
    let path = of(&format!("activities/{WALK}/groups/blue"));
    let renamed = admin.put(&path, &json!({"version": version, "name": "Sky"})).await;
    assert_eq!((renamed.status, &renamed.body["group"]["progress"]), (200, &json!(40.5)), "{}", renamed.body);
    assert_eq!(send(admin.request("DELETE", &path)).await.status, 204);
    compute(&stack, &admin).await;
    assert_eq!(groups(&admin).await, expected([("red", 100.0, 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_groups_and_rules_are_rejected() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = activity(COMPANY, WALK, "Walk", END);
    put(&stack, &["a", "b"].map(|user| staff(COMPANY, user, "D"))).await;
    put(&stack, &[registration(&walk, "a")]).await;
    let ended = activity(COMPANY, "ended", "Ended", "2020-06-30");
    put(&stack, &[member(&ended, "a", "red", 1.0)]).await;
    put(&stack, &[walk, ended]).await;
    set_groups(&admin, &json!(null), &["red"]).await;
    let (a, b) = (employee(&stack, COMPANY, "a"), employee(&stack, COMPANY, "b"));
    for (client, user) in [(&a, "a"), (&b, "b")] {
        assert_problem(&join(client, user, &json!({"groupId": "green"})).await, 400, "invalid-request");
    }
    assert_problem(&join(&a, "b", &json!({"groupId": "red"})).await, 403, "forbidden");
    let path = registration_of(COMPANY, "a", "ended");
    assert_problem(&a.put(&path, &json!({"groupId": "blue"})).await, 409, "activity-not-open");
    let home = admin.get(&format!("{}&year=2099", registrations_of(COMPANY, "a"))).await;
    let item = home.body["items"][0].as_object().expect("a registration");
    assert!(!item.contains_key("groupId"), "{}", home.body);
    let version = admin.get(&of(&format!("activities/{WALK}"))).await.body["version"].clone();
    let rules = json!({"version": version, "type": "team", "rules": {"progress": "most"}});
    let wrong = admin.put(&of(&format!("activities/{WALK}/groups")), &rules).await;
    assert_problem(&wrong, 400, "invalid-request");
    assert_eq!(wrong.body["errors"][0]["pointer"], "/body/rules/progress", "{}", wrong.body);
}

/// The progress is computed for another month after the end, and again after an extension.
#[tokio::test(flavor = "multi_thread")]
async fn computation_ends_a_month_after_the_activity() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let walk = activity(COMPANY, WALK, "Walk", "2020-06-30");
    put(&stack, &[member(&walk, "a", "red", 50.0)]).await;
    put(&stack, &[walk]).await;
    set_groups(&admin, &json!({}), &["red"]).await;
    compute(&stack, &admin).await;
    assert_eq!(groups(&admin).await, expected([("red", 50.0, 1)]));
    let operator = Client::operator(&stack);
    assert_eq!(operator.invoke(START, &json!({})).await.body["started"], 0);
    let path = of(&format!("activities/{WALK}"));
    let version = admin.get(&path).await.body["version"].clone();
    let longer = admin.patch(&path, &json!({"version": version, "endDate": END})).await;
    assert_eq!(longer.status, 200, "{}", longer.body);
    for _ in 0..2 {
        compute(&stack, &admin).await;
    }
}
