//! Lists that are walked with small limits and cursors.
use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::{
        attribute, each, number, of_type, text,
        wellness::stored::{activity_of, has_ended},
    },
    ALL, OF_TEMPLATES, QUIET, USERS, VENUES, admin, employee, operator, root_of,
    stored::{activity, company_of, end_of, facet_of},
};
use crate::world::{Ask, Caller, World};

/// Reads up to so many pages of a list. Returns the values of a member of its items. An error ends
/// the list.
async fn walk(world: &World, label: &str, caller: &Caller, path: &str, (limit, pages): (u64, usize)) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    for page in 0..pages {
        let sign = if path.contains('?') { '&' } else { '?' };
        let asked = format!("{path}{sign}limit={limit}{cursor}");
        let reply = world.ask(&format!("{label}p{page}"), caller, Ask::of("GET", asked)).await;
        let read = each(&reply.body, "items").cloned().collect::<Vec<_>>();
        if read.len() > usize::try_from(limit).unwrap_or_default() {
            world.violation(format!("{label}: a page of {path} has {} items", read.len()));
        }
        items.extend(read);
        let Some(next) = reply.body["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    items
}

/// Walks one of the lists while others change it. A list by id has no item twice.
pub(super) async fn read_some(world: &World, action: &Value, label: &str) {
    let (company, user) = (text(action, "company"), text(action, "user"));
    let root = root_of(company);
    let facet = text(action, "facet");
    let (caller, path, member) = match number(action, "pick") % 8 {
        0 => (employee(company, user), format!("{root}/sections"), "sectionId"),
        1 => (admin(company), format!("{root}/references/{facet}"), "id"),
        2 => (admin(company), format!("{root}/templates"), "templateId"),
        3 => (operator(), "/wellness/templates".to_owned(), "templateId"),
        4 => (admin(company), format!("{root}/employees"), "userId"),
        5 => {
            let path = format!("{root}/references/{facet}/{}/activities", text(action, "id"));
            (employee(company, user), path, "")
        }
        6 => return drop(world.ask(label, &admin(company), Ask::of("GET", format!("{root}/plans"))).await),
        _ => return drop(world.ask(label, &admin(company), Ask::of("GET", format!("{root}/activities"))).await),
    };
    let items = walk(world, label, &caller, &path, (number(action, "limit"), 6)).await;
    let ids: Vec<&str> = items.iter().map(|item| text(item, member)).collect();
    if !member.is_empty() && ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        world.violation(format!("{label}: {path} has an item twice: {ids:?}"));
    }
}

/// Each list has each stored item exactly once.
pub(super) async fn check(world: &World, items: &[Value]) {
    for company in ALL {
        let root = root_of(company);
        let own = |kind: &'static str| of_type(items, kind).filter(move |one| company_of(one) == company);
        let last = |one: &Value, prefix: &str| attribute(one, "SK").strip_prefix(prefix).unwrap_or_default().to_owned();
        let is_sales = |one: &&Value| attribute(one, "Department") == "Sales";
        let sales = own("Employee").filter(is_sales).map(|one| last(one, "UserId-")).collect();
        compare(world, company, &format!("{root}/employees?department=Sales"), "userId", sales).await;
        for (list, kind, prefix, member) in [
            ("sections", "Section", "Section#SectionId-", "sectionId"),
            ("templates", "Template", "Template#TemplateId-", "templateId"),
            ("employees", "Employee", "UserId-", "userId"),
        ] {
            let ids = own(kind).map(|one| last(one, prefix)).collect();
            compare(world, company, &format!("{root}/{list}"), member, ids).await;
        }
        for facet in ["venues", "courses", "files"] {
            let of_facet = own("ReferenceRecord").filter_map(|one| facet_of(attribute(one, "SK")));
            let of_facet = of_facet.filter(|(of, _)| *of == facet).map(|(_, id)| id.to_owned()).collect();
            compare(world, company, &format!("{root}/references/{facet}"), "id", of_facet).await;
        }
        for venue in VENUES.into_iter().chain([OF_TEMPLATES]) {
            for status in ["active", "draft"] {
                let expected = uses(items, company, venue, status);
                let path = format!("{root}/references/venues/{venue}/activities?status={status}");
                compare(world, company, &path, "activityId", expected).await;
            }
        }
        let plans = super::stored::plans(items, company).into_keys().collect();
        let path = format!("{root}/plans");
        let reply = world.ask(&format!("walk {path}"), &admin(company), Ask::of("GET", path.as_str())).await;
        let listed: Vec<Value> = each(&reply.body, "items").cloned().collect();
        same(world, &path, &listed, "planId", &plans);
    }
    let global = of_type(items, "Template").filter(|one| attribute(one, "PK") == "Global");
    let global = global.map(|one| attribute(one, "SK").trim_start_matches("Template#TemplateId-").to_owned()).collect();
    compare(world, QUIET, "/wellness/templates", "templateId", global).await;
    check_participants(world, items).await;
}

/// The activities with a status that refer to the venue and have not ended.
fn uses(items: &[Value], company: &str, venue: &str, status: &str) -> BTreeSet<String> {
    let to_venue = |one: &&Value| facet_of(attribute(one, "SK")) == Some(("venues", venue));
    let references = of_type(items, "Reference").filter(to_venue).filter_map(|one| activity(items, activity_of(one)));
    let wanted = references.filter(|one| {
        attribute(one, "CompanyId") == company && attribute(one, "Status") == status && !has_ended(end_of(one))
    });
    wanted.map(|one| activity_of(one).to_owned()).collect()
}

/// The list of participants has each registered employee once.
async fn check_participants(world: &World, items: &[Value]) {
    for activity in of_type(items, "Activity") {
        let (id, company) = (activity_of(activity), attribute(activity, "CompanyId"));
        let own = of_type(items, "Registration").filter(|one| activity_of(one) == id);
        let users = own.map(|one| attribute(one, "SK").trim_start_matches("Registration#UserId-").to_owned());
        let users: BTreeSet<String> = users.filter(|user| USERS.contains(&user.as_str())).collect();
        let path = format!("{}/activities/{id}/participants", root_of(company));
        compare(world, company, &path, "userId", users).await;
    }
}

async fn compare(world: &World, company: &str, path: &str, member: &str, wanted: BTreeSet<String>) {
    let caller = admin(company);
    let label = format!("walk {path}");
    let limit = 1 + u64::try_from(path.len()).unwrap_or_default() % 3;
    let items = walk(world, &label, &caller, path, (limit, 200)).await;
    same(world, path, &items, member, &wanted);
}

fn same(world: &World, path: &str, items: &[Value], member: &str, wanted: &BTreeSet<String>) {
    let listed: Vec<&str> = items.iter().map(|item| text(item, member)).collect();
    let ids: BTreeSet<String> = listed.iter().map(|id| (*id).to_owned()).collect();
    if ids.len() != listed.len() || ids != *wanted {
        world.violation(format!("{path} lists {listed:?}, but {wanted:?} are stored"));
    }
}
