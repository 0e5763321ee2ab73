//! The histories of single items are linearizable: records, sections, the parts, references and
//! places of activities, templates, plans and employees.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{after, attribute, number, text},
    COURSES, PLANS, QUIET, VENUES, stored,
};
use crate::{
    linear::{Choices, Effect, Interval, Possible, is_linearizable},
    world::{Exchange, World},
};

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    // The quiet company has rules of its own.
    let is_busy = |one: &&Exchange| after(&one.ask.path, "/companies/") != Some(QUIET);
    let history: &[Exchange] = &history.iter().filter(is_busy).cloned().collect::<Vec<_>>();
    let mut registers = Registers::default();
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        registers.add(exchange);
    }
    registers.add_jobs(history);
    registers.check(world, items);
    check_versions(world, history, items);
    check_templates(world, history, items);
    check_plans(world, history, items);
}

/// A value that requests set, show and delete as one text: an item, or an attribute of an item.
#[derive(Debug)]
struct Register;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operation {
    Set(String),
    /// Deletes an item that exists.
    Remove,
    /// Deletes the item if it exists.
    Clear,
    Show(Option<String>),
    /// Replaces the text after the last `|`, if the item exists.
    Change(String),
}

impl Choices for Register {
    type State = Option<String>;
    type Operation = Operation;

    fn init() -> Option<String> {
        None
    }

    fn after(operation: &Operation, state: &Option<String>) -> Option<Option<String>> {
        match operation {
            Operation::Set(new) => Some(Some(new.clone())),
            Operation::Remove => state.is_some().then_some(None),
            Operation::Clear => Some(None),
            Operation::Show(shown) => (shown == state).then(|| state.clone()),
            Operation::Change(new) => state.as_ref().map(|old| {
                let kept = old.rfind('|').map_or("", |at| &old[..=at]);
                Some(format!("{kept}{new}"))
            }),
        }
    }
}

#[derive(Debug, Default)]
struct Registers {
    all: BTreeMap<String, Vec<Interval<Effect<Operation>>>>,
    /// Registers whose first text is unknown, because it comes from a template.
    unknown: BTreeSet<String>,
}

/// The tag of free-form data.
fn tag(data: &Value) -> String {
    text(data, "tag").to_owned()
}

/// Name and data of a record.
fn record(body: &Value) -> String {
    format!("{}|{}", text(body, "name"), tag(&body["data"]))
}

