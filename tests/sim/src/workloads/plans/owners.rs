//! Rules of owners: exports are complete, erasures leave nothing, and no company reaches the data
//! of another one.
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::{
    super::{
        after, attribute, each, number, of_type, text,
        wellness::{self, key_of_url},
    },
    ALL, COMPANIES, QUIET, USERS, authors, operator, root_of,
    stored::company_of,
};
use crate::world::{Ask, Exchange, World};

pub(super) fn items_of<'a>(items: &'a [Value], company: &str) -> Vec<&'a Value> {
    let activities: BTreeSet<&str> = of_type(items, "Activity")
        .filter(|one| attribute(one, "CompanyId") == company)
        .map(|one| attribute(one, "PK"))
        .collect();
    let is_own = |one: &&Value| company_of(one) == company || activities.contains(attribute(one, "PK"));
    items.iter().filter(is_own).collect()
}

/// No company reaches the data of another one.
pub(super) fn check_walls(world: &World, history: &[Exchange], items: &[Value]) {
    wellness::check_walls(world, history, items, &[ALL.as_slice(), &["stolen"]].concat());
    for item in items.iter().filter(|item| item.to_string().contains("stolen")) {
        world.violation(format!("a refused request has written {item}"));
    }
}

/// The requests that may have changed an employee.
fn requests<'a>(history: &'a [Exchange], company: &str, user: &str) -> Vec<&'a Exchange> {
    let is_own = |one: &&Exchange| {
        let path = &one.ask.path;
        let of = after(path, "/companies/").or_else(|| after(path, "companyId="));
        let who = after(path, "/employees/").or_else(|| after(path, "/users/"));
        one.ask.method != "GET" && one.reply.status != 403 && of == Some(company) && who == Some(user)
    };
    history.iter().filter(is_own).collect()
}

/// After an erasure, nothing of an employee remains, except for what was written later.
pub(super) async fn check_users(world: &World, history: &[Exchange], items: &[Value]) {
    let jobs = world.items("WellnessJobs");
    for company in COMPANIES {
        for user in USERS {
            let requests = requests(history, company, user);
            let erasures = requests.iter().filter(|one| one.ask.path.ends_with("/erasure"));
            let Some(last) = erasures.max_by_key(|one| one.begin) else { continue };
            let sort = format!("Job#EmployeeErasureId-{user}");
            let job = jobs.iter().find(|one| company_of(one) == company && attribute(one, "SK") == sort);
            let Some(started) = job.and_then(|job| attribute(job, "StartedAt").parse::<Timestamp>().ok()) else {
                world.violation(format!("{}: the erasure has no job", last.label));
                continue;
            };
            let is_later = requests.iter().any(|one| one.label != last.label && one.end > last.begin);
            let own = items_of(items, company).into_iter().chain(jobs.iter().filter(|one| company_of(one) == company));
            for item in own.filter(|item| item.to_string().contains(user) && attribute(item, "SK") != sort) {
                // Idempotency records name the user of a correction, and the author of an activity,
                // until they expire. The user may change an activity after the erasure.
                if attribute(item, "SK").starts_with("IDEMPOTENCY#")
                    || is_later && is_new(item, started)
                    || authors::changes(history, item).any(|one| authors::of(one) == user && one.end > last.begin)
                {
                    continue;
                }
                world.violation(format!("the erasure of {user} by {} has left {item}", last.label));
            }
            check_proof(world, company, user).await;
        }
    }
}

/// Whether the item was written after the start of the erasure, or has no time.
fn is_new(item: &Value, started: Timestamp) -> bool {
    let name = match item["Type"]["S"].as_str().unwrap_or_default() {
        "Registration" => "RegisteredAt",
        "Correction" => "CorrectedAt",
        "Job" => "StartedAt",
        _ => return true,
    };
    let at = attribute(item, name).parse::<Timestamp>();
    at.is_ok_and(|at| at + SignedDuration::from_secs(1) >= started)
}

async fn check_proof(world: &World, company: &str, user: &str) {
    let path = format!("{}/employees/{user}/erasure", root_of(company));
    let reply = world.ask(&format!("proof-{company}-{user}"), &operator(), Ask::of("GET", path)).await;
    let kept = reply.body["kept"].as_array().map_or(0, Vec::len);
    if reply.body["status"] != "done" || reply.body["completedAt"].is_null() || kept < 3 {
        world.violation(format!("the erasure of {user} of {company} is not complete: {}", reply.body));
    }
}

