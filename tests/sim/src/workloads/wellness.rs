//! Wellness: two companies with employees of the same ids, their activities, seats, points and
//! jobs.
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::{attribute, each, index, number, recent, text};
use crate::{
    clock,
    draw::Draw,
    published,
    trace::lock,
    workloads::{Step, Workload},
    world::{Ask, Caller, Exchange, World},
};

mod histories;
pub(super) mod stored;

/// The second company has an employee with the id of an employee of the first one.
pub(super) const COMPANIES: [&str; 2] = ["acme", "bolt"];
const USERS: [&str; 4] = ["u-0", "u-1", "u-2", "u-3"];
const DEPARTMENTS: [&str; 3] = ["Sales", "Legal", "Plant"];
const ROLES: [&str; 2] = ["Staff", "Lead"];
/// Values of the attribute `site` of employees.
const SITES: [&str; 2] = ["North", "South"];

/// An activity that a client knows.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) company: String,
    pub(super) id: String,
    pub(super) version: u64,
}

/// The activities that clients know.
#[derive(Debug, Default)]
pub(super) struct Activities(Mutex<Vec<Known>>);

impl Activities {
    /// A recent activity of the company of the action.
    pub(super) fn picked(&self, action: &Value) -> Option<Known> {
        let company = text(action, "company");
        let own: Vec<Known> = lock(&self.0).iter().filter(|known| known.company == company).cloned().collect();
        recent(&own, index(action, "pick"), 4)
    }

    /// Adds the activity in the response to its creation.
    pub(super) fn add(&self, company: &str, created: &Value) {
        if let Some(id) = created["activityId"].as_str() {
            lock(&self.0).push(Known { company: company.to_owned(), id: id.to_owned(), version: 1 });
        }
    }

    /// Remembers the version in a response.
    pub(super) fn learn(&self, id: &str, version: &Value) {
        let Some(version) = version.as_u64() else { return };
        if let Some(known) = lock(&self.0).iter_mut().find(|known| known.id == id) {
            known.version = known.version.max(version);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Companies {
    activities: Activities,
    /// The ids and companies of the imports.
    imports: Mutex<Vec<(String, String)>>,
}

pub(super) fn admin(company: &str) -> Caller {
    let sub = format!("admin-of-{company}");
    let claims = json!({"sub": sub, "scope": "wellness:read wellness:write wellness:admin", "company_id": company});
    Caller::new(&sub, &claims)
}

/// A user of the company who is also an administrator.
pub(super) fn manager(company: &str, user: &str) -> Caller {
    let claims = json!({"sub": user, "scope": "wellness:read wellness:write wellness:admin", "company_id": company});
    Caller::new(&format!("{user}-as-admin-of-{company}"), &claims)
}

pub(super) fn employee(company: &str, user: &str) -> Caller {
    let claims = json!({"sub": user, "scope": "wellness:read wellness:write", "company_id": company});
    Caller::new(&format!("{user}-of-{company}"), &claims)
}

pub(super) fn operator() -> Caller {
    Caller::new("operator", &json!({"sub": "operator", "scope": "wellness:operate"}))
}

pub(super) fn other(company: &str) -> &'static str {
    if company == COMPANIES[0] { COMPANIES[1] } else { COMPANIES[0] }
}

/// The company of a caller. `None` for an operator.
fn company_of(caller: &str) -> Option<&'static str> {
    COMPANIES.into_iter().find(|company| caller.ends_with(&format!("-of-{company}")))
}

/// The hash of an uploaded file.
pub(super) fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// The key of the object that a response allows to upload or to download.
pub(super) fn key_of_url<'a>(url: &'a str, folder: &str) -> Option<&'a str> {
    let url = url.split('?').next()?;
    url.find(folder).map(|at| &url[at..])
}

fn registration_path(company: &str, user: &str, activity: &str) -> String {
    format!("/wellness/users/{user}/registrations/{activity}?companyId={company}")
}

