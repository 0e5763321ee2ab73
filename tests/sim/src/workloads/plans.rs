//! Wellness administration: plans, sections, parts, references, templates, files, exports and
//! erasures of companies with items of the same ids.
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    index, number, recent, text,
    wellness::{
        Activities, COMPANIES, Known, admin, check_events, employee, hex, key_of_url, manager, operator, other,
        plan_time,
    },
};
use crate::{
    draw::Draw,
    trace::lock,
    workloads::{Step, Workload},
    world::{Ask, Caller, Exchange, World},
};

mod authors;
mod histories;
mod lists;
mod owners;
mod references;
mod stored;

/// A company whose data nobody changes, unlike that of [`COMPANIES`]. It is exported, and erased in
/// some cases.
const QUIET: &str = "coda";
const ALL: [&str; 3] = ["acme", "bolt", QUIET];
const USERS: [&str; 4] = ["user-0", "user-1", "user-2", "user-3"];
const VENUES: [&str; 3] = ["v-0", "v-1", "v-2"];
/// Only requests that add references refer to these. The data of a reference is therefore that of
/// a record.
const COURSES: [&str; 2] = ["c-0", "c-1"];
/// Only templates refer to this venue.
const OF_TEMPLATES: &str = "v-9";
const SECTIONS: [&str; 3] = ["s-0", "s-1", "s-2"];
const PLANS: [&str; 3] = ["first", "second", "third"];
const PERIODS: [(&str, &str); 5] = [
    ("2031-01-01", "2031-06-30"),
    ("2031-07-01", "2031-12-31"),
    ("2031-04-01", "2031-09-30"),
    ("2032-01-01", "2032-12-31"),
    ("2032-12-01", "2033-01-31"),
];
const CONTENT: &[u8] = b"%PDF-1.7\ncontent of a guide\n";

/// A template that a client knows. `None` is the owner of a global template.
#[derive(Debug, Clone)]
struct Form {
    company: Option<String>,
    id: String,
    version: u64,
}

#[derive(Debug, Clone)]
struct Sent {
    company: String,
    id: String,
    key: String,
}

#[derive(Debug, Default)]
pub(super) struct Programs {
    activities: Activities,
    templates: Mutex<Vec<Form>>,
    files: Mutex<Vec<Sent>>,
    /// The items of the quiet company before the first step.
    quiet: Mutex<Vec<Value>>,
}

fn root_of(company: &str) -> String {
    format!("/wellness/companies/{company}")
}

fn in_days(days: u64) -> String {
    plan_time(SignedDuration::from_hours(24 * i64::try_from(days).unwrap_or_default()))
}

fn with_tag(tag: &str) -> Value {
    json!({"name": tag, "data": {"tag": tag}})
}

/// The administrator who changes an activity: one of the users in a third of the actions. An
/// erasure removes the user as the author.
fn author_of(action: &Value, company: &str) -> Caller {
    if number(action, "points") % 3 == 1 { manager(company, text(action, "user")) } else { admin(company) }
}

/// A section of this name.
fn section(tag: &str) -> Value {
    json!({"name": tag, "startDate": "2031-01-01", "endDate": "2032-12-31"})
}

