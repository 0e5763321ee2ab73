//! The histories of single registrations, employees and activities are linearizable.
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    super::{after, attribute, of_type, text},
    stored::{activities, activity_of, company_of_path, progress, user_of},
};
use crate::{
    linear::{Access, Choices, Histories, Register},
    world::{Exchange, World},
};

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    check_registrations(world, history, items);
    check_employees(world, history);
    check_changes(world, history);
}

/// Whether an employee takes part in an activity. The waiting list counts as taking part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Presence {
    Absent,
    Present,
    Left,
}

/// A registration: the presence, and the progress in hundredths of a percent.
type Registration = (Presence, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operation {
    /// A request creates the registration, or takes part again.
    Join(Option<u64>),
    Leave,
    /// An employee or administrator reports a higher progress.
    Report(u64),
    /// An administrator sets the progress.
    Correct(u64),
    /// A response shows the progress of an employee who takes part.
    Show(u64),
    /// A response says that the employee does not take part.
    Miss,
    /// A response says that the progress is higher.
    Exceeds(u64),
    /// The stored registration at the end.
    End(Registration),
    /// A job enrols the employee.
    Enrol,
    /// A job deletes a registration without progress.
    Withdraw,
    /// A job ends the registration of a removed employee: it deletes one without progress.
    Depart,
    /// A job ends the registration of a removed employee, and keeps it.
    Expel,
}

impl Choices for Registration {
    type State = Self;
    type Operation = Operation;

    fn init() -> Self {
        (Presence::Absent, 0)
    }

    fn after(operation: &Operation, (presence, progress): &Self) -> Option<Self> {
        let (presence, progress) = (*presence, *progress);
        let is_present = presence == Presence::Present;
        let same = (presence, progress);
        match *operation {
            Operation::Join(shown) => {
                let is_shown = shown.is_none_or(|shown| shown == progress);
                (!is_present && is_shown).then_some((Presence::Present, progress))
            }
            Operation::Leave => (presence != Presence::Absent).then_some((Presence::Left, progress)),
            Operation::Report(new) => (is_present && new >= progress).then_some((presence, new)),
            Operation::Correct(new) => is_present.then_some((presence, new)),
            Operation::Show(shown) => (is_present && shown == progress).then_some(same),
            Operation::Miss => (!is_present).then_some(same),
            Operation::Exceeds(reported) => (is_present && progress > reported).then_some(same),
            Operation::End(stored) => (stored == same).then_some(same),
            Operation::Enrol => (presence == Presence::Absent).then_some((Presence::Present, 0)),
            Operation::Withdraw | Operation::Depart => (is_present && progress == 0).then_some((Presence::Absent, 0)),
            Operation::Expel => is_present.then_some((Presence::Left, progress)),
        }
    }
}

/// The progress of a body in hundredths of a percent.
fn progress_of(body: &Value) -> u64 {
    progress(&body["progress"].to_string())
}

/// The operation of a request for a registration, and the operation of an attempt without a
/// response.
fn operations(exchange: &Exchange) -> (Option<Operation>, Option<Operation>) {
    let (status, body) = (exchange.reply.status, &exchange.reply.body);
    let asked = &exchange.ask.body;
    match exchange.ask.method {
        "PUT" => {
            let operation = match status {
                201 => Some(Operation::Join(Some(progress_of(body)))),
                200 => Some(Operation::Show(progress_of(body))),
                _ => None,
            };
            (operation, Some(Operation::Join(None)))
        }
        "DELETE" => {
            let operation = match status {
                204 => Some(Operation::Leave),
                404 => Some(Operation::Miss),
                _ => None,
            };
            (operation, Some(Operation::Leave))
        }
        "PATCH" => {
            let reported = progress_of(asked);
            let write =
                if asked["correction"] == true { Operation::Correct(reported) } else { Operation::Report(reported) };
            let operation = match status {
                200 => Some(write),
                404 => Some(Operation::Miss),
                409 if exchange.reply.problem() == "progress-backwards" => Some(Operation::Exceeds(reported)),
                _ => None,
            };
            (operation, Some(write))
        }
        _ => (None, None),
    }
}

/// The history of each registration is linearizable.
fn check_registrations(world: &World, history: &[Exchange], items: &[Value]) {
    let mut all = Histories::<Registration>::new();
    let mut known = BTreeMap::<String, (&str, &str)>::new();
    let owners: BTreeMap<&str, &str> = activities(items).collect();
    for exchange in history.iter().filter(|one| one.ask.path.contains("/registrations/")) {
        let path = &exchange.ask.path;
        let (Some(user), Some(activity)) = (after(path, "/users/"), after(path, "/registrations/")) else { continue };
        // Requests of the other company are refused.
        if exchange.reply.status == 403 || owners.get(activity).copied() != company_of_path(path) {
            continue;
        }
        let name = format!("registration of {user} for {activity}");
        let (operation, attempt) = operations(exchange);
        all.0.entry(name.clone()).or_default();
        all.write(&name, exchange, operation, attempt);
        // A refused request may have had an effect: a sign-up withdraws an employee whom the
        // activity has excluded in the meantime, and the SDK repeats an update whose response was
        // lost or late. A sign-up then finds its own registration, which is as new as the
        // request: seconds are cut off, and the clock of the gateway can be slow.
        let is_refused = matches!(exchange.reply.status, 404 | 409);
        let registered = exchange.reply.body["registeredAt"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let finds_own = matches!(operation, Some(Operation::Show(_)))
            && registered.is_some_and(|at| at + SignedDuration::from_secs(2) >= exchange.began);
        if let Some(attempt) = attempt.filter(|_| is_refused || finds_own) {
            all.possible(&name, exchange.begin, attempt);
        }
        known.insert(name, (activity, user));
    }
    let jobs = Jobs::of(history);
    for (name, (activity, user)) in known {
        let mut own = of_type(items, "Registration").filter(|one| activity_of(one) == activity);
        let stored = own.find(|one| user_of(one) == user).map_or((Presence::Absent, 0), |one| {
            let has_left = attribute(one, "Absence") == "withdrawn";
            let presence = if has_left { Presence::Left } else { Presence::Present };
            (presence, progress(attribute(one, "Progress")))
        });
        all.end(&name, Operation::End(stored));
        for operation in jobs.operations(activity, user, owners.get(activity).copied().unwrap_or_default()) {
            all.possible(&name, 0, operation);
        }
    }
    all.check(world);
}

/// What jobs may do to registrations.
#[derive(Debug, Default)]
struct Jobs<'a> {
    automatic: BTreeSet<&'a str>,
    filtered: BTreeSet<&'a str>,
    removed: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Jobs<'a> {
    fn of(history: &'a [Exchange]) -> Self {
        let mut jobs = Self::default();
        for exchange in history {
            let (path, body) = (&exchange.ask.path, &exchange.ask.body);
            if let Some(user) = after(path, "/employees/").filter(|_| exchange.ask.method == "DELETE") {
                jobs.removed.insert((company_of_path(path).unwrap_or_default(), user));
            }
            let created = exchange.reply.body["activityId"].as_str().filter(|_| exchange.ask.method == "POST");
            let Some(id) = created.or_else(|| after(path, "/activities/")) else { continue };
            if body["type"] == "challenge" || body["enrolment"] == "automatic" {
                jobs.automatic.insert(id);
            }
            let lists = body["filters"].as_object().into_iter().flat_map(|filters| filters.values());
            if lists.filter_map(Value::as_array).any(|list| !list.is_empty()) {
                jobs.filtered.insert(id);
            }
        }
        jobs
    }

    fn operations(&self, activity: &str, user: &str, company: &str) -> Vec<Operation> {
        let mut operations = Vec::new();
        operations.extend(self.automatic.contains(activity).then_some(Operation::Enrol));
        operations.extend(self.filtered.contains(activity).then_some(Operation::Withdraw));
        if self.removed.contains(&(company, user)) {
            operations.extend([Operation::Depart, Operation::Expel]);
        }
        operations
    }
}

/// The history of each employee is linearizable: role, department and attributes.
fn check_employees(world: &World, history: &[Exchange]) {
    let mut all = Histories::<Register>::new();
    let placement =
        |body: &Value| format!("{}|{}|{}", text(body, "role"), text(body, "department"), body["attributes"]["site"]);
    for exchange in history.iter().filter(|one| one.reply.status != 403) {
        let path = &exchange.ask.path;
        let (Some(company), Some(user)) = (after(path, "/companies/"), after(path, "/employees/")) else { continue };
        let name = format!("employee {user} of {company}");
        match exchange.ask.method {
            "PUT" => all.put(&name, exchange, placement(&exchange.ask.body)),
            "DELETE" => all.delete(&name, exchange, 202, Access::Clear),
            _ => all.get(&name, exchange, placement),
        }
    }
    all.check(world);
}

/// Each version of an activity has one successor.
fn check_changes(world: &World, history: &[Exchange]) {
    let mut successors = BTreeMap::<(&str, u64), Vec<&str>>::new();
    for exchange in history.iter().filter(|one| one.ask.method == "PATCH" && one.reply.status == 200) {
        let Some(id) = after(&exchange.ask.path, "/activities/") else { continue };
        let [before, now] = [&exchange.ask.body, &exchange.reply.body].map(|body| body["version"].as_u64());
        if let Some((before, now)) = before.zip(now)
            && before != now
        {
            successors.entry((id, before)).or_default().push(&exchange.label);
        }
    }
    for ((id, version), labels) in successors.into_iter().filter(|(_, labels)| labels.len() > 1) {
        world.violation(format!("version {version} of the activity {id} was changed by {labels:?}"));
    }
}