/// A time as activities have it.
pub(super) fn plan_time(after: SignedDuration) -> String {
    (clock::now() + after).to_string()[..19].to_owned()
}

fn year() -> String {
    clock::now().to_string()[..4].to_owned()
}

/// Filters of the action's departments and site.
fn filters(action: &Value, roles: &[&str]) -> Value {
    let mut filters = json!({"roles": roles, "departments": action["departments"]});
    if action["of-site"].is_string() {
        filters["site"] = json!([action["of-site"]]);
    }
    filters
}

impl Workload for Companies {
    fn stacks(&self) -> &'static [&'static str] {
        &["wellness"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let kind = draw.kind(
            "employee 14, remove 3, activity 12, filters 6, status 5, capacity 5, end 4, enrolment 2, join 22, \
             leave 10, report 20, correct 4, attend 8, reward 6, points 5, get-points 4, registrations 6, \
             participants 4, activities 4, get 5, plan-report 2, import 2, stranger 6",
        );
        let departments: Vec<&str> = DEPARTMENTS.into_iter().filter(|_| draw.happens(350)).collect();
        json!({
            "do": kind, "company": COMPANIES[usize::from(draw.happens(250))], "user": draw.one(&USERS),
            "department": draw.one(&DEPARTMENTS), "role": draw.one(&ROLES), "departments": departments,
            "pick": draw.below(1_000), "progress": draw.between(0, 130), "by-admin": draw.happens(250),
            "event": draw.happens(500), "capacity": draw.between(1, 3), "limited": draw.happens(700),
            "soon": draw.happens(60), "status": draw.one(&["active", "active", "cancelled", "draft"]),
            "enrolment": draw.one(&["automatic", "open", "closed"]), "points": draw.between(1, 50),
            "percent": draw.one(&[30, 50, 100]), "kind": draw.one(&["Half", "Goal", "Bonus", "Attendance"]),
            "remove": draw.happens(200), "all": draw.happens(300),
            "site": draw.happens(500).then(|| draw.one(&SITES)), "of-site": draw.happens(150).then(|| draw.one(&SITES)),
        })
    }

    fn steps(&self, draw: &mut Draw) -> u64 {
        draw.between(10, 40)
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for (index, (company, user)) in
                [("acme", "u-0"), ("acme", "u-1"), ("acme", "u-2"), ("bolt", "u-0")].into_iter().enumerate()
            {
                let body = json!({"role": "Staff", "department": DEPARTMENTS[index % 2]});
                let path = format!("/wellness/companies/{company}/employees/{user}");
                world.ask(&format!("hire-{company}-{user}"), &admin(company), Ask::with("PUT", path, body)).await;
            }
            for (company, is_event) in [("acme", true), ("acme", false), ("bolt", false)] {
                let action = json!({"event": is_event, "company": company, "capacity": 2, "limited": true,
                    "status": "active", "departments": []});
                self.create(world, &action, &format!("first-{company}-{is_event}")).await;
            }
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let action = &step.action;
            match text(action, "do") {
                "activity" => self.create(world, action, label).await,
                "filters" | "status" | "capacity" | "end" | "enrolment" | "reward" => {
                    self.change(world, action, label).await;
                }
                "join" | "leave" | "report" | "correct" => self.take_part(world, action, label).await,
                "stranger" => self.trespass(world, action, label).await,
                "import" => self.import(world, action, label).await,
                _ => self.others(world, action, label).await,
            }
        })
    }

    fn finish<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Reads with eventual consistency see the last writes.
            sleep(Duration::from_mins(2)).await;
            for company in COMPANIES {
                let caller = admin(company);
                for user in USERS {
                    let path = format!("/wellness/companies/{company}/employees/{user}");
                    world.ask(&format!("last-{company}-{user}"), &caller, Ask::of("GET", path)).await;
                }
                let path = format!("/wellness/companies/{company}/plans/{}/report", year());
                world.ask(&format!("report-{company}"), &caller, Ask::of("POST", path)).await;
            }
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let items = world.items("Activities");
            stored::check(world, history, &items);
            stored::check_seats(world);
            histories::check(world, history, &items);
            check_walls(world, history, &items, &COMPANIES);
            check_events(world);
            for company in COMPANIES {
                for user in USERS.into_iter().filter(|user| stored::has_points(&items, company, user)) {
                    check_points(world, company, user, &items).await;
                }
                check_report(world, company, &items).await;
            }
            let imports = lock(&self.imports).clone();
            for (company, id) in imports {
                check_import(world, &company, &id).await;
            }
        })
    }
}

