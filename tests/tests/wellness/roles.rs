//! Tests of what each role may do (docs/requirements/wellness.md#permissions).
//!
//! The first test sends each role to each route, for its own items, another user, another company
//! and ids that do not exist. The second test checks that employees see no draft on any route.

use function::Pattern;
use keys::wellness::Status;
use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client, assert_problem, send, stack, text,
    wellness::{
        activity, admin, create, employee, event_at, new_file, new_import, of_company, put, registration,
        registration_of,
    },
};
use wellness::Activity;

const OURS: &str = "123";
const THEIRS: &str = "456";
const END: &str = "2099-12-31T23:59:59";
const YEAR: &str = "year=2099";

/// The expected answers to a route. Each string has a character for each target, in the order of
/// [`Target::ALL`]:
/// - `+`: the request succeeds, or conflicts with another job.
/// - `3` and `4`: the status is 403 or 404.
/// - `9` and `2`: the status is 409 or 412. The caller may send the request.
/// - `.`: the route has no such target.
struct Row {
    route: &'static str,
    query: &'static str,
    body: Value,
    employee: &'static str,
    administrator: &'static str,
    operator: &'static str,
}

fn row(
    route: &'static str,
    query: &'static str,
    body: Value,
    [employee, administrator, operator]: [&'static str; 3],
) -> Row {
    Row { route, query, body, employee, administrator, operator }
}

/// Returns a route below the company.
fn company(rest: &str) -> &'static str {
    let (method, path) = rest.split_once(' ').expect("a method");
    format!("{method} /wellness/companies/{{companyId}}/{path}").leak()
}

/// Returns the expectation for each route of parts, references and records. They come first,
/// because later requests create and replace records.
fn content_rows() -> Vec<Row> {
    // The activity has another version, so that a permitted request gets 412 and changes nothing.
    let part = ["3.33", "2.34", "2.24"];
    vec![
        row(company("GET references/{facet}"), "", Value::Null, ["3.33", "+.3+", "+.++"]),
        row(company("GET references/{facet}/{facetId}"), "", Value::Null, ["+.34", "+.34", "+.+4"]),
        row(company("DELETE references/{facet}/{facetId}"), "", Value::Null, ["3.33", "9.34", "9.94"]),
        row(company("PUT activities/{activityId}/detail"), "", json!({"version": 9, "detail": {}}), part),
        row(company("PUT activities/{activityId}/goal"), "", json!({"version": 9, "type": "N", "parameters": 1}), part),
        row(
            company("PUT activities/{activityId}/rewards/{kind}"),
            "",
            json!({"version": 9, "name": "N", "amount": 1}),
            part,
        ),
        row(company("PUT activities/{activityId}/groups"), "", json!({"version": 9, "type": "N", "rules": 1}), part),
        row(company("PUT activities/{activityId}/groups/{groupId}"), "", json!({"version": 9, "name": "N"}), part),
        row(company("DELETE activities/{activityId}/detail"), "version=9", Value::Null, part),
        row(company("DELETE activities/{activityId}/goal"), "version=9", Value::Null, part),
        row(company("DELETE activities/{activityId}/rewards/{kind}"), "version=9", Value::Null, part),
        row(company("DELETE activities/{activityId}/groups"), "version=9", Value::Null, part),
        row(company("DELETE activities/{activityId}/groups/{groupId}"), "version=9", Value::Null, part),
        row(
            company("PUT activities/{activityId}/references/{facet}/{facetId}"),
            "",
            json!({}),
            ["3.33", "+.34", "+.+4"],
        ),
        row(company("DELETE activities/{activityId}/references/{facet}/{facetId}"), "version=9", Value::Null, part),
    ]
}

