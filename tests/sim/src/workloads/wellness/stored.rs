//! Rules of the stored items of the companies.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{after, attribute, each, minor, of_type};
use crate::{
    clock,
    world::{Exchange, World},
};

pub(in crate::workloads) fn activity_of(item: &Value) -> &str {
    attribute(item, "PK").strip_prefix("ActivityId-").unwrap_or_default()
}

/// The user id in the sort key of a registration.
pub(super) fn user_of(item: &Value) -> &str {
    attribute(item, "SK").strip_prefix("Registration#UserId-").unwrap_or_default()
}

/// The ids of all activities with their companies.
pub(super) fn activities(items: &[Value]) -> impl Iterator<Item = (&str, &str)> {
    of_type(items, "Activity").map(|activity| (activity_of(activity), attribute(activity, "CompanyId")))
}

/// Progress in hundredths of a percent.
pub(super) fn progress(text: &str) -> u64 {
    minor(text).try_into().unwrap_or_default()
}

pub(super) fn awards(registration: &Value) -> Vec<(&str, i64)> {
    let awards = each(&registration["Awards"], "L").map(|award| &award["M"]);
    awards.map(|award| (attribute(award, "Kind"), attribute(award, "Points").parse().unwrap_or_default())).collect()
}

/// Whether the goal is reached or the attendance is recorded.
pub(super) fn is_completed(registration: &Value) -> bool {
    progress(attribute(registration, "Progress")) >= 10_000 || registration["AttendedAt"].is_object()
}

fn earned(registration: &Value) -> i64 {
    awards(registration).iter().map(|(_, points)| points).sum()
}

/// The end in an index key, such as `EndDate#2031-06-30T00:00:00`.
fn end_of<'a>(item: &'a Value, name: &str) -> &'a str {
    attribute(item, name).split('#').next_back().unwrap_or_default()
}

/// Whether this end is over. A date has the form of its first second, and includes its day.
pub(in crate::workloads) fn has_ended(end: &str) -> bool {
    let now = clock::now().to_string();
    end.strip_suffix("T00:00:00").map_or(*end < now[..19], |day| *day < now[..10])
}

pub(super) fn points(items: &[Value], company: &str, user: &str, year: &str) -> i64 {
    let own =
        of_type(items, "Registration").filter(|one| user_of(one) == user && attribute(one, "CompanyId") == company);
    let awarded: i64 = own.filter(|one| end_of(one, "GSI3SK").starts_with(year)).map(earned).sum();
    let partition = format!("CompanyId-{company}#Points");
    let corrections = of_type(items, "Correction").filter(|one| attribute(one, "PK") == partition);
    let prefix = format!("Correction#UserId-{user}#{year}");
    let corrections = corrections.filter(|one| attribute(one, "SK").starts_with(&prefix));
    awarded + corrections.filter_map(|one| attribute(one, "Points").parse::<i64>().ok()).sum::<i64>()
}

/// Whether the employee has awards or corrections.
pub(super) fn has_points(items: &[Value], company: &str, user: &str) -> bool {
    let prefix = format!("Correction#UserId-{user}#");
    items.iter().any(|one| {
        let has_awards = user_of(one) == user && attribute(one, "CompanyId") == company && !awards(one).is_empty();
        let partition = attribute(one, "PK").strip_prefix("CompanyId-").and_then(|rest| rest.strip_suffix("#Points"));
        has_awards || partition == Some(company) && attribute(one, "SK").starts_with(&prefix)
    })
}

/// The sums of the report of a calendar year: registered, completed and points.
pub(super) fn report(items: &[Value], company: &str, year: &str) -> [u64; 3] {
    let mut sums = [0; 3];
    for one in of_type(items, "Registration").filter(|one| attribute(one, "CompanyId") == company) {
        let activity = of_type(items, "Activity").find(|activity| activity_of(activity) == activity_of(one));
        let is_shown = activity.is_some_and(|activity| {
            end_of(activity, "GSI1SK").starts_with(year) && attribute(activity, "Status") != "draft"
        });
        if !is_shown {
            continue;
        }
        if one["Absence"].is_null() {
            sums[0] += 1;
            sums[1] += u64::from(is_completed(one));
        }
        sums[2] += u64::try_from(earned(one)).unwrap_or_default();
    }
    sums
}

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    let owners: BTreeMap<&str, &str> = activities(items).collect();
    check_acknowledged(world, history, items);
    for registration in of_type(items, "Registration") {
        if owners.get(activity_of(registration)) != Some(&attribute(registration, "CompanyId")) {
            world.violation(format!("the registration {registration} belongs to another company than its activity"));
        }
        check_awards(world, items, registration);
    }
    check_places(world, items);
}