impl Companies {
    async fn create(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let is_event = action["event"] == true;
        let ends = if action["soon"] == true { SignedDuration::from_secs(40) } else { SignedDuration::from_hours(960) };
        let mut body = json!({
            "name": format!("{company} activity {label}"), "type": if is_event { "event" } else { "challenge" },
            "subType": "Fitness", "startDate": plan_time(SignedDuration::from_hours(-48)), "endDate": plan_time(ends),
            "status": action["status"], "filters": filters(action, &[]),
            "rewards": [
                {"kind": "Attendance", "name": "Points", "amount": 40},
                {"kind": "Goal", "name": "Points", "amount": 10},
                {"kind": "Half", "name": "Points", "amount": 5, "percent": 50},
            ],
        });
        if is_event && action["limited"] == true {
            body["capacity"] = action["capacity"].clone();
        }
        let path = format!("/wellness/companies/{company}/activities");
        let reply = world.ask(label, &admin(company), Ask::with("POST", path, body).key(label)).await;
        self.activities.add(company, &reply.body);
    }

    /// Changes an activity or one of its rewards, with the version that the administrator knows.
    async fn change(&self, world: &World, action: &Value, label: &str) {
        let Some(Known { company, id, version }) = self.activities.picked(action) else { return };
        let path = format!("/wellness/companies/{company}/activities/{id}");
        let mut ask = match text(action, "do") {
            "filters" => {
                let roles: &[&str] = if action["all"] == true { &["Lead"] } else { &[] };
                Ask::with("PATCH", path, json!({"filters": filters(action, roles)}))
            }
            "status" => Ask::with("PATCH", path, json!({"status": action["status"]})),
            "capacity" => Ask::with("PATCH", path, json!({"capacity": action["capacity"]})),
            "end" => {
                let days = i64::try_from(number(action, "pick") % 300).unwrap_or_default();
                Ask::with("PATCH", path, json!({"endDate": plan_time(SignedDuration::from_hours(24 * (days + 1)))}))
            }
            "enrolment" => Ask::with("PATCH", path, json!({"enrolment": action["enrolment"]})),
            _ => {
                let kind = text(action, "kind");
                let path = format!("{path}/rewards/{kind}");
                let mut body = json!({"name": "Points", "amount": action["points"]});
                if kind != "Attendance" {
                    body["percent"] = action["percent"].clone();
                }
                Ask::with("PUT", path, body)
            }
        };
        ask.body["version"] = version.into();
        let reply = world.ask(label, &admin(&company), ask).await;
        self.activities.learn(&id, &reply.body["version"]);
        if reply.status == 412 {
            let path = format!("/wellness/companies/{company}/activities/{id}");
            let read = world.ask(&format!("{label}v"), &admin(&company), Ask::of("GET", path)).await;
            self.activities.learn(&id, &read.body["activity"]["version"]);
            self.activities.learn(&id, &read.body["version"]);
        }
    }

