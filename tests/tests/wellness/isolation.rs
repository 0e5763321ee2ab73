//! Tests of tenant isolation (docs/requirements/wellness.md#tenant-isolation). Two companies use
//! the same names and know each other's ids.
//!
//! No request from one company may show or change the other company's items. The requests use the
//! other company's paths, ids and cursors. Some tokens lack a scope or a claim.

use function::Pattern;
use jobs::{Job, State};
use keys::wellness::{
    ActivityPartition, ActivityType, CompanyId, CompanyPartition, EmployeeSort, EmployeesPartition, EndDateSort,
    FacetRef, JobId, ListPartition, Owner, PlansSort, ProgramPartition, ProgramSort, RecordSort, SectionSort, Status,
    TemplateSort, UseSort,
};
use local::{Stack, template::Route};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};
use system_tests::{
    Answer, Client, drained, dynamo, parsed, send, stack, until,
    wellness::{
        activity, admin, challenge, create, employee, json_text, of_company, put, registration, registrations_of,
        stored,
    },
};
use table::{BatchWrite, Item, JsonText};
use wellness::{
    Activity, Award, Employee, Filters, LastChange, Plan, Plans, Record, Reference, Registration, Section, Task,
    Template, job_key,
};

const OURS: &str = "123";
const THEIRS: &str = "456";
/// Text in every item of the other company, but in none of its ids. No response to our company may
/// contain it.
const SECRET: &str = "of nobody's concern";
/// An end date in the past, so that no employee is registered during the test.
const END: &str = "2020-12-31T00:00:00";
const YEAR: &str = "year=2020";
const ENDED: &str = "year=2020&status=completed";

fn data(marker: &str) -> JsonText {
    serde_json::from_value(json!(json!({"Name": "Blood Bank A", "Note": marker}).to_string())).expect("data")
}

/// A company whose items are put directly into the tables. Some ids contain the company id, and the
/// others are the same in both companies.
struct Tenant {
    company: &'static str,
    marker: &'static str,
}

const TENANTS: [Tenant; 2] = [Tenant { company: OURS, marker: "ours" }, Tenant { company: THEIRS, marker: SECRET }];

impl Tenant {
    fn company(&self) -> CompanyId {
        parsed(self.company)
    }

    fn activity(&self, number: usize) -> Activity {
        let end = EndDateSort(parsed(END));
        Activity {
            partition: ActivityPartition(parsed(&format!("activity-{number}-of-{}", self.company))),
            sort: ProgramSort::Program,
            program: ProgramPartition(self.company()),
            end,
            list: Some(ListPartition(self.company())),
            list_end: Some(end),
            company: self.company(),
            name: parsed(&format!("Walk 5000 {}", self.marker)),
            activity_type: ActivityType::Challenge,
            sub_type: parsed("Fitness"),
            status: Status::Active,
            start_date: parsed("2020-01-01"),
            section_id: Some(parsed("section-1")),
            filters: Filters::default(),
            data: Some(data(self.marker)),
            capacity: None,
            enrolment: None,
            template_id: None,
            version: 1,
            created_at: parsed("2020-01-01T00:00:00Z"),
        }
    }

    fn reference(&self, activity: &Activity, venue: &str) -> Reference {
        let place = UseSort { status: Status::Active, end: activity.end(), activity: activity.id().clone() };
        Reference::new(self.company(), parsed(&format!("VenueId-{venue}")), place, data(self.marker))
    }

    fn section(&self, id: &str) -> Section {
        Section {
            partition: CompanyPartition(self.company()),
            sort: SectionSort(parsed(id)),
            program: ProgramPartition(self.company()),
            end: EndDateSort(parsed(END)),
            name: parsed(&format!("Spring {}", self.marker)),
            start_date: parsed("2020-01-01"),
        }
    }

    fn plans(&self) -> Plans {
        let plan = Plan {
            plan_id: parsed(&format!("plan-of-{}", self.company)),
            name: parsed(&format!("Year {}", self.marker)),
            period: keys::wellness::Period::of_year(parsed("2020")),
        };
        Plans { partition: CompanyPartition(self.company()), sort: PlansSort, plans: vec![plan], version: 1 }
    }

    fn venue(&self, id: &str) -> Record {
        Record {
            partition: CompanyPartition(self.company()),
            sort: RecordSort(parsed(&format!("VenueId-{id}"))),
            name: parsed(&format!("Blood Bank A {}", self.marker)),
            data: data(self.marker),
            used_by: None,
        }
    }

    fn job(&self, id: &str) -> Job {
        let of: FacetRef = parsed(&format!("VenueId-{id}"));
        let period = keys::wellness::Period::of_year(parsed("2020"));
        let task = Task::Update { copied_data: data(self.marker), period };
        let run = keys::RequestId::new(jiff::Timestamp::now(), &system_tests::random());
        let now = parsed("2020-01-01T00:00:00Z");
        let (company, id) = (self.company(), JobId::Uses(of));
        let job = Job::new(&job_key(&company, &id), &id, &run, &task, now).expect("a job");
        Job { state: State::Done, run: None, ..job }
    }