/// Every activity has its employees, and every ticket its holder.
pub(in crate::workloads) fn check_places(world: &World, items: &[Value]) {
    for activity in of_type(items, "Activity") {
        check_enrolment(world, items, activity);
        check_waiting(world, items, activity);
    }
}

/// Every acknowledged activity and correction is stored once.
fn check_acknowledged(world: &World, history: &[Exchange], items: &[Value]) {
    let ids: BTreeSet<&str> = activities(items).map(|(id, _)| id).collect();
    let mut reasons = BTreeMap::<&str, u32>::new();
    for correction in of_type(items, "Correction") {
        *reasons.entry(attribute(correction, "Reason")).or_default() += 1;
    }
    for exchange in history.iter().filter(|one| one.ask.method == "POST" && one.reply.status == 201) {
        let id = exchange.reply.body["activityId"].as_str().filter(|_| exchange.ask.path.ends_with("/activities"));
        if id.is_some_and(|id| !ids.contains(id)) {
            world.violation(format!("{}: the acknowledged activity {id:?} is not stored", exchange.label));
        }
        let Some(reason) = exchange.ask.body["reason"].as_str() else { continue };
        if reasons.get(reason) != Some(&1) {
            world.violation(format!("the correction {reason:?} is stored {:?} times", reasons.get(reason)));
        }
    }
}

/// The points are the sum of the awards. Every reward that was earned is awarded once.
fn check_awards(world: &World, items: &[Value], registration: &Value) {
    let awards = awards(registration);
    let kinds: BTreeSet<&str> = awards.iter().map(|(kind, _)| *kind).collect();
    let is_sum = attribute(registration, "EarnedPoints") == earned(registration).to_string();
    if !is_sum || kinds.len() != awards.len() {
        world.violation(format!("the points are not the sum of the awards: {registration}"));
    }
    if !registration["Absence"].is_null() {
        return;
    }
    let own = of_type(items, "Reward").filter(|reward| attribute(reward, "PK") == attribute(registration, "PK"));
    for reward in own {
        let kind = attribute(reward, "SK").rsplit('#').next().unwrap_or_default();
        let percent = Some(attribute(reward, "Percent")).filter(|text| !text.is_empty()).map_or(10_000, progress);
        let is_earned = if kind == "Attendance" {
            registration["AttendedAt"].is_object()
        } else {
            progress(attribute(registration, "Progress")) >= percent
        };
        if is_earned && !kinds.contains(kind) {
            world.violation(format!("the reward {reward} was earned, but not awarded: {registration}"));
        }
    }
}

fn names<'a>(filters: &'a Value, name: &str) -> BTreeSet<&'a str> {
    let names = &filters[name];
    let list = each(names, "L").filter_map(|one| one["S"].as_str());
    let set = each(names, "SS").filter_map(Value::as_str);
    list.chain(set).collect()
}

/// An active activity with automatic enrolment has every eligible employee, and nobody takes part
/// who is not eligible and has done nothing.
fn check_enrolment(world: &World, items: &[Value], activity: &Value) {
    let end = end_of(activity, "GSI1SK");
    if attribute(activity, "Status") != "active" || has_ended(end) {
        return;
    }
    let is_default = attribute(activity, "Enrolment").is_empty() && attribute(activity, "ActivityType") == "challenge";
    let enrolment = if is_default { "automatic" } else { attribute(activity, "Enrolment") };
    let filters = &activity["Filters"]["M"];
    let (roles, departments) = (names(filters, "Roles"), names(filters, "Departments"));
    let sites = names(&filters["Attributes"]["M"], "site");
    let prefix = format!("CompanyId-{}#Employees#", attribute(activity, "CompanyId"));
    for employee in of_type(items, "Employee").filter(|one| attribute(one, "PK").starts_with(&prefix)) {
        let user = attribute(employee, "SK").strip_prefix("UserId-").unwrap_or_default();
        let admits = |all: &BTreeSet<&str>, value| all.is_empty() || all.contains(value);
        let is_eligible = admits(&roles, attribute(employee, "Role"))
            && admits(&departments, attribute(employee, "Department"))
            && admits(&sites, attribute(&employee["Attributes"]["M"], "site"));
        let mut own = of_type(items, "Registration").filter(|one| activity_of(one) == activity_of(activity));
        let found = own.find(|one| user_of(one) == user);
        match found {
            None if is_eligible && enrolment == "automatic" => {
                world.violation(format!("{user} is not enrolled in {activity}"));
            }
            Some(one) if end_of(one, "GSI3SK") != end => {
                world.violation(format!("the registration {one} ends at another time than {activity}"));
            }
            Some(one) if !is_eligible && enrolment != "closed" && is_untouched(one) => {
                world.violation(format!("the registration {one} is not eligible for {activity}"));
            }
            _ => {}
        }
    }
}