    async fn take_part(&self, world: &World, action: &Value, label: &str) {
        let Some(Known { company, id, .. }) = self.activities.picked(action) else { return };
        let user = text(action, "user");
        let path = registration_path(&company, user, &id);
        let is_admin = action["by-admin"] == true || action["do"] == "correct";
        let caller = if is_admin { admin(&company) } else { employee(&company, user) };
        let ask = match text(action, "do") {
            "join" => Ask::of("PUT", path),
            "leave" => Ask::of("DELETE", path),
            "report" => Ask::with("PATCH", path, json!({"progress": action["progress"]})),
            _ => Ask::with("PATCH", path, json!({"progress": action["progress"], "correction": true})),
        };
        let request = world.ask(label, &caller, ask);
        if action["do"] != "report" || action["all"] != true {
            return drop(request.await);
        }
        // Another report of the employee overtakes this one.
        let path = registration_path(&company, user, &id);
        let less = Ask::with("PATCH", path, json!({"progress": number(action, "progress") / 2}));
        let again = format!("{label}t");
        futures::join!(request, world.ask(&again, &caller, less));
    }

    async fn others(&self, world: &World, action: &Value, label: &str) {
        let (company, user) = (text(action, "company"), text(action, "user"));
        let (caller, path) = (admin(company), format!("/wellness/companies/{company}"));
        let person = if action["by-admin"] == true { caller.clone() } else { employee(company, user) };
        let ask = match text(action, "do") {
            "employee" => {
                let mut body = json!({"role": action["role"], "department": action["department"]});
                if action["site"].is_string() {
                    body["attributes"] = json!({"site": action["site"]});
                }
                Ask::with("PUT", format!("{path}/employees/{user}"), body)
            }
            "remove" => {
                let remove = Ask::of("DELETE", format!("{path}/employees/{user}"));
                // The employee signs up, and the index does not show it to the job of the
                // departure.
                if let Some(known) = self.activities.picked(action).filter(|_| action["all"] == true) {
                    let join = Ask::of("PUT", registration_path(company, user, &known.id));
                    world.ask(&format!("{label}j"), &caller, join).await;
                }
                remove
            }
            "attend" => {
                let Some(known) = self.activities.picked(action) else { return };
                let users: &[&str] = if action["all"] == true { &USERS } else { &[user] };
                let body = json!({"userIds": users, "attended": action["remove"] != true});
                Ask::with("POST", format!("{path}/activities/{}/attendance", known.id), body)
            }
            "points" => {
                let amount = i64::try_from(number(action, "points")).unwrap_or(1) - 25;
                let amount = if amount == 0 { 1 } else { amount };
                let body = json!({"planId": year(), "amount": amount, "reason": format!("{company} {label}")});
                Ask::with("POST", format!("/wellness/users/{user}/points?companyId={company}"), body).key(label)
            }
            "get-points" => {
                let path = format!("/wellness/users/{user}/points?companyId={company}&planId={}", year());
                return drop(world.ask(label, &person, Ask::of("GET", path)).await);
            }
            "registrations" => {
                let path = format!("/wellness/users/{user}/registrations?companyId={company}&year={}", year());
                return drop(world.ask(label, &person, Ask::of("GET", path)).await);
            }
            "participants" => {
                let Some(known) = self.activities.picked(action) else { return };
                Ask::of("GET", format!("{path}/activities/{}/participants", known.id))
            }
            "activities" => {
                let list = if action["all"] == true { "activity-options" } else { "activities" };
                Ask::of("GET", format!("{path}/{list}?year={}", year()))
            }
            "get" => {
                let Some(known) = self.activities.picked(action) else { return };
                let reply = world.ask(label, &caller, Ask::of("GET", format!("{path}/activities/{}", known.id))).await;
                return self.activities.learn(&known.id, &reply.body["version"]);
            }
            _ => Ask::of("POST", format!("{path}/plans/{}/report", year())),
        };
        world.ask(label, &caller, ask).await;
    }