    fn template(&self) -> Template {
        Template {
            owner: Owner::Company(self.company()),
            sort: TemplateSort(parsed(&format!("template-of-{}", self.company))),
            content: serde_json::from_value(json!(json!({"name": self.marker}).to_string())).expect("content"),
            version: 1,
            created_at: parsed("2020-01-01T00:00:00Z"),
        }
    }

    fn employee(&self, user: &str) -> Employee {
        Employee {
            partition: EmployeesPartition::of(self.company(), &parsed(user)),
            sort: EmployeeSort(parsed(user)),
            name: Some(parsed(&format!("Ann {}", self.marker))),
            role: parsed("EmployeeOnPlan"),
            department: parsed(&format!("Sales {}", self.marker)),
            last_change: LastChange::Placement,
            version: 1,
        }
    }

    fn registration(&self, activity: &Activity, user: &str) -> Registration {
        let (id, end, now) = (activity.id().clone(), activity.end(), parsed("2020-01-01T00:00:00Z"));
        let progress_text = format!("404 / 1000 steps {}", self.marker);
        let award = Award { kind: parsed(self.marker), points: 1, at: now };
        let new = Registration::new(self.company(), id, end, parsed(user), now);
        Registration { progress_text, awards: vec![award], ..new }
    }

    async fn seed(&self, stack: &Stack) {
        let own = format!("venue-of-{}", self.company);
        let user = format!("user-of-{}", self.company);
        let activities = [1, 2].map(|number| self.activity(number));
        let venues = ["venue-1", own.as_str()];
        let references = activities.iter().flat_map(|activity| venues.map(|venue| self.reference(activity, venue)));
        put(stack, &references.collect::<Vec<_>>()).await;
        put(stack, &["section-1", &format!("section-of-{}", self.company)].map(|id| self.section(id))).await;
        put(stack, &venues.map(|id| self.venue(id))).await;
        put(stack, &[self.plans()]).await;
        put_into("WellnessJobs", stack, &venues.map(|id| self.job(id))).await;
        put(stack, &[self.employee(&user)]).await;
        put(stack, &[self.template()]).await;
        put(stack, &activities.iter().map(|activity| self.registration(activity, &user)).collect::<Vec<_>>()).await;
        put(stack, &activities).await;
    }
}

async fn put_into<T: Item>(table: &str, stack: &Stack, items: &[T]) {
    let dynamo = dynamo(stack);
    let table = dynamo.table(stack.table(table).expect("a table"));
    let mut batch = BatchWrite::default();
    for item in items {
        batch.put(&table, item).expect("writable");
    }
    dynamo.batch_write(batch).await.expect("written");
}

/// Reads all items whose JSON text contains one of the marks. Returns them by key.
async fn items_with(stack: &Stack, marks: &[&str]) -> BTreeMap<String, String> {
    let client = stack.client().expect("a client");
    let mut items = BTreeMap::new();
    for table in ["Activities", "WellnessJobs"] {
        let scan = client.scan().table_name(stack.table(table).expect("a table")).consistent_read(true);
        let mut pages = scan.into_paginator().items().send();
        while let Some(item) = pages.next().await {
            let item: Value = serde_dynamo::from_item(item.expect("an item")).expect("JSON");
            let text = item.to_string();
            if marks.iter().any(|mark| text.contains(mark)) {
                items.insert(format!("{} {}", item["PK"], item["SK"]), text);
            }
        }
    }
    items
}

/// The path parameters of a request.
#[derive(Debug, Clone)]
struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    /// Returns path parameters with ids that only this company has.
    fn of(company: &str) -> Self {
        let ids = [
            ("companyId", company.to_owned()),
            ("userId", format!("user-of-{company}")),
            ("activityId", format!("activity-1-of-{company}")),
            ("sectionId", format!("section-of-{company}")),
            ("planId", format!("plan-of-{company}")),
            ("facet", "venues".to_owned()),
            ("facetId", format!("venue-of-{company}")),
            ("jobId", format!("VenueId-venue-of-{company}")),
            ("kind", "Attendance".to_owned()),
            ("groupId", "group-1".to_owned()),
            ("importId", format!("import-of-{company}")),
            ("templateId", format!("template-of-{company}")),
        ];
        Self(ids.into())
    }

    fn with(&self, name: &'static str, value: &str) -> Self {
        let mut ids = self.0.clone();
        ids.insert(name, value.to_owned());
        Self(ids)
    }

    fn path(&self, route: &str) -> String {
        function::path(route, |name| Some(self.0.get(name).expect("a known parameter").clone()))
    }
}

/// A request to a route. `own` lists the expected statuses if our administrator uses our company's
/// path with the other company's ids.
///
/// A request with status 200 returns a list of our company. A request with status 201 or 202
/// creates an item of our company.
struct Case {
    route: &'static str,
    query: &'static str,
    body: Option<Value>,
    own: &'static [u16],
}

