//! The requests of a year: what employees and administrators do. A seed determines them.

use super::{
    Size,
    model::{ATTENDANCE, Activity, Employee, Enrolment, Groups, PLANS, Reward, WHOLE},
};
use fastrand::Rng;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const ROLES: [&str; 3] = ["Staff", "Lead", "Guest"];
/// The last days of activities that have not ended. They lie in four plans.
const ENDS: [&str; 6] = ["2097-03-31", "2097-06-30", "2097-11-30", "2098-06-30", "2099-02-28", "2099-12-31"];
const ENDED: &str = "2020-12-31";

/// The kinds of activities, by the last digit of their number.
pub(super) mod digit {
    /// Challenges that get another reward.
    pub(in super::super) const REWARDED: usize = 0;
    /// Challenges whose filters change.
    pub(in super::super) const FILTERED: usize = 1;
    /// Challenges whose end changes.
    pub(in super::super) const EXTENDED: usize = 2;
    /// Challenges with groups.
    pub(in super::super) const GROUPED: usize = 3;
    /// Challenges that are cancelled and published again.
    pub(in super::super) const CANCELLED: usize = 4;
    /// Challenges with a new name and a new detail.
    pub(in super::super) const RENAMED: usize = 5;
    /// Events without a limit. The filters of the first two change.
    pub(in super::super) const OPEN: usize = 6;
    /// Events with few seats.
    pub(in super::super) const LIMITED: usize = 7;
    /// Challenges for sign-ups, or only for those whom an administrator puts in.
    pub(in super::super) const OPTIONAL: usize = 8;
    /// Challenges that have ended. Some of them are extended.
    pub(in super::super) const ENDED: usize = 9;
}

/// Whether the filters of the activity change. A change of the filters and a move of an employee,
/// in either order, can exclude the employee for a moment. Then the outcome of a sign-up depends on
/// the order. Employees who move therefore do not sign up for these activities.
pub(super) fn changes_filters(number: usize) -> bool {
    number % 10 == digit::FILTERED && number < 80 || number % 10 == digit::OPEN && number < 20
}

pub(super) fn changes_end(number: usize) -> bool {
    number % 10 == digit::EXTENDED && number < 80 || number % 10 == digit::ENDED && number < 20
}

pub(super) fn department(number: usize) -> String {
    format!("Department {number}")
}

fn some<T: Clone + Ord>(rng: &mut Rng, all: impl IntoIterator<Item = T>, count: usize) -> BTreeSet<T> {
    rng.choose_multiple(all.into_iter().collect::<Vec<_>>(), count).into_iter().collect()
}

pub(super) fn employee(rng: &mut Rng, size: &Size) -> Employee {
    let (role, department) = (ROLES[rng.usize(..ROLES.len())].to_owned(), department(rng.usize(..size.departments)));
    Employee { role, department }
}

fn end(rng: &mut Rng) -> String {
    ENDS[rng.usize(..ENDS.len())].to_owned()
}

pub(super) fn other_end(rng: &mut Rng, old: &str) -> String {
    let others: Vec<&str> = ENDS.into_iter().filter(|end| *end != old).collect();
    others[rng.usize(..others.len())].to_owned()
}

/// Returns other roles and departments for the filters of an activity.
pub(super) fn filters(rng: &mut Rng, size: &Size, number: usize) -> [BTreeSet<String>; 2] {
    let roles = if rng.bool() { some(rng, ROLES.map(str::to_owned), 2) } else { BTreeSet::new() };
    let departments = match number % 10 {
        digit::OPEN => some(rng, (0..size.departments).map(department), size.departments / 2),
        digit::LIMITED | digit::OPTIONAL => BTreeSet::new(),
        _ => {
            let count = rng.usize(1..=2);
            some(rng, (0..size.departments).map(department), count)
        }
    };
    [roles, departments]
}

/// Returns an activity that does not exist yet: its id and those of its groups are empty.
pub(super) fn activity(rng: &mut Rng, size: &Size, number: usize) -> Activity {
    let [roles, departments] = filters(rng, size, number);
    let enrolment = match number % 10 {
        digit::OPEN | digit::LIMITED => Enrolment::Open,
        digit::OPTIONAL if number % 20 < 10 => Enrolment::Open,
        digit::OPTIONAL => Enrolment::Closed,
        _ => Enrolment::Automatic,
    };
    let mut reward = |percent: u64| Reward { percent, points: rng.u64(1..=100) };
    let rewards = [(ATTENDANCE, reward(0)), ("Goal", reward(WHOLE)), ("Half", reward(WHOLE / 2))];
    let rewards = rewards.map(|(kind, reward)| (kind.to_owned(), reward)).into();
    let groups = (number % 10 == digit::GROUPED).then(|| Groups { ids: Vec::new(), is_sum: rng.bool() });
    Activity {
        id: String::new(),
        enrolment,
        end: if number % 10 == digit::ENDED { ENDED.to_owned() } else { end(rng) },
        roles,
        departments,
        capacity: (number % 10 == digit::LIMITED).then(|| rng.usize(5..=15)),
        target: rng.u64(1..=2_000),
        rewards,
        groups,
    }
}