    /// Requests with the ids of one company and the token of the other one.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let Some(Known { company, id, version }) = self.activities.picked(action) else { return };
        let (user, stranger) = (text(action, "user"), other(&company));
        let path = format!("/wellness/companies/{company}");
        let by_admin = |ask: Ask| (admin(stranger), ask);
        let (caller, ask) = match number(action, "pick") % 9 {
            0 => by_admin(Ask::of("GET", format!("{path}/activities/{id}"))),
            1 => {
                let body = json!({"version": version, "status": "cancelled"});
                by_admin(Ask::with("PATCH", format!("{path}/activities/{id}"), body))
            }
            // The right company, but an activity of the other one.
            2 => by_admin(Ask::of("GET", format!("/wellness/companies/{stranger}/activities/{id}"))),
            3 => (employee(stranger, user), Ask::of("PUT", registration_path(stranger, user, &id))),
            4 => by_admin(Ask::with("PATCH", registration_path(stranger, user, &id), json!({"progress": 99}))),
            5 => by_admin(Ask::of("GET", format!("{path}/employees/{user}"))),
            6 => by_admin(Ask::of("DELETE", format!("{path}/employees/{user}"))),
            7 => {
                let user = if user == "u-1" { "u-2" } else { "u-1" };
                let caller = employee(&company, if user == "u-1" { "u-2" } else { "u-1" });
                (caller, Ask::with("PATCH", registration_path(&company, user, &id), json!({"progress": 99})))
            }
            _ => {
                let body = json!({"userIds": [user]});
                by_admin(Ask::with("POST", format!("/wellness/companies/{stranger}/activities/{id}/attendance"), body))
            }
        };
        world.trespass(label, &caller, ask, &[403, 404]).await;
    }

    async fn import(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let line = |index: usize| {
            let department = DEPARTMENTS[(index + usize::from(action["all"] == true)) % 3];
            let site =
                if index.is_multiple_of(4) { "" } else { SITES[(index + usize::from(action["remove"] == true)) % 2] };
            format!("i-{},{department},Staff,{site}", index % 4)
        };
        let count = 2 + index(action, "pick") % 4;
        let lines: Vec<String> = (0..count).map(line).collect();
        let content = format!("userId,department,role,site\n{}\n", lines.join("\n"));
        let path = format!("/wellness/companies/{company}/employee-imports");
        let body = json!({"bytes": content.len(), "sha256": hex(content.as_bytes())});
        let reply = world.ask(label, &admin(company), Ask::with("POST", path, body).key(label)).await;
        let Some(url) = reply.body["upload"]["url"].as_str() else { return };
        let Some(id) = reply.body["importId"].as_str() else { return };
        let Some(key) = key_of_url(url, "uploads/") else {
            return world.violation(format!("{label}: no key in {url}"));
        };
        world.upload(label, &world.bucket("files"), key, content.as_bytes());
        lock(&self.imports).push((company.to_owned(), id.to_owned()));
    }
}

/// Each change has its events, with the ids of its item.
pub(super) fn check_events(world: &World) {
    published::check(world, "wellness", &["Activities"], events_of);
    let records = published::records(world, "Activities").into_iter();
    let records: BTreeMap<String, Value> = records.map(|one| (text(&one, "eventID").to_owned(), one)).collect();
    for event in world.stack.published() {
        let (id, data) = (text(&event["detail"], "id"), &event["detail"]["data"]);
        let Some(change) = records.get(id.split('-').next().unwrap_or(id)).map(|record| &record["dynamodb"]) else {
            continue;
        };
        let image = if change["NewImage"].is_object() { &change["NewImage"] } else { &change["OldImage"] };
        let ids = [attribute(image, "CompanyId"), stored::activity_of(image), stored::user_of(image)];
        if ids != ["companyId", "activityId", "userId"].map(|name| text(data, name)) {
            world.violation(format!("the event {event} has not the ids {ids:?} of its item"));
        }
    }
}

