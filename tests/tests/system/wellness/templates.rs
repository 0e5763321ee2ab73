//! Templates: changes and removals, activities that copy them, and the global templates
//! (docs/requirements/wellness.md#manage-templates).

use futures::future::join;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, assert_problem, send, text, texts,
    wellness::{admin, challenge, create, of_company, stack},
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

/// Returns the JSON object with some fields replaced or added.
fn with(json: &Value, members: &Value) -> Value {
    let mut all = json.as_object().cloned().expect("an object");
    all.extend(members.as_object().cloned().expect("an object"));
    all.into()
}

/// Creates a template. Returns its id.
async fn make(client: &Client, list: &str) -> String {
    let made = client.post(list, &whole()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = text(&made.body, "templateId").to_owned();
    assert_eq!(made.headers["location"], format!("{list}/{id}"));
    id
}

#[tokio::test]
async fn each_field_of_a_template_can_be_changed_and_removed() {
    let stack = stack().start().await.expect("a stack");
    let (admin, operator) = (admin(&stack, COMPANY), Client::operator(&stack));
    for (client, list, crossed) in
        [(&admin, of("templates"), GLOBAL.to_owned()), (&operator, GLOBAL.to_owned(), of("templates"))]
    {
        let id = make(client, &list).await;
        let path = format!("{list}/{id}");
        let made = client.get(&path).await;
        let mut expected = with(&whole(), &json!({"templateId": id, "version": 1, "scope": "global"}));
        expected["createdAt"] = made.body["createdAt"].clone();
        if list != GLOBAL {
            (expected["scope"], expected["companyId"]) = ("company".into(), COMPANY.into());
        }
        assert_eq!((made.status, &made.body), (200, &expected));
        assert_eq!(client.get(&list).await.body["items"], json!([expected]));
        // A global template is no template of a company, and the reverse.
        let crossed = format!("{crossed}/{id}");
        assert_problem(&operator.get(&crossed).await, 404, "not-found");
        assert_problem(&delete(&operator, &crossed).await, 404, "not-found");
        let new = json!({
            "name": "Four courses", "type": "event", "subType": "Health",
            "filters": {"roles": [], "departments": ["D"]}, "detail": {}, "goal": {"type": "hours", "parameters": 1},
            "rewards": [], "groups": {"type": "squad", "rules": 1, "items": []}, "references": [],
            "data": {"new": true},
        });
        let mut version = 1;
        for (member, value) in new.as_object().expect("an object") {
            let outdated = client.patch(&path, &json!({"version": version + 1, member: value})).await;
            assert_problem(&outdated, 412, "another-version");
            let changed = client.patch(&path, &json!({"version": version, member: value})).await;
            version += 1;
            (expected[member], expected["version"]) = (value.clone(), version.into());
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
        let large = json!({"detail": {"text": "x".repeat(50_000)}});
        assert_problem(&client.patch(&path, &large).await, 413, "too-large");
        assert_eq!(delete(client, &path).await.status, 204);
        assert_problem(&delete(client, &path).await, 404, "not-found");
        assert_problem(&client.get(&path).await, 404, "not-found");
    }
}

#[tokio::test]
async fn an_activity_copies_its_template_and_its_own_fields_override_it() {
    let stack = stack().start().await.expect("a stack");
    let client = admin(&stack, COMPANY);
    let dates = json!({"startDate": "2099-01-01", "endDate": "2099-12-31"});
    let of_template = |id: &str, more: Value| with(&with(&dates, &json!({"templateId": id})), &more);
    let template = make(&client, &of("templates")).await;
    let created = async |more: Value| {
        let made = create(&client, COMPANY, &of_template(&template, more)).await;
        assert_eq!(made["templateId"], json!(template));
        client.get(&of(&format!("activities/{}", text(&made, "activityId")))).await.body
    };
    let copy = created(json!({})).await;
    let members = ["name", "type", "subType", "filters", "detail", "goal", "rewards", "data", "references"];
    for member in members {
        assert_eq!(copy[member], whole()[member], "{member}");
    }
    assert_eq!(copy["groups"]["items"][0]["name"], "Red");
    let own = with(&challenge("Walk", "2099-12-31"), &json!({"rewards": [], "data": {"from": "me"}}));
    let overridden = created(own.clone()).await;
    for member in members {
        assert_eq!(overridden[member], own[member], "{member}");
    }
    assert_eq!(overridden["groups"]["items"].as_array().map(Vec::len), Some(2));

    // The data of a reference is that of the company's record, if it has one.
    let record = |name: &str| json!({"name": name, "data": {"Name": name}});
    let other = admin(&stack, "C-2");
    assert_eq!(other.put(&of_company("C-2", "references/courses/one"), &record("Theirs")).await.status, 201);
    assert_eq!(created(json!({})).await["references"][0]["data"]["Name"], "One");
    assert_eq!(client.put(&of("references/courses/one"), &record("Ours")).await.status, 201);
    assert_eq!(created(json!({})).await["references"][0]["data"]["Name"], "Ours");

    let bare = client.post(&of("templates"), &json!({"name": "Bare"})).await.body;
    let incomplete = of_template(text(&bare, "templateId"), json!({"subType": "Health"}));
    let missing = client.post(&of("activities"), &incomplete).await;
    assert_problem(&missing, 400, "invalid-request");
    assert_eq!(texts(missing.body["errors"].as_array().expect("errors"), "pointer"), ["/body/type"]);
    let unknown = client.post(&of("activities"), &of_template("none", json!({}))).await;
    assert_problem(&unknown, 404, "not-found");
}

#[tokio::test]
async fn a_deployment_loads_ten_global_templates_once() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let own = make(&operator, GLOBAL).await;
    let load = async || operator.invoke("load-templates", &json!({})).await.body;
    let both = join(load(), load()).await;
    let mut loaded = [&both.0["loaded"], &both.1["loaded"]].map(|count| count.as_u64().expect("a number"));
    loaded.sort_unstable();
    assert_eq!(loaded, [0, 10], "concurrent deployments");
    let list = operator.get(&format!("{GLOBAL}?limit=100")).await.body;
    let ids = texts(list["items"].as_array().expect("items"), "templateId");
    assert!(ids.len() == 11 && ids.contains(&own.as_str()), "the operator's template remains: {ids:?}");
    // An activity of any company can be created from each of them.
    let client = admin(&stack, COMPANY);
    let shipped =
        "alcohol-courses blood-drive flu-shot health-check hydration mindfulness quit-smoking running sleep walking";
    for id in shipped.split(' ') {
        let body = json!({"templateId": id, "startDate": "2099-01-01", "endDate": "2099-12-31"});
        create(&client, COMPANY, &body).await;
    }
    let courses = client.get(&format!("{GLOBAL}/alcohol-courses")).await.body;
    assert_eq!(courses["references"].as_array().map(Vec::len), Some(3), "{courses}");
    // Later runs respect the changes of operators.
    assert_eq!(operator.patch(&format!("{GLOBAL}/walking"), &json!({"name": "Strolling"})).await.status, 200);
    assert_eq!(delete(&operator, &format!("{GLOBAL}/running")).await.status, 204);
    assert_eq!(load().await, json!({"version": 1, "loaded": 0}));
    assert_eq!(operator.get(&format!("{GLOBAL}/walking")).await.body["name"], "Strolling");
    assert_problem(&operator.get(&format!("{GLOBAL}/running")).await, 404, "not-found");
}