fn plain(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|one| one.iter().next()) else { return Value::Null };
    match kind.as_str() {
        "N" => inner.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        "L" => each(value, "L").map(plain).collect::<Vec<_>>().into(),
        "M" => plain_item(inner),
        "NULL" => Value::Null,
        _ => inner.clone(),
    }
}

fn plain_item(item: &Value) -> Value {
    let members = item.as_object().into_iter().flatten();
    Value::Object(members.map(|(name, value)| (name.clone(), plain(value))).collect::<Map<_, _>>())
}

fn key_of(item: &Value) -> String {
    format!("{}|{}", text(item, "PK"), text(item, "SK"))
}

/// Items of the files of an export, and the names of its uploaded files. `None` without an export.
async fn exported(world: &World, company: &str) -> Option<(Vec<Value>, BTreeSet<String>)> {
    let path = format!("{}/export", root_of(company));
    let reply = world.ask(&format!("read-export-{company}"), &operator(), Ask::of("GET", path)).await;
    if reply.status != 200 {
        return None;
    }
    if reply.body["status"] != "done" || !reply.body["skipped"].is_null() {
        world.violation(format!("the export of {company} is not complete: {}", reply.body));
    }
    let objects = world.objects("files", "exports/");
    let (mut items, mut files) = (Vec::new(), BTreeSet::new());
    for file in each(&reply.body, "files") {
        let key = key_of_url(text(file, "downloadUrl"), "exports/").unwrap_or_default();
        let Some(content) = objects.get(key) else {
            world.violation(format!("the export of {company} has no object {key}"));
            continue;
        };
        if u64::try_from(content.len()).ok() != file["bytes"].as_u64() {
            world.violation(format!("{key} has {} bytes, but {file} in the export", content.len()));
        }
        if file["items"].is_null() {
            files.insert(text(file, "name").to_owned());
            continue;
        }
        let lines = String::from_utf8_lossy(content);
        let read: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if u64::try_from(read.len()).unwrap_or_default() != number(file, "items") {
            world.violation(format!("{key} has {} lines, but {file} in the export", read.len()));
        }
        items.extend(read);
    }
    Some((items, files))
}

/// The export has each of these items once, as it is stored, and nothing else.
fn compare(world: &World, company: &str, exported: Vec<Value>, stored: &[&Value]) {
    let stored: BTreeMap<String, Value> =
        stored.iter().map(|one| plain_item(one)).map(|one| (key_of(&one), one)).collect();
    let mut seen = BTreeSet::new();
    for item in exported {
        let key = key_of(&item);
        if stored.get(&key) != Some(&item) {
            world.violation(format!("the export of {company} has {item}, but stored is {:?}", stored.get(&key)));
        }
        if !seen.insert(key.clone()) {
            world.violation(format!("the export of {company} has {key} twice"));
        }
    }
    for key in stored.keys().filter(|key| !seen.contains(*key)) {
        world.violation(format!("the export of {company} lacks {key}"));
    }
}

/// The last exports are complete, and no object of an export has data of another company.
pub(super) async fn check_exports(world: &World, items: &[Value]) {
    let uploads = world.objects("files", "uploads/");
    for company in COMPANIES {
        let Some((exported, files)) = exported(world, company).await else {
            world.violation(format!("{company} has no export"));
            continue;
        };
        compare(world, company, exported, &items_of(items, company));
        let prefix = format!("uploads/{company}/");
        let wanted: BTreeSet<String> =
            uploads.keys().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect();
        if files != wanted {
            world.violation(format!("the export of {company} has the files {files:?}, but {wanted:?} are stored"));
        }
    }
    let owners: BTreeMap<&str, &str> =
        of_type(items, "Activity").map(|one| (attribute(one, "PK"), attribute(one, "CompanyId"))).collect();
    for (key, content) in world.objects("files", "exports/") {
        let company = key.split('/').nth(1).unwrap_or_default();
        let lines = String::from_utf8_lossy(&content).into_owned();
        for line in lines.lines().filter(|_| !key.contains("/files/")) {
            let item: Value = serde_json::from_str(line).unwrap_or_default();
            let partition = text(&item, "PK");
            let of = partition.strip_prefix("CompanyId-").and_then(|rest| rest.split('#').next());
            let of = of.or_else(|| owners.get(partition).copied()).unwrap_or(QUIET);
            if of != company {
                world.violation(format!("the export {key} of {company} has {item}"));
            }
        }
    }
}

