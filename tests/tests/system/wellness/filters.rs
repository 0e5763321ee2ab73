//! Tests of the attributes of employees, and of the filters of activities that name them
//! (docs/requirements/wellness.md#attributes-of-employees).

use ::wellness::{AttributeMap, Candidate, Filters, FiltersBody};
use local::Stack;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client, assert_problem, drained, text, until,
    wellness::{admin, challenge, create, employee, event_at, of_company, registration_of, registrations_of, stack},
};

const COMPANY: &str = "C";
const END: &str = "2099-12-31T23:59:59";

fn of(rest: &str) -> String {
    of_company(COMPANY, rest)
}

async fn place(admin: &Client, user: &str, attributes: &Value) -> Answer {
    let body = json!({"role": "R", "department": "Sales", "attributes": attributes});
    let answer = admin.put(&of(&format!("employees/{user}")), &body).await;
    assert!(matches!(answer.status, 200 | 201), "{attributes}: {}", answer.body);
    drained(admin, "register-new-employee").await;
    answer
}

fn with_filters(mut activity: Value, filters: &Value) -> Value {
    activity["filters"] = filters.clone();
    activity
}

/// The pointers of the faults in the body.
fn pointers(answer: &Answer) -> Vec<&str> {
    assert_problem(answer, 400, "invalid-request");
    answer.body["errors"].as_array().expect("errors").iter().map(|error| text(error, "pointer")).collect()
}

/// The names of the activities in which the employee takes part.
async fn registered(client: &Client, user: &str) -> BTreeSet<String> {
    let path = format!("{}&year=2099", registrations_of(COMPANY, user));
    let items = client.get(&path).await.body;
    items["items"].as_array().expect("items").iter().map(|one| text(one, "name").to_owned()).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// As many attributes as an employee may have, with the longest names and values.
fn most() -> Map<String, Value> {
    (10..30).map(|number| (format!("{number}{}", "x".repeat(38)), "é".repeat(100).into())).collect()
}

#[tokio::test]
async fn an_employee_has_the_attributes_of_the_last_put() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let path = of("employees/U");
    for attributes in [
        json!({"location": "Berlin", "shift": "night"}),
        json!({"-": "=1+1", "_": "a  b", "Location": "Köln", "0": "0"}),
        most().into(),
        json!({}),
    ] {
        let put = place(&admin, "U", &attributes).await.body;
        let found = admin.get(&path).await.body;
        assert_eq!(found, put);
        assert_eq!(found.get("attributes").cloned().unwrap_or(json!({})), attributes);
    }
    place(&admin, "U", &json!({"location": "Berlin"})).await;
    let stored = admin.get(&path).await.body;
    let mut too_many = most();
    too_many.insert("one-more".to_owned(), "x".into());
    let long = "x".repeat(41);
    for (attributes, pointer) in [
        (Value::from(too_many), "/body/attributes"),
        (json!([]), "/body/attributes"),
        (json!(null), "/body/attributes"),
        (json!({"location": ""}), "/body/attributes/location"),
        (json!({"location": "x".repeat(101)}), "/body/attributes/location"),
        (json!({"location": "a\nb"}), "/body/attributes/location"),
        (json!({"location": "a\u{202e}b"}), "/body/attributes/location"),
        (json!({"location": ["Berlin"]}), "/body/attributes/location"),
        (json!({"location": null}), "/body/attributes/location"),
        (json!({"age": 40}), "/body/attributes/age"),
        (json!({"": "x"}), "/body/attributes/"),
        (json!({"a b": "x"}), "/body/attributes/a b"),
        (json!({"a.b": "x"}), "/body/attributes/a.b"),
        (json!({"é": "x"}), "/body/attributes/é"),
        (json!({&long: "x"}), &format!("/body/attributes/{long}")),
        (json!({"type": "x"}), "/body/attributes/type"),
        (json!({"subType": "x"}), "/body/attributes/subType"),
        (json!({"Roles": "x"}), "/body/attributes/Roles"),
        (json!({"departments": "x"}), "/body/attributes/departments"),
        (json!({"userId": "x"}), "/body/attributes/userId"),
        (json!({"name": "x"}), "/body/attributes/name"),
    ] {
        let body = json!({"role": "R", "department": "Legal", "attributes": attributes});
        assert_eq!(pointers(&admin.put(&path, &body).await), [pointer], "{attributes}");
        assert_eq!(admin.get(&path).await.body, stored);
    }
    let without = admin.put(&path, &json!({"role": "R", "department": "Sales"})).await.body;
    assert_eq!(without.get("attributes"), None, "a put replaces the employee");
}

