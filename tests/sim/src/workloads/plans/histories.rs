//! The histories of single items are linearizable: records, sections, the parts, references and
//! places of activities, templates, plans and employees.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{after, attribute, each, number, of_type, text},
    COURSES, PLANS, QUIET, VENUES, stored,
};
use crate::{
    linear::{Access, Choices, Effect, Histories, Register},
    world::{Exchange, World},
};

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    // The quiet company has rules of its own.
    let is_busy = |one: &&Exchange| after(&one.ask.path, "/companies/") != Some(QUIET);
    let history: &[Exchange] = &history.iter().filter(is_busy).cloned().collect::<Vec<_>>();
    let mut registers = Histories::<Register>::new();
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        add(&mut registers, exchange);
    }
    add_jobs(&mut registers, history);
    let stored = stored::registers(items);
    for name in registers.0.keys().cloned().collect::<Vec<_>>() {
        registers.end(&name, Access::Show(stored.get(&name).cloned()));
    }
    // The first detail of an activity from a template is unknown.
    let from_template = history.iter().filter(|one| !one.ask.body["templateId"].is_null());
    for id in from_template.filter_map(|one| one.reply.body["activityId"].as_str()) {
        registers.0.remove(&format!("part {id} detail"));
    }
    registers.check(world);
    check_versions(world, history, items);
    check_templates(world, history, items);
    check_plans(world, history, items);
}

fn tag(data: &Value) -> String {
    text(data, "tag").to_owned()
}

fn record(body: &Value) -> String {
    format!("{}|{}", text(body, "name"), tag(&body["data"]))
}

/// The text of a part in a request.
fn part(name: &str, body: &Value) -> String {
    match name {
        "detail" => tag(&body["detail"]),
        "goal" => tag(&body["parameters"]),
        "groups" => tag(&body["rules"]),
        _ => text(body, "name").to_owned(),
    }
}

/// The venues and courses whose references have a register.
fn has_register(facet: &str, id: &str) -> bool {
    facet == "venues" && VENUES.contains(&id) || facet == "courses" && COURSES.contains(&id)
}

/// The segments of a path below `/wellness/`.
fn segments(exchange: &Exchange) -> Vec<&str> {
    let path = exchange.ask.path.split('?').next().unwrap_or_default();
    path.trim_start_matches("/wellness/").split('/').collect()
}