fn reads(route: &'static str, query: &'static str, own: &'static [u16]) -> Case {
    Case { route, query, body: None, own }
}

fn writes(route: &'static str, body: Value, own: &'static [u16]) -> Case {
    Case { route, query: "", body: Some(body), own }
}

const LIST_OF_REFERENCES: &str = "GET /wellness/companies/{companyId}/references/{facet}/{facetId}/activities";
const LIST_OF_TEMPLATES: &str = "GET /wellness/companies/{companyId}/templates";

/// Returns a request to every route. No request depends on the result of an earlier request.
fn cases() -> Vec<Case> {
    let section = json!({"name": "Spring", "startDate": "2020-01-01", "endDate": END});
    let mut cases = vec![
        reads("GET /wellness/companies/{companyId}/activities", ENDED, &[200]),
        reads("GET /wellness/companies/{companyId}/activity-options", ENDED, &[200]),
        reads("GET /wellness/users/{userId}/registrations", YEAR, &[200]),
        reads("GET /wellness/companies/{companyId}/activities/{activityId}", "", &[404]),
        reads(LIST_OF_REFERENCES, "status=completed&from=2020-01-01&to=2020-12-31", &[200]),
        reads("GET /wellness/templates", "", &[200]),
        reads(LIST_OF_TEMPLATES, "", &[200]),
        reads("GET /wellness/companies/{companyId}/jobs/{jobId}", "", &[404]),
        reads("POST /wellness/companies/{companyId}/jobs/{jobId}/retry", "", &[404]),
        writes("POST /wellness/companies/{companyId}/activities", challenge("Walk 5000", END), &[201]),
        writes(
            "PUT /wellness/companies/{companyId}/activities/{activityId}/section",
            json!({"sectionId": "section-1"}),
            &[404],
        ),
        writes(
            "PATCH /wellness/companies/{companyId}/activities/{activityId}",
            json!({"version": 1, "name": "Run 5000"}),
            &[404],
        ),
        writes(
            "PUT /wellness/companies/{companyId}/employees/{userId}",
            json!({"role": "EmployeeOnPlan", "department": "Legal"}),
            &[201],
        ),
        writes("POST /wellness/companies/{companyId}/files", system_tests::wellness::new_file(), &[201]),
        writes("POST /wellness/companies/{companyId}/employee-imports", system_tests::wellness::new_import(), &[201]),
        reads("GET /wellness/companies/{companyId}/employee-imports/{importId}", "", &[404]),
        reads("GET /wellness/companies/{companyId}/activities/{activityId}/participants", "", &[200]),
        reads("GET /wellness/users/{userId}/points", YEAR, &[200]),
        reads("GET /wellness/companies/{companyId}/plans/{planId}/report", "", &[404]),
        reads("POST /wellness/companies/{companyId}/plans/{planId}/report", "", &[404]),
        reads("POST /wellness/companies/{companyId}/export", "", &[403]),
        reads("GET /wellness/companies/{companyId}/export", "", &[403]),
        reads("POST /wellness/companies/{companyId}/erasure", "", &[403]),
        reads("GET /wellness/companies/{companyId}/erasure", "", &[403]),
        reads("POST /wellness/companies/{companyId}/employees/{userId}/erasure", "", &[403]),
        reads("GET /wellness/companies/{companyId}/employees/{userId}/erasure", "", &[403]),
        // Our company may have an employee with this id by now.
        writes(
            "POST /wellness/users/{userId}/points",
            json!({"planId": "2020", "amount": 1, "reason": "Helped"}),
            &[404, 201],
        ),
        writes(
            "POST /wellness/companies/{companyId}/activities/{activityId}/attendance",
            json!({"userIds": ["user-1"]}),
            &[404],
        ),
        // Our company may have an employee with this id by now.
        reads("GET /wellness/companies/{companyId}/employees/{userId}", "", &[404, 200]),
        reads("DELETE /wellness/companies/{companyId}/employees/{userId}", "", &[404, 202]),
        writes("PATCH /wellness/users/{userId}/registrations/{activityId}", json!({"progress": 50}), &[404]),
        reads("PUT /wellness/users/{userId}/registrations/{activityId}", "", &[404]),
        reads("DELETE /wellness/users/{userId}/registrations/{activityId}", "", &[404]),
        writes("POST /wellness/templates", json!({"name": "Walk"}), &[403]),
        writes("POST /wellness/companies/{companyId}/templates", json!({"name": "Walk"}), &[201]),
        writes("PUT /wellness/companies/{companyId}/sections/{sectionId}", section, &[201]),
        reads("GET /wellness/companies/{companyId}/plans/{planId}", "", &[404]),
        writes(
            "PUT /wellness/companies/{companyId}/plans/{planId}",
            json!({"name": "Later", "startDate": "2030-01-01", "endDate": "2030-12-31"}),
            &[201],
        ),
        // The update returns 404 if our company has no such record yet.
        writes(
            "PATCH /wellness/companies/{companyId}/references/{facet}/{facetId}",
            json!({"data": {"Name": "Blood Bank B"}}),
            &[202, 404],
        ),
        writes(
            "PUT /wellness/companies/{companyId}/references/{facet}/{facetId}",
            json!({"name": "Blood Bank B", "data": {}}),
            &[201],
        ),
        writes(
            "POST /wellness/companies/{companyId}/references/{facet}/{facetId}/replacement",
            json!({"replacementId": "venue-1", "data": {"Name": "Blood Bank B"}}),
            &[202, 409],
        ),
    ];
    cases.extend(parts());
    cases.extend(lists_of_company(&cases));
    cases
}

