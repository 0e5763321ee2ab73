//! A plain model of a company's year. It shares no code with the service.

use std::collections::{BTreeMap, BTreeSet};

/// Hundredths of a percent of the whole goal.
pub(super) const WHOLE: u64 = 10_000;
/// The reward that attendance earns. All others are earned by progress.
pub(super) const ATTENDANCE: &str = "Attendance";
/// The plans of the company: id, first day and last day. The first two are named plans, and the
/// others are the rest of their calendar years.
pub(super) const PLANS: [(&str, &str, &str); 5] = [
    ("spring", "2097-01-01", "2097-06-30"),
    ("long", "2098-01-01", "2099-03-31"),
    ("2097", "2097-07-01", "2097-12-31"),
    ("2099", "2099-04-01", "2099-12-31"),
    ("2020", "2020-01-01", "2020-12-31"),
];

/// How employees come to take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enrolment {
    Automatic,
    Open,
    Closed,
}

/// A reward for progress or attendance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reward {
    /// The progress that earns it, in hundredths of a percent.
    pub(super) percent: u64,
    pub(super) points: u64,
}

/// The groups of an activity.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    pub(super) ids: Vec<String>,
    /// Whether the progress of a group is the sum of its members. Otherwise it is the average.
    pub(super) is_sum: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Activity {
    pub(super) id: String,
    pub(super) enrolment: Enrolment,
    /// The last day.
    pub(super) end: String,
    /// No role or department stands for all of them.
    pub(super) roles: BTreeSet<String>,
    pub(super) departments: BTreeSet<String>,
    pub(super) capacity: Option<usize>,
    /// The goal in steps.
    pub(super) target: u64,
    pub(super) rewards: BTreeMap<String, Reward>,
    pub(super) groups: Option<Groups>,
}

impl Activity {
    /// Whether the activity has ended. Activities of the tests end in 2020 or after 2096.
    pub(super) fn has_ended(&self) -> bool {
        self.end.as_str() < "2021"
    }

    pub(super) fn admits(&self, employee: &Employee) -> bool {
        let is_in = |all: &BTreeSet<String>, one: &String| all.is_empty() || all.contains(one);
        is_in(&self.roles, &employee.role) && is_in(&self.departments, &employee.department)
    }

    fn plan(&self) -> &'static str {
        let day = self.end.as_str();
        PLANS.iter().find(|(_, first, last)| (*first..=*last).contains(&day)).expect("a plan").0
    }
}

#[derive(Debug, Clone)]
pub(super) struct Employee {
    pub(super) role: String,
    pub(super) department: String,
}

/// What an employee has done in an activity.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a list of independent facts")]
struct Doings {
    signed_up: bool,
    /// Whether an administrator has put the employee in.
    assigned: bool,
    left: bool,
    progress: u64,
    text: String,
    attended: bool,
    awards: BTreeMap<String, u64>,
    group: Option<String>,
}

impl Doings {
    fn is_nothing(&self) -> bool {
        self.progress == 0 && self.text.is_empty() && !self.attended && self.awards.is_empty()
    }

    fn award(&mut self, rewards: &BTreeMap<String, Reward>) {
        for (kind, reward) in rewards {
            let is_earned = if kind == ATTENDANCE { self.attended } else { self.progress >= reward.percent };
            if is_earned {
                self.awards.entry(kind.clone()).or_insert(reward.points);
            }
        }
    }
}

/// A registration at the end of the year.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) status: &'static str,
    pub(super) progress: u64,
    pub(super) text: String,
    pub(super) attended: bool,
    pub(super) awards: BTreeMap<String, u64>,
    pub(super) group: Option<String>,
    /// The last day of the activity.
    pub(super) end: String,
}

impl Registration {
    pub(super) fn points(&self) -> u64 {
        self.awards.values().sum()
    }

    pub(super) fn takes_part(&self) -> bool {
        !matches!(self.status, "waiting" | "withdrawn")
    }
}

/// The number of an activity, and a user id.
pub(super) type Place = (usize, String);
pub(super) type Registrations = BTreeMap<Place, Registration>;
/// The counts of a report by activity id and department: registered, completed and points.
pub(super) type Counts = BTreeMap<(String, String), [u64; 3]>;

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) activities: Vec<Activity>,
    pub(super) employees: BTreeMap<String, Employee>,
    doings: BTreeMap<Place, Doings>,
    /// The user id, the plan and the points of each correction.
    pub(super) corrections: Vec<(String, String, i64)>,
}

impl Model {
    fn of(&mut self, number: usize, user: &str) -> &mut Doings {
        self.doings.entry((number, user.to_owned())).or_default()
    }

    /// The progress before a report.
    pub(super) fn progress(&self, number: usize, user: &str) -> u64 {
        self.doings.get(&(number, user.to_owned())).map_or(0, |doings| doings.progress)
    }

    /// An employee has reported progress, or an administrator has corrected it.
    pub(super) fn reported(&mut self, number: usize, user: &str, progress: u64, text: Option<String>) {
        let rewards = self.activities[number].rewards.clone();
        let doings = self.of(number, user);
        doings.progress = progress;
        doings.text = text.unwrap_or_else(|| std::mem::take(&mut doings.text));
        doings.award(&rewards);
    }

    /// An administrator has recorded the attendance.
    pub(super) fn attended(&mut self, number: usize, user: &str) {
        let rewards = self.activities[number].rewards.clone();
        let doings = self.of(number, user);
        doings.attended = true;
        doings.award(&rewards);
    }