/// Returns the body of the request that creates the activity.
pub(super) fn body(number: usize, activity: &Activity) -> Value {
    let is_event = matches!(number % 10, digit::OPEN | digit::LIMITED);
    let rewards = activity.rewards.iter().map(|(kind, one)| with_kind(reward(kind, *one), kind));
    let mut body = json!({
        "name": format!("Activity {number}"),
        "type": if is_event { "event" } else { "challenge" },
        "subType": "Fitness",
        "startDate": "2020-01-01",
        "endDate": end_of(&activity.end),
        "filters": {"roles": activity.roles, "departments": activity.departments},
        "enrolment": match activity.enrolment {
            Enrolment::Automatic => "automatic",
            Enrolment::Open => "open",
            Enrolment::Closed => "closed",
        },
        "goal": {"type": "steps", "parameters": {"target": activity.target}},
        "rewards": rewards.collect::<Vec<_>>(),
    });
    if let Some(capacity) = activity.capacity {
        body["capacity"] = capacity.into();
    }
    if let Some(groups) = &activity.groups {
        let rules = json!({"progress": if groups.is_sum { "sum" } else { "average" }});
        body["groups"] = json!({"type": "team", "rules": rules, "items": [{"name": "Red"}, {"name": "Blue"}]});
    }
    body
}

/// The last second of a day.
pub(super) fn end_of(day: &str) -> String {
    format!("{day}T23:59:59")
}

/// Returns the body of a request to put a reward, without the version.
pub(super) fn reward(kind: &str, reward: Reward) -> Value {
    let mut body = json!({"name": "Points", "amount": reward.points});
    if kind != ATTENDANCE {
        body["percent"] = percent(reward.percent);
    }
    body
}

fn with_kind(mut reward: Value, kind: &str) -> Value {
    reward["kind"] = kind.into();
    reward
}

/// Returns hundredths of a percent as a percentage.
pub(super) fn percent(hundredths: u64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "the number is small")]
    let percent = hundredths as f64 / 100.0;
    percent.into()
}

/// A request of an employee, or of an administrator about an employee.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Hires or moves the employee.
    Place(Employee),
    /// Reports progress in hundredths of a percent.
    Report(usize, u64),
    /// Reports progress in steps.
    Steps(usize, u64),
    /// An administrator lowers the progress, but not to nothing.
    Correct(usize, u64),
    /// Signs up for an activity, with a group if there are any.
    Join(usize),
    /// An administrator puts the employee in.
    Assign(usize),
    Leave(usize),
    /// An administrator corrects the points in a plan.
    Points(&'static str, i64),
}

/// An employee with the requests to send, one after the other.
pub(super) type Script = (String, Vec<Step>);

/// Returns the requests of employees who are hired, are moved, or do neither.
pub(super) fn scripts(
    rng: &mut Rng,
    size: &Size,
    activities: &[Activity],
    staff: &BTreeMap<String, Employee>,
) -> Vec<Script> {
    let mut users: Vec<&String> = staff.keys().collect();
    rng.shuffle(&mut users);
    let hired = (0..size.placed).map(|number| (format!("new-{number}"), true));
    let moved = users.iter().take(size.placed).map(|user| ((*user).clone(), true));
    let others = users.iter().skip(size.placed).take(size.active).map(|user| ((*user).clone(), false));
    let mut scripts = Vec::new();
    for (user, is_placed) in hired.chain(moved).chain(others) {
        let (old, new) = (staff.get(&user), employee(rng, size));
        let placed = old.unwrap_or(&new);
        let mut steps = doings(rng, activities, placed, is_placed);
        if is_placed {
            let at = if old.is_some() { rng.usize(..=steps.len()) } else { 0 };
            steps.insert(at, Step::Place(new));
        }
        scripts.push((user, steps));
    }
    rng.shuffle(&mut scripts);
    scripts
}

/// Returns what an employee does, mostly in activities that admit the employee.
fn doings(rng: &mut Rng, activities: &[Activity], employee: &Employee, is_placed: bool) -> Vec<Step> {
    let may = |number: &usize| !(is_placed && changes_filters(*number));
    let all: Vec<usize> = (0..activities.len()).filter(may).collect();
    let (own, open): (Vec<usize>, Vec<usize>) = all
        .iter()
        .filter(|number| activities[**number].admits(employee))
        .partition(|number| activities[**number].enrolment == Enrolment::Automatic);
    let pick = |rng: &mut Rng, likely: &[usize]| {
        let likely = if likely.is_empty() || rng.u8(..8) == 0 { &all } else { likely };
        likely[rng.usize(..likely.len())]
    };
    let mut steps = Vec::new();
    for _ in 0..rng.usize(1..=2) {
        let number = pick(rng, &open);
        steps.push(if rng.u8(..4) == 0 { Step::Assign(number) } else { Step::Join(number) });
        steps.extend(in_activity(rng, &activities[number], number));
    }
    for _ in 0..rng.usize(1..=2) {
        let number = pick(rng, &own);
        if activities[number].groups.is_some() && rng.bool() {
            steps.push(Step::Join(number));
        }
        steps.extend(in_activity(rng, &activities[number], number));
    }
    if rng.u8(..8) == 0 {
        let points = rng.i64(1..=500) * if rng.bool() { 1 } else { -1 };
        steps.push(Step::Points(PLANS[rng.usize(..PLANS.len())].0, points));
    }
    steps
}

fn in_activity(rng: &mut Rng, activity: &Activity, number: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..rng.usize(..=2) {
        steps.push(match rng.u8(..8) {
            0..=3 => Step::Report(number, rng.u64(1..=12_000)),
            4..=6 => Step::Steps(number, rng.u64(..=activity.target * 5 / 4)),
            _ => Step::Correct(number, rng.u64(1..=8_000)),
        });
    }
    if rng.u8(..6) == 0 {
        steps.push(Step::Leave(number));
        if rng.bool() {
            steps.push(Step::Join(number));
        }
    }
    steps
}

/// Returns the employees whose attendance an administrator records in one request.
pub(super) fn attendees(rng: &mut Rng, activity: &Activity, staff: &BTreeMap<String, Employee>) -> Vec<String> {
    let admitted = staff.iter().filter(|(_, employee)| activity.admits(employee)).map(|(user, _)| user.clone());
    let count = rng.usize(1..=25);
    rng.choose_multiple(admitted, count)
}
