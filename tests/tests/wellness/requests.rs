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
    requests::{Case, SECRET, all_are_refused, no_identifiers, sent, shortened, unreadable},
    send, stack, text, until,
    wellness::{admin, create, employee, of_company, registration_of, registrations_of},
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

    /// Returns a request with this body, and the pointers of the expected faults.
    fn with_body(&self, function: &str, body: impl Into<String>, right: &str) -> Case {
        let route = self.routes.iter().find(|route| route.function == function).expect("a route");
        let (path, body) = (self.path(route, ("", "")), body.into());
        let name = format!("{} {}", route.function, shortened(&body));
        Case::faults(name, sent(&self.client, &route.method, &path, body), right)
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

const IDS: &[&str] = &[
    r#""""#,
    r##""#""##,
    r#""a#b""#,
    r#""a\u0000b""#,
    r#""a\nb""#,
    r#""a\u007fb""#,
    r#""a\u0085b""#,
    r#""\ud800""#,
    "5",
    "true",
    r#"["a"]"#,
    "{}",
    "null",
];
const NAMES: &[&str] = &[r#""""#, r#""a\nb""#, r#""\u0000""#, r#""\ud800""#, "5", "true", r#"["a"]"#, "{}", "null"];
const TIMES: &[&str] = &[
    r#""""#,
    r#""today""#,
    r#""2020""#,
    r#""2020-12""#,
    r#""2020-1-1""#,
    r#""20201231""#,
    r#""2020-02-30""#,
    r#""2021-02-29""#,
    r#""2020-13-01""#,
    r#""2020-12-31T24:00:00""#,
    r#""2020-12-31T00:00""#,
    r#""2020-12-31 00:00:00""#,
    r#""2020-12-31T00:00:00+24:00""#,
    r#""2020-12-31T00:00:60Z""#,
    r#""9999-12-31T23:59:59Z""#,
    r#""0000-01-01T00:00:00+02:00""#,
    r#""2020-12-31#""#,
    r#""10000-01-01""#,
    r#""-2020-01-01""#,
    "1609372800",
    "null",
    "{}",
    r#"["2020-12-31"]"#,
];
const CAPACITIES: &[&str] = &["0", "-1", "1.5", "10001", r#""5""#, "[]", "null"];
const ENROLMENTS: &[&str] = &[r#""""#, r#""Open""#, r#""auto""#, "null", "1", "[]"];
const STATUSES: &[&str] =
    &[r#""""#, r#""Active""#, r#""ACTIVE""#, r#""deleted""#, r#""active#""#, "1", "null", r#"["active"]"#];
const TYPES: &[&str] = &[r#""""#, r#""Challenge""#, r#""walk""#, "1", "null", r#"["event"]"#];
const OBJECTS: &[&str] = &[r#""""#, r#""{}""#, "[]", "[{}]", "5", "true"];
const FILTERS: &[&str] = &[
    "null",
    "[]",
    r#"[["a"], ["b"]]"#,
    "5",
    r#"{"roles": "a"}"#,
    r#"{"roles": null}"#,
    r#"{"roles": [1]}"#,
    r#"{"roles": [""]}"#,
    r#"{"roles": ["a#b"]}"#,
    r#"{"departments": [[]]}"#,
    r#"{"role": ["a"]}"#,
    r#"{"roles": [], "roles": []}"#,
];
const GOALS: &[&str] = &[
    "null",
    "[]",
    r#"["steps", {}]"#,
    "{}",
    r#"{"type": "steps"}"#,
    r#"{"parameters": {}}"#,
    r#"{"type": "", "parameters": {}}"#,
    r#"{"type": 5, "parameters": {}}"#,
    r#"{"type": "steps", "parameters": {}, "more": 1}"#,
];
const REWARDS: &[&str] = &[
    "null",
    "{}",
    "[5]",
    "[{}]",
    "[null]",
    r#"[{"kind": "a", "name": "N"}]"#,
    r#"[{"kind": "a#b", "name": "N", "amount": 1}]"#,
    r#"[{"kind": "", "name": "N", "amount": 1}]"#,
    r#"[{"kind": "a", "name": "", "amount": 1}]"#,
    r#"[{"kind": "a", "name": "N", "amount": -1}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1e9999}]"#,
    r#"[{"kind": "a", "name": "N", "amount": null}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1.5}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1, "percent": 0}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1, "percent": null}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1, "percent": 100.01}]"#,
    r#"[{"kind": "Attendance", "name": "N", "amount": 1, "percent": 50}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1, "more": 1}]"#,
    r#"[{"kind": "a", "name": "N", "amount": 1}, {"kind": "a", "name": "M", "amount": 2}]"#,
];
const GROUPS: &[&str] = &[
    "null",
    "[]",
    "{}",
    r#"{"type": "team", "rules": {}}"#,
    r#"{"type": "team", "rules": {}, "items": {}}"#,
    r#"{"type": "team", "rules": {}, "items": [{}]}"#,
    r#"{"type": "team", "rules": {}, "items": [{"name": ""}]}"#,
    r#"{"type": "team", "rules": {}, "items": [{"name": "Red", "progress": -1}]}"#,
    r#"{"type": "team", "rules": {}, "items": [{"name": "Red", "progress": "1"}]}"#,
    r#"{"type": "team", "rules": {}, "items": [{"name": "Red", "progress": 0.001}]}"#,
    r#"{"type": "team", "rules": {}, "items": [{"name": "Red", "groupId": "1"}]}"#,
    r#"{"type": "", "rules": {}, "items": []}"#,
    r#"{"rules": {}, "items": []}"#,
    r#"{"type": "team", "rules": {}, "items": [], "more": 1}"#,
];
const REFERENCES: &[&str] = &[
    "null",
    "{}",
    "[5]",
    "[{}]",
    r#"[{"facet": "venues", "id": "1"}]"#,
    r#"[{"facet": "venue", "id": "1", "data": {}}]"#,
    r#"[{"facet": "Venues", "id": "1", "data": {}}]"#,
    r##"[{"facet": "venues", "id": "#", "data": {}}]"##,
    r#"[{"facet": "venues", "id": 1, "data": {}}]"#,
    r#"[{"facet": "venues", "id": "1", "data": []}]"#,
    r#"[{"facet": "venues", "id": "1", "data": null}]"#,
    r#"[{"facet": "venues", "id": "1", "data": {}, "more": 1}]"#,
    r#"[{"facet": "venues", "id": "1", "data": {}}, {"facet": "venues", "id": "1", "data": {"a": 1}}]"#,
];
const VERSIONS: &[&str] = &["null", r#""1""#, "1.5", "-1", "true", "[1]", "{}", "9007199254740992"];
const PERCENTS: &[&str] =
    &["null", r#""40.4""#, "-1", "-0.01", "0.001", "40.405", "10000.01", "1e5", "1e400", "true", "[40]", "{}"];
const POINTS: &[&str] = &["null", r#""40""#, "0", "1.5", "1000001", "-1000001", "1e-2", "1e400", "true", "[40]"];

/// Fields of a body, each with invalid values.
type Wrong = &'static [(&'static str, &'static [&'static str])];

/// Invalid values for each field of each body.
const MEMBERS: [(&str, Wrong); 21] = [
    (
        "create-employee-import",
        &[
            ("bytes", &["0", "-1", "1.5", "5242881", r#""9""#, "null"]),
            ("sha256", &[r#""""#, r#""e3b0""#, "5", "null"]),
            ("endMissing", &["null", r#""true""#, "1", "[]"]),
        ],
    ),
    (
        "create-file",
        &[
            ("name", NAMES),
            ("contentType", &[r#""""#, r#""text/html""#, r#""IMAGE/PNG""#, "5", "null", "[]"]),
            ("bytes", &["0", "-1", "1.5", "26214401", r#""9""#, "null"]),
            (
                "sha256",
                &[
                    r#""""#,
                    r#""e3b0""#,
                    r#""E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855""#,
                    "5",
                    "null",
                ],
            ),
        ],
    ),
    (
        "create-activity",
        &[
            ("name", NAMES),
            ("type", TYPES),
            ("subType", IDS),
            ("startDate", TIMES),
            ("endDate", TIMES),
            ("status", STATUSES),
            ("sectionId", IDS),
            ("filters", FILTERS),
            ("detail", OBJECTS),
            ("detail", &["null"]),
            ("goal", GOALS),
            ("rewards", REWARDS),
            ("groups", GROUPS),
            ("references", REFERENCES),
            ("data", OBJECTS),
            ("data", &["null"]),
            ("templateId", IDS),
            ("endDate", &[r#""2019-12-31T23:59:59""#, r#""2020-01-01T00:59:59+01:00""#]),
        ],
    ),
    (
        "create-template",
        &[
            ("name", NAMES),
            ("type", TYPES),
            ("subType", IDS),
            ("filters", FILTERS),
            ("detail", OBJECTS),
            ("goal", GOALS),
            ("rewards", REWARDS),
            ("groups", GROUPS),
            ("references", REFERENCES),
            ("enrolment", ENROLMENTS),
            ("capacity", CAPACITIES),
            ("data", OBJECTS),
        ],
    ),
    (
        "put-section",
        &[("name", NAMES), ("startDate", TIMES), ("endDate", TIMES), ("endDate", &[r#""2019-12-31T23:59:59""#])],
    ),
    (
        "put-plan",
        &[
            ("name", NAMES),
            ("startDate", TIMES),
            ("endDate", TIMES),
            ("endDate", &[r#""2019-12-31T23:59:59""#, r#""2022-01-02""#]),
        ],
    ),
    ("put-reference", &[("name", NAMES), ("data", OBJECTS), ("data", &["null"])]),
    ("put-employee", &[("role", IDS), ("department", IDS), ("name", NAMES)]),
    (
        "update-activity",
        &[
            ("version", VERSIONS),
            ("name", NAMES),
            ("status", STATUSES),
            ("startDate", TIMES),
            ("endDate", TIMES),
            ("filters", FILTERS),
            ("enrolment", ENROLMENTS),
            ("capacity", CAPACITIES.split_at(CAPACITIES.len() - 1).0),
            ("data", OBJECTS),
            ("endDate", &[r#""1999-12-31""#]),
            ("startDate", &[r#""9999-01-01""#]),
        ],
    ),
    // `null` is valid: it removes the activity from its section.
    ("move-activity", &[("sectionId", IDS.split_at(IDS.len() - 1).0)]),
    ("replace-reference", &[("replacementId", IDS), ("replacementId", &[r#""123""#]), ("data", OBJECTS)]),
    ("update-reference", &[("data", OBJECTS), ("data", &["null"])]),
    (
        "record-progress",
        &[
            ("progress", PERCENTS),
            ("progressText", &["null", "5", "[]", r#""a\nb""#, r#""\ud800""#]),
            ("data", OBJECTS),
            ("correction", &["null", r#""true""#, "1", "{}"]),
        ],
    ),
    ("correct-points", &[("planId", IDS), ("amount", POINTS), ("reason", NAMES)]),
    (
        "record-attendance",
        &[
            ("userIds", &["null", "[]", "5", r#""123""#, r#"["1","1"]"#, r##"["#"]"##, "{}"]),
            ("attended", &["null", "1"]),
        ],
    ),
    // `null` is valid: it removes the field.
    (
        "update-template",
        &[
            ("version", VERSIONS),
            ("name", NAMES),
            ("type", &[r#""""#, r#""walk""#, "1"]),
            ("subType", IDS.split_at(IDS.len() - 1).0),
            ("filters", FILTERS.split_at(1).1),
            ("detail", OBJECTS),
            ("goal", GOALS.split_at(1).1),
            ("rewards", REWARDS.split_at(1).1),
            ("groups", GROUPS.split_at(1).1),
            ("references", REFERENCES.split_at(1).1),
            ("data", OBJECTS),
        ],
    ),
    ("update-part detail", &[("version", VERSIONS), ("detail", OBJECTS), ("detail", &["null"])]),
    ("update-part goal", &[("version", VERSIONS), ("type", NAMES)]),
    (
        "update-part rewards/{kind}",
        &[
            ("version", VERSIONS),
            ("name", NAMES),
            ("percent", &["0", "-1", "100.01", "0.001", r#""x""#]),
            ("amount", &["null", "-1", "0.001", r#""x""#, "[1]", "{}"]),
        ],
    ),
    ("update-part groups", &[("version", VERSIONS), ("type", NAMES)]),
    ("update-part groups/{groupId}", &[("version", VERSIONS), ("name", NAMES)]),
];

fn members(world: &World) -> Vec<Case> {
    let of = |(function, members): &(&'static str, Wrong)| {
        let function = *function;
        let wrong = members.iter().flat_map(|(member, wrong)| wrong.iter().map(move |json| (*member, *json)));
        let case = move |(member, json)| {
            world.with_body(function, with(good(function), member, json), &format!("/body/{member}"))
        };
        wrong.map(case).collect::<Vec<_>>()
    };
    let mut cases: Vec<Case> = MEMBERS.iter().flat_map(of).collect();
    // One character longer than the maximum.
    let (long_id, long_name) = (format!("{:?}", "x".repeat(129)), format!("{:?}", "\u{1f4b6}".repeat(201)));
    for (function, member, json) in [
        ("create-activity", "subType", &long_id),
        ("create-activity", "sectionId", &long_id),
        ("create-activity", "templateId", &long_id),
        ("create-activity", "name", &long_name),
        ("put-section", "name", &long_name),
        ("put-employee", "role", &long_id),
        ("put-employee", "department", &long_id),
        ("replace-reference", "replacementId", &long_id),
        ("record-progress", "progressText", &long_name),
    ] {
        cases.push(world.with_body(function, with(good(function), member, json), &format!("/body/{member}")));
    }
    cases
}

/// Activities with a list that exceeds its maximum length by one item.
fn too_many(world: &World) -> Vec<Case> {
    let rows = [
        ("rewards", (0..11).map(|at| json!({"kind": format!("K-{at}"), "name": "N", "amount": 1})).collect()),
        ("groups", json!({"type": "t", "rules": {}, "items": vec![json!({"name": "N"}); 51]})),
        ("references", (0..26).map(|at| json!({"facet": "files", "id": format!("F-{at}"), "data": {}})).collect()),
    ];
    let case = |(member, json): &(&str, Value)| {
        let body = with(good("create-activity"), member, &json.to_string());
        world.with_body("create-activity", body, &format!("/body/{member}"))
    };
    rows.iter().map(case).collect()
}

/// Bodies with missing, unknown and duplicate fields.
fn strangers(world: &World) -> Vec<Case> {
    let missing = [
        ("create-activity", "{}", "/body/name /body/type /body/subType /body/startDate /body/endDate"),
        ("create-activity", r#"{"templateId": "x"}"#, "/body/startDate /body/endDate"),
        (
            "create-activity",
            r#"{"Name": "N", "type": "event", "subType": "F", "startDate": "2020-01-01"}"#,
            "/body/name /body/Name /body/endDate",
        ),
        ("create-template", "{}", "/body/name"),
        ("put-plan", "{}", "/body/name /body/startDate /body/endDate"),
        ("put-section", "{}", "/body/name /body/startDate /body/endDate"),
        ("put-reference", "{}", "/body/name /body/data"),
        ("put-employee", "{}", "/body/role /body/department"),
        ("create-employee-import", "{}", "/body/bytes /body/sha256"),
        ("create-file", "{}", "/body/name /body/contentType /body/bytes /body/sha256"),
        ("update-activity", "{}", "/body /body/version"),
        ("update-activity", r#"{"name": "N"}"#, "/body/version"),
        ("update-activity", r#"{"version": 1}"#, "/body"),
        ("update-activity", r#"{"version": 1, "sectionId": "7"}"#, "/body /body/sectionId"),
        ("move-activity", "{}", "/body/sectionId"),
        ("replace-reference", "{}", "/body/replacementId /body/data"),
        ("update-reference", "{}", "/body/data"),
        ("record-progress", "{}", "/body/progress"),
        ("record-progress", r#"{"correction": true}"#, "/body/progress"),
        ("update-template", "{}", "/body"),
        ("update-template", r#"{"name": null}"#, "/body/name"),
        ("update-part detail", "{}", "/body/version /body/detail"),
        ("update-part goal", "{}", "/body/version /body/type /body/parameters"),
        ("update-part rewards/{kind}", "{}", "/body/version /body/name /body/amount"),
        ("update-part groups", "{}", "/body/version /body/type /body/rules"),
        ("update-part groups/{groupId}", "{}", "/body/version /body/name"),
    ];
    let mut cases: Vec<Case> =
        missing.into_iter().map(|(function, body, right)| world.with_body(function, body, right)).collect();
    for (function, body) in GOOD {
        let open = body.strip_suffix('}').expect("an object");
        for (member, pointer) in
            [("more", "more"), ("PK", "PK"), ("companyId", "companyId"), ("a/b~c", "a~1b~0c"), ("", "")]
        {
            let case = world.with_body(function, format!("{open}, \"{member}\": 1}}"), &format!("/body/{pointer}"));
            cases.push(case);
        }
        let first = body.split('"').nth(1).expect("a member");
        cases.push(world.with_body(function, format!("{open}, {}", &body[1..]), &twice(body)));
        cases.push(world.with_body(function, format!("{open}, \"{first}\": null}}"), &format!("/body/{first}")));
    }
    cases
}

/// Returns the expected faults of a body that contains each field twice.
fn twice(body: &str) -> String {
    let members: BTreeMap<String, Value> = serde_json::from_str(body).expect("an object");
    members.keys().map(|member| format!("/body/{member}")).collect::<Vec<_>>().join(" ")
}

fn bodies(world: &World) -> Vec<Case> {
    let with_body = world.routes.iter().filter(|route| !good(&route.function).is_empty());
    let of =
        |route: &Route| unreadable(&world.client, &route.method, &world.path(route, ("", "")), good(&route.function));
    with_body.flat_map(of).collect()
}

fn identifiers(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for route in &world.routes {
        for name in parameters(route) {
            let mut wrong = no_identifiers();
            wrong.extend(match name {
                "facet" => ["venue", "Venues", "VENUES", "rooms", "Venue", "venues%23"].map(str::to_owned).to_vec(),
                "jobId" => [
                    "x",
                    "VenueId",
                    "VenueId-",
                    "venueId-1",
                    "RoomId-1",
                    "ActivityId-",
                    "VenueId-a%23b",
                    "Job%23VenueId-1",
                ]
                .map(str::to_owned)
                .to_vec(),
                _ => Vec::new(),
            });
            // A kind may have single spaces between words.
            wrong.retain(|value| name != "kind" || value != "A%201");
            for value in wrong {
                let request = world.request(&world.client, route, (name, &value));
                let case = format!("{} {} with {name} {}", route.method, route.function, shortened(&value));
                cases.push(Case::faults(case, request, &format!("/path/{name}")));
            }
        }
    }
    cases
}

const PERIODS: [(&str, &str); 25] = [
    ("year=", "year"),
    ("year=x", "year"),
    ("year=20", "year"),
    ("year=%2B2020", "year"),
    ("year=-2020", "year"),
    ("year=10000", "year"),
    ("year=2020&year=2020", "year"),
    ("year=2020-01-01", "year"),
    ("year=2020&from=2020-01-01", "year"),
    ("year=2020&to=2020-01-01", "year"),
    ("year=2020&from=2020-01-01&to=2020-12-31", "year"),
    ("from=2020-01-01", "to"),
    ("to=2020-01-01", "from"),
    ("from=x&to=y", "from to"),
    ("from=&to=2020-01-01", "from"),
    ("from=2020-01-02&to=2020-01-01", "to"),
    ("from=2020-01-01T00:00:01&to=2020-01-01T00:00:00", "to"),
    ("from=2020-01-01&to=2022-01-01", "to"),
    ("from=2020-01-01&to=2021-12-32", "to"),
    ("from=2020-02-30&to=2020-12-31", "from"),
    ("from=2020-01-01T00:00:00+02:00&to=2020-12-31", "from"),
    ("from=2020-01-01&from=2020-01-01&to=2020-12-31", "from"),
    ("from=2020-01&to=2020-12", "from to"),
    ("From=2020-01-01&To=2020-12-31", "From To"),
    ("date=2020-01-01", "date"),
];

fn queries(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for function in ["list-activities", "list-activity-options", "list-registrations"] {
        cases.extend(PERIODS.map(|(query, names)| world.query(function, query, names)));
        let limit = if function == "list-registrations" { "limit=0" } else { "limit=5" };
        cases.extend([limit, "cursor=x", "x="].map(|query| world.query(function, query, name(query))));
    }
    for query in
        ["status=", "status=Active", "status=active,", "status=,", "status=active,gone", "status=active&status=draft"]
    {
        for function in ["list-activities", "list-activity-options"] {
            cases.push(world.query(function, query, "status"));
        }
    }
    let options = ["role=", "role=a%23b", "department=", "type=", "type=walk", "type=Event", "subType=", "subType=%00"];
    cases.extend(options.map(|query| world.query("list-activity-options", query, name(query))));
    let paging = [
        "limit=0",
        "limit=101",
        "limit=x",
        "limit=",
        "limit=%2B5",
        "limit=5&limit=5",
        "cursor=",
        "cursor=x",
        "cursor=%23",
    ];
    for function in ["list-references", "list-templates"] {
        cases.extend(paging.map(|query| world.query(function, query, name(query))));
    }
    for query in ["status=", "status=Active", "status=active,x", "year=2020"] {
        cases.push(world.query("list-references", query, name(query)));
    }
    for function in ["list-references", "replace-reference", "update-reference"] {
        for (query, names) in [
            ("from=x", "from"),
            ("to=2020-13-01", "to"),
            ("from=2020-01-02&to=2020-01-01", "to"),
            ("to=2020-01-01", "to"),
            ("from=&to=", "from to"),
        ] {
            cases.push(world.query(function, query, names));
        }
    }
    let levels = [
        "",
        "program",
        "Detail",
        "Program%23",
        "Program%23Venue%23VenueId-123",
        "Program,",
        "Program;Program%23Detail",
        "Registration%23",
    ];
    cases.extend(levels.map(|level| world.query("get-activity", &format!("include={level}"), "include")));
    cases.push(world.query("get-activity", "include=Program&include=Program", "include"));
    cases
}

fn name(query: &str) -> &str {
    query.split('=').next().expect("a name")
}

/// Unknown query parameters on all routes, and invalid idempotency keys on all POST routes.
fn everywhere(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for route in &world.routes {
        let request = |query: &str| {
            let path = match query.strip_prefix('?') {
                Some(query) => with_query(&world.path(route, ("", "")), query),
                None => world.path(route, ("", "")),
            };
            sent(&world.client, &route.method, &path, good(&route.function))
        };
        let name = format!("{} {}", route.method, route.path);
        cases.push(Case::faults(format!("{name}?x="), request("?x="), "/query/x"));
        cases.push(Case::faults(format!("{name}?a/b"), request("?a%2Fb=1"), "/query/a~1b"));
        if route.method == "POST" {
            for key in ["", "a#b", "#", "a\tb", "a,a", "a, a", "..", &"x".repeat(129)] {
                let keyed = request("").header("idempotency-key", key);
                cases.push(Case::faults(
                    format!("{name} with key {}", shortened(key)),
                    keyed,
                    "/header/idempotency-key",
                ));
            }
        }
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

/// Whether only administrators may use the GET route.
fn is_of_admins(path: &str) -> bool {
    ["jobs", "/employees", "/employee-imports", "/participants", "/report", "/export", "/erasure"]
        .iter()
        .any(|part| path.contains(part))
        || path.ends_with("/references/{facet}")
}

/// Requests from users of another company to all routes of a company and its users.
fn strangers_to_all(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for (who, client) in
        [("an admin", admin(&world.stack, OTHER)), ("an employee", employee(&world.stack, OTHER, "b-user"))]
    {
        for route in &world.routes {
            let of_users = route.path.contains("{userId}") && !route.path.contains("{companyId}");
            if !of_users && !route.path.contains("{companyId}") {
                continue;
            }
            let request = world.request(&client, route, ("", ""));
            let name = format!("{who} of another company: {} {}", route.method, route.path);
            let is_own = of_users && route.method != "POST";
            let needs_admin = who == "an employee" && !is_own && (route.method != "GET" || is_of_admins(&route.path));
            let needs_operator = ["/export", "/erasure"].iter().any(|end| route.path.ends_with(end));
            cases.push(if needs_admin || needs_operator {
                Case::gateway(name, request, 403)
            } else {
                Case::new(name, request, 403, "forbidden")
            });
        }
        let global = client.request("POST", "/wellness/templates").json(&json!({"name": "N"}));
        cases.push(Case::gateway(format!("{who}: a global template"), global, 403));
    }
    // Another employee of the same company.
    let colleague = employee(&world.stack, COMPANY, "u-2");
    for route in world.routes.iter().filter(|route| route.path.starts_with("/wellness/users")) {
        let request = world.request(&colleague, route, ("", ""));
        let name = format!("a colleague: {} {}", route.method, route.path);
        cases.push(if route.method == "POST" {
            Case::gateway(name, request, 403)
        } else {
            Case::new(name, request, 403, "forbidden")
        });
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
    let groups = [
        members,
        too_many,
        strangers,
        bodies,
        identifiers,
        queries,
        everywhere,
        together,
        sizes,
        unknown,
        states,
        strangers_to_all,
        gateway,
    ];
    let cases: Vec<Case> = groups.iter().flat_map(|cases| cases(&world)).collect();
    assert!(cases.len() >= 1_500, "{}", cases.len());
    assert!(stored(&world.stack).await.len() >= 20);
    all_are_refused(cases, &world.stack.tables(), async || stored(&world.stack).await).await;
    world.stack.stop().await;
}

/// Every function with a request body must have a valid body in `GOOD` and invalid values in
/// `MEMBERS`.
#[tokio::test]
async fn every_request_body_has_invalid_cases() {
    let stack = stack().start().await.expect("a stack");
    let routes =
        stack.template().lambdas.iter().flat_map(|lambda| lambda.routes.iter().map(move |route| (lambda, route)));
    for (lambda, route) in routes.filter(|(_, route)| route.path.starts_with("/wellness/")) {
        // The body of add-reference is optional. join-activity takes none.
        let has_body = !["GET", "DELETE"].contains(&route.method.as_str())
            && !["/retry", "/report", "/export", "/erasure"].iter().any(|end| route.path.ends_with(end))
            && !["add-reference", "join-activity"].contains(&lambda.name.as_str());
        let name = label(&lambda.name, &route.path);
        assert_eq!(has_body, !good(&name).is_empty(), "{name}");
        assert_eq!(has_body, MEMBERS.iter().any(|(function, _)| *function == name), "{name}");
    }
    stack.stop().await;
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