fn employee(body: &Value) -> String {
    format!("{}|{}|{}", text(body, "role"), text(body, "department"), text(body, "name"))
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

impl Registers {
    fn push(&mut self, name: String, exchange: &Exchange, operation: Operation) {
        let (begin, end) = (exchange.begin, exchange.end);
        self.all.entry(name).or_default().push(Interval { begin, end, operation: Effect::Certain(operation) });
    }

    fn possible(&mut self, name: String, begin: u64, operation: Operation) {
        let interval = Interval { begin, end: begin, operation: Effect::Possible(operation) };
        self.all.entry(name).or_default().push(interval);
    }

    /// Adds a write with its outcome, and its effect in attempts without a known outcome.
    fn write(&mut self, name: &str, exchange: &Exchange, operation: Option<Operation>, attempt: Operation) {
        if let Some(operation) = operation {
            self.push(name.to_owned(), exchange, operation);
        }
        if exchange.attempts > 1 {
            self.possible(name.to_owned(), exchange.begin, attempt);
        }
    }

    fn add(&mut self, exchange: &Exchange) {
        let path = exchange.ask.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches("/wellness/").split('/').collect();
        match parts.as_slice() {
            ["companies", company, "sections", id] => {
                let name = format!("section {company} {id}");
                let new = exchange.ask.body.as_ref().map_or("", |body| text(body, "name"));
                self.put(&name, exchange, new.to_owned());
            }
            ["companies", company, "references", facet, id] if has_register(facet, id) => {
                self.add_record(&format!("record {company} {facet}/{id}"), exchange);
            }
            ["companies", company, "employees", user] => {
                self.add_employee(&format!("employee {company} {user}"), exchange);
            }
            ["companies", company, "employees", user, "erasure"] if exchange.ask.method == "POST" => {
                let is_done = exchange.reply.status == 202;
                let name = format!("employee {company} {user}");
                self.write(&name, exchange, is_done.then_some(Operation::Clear), Operation::Clear);
            }
            ["companies", _, "activities"] if exchange.ask.method == "POST" => self.add_activity(exchange),
            ["companies", _, "activities", id] => self.add_head(id, exchange),
            ["companies", _, "activities", id, "section"] => {
                let section = exchange.ask.body.as_ref().map(|body| text(body, "sectionId")).unwrap_or_default();
                let set = Operation::Set(section.to_owned());
                let is_set = exchange.reply.status == 200;
                self.write(&format!("place {id}"), exchange, is_set.then(|| set.clone()), set);
            }
            ["companies", _, "activities", id, "references", facet, of] if has_register(facet, of) => {
                self.add_reference(&format!("reference {id} {facet}/{of}"), exchange);
            }
            ["companies", _, "activities", id, rest @ ..] => {
                let part_name = rest.join("/");
                if matches!(part_name.as_str(), "detail" | "goal" | "groups" | "rewards/Bonus") {
                    self.add_part(&format!("part {id} {part_name}"), &part_name, exchange);
                }
            }
            _ => {}
        }
    }

    fn add_record(&mut self, name: &str, exchange: &Exchange) {
        let (status, body) = (exchange.reply.status, exchange.ask.body.as_ref());
        match (exchange.ask.method, body) {
            ("PUT", Some(body)) => {
                let set = Operation::Set(record(body));
                self.write(name, exchange, matches!(status, 200 | 201).then(|| set.clone()), set);
            }
            ("PATCH", Some(body)) => {
                let change = Operation::Change(tag(&body["data"]));
                let outcome = match status {
                    202 => Some(change.clone()),
                    404 => Some(Operation::Show(None)),
                    _ => None,
                };
                self.write(name, exchange, outcome, change);
            }
            ("DELETE", _) => {
                let outcome = match status {
                    204 => Some(Operation::Remove),
                    404 => Some(Operation::Show(None)),
                    _ => None,
                };
                self.write(name, exchange, outcome, Operation::Remove);
            }
            ("GET", _) if matches!(status, 200 | 404) => {
                let shown = (status == 200).then(|| record(&exchange.reply.body));
                self.push(name.to_owned(), exchange, Operation::Show(shown));
            }
            _ => {}
        }
    }

    fn add_employee(&mut self, name: &str, exchange: &Exchange) {
        match (exchange.ask.method, &exchange.ask.body) {
            ("PUT", Some(body)) => self.put(name, exchange, employee(body)),
            ("DELETE", _) => self.delete(name, exchange, 202, Operation::Clear),
            _ => {}
        }
    }

    /// Adds a request that sets the whole value.
    fn put(&mut self, name: &str, exchange: &Exchange, value: String) {
        let set = Operation::Set(value);
        let is_set = matches!(exchange.reply.status, 200 | 201);
        self.write(name, exchange, is_set.then(|| set.clone()), set);
    }

    /// Adds a request that deletes an item, with the status of its success.
    fn delete(&mut self, name: &str, exchange: &Exchange, success: u64, deletion: Operation) {
        let outcome = match exchange.reply.status {
            404 => Some(Operation::Show(None)),
            status => (status == success).then(|| deletion.clone()),
        };
        self.write(name, exchange, outcome, deletion);
    }

    /// Adds a new activity. The content of its template is unknown.
    fn add_activity(&mut self, exchange: &Exchange) {
        let Some(id) = exchange.reply.body["activityId"].as_str() else { return };
        let Some(body) = &exchange.ask.body else { return };
        let reply = &exchange.reply.body;
        self.push(format!("place {id}"), exchange, Operation::Set(text(body, "sectionId").to_owned()));
        self.push(format!("status {id}"), exchange, Operation::Set(text(reply, "status").to_owned()));
        self.push(format!("end {id}"), exchange, Operation::Set(end(reply)));
        for reference in body["references"].as_array().into_iter().flatten() {
            let name = format!("reference {id} {}/{}", text(reference, "facet"), text(reference, "id"));
            self.push(name, exchange, Operation::Set(tag(&reference["data"])));
        }
        if body["templateId"].is_null() {
            self.push(format!("part {id} detail"), exchange, Operation::Set(part("detail", body)));
        } else {
            self.unknown.insert(format!("part {id} detail"));
        }
    }

    /// Adds a change of the status or the end of an activity, or a read of the whole activity.
    fn add_head(&mut self, id: &str, exchange: &Exchange) {
        let reply = &exchange.reply;
        if let Some(body) = exchange.ask.body.as_ref().filter(|_| exchange.ask.method == "PATCH") {
            for (name, member) in [("status", "status"), ("end", "endDate")] {
                let Some(new) = body[member].as_str() else { continue };
                let set = Operation::Set(new.trim_end_matches('Z').to_owned());
                self.write(&format!("{name} {id}"), exchange, (reply.status == 200).then(|| set.clone()), set);
            }
        } else if exchange.ask.method == "GET" && reply.status == 200 {
            self.add_shown(id, exchange);
        }
    }

    fn add_shown(&mut self, id: &str, exchange: &Exchange) {
        let body = &exchange.reply.body;
        let show = |shown: Option<String>| Operation::Show(shown);
        self.push(format!("place {id}"), exchange, show(Some(text(body, "sectionId").to_owned())));
        self.push(format!("end {id}"), exchange, show(Some(end(body))));
        if body["status"] != "completed" {
            self.push(format!("status {id}"), exchange, show(Some(text(body, "status").to_owned())));
        }
        for name in ["detail", "goal", "groups"] {
            let shown = &body[name];
            let inner = match name {
                "goal" => &shown["parameters"],
                "groups" => &shown["rules"],
                _ => shown,
            };
            self.push(format!("part {id} {name}"), exchange, show((!shown.is_null()).then(|| tag(inner))));
        }
        let mut rewards = body["rewards"].as_array().into_iter().flatten();
        let bonus = rewards.find(|reward| reward["kind"] == "Bonus").map(|reward| text(reward, "name").to_owned());
        self.push(format!("part {id} rewards/Bonus"), exchange, show(bonus));
        let references = || body["references"].as_array().into_iter().flatten();
        let known = VENUES.map(|of| ("venues", of)).into_iter().chain(COURSES.map(|of| ("courses", of)));
        for (facet, of) in known {
            let found = references().find(|one| one["facet"] == facet && one["id"] == of);
            let name = format!("reference {id} {facet}/{of}");
            self.push(name, exchange, show(found.map(|one| tag(&one["data"]))));
        }
    }

    fn add_reference(&mut self, name: &str, exchange: &Exchange) {
        let reply = &exchange.reply;
        match exchange.ask.method {
            "PUT" => {
                // An attempt without a response may have created a reference that a job replaces.
                self.all.entry(name.to_owned()).or_default();
                if matches!(reply.status, 200 | 201) {
                    self.push(name.to_owned(), exchange, Operation::Set(tag(&reply.body["data"])));
                }
                for lost in exchange.replies.iter().filter(|one| matches!(one.status, 200 | 201)) {
                    self.possible(name.to_owned(), exchange.begin, Operation::Set(tag(&lost.body["data"])));
                }
            }
            "DELETE" => self.delete(name, exchange, 204, Operation::Remove),
            _ => {}
        }
    }

    fn add_part(&mut self, name: &str, kind: &str, exchange: &Exchange) {
        match (exchange.ask.method, &exchange.ask.body) {
            ("PUT", Some(body)) => self.put(name, exchange, part(kind, body)),
            ("DELETE", _) => self.delete(name, exchange, 204, Operation::Remove),
            _ => {}
        }
    }

    /// Adds what the jobs of updates and replacements may do to references, and the attempts to add
    /// references whose data is unknown.
    fn add_jobs(&mut self, history: &[Exchange]) {
        let names: Vec<String> = self.all.keys().filter(|name| name.starts_with("reference ")).cloned().collect();
        let owners = owners(history);
        for exchange in history.iter().filter(|one| one.reply.status != 403) {
            let path = exchange.ask.path.split('?').next().unwrap_or_default();
            let parts: Vec<&str> = path.trim_start_matches("/wellness/").split('/').collect();
            let own = |company: &str, of: &str| -> Vec<String> {
                let is_own = |name: &&String| {
                    let mut words = name.split(' ').skip(1);
                    let owner = words.next().and_then(|id| owners.get(id));
                    owner.is_some_and(|owner| owner == company) && words.next() == Some(of)
                };
                names.iter().filter(is_own).cloned().collect()
            };
            let data = exchange.ask.body.as_ref().map(|body| tag(&body["data"])).unwrap_or_default();
            match (exchange.ask.method, parts.as_slice()) {
                ("PATCH", ["companies", company, "references", facet, id]) => {
                    for name in own(company, &format!("{facet}/{id}")) {
                        self.possible(name, exchange.begin, Operation::Change(data.clone()));
                    }
                }
                ("POST", ["companies", company, "references", "venues", id, "replacement"]) => {
                    let body = exchange.ask.body.as_ref();
                    let new = body.map(|body| text(body, "replacementId")).unwrap_or_default();
                    for name in own(company, &format!("venues/{id}")) {
                        self.possible(name, exchange.begin, Operation::Remove);
                    }
                    for name in own(company, &format!("venues/{new}")) {
                        self.possible(name, exchange.begin, Operation::Set(data.clone()));
                    }
                }
                ("PUT", ["companies", company, "activities", id, "references", facet, of]) if exchange.attempts > 1 => {
                    let name = format!("reference {id} {facet}/{of}");
                    for data in data_of_record(history, company, facet, of) {
                        self.possible(name.clone(), exchange.begin, Operation::Set(data));
                    }
                }
                _ => {}
            }
        }
    }

    fn check(self, world: &World, items: &[Value]) {
        let stored = stored::registers(items);
        let unknown = self.unknown;
        for (name, mut intervals) in self.all.into_iter().filter(|(name, _)| !unknown.contains(name)) {
            let last = intervals.iter().map(|interval| interval.end).max().unwrap_or_default() + 1;
            let operation = Effect::Certain(Operation::Show(stored.get(&name).cloned()));
            intervals.push(Interval { begin: last, end: last, operation });
            if !is_linearizable::<Possible<Register>>(&intervals) {
                world.violation(format!("the {name} is not linearizable: {intervals:?}"));
            }
        }
    }
}

/// The end date of an activity in a response, as stored.
fn end(body: &Value) -> String {
    text(body, "endDate").trim_end_matches('Z').to_owned()
}

/// The companies of the activities.
pub(super) fn owners(history: &[Exchange]) -> BTreeMap<String, String> {
    let created = history.iter().filter(|one| one.ask.method == "POST" && one.ask.path.ends_with("/activities"));
    created
        .filter_map(|one| {
            Some((one.reply.body["activityId"].as_str()?.to_owned(), after(&one.ask.path, "/companies/")?.to_owned()))
        })
        .collect()
}

/// All data that requests have given to a record.
fn data_of_record(history: &[Exchange], company: &str, facet: &str, id: &str) -> BTreeSet<String> {
    let path = format!("/wellness/companies/{company}/references/{facet}/{id}");
    let writes = history.iter().filter(|one| one.ask.path == path);
    writes.filter_map(|one| one.ask.body.as_ref()).map(|body| tag(&body["data"])).collect()
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
        let base = exchange.ask.body.as_ref().map(|body| number(body, "version")).filter(|base| *base > 0);
        // A repeated request can find its own effect.
        let is_change = match base {
            Some(base) => base != version,
            None => reply.status == 201 && exchange.attempts == 1,
        };
        if base.is_some_and(|base| base != version && base + 1 != version) {
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
#[derive(Debug)]
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
    let mut all = BTreeMap::<&str, Vec<Interval<Effect<FormOperation>>>>::new();
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let (reply, path) = (&exchange.reply, &exchange.ask.path);
        let name = exchange.ask.body.as_ref().map_or("", |body| text(body, "name")).to_owned();
        let base = exchange.ask.body.as_ref().and_then(|body| body["version"].as_u64());
        let shown = || Some((number(&reply.body, "version"), text(&reply.body, "name").to_owned()));
        let created = reply.body["templateId"].as_str().filter(|_| exchange.ask.method == "POST");
        let id = after(path, "/templates/").or_else(|| created.filter(|_| path.ends_with("/templates")));
        let Some(id) = id else { continue };
        let (operation, attempt) = match (exchange.ask.method, reply.status) {
            ("POST", 201) => (Some(FormOperation::Create(name)), None),
            ("PATCH", status) => {
                let operation = match status {
                    200 => Some(FormOperation::Change(name.clone(), base, reply.body["version"].as_u64())),
                    404 => Some(FormOperation::Show(None)),
                    412 => base.map(FormOperation::Differs),
                    _ => None,
                };
                (operation, Some(FormOperation::Change(name, base, None)))
            }
            ("DELETE", 204) => (Some(FormOperation::Remove), Some(FormOperation::Remove)),
            ("DELETE", 404) => (Some(FormOperation::Show(None)), Some(FormOperation::Remove)),
            ("GET", 200) => (Some(FormOperation::Show(shown())), None),
            ("GET", 404) => (Some(FormOperation::Show(None)), None),
            _ => (None, None),
        };
        let (begin, end) = (exchange.begin, exchange.end);
        let own = all.entry(id).or_default();
        own.extend(operation.map(|operation| Interval { begin, end, operation: Effect::Certain(operation) }));
        if let Some(attempt) = attempt.filter(|_| exchange.attempts > 1) {
            own.push(Interval { begin, end: begin, operation: Effect::Possible(attempt) });
        }
    }
    for (id, mut intervals) in all {
        // A request of the other company.
        let is_created =
            |one: &Interval<Effect<FormOperation>>| matches!(one.operation, Effect::Certain(FormOperation::Create(_)));
        if !intervals.iter().any(is_created) {
            continue;
        }
        let stored = stored::of_type(items, "Template").find(|one| attribute(one, "SK").ends_with(id));
        let stored = stored.map(|one| {
            let content: Value = serde_json::from_str(attribute(one, "Content")).unwrap_or_default();
            (attribute(one, "Version").parse().unwrap_or_default(), text(&content, "name").to_owned())
        });
        let last = intervals.iter().map(|interval| interval.end).max().unwrap_or_default() + 1;
        intervals.push(Interval { begin: last, end: last, operation: Effect::Certain(FormOperation::Show(stored)) });
        if !is_linearizable::<Possible<Form>>(&intervals) {
            world.violation(format!("the template {id} is not linearizable: {intervals:?}"));
        }
    }
}

/// The plans of a company: name, first and last day by id.
#[derive(Debug)]
struct Plans;

/// Name, first and last day.
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
        match operation {
            PlanOperation::Put(id, plan) => (!overlaps(state, id, plan)).then(|| {
                let mut next = state.clone();
                next.insert(id.clone(), plan.clone());
                next
            }),
            PlanOperation::Overlaps(id, plan) => overlaps(state, id, plan).then(|| state.clone()),
            PlanOperation::Show(id, shown) => (state.get(id) == shown.as_ref()).then(|| state.clone()),
            PlanOperation::End(all) => (all == state).then(|| state.clone()),
        }
    }
}