#[tokio::test]
async fn filters_are_an_open_map_of_at_most_2_kb() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let of_walk = |filters: &Value| with_filters(challenge("Walk", END), filters);
    // Twenty values of 97 characters, and a value that fills up the rest.
    let of_size = |bytes: usize| {
        let mut filters = json!({"roles": [], "departments": [], "x": vec!["y".repeat(97); 20]});
        let rest = bytes - filters.to_string().len() - ",\"\"".len();
        filters["x"].as_array_mut().expect("values").push("y".repeat(rest).into());
        filters
    };
    assert_eq!(of_size(2_048).to_string().len(), 2_048);
    for filters in [
        json!({"roles": ["R"], "departments": [], "location": ["Berlin", "Köln"], "nobody-has-it": []}),
        json!({"type": "challenge", "subType": "Fitness", "roles": [], "departments": ["Sales"], "Grade": ["=1"]}),
        of_size(2_048),
    ] {
        let made = create(&admin, COMPANY, &of_walk(&filters)).await;
        let path = of(&format!("activities/{}", text(&made, "activityId")));
        assert_eq!(made["filters"], filters);
        assert_eq!(admin.get(&path).await.body["filters"], filters);
        let same = admin.patch(&path, &json!({"version": 1, "filters": filters})).await;
        assert_eq!((same.status, &same.body["version"]), (200, &json!(1)), "{}", same.body);
    }
    let made = create(&admin, COMPANY, &of_walk(&json!({}))).await;
    let path = of(&format!("activities/{}", text(&made, "activityId")));
    let stored = admin.get(&path).await.body;
    let of_template = of("templates");
    for (filters, pointer) in [
        (of_size(2_049), "/body/filters"),
        (json!([]), "/body/filters"),
        (json!({"location": "Berlin"}), "/body/filters/location"),
        (json!({"location": [""]}), "/body/filters/location/0"),
        (json!({"location": ["a", "x".repeat(101)]}), "/body/filters/location/1"),
        (json!({"location": null}), "/body/filters/location"),
        (json!({"a b": []}), "/body/filters/a b"),
        (json!({"Departments": []}), "/body/filters/Departments"),
        (json!({"role": []}), "/body/filters/role"),
        (json!({"x".repeat(41): []}), &format!("/body/filters/{}", "x".repeat(41))),
        (json!({"type": "walk"}), "/body/filters/type"),
        (json!({"type": "event"}), "/body/filters/type"),
        (json!({"subType": "Sleep"}), "/body/filters/subType"),
    ] {
        let activity = admin.post(&of("activities"), &of_walk(&filters)).await;
        assert_eq!(pointers(&activity), [pointer], "{filters}");
        let changed = admin.patch(&path, &json!({"version": 1, "filters": filters})).await;
        assert_eq!(pointers(&changed), [pointer], "{filters}");
        assert_eq!(admin.get(&path).await.body, stored);
        let template = json!({"name": "Walk", "type": "challenge", "subType": "Fitness", "filters": filters});
        assert_eq!(pointers(&admin.post(&of_template, &template).await), [pointer], "{filters}");
    }
}

/// An activity of another type than the template does not inherit the type that its filters state.
#[tokio::test]
async fn a_template_passes_its_filters_on() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let filters = json!({"type": "challenge", "roles": [], "departments": [], "location": ["Berlin"]});
    let body = json!({"name": "Walk", "type": "challenge", "subType": "Fitness", "filters": filters});
    let template = admin.post(&of("templates"), &body).await.body;
    assert_eq!(template["filters"], filters);
    let dates = json!({"templateId": template["templateId"], "startDate": "2099-01-01", "endDate": END});
    assert_eq!(create(&admin, COMPANY, &dates).await["filters"], filters);
    let mut event = dates.clone();
    event["type"] = "event".into();
    let without = json!({"roles": [], "departments": [], "location": ["Berlin"]});
    assert_eq!(create(&admin, COMPANY, &event).await["filters"], without);
    event["filters"] = json!({"type": "challenge"});
    assert_eq!(pointers(&admin.post(&of("activities"), &event).await), ["/body/filters/type"]);
    let path = of(&format!("templates/{}", text(&template, "templateId")));
    let other = admin.patch(&path, &json!({"filters": {"type": "event"}})).await;
    assert_eq!(pointers(&other), ["/body/filters/type"]);
}