/// Returns the expectation for each route, from the table of actors in the requirement.
fn rows() -> Vec<Row> {
    let list = ["+.33", "+.33", "+.++"];
    let write = ["3.33", "+.33", "+.++"];
    let of_section = json!({"name": "Spring", "startDate": "2099-01-01", "endDate": END});
    let create =
        json!({"name": "Walk", "type": "event", "subType": "Fitness", "startDate": "2099-01-01", "endDate": END});
    let data = json!({"data": {"Name": "Hall"}});
    let mut rows = content_rows();
    rows.extend([
        row(company("GET activities"), YEAR, Value::Null, list),
        row(company("GET activity-options"), YEAR, Value::Null, list),
        row(company("GET sections"), "", Value::Null, list),
        row(company("GET templates"), "", Value::Null, list),
        row(company("GET plans"), "", Value::Null, list),
        row(company("GET plans/{planId}"), "", Value::Null, ["+.34", "+.34", "+.+4"]),
        row(
            company("PUT plans/{planId}"),
            "",
            json!({"name": "Year", "startDate": "2099-01-01", "endDate": "2099-12-31"}),
            // Another plan of the year would overlap this plan.
            ["3.33", "+.39", "+.+9"],
        ),
        row(company("POST plans/{planId}/report"), "", Value::Null, ["3.33", "+.34", "+.+4"]),
        row(company("GET plans/{planId}/report"), "", Value::Null, ["3.33", "+.34", "+.+4"]),
        row(company("GET activities/{activityId}"), "", Value::Null, ["+.34", "+.34", "+.+4"]),
        row(company("GET references/{facet}/{facetId}/activities"), "", Value::Null, ["+.3+", "+.3+", "+.++"]),
        row(company("GET activities/{activityId}/participants"), "", Value::Null, ["3.33", "+.3+", "+.++"]),
        row(
            company("POST activities/{activityId}/attendance"),
            "",
            json!({"userIds": ["user"]}),
            ["3.33", "+.34", "+.+4"],
        ),
        row(company("GET jobs/{jobId}"), "", Value::Null, ["3.33", "+.34", "+.+4"]),
        row(company("POST jobs/{jobId}/retry"), "", Value::Null, ["3.33", "9.34", "9.94"]),
        row(company("POST activities"), "", create, write),
        row(company("POST templates"), "", json!({"name": "Walk"}), write),
        row(
            company("PATCH activities/{activityId}"),
            "",
            json!({"version": 1, "name": "Walk"}),
            ["3.33", "+.34", "+.+4"],
        ),
        row(company("PUT activities/{activityId}/section"), "", json!({"sectionId": null}), ["3.33", "+.34", "+.+4"]),
        row(company("PUT sections/{sectionId}"), "", of_section, ["3.33", "+.3+", "+.++"]),
        row(
            company("PUT references/{facet}/{facetId}"),
            "",
            json!({"name": "Hall", "data": {}}),
            ["3.33", "+.3+", "+.++"],
        ),
        row(company("PATCH references/{facet}/{facetId}"), "", data.clone(), ["3.33", "+.3+", "+.++"]),
        row(
            company("POST references/{facet}/{facetId}/replacement"),
            "",
            json!({"replacementId": "another", "data": {}}),
            ["3.33", "+.3+", "+.++"],
        ),
        row(company("POST files"), "", new_file(), write),
        row(company("POST employee-imports"), "", new_import(), write),
        row(company("GET employee-imports/{importId}"), "", Value::Null, ["3.33", "4.34", "4.44"]),
        row(company("GET employees"), "", Value::Null, ["3.33", "+.33", "+.++"]),
        row(company("GET employees/{userId}"), "", Value::Null, ["3333", "++34", "+++4"]),
        row(company("PUT employees/{userId}"), "", json!({"role": "R", "department": "D"}), ["3333", "++3+", "++++"]),
        row(company("GET templates/{templateId}"), "", Value::Null, ["+.34", "+.34", "+.+4"]),
        row(company("PATCH templates/{templateId}"), "", json!({"name": "Walk"}), ["3.33", "+.34", "+.+4"]),
        // The templates of the scene are removed, so that a second removal gets 404.
        row(company("DELETE templates/{templateId}"), "", Value::Null, ["3.33", "+.34", "4.+4"]),
        row("GET /wellness/templates/{templateId}", "", Value::Null, ["+..4", "+..4", "+..4"]),
        row("PATCH /wellness/templates/{templateId}", "", json!({"name": "Walk"}), ["3..3", "3..3", "+..4"]),
        row("DELETE /wellness/templates/{templateId}", "", Value::Null, ["3..3", "3..3", "+..4"]),
        row("GET /wellness/templates", "", Value::Null, ["+...", "+...", "+..."]),
        row("POST /wellness/templates", "", json!({"name": "Walk"}), ["3...", "3...", "+..."]),
        row("GET /wellness/users/{userId}/points", YEAR, Value::Null, ["+333", "++3+", "++++"]),
        row(
            "POST /wellness/users/{userId}/points",
            "",
            json!({"planId": "2099", "amount": 1, "reason": "Helped"}),
            // Each target is an employee by now.
            ["3333", "++3+", "++++"],
        ),
        row("GET /wellness/users/{userId}/registrations", YEAR, Value::Null, ["+333", "++3+", "++++"]),
        // The users are registered already.
        row("PUT /wellness/users/{userId}/registrations/{activityId}", "", Value::Null, ["+333", "++34", "+++4"]),
        row(
            "PATCH /wellness/users/{userId}/registrations/{activityId}",
            "",
            json!({"progress": 50}),
            ["+333", "++34", "+++4"],
        ),
        row("DELETE /wellness/users/{userId}/registrations/{activityId}", "", Value::Null, ["+333", "++34", "+++4"]),
        // The administrator has removed both employees before the operator tries.
        row(company("DELETE employees/{userId}"), "", Value::Null, ["3333", "++3+", "44+4"]),
        row(company("POST export"), "", Value::Null, ["3.33", "3.33", "+.++"]),
        row(company("GET export"), "", Value::Null, ["3.33", "3.33", "+.++"]),
        // These rows are the last ones, because they delete the items of the others.
        row(company("POST employees/{userId}/erasure"), "", Value::Null, ["3333", "3333", "++++"]),
        row(company("GET employees/{userId}/erasure"), "", Value::Null, ["3333", "3333", "++++"]),
        row(company("POST erasure"), "", Value::Null, ["3.33", "3.33", "+.++"]),
        row(company("GET erasure"), "", Value::Null, ["3.33", "3.33", "+.++"]),
    ]);
    rows
}