    /// An employee has signed up, or an administrator has put the employee in.
    pub(super) fn joined(&mut self, number: usize, user: &str, assigned: bool) {
        let doings = self.of(number, user);
        (doings.signed_up, doings.assigned, doings.left) = (true, assigned, false);
    }

    pub(super) fn grouped(&mut self, number: usize, user: &str, group: &str) {
        self.of(number, user).group = Some(group.to_owned());
    }

    pub(super) fn left(&mut self, number: usize, user: &str) {
        self.of(number, user).left = true;
    }

    /// Puts a reward. Employees who have already earned it get it.
    pub(super) fn put_reward(&mut self, number: usize, kind: &str, reward: Reward) {
        self.activities[number].rewards.insert(kind.to_owned(), reward);
        let rewards = self.activities[number].rewards.clone();
        for (_, doings) in self.doings.iter_mut().filter(|((of, _), doings)| *of == number && !doings.left) {
            doings.award(&rewards);
        }
    }

    /// The registrations after all jobs have ended. `tickets` says in which order employees signed
    /// up.
    pub(super) fn registrations(&self, tickets: &BTreeMap<Place, u64>) -> Registrations {
        let mut all = BTreeMap::new();
        for number in 0..self.activities.len() {
            let mut of_activity: BTreeMap<_, _> =
                self.employees.keys().filter_map(|user| self.registration(number, user)).collect();
            self.seat(number, &mut of_activity, tickets);
            all.extend(of_activity);
        }
        all
    }

    fn registration(&self, number: usize, user: &str) -> Option<(Place, Registration)> {
        let (activity, place) = (&self.activities[number], (number, user.to_owned()));
        let doings = self.doings.get(&place).cloned().unwrap_or_default();
        let is_eligible = activity.admits(&self.employees[user]);
        let is_in = match activity.enrolment {
            Enrolment::Automatic if !activity.has_ended() => is_eligible || doings.assigned,
            Enrolment::Automatic | Enrolment::Closed => doings.signed_up,
            Enrolment::Open => doings.signed_up && (is_eligible || doings.assigned),
        };
        let status = if doings.left {
            "withdrawn"
        } else if doings.progress >= WHOLE || doings.attended {
            "completed"
        } else if activity.has_ended() {
            "not-completed"
        } else {
            "enrolled"
        };
        let stays = is_in || doings.left || !doings.is_nothing();
        let Doings { progress, text, attended, awards, group, .. } = doings;
        let registration = Registration { status, progress, text, attended, awards, group, end: activity.end.clone() };
        stays.then_some((place, registration))
    }

    /// Gives the seats to those who signed up first. The others wait.
    fn seat(&self, number: usize, registrations: &mut Registrations, tickets: &BTreeMap<Place, u64>) {
        let Some(capacity) = self.activities[number].capacity else { return };
        let mut queue: Vec<_> = registrations.iter_mut().filter(|(_, one)| one.status != "withdrawn").collect();
        queue.sort_by_key(|(place, _)| tickets.get(*place));
        for (_, registration) in queue.into_iter().skip(capacity) {
            registration.status = "waiting";
        }
    }

    /// The journal of an employee in a plan: the activity, the kind of the reward and the points.
    /// Corrections have no activity.
    pub(super) fn journal(&self, user: &str, plan: &str, registrations: &Registrations) -> Vec<(String, String, i64)> {
        let mut entries = Vec::new();
        for (number, activity) in self.activities.iter().enumerate().filter(|(_, activity)| activity.plan() == plan) {
            let awards = registrations.get(&(number, user.to_owned())).into_iter().flat_map(|one| &one.awards);
            let points = |points: &u64| i64::try_from(*points).expect("points");
            entries.extend(awards.map(|(kind, amount)| (activity.id.clone(), kind.clone(), points(amount))));
        }
        let corrections = self.corrections.iter().filter(|(of, within, _)| of == user && within == plan);
        entries.extend(corrections.map(|(.., points)| (String::new(), String::new(), *points)));
        entries.sort();
        entries
    }

    /// The report of a plan, with the sums under an empty activity id.
    pub(super) fn report(&self, plan: &str, registrations: &Registrations) -> Counts {
        let mut counts = Counts::new();
        for ((number, user), one) in registrations {
            let activity = &self.activities[*number];
            if activity.plan() != plan {
                continue;
            }
            let is_completed = one.takes_part() && one.status == "completed";
            let add = [u64::from(one.takes_part()), u64::from(is_completed), one.points()];
            for id in [&activity.id, ""] {
                let sums = counts.entry((id.to_owned(), self.employees[user].department.clone())).or_default();
                *sums = [0, 1, 2].map(|index| sums[index] + add[index]);
            }
        }
        counts.retain(|_, sums| *sums != [0; 3]);
        counts
    }

    /// The progress and the number of members of each group of an activity.
    pub(super) fn groups(&self, number: usize, registrations: &Registrations) -> BTreeMap<String, (u64, u64)> {
        let Some(groups) = &self.activities[number].groups else { return BTreeMap::new() };
        let members = |group: &String| {
            let all = registrations.iter().filter(|((of, _), one)| *of == number && one.takes_part());
            let progress: Vec<u64> =
                all.filter(|(_, one)| one.group.as_ref() == Some(group)).map(|(_, one)| one.progress).collect();
            let (sum, count) = (progress.iter().sum::<u64>(), progress.len() as u64);
            (if groups.is_sum { sum } else { sum / count.max(1) }, count)
        };
        groups.ids.iter().map(|group| (group.clone(), members(group))).collect()
    }
}