/// The events that a stream record must have.
fn events_of(record: &Value) -> Vec<&'static str> {
    let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
    let differs = |name: &str| attribute(old, name) != attribute(new, name);
    match (attribute(old, "Type"), attribute(new, "Type")) {
        ("", "Activity") => vec!["ActivityCreated"],
        ("Activity", "") => vec!["ActivityDeleted"],
        ("Activity", _) if differs("Version") && differs("Status") && attribute(new, "Status") == "cancelled" => {
            vec!["ActivityCancelled"]
        }
        ("Activity", _) if differs("Version") => vec!["ActivityChanged"],
        ("Activity", _) if differs("SectionId") => vec!["ActivityMoved"],
        ("Registration", "") => vec!["RegistrationDeleted"],
        (_, "Registration") => {
            let presence = match (attribute(old, "Absence"), attribute(new, "Absence")) {
                (before, after) if before == after && old.is_object() => None,
                ("waiting", "") => Some("EmployeeMovedUp"),
                (_, "") => Some("EmployeeEnrolled"),
                (_, "waiting") => Some("EmployeeWaiting"),
                _ => Some("EmployeeLeft"),
            };
            let completed = (!stored::is_completed(old) && stored::is_completed(new)).then_some("ActivityCompleted");
            let awards = stored::awards(new).len() - stored::awards(old).len();
            presence.into_iter().chain(completed).chain(std::iter::repeat_n("RewardAwarded", awards)).collect()
        }
        _ => Vec::new(),
    }
}

/// No response to a company has an activity of another one, or one of the names.
pub(super) fn check_walls(world: &World, history: &[Exchange], items: &[Value], names: &[&str]) {
    for exchange in history {
        let Some(company) = company_of(&exchange.caller) else { continue };
        world.check_refusal(exchange);
        let body = exchange.reply.body.to_string();
        let ids = stored::activities(items).filter(|(_, owner)| *owner != company).map(|(id, _)| id);
        let names = names.iter().copied().filter(|name| *name != company);
        let mut foreign = ids.chain(names).filter(|id| body.contains(id));
        if let Some(id) = foreign.find(|id| !exchange.ask.path.contains(id)) {
            world.violation(format!("{}: the response to {company} has {id}: {body}", exchange.label));
        }
    }
}

/// The points are the sum of the awards and corrections of the plan.
async fn check_points(world: &World, company: &str, user: &str, items: &[Value]) {
    for year in ["2031", "2032"] {
        let path = format!("/wellness/users/{user}/points?companyId={company}&planId={year}");
        let label = format!("points-{company}-{user}-{year}");
        let reply = world.ask(&label, &admin(company), Ask::of("GET", path)).await;
        let wanted = stored::points(items, company, user, year);
        let sum: i64 = each(&reply.body, "items").filter_map(|entry| entry["points"].as_i64()).sum();
        if reply.status == 200 && (reply.body["total"] != wanted || sum != wanted) {
            world.violation(format!("{user} of {company} has {} in {year}, but earned {wanted}", reply.body));
        }
    }
}

/// The report of the plan has the sums of the registrations.
async fn check_report(world: &World, company: &str, items: &[Value]) {
    let year = year();
    // The report is read with eventual consistency.
    sleep(Duration::from_mins(2)).await;
    let path = format!("/wellness/companies/{company}/plans/{year}/report?limit=100");
    let reply = world.ask(&format!("read-report-{company}"), &admin(company), Ask::of("GET", path)).await;
    let total = each(&reply.body, "items").filter(|row| row["activityId"].is_null());
    let mut sums = [0; 3];
    for department in total.flat_map(|row| each(row, "departments")) {
        for (sum, name) in sums.iter_mut().zip(["registered", "completed", "points"]) {
            *sum += number(department, name);
        }
    }
    let wanted = stored::report(items, company, &year);
    if sums != wanted {
        world.violation(format!("the report of {company} has the sums {sums:?} instead of {wanted:?}: {}", reply.body));
    }
}

/// The import has ended, and counts each line once.
async fn check_import(world: &World, company: &str, id: &str) {
    let path = format!("/wellness/companies/{company}/employee-imports/{id}");
    let reply = world.ask(&format!("import-{id}"), &operator(), Ask::of("GET", path)).await;
    let body = &reply.body;
    let sum: u64 = ["added", "changed", "unchanged", "rejected"].map(|name| number(body, name)).iter().sum();
    if body["status"] != "done" || sum != number(body, "read") {
        world.violation(format!("the import {id} of {company} is not complete: {body}"));
    }
}