/// Returns requests that change one part or reference of an activity, and requests for records.
fn parts() -> Vec<Case> {
    let contents = [
        ("detail", json!({"version": 1, "detail": {}})),
        ("goal", json!({"version": 1, "type": "N", "parameters": 1})),
        ("rewards/{kind}", json!({"version": 1, "name": "N", "amount": 1})),
        ("groups", json!({"version": 1, "type": "N", "rules": 1})),
        ("groups/{groupId}", json!({"version": 1, "name": "N"})),
        ("references/{facet}/{facetId}", json!({"version": 1})),
    ];
    let name = |method: &str, part: &str| -> &'static str {
        format!("{method} /wellness/companies/{{companyId}}/activities/{{activityId}}/{part}").leak()
    };
    let of = |(part, body): &(&str, Value)| {
        [writes(name("PUT", part), body.clone(), &[404]), reads(name("DELETE", part), "", &[404])]
    };
    let mut cases: Vec<_> = contents.iter().flat_map(of).collect();
    let record = "/wellness/companies/{companyId}/references/{facet}/{facetId}";
    // Our company may have such a record by now.
    cases.push(reads(format!("GET {record}").leak(), "", &[404, 200]));
    cases.push(reads(format!("DELETE {record}").leak(), "", &[404, 204, 409]));
    cases.push(reads("GET /wellness/companies/{companyId}/references/{facet}", "", &[200]));
    let template = "/wellness/companies/{companyId}/templates/{templateId}";
    cases.push(reads(format!("GET {template}").leak(), "", &[404]));
    cases.push(writes(format!("PATCH {template}").leak(), json!({"name": "Walk"}), &[404]));
    cases.push(reads(format!("DELETE {template}").leak(), "", &[404]));
    cases.push(reads("GET /wellness/templates/{templateId}", "", &[404]));
    cases.push(writes("PATCH /wellness/templates/{templateId}", json!({"name": "Walk"}), &[403]));
    cases.push(reads("DELETE /wellness/templates/{templateId}", "", &[403]));
    cases
}

/// Returns requests to the remaining lists of a company, which need no query string.
fn lists_of_company(cases: &[Case]) -> Vec<Case> {
    let patterns = wellness::patterns();
    let routes = patterns.iter().flat_map(Pattern::routes).filter(|route| route.method == "GET");
    let lists = routes.filter(|route| route.path.matches('{').count() == 1 && route.path.contains("{companyId}"));
    let names = lists.map(|route| format!("{} {}", route.method, route.path));
    let others = names.filter(|name| cases.iter().all(|case| case.route != name));
    others.map(|name| reads(name.leak(), "", &[200])).collect()
}

impl Case {
    fn path(&self, ids: &Ids) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", ids.path(self.route), self.query)
    }

    async fn ask(&self, client: &Client, ids: &Ids) -> Answer {
        self.ask_path(client, &self.path(ids)).await
    }

    async fn ask_path(&self, client: &Client, path: &str) -> Answer {
        let (method, _) = self.route.split_once(' ').expect("a method");
        let request = client.request(method, path);
        send(match &self.body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    fn is_of_company(&self) -> bool {
        self.route.contains("{companyId}")
    }

    /// Whether only operators may use the route of a company.
    fn is_of_operators(&self) -> bool {
        ["/export", "/erasure"].iter().any(|end| self.route.ends_with(end))
    }
}

/// Collects the failures, so that one run reports all of them.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn check(&mut self, what: &str, answer: &Answer, right: &[u16]) {
        let is_shown = answer.body.to_string().contains(SECRET)
            || answer.headers.values().any(|value| String::from_utf8_lossy(value.as_bytes()).contains(SECRET));
        if !right.contains(&answer.status) || is_shown {
            self.0.push(format!("{what}: status {} instead of {right:?}: {}", answer.status, answer.body));
        }
    }

    fn expect(&mut self, what: &str, holds: bool) {
        if !holds {
            self.0.push(what.to_owned());
        }
    }

    fn none(&self) {
        assert!(self.0.is_empty(), "{} failures:\n{}", self.0.len(), self.0.join("\n"));
    }
}

fn routes(stack: &Stack) -> BTreeMap<String, Route> {
    let routes = stack.template().lambdas.iter().flat_map(|lambda| lambda.routes.clone());
    let routes = routes.filter(|route| route.path.starts_with("/wellness/"));
    routes.map(|route| (format!("{} {}", route.method, route.path), route)).collect()
}

