//! Rules of the stored items: each copy agrees with its source, and nothing is left over.
use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::{after, attribute, each, of_type, text, wellness::stored::activity_of},
    QUIET, USERS,
};
use crate::world::{Exchange, World};

pub(super) fn activity<'a>(items: &'a [Value], id: &str) -> Option<&'a Value> {
    of_type(items, "Activity").find(|one| activity_of(one) == id)
}

/// The end of an activity, or of another item with an end in its index key.
pub(super) fn end_of(item: &Value) -> &str {
    attribute(item, "GSI1SK").rsplit('#').next().unwrap_or_default()
}

/// Facet and id in a sort key such as `Program#Venue#VenueId-1`.
pub(super) fn facet_of(sort: &str) -> Option<(&'static str, &str)> {
    let names = [("Venue", "venues"), ("Course", "courses"), ("File", "files")];
    let key = sort.rsplit('#').next()?;
    names.into_iter().find_map(|(name, facet)| Some((facet, key.strip_prefix(name)?.strip_prefix("Id-")?)))
}

/// The tag of an attribute with free-form JSON.
pub(super) fn tag(item: &Value, name: &str) -> String {
    let data: Value = serde_json::from_str(attribute(item, name)).unwrap_or_default();
    text(&data, "tag").to_owned()
}

/// The company of an item in the partition of a company.
pub(super) fn company_of(item: &Value) -> &str {
    let partition = attribute(item, "PK").strip_prefix("CompanyId-").unwrap_or_default();
    partition.split('#').next().unwrap_or_default()
}

/// The plans of a company: name, first and last day by id.
pub(super) fn plans(items: &[Value], company: &str) -> BTreeMap<String, (String, String, String)> {
    let own = of_type(items, "Plans").filter(|one| company_of(one) == company);
    let plans = own.flat_map(|one| each(&one["Plans"], "L")).map(|plan| &plan["M"]);
    let day = |text: &str| text.get(..10).unwrap_or_default().to_owned();
    let plan = |plan: &Value| {
        let period = &plan["Period"]["M"];
        (attribute(plan, "Name").to_owned(), day(attribute(period, "First")), day(attribute(period, "Last")))
    };
    plans.map(|one| (attribute(one, "PlanId").to_owned(), plan(one))).collect()
}

/// The texts of all registers, by name.
pub(super) fn registers(items: &[Value]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for item in items {
        let (sort, company, id) = (attribute(item, "SK"), company_of(item), activity_of(item));
        let name = attribute(item, "Name").to_owned();
        match item["Type"]["S"].as_str().unwrap_or_default() {
            "Section" => {
                let section = sort.strip_prefix("Section#SectionId-").unwrap_or_default();
                all.insert(format!("section {company} {section}"), name);
            }
            "ReferenceRecord" => {
                let Some((facet, of)) = facet_of(sort) else { continue };
                all.insert(format!("record {company} {facet}/{of}"), format!("{name}|{}", tag(item, "Data")));
            }
            "Employee" => {
                let user = sort.strip_prefix("UserId-").unwrap_or_default();
                let (role, department) = (attribute(item, "Role"), attribute(item, "Department"));
                all.insert(format!("employee {company} {user}"), format!("{role}|{department}|{name}"));
            }
            "Activity" => {
                all.insert(format!("place {id}"), attribute(item, "SectionId").to_owned());
                all.insert(format!("status {id}"), attribute(item, "Status").to_owned());
                all.insert(format!("end {id}"), end_of(item).to_owned());
            }
            "Detail" => drop(all.insert(format!("part {id} detail"), tag(item, "Detail"))),
            "Goal" => drop(all.insert(format!("part {id} goal"), tag(item, "Parameters"))),
            "Groups" => drop(all.insert(format!("part {id} groups"), tag(item, "Rules"))),
            "Reward" => {
                let kind = sort.rsplit('#').next().unwrap_or_default();
                all.insert(format!("part {id} rewards/{kind}"), name);
            }
            "Reference" => {
                let Some((facet, of)) = facet_of(sort) else { continue };
                all.insert(format!("reference {id} {facet}/{of}"), tag(item, "CopiedData"));
            }
            _ => {}
        }
    }
    all
}

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    check_references(world, items);
    check_holds(world);
    check_files(world, items);
    check_acknowledged(world, history, items);
}