impl Workload for Programs {
    fn stacks(&self) -> &'static [&'static str] {
        &["wellness"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let kind = draw.kind(
            "plan 6, section 6, activity 9, instantiate 5, move 8, status 6, end 4, part 9, remove-part 5, record 8, \
             update 9, replace 7, remove-record 7, attach 14, detach 7, template 6, change-template 6, \
             remove-template 4, file 5, send-again 2, remove-file 3, hire 7, remove 2, join 7, correct 4, erase 5, \
             export 3, export-quiet 2, erase-quiet 2, list 8, get 8, job 3, stranger 7, rivals 6, hurry 8",
        );
        let is_venue = draw.happens(500);
        json!({
            "do": kind, "company": COMPANIES[usize::from(draw.happens(250))], "user": draw.one(&USERS),
            "facet": if is_venue { "venues" } else { "courses" },
            "id": if is_venue { draw.one(&VENUES) } else { draw.one(&COURSES) },
            "venue": draw.one(&VENUES), "new-venue": draw.one(&VENUES), "section": draw.one(&SECTIONS),
            "plan": draw.one(&PLANS), "period": draw.one(&PERIODS), "pick": draw.below(1_000),
            "event": draw.happens(600), "capacity": draw.between(1, 2), "limited": draw.happens(600),
            "status": draw.one(&["active", "active", "draft", "cancelled"]), "days": draw.between(3, 300),
            "part": draw.one(&["detail", "goal", "rewards/Bonus", "groups"]), "based": draw.happens(600),
            "global": draw.happens(200), "bad": draw.happens(200), "unsent": draw.happens(100),
            "all": draw.happens(300), "department": draw.one(&["Sales", "Legal"]), "limit": draw.between(1, 4),
            "points": draw.between(1, 50),
        })
    }

    fn steps(&self, draw: &mut Draw) -> u64 {
        draw.between(10, 45)
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for company in ALL {
                self.found(world, company).await;
            }
            fail_events(world);
            // Jobs and indexes come to rest.
            sleep(Duration::from_mins(1)).await;
            *lock(&self.quiet) = owners::items_of(&world.items("Activities"), QUIET).into_iter().cloned().collect();
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let action = &step.action;
            match text(action, "do") {
                "activity" | "instantiate" => self.create(world, action, label).await,
                "status" | "end" | "part" | "remove-part" | "attach" | "detach" => {
                    self.change(world, action, label).await;
                }
                "template" | "change-template" | "remove-template" => self.form(world, action, label).await,
                "file" => self.upload(world, action, label).await,
                "send-again" | "remove-file" => self.change_file(world, action, label).await,
                "erase" | "export" | "export-quiet" | "erase-quiet" => operate(world, action, label).await,
                "list" => lists::read_some(world, action, label).await,
                "stranger" => self.trespass(world, action, label).await,
                "rivals" => self.rivals(world, action, label).await,
                "hurry" => self.hurry(world, action, label).await,
                _ => self.others(world, action, label).await,
            }
        })
    }

    fn finish<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Reads with eventual consistency see the last writes.
            sleep(Duration::from_mins(2)).await;
            for company in COMPANIES {
                let path = format!("{}/export", root_of(company));
                world.ask(&format!("last-export-{company}"), &operator(), Ask::of("POST", path)).await;
            }
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let items = world.items("Activities");
            owners::check_walls(world, history, &items);
            let is_allowed = |one: &&Exchange| !world.is_trespass(one);
            let history: &[Exchange] = &history.iter().filter(is_allowed).cloned().collect::<Vec<_>>();
            stored::check(world, history, &items);
            super::wellness::stored::check_places(world, &items);
            references::check(world, history, &items);
            histories::check(world, history, &items);
            authors::check(world, history, &items);
            check_events(world);
            owners::check_users(world, history, &items).await;
            owners::check_exports(world, &items).await;
            let quiet = lock(&self.quiet).clone();
            owners::check_quiet(world, history, &items, &quiet).await;
            lists::check(world, &items).await;
        })
    }
}