/// Two companies with items. The other company has created a complete activity and two templates
/// over HTTP.
struct Scene {
    stack: Stack,
    ours: Client,
    theirs: Client,
    activity: String,
    template: String,
    wrong: Wrong,
}

impl Scene {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        for tenant in &TENANTS {
            tenant.seed(&stack).await;
        }
        let (ours, theirs) = (admin(&stack, OURS), admin(&stack, THEIRS));
        let mut wrong = Wrong::default();
        let activity = made(&mut wrong, &theirs, "activities", &all_secret(), "activityId").await;
        let template =
            json!({"name": SECRET, "type": "challenge", "detail": {"description": SECRET}, "data": {"is": SECRET}});
        let first = made(&mut wrong, &theirs, "templates", &template, "templateId").await;
        made(&mut wrong, &theirs, "templates", &template, "templateId").await;
        let plan = format!("plan-of-{THEIRS}");
        let started = theirs.post(&of_company(THEIRS, &format!("plans/{plan}/report")), &json!({})).await;
        wrong.expect(&format!("no report: {}", started.body), started.status == 202);
        let job = of_company(THEIRS, &format!("jobs/ReportId-{plan}"));
        until(&theirs, &job, |answer| answer.body["status"] == "done").await;
        Self { stack, ours, theirs, activity, template: first, wrong }
    }

    /// Reads all items that belong to the other company or contain its ids.
    async fn theirs(&self) -> BTreeMap<String, String> {
        items_with(&self.stack, &["CompanyId-456", "-of-456", SECRET, &self.activity]).await
    }
}

/// Creates an item of the other company and returns its id.
async fn made(wrong: &mut Wrong, theirs: &Client, what: &str, body: &Value, id: &str) -> String {
    let answer = theirs.post(&of_company(THEIRS, what), body).await;
    wrong.expect(&format!("{what} were not created: {}", answer.body), answer.status == 201);
    answer.body[id].as_str().unwrap_or("none").to_owned()
}

/// Returns an activity with the secret in every part.
fn all_secret() -> Value {
    let mut activity = challenge(SECRET, END);
    activity["data"] = json!({"is": SECRET});
    activity["goal"]["parameters"] = json!({"is": SECRET});
    activity["rewards"][0]["name"] = SECRET.into();
    activity["groups"]["rules"] = json!({"is": SECRET});
    activity["groups"]["items"][0]["name"] = SECRET.into();
    activity["references"] = json!([{"facet": "venues", "id": "venue-1", "data": {"is": SECRET}}]);
    activity
}

#[tokio::test]
async fn no_route_shows_or_changes_items_of_another_company() {
    let mut scene = Scene::start().await;
    let mut wrong = std::mem::take(&mut scene.wrong);
    let cases = cases();
    let known: BTreeSet<_> = cases.iter().map(|case| case.route.to_owned()).collect();
    assert_eq!(known, routes(&scene.stack).into_keys().collect(), "every route of the template must have a case");
    let before = scene.theirs().await;
    let theirs = Ids::of(THEIRS);
    let under_ours = theirs.with("companyId", OURS);
    for case in &cases {
        let what = format!("{}, with their path", case.route);
        if case.is_of_company() {
            wrong.check(&what, &case.ask(&scene.ours, &theirs).await, &[403]);
        }
        for id in ["activity-1-of-456", scene.activity.as_str()] {
            let ids = under_ours.with("activityId", id);
            let answer = case.ask(&scene.ours, &ids).await;
            wrong.check(&format!("{}, with their ids", case.route), &answer, &own_or_there_by_now(case));
        }
    }
    for level in ["Program", "Detail", "GoalPrimary", "Reward", "Groups", "Venue", "Groups,Program%23Detail"] {
        let level = if level == "Program" { level.to_owned() } else { format!("Program%23{level}") };
        for id in ["activity-1-of-456", scene.activity.as_str()] {
            let path = of_company(OURS, &format!("activities/{id}?include={level}"));
            wrong.check(&path, &scene.ours.get(&path).await, &[404]);
        }
    }
    let after = scene.theirs().await;
    // Both companies may have an item with the same id. A change of our item must not change
    // theirs.
    let changed: Vec<_> = before.iter().filter(|(key, item)| after.get(*key) != Some(item)).collect();
    wrong.expect(&format!("items of the other company have changed: {changed:?}"), changed.is_empty());
    let new: Vec<_> = after.iter().filter(|(key, _)| !before.contains_key(*key)).collect();
    let is_ours = |(_, item): &&(&String, &String)| item.contains("CompanyId-123") && !item.contains("CompanyId-456");
    wrong.expect(&format!("the other company has new items: {new:?}"), new.iter().all(|item| is_ours(&item)));
    wrong.none();
}

/// Returns the expected statuses. If a PUT is repeated, it returns 200.
fn own_or_there_by_now(case: &Case) -> Vec<u16> {
    let is_put = case.route.starts_with("PUT ") && case.own == [201];
    case.own.iter().copied().chain(is_put.then_some(200)).collect()
}