/// Whose items a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Own,
    AnotherUser,
    AnotherCompany,
    /// Ids that no item has. For a route whose only id is the company, a company without items.
    Nobody,
}

impl Target {
    const ALL: [Self; 4] = [Self::Own, Self::AnotherUser, Self::AnotherCompany, Self::Nobody];
}

/// Two companies with an item for each path parameter.
struct Scene {
    stack: Stack,
    /// The id of each company's activity.
    activities: BTreeMap<&'static str, String>,
    /// The id of each company's template. An empty name stands for the global template.
    templates: BTreeMap<&'static str, String>,
}

impl Scene {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        let operator = Client::operator(&stack);
        let (mut activities, mut templates) = (BTreeMap::new(), BTreeMap::new());
        let global = operator.post("/wellness/templates", &json!({"name": "Walk"})).await;
        templates.insert("", text(&global.body, "templateId").to_owned());
        for company in [OURS, THEIRS] {
            let template = operator.post(&of_company(company, "templates"), &json!({"name": "Walk"})).await;
            templates.insert(company, text(&template.body, "templateId").to_owned());
            let made = create(&operator, company, &event_at("Walk", END, &["venue"])).await;
            let id = text(&made, "activityId");
            let stored = activity(company, id, "Walk", END);
            put(&stack, &["user", "another-user"].map(|user| registration(&stored, user))).await;
            for user in ["user", "another-user"] {
                let placed = json!({"role": "R", "department": "D"});
                let path = of_company(company, &format!("employees/{user}"));
                assert_eq!(operator.put(&path, &placed).await.status, 201);
            }
            activities.insert(company, id.to_owned());
            // The event already has a copy of this data.
            let venue = json!({"name": "Hall", "data": {"Name": "Venue venue"}});
            assert_eq!(operator.put(&of_company(company, "references/venues/venue"), &venue).await.status, 201);
            let job = of_company(company, "references/venues/of-job");
            operator.put(&job, &json!({"name": "Hall", "data": {}})).await;
            assert_eq!(operator.patch(&job, &json!({"data": {"Name": "Hall"}})).await.status, 202);
            assert_eq!(operator.post(&of_company(company, "plans/2099/report"), &json!({})).await.status, 202);
            for job in ["VenueId-of-job", "ReportId-2099"] {
                let job = of_company(company, &format!("jobs/{job}"));
                system_tests::until(&operator, &job, |answer| answer.body["status"] == "done").await;
            }
        }
        Self { stack, activities, templates }
    }

    /// Returns the path of the request. For an operator, it names the company of the user.
    fn path(&self, row: &Row, target: Target, is_operator: bool) -> String {
        let has_ids = row.route.matches('{').count() > 1 || !row.route.contains("{companyId}");
        let company = match target {
            Target::AnotherCompany => THEIRS,
            Target::Nobody if !has_ids => "nobody",
            _ => OURS,
        };
        let is_nobody = target == Target::Nobody;
        let own = |id: &str| if is_nobody { "nobody".to_owned() } else { id.to_owned() };
        let path = function::path(row.route, |name| {
            Some(match name {
                "companyId" => company.to_owned(),
                "activityId" => own(&self.activities[if is_nobody { OURS } else { company }]),
                "templateId" if !row.route.contains("{companyId}") => own(&self.templates[""]),
                "templateId" => own(&self.templates[if is_nobody { OURS } else { company }]),
                "userId" if target == Target::AnotherUser => "another-user".to_owned(),
                "userId" => own("user"),
                "facet" => "venues".to_owned(),
                "jobId" if is_nobody => "VenueId-nobody".to_owned(),
                "jobId" => "VenueId-of-job".to_owned(),
                "facetId" => own("venue"),
                "planId" => own("2099"),
                _ => own("1"),
            })
        });
        let names_company = row.route.contains("/users/") && (is_operator || target == Target::AnotherCompany);
        let of_user = names_company.then(|| format!("companyId={company}"));
        let query: Vec<_> = [row.query.to_owned()].into_iter().chain(of_user).filter(|it| !it.is_empty()).collect();
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }

    async fn ask(&self, client: &Client, row: &Row, path: &str) -> (u16, Value) {
        let (method, _) = row.route.split_once(' ').expect("a method");
        let request = client.request(method, path);
        let answer = send(if row.body.is_null() { request } else { request.json(&row.body) }).await;
        (answer.status, answer.body)
    }
}