async fn enrolled(admin: &Client, activity: &Value) {
    let path = of(&format!("jobs/EnrolmentId-{}", text(activity, "activityId")));
    until(admin, &path, |answer| answer.body["status"] != "running").await;
}

/// Challenges with filters by attributes, and employees of Sales with attributes.
async fn scene() -> (Stack, Client) {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    for (user, attributes) in [
        ("berlin", json!({"location": "Berlin"})),
        ("koeln", json!({"location": "Köln", "shift": "night"})),
        ("nowhere", json!({})),
        ("lower", json!({"location": "berlin", "Location": "Berlin"})),
    ] {
        place(&admin, user, &attributes).await;
    }
    for (name, filters) in [
        ("all", json!({})),
        ("empty", json!({"location": []})),
        ("berlin", json!({"location": ["Berlin"]})),
        ("two", json!({"departments": ["Sales"], "location": ["Berlin", "Köln"]})),
        ("both", json!({"location": ["Berlin", "Köln"], "shift": ["night"]})),
        ("legal", json!({"departments": ["Legal"], "location": ["Berlin"]})),
        ("nobody", json!({"shoe-size": ["44"]})),
    ] {
        enrolled(&admin, &create(&admin, COMPANY, &with_filters(challenge(name, END), &filters)).await).await;
    }
    (stack, admin)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_enrols_those_whose_attributes_are_in_every_list() {
    let (_stack, admin) = scene().await;
    assert_eq!(registered(&admin, "berlin").await, names(["all", "berlin", "empty", "two"]));
    assert_eq!(registered(&admin, "koeln").await, names(["all", "both", "empty", "two"]));
    assert_eq!(registered(&admin, "nowhere").await, names(["all", "empty"]));
    assert_eq!(registered(&admin, "lower").await, names(["all", "empty"]));
    let activities = admin.get(&of("activity-options?year=2099")).await.body;
    let all = activities["items"].as_array().expect("items");
    let two = all.iter().find(|one| one["name"] == "two").expect("the activity");
    let filters = json!({"roles": [], "departments": ["Sales"], "location": ["Köln"]});
    let changed = admin
        .patch(&of(&format!("activities/{}", text(two, "activityId"))), &json!({"version": 1, "filters": filters}))
        .await;
    assert!(changed.body["enrolmentJobId"].is_string(), "{}", changed.body);
    enrolled(&admin, two).await;
    assert_eq!(registered(&admin, "berlin").await, names(["all", "berlin", "empty"]));
    assert_eq!(registered(&admin, "koeln").await, names(["all", "both", "empty", "two"]));
}

/// A change of an attribute has the effect of a change of the department.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_attribute_enrols_and_withdraws_the_employee() {
    let (_stack, admin) = scene().await;
    let at = |location: &str| json!({"location": location, "shift": "night"});
    place(&admin, "new", &at("Köln")).await;
    assert_eq!(registered(&admin, "new").await, names(["all", "both", "empty", "two"]));
    place(&admin, "new", &at("Hamburg")).await;
    assert_eq!(registered(&admin, "new").await, names(["all", "empty"]));
    place(&admin, "new", &json!({"location": "Berlin"})).await;
    assert_eq!(registered(&admin, "new").await, names(["all", "berlin", "empty", "two"]));
    let activities = admin.get(&of("activity-options?year=2099")).await.body;
    let all = activities["items"].as_array().expect("items");
    let berlin = all.iter().find(|one| one["name"] == "berlin").expect("the activity");
    let path = registration_of(COMPANY, "new", text(berlin, "activityId"));
    assert_eq!(admin.patch(&path, &json!({"progress": 1, "correction": true})).await.status, 200);
    place(&admin, "new", &json!({})).await;
    assert_eq!(registered(&admin, "new").await, names(["all", "berlin", "empty"]), "progress is kept");
}