/// The company whose data nobody changes is erased as a whole, or has every byte. Its export is
/// complete, although it was made under faults.
pub(super) async fn check_quiet(world: &World, history: &[Exchange], items: &[Value], before: &[Value]) {
    let posts = |end: &str| -> Vec<&Exchange> {
        let path = format!("{}/{end}", root_of(QUIET));
        history.iter().filter(|one| one.ask.method == "POST" && one.ask.path == path).collect()
    };
    let (erasures, exports) = (posts("erasure"), posts("export"));
    let Some(last) = erasures.iter().max_by_key(|one| one.begin) else {
        let now: Vec<Value> = items_of(items, QUIET).into_iter().cloned().collect();
        if now != before {
            let changed: Vec<&Value> = before
                .iter()
                .filter(|one| !now.contains(one))
                .chain(now.iter().filter(|one| !before.contains(one)))
                .collect();
            world.violation(format!("items of {QUIET} have changed: {changed:?}"));
        }
        if !exports.is_empty() {
            match exported(world, QUIET).await {
                Some((exported, _)) => compare(world, QUIET, exported, &before.iter().collect::<Vec<_>>()),
                None => world.violation(format!("{QUIET} has no export")),
            }
        }
        return;
    };
    let activities: BTreeSet<&str> = of_type(before, "Activity").map(|one| attribute(one, "PK")).collect();
    let is_own = |one: &&Value| company_of(one) == QUIET || activities.contains(attribute(one, "PK"));
    for item in items.iter().filter(is_own) {
        world.violation(format!("the erasure {} has left {item}", last.label));
    }
    let is_later = exports.iter().any(|one| one.end > last.begin);
    let jobs = world.items("WellnessJobs");
    for job in jobs.iter().filter(|one| company_of(one) == QUIET) {
        let sort = attribute(job, "SK");
        if sort != format!("Job#ErasureId-{QUIET}") && !(is_later && sort == format!("Job#ExportId-{QUIET}")) {
            world.violation(format!("the erasure {} has left {job}", last.label));
        }
    }
    let objects = world.objects("files", "");
    for key in objects.keys().filter(|key| key.contains(&format!("/{QUIET}/"))) {
        if !(is_later && key.starts_with("exports/")) {
            world.violation(format!("the erasure {} has left the object {key}", last.label));
        }
    }
    check_failures(world);
    check_counts(world, &erasures, before).await;
}

/// Failed events of the erased company are gone, and those of others remain.
fn check_failures(world: &World) {
    let failures = world.objects("failedchanges", "");
    let names: Vec<&str> = failures.keys().filter_map(|key| key.rsplit('/').next()).collect();
    let has = |company: &str| {
        failures.values().filter(|one| String::from_utf8_lossy(one).contains(&format!("CompanyId-{company}#"))).count()
    };
    if names != ["both", "none"] || has(QUIET) > 0 || has("acme") != 2 {
        world.violation(format!("failed events after the erasure of {QUIET}: {failures:?}"));
    }
}

/// The erasure has counted each item once.
async fn check_counts(world: &World, erasures: &[&Exchange], before: &[Value]) {
    let path = format!("{}/erasure", root_of(QUIET));
    let reply = world.ask("proof-quiet", &operator(), Ask::of("GET", path)).await;
    if reply.body["status"] != "done" || reply.body["completedAt"].is_null() {
        world.violation(format!("the erasure of {QUIET} is not complete: {}", reply.body));
    }
    // A second erasure counts what the first one has left.
    if erasures.len() > 1 || erasures.iter().any(|one| one.attempts > 1) {
        return;
    }
    let removed = each(&reply.body, "removed");
    let removed: BTreeMap<&str, u64> = removed.map(|one| (text(one, "kind"), number(one, "count"))).collect();
    let mut wanted = BTreeMap::<&str, u64>::new();
    for item in before.iter().filter(|one| one["ExpiresAt"].is_null()) {
        *wanted.entry(item["Type"]["S"].as_str().unwrap_or("StoredItem")).or_default() += 1;
    }
    for (kind, count) in wanted {
        if removed.get(kind).copied().unwrap_or_default() != count && kind != "StoredItem" {
            world.violation(format!("the erasure of {QUIET} counts {removed:?}, but {count} of {kind} were stored"));
        }
    }
}