/// Each part and reference has its activity. The index keys of a reference have the company, the
/// status and the end of its activity.
fn check_references(world: &World, items: &[Value]) {
    for item in items.iter().filter(|item| attribute(item, "PK").starts_with("ActivityId-")) {
        let Some(activity) = activity(items, activity_of(item)) else {
            world.violation(format!("the item {item} has no activity"));
            continue;
        };
        let company = attribute(activity, "CompanyId");
        if item["Type"]["S"] == "Reference" {
            let place = format!("{}#{}#{}", attribute(activity, "Status"), end_of(activity), attribute(item, "PK"));
            let partition = attribute(item, "GSI2PK").strip_prefix(&format!("CompanyId-{company}#"));
            let is_own = partition.is_some_and(|of| attribute(item, "SK").ends_with(&format!("#{of}")));
            if attribute(item, "GSI2SK") != place || !is_own {
                world.violation(format!("the index keys of the reference {item} disagree with {activity}"));
            }
        }
        if !item["CompanyId"].is_null() && attribute(item, "CompanyId") != company {
            world.violation(format!("the item {item} belongs to another company than {activity}"));
        }
    }
}

/// No hold remains without its running job.
fn check_holds(world: &World) {
    let jobs = world.items("WellnessJobs");
    for hold in of_type(&jobs, "Hold") {
        world.violation(format!("the hold {hold} remains after its job"));
    }
}

/// A file that is ready has a record and an object, and no other file has one.
fn check_files(world: &World, items: &[Value]) {
    let objects = world.objects("files", "uploads/");
    let mut expected = Vec::new();
    for upload in of_type(items, "Upload") {
        let id = attribute(upload, "SK").strip_prefix("Upload#FileId-").unwrap_or_default();
        let record = of_type(items, "ReferenceRecord").find(|one| {
            attribute(one, "PK") == attribute(upload, "PK") && facet_of(attribute(one, "SK")) == Some(("files", id))
        });
        let key = format!("uploads/{}/files/{id}", company_of(upload));
        let (is_ready, has_object) = (attribute(upload, "Status") == "ready", objects.contains_key(&key));
        if is_ready != record.is_some() || is_ready != has_object {
            world.violation(format!("the upload {upload} disagrees with its record {record:?}, object {has_object}"));
        }
        expected.push(key);
    }
    for record in of_type(items, "ReferenceRecord") {
        let Some(("files", id)) = facet_of(attribute(record, "SK")) else { continue };
        let key = format!("uploads/{}/files/{id}", company_of(record));
        if !expected.contains(&key) {
            world.violation(format!("the record {record} has no upload"));
        }
    }
    for key in objects.keys().filter(|key| !expected.contains(key)) {
        world.violation(format!("the object {key} has no upload"));
    }
}

/// Every acknowledged activity, file, correction and registration is stored, unless somebody has
/// removed it.
fn check_acknowledged(world: &World, history: &[Exchange], items: &[Value]) {
    let touched = |company: &str, user: &str| {
        history.iter().any(|one| {
            let path = &one.ask.path;
            let is_removal = one.ask.method == "DELETE" || path.ends_with("/erasure") && one.ask.method == "POST";
            let is_own = after(path, "/companies/") == Some(company) && after(path, "/employees/") == Some(user);
            is_removal && is_own && one.reply.status != 403
        })
    };
    for exchange in history.iter().filter(|one| matches!(one.reply.status, 200 | 201)) {
        let (path, body) = (&exchange.ask.path, &exchange.reply.body);
        let company = after(path, "/companies/").or_else(|| after(path, "companyId=")).unwrap_or_default();
        if company == QUIET {
            continue;
        }
        let missing = |what: &str| world.violation(format!("{}: {what} is not stored: {body}", exchange.label));
        match exchange.ask.method {
            "POST" if path.ends_with("/activities") && activity(items, text(body, "activityId")).is_none() => {
                missing("the acknowledged activity");
            }
            "POST" if path.ends_with("/files") => {
                let id = text(body, "fileId");
                let is_removed =
                    history.iter().any(|one| one.ask.method == "DELETE" && one.ask.path.ends_with(&format!("/{id}")));
                let sort = format!("Upload#FileId-{id}");
                if !is_removed && !items.iter().any(|one| attribute(one, "SK") == sort) {
                    missing("the acknowledged file");
                }
            }
            "POST" if path.contains("/points?") => {
                let user = after(path, "/users/").unwrap_or_default();
                let reason = text(&exchange.ask.body, "reason");
                let count = of_type(items, "Correction").filter(|one| attribute(one, "Reason") == reason).count();
                if count > 1 || count == 0 && !touched(company, user) {
                    missing("the correction (once)");
                }
            }
            "PUT" if path.contains("/registrations/") => {
                let user = after(path, "/users/").unwrap_or_default();
                let (id, sort) = (after(path, "/registrations/"), format!("Registration#UserId-{user}"));
                let is_own = |one: &Value| Some(activity_of(one)) == id && attribute(one, "SK") == sort;
                let is_stored = items.iter().any(is_own);
                if USERS.contains(&user) && !is_stored && !touched(company, user) {
                    missing("the registration");
                }
            }
            _ => {}
        }
    }
}