impl Programs {
    async fn found(&self, world: &World, company: &str) {
        let (caller, root) = (admin(company), root_of(company));
        let label = |what: &str| format!("first-{company}-{what}");
        let mut asks = Vec::new();
        for user in &USERS[..3] {
            let body = json!({"role": "Staff", "department": "Sales", "name": format!("{company} {user}")});
            asks.push((*user, Ask::with("PUT", format!("{root}/employees/{user}"), body)));
        }
        for section in &SECTIONS[..2] {
            let body = self::section(&format!("{company} {section}"));
            asks.push((*section, Ask::with("PUT", format!("{root}/sections/{section}"), body)));
        }
        let records = [("venues", "v-0"), ("venues", "v-1"), ("venues", OF_TEMPLATES), ("courses", "c-0")];
        for (facet, id) in records {
            let body = with_tag(&format!("{company} {}", label(id)));
            asks.push((id, Ask::with("PUT", format!("{root}/references/{facet}/{id}"), body)));
        }
        let body = json!({"name": format!("{company} plan"), "startDate": "2031-01-01", "endDate": "2031-06-30"});
        asks.push(("plan", Ask::with("PUT", format!("{root}/plans/first"), body)));
        for (what, ask) in asks {
            world.ask(&label(what), &caller, ask).await;
        }
        for (is_event, what) in [(true, "event"), (false, "challenge")] {
            let action = json!({"company": company, "event": is_event, "capacity": 1, "limited": true,
                "status": "active", "days": 40, "venue": "v-0", "section": "s-0", "all": true});
            self.create(world, &action, &label(what)).await;
        }
        let action = json!({"do": "template", "company": company});
        self.form(world, &action, &label("template")).await;
        let action = json!({"company": company});
        self.upload(world, &action, &label("file")).await;
        let attach = json!({"do": "attach", "company": company, "facet": "courses", "id": "c-0"});
        self.change(world, &attach, &label("attach")).await;
        for user in &USERS[..2] {
            // The event has one seat, and the second employee waits.
            let join = json!({"do": "join", "company": company, "user": user, "pick": 1});
            self.others(world, &join, &label(&format!("join-{user}"))).await;
            let correct = json!({"do": "correct", "company": company, "user": user, "points": 7});
            self.others(world, &correct, &label(&format!("correct-{user}"))).await;
        }
    }

    async fn create(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let tag = format!("{company} {label}");
        let mut body = json!({"startDate": in_days(0), "endDate": in_days(number(action, "days"))});
        if action["do"] == "instantiate" {
            let is_own = |form: &Form| form.company.as_deref().is_none_or(|owner| owner == company);
            let own: Vec<Form> = lock(&self.templates).iter().filter(|form| is_own(form)).cloned().collect();
            let Some(form) = recent(&own, index(action, "pick"), 4) else { return };
            body["templateId"] = form.id.into();
            body["name"] = tag.into();
        } else {
            let is_event = action["event"] == true;
            body["name"] = tag.clone().into();
            body["type"] = if is_event { "event" } else { "challenge" }.into();
            body["subType"] = "Fitness".into();
            body["status"] = action["status"].clone();
            body["detail"] = json!({"tag": tag});
            body["references"] = json!([{"facet": "venues", "id": action["venue"], "data": {"tag": tag}}]);
            if is_event && action["limited"] == true {
                body["capacity"] = action["capacity"].clone();
            }
            if action["all"] == true {
                body["sectionId"] = action["section"].clone();
            }
        }
        let ask = Ask::with("POST", format!("{}/activities", root_of(company)), body).key(label);
        let reply = world.ask(label, &author_of(action, company), ask).await;
        self.activities.add(company, &reply.body);
    }