/// Checks that the other company's own administrator and user can see the secret.
#[tokio::test]
async fn the_owning_company_sees_its_items() {
    let mut scene = Scene::start().await;
    let mut wrong = std::mem::take(&mut scene.wrong);
    let ids = Ids::of(THEIRS);
    let user = Client::member(&scene.stack, "wellness:read wellness:write", THEIRS, "user-of-456");
    for case in cases().iter().filter(|case| case.route.starts_with("GET ") && !case.is_of_operators()) {
        let client = if case.is_of_company() { &scene.theirs } else { &user };
        let answer = case.ask(client, &ids).await;
        let is_global = case.route.starts_with("GET /wellness/templates");
        // The company has no import with this id.
        if case.route == "GET /wellness/templates/{templateId}" || case.route.ends_with("/employee-imports/{importId}")
        {
            wrong.check(case.route, &answer, &[404]);
            continue;
        }
        let shows = answer.body.to_string().contains(SECRET) || case.route.contains("/jobs/") || is_global;
        wrong.expect(&format!("{}: {} {}", case.route, answer.status, answer.body), answer.status == 200 && shows);
    }
    let whole = of_company(THEIRS, &format!("activities/{}", scene.activity));
    let answer = scene.theirs.get(&whole).await;
    wrong.expect(
        &format!("the whole activity does not show the secret: {}", answer.body),
        answer.body.to_string().matches(SECRET).count() >= 8,
    );
    wrong.none();
}

/// Sends ids of the other company in request bodies and in the path of a progress report.
#[tokio::test]
async fn items_of_another_company_cannot_be_referenced() {
    let mut scene = Scene::start().await;
    let mut wrong = std::mem::take(&mut scene.wrong);
    let before = items_with(&scene.stack, &[""]).await;
    let activities = of_company(OURS, "activities");
    for (name, id) in [("sectionId", "section-of-456"), ("templateId", scene.template.as_str())] {
        let mut activity = challenge("Walk 5000", END);
        activity[name] = id.into();
        wrong.check(name, &scene.ours.post(&activities, &activity).await, &[404]);
    }
    let section = format!("{activities}/activity-1-of-123/section");
    let moved = scene.ours.put(&section, &json!({"sectionId": "section-of-456"})).await;
    wrong.check("a section of the other company", &moved, &[404]);
    let user = Client::member(&scene.stack, "wellness:read wellness:write", OURS, "user-of-123");
    let theirs = "/wellness/users/user-of-123/registrations/activity-1-of-456";
    wrong.check("an activity of the other company", &user.patch(theirs, &json!({"progress": 50})).await, &[404]);
    wrong.expect("a rejected request has written items", items_with(&scene.stack, &[""]).await == before);
    wrong.none();
}

#[tokio::test]
async fn missing_items_and_items_of_another_company_return_the_same_error() {
    let mut scene = Scene::start().await;
    let mut wrong = std::mem::take(&mut scene.wrong);
    let shown = |answer: Answer| {
        let mut body = answer.body;
        body["instance"].take();
        (answer.status, body)
    };
    let theirs = Ids::of(THEIRS).with("companyId", OURS);
    let nobodys = Ids::of("789").with("companyId", OURS);
    for case in cases().iter().filter(|case| case.own == [404]) {
        let (one, other) = (case.ask(&scene.ours, &theirs).await, case.ask(&scene.ours, &nobodys).await);
        let (one, other) = (shown(one), shown(other));
        wrong.expect(&format!("{}: {one:?} {other:?}", case.route), one == other && one.0 == 404);
    }
    let (theirs, nobodys) = (Ids::of(THEIRS), Ids::of("789"));
    for case in cases().iter().filter(|case| case.is_of_company()) {
        let (one, other) = (case.ask(&scene.ours, &theirs).await, case.ask(&scene.ours, &nobodys).await);
        let (one, other) = (shown(one), shown(other));
        wrong.expect(&format!("{}: {one:?} {other:?}", case.route), one == other && one.0 == 403);
    }
    wrong.none();
}

