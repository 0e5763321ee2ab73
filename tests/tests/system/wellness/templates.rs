//! Tests of templates: reads, changes and removals, references, and the global templates (W32).

use aws_sdk_dynamodb::types::AttributeValue;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    Answer, Client, assert_problem,
    faults::{Fault, Moment, Twins},
    send, text,
    wellness::{admin, employee, of_company, stack},
};

const COMPANY: &str = "C-1";
const GLOBAL: &str = "/wellness/templates";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

async fn delete(client: &Client, path: &str) -> Answer {
    send(client.request("DELETE", path)).await
}

/// A template with every field.
fn whole() -> Value {
    json!({
        "name": "Three courses", "type": "challenge", "subType": "Education",
        "filters": {"roles": ["Nurse"], "departments": []},
        "detail": {"b": 1.50, "a": null},
        "goal": {"type": "courses", "parameters": {"target": 3}},
        "rewards": [{"kind": "Goal", "name": "Points", "amount": 30}],
        "groups": {"type": "team", "rules": {}, "items": [{"name": "Red"}]},
        "references": [{"facet": "courses", "id": "one", "data": {"Name": "One"}}],
        "data": {"banner": "x.png"},
    })
}

async fn make(client: &Client, path: &str) -> String {
    let made = client.post(path, &whole()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.body["references"], whole()["references"], "{}", made.body);
    format!("{path}/{}", text(&made.body, "templateId"))
}

async fn load(client: &Client) -> Value {
    client.invoke("load-templates", &json!({})).await.body
}

#[tokio::test]
async fn each_field_of_a_template_can_be_changed_and_removed() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    for (client, list) in [(&admin, of("templates")), (&operator, GLOBAL.to_owned())] {
        let path = make(client, &list).await;
        let made = client.get(&path).await;
        assert_eq!((made.status, &made.body["version"]), (200, &json!(1)), "{}", made.body);
        let mut expected = made.body.clone();
        let new = json!({
            "name": "Four courses", "type": "event", "subType": "Health", "filters": {"roles": [], "departments": ["D"]},
            "detail": {}, "goal": {"type": "hours", "parameters": 1},
            "rewards": [], "groups": {"type": "squad", "rules": 1, "items": []},
            "references": [], "data": {"new": true},
        });
        let mut version = 1;
        for (member, value) in new.as_object().expect("an object") {
            let outdated = client.patch(&path, &json!({"version": version + 1, member: value})).await;
            assert_problem(&outdated, 412, "another-version");
            let changed = client.patch(&path, &json!({"version": version, member: value})).await;
            version += 1;
            expected[member] = value.clone();
            expected["version"] = version.into();
            assert_eq!((changed.status, &changed.body), (200, &expected), "{member}");
            // The same content keeps the version.
            let same = client.patch(&path, &json!({member: value})).await;
            assert_eq!((same.status, &same.body), (200, &expected), "{member}");
        }
        for member in new.as_object().expect("an object").keys().filter(|member| *member != "name") {
            let removed = client.patch(&path, &json!({member: null})).await;
            version += 1;
            expected.as_object_mut().expect("an object").remove(member);
            expected["version"] = version.into();
            assert_eq!((removed.status, &removed.body), (200, &expected), "{member}");
        }
        assert_eq!(client.get(&path).await.body, expected);
        let large = json!({"detail": {"text": "x".repeat(50_000)}});
        assert_problem(&client.patch(&path, &large).await, 413, "too-large");
        assert_eq!(delete(client, &path).await.status, 204);
        assert_problem(&delete(client, &path).await, 404, "not-found");
        assert_problem(&client.get(&path).await, 404, "not-found");
        assert_problem(&client.patch(&path, &json!({"name": "N"})).await, 404, "not-found");
    }
}

#[tokio::test]
async fn only_operators_change_global_templates_and_everybody_reads_them() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let (global, own) = (make(&operator, GLOBAL).await, make(&operator, &of("templates")).await);
    let (user, boss, other) = (employee(&stack, COMPANY, "u-1"), admin(&stack, COMPANY), admin(&stack, "C-2"));
    for client in [&user, &boss, &other] {
        assert_eq!(client.get(&global).await.status, 200);
        assert_eq!(client.patch(&global, &json!({"name": "Mine"})).await.status, 403);
        assert_eq!(delete(client, &global).await.status, 403);
    }
    assert_eq!(user.get(&own).await.status, 200);
    assert_eq!(user.patch(&own, &json!({"name": "Mine"})).await.status, 403);
    // A global template is no template of a company, and the reverse.
    let id = |path: &str| path.rsplit('/').next().expect("an id").to_owned();
    let crossed = [of(&format!("templates/{}", id(&global))), format!("{GLOBAL}/{}", id(&own))];
    for path in &crossed {
        assert_problem(&operator.get(path).await, 404, "not-found");
        assert_problem(&delete(&operator, path).await, 404, "not-found");
    }
    for path in [own.clone(), of_company("C-2", &format!("templates/{}", id(&own)))] {
        let expected = if path == own { 403 } else { 404 };
        assert_eq!(other.get(&path).await.status, expected);
        assert_eq!(other.patch(&path, &json!({"name": "Mine"})).await.status, expected);
        assert_eq!(delete(&other, &path).await.status, expected);
    }
    assert_eq!(operator.get(&own).await.body["name"], "Three courses");
}