    /// Changes an activity, one of its parts, or one of its references.
    async fn change(&self, world: &World, action: &Value, label: &str) {
        let Some(Known { company, id, version }) = self.activities.picked(action) else { return };
        let tag = format!("{company} {label}");
        let path = format!("{}/activities/{id}", root_of(&company));
        let part = text(action, "part");
        let file = (action["all"] == true).then(|| self.file(&company, index(action, "pick"))).flatten();
        let reference = match file {
            Some(file) => format!("{path}/references/files/{}", file.id),
            None => format!("{path}/references/{}/{}", text(action, "facet"), text(action, "id")),
        };
        let is_based = action["based"] == true;
        let query = if is_based { format!("?version={version}") } else { String::new() };
        let ask = match text(action, "do") {
            "status" => Ask::with("PATCH", path.clone(), json!({"version": version, "status": action["status"]})),
            "end" => {
                let end = in_days(number(action, "days"));
                Ask::with("PATCH", path.clone(), json!({"version": version, "endDate": end}))
            }
            "part" => {
                let mut body = match part {
                    "detail" => json!({"detail": {"tag": tag}}),
                    "goal" => json!({"type": "steps", "parameters": {"target": 1_000, "tag": tag}}),
                    "groups" => json!({"type": "team", "rules": {"tag": tag}}),
                    _ => json!({"name": tag, "amount": action["points"]}),
                };
                body["version"] = version.into();
                Ask::with("PUT", format!("{path}/{part}"), body)
            }
            "remove-part" => Ask::of("DELETE", format!("{path}/{part}{query}")),
            "attach" if is_based => Ask::with("PUT", reference, json!({"version": version})),
            "attach" => Ask::of("PUT", reference),
            _ => Ask::of("DELETE", format!("{reference}{query}")),
        };
        let is_removal = ask.method == "DELETE";
        let reply = world.ask(label, &author_of(action, &company), ask).await;
        self.activities.learn(&id, &reply.body["version"]);
        if reply.status == 412 || is_removal {
            let read = world.ask(&format!("{label}v"), &admin(&company), Ask::of("GET", path)).await;
            self.activities.learn(&id, &read.body["version"]);
        }
    }

    /// Creates, changes or removes a template of the company, or a global one.
    async fn form(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let owner = (action["global"] != true).then(|| company.to_owned());
        let path = owner
            .as_deref()
            .map_or_else(|| "/wellness/templates".to_owned(), |own| format!("{}/templates", root_of(own)));
        let caller = if owner.is_some() { admin(company) } else { operator() };
        let tag = format!("{} {label}", owner.as_deref().unwrap_or("global"));
        if action["do"] == "template" {
            let references = json!([{"facet": "venues", "id": OF_TEMPLATES, "data": {"tag": tag}}]);
            let body = json!({"name": tag, "type": "event", "subType": "Fitness", "detail": {"tag": tag},
                "references": references});
            let reply = world.ask(label, &caller, Ask::with("POST", path, body).key(label)).await;
            if let Some(id) = reply.body["templateId"].as_str() {
                lock(&self.templates).push(Form { company: owner, id: id.to_owned(), version: 1 });
            }
            return;
        }
        let Some(Form { id, version, .. }) = self.template(owner.as_deref(), index(action, "pick")) else { return };
        let path = format!("{path}/{id}");
        let ask = if action["do"] == "remove-template" {
            Ask::of("DELETE", path)
        } else {
            let mut body = json!({"name": tag});
            if action["based"] == true {
                body["version"] = version.into();
            }
            Ask::with("PATCH", path, body)
        };
        let reply = world.ask(label, &caller, ask).await;
        if let Some(version) = reply.body["version"].as_u64()
            && let Some(form) = lock(&self.templates).iter_mut().find(|form| form.id == id)
        {
            form.version = form.version.max(version);
        }
    }

    fn template(&self, owner: Option<&str>, pick: usize) -> Option<Form> {
        let is_own = |form: &&Form| form.company.as_deref() == owner;
        recent(&lock(&self.templates).iter().filter(is_own).cloned().collect::<Vec<_>>(), pick, 4)
    }

    fn file(&self, company: &str, pick: usize) -> Option<Sent> {
        let own: Vec<Sent> = lock(&self.files).iter().filter(|file| file.company == company).cloned().collect();
        recent(&own, pick, 4)
    }

    /// Creates a file and uploads its content, which may be of another type.
    async fn upload(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let content = if action["bad"] == true { b"no PDF file".as_slice() } else { CONTENT };
        let body = json!({"name": format!("{company} {label}"), "contentType": "application/pdf",
            "bytes": content.len(), "sha256": hex(content)});
        let ask = Ask::with("POST", format!("{}/files", root_of(company)), body).key(label);
        let reply = world.ask(label, &admin(company), ask).await;
        let Some(id) = reply.body["fileId"].as_str() else { return };
        let url = text(&reply.body["upload"], "url");
        let Some(key) = key_of_url(url, "uploads/") else {
            return world.violation(format!("{label}: no key in {url}"));
        };
        let sent = Sent { company: company.to_owned(), id: id.to_owned(), key: key.to_owned() };
        if action["unsent"] != true {
            world.upload(label, &world.bucket("files"), key, content);
        }
        lock(&self.files).push(sent);
    }