#[tokio::test]
async fn cursors_of_another_company_are_rejected() {
    let mut scene = Scene::start().await;
    let mut wrong = std::mem::take(&mut scene.wrong);
    let (ours, theirs) = (Ids::of(OURS), Ids::of(THEIRS));
    let period = "status=completed&from=2020-01-01&to=2020-12-31&";
    for (route, query, same) in [(LIST_OF_REFERENCES, period, "venue-1"), (LIST_OF_TEMPLATES, "", "none")] {
        let path = |ids: &Ids| format!("{}?{query}", ids.with("facetId", same).path(route));
        let (ours, theirs) = (path(&ours), path(&theirs));
        let page = scene.theirs.get(&format!("{theirs}limit=1")).await;
        let cursor = page.body["nextCursor"].as_str().unwrap_or("none").to_owned();
        wrong.expect(&format!("{route} returned no cursor: {}", page.body), page.body["nextCursor"].is_string());
        for limit in ["limit=1&", ""] {
            let with = |path: &str| format!("{path}{limit}cursor={cursor}");
            let own_path = scene.ours.get(&with(&ours)).await;
            wrong.check(&format!("{route}, their cursor on our path"), &own_path, &[400]);
            let their_path = scene.ours.get(&with(&theirs)).await;
            wrong.check(&format!("{route}, their cursor on their path"), &their_path, &[403]);
            let own = scene.theirs.get(&with(&theirs)).await;
            wrong.expect(&format!("{route}, their cursor with their token: {}", own.body), own.status == 200);
            // A cursor is valid only for callers with the same access. An operator has more access.
            let operator = Client::operator(&scene.stack).get(&with(&theirs)).await;
            wrong.check(&format!("{route}, their cursor with an operator's token"), &operator, &[400]);
        }
    }
    wrong.none();
}

const EMPLOYEE: &str = "wellness:read wellness:write";
const ALL: &str = "wellness:read wellness:write wellness:admin";

#[tokio::test]
async fn only_the_exact_company_claim_gives_access() {
    let scene = Scene::start().await;
    let mut wrong = Wrong::default();
    let before = items_with(&scene.stack, &[""]).await;
    let claims = ["", "45", "4567", "456 123", "[456]", "123 456", "*", "456#", "CompanyId-456", " 456"];
    let mut clients: Vec<_> =
        claims.map(|claim| (claim, Client::member(&scene.stack, ALL, claim, "user-of-456"))).into();
    clients.push(("none", Client::caller(&scene.stack, ALL, &["456"])));
    let bank = Client::member(&scene.stack, &format!("{ALL} bank:operate cart:operate"), OURS, "user-of-123");
    clients.push(("an operator of other services", bank));
    let ids = Ids::of(THEIRS);
    for (claim, client) in &clients {
        for case in cases().iter().filter(|case| case.is_of_company() && !case.is_of_operators()) {
            let answer = case.ask(client, &ids).await;
            wrong.check(&format!("{claim:?}: {}", case.route), &answer, &[403]);
            let is_problem = answer.body["type"] == "/problems/forbidden";
            wrong.expect(
                &format!("{claim:?}: {} returned no problem of the function: {}", case.route, answer.body),
                is_problem,
            );
        }
    }
    wrong.expect("a rejected request has written items", items_with(&scene.stack, &[""]).await == before);
    wrong.none();
}

#[tokio::test]
async fn only_the_exact_subject_gives_access() {
    let scene = Scene::start().await;
    let mut wrong = Wrong::default();
    let before = items_with(&scene.stack, &[""]).await;
    let ids = Ids::of(THEIRS);
    let of_users = cases().into_iter().filter(|case| case.route.contains("{userId}") && !case.is_of_company());
    let of_users: Vec<_> = of_users.collect();
    assert_eq!(of_users.len(), 6);
    for subject in ["another-of-456", "admin-of-456", "user-of-45", "user-of-4567", "", "UserId-user-of-456", "*"] {
        for company in [THEIRS, OURS] {
            let client = Client::member(&scene.stack, EMPLOYEE, company, subject);
            for case in &of_users {
                wrong.check(
                    &format!("{subject:?} of {company}: {}", case.route),
                    &case.ask(&client, &ids).await,
                    &[403],
                );
            }
        }
    }
    wrong.expect("a rejected request has written items", items_with(&scene.stack, &[""]).await == before);
    wrong.none();
}

#[tokio::test]
async fn only_the_scopes_of_a_route_give_access() {
    let scene = Scene::start().await;
    let mut wrong = Wrong::default();
    let before = items_with(&scene.stack, &[""]).await;
    let routes = routes(&scene.stack);
    let ids = Ids::of(OURS);
    let mut refused = 0;
    for scopes in [
        "",
        "wellness:read",
        "wellness:write",
        "wellness:read wellness:write",
        "wellness:admin",
        "bank:read bank:operate cart:operate",
        "wellness wellness:operator xwellness:admin WELLNESS:ADMIN",
    ] {
        let client = Client::member(&scene.stack, scopes, OURS, "user-of-123");
        for case in cases() {
            let opens = &routes[case.route].scopes;
            if scopes.split_whitespace().all(|scope| !opens.iter().any(|open| open == scope)) {
                let answer = case.ask(&client, &ids).await;
                let is_gateways = answer.status == 403 && answer.body["message"] == "Forbidden";
                wrong.expect(&format!("{scopes:?}: {}: {}", case.route, answer.body), is_gateways);
                refused += 1;
            }
        }
    }
    // This loop states which routes employees may use, independently of the template.
    for case in cases() {
        let of_users = ["GET ", "PATCH /wellness/users/", "PUT /wellness/users/", "DELETE /wellness/users/"];
        let by_users = of_users.iter().any(|begin| case.route.starts_with(begin));
        let opens = &routes[case.route].scopes;
        let to_employees = opens.iter().any(|open| open == "wellness:read" || open == "wellness:write");
        let of_admins =
            ["/jobs/", "/employees", "/employee-imports", "/participants", "/report", "/export", "/erasure"]
                .iter()
                .any(|part| case.route.contains(part))
                || case.route.ends_with("/references/{facet}");
        let right = to_employees == (by_users && !of_admins);
        wrong.expect(&format!("{} accepts the scopes {opens:?}", case.route), right);
        let to_operators_only =
            (case.route.contains(" /wellness/templates") && !case.route.starts_with("GET ")) || case.is_of_operators();
        wrong.expect(case.route, !to_operators_only || *opens == ["wellness:operate"]);
    }
    assert!(refused > 70, "{refused}");
    wrong.expect("a rejected request has written items", items_with(&scene.stack, &[""]).await == before);
    wrong.none();
}