#[tokio::test]
async fn sign_ups_need_the_attributes() {
    let stack = stack().start().await.expect("a stack");
    let admin = admin(&stack, COMPANY);
    let filters = json!({"location": ["Berlin"]});
    let activity = create(&admin, COMPANY, &with_filters(event_at("Yoga", END, &[]), &filters)).await;
    for (user, attributes, status) in
        [("a", json!({"location": "Berlin"}), 201), ("b", json!({"location": "Köln"}), 409), ("c", json!({}), 409)]
    {
        place(&admin, user, &attributes).await;
        let path = registration_of(COMPANY, user, text(&activity, "activityId"));
        let joined = employee(&stack, COMPANY, user).put(&path, &json!({})).await;
        assert_eq!(joined.status, status, "{}", joined.body);
        if status == 409 {
            assert_problem(&joined, 409, "not-eligible");
        }
    }
    let path = registration_of(COMPANY, "c", text(&activity, "activityId"));
    assert_eq!(admin.put(&path, &json!({})).await.status, 201, "an administrator may put in anybody");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_list_shows_the_activities_that_admit_attributes() {
    let (_stack, admin) = scene().await;
    let shown = async |attributes: &str| {
        let query = function::percent_encoded(attributes);
        let answer = admin.get(&of(&format!("activity-options?year=2099&attributes={query}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let items = answer.body["items"].as_array().expect("items").clone();
        items.iter().map(|one| text(one, "name").to_owned()).collect::<BTreeSet<_>>()
    };
    let every = names(["all", "berlin", "both", "empty", "legal", "nobody", "two"]);
    assert_eq!(shown("{}").await, every);
    assert_eq!(shown(r#"{"unknown": "x"}"#).await, every);
    let berlin = r#"{"location": "Berlin"}"#;
    assert_eq!(shown(berlin).await, names(["all", "berlin", "both", "empty", "legal", "nobody", "two"]));
    assert_eq!(shown(r#"{"location":"Köln"}"#).await, names(["all", "both", "empty", "nobody", "two"]));
    let day = r#"{"location": "Berlin", "shift": "day", "shoe-size": "43"}"#;
    assert_eq!(shown(day).await, names(["all", "berlin", "empty", "legal", "two"]));
    for bad in ["", "x", "[]", "null", r#"{"a b":"x"}"#, r#"{"location":1}"#, r#"{"type":"x"}"#] {
        let answer = admin.get(&of(&format!("activity-options?attributes={}", function::percent_encoded(bad)))).await;
        assert_eq!(pointers(&answer), ["/query/attributes"], "{bad}");
    }
}

#[test]
fn stored_filters_have_one_form() {
    for stored in [
        json!({"Roles": [], "Departments": ["Sales"]}),
        json!({"Type": "event", "SubType": "Yoga", "Roles": ["R"], "Departments": [], "Attributes": {"a": ["b"]}}),
    ] {
        let filters: Filters = serde_json::from_value(stored.clone()).expect("filters");
        assert_eq!(serde_json::to_value(&filters).expect("JSON"), stored);
        let body = FiltersBody::from(filters.clone());
        let body = serde_json::from_value(serde_json::to_value(body).expect("JSON")).expect("filters");
        assert_eq!(Filters::from(FiltersBody::clone(&body)), filters);
    }
}

#[test]
fn a_missing_attribute_matches_no_list_unless_it_is_unknown() {
    let read = |filters| Filters::from(serde_json::from_value::<FiltersBody>(filters).expect("filters"));
    let attributes: AttributeMap = serde_json::from_value(json!({"a": "1", "b": "2"})).expect("attributes");
    for (filters, of_employee, of_partial) in [
        (json!({}), true, true),
        (json!({"a": [], "c": []}), true, true),
        (json!({"a": ["1", "2"]}), true, true),
        (json!({"a": ["1"], "b": ["1"]}), false, false),
        (json!({"a": ["1"], "c": ["1"]}), false, true),
        (json!({"A": ["1"]}), false, true),
    ] {
        let admits = |is_partial| {
            let candidate = Candidate { role: None, department: None, attributes: &attributes, is_partial };
            read(filters.clone()).admit(candidate)
        };
        assert_eq!([admits(false), admits(true)], [of_employee, of_partial], "{filters}");
    }
}