/// Whether the employee was not put in by an administrator, takes part, and has done nothing.
fn is_untouched(one: &Value) -> bool {
    one["Assigned"].is_null()
        && one["Absence"].is_null()
        && one["AttendedAt"].is_null()
        && progress(attribute(one, "Progress")) == 0
        && awards(one).is_empty()
}

/// Each ticket has its holder, and nobody waits behind a later seat.
fn check_waiting(world: &World, items: &[Value], activity: &Value) {
    let id = activity_of(activity);
    let own = of_type(items, "Ticket").filter(|ticket| activity_of(ticket) == id && !ticket["UserId"].is_null());
    let number = |ticket: &Value| {
        attribute(ticket, "SK").rsplit('#').next().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default()
    };
    let tickets: BTreeMap<u64, &Value> = own.map(|ticket| (number(ticket), ticket)).collect();
    let mut seats = Vec::new();
    let mut waiting = Vec::new();
    for one in of_type(items, "Registration").filter(|one| activity_of(one) == id) {
        let Ok(ticket) = attribute(one, "Ticket").parse::<u64>() else { continue };
        match attribute(one, "Absence") {
            "withdrawn" => continue,
            "waiting" => waiting.push(ticket),
            _ => seats.push(ticket),
        }
        if tickets.get(&ticket).map(|ticket| attribute(ticket, "UserId")) != Some(user_of(one)) {
            world.violation(format!("the ticket of the registration {one} belongs to another employee"));
        }
    }
    if let (Some(last), Some(first)) = (seats.iter().max(), waiting.iter().min())
        && last > first
    {
        world.violation(format!("ticket {first} of {id} waits, and ticket {last} has a seat"));
    }
    let capacity = attribute(activity, "Capacity").parse::<usize>().unwrap_or(usize::MAX);
    if !waiting.is_empty() && seats.len() < capacity && attribute(activity, "Status") == "active" {
        world.violation(format!(
            "{} wait for {id}, but only {} of {capacity} seats are taken",
            waiting.len(),
            seats.len()
        ));
    }
}

/// At any time, the seats never exceed the highest capacity until then, and awards are never lost.
pub(super) fn check_seats(world: &World) {
    let records = world.changes("Activities");
    let mut capacities = BTreeMap::<String, u64>::new();
    let mut seats = BTreeMap::<String, BTreeSet<String>>::new();
    for (_, record) in &records {
        let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
        let keys = &record["dynamodb"]["Keys"];
        let id = activity_of(keys).to_owned();
        match attribute(keys, "SK") {
            "Program" => {
                let capacity = attribute(new, "Capacity").parse().unwrap_or(u64::MAX);
                let known = capacities.entry(id).or_default();
                *known = capacity.max(*known);
            }
            sort if sort.starts_with("Registration#") => {
                let lost = awards(old).into_iter().find(|award| new.is_object() && !awards(new).contains(award));
                if lost.is_some() {
                    world.violation(format!("the award {lost:?} of {old} is lost in {new}"));
                }
                let seated = seats.entry(id.clone()).or_default();
                let has_seat = new.is_object() && !new["Ticket"].is_null() && new["Absence"].is_null();
                if has_seat {
                    seated.insert(sort.to_owned())
                } else {
                    seated.remove(sort)
                };
                let capacity = capacities.get(&id).copied().unwrap_or_default();
                if has_seat && u64::try_from(seated.len()).unwrap_or_default() > capacity {
                    world.violation(format!("{seated:?} have {capacity} seats of {id}"));
                }
            }
            _ => {}
        }
    }
}

/// The company of a request for an employee.
pub(super) fn company_of_path(path: &str) -> Option<&str> {
    after(path, "/companies/").or_else(|| after(path, "companyId="))
}