#[tokio::test]
async fn body_query_and_headers_do_not_set_the_identity() {
    let scene = Scene::start().await;
    let mut wrong = Wrong::default();
    let ids = Ids::of(THEIRS);
    let claims = r#"{"sub":"user-of-456","scope":"wellness:operate","company_id":"456"}"#;
    for case in cases().iter().filter(|case| case.is_of_company()) {
        let (method, _) = case.route.split_once(' ').expect("a method");
        for name in ["company_id", "x-company-id", "scope", "x-amzn-request-context", "x-amzn-oidc-data"] {
            let request = scene.ours.request(method, &case.path(&ids)).header(name, claims);
            let request = if let Some(body) = &case.body { request.json(body) } else { request };
            wrong.check(&format!("{name}: {}", case.route), &send(request).await, &[403]);
        }
        let mark = if case.query.is_empty() { '?' } else { '&' };
        for query in ["company_id=456", "companyId=456", "scope=wellness:operate"] {
            let path = format!("{}{mark}{query}", case.path(&ids));
            wrong.check(&format!("{query}: {}", case.route), &case.ask_path(&scene.ours, &path).await, &[400, 403]);
        }
        if let Some(body) = &case.body {
            let mut body = body.clone();
            body["companyId"] = THEIRS.into();
            let case = Case { body: Some(body), ..*case };
            let ids = Ids::of(OURS);
            wrong.check(&format!("{}, company in the body", case.route), &case.ask(&scene.ours, &ids).await, &[400]);
        }
    }
    wrong.none();
}

/// Puts registrations of the user `u` for activities that end in the same second.
async fn register(stack: &Stack, company: &str, count: usize, filling: usize) {
    let event = |number| Activity {
        activity_type: ActivityType::Event,
        ..activity(company, &format!("{company}-{number:04}"), "Flu shots", "2099-12-31")
    };
    let events: Vec<_> = (0..count).map(event).collect();
    let award = Award { kind: parsed("Attendance"), points: 1, at: parsed("2026-01-01T00:00:00Z") };
    let earned = |event| Registration {
        data: Some(json_text(&json!({"filling": "x".repeat(filling)}))),
        earned_points: 1,
        awards: vec![award.clone()],
        ..registration(event, "u")
    };
    put(stack, &events.iter().map(earned).collect::<Vec<_>>()).await;
    put(stack, &events).await;
}

/// An administrator may add any user id. However many registrations it has, the employee of another
/// company with this id reads and gets registrations as before. So does the employee who has them.
#[tokio::test(flavor = "multi_thread")]
async fn the_registrations_of_a_namesake_change_nothing() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    register(&stack, THEIRS, 2_500, 2_000).await;
    register(&stack, OURS, 2, 10).await;
    for (company, count, pages) in [(OURS, 2, 1), (THEIRS, 2_500, 3)] {
        let admin = admin(&stack, company);
        create(&admin, company, &challenge("Walk", "2099-12-31")).await;
        let placed = json!({"role": "R", "department": "Sales"});
        assert_eq!(admin.put(&of_company(company, "employees/u"), &placed).await.status, 201);
        drained(&operator, "register-new-employee").await;
        let client = employee(&stack, company, "u");
        let (items, read) = client.all("/wellness/users/u/registrations?year=2099").await;
        let ids: BTreeSet<_> = items.iter().map(|item| item["activityId"].to_string()).collect();
        assert_eq!((items.len(), ids.len(), read), (count + 1, count + 1, pages), "{company}");
        assert!(items.iter().any(|item| item["name"] == "Walk"), "the new employee takes part in the challenge");
        let points = client.get("/wellness/users/u/points?year=2099").await;
        assert_eq!((points.status, &points.body["total"]), (200, &json!(count)), "{company}");
        let partition = format!("CompanyId-{company}#UserId-u#Registrations");
        assert_eq!(stored(&stack, Some("GSI3"), &partition).await.len(), count + 1);
        let (items, _) = operator.all(&format!("{}&year=2099&limit=100", registrations_of(company, "u"))).await;
        assert_eq!(items.len(), count + 1, "pages of 100");
    }
}
