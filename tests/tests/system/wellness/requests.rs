//! Tests of invalid requests. Each must return the expected problem and write nothing. Unusual but
//! valid requests must succeed.
//!
//! The routes come from the template, so a new route without cases fails the tests.

use local::Stack;
use reqwest::RequestBuilder;
use serde_json::{Value, json, value::RawValue};
use std::collections::BTreeMap;
use system_tests::{
    Client, drained,
    requests::{Case, SECRET, all_are_refused, sent, shortened},
    send, stack, text, until,
    wellness::{create, of_company, registration_of, registrations_of},
};

/// The company and the user of the requests. Ids of the other company begin with `b-`.
const COMPANY: &str = "123";
const OTHER: &str = "b-company";
const USER: &str = "u-1";

/// A valid body for each function.
const GOOD: [(&str, &str); 21] = [
    (
        "create-activity",
        r#"{"name": "N", "type": "event", "subType": "Fitness", "startDate": "2020-01-01", "endDate": "2020-12-31"}"#,
    ),
    ("move-activity", r#"{"sectionId": "7"}"#),
    ("replace-reference", r#"{"replacementId": "456", "data": {}}"#),
    ("update-reference", r#"{"data": {}}"#),
    ("put-employee", r#"{"role": "EmployeeOnPlan", "department": "Sales"}"#),
    ("record-progress", r#"{"progress": 50}"#),
    ("correct-points", r#"{"planId": "2026", "amount": 1, "reason": "Helped"}"#),
    ("record-attendance", r#"{"userIds": ["u-1"]}"#),
    ("create-template", r#"{"name": "N"}"#),
    (
        "create-file",
        r#"{"name": "N", "contentType": "image/png", "bytes": 9, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#,
    ),
    (
        "create-employee-import",
        r#"{"bytes": 9, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "endMissing": true}"#,
    ),
    ("put-section", r#"{"name": "N", "startDate": "2020-01-01", "endDate": "2020-12-31"}"#),
    ("put-plan", r#"{"name": "N", "startDate": "2020-01-01", "endDate": "2020-12-31"}"#),
    ("put-reference", r#"{"name": "N", "data": {}}"#),
    ("update-activity", r#"{"version": 1, "name": "N"}"#),
    ("update-template", r#"{"version": 1, "name": "N"}"#),
    ("update-part detail", r#"{"version": 1, "detail": {}}"#),
    ("update-part goal", r#"{"version": 1, "type": "steps", "parameters": 1}"#),
    ("update-part rewards/{kind}", r#"{"version": 1, "name": "N", "amount": 1}"#),
    ("update-part groups", r#"{"version": 1, "type": "team", "rules": {}}"#),
    ("update-part groups/{groupId}", r#"{"version": 1, "name": "N"}"#),
];

fn good(function: &str) -> &'static str {
    GOOD.iter().find(|(of, _)| *of == function).map_or("", |(_, body)| body)
}

/// Returns the body with one field replaced or added.
fn with(body: &str, member: &str, json: &str) -> String {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(body).expect("an object");
    members.insert(member.to_owned(), RawValue::from_string(json.to_owned()).expect("JSON"));
    serde_json::to_string(&members).expect("JSON")
}

/// A route of the template.
struct Route {
    /// The function. For a function whose routes have different bodies, also the end of the path.
    function: String,
    method: String,
    path: String,
}

fn label(function: &str, path: &str) -> String {
    match path.rsplit_once("{activityId}/") {
        Some((_, part)) if function == "update-part" => format!("{function} {part}"),
        _ => function.to_owned(),
    }
}

/// A stack with items of two companies, and an operator's client.
struct World {
    stack: Stack,
    client: Client,
    routes: Vec<Route>,
    /// The company's activity, as returned when it was created. `others` is the other company's
    /// activity.
    activity: Value,
    others: Value,
}

impl World {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        let client = Client::operator(&stack);
        let mut made = Vec::new();
        for (company, user, name) in [(COMPANY, USER, "ours"), (OTHER, "b-user", SECRET)] {
            made.push(fill(&client, company, user, name).await);
        }
        for function in ["register-new-employee", "continue-job"] {
            drained(&client, function).await;
        }
        let routes = stack.template().lambdas.iter().flat_map(|lambda| {
            lambda.routes.iter().map(|route| Route {
                function: label(&lambda.name, &route.path),
                method: route.method.clone(),
                path: route.path.clone(),
            })
        });
        let routes = routes.filter(|route| route.path.starts_with("/wellness/")).collect();
        let [activity, others] = made.try_into().expect("two");
        Self { stack, client, routes, activity, others }
    }

    /// Returns the path of the route, with one parameter replaced.
    fn path(&self, route: &Route, other: (&str, &str)) -> String {
        let id = text(&self.activity, "activityId");
        let good = [
            ("companyId", COMPANY),
            ("activityId", id),
            ("facet", "venues"),
            ("facetId", "123"),
            ("userId", USER),
            ("sectionId", "7"),
            ("planId", "plan"),
            ("jobId", "VenueId-123"),
            ("kind", "Attendance"),
            ("groupId", "1"),
            ("importId", "1"),
            ("templateId", text(&self.activity, "template")),
        ];
        let segment = |segment: &str| match parameter(segment) {
            Some(name) if name == other.0 => other.1.to_owned(),
            Some(name) => good.iter().find(|(of, _)| *of == name).expect("a value").1.to_owned(),
            None => segment.to_owned(),
        };
        let path = route.path.split('/').map(segment).collect::<Vec<_>>().join("/");
        if route.path.starts_with("/wellness/users/") { format!("{path}?companyId={COMPANY}") } else { path }
    }

    /// Returns a request to the route that is valid except for one path parameter.
    fn request(&self, client: &Client, route: &Route, other: (&str, &str)) -> RequestBuilder {
        let path = self.path(route, other);
        match good(&route.function) {
            "" => client.request(&route.method, &path),
            body => sent(client, &route.method, &path, body),
        }
    }

    /// Returns a request with this query string, and the names of the invalid parameters.
    fn query(&self, function: &str, query: &str, names: &str) -> Case {
        let route = self.routes.iter().find(|route| route.function == function).expect("a route");
        let path = with_query(&self.path(route, ("", "")), query);
        let pointers: Vec<_> = names.split(' ').map(|name| format!("/query/{name}")).collect();
        let request = match good(function) {
            "" => self.client.request(&route.method, &path),
            body => sent(&self.client, &route.method, &path, body),
        };
        Case::faults(format!("{function}?{query}"), request, &pointers.join(" "))
    }
}

fn with_query(path: &str, query: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("{path}{mark}{query}")
}

fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn parameters(route: &Route) -> impl Iterator<Item = &str> {
    route.path.split('/').filter_map(parameter)
}

/// Creates a section, two records, a template, a challenge and an employee. Reports 40 percent
/// progress for the employee.
async fn fill(client: &Client, company: &str, user: &str, name: &str) -> Value {
    let of = |rest: &str| of_company(company, rest);
    let (year, own) = (jiff::Timestamp::now().strftime("%Y").to_string(), if company == COMPANY { "" } else { "b-" });
    let section = json!({"name": name, "startDate": format!("{year}-01-01"), "endDate": format!("{year}-12-31")});
    let put = [
        (of(&format!("sections/{own}7")), section),
        (of(&format!("references/venues/{own}123")), json!({"name": name, "data": {"Name": name}})),
        (of(&format!("references/venues/{own}456")), json!({"name": name, "data": {"Name": name}})),
    ];
    for (path, body) in put {
        assert_eq!(client.put(&path, &body).await.status, 201, "{path}");
    }
    let template = client.post_once(&of("templates"), "taken-by-a-template", &json!({"name": name})).await;
    assert_eq!(template.status, 201, "{}", template.body);
    let activity = json!({
        "name": name, "type": "challenge", "subType": "Fitness", "sectionId": format!("{own}7"),
        "startDate": format!("{year}-01-01"), "endDate": format!("{year}-12-31T23:59:59"),
        "references": [{"facet": "venues", "id": format!("{own}123"), "data": {"Name": name}}],
    });
    let mut made = client.post_once(&of("activities"), "taken", &activity).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.body["template"] = template.body["templateId"].clone();
    let placed = client.put(&of(&format!("employees/{user}")), &json!({"role": "R", "department": "D"})).await;
    assert_eq!(placed.status, 201, "{}", placed.body);
    let list = registrations_of(company, user);
    until(client, &list, |answer| answer.body["items"][0]["name"] == name).await;
    let registration = registration_of(company, user, text(&made.body, "activityId"));
    let walked = client.patch(&registration, &json!({"progress": 40})).await;
    assert_eq!(walked.status, 200, "{}", walked.body);
    made.body
}

/// Reads all items of the table. Returns them by key.
async fn stored(stack: &Stack) -> BTreeMap<(String, String), Value> {
    let client = stack.client().expect("a client");
    let table = stack.table("Activities").expect("a table");
    let mut items = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut stored = BTreeMap::new();
    while let Some(item) = items.next().await {
        let item: Value = serde_dynamo::from_item(item.expect("an item")).expect("JSON");
        stored.insert((text(&item, "PK").to_owned(), text(&item, "SK").to_owned()), item);
    }
    stored
}

/// Parameters of a period that exclude or need each other.
const PERIODS: [(&str, &str); 8] = [
    ("year=2020&from=2020-01-01", "year"),
    ("year=2020&to=2020-01-01", "year"),
    ("year=2020&from=2020-01-01&to=2020-12-31", "year"),
    ("from=2020-01-01", "to"),
    ("to=2020-01-01", "from"),
    ("from=x&to=y", "from to"),
    ("from=2020-01-01T00:00:01&to=2020-01-01T00:00:00", "to"),
    ("from=2020-01-01&to=2022-01-01", "to"),
];

fn periods(world: &World) -> Vec<Case> {
    let lists = ["list-activities", "list-activity-options", "list-registrations"];
    let mut cases: Vec<Case> =
        lists.iter().flat_map(|function| PERIODS.map(|(query, names)| world.query(function, query, names))).collect();
    for function in ["list-references", "replace-reference", "update-reference"] {
        cases.push(world.query(function, "from=2020-01-02&to=2020-01-01", "to"));
    }
    cases
}

fn together(world: &World) -> Vec<Case> {
    let client = &world.client;
    let activity = r##"{"name": "", "type": "walk", "subType": "#", "startDate": "x", "status": "gone", "sectionId": 7, "filters": [],
        "detail": 1, "goal": {}, "rewards": {}, "groups": 1, "references": 1, "data": 1, "templateId": null, "more": 1}"##;
    let all = "/header/idempotency-key /path/companyId /query/x /body/name /body/type /body/subType /body/startDate \
        /body/endDate /body/status /body/sectionId /body/filters /body/detail /body/goal /body/rewards /body/groups \
        /body/references /body/data /body/templateId /body/more";
    let posted = sent(client, "POST", "/wellness/companies/A%23/activities?x=1", activity);
    let replacement = "/wellness/companies/A%23/references/rooms/%23/replacement?from=x&to=y";
    let replaced = sent(client, "POST", replacement, r##"{"replacementId": "#", "data": []}"##);
    let patched =
        sent(client, "PATCH", "/wellness/companies/%23/activities/%23", r#"{"version": "1", "name": "", "status": 1}"#);
    let walked = sent(client, "PATCH", "/wellness/users/%23/registrations/%23", r#"{"progress": -1, "data": 1}"#);
    vec![
        Case::faults("all faults of an activity", posted.header("idempotency-key", "a#b"), all),
        Case::faults(
            "all faults of a replacement",
            replaced,
            "/path/companyId /path/facet /path/facetId /query/from /query/to /body/replacementId /body/data",
        ),
        Case::faults(
            "all faults of a change",
            patched,
            "/path/companyId /path/activityId /body/version /body/name /body/status",
        ),
        Case::faults("all faults of a report", walked, "/path/userId /path/activityId /body/progress /body/data"),
        Case::faults(
            "all faults of a list in short form",
            client.request("GET", "/wellness/companies/%23/activity-options?year=x&status=y&type=z&role=%23&subType="),
            "/path/companyId /query/year /query/status /query/type /query/role /query/subType",
        ),
        Case::faults(
            "a company and a body that cannot be parsed",
            sent(client, "PUT", "/wellness/companies/%23/sections/7", "{"),
            "/path/companyId /body",
        ),
    ]
}

/// Requests with an item that exceeds its maximum size.
fn sizes(world: &World) -> Vec<Case> {
    let data = |kilobytes: usize| format!("{{\"text\": {:?}}}", "x".repeat(kilobytes * 1_024));
    let reference = format!("[{{\"facet\": \"files\", \"id\": \"F\", \"data\": {}}}]", data(4));
    let roles: Vec<String> = (0..100).map(|at| format!("{at:0>100}")).collect();
    let filters = json!({"roles": roles, "departments": []}).to_string();
    let goal = format!("{{\"type\": \"t\", \"parameters\": {}}}", data(16));
    let groups = format!("{{\"type\": \"t\", \"rules\": {}, \"items\": []}}", data(16));
    let rows = [
        ("create-activity", "data", data(8)),
        ("create-activity", "filters", filters.clone()),
        ("create-activity", "detail", data(16)),
        ("create-activity", "goal", goal),
        ("create-activity", "groups", groups),
        ("create-activity", "references", reference),
        ("create-template", "detail", data(48)),
        ("update-activity", "data", data(8)),
        ("update-activity", "filters", filters),
        ("put-reference", "data", data(4)),
        ("replace-reference", "data", data(4)),
        ("update-reference", "data", data(4)),
        ("record-progress", "data", data(2)),
    ];
    let case = |(function, member, json): &(&str, &str, String)| {
        let route = world.routes.iter().find(|route| route.function == *function).expect("a route");
        let body = with(good(function), member, json);
        let request = sent(&world.client, &route.method, &world.path(route, ("", "")), body);
        Case::new(format!("{function} with a large {member}"), request, 413, "too-large")
    };
    rows.iter().map(case).collect()
}

/// Requests with ids that do not exist, or that belong to another company.
fn unknown(world: &World) -> Vec<Case> {
    let others = text(&world.others, "activityId");
    let absent = "0".repeat(32);
    let rows = [
        ("activityId", &[absent.as_str(), others, "b-7", "123"][..]),
        ("jobId", &["VenueId-123", "VenueId-b-123", "FileId-1", "ActivityId-x"]),
    ];
    let mut cases = Vec::new();
    // The list of the participants of such an activity is empty.
    let routes: Vec<_> = world.routes.iter().filter(|route| route.function != "list-participants").collect();
    for (parameter, values) in rows {
        for route in routes.iter().filter(|route| parameters(route).any(|name| name == parameter)) {
            for value in values {
                let request = world.request(&world.client, route, (parameter, value));
                let name = format!("{} {} of {value}", route.method, route.path);
                cases.push(Case::new(name, request, 404, "not-found"));
            }
        }
    }
    let of = |rest: &str| of_company(COMPANY, rest);
    let put = |path: String, body: &Value| world.client.request("PUT", &path).json(body);
    let section = of(&format!("activities/{}/section", text(&world.activity, "activityId")));
    let post = |member: &str, id: &Value| {
        sent(&world.client, "POST", &of("activities"), with(good("create-activity"), member, &id.to_string()))
    };
    for id in [json!("8"), json!("b-7")] {
        cases.push(Case::new(
            format!("a move into section {id}"),
            put(section.clone(), &json!({"sectionId": id})),
            404,
            "not-found",
        ));
        cases.push(Case::new(format!("an activity in section {id}"), post("sectionId", &id), 404, "not-found"));
    }
    for id in [&json!("x"), &world.others["template"]] {
        cases.push(Case::new(format!("an activity from template {id}"), post("templateId", id), 404, "not-found"));
    }
    for venue in ["nowhere", "b-123"] {
        let path = of(&format!("references/venues/{venue}"));
        let request = world.client.request("PATCH", &path).json(&json!({"data": {}}));
        cases.push(Case::new(format!("an update of venue {venue}"), request, 404, "not-found"));
    }
    cases
}

/// Requests that conflict with the stored state.
fn states(world: &World) -> Vec<Case> {
    let client = &world.client;
    let activity = of_company(COMPANY, &format!("activities/{}", text(&world.activity, "activityId")));
    let change = |body: Value| client.request("PATCH", &activity).json(&body);
    let registration = registration_of(COMPANY, USER, text(&world.activity, "activityId"));
    let report = |body: Value| client.request("PATCH", &registration).json(&body);
    let mut cases = vec![
        Case::new("lower progress", report(json!({"progress": 39.99})), 409, "progress-backwards"),
        Case::new(
            "lower progress without correction",
            report(json!({"progress": 0, "correction": false})),
            409,
            "progress-backwards",
        ),
    ];
    for version in [0, 2, 9_007_199_254_740_991_i64] {
        let request = change(json!({"version": version, "name": "N"}));
        cases.push(Case::new(format!("version {version}"), request, 412, "another-version"));
    }
    let posts = world.routes.iter().filter(|route| route.method == "POST" && route.path.contains("companyId"));
    // A retry or an attendance has the same effect once or twice, without a key.
    let is_keyed = |route: &&Route| {
        !["/retry", "/attendance", "/report", "/export", "/erasure"].iter().any(|end| route.path.ends_with(end))
    };
    for route in posts.filter(is_keyed) {
        for key in ["taken", "taken-by-a-template"] {
            let request = world.request(client, route, ("", "")).header("idempotency-key", key);
            cases.push(Case::new(format!("{} under key {key}", route.path), request, 422, "idempotency-key-reused"));
        }
    }
    cases
}

fn gateway(world: &World) -> Vec<Case> {
    let activity = of_company(COMPANY, &format!("activities/{}", text(&world.activity, "activityId")));
    let rows = [
        ("GET", "/wellness".to_owned(), 404),
        ("GET", "/wellness/companies/123".to_owned(), 404),
        ("GET", of_company("", "activities"), 404),
        ("POST", of_company("", "activities"), 404),
        ("GET", of_company(COMPANY, "activities/"), 404),
        ("DELETE", activity.clone(), 405),
        ("PUT", activity.clone(), 405),
        ("POST", activity.clone(), 405),
        ("GET", format!("{activity}/section"), 405),
        ("POST", of_company(COMPANY, "references/venues/123"), 405),
        ("POST", format!("{activity}/goal"), 405),
        ("POST", of_company(COMPANY, "employees/u-1"), 405),
        ("GET", of_company(COMPANY, "jobs"), 404),
        ("GET", "/wellness/users//registrations".to_owned(), 404),
        ("GET", of_company(&"x".repeat(10_300), "activities"), 431),
    ];
    let case = |(method, path, status): (&str, String, u16)| {
        Case::gateway(format!("{method} {}", shortened(&path)), world.client.request(method, &path), status)
    };
    rows.into_iter().map(case).collect()
}

#[tokio::test]
async fn invalid_requests_return_their_problem_and_write_nothing() {
    let world = World::start().await;
    let groups = [periods, together, sizes, unknown, states, gateway];
    let cases: Vec<Case> = groups.iter().flat_map(|cases| cases(&world)).collect();
    assert!(stored(&world.stack).await.len() >= 20);
    all_are_refused(cases, &world.stack.tables(), async || stored(&world.stack).await).await;
    world.stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let longest = "x".repeat(128);
    let ids = [("a%2523b", "a%23b"), ("%2F", "/"), ("a+b", "a+b"), ("%C3%A4%F0%9F%92%B6", "ä💶"), (&longest, &longest)];
    for (escaped, id) in ids {
        let of = |rest: &str| of_company(escaped, rest);
        let name = "\u{1f4b6}".repeat(200);
        let section =
            json!({"name": name, "startDate": "2020-06-01T02:00:00+02:00", "endDate": "2020-12-31T00:00:00.999Z"});
        let put = client.put(&of(&format!("sections/{escaped}")), &section).await;
        assert_eq!((put.status, &put.body["sectionId"]), (201, &json!(id)), "{}", put.body);
        assert_eq!(
            (&put.body["startDate"], &put.body["endDate"]),
            (&json!("2020-06-01T00:00:00Z"), &json!("2020-12-31T00:00:00Z"))
        );
        let path = of(&format!("references/files/{escaped}"));
        let put = client.put(&path, &json!({"name": name, "data": {}})).await;
        assert_eq!(put.headers["location"], path.replace('+', "%2B"), "{}", put.body);
        let activity = json!({
            "name": name, "type": "event", "subType": id, "startDate": "2020-12-31", "endDate": "2020-12-31", "sectionId": id,
            "filters": {"roles": [id], "departments": [id]},
            "rewards": [{"kind": id, "name": name, "amount": 0}],
            "references": [{"facet": "files", "id": id, "data": {}}],
        });
        let made = create(&client, escaped, &activity).await;
        let whole = client.get(&of(&format!("activities/{}", text(&made, "activityId")))).await;
        assert_eq!((whole.status, &whole.body["references"][0]["id"]), (200, &json!(id)), "{}", whole.body);
        assert_eq!(whole.body["rewards"][0]["kind"], id);
        let query = escaped.replace('+', "%2B");
        let options =
            of(&format!("activity-options?year=2020&status=completed&role={query}&department={query}&subType={query}"));
        assert_eq!(client.get(&options).await.body["items"][0]["filters"]["roles"], json!([id]));
        let used =
            client.get(&of(&format!("references/files/{escaped}/activities?status=completed&from=2020-12-31"))).await;
        assert_eq!(used.body["items"][0]["activityId"], made["activityId"], "{}", used.body);
        let placed = client.put(&of(&format!("employees/{escaped}")), &json!({"role": id, "department": id})).await;
        assert_eq!((placed.status, &placed.body["userId"]), (201, &json!(id)), "{}", placed.body);
    }
    for kind in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json"] {
        let body = r#"{"role": "R", "department": "D"}"#;
        let request = client.request("PUT", &of_company("C", "employees/u")).header("content-type", kind).body(body);
        assert!([200, 201].contains(&send(request).await.status), "{kind}");
    }
    stack.stop().await;
}