fn add(all: &mut Histories<Register>, exchange: &Exchange) {
    let (method, body, status) = (exchange.ask.method, &exchange.ask.body, exchange.reply.status);
    match (method, segments(exchange).as_slice()) {
        ("PUT", ["companies", company, "sections", id]) => {
            all.put(&format!("section {company} {id}"), exchange, text(body, "name").to_owned());
        }
        (_, ["companies", company, "references", facet, id]) if has_register(facet, id) => {
            let name = format!("record {company} {facet}/{id}");
            match method {
                "PUT" => all.put(&name, exchange, record(body)),
                "DELETE" => all.delete(&name, exchange, 204, Access::Remove),
                "GET" => all.get(&name, exchange, record),
                _ => {
                    let change = Access::Change(tag(&body["data"]));
                    let outcome = match status {
                        202 => Some(change.clone()),
                        404 => Some(Access::Show(None)),
                        _ => None,
                    };
                    all.write(&name, exchange, outcome, Some(change));
                }
            }
        }
        (_, ["companies", company, "employees", user]) => {
            let name = format!("employee {company} {user}");
            match method {
                "PUT" => {
                    let [role, department, full] = ["role", "department", "name"].map(|member| text(body, member));
                    all.put(&name, exchange, format!("{role}|{department}|{full}"));
                }
                "DELETE" => all.delete(&name, exchange, 202, Access::Clear),
                _ => {}
            }
        }
        ("POST", ["companies", company, "employees", user, "erasure"]) => {
            let outcome = (status == 202).then_some(Access::Clear);
            all.write(&format!("employee {company} {user}"), exchange, outcome, Some(Access::Clear));
        }
        ("POST", ["companies", _, "activities"]) => add_activity(all, exchange),
        ("PATCH", ["companies", _, "activities", id]) => {
            for (name, member) in [("status", "status"), ("end", "endDate")] {
                let Some(new) = body[member].as_str() else { continue };
                all.put(&format!("{name} {id}"), exchange, new.trim_end_matches('Z').to_owned());
            }
        }
        ("GET", ["companies", _, "activities", id]) if status == 200 => add_shown(all, id, exchange),
        (_, ["companies", _, "activities", id, "section"]) => {
            all.put(&format!("place {id}"), exchange, text(body, "sectionId").to_owned());
        }
        (_, ["companies", _, "activities", id, "references", facet, of]) if has_register(facet, of) => {
            let name = format!("reference {id} {facet}/{of}");
            match method {
                "PUT" => {
                    // An attempt without a response may have created a reference that a job
                    // replaces.
                    all.0.entry(name.clone()).or_default();
                    if matches!(status, 200 | 201) {
                        all.add(&name, exchange, Access::Set(tag(&exchange.reply.body["data"])));
                    }
                    for lost in exchange.replies.iter().filter(|one| matches!(one.status, 200 | 201)) {
                        all.possible(&name, exchange.begin, Access::Set(tag(&lost.body["data"])));
                    }
                }
                "DELETE" => all.delete(&name, exchange, 204, Access::Remove),
                _ => {}
            }
        }
        (_, ["companies", _, "activities", id, rest @ ..]) => {
            let kind = rest.join("/");
            let name = format!("part {id} {kind}");
            match (method, kind.as_str()) {
                ("PUT", "detail" | "goal" | "groups" | "rewards/Bonus") => all.put(&name, exchange, part(&kind, body)),
                ("DELETE", "detail" | "goal" | "groups" | "rewards/Bonus") => {
                    all.delete(&name, exchange, 204, Access::Remove);
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn add_activity(all: &mut Histories<Register>, exchange: &Exchange) {
    let (body, reply) = (&exchange.ask.body, &exchange.reply.body);
    let Some(id) = reply["activityId"].as_str() else { return };
    let mut set = |name: String, value: String| all.add(&name, exchange, Access::Set(value));
    set(format!("place {id}"), text(body, "sectionId").to_owned());
    set(format!("status {id}"), text(reply, "status").to_owned());
    set(format!("end {id}"), end(reply));
    set(format!("part {id} detail"), part("detail", body));
    for reference in each(body, "references") {
        let name = format!("reference {id} {}/{}", text(reference, "facet"), text(reference, "id"));
        set(name, tag(&reference["data"]));
    }
}

fn add_shown(all: &mut Histories<Register>, id: &str, exchange: &Exchange) {
    let body = &exchange.reply.body;
    let mut show = |name: String, shown: Option<String>| all.add(&name, exchange, Access::Show(shown));
    show(format!("place {id}"), Some(text(body, "sectionId").to_owned()));
    show(format!("end {id}"), Some(end(body)));
    if body["status"] != "completed" {
        show(format!("status {id}"), Some(text(body, "status").to_owned()));
    }
    for (name, data) in
        [("detail", &body["detail"]), ("goal", &body["goal"]["parameters"]), ("groups", &body["groups"]["rules"])]
    {
        show(format!("part {id} {name}"), (!body[name].is_null()).then(|| tag(data)));
    }
    let bonus = each(body, "rewards").find(|reward| reward["kind"] == "Bonus");
    show(format!("part {id} rewards/Bonus"), bonus.map(|reward| text(reward, "name").to_owned()));
    let known = VENUES.map(|of| ("venues", of)).into_iter().chain(COURSES.map(|of| ("courses", of)));
    for (facet, of) in known {
        let found = each(body, "references").find(|one| one["facet"] == facet && one["id"] == of);
        show(format!("reference {id} {facet}/{of}"), found.map(|one| tag(&one["data"])));
    }
}

/// Adds what the jobs of updates and replacements may do to references, and the attempts to add
/// references whose data is unknown.
fn add_jobs(all: &mut Histories<Register>, history: &[Exchange]) {
    let names: Vec<String> = all.0.keys().filter(|name| name.starts_with("reference ")).cloned().collect();
    let owners = owners(history);
    let own = |company: &str, of: String| -> Vec<&String> {
        let is_own = |name: &&String| {
            let mut words = name.split(' ').skip(1);
            let owner = words.next().and_then(|id| owners.get(id));
            owner.is_some_and(|owner| *owner == company) && words.next() == Some(of.as_str())
        };
        names.iter().filter(is_own).collect()
    };
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let (begin, body) = (exchange.begin, &exchange.ask.body);
        let data = tag(&body["data"]);
        match (exchange.ask.method, segments(exchange).as_slice()) {
            ("PATCH", ["companies", company, "references", facet, id]) => {
                for name in own(company, format!("{facet}/{id}")) {
                    all.possible(name, begin, Access::Change(data.clone()));
                }
            }
            ("POST", ["companies", company, "references", "venues", id, "replacement"]) => {
                for name in own(company, format!("venues/{id}")) {
                    all.possible(name, begin, Access::Remove);
                }
                for name in own(company, format!("venues/{}", text(body, "replacementId"))) {
                    all.possible(name, begin, Access::Set(data.clone()));
                }
            }
            ("PUT", ["companies", company, "activities", id, "references", facet, of]) if exchange.attempts > 1 => {
                // All data that requests have given to the record.
                let path = format!("/wellness/companies/{company}/references/{facet}/{of}");
                for write in history.iter().filter(|one| one.ask.path == path && !one.ask.body.is_null()) {
                    let set = Access::Set(tag(&write.ask.body["data"]));
                    all.possible(&format!("reference {id} {facet}/{of}"), begin, set);
                }
            }
            _ => {}
        }
    }
}

/// The end date of an activity in a response, as stored.
fn end(body: &Value) -> String {
    text(body, "endDate").trim_end_matches('Z').to_owned()
}

/// The companies of the activities.
pub(super) fn owners(history: &[Exchange]) -> BTreeMap<&str, &str> {
    let created = history.iter().filter(|one| one.ask.method == "POST" && one.ask.path.ends_with("/activities"));
    created
        .filter_map(|one| Some((one.reply.body["activityId"].as_str()?, after(&one.ask.path, "/companies/")?)))
        .collect()
}

/// Each version of an activity has one successor, and the stored version is the newest one.
fn check_versions(world: &World, history: &[Exchange], items: &[Value]) {
    let mut changes = BTreeMap::<(&str, u64), Vec<&str>>::new();
    let mut newest = BTreeMap::<&str, u64>::new();
    for exchange in history.iter().filter(|one| matches!(one.reply.status, 200 | 201)) {
        let (path, reply) = (&exchange.ask.path, &exchange.reply);
        let Some(id) = after(path, "/activities/") else { continue };
        if path.ends_with("/section") || exchange.ask.method == "GET" {
            continue;
        }
        let Some(version) = reply.body["version"].as_u64() else { continue };
        // A repeated request can find its own effect.
        let is_change = match number(&exchange.ask.body, "version") {
            0 => reply.status == 201 && exchange.attempts == 1,
            base => base != version,
        };
        let base = number(&exchange.ask.body, "version");
        if base > 0 && base != version && base + 1 != version {
            world.violation(format!("{}: a change of version {base:?} gives {version}", exchange.label));
        }
        if is_change {
            changes.entry((id, version)).or_default().push(&exchange.label);
        }
        let known = newest.entry(id).or_default();
        *known = version.max(*known);
    }
    for ((id, version), labels) in changes.into_iter().filter(|(_, labels)| labels.len() > 1) {
        world.violation(format!("version {version} of the activity {id} is the result of {labels:?}"));
    }
    for (id, version) in newest {
        let stored = stored::activity(items, id).and_then(|one| attribute(one, "Version").parse::<u64>().ok());
        if stored.is_some_and(|stored| stored < version) {
            world.violation(format!("the activity {id} has the version {stored:?} after {version}"));
        }
    }
}

/// A template: its version and its name.
struct Form;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum FormOperation {
    Create(String),
    /// A change to a name, based on a version or on none, with the new version.
    Change(String, Option<u64>, Option<u64>),
    Remove,
    Show(Option<(u64, String)>),
    /// The template has another version.
    Differs(u64),
}

impl Choices for Form {
    type State = Option<(u64, String)>;
    type Operation = FormOperation;

    fn init() -> Self::State {
        None
    }

    fn after(operation: &FormOperation, state: &Self::State) -> Option<Self::State> {
        match (operation, state) {
            (FormOperation::Create(name), None) => Some(Some((1, name.clone()))),
            (FormOperation::Change(name, base, new), Some((version, old))) => {
                let next = if name == old { *version } else { version + 1 };
                let is_possible = base.is_none_or(|base| base == *version) && new.is_none_or(|new| new == next);
                is_possible.then(|| Some((next, name.clone())))
            }
            (FormOperation::Remove, Some(_)) => Some(None),
            (FormOperation::Show(shown), _) => (shown == state).then(|| state.clone()),
            (FormOperation::Differs(base), Some((version, _))) => (base != version).then(|| state.clone()),
            _ => None,
        }
    }
}

/// The history of each template is linearizable.
fn check_templates(world: &World, history: &[Exchange], items: &[Value]) {
    let mut all = Histories::<Form>::new();
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let (asked, reply, path) = (&exchange.ask.body, &exchange.reply, &exchange.ask.path);
        let (new, base) = (text(asked, "name").to_owned(), asked["version"].as_u64());
        let created = reply.body["templateId"].as_str().filter(|_| exchange.ask.method == "POST");
        let id = after(path, "/templates/").or_else(|| created.filter(|_| path.ends_with("/templates")));
        let Some(id) = id else { continue };
        let attempt = match exchange.ask.method {
            "PATCH" => Some(FormOperation::Change(new.clone(), base, None)),
            "DELETE" => Some(FormOperation::Remove),
            _ => None,
        };
        let operation = match (exchange.ask.method, reply.status) {
            ("POST", 201) => Some(FormOperation::Create(new)),
            ("PATCH", 200) => Some(FormOperation::Change(new, base, reply.body["version"].as_u64())),
            ("PATCH", 412) => base.map(FormOperation::Differs),
            ("DELETE", 204) => Some(FormOperation::Remove),
            ("GET", 200) => {
                let shown = (number(&reply.body, "version"), text(&reply.body, "name").to_owned());
                Some(FormOperation::Show(Some(shown)))
            }
            ("PATCH" | "DELETE" | "GET", 404) => Some(FormOperation::Show(None)),
            _ => None,
        };
        all.write(&format!("template {id}"), exchange, operation, attempt);
    }
    // Others are templates in requests of the other company.
    all.0.retain(|_, own| own.iter().any(|one| matches!(one.2, Effect::Certain(FormOperation::Create(_)))));
    for name in all.0.keys().cloned().collect::<Vec<_>>() {
        let id = name.trim_start_matches("template ");
        let stored = of_type(items, "Template").find(|one| attribute(one, "SK").ends_with(id));
        let stored = stored.map(|one| {
            let content: Value = serde_json::from_str(attribute(one, "Content")).unwrap_or_default();
            (attribute(one, "Version").parse().unwrap_or_default(), text(&content, "name").to_owned())
        });
        all.end(&name, FormOperation::Show(stored));
    }
    all.check(world);
}

/// The plans of a company: name, first and last day by id.
struct Plans;

type Plan = (String, String, String);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PlanOperation {
    Put(String, Plan),
    /// The plan overlaps another one.
    Overlaps(String, Plan),
    Show(String, Option<Plan>),
    End(BTreeMap<String, Plan>),
}

fn overlaps(plans: &BTreeMap<String, Plan>, id: &str, (_, first, last): &Plan) -> bool {
    plans.iter().any(|(other, (_, start, end))| other != id && first <= end && start <= last)
}

impl Choices for Plans {
    type State = BTreeMap<String, Plan>;
    type Operation = PlanOperation;

    fn init() -> Self::State {
        BTreeMap::new()
    }

    fn after(operation: &PlanOperation, state: &Self::State) -> Option<Self::State> {
        let is_possible = match operation {
            PlanOperation::Put(id, plan) => !overlaps(state, id, plan),
            PlanOperation::Overlaps(id, plan) => overlaps(state, id, plan),
            PlanOperation::Show(id, shown) => state.get(id) == shown.as_ref(),
            PlanOperation::End(all) => all == state,
        };
        let mut next = state.clone();
        if let PlanOperation::Put(id, plan) = operation {
            next.insert(id.clone(), plan.clone());
        }
        is_possible.then_some(next)
    }
}

/// The history of the plans of each company is linearizable, and no two plans overlap.
fn check_plans(world: &World, history: &[Exchange], items: &[Value]) {
    let (mut all, mut companies) = (Histories::<Plans>::new(), BTreeSet::new());
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let path = &exchange.ask.path;
        let (Some(company), Some(id)) = (after(path, "/companies/"), after(path, "/plans/")) else { continue };
        if !PLANS.contains(&id) {
            continue;
        }
        let day = |body: &Value, member: &str| text(body, member).get(..10).unwrap_or_default().to_owned();
        let plan = |body: &Value| (text(body, "name").to_owned(), day(body, "startDate"), day(body, "endDate"));
        let (id, asked) = (id.to_owned(), plan(&exchange.ask.body));
        let put = (exchange.ask.method == "PUT").then(|| PlanOperation::Put(id.clone(), asked.clone()));
        let operation = match (exchange.ask.method, exchange.reply.status) {
            ("PUT", 200 | 201) => PlanOperation::Put(id, asked),
            ("PUT", 409) => PlanOperation::Overlaps(id, asked),
            ("GET", 200) => PlanOperation::Show(id, Some(plan(&exchange.reply.body))),
            ("GET", 404) => PlanOperation::Show(id, None),
            _ => continue,
        };
        all.write(&format!("plans of {company}"), exchange, Some(operation), put);
        companies.insert(company);
    }
    for company in companies {
        all.end(&format!("plans of {company}"), PlanOperation::End(stored::plans(items, company)));
    }
    all.check(world);
}