#[tokio::test]
async fn an_activity_copies_the_references_of_its_template() {
    let stack = stack().start().await.expect("a stack");
    let client = admin(&stack, COMPANY);
    let template = make(&client, &of("templates")).await;
    let id = template.rsplit('/').next().expect("an id").to_owned();
    let create = async |more: Value| {
        let mut body = json!({"templateId": id, "startDate": "2099-01-01", "endDate": "2099-12-31"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let made = client.post(&of("activities"), &body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        client.get(&of(&format!("activities/{}", text(&made.body, "activityId")))).await.body["references"].clone()
    };
    let course = |data: Value| json!([{"facet": "courses", "id": "one", "data": data}]);
    assert_eq!(create(json!({})).await, course(json!({"Name": "One"})), "no record: the data of the template");
    // The record of another company has no effect.
    let other = admin(&stack, "C-2");
    let record = |name: &str| json!({"name": name, "data": {"Name": name}});
    assert_eq!(other.put(&of_company("C-2", "references/courses/one"), &record("Theirs")).await.status, 201);
    assert_eq!(create(json!({})).await, course(json!({"Name": "One"})));
    assert_eq!(client.put(&of("references/courses/one"), &record("Ours")).await.status, 201);
    assert_eq!(create(json!({})).await, course(json!({"Name": "Ours"})), "the data of the record");
    assert_eq!(create(json!({"references": []})).await, json!([]), "the request overrides the template");
    let own = json!([{"facet": "files", "id": "1", "data": {}}]);
    assert_eq!(create(json!({"references": own})).await, own);
    assert_eq!(delete(&client, &template).await.status, 204);
}

#[tokio::test]
async fn a_deployment_loads_ten_global_templates_once() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let own = make(&operator, GLOBAL).await;
    assert_eq!(load(&operator).await, json!({"version": 1, "loaded": 10}));
    let list = operator.get(&format!("{GLOBAL}?limit=100")).await.body;
    let ids: BTreeSet<_> =
        list["items"].as_array().expect("items").iter().map(|item| text(item, "templateId")).collect();
    let shipped = [
        "alcohol-courses",
        "blood-drive",
        "flu-shot",
        "health-check",
        "hydration",
        "mindfulness",
        "quit-smoking",
        "running",
        "sleep",
        "walking",
    ];
    assert!(shipped.iter().all(|id| ids.contains(id)), "{ids:?}");
    assert_eq!(ids.len(), 11, "the operator's template remains: {ids:?}");
    // An activity of any company can be created from each of them.
    let client = admin(&stack, COMPANY);
    for id in shipped {
        let body = json!({"templateId": id, "startDate": "2099-01-01", "endDate": "2099-12-31"});
        let made = client.post(&of("activities"), &body).await;
        assert_eq!(made.status, 201, "{id}: {}", made.body);
    }
    let courses = client.get(&format!("{GLOBAL}/alcohol-courses")).await.body;
    assert_eq!(courses["references"].as_array().map(Vec::len), Some(3), "{courses}");
    // Later runs respect the changes of operators.
    assert_eq!(operator.patch(&format!("{GLOBAL}/walking"), &json!({"name": "Strolling"})).await.status, 200);
    assert_eq!(delete(&operator, &format!("{GLOBAL}/running")).await.status, 204);
    assert_eq!(load(&operator).await, json!({"version": 1, "loaded": 0}));
    assert_eq!(operator.get(&format!("{GLOBAL}/walking")).await.body["name"], "Strolling");
    assert_problem(&operator.get(&format!("{GLOBAL}/running")).await, 404, "not-found");
    assert_eq!(operator.get(&own).await.status, 200);
}

/// An unreadable version stops the load, so that it does not undo the changes of operators.
#[tokio::test]
async fn an_unreadable_version_of_the_set_stops_the_load() {
    let stack = stack().start().await.expect("a stack");
    let put = stack.client().expect("a client").put_item().table_name(stack.table("Activities").expect("a table"));
    let put = put.item("PK", AttributeValue::S("Global".to_owned())).item("Version", AttributeValue::Bool(true));
    let put = put.item("Type", AttributeValue::S("TemplateSet".to_owned()));
    put.item("SK", AttributeValue::S("TemplateSet".to_owned())).send().await.expect("written");
    let answer = Client::operator(&stack).invoke("load-templates", &json!({})).await;
    assert_eq!(answer.body.get("loaded"), None, "{}", answer.body);
    assert_eq!(count(&stack).await, 0);
}

async fn count(stack: &Stack) -> usize {
    let list = Client::operator(stack).get(&format!("{GLOBAL}?limit=100")).await.body;
    list["items"].as_array().expect("items").len()
}

/// Kills the load before and after each call, and runs it concurrently. All templates are loaded or
/// none, and the next run loads them once.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_load_leaves_all_templates_or_none() {
    for (number, moment) in [(1, Moment::Before), (1, Moment::After), (2, Moment::Before), (2, Moment::After)] {
        let twins = Twins::start(stack).await;
        twins.proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
        let function = system_tests::patterns::function_named("load-templates");
        let run = twins.process("load-templates", &function).run(&json!({}), Duration::from_mins(1)).await;
        assert!(run.is_none());
        let done = (number, moment) == (2, Moment::After);
        assert_eq!(count(&twins.healthy).await, if done { 10 } else { 0 }, "{moment:?} call {number}");
        let operator = Client::operator(&twins.healthy);
        let both = futures::future::join(load(&operator), load(&operator)).await;
        let loaded = [both.0, both.1].iter().map(|run| run["loaded"].as_u64().expect("a number")).sum::<u64>();
        assert_eq!(loaded, if done { 0 } else { 10 });
        assert_eq!(count(&twins.healthy).await, 10);
    }
}