fn is_expected(expected: char, status: u16, body: &Value) -> bool {
    match expected {
        '+' => status < 300 || body["type"] == "/problems/job-under-way",
        '3' => status == 403,
        '4' => status == 404,
        '9' => status == 409,
        '2' => status == 412,
        _ => false,
    }
}

/// Returns the routes of the service, from its declarations.
fn routes() -> BTreeSet<String> {
    let patterns = wellness::patterns();
    let routes = patterns.iter().flat_map(Pattern::routes);
    routes.map(|route| format!("{} {}", route.method, route.path)).collect()
}

#[tokio::test]
async fn each_role_can_do_exactly_what_the_requirement_allows() {
    let rows = rows();
    let known: BTreeSet<_> = rows.iter().map(|row| row.route.to_owned()).collect();
    assert_eq!(known, routes(), "every route must have an expectation");
    let scene = Scene::start().await;
    let stack = &scene.stack;
    let others = "bank:operate cart:operate ledger:operate ledger:admin";
    let actors = [
        ("employee", employee(stack, OURS, "user")),
        ("administrator", Client::member(stack, "wellness:admin", OURS, "admin")),
        ("operator", Client::caller(stack, "wellness:operate", &[])),
        ("nobody", Client::member(stack, others, OURS, "user")),
        ("no company", Client::caller(stack, "wellness:read wellness:write wellness:admin", &[])),
    ];
    let mut wrong = Vec::new();
    for row in &rows {
        for (role, client) in &actors {
            let expected = match *role {
                "employee" => row.employee,
                "administrator" => row.administrator,
                "operator" => row.operator,
                "no company" if row.route == "GET /wellness/templates" => "+...",
                "no company" if row.route == "GET /wellness/templates/{templateId}" => "+..4",
                _ => "3333",
            };
            for (target, expected) in Target::ALL.into_iter().zip(expected.chars()) {
                if expected == '.' || row.operator.chars().nth(target as usize) == Some('.') {
                    continue;
                }
                let path = scene.path(row, target, *role == "operator");
                let (status, body) = scene.ask(client, row, &path).await;
                if !is_expected(expected, status, &body) {
                    wrong.push(format!("{role} {target:?} {} {path}: {status}, not {expected}: {body}", row.route));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} failures:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn operators_name_the_company_of_a_user() {
    let scene = Scene::start().await;
    let operator = Client::operator(&scene.stack);
    for row in rows().iter().filter(|row| row.route.contains("/users/")) {
        let path = scene.path(row, Target::Own, false);
        let (status, body) = scene.ask(&operator, row, &path).await;
        assert_eq!((status, &body["errors"][0]["pointer"]), (400, &json!("/query/companyId")), "{path}");
        if row.employee.starts_with('3') {
            continue;
        }
        let named = scene.path(row, Target::Own, true);
        let (status, body) = scene.ask(&employee(&scene.stack, OURS, "user"), row, &named).await;
        assert!(status < 300, "callers may name their own company: {named}: {body}");
    }
}

/// Puts an activity of each status, with a reference to the venue and a registration of the user.
/// The id and the name of each activity are its status.
async fn put_all_statuses(stack: &Stack) {
    let of = |status: Status| Activity { status, ..activity(OURS, &format!("is-{status}"), status.as_str(), END) };
    let activities = Status::ALL.map(of);
    put(stack, &activities.each_ref().map(|activity| registration(activity, "user"))).await;
    let reference = |activity: &Activity| {
        let place =
            keys::wellness::UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
        let data = system_tests::wellness::json_text(&json!({}));
        wellness::Reference::new(activity.company.clone(), "VenueId-venue".parse().expect("a venue"), place, data)
    };
    put(stack, &activities.each_ref().map(reference)).await;
    put(stack, &activities).await;
}

/// Every GET route must be requested with each status that it can filter by, or with the id of an
/// activity of each status.
#[tokio::test]
async fn employees_see_only_active_and_completed_activities_on_every_route() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let (user, admin) = (employee(&stack, OURS, "user"), admin(&stack, OURS));
    let mut shown = BTreeMap::<String, [BTreeSet<Status>; 2]>::new();
    for row in rows().iter().filter(|row| row.route.starts_with("GET ")) {
        for status in Status::ALL {
            let path = function::path(row.route, |name| {
                Some(match name {
                    "companyId" => OURS.to_owned(),
                    "userId" => "user".to_owned(),
                    "facet" => "venues".to_owned(),
                    "facetId" => "venue".to_owned(),
                    "activityId" => format!("is-{status}"),
                    _ => "VenueId-1".to_owned(),
                })
            });
            for (at, client) in [&user, &admin].into_iter().enumerate() {
                for query in
                    [String::new(), format!("?status={status}"), format!("?{YEAR}"), format!("?{YEAR}&status={status}")]
                {
                    let answer = client.get(&format!("{path}{query}")).await;
                    let text = answer.body.to_string();
                    let seen = Status::ALL
                        .into_iter()
                        .filter(|one| answer.status == 200 && text.contains(&format!("\"is-{one}\"")));
                    shown.entry(row.route.to_owned()).or_default()[at].extend(seen);
                }
            }
        }
    }
    let all = BTreeSet::from(Status::ALL);
    let visible = BTreeSet::from([Status::Active]);
    for (route, [to_employee, to_admin]) in &shown {
        if to_admin.is_empty() {
            continue;
        }
        assert_eq!(*to_admin, all, "{route} shows administrators all activities");
        let mut visible = visible.clone();
        // A user learns that an activity of theirs was cancelled.
        if route.contains("/users/") {
            visible.insert(Status::Cancelled);
        }
        assert_eq!(*to_employee, visible, "{route}");
    }
    let showing = shown.values().filter(|[_, to_admin]| !to_admin.is_empty()).count();
    assert_eq!(showing, 5, "the lists, the activity, the references and the registrations: {shown:?}");
    let hidden = user.get(&of_company(OURS, "activities/is-draft")).await;
    let missing = user.get(&of_company(OURS, "activities/is-nothing")).await;
    assert_problem(&hidden, 404, "not-found");
    assert_eq!(hidden.body["detail"], missing.body["detail"]);
}

#[tokio::test]
async fn employees_report_progress_only_on_active_activities_that_have_not_ended() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let ended = activity(OURS, "is-ended", "ended", "2020-12-31T23:59:59");
    put(&stack, &[registration(&ended, "user")]).await;
    put(&stack, &[ended, activity(OURS, "is-unknown", "not registered", END)]).await;
    put(&stack, &[Activity { status: Status::Draft, ..activity(OURS, "unknown-draft", "not registered", END) }]).await;
    let (user, admin, operator) = (employee(&stack, OURS, "user"), admin(&stack, OURS), Client::operator(&stack));
    let report = json!({"progress": 10});
    for (id, status, kind) in [
        ("is-active", 200, ""),
        ("is-cancelled", 409, "activity-not-open"),
        ("is-draft", 409, "activity-not-open"),
        ("is-ended", 409, "activity-not-open"),
        // Only registered employees learn that an activity exists.
        ("is-unknown", 404, "not-found"),
        ("unknown-draft", 404, "not-found"),
        ("is-nothing", 404, "not-found"),
    ] {
        let path = registration_of(OURS, "user", id);
        let answer = user.patch(&path, &report).await;
        if status == 200 {
            assert_eq!(answer.status, 200, "{id}: {}", answer.body);
        } else {
            assert_problem(&answer, status, kind);
        }
        for client in [&admin, &operator] {
            let answer = client.patch(&path, &json!({"progress": 5, "correction": true})).await;
            assert_eq!(answer.status, if status == 404 { 404 } else { 200 }, "{id}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn only_administrators_and_operators_correct_progress() {
    let stack = stack().start().await.expect("a stack");
    put_all_statuses(&stack).await;
    let (user, admin, operator) = (employee(&stack, OURS, "user"), admin(&stack, OURS), Client::operator(&stack));
    let path = registration_of(OURS, "user", "is-active");
    assert_eq!(user.patch(&path, &json!({"progress": 10, "correction": false})).await.status, 200);
    let privileged = [json!({"progress": 5, "correction": true}), json!({"progress": 20, "correction": true})];
    for body in &privileged {
        assert_problem(&user.patch(&path, body).await, 403, "forbidden");
    }
    let list = user.get(&format!("/wellness/users/user/registrations?{YEAR}")).await.body;
    let own = list["items"].as_array().expect("items").iter().find(|item| item["activityId"] == "is-active");
    let own = own.expect("the registration");
    assert_eq!(own["progress"], 10.0, "no rejected request has an effect");
    for client in [&admin, &operator] {
        for (body, progress) in [(json!({"progress": 30}), 30.0), (json!({"progress": 5, "correction": true}), 5.0)] {
            let answer = client.patch(&path, &body).await;
            assert_eq!((answer.status, &answer.body["progress"]), (200, &json!(progress)), "{}", answer.body);
        }
    }
}