/// The history of the plans of each company is linearizable, and no two plans overlap.
fn check_plans(world: &World, history: &[Exchange], items: &[Value]) {
    let mut all = BTreeMap::<&str, Vec<Interval<Effect<PlanOperation>>>>::new();
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let path = &exchange.ask.path;
        let (Some(company), Some(id)) = (after(path, "/companies/"), after(path, "/plans/")) else { continue };
        if !PLANS.contains(&id) {
            continue;
        }
        let day = |body: &Value, member: &str| text(body, member).get(..10).unwrap_or_default().to_owned();
        let plan = |body: &Value| (text(body, "name").to_owned(), day(body, "startDate"), day(body, "endDate"));
        let asked = exchange.ask.body.as_ref().map(plan);
        let (operation, attempt) = match (exchange.ask.method, exchange.reply.status, asked) {
            ("PUT", 200 | 201, Some(asked)) => {
                let put = PlanOperation::Put(id.to_owned(), asked);
                (put.clone(), Some(put))
            }
            ("PUT", 409, Some(asked)) => {
                let overlaps = PlanOperation::Overlaps(id.to_owned(), asked.clone());
                (overlaps, Some(PlanOperation::Put(id.to_owned(), asked)))
            }
            ("GET", 200, _) => (PlanOperation::Show(id.to_owned(), Some(plan(&exchange.reply.body))), None),
            ("GET", 404, _) => (PlanOperation::Show(id.to_owned(), None), None),
            _ => continue,
        };
        let (begin, end) = (exchange.begin, exchange.end);
        let own = all.entry(company).or_default();
        own.push(Interval { begin, end, operation: Effect::Certain(operation) });
        if let Some(attempt) = attempt.filter(|_| exchange.attempts > 1) {
            own.push(Interval { begin, end: begin, operation: Effect::Possible(attempt) });
        }
    }
    for (company, mut intervals) in all {
        let stored = stored::plans(items, company);
        let last = intervals.iter().map(|interval| interval.end).max().unwrap_or_default() + 1;
        intervals.push(Interval { begin: last, end: last, operation: Effect::Certain(PlanOperation::End(stored)) });
        if !is_linearizable::<Possible<Plans>>(&intervals) {
            world.violation(format!("the plans of {company} are not linearizable: {intervals:?}"));
        }
    }
}