    async fn change_file(&self, world: &World, action: &Value, label: &str) {
        let company = text(action, "company");
        let Some(file) = self.file(company, index(action, "pick")) else { return };
        if action["do"] == "send-again" {
            // The presigned request is valid for 15 minutes, also after the removal of the file.
            return world.upload(label, &world.bucket("files"), &file.key, CONTENT);
        }
        let path = format!("{}/references/files/{}", root_of(company), file.id);
        world.ask(label, &admin(company), Ask::of("DELETE", path)).await;
    }

    async fn others(&self, world: &World, action: &Value, label: &str) {
        let (company, user) = (text(action, "company"), text(action, "user"));
        let (caller, root) = (admin(company), root_of(company));
        let tag = format!("{company} {label}");
        let record = format!("{root}/references/{}/{}", text(action, "facet"), text(action, "id"));
        let activity = self.activities.picked(action);
        let ask = match text(action, "do") {
            "plan" => {
                let (first, last) = (&action["period"][0], &action["period"][1]);
                let body = json!({"name": tag, "startDate": first, "endDate": last});
                Ask::with("PUT", format!("{root}/plans/{}", text(action, "plan")), body)
            }
            "section" => Ask::with("PUT", format!("{root}/sections/{}", text(action, "section")), section(&tag)),
            "move" => {
                let Some(known) = activity else { return };
                let section = if action["all"] == true { Value::Null } else { action["section"].clone() };
                let path = format!("{root}/activities/{}/section", known.id);
                let ask = Ask::with("PUT", path, json!({"sectionId": section}));
                world.ask(label, &author_of(action, company), ask).await;
                return;
            }
            "record" => Ask::with("PUT", record, with_tag(&tag)),
            "update" => Ask::with("PATCH", record, json!({"data": {"tag": tag}})),
            "replace" => {
                let (old, new) = (text(action, "venue"), text(action, "new-venue"));
                if old == new {
                    return;
                }
                let path = format!("{root}/references/venues/{old}/replacement");
                let ask = Ask::with("POST", path, json!({"replacementId": new, "data": {"tag": tag}}));
                if action["based"] == true { ask.key(label) } else { ask }
            }
            "remove-record" => Ask::of("DELETE", record),
            "hire" => {
                let body = json!({"role": "Staff", "department": action["department"], "name": tag});
                Ask::with("PUT", format!("{root}/employees/{user}"), body)
            }
            "remove" => Ask::of("DELETE", format!("{root}/employees/{user}")),
            "join" => {
                let Some(known) = activity else { return };
                let path = format!("/wellness/users/{user}/registrations/{}?companyId={company}", known.id);
                Ask::of("PUT", path)
            }
            "correct" => {
                let body = json!({"planId": "2032", "amount": action["points"], "reason": tag});
                Ask::with("POST", format!("/wellness/users/{user}/points?companyId={company}"), body).key(label)
            }
            "job" => {
                let id = match number(action, "pick") % 4 {
                    0 => format!("VenueId-{}", text(action, "venue")),
                    1 => format!("ExportId-{company}"),
                    2 => format!("EmployeeErasureId-{user}"),
                    _ => activity.map(|known| format!("EnrolmentId-{}", known.id)).unwrap_or_default(),
                };
                let path = format!("{root}/jobs/{id}");
                if action["all"] == true { Ask::of("POST", format!("{path}/retry")) } else { Ask::of("GET", path) }
            }
            _ => return self.get(world, action, label).await,
        };
        world.ask(label, &caller, ask).await;
    }

    /// An administrator adds a reference, and changes or removes its record at once. The index does
    /// not show the reference yet.
    async fn hurry(&self, world: &World, action: &Value, label: &str) {
        let Some(known) = self.activities.picked(action) else { return };
        let (caller, root) = (admin(&known.company), root_of(&known.company));
        let of = format!("references/{}/{}", text(action, "facet"), text(action, "id"));
        let record = format!("{root}/{of}");
        let tag = |suffix: &str| format!("{} {label}{suffix}", known.company);
        let put = |suffix: &str| Ask::with("PUT", record.as_str(), with_tag(&tag(suffix)));
        world.ask(&format!("{label}a"), &caller, put("a")).await;
        let attach = format!("{root}/activities/{}/{of}", known.id);
        world.ask(&format!("{label}b"), &caller, Ask::of("PUT", attach)).await;
        let last = match number(action, "pick") % 3 {
            0 => Ask::with("PATCH", record.as_str(), json!({"data": {"tag": tag("c")}})),
            1 => Ask::of("DELETE", record.as_str()),
            _ => {
                world.ask(&format!("{label}c"), &caller, put("c")).await;
                Ask::of("DELETE", record.as_str())
            }
        };
        world.ask(label, &caller, last).await;
    }

    /// Two administrators replace the same record or section at the same time, or move the same
    /// activity, and one of them does it again.
    async fn rivals(&self, world: &World, action: &Value, label: &str) {
        let (company, caller) = (text(action, "company"), admin(text(action, "company")));
        let (root, known) = (root_of(company), self.activities.picked(action));
        let put = |suffix: &str, number: usize| {
            let tag = format!("{company} {label}{suffix}");
            if action["limited"] == true {
                let path = format!("{root}/references/{}/{}", text(action, "facet"), text(action, "id"));
                return Ask::with("PUT", path, with_tag(&tag));
            }
            if let Some(known) = known.as_ref().filter(|_| action["based"] == true) {
                let path = format!("{root}/activities/{}/section", known.id);
                return Ask::with("PUT", path, json!({"sectionId": SECTIONS[number]}));
            }
            Ask::with("PUT", format!("{root}/sections/{}", text(action, "section")), section(&tag))
        };
        let (first, second) = (format!("{label}a"), format!("{label}b"));
        let twice = async {
            world.ask(&second, &caller, put("b", 1)).await;
            world.ask(label, &caller, put("c", 0)).await;
        };
        futures::join!(world.ask(&first, &caller, put("a", 1)), twice);
    }

    async fn get(&self, world: &World, action: &Value, label: &str) {
        let (company, user) = (text(action, "company"), text(action, "user"));
        let root = root_of(company);
        let (caller, path) = match number(action, "pick") % 7 {
            0 => (admin(company), format!("{root}/plans/{}", text(action, "plan"))),
            1 | 2 => {
                let record = format!("{root}/references/{}/{}", text(action, "facet"), text(action, "id"));
                (employee(company, user), record)
            }
            3 => {
                let Some(form) = self.template(Some(company), index(action, "pick") / 7) else { return };
                (admin(company), format!("{root}/templates/{}", form.id))
            }
            4 => {
                let Some(file) = self.file(company, index(action, "pick") / 7) else { return };
                (admin(company), format!("{root}/references/files/{}", file.id))
            }
            5 if action["all"] == true => (operator(), format!("{root}/export")),
            5 => (operator(), format!("{root}/employees/{user}/erasure")),
            _ => {
                let Some(known) = self.activities.picked(action) else { return };
                let reply = format!("{root}/activities/{}", known.id);
                let read = world.ask(label, &admin(company), Ask::of("GET", reply)).await;
                return self.activities.learn(&known.id, &read.body["version"]);
            }
        };
        world.ask(label, &caller, Ask::of("GET", path)).await;
    }

    /// Requests with the ids of one company and the token of the other one, or without the scope of
    /// an operator.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let Some(Known { company, id, version }) = self.activities.picked(action) else { return };
        let (user, stranger) = (text(action, "user"), other(&company));
        let (root, theirs) = (root_of(&company), root_of(stranger));
        let (facet, of) = (text(action, "facet"), text(action, "id"));
        let form = lock(&self.templates).iter().find(|form| form.company.as_deref() == Some(&company)).cloned();
        let form = form.map(|form| form.id).unwrap_or_default();
        let file = self.file(&company, 0).map(|file| file.id).unwrap_or_default();
        let ask = match number(action, "pick") % 18 {
            0 => Ask::of("GET", format!("{root}/references/{facet}/{of}")),
            1 => Ask::with("PUT", format!("{root}/references/{facet}/{of}"), with_tag("stolen")),
            2 => Ask::with("PATCH", format!("{root}/references/{facet}/{of}"), json!({"data": {"tag": "stolen"}})),
            3 => Ask::of("DELETE", format!("{root}/references/{facet}/{of}")),
            4 => {
                let body = json!({"replacementId": "v-x", "data": {"tag": "stolen"}});
                Ask::with("POST", format!("{root}/references/venues/{}/replacement", text(action, "venue")), body)
            }
            // The right company, but an activity of the other one.
            5 => Ask::of("PUT", format!("{theirs}/activities/{id}/references/venues/v-0")),
            6 => Ask::of("DELETE", format!("{theirs}/activities/{id}/references/venues/v-0")),
            7 => Ask::with("PUT", format!("{theirs}/activities/{id}/section"), json!({"sectionId": null})),
            8 => {
                let body = json!({"version": version, "detail": {"tag": "stolen"}});
                Ask::with("PUT", format!("{theirs}/activities/{id}/detail"), body)
            }
            9 => Ask::of("DELETE", format!("{theirs}/activities/{id}/detail")),
            10 => Ask::of("GET", format!("{theirs}/templates/{form}")),
            11 => Ask::with("PATCH", format!("{theirs}/templates/{form}"), json!({"name": "stolen"})),
            12 => Ask::of("DELETE", format!("{theirs}/templates/{form}")),
            13 => Ask::of("GET", format!("{theirs}/references/files/{file}")),
            14 => Ask::with("PUT", format!("{root}/sections/{}", text(action, "section")), section("stolen")),
            // Only operators erase and export, also in their own company.
            15 => Ask::of("POST", format!("{theirs}/employees/{user}/erasure")),
            16 => Ask::of("POST", format!("{theirs}/export")),
            _ => Ask::of("GET", format!("{root}/employees?limit=2")),
        };
        world.trespass(label, &admin(stranger), ask, &[403, 404]).await;
    }
}

/// Stores failed events of the quiet company, and of others.
fn fail_events(world: &World) {
    let change = |company: &str| {
        json!({"dynamodb": {"Keys": {"PK": {"S": format!("CompanyId-{company}#Employees#0")},
            "SK": {"S": "UserId-user-9"}}}})
    };
    for (name, companies) in [("one", [QUIET].as_slice()), ("both", &[QUIET, "acme"]), ("none", &["acme"])] {
        let payload = json!({"Records": companies.iter().map(|company| change(company)).collect::<Vec<_>>()});
        let document = json!({"version": "1.0", "payload": payload.to_string()}).to_string();
        let key = format!("aws/lambda/mapping/{name}");
        if let Err(error) = world.stack.put_object(&world.bucket("failedchanges"), &key, document.as_bytes()) {
            world.violation(format!("{key} can't be stored: {error}"));
        }
    }
}

async fn operate(world: &World, action: &Value, label: &str) {
    let (company, user) = (text(action, "company"), text(action, "user"));
    let path = match text(action, "do") {
        "erase" => format!("{}/employees/{user}/erasure", root_of(company)),
        "export" => format!("{}/export", root_of(company)),
        "export-quiet" => format!("{}/export", root_of(QUIET)),
        _ => format!("{}/erasure", root_of(QUIET)),
    };
    world.ask(label, &operator(), Ask::of("POST", path)).await;
}
