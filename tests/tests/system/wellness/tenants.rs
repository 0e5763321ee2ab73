//! The export and the erasure of a company, and the erasure of an employee (W34):
//! docs/requirements/wellness.md#tenants.

use function::ChangedBy;
use keys::TimestampSeconds;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use system_tests::{
    Answer, Client, assert_problem, drained, parsed, text, until,
    wellness::{
        activity, admin,
        files::{download, file_of, upload_file},
        of_company, put,
        references::{step_of, without_jobs},
        registration, stack, table,
    },
};
use table::Key;
use wellness::{Activity, Registration};

const OURS: &str = "123";
const THEIRS: &str = "1234";
const END: &str = "2099-12-31T23:59:59";
const QUIET: &str = "ErasureQuietSeconds";

fn of(rest: &str) -> String {
    of_company(OURS, rest)
}

/// The items of a table, by key.
async fn items_in(stack: &Stack, table: &str) -> BTreeMap<String, Value> {
    let client = stack.client().expect("a client");
    let scan = client.scan().table_name(stack.table(table).expect("a table")).consistent_read(true);
    let items: Result<Vec<_>, _> = scan.into_paginator().items().send().collect().await;
    let items = items.expect("items").into_iter().map(|item| serde_dynamo::from_item::<_, Value>(item).expect("JSON"));
    items.map(|item| (key_of(&item), item)).collect()
}

/// The items of both tables, by key.
async fn items(stack: &Stack) -> BTreeMap<String, Value> {
    let mut items = items_in(stack, "Activities").await;
    items.extend(items_in(stack, "WellnessJobs").await);
    items
}

fn key_of(item: &Value) -> String {
    format!("{} {}", text(item, "PK"), text(item, "SK"))
}

/// Starts an export or an erasure, and waits until it is done.
async fn run(client: &Client, path: &str) -> Value {
    assert_problem(&client.get(path).await, 404, "not-found");
    let started = client.post(path, &json!({})).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let has_ended = |answer: &Answer| answer.body["status"] == "done" || answer.body["status"] == "failed";
    let ended = until(client, path, has_ended).await.body;
    assert_eq!(ended["status"], "done", "{ended}");
    ended
}

/// The removed items by kind.
fn removed(erasure: &Value) -> BTreeMap<String, u64> {
    let kinds = erasure["removed"].as_array().expect("kinds").iter();
    kinds.map(|one| (text(one, "kind").to_owned(), one["count"].as_u64().expect("a number"))).collect()
}

/// The simulation checks exports and erasures of companies that use all routes.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_can_be_downloaded_and_an_erasure_states_what_remains_until_when() {
    let stack = stack().parameter(QUIET, "1").start().await.expect("a stack");
    let (operator, admin) = (Client::operator(&stack), admin(&stack, OURS));
    seed(&stack).await;
    let made = admin.post(&of("files"), &file_of("Guide", "text/plain", b"hello")).await;
    assert_eq!(upload_file(&made.body["upload"], b"hello").await, 200);
    let file = of(&format!("references/files/{}", text(&made.body, "fileId")));
    until(&admin, &file, |answer| answer.body["status"] == "ready").await;
    let (dynamo, own) = table(&stack);
    let bad = Key::new(&format!("CompanyId-{OURS}"), &"Section#SectionId-bad");
    dynamo.write(own.upsert(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
    drained(&operator, "register-new-employee").await;

    let export = run(&operator, &of("export")).await;
    let (mut lines, mut texts) = (BTreeMap::new(), Vec::new());
    for file in export["files"].as_array().expect("files") {
        let (status, name, content) = download(text(file, "downloadUrl")).await;
        assert_eq!((status, u64::try_from(content.len()).ok()), (200, file["bytes"].as_u64()));
        assert!(name.starts_with("attachment"), "{name}");
        let content = String::from_utf8(content).expect("a text");
        if file["items"].is_null() {
            texts.push(content);
        } else {
            let read = content.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            lines.extend(read.map(|item| (key_of(&item), item)));
        }
    }
    assert_eq!(texts, ["hello"]);
    assert_eq!(lines, items_in(&stack, "Activities").await, "also an unreadable item");
    assert_eq!(lines["ActivityId-walk Program"]["ChangedBy"], json!({"sub": "ann", "scope": "wellness:admin"}));
    let url = text(&export["files"][0], "downloadUrl");
    assert_eq!(download(&url.replace("/123/", "/1234/")).await.0, 403);

    let erasure = run(&operator, &of("erasure")).await;
    let left = items(&stack).await;
    assert!(left.len() == 1 && left.contains_key("CompanyId-123 Job#ErasureId-123"), "{left:?}");
    assert!(left.values().all(|job| !job.to_string().contains("ann")), "{left:?}");
    let objects = export["files"].as_array().map_or(0, Vec::len) as u64 + 1;
    let counts = ["Object", "StoredItem", "Registration", "Employee"].map(|kind| removed(&erasure)[kind]);
    assert_eq!(counts, [objects, 1, 4, 1], "{erasure}");
    let kept = erasure["kept"].as_array().expect("copies").iter();
    let kept: BTreeMap<_, TimestampSeconds> = kept.map(|one| (text(one, "what"), parsed(text(one, "until")))).collect();
    let end: TimestampSeconds = parsed(text(&erasure, "completedAt"));
    assert_eq!((kept["point-in-time recovery"], kept["logs"]), (end.plus_days(35), end.plus_days(30)));
    assert_eq!(kept["streams"], end.plus_days(1));
    // The erased company can start again.
    seed(&stack).await;
}

/// Runs a job until it is done, in separate invocations.
async fn finish(client: &Client, job: &str) {
    for _ in 0..100 {
        let answer = client.get(&of(&format!("jobs/{job}"))).await;
        if answer.body["status"] != "running" {
            assert_eq!(answer.body["status"], "done", "{}", answer.body);
            return;
        }
        client.invoke("continue-job", &step_of(OURS, job)).await;
    }
    unreachable!("{job} does not end");
}

async fn put_employee(stack: &Stack, user: &str) {
    let placed = json!({"role": "R", "department": "D"});
    let answer = admin(stack, OURS).put(&of(&format!("employees/{user}")), &placed).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

fn changed_by(user: &str, activity: Activity) -> Activity {
    let changed_by = Some(ChangedBy { sub: user.to_owned(), scope: "wellness:admin".to_owned() });
    Activity { changed_by, ..activity }
}

/// Puts a company with an employee and two activities.
async fn seed(stack: &Stack) {
    put_employee(stack, "ann").await;
    for id in ["walk", "run"] {
        let activity = changed_by("ann", activity(OURS, id, id, END));
        put(stack, &["ann", "bob"].map(|user| registration(&activity, user))).await;
        put(stack, &[activity]).await;
    }
}

/// An enrolment that has read an activity before its erasure puts a registration after it. The
/// erasure ends only after a pass that finds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_removes_items_that_a_concurrent_function_writes() {
    let stack = without_jobs().parameter(QUIET, "1").start().await.expect("a stack");
    let operator = Client::operator(&stack);
    seed(&stack).await;
    assert_eq!(operator.post(&of("erasure"), &json!({})).await.status, 202);
    let (walk, mut runs) = (activity(OURS, "walk", "walk", END), 0);
    for user in ["late", "latest"] {
        while items(&stack).await.len() > 1 {
            operator.invoke("continue-job", &step_of(OURS, "ErasureId-123")).await;
            runs += 1;
            assert!(runs < 20, "{user}");
        }
        put(&stack, &[registration(&walk, user)]).await;
        put_employee(&stack, user).await;
    }
    finish(&operator, "ErasureId-123").await;
    let left = items(&stack).await;
    assert_eq!(left.len(), 1, "{left:?}");
    let body = operator.get(&of("erasure")).await.body;
    assert_eq!((removed(&body)["Registration"], removed(&body)["Employee"]), (6, 3), "{body}");
}

/// The activities stay as they are, also their versions. Their number is that of several pages, and
/// they end at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_removes_the_employee_as_the_author_of_activities() {
    let stack = without_jobs().parameter(QUIET, "1").start().await.expect("a stack");
    let (operator, erasure) = (Client::operator(&stack), of("employees/ann/erasure"));
    let hers: Vec<Activity> =
        (0..201).map(|number| changed_by("ann", activity(OURS, &format!("walk-{number}"), "Walk", END))).collect();
    put(&stack, &hers).await;
    let (bobs, theirs) = (activity(OURS, "bobs", "Run", END), activity(THEIRS, "theirs", "Run", END));
    put(&stack, &[changed_by("bob", bobs), changed_by("ann", theirs)]).await;
    // An activity that cannot be read, and one with a damaged author.
    let (dynamo, own) = table(&stack);
    for (number, attribute) in [(1, Activity::NAME), (2, Activity::CHANGED_BY)] {
        let damage = own.update(Activity::key_of(hers[number].id())).set(attribute, 7);
        dynamo.write(damage).await.expect("written");
    }
    let before = items_in(&stack, "Activities").await;
    let named = async || {
        let all = items_in(&stack, "Activities").await.into_iter();
        all.filter(|(_, item)| item["ChangedBy"]["sub"] == "ann").map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    for run in 0.. {
        if named().await.len() == 1 {
            break;
        }
        assert!(run < 20, "the job removes no authors");
        operator.invoke("continue-job", &step_of(OURS, "EmployeeErasureId-ann")).await;
    }
    // Her token is still valid.
    let ann = Client::member(&stack, "wellness:admin", OURS, "ann");
    let change = json!({"version": 1, "name": "Swim"});
    assert_eq!(ann.patch(&of("activities/walk-0"), &change).await.status, 200);
    finish(&operator, "EmployeeErasureId-ann").await;
    assert_eq!(named().await, ["ActivityId-theirs Program"]);
    let after = items_in(&stack, "Activities").await;
    for (key, mut old) in before.into_iter().filter(|(key, _)| *key != "ActivityId-walk-0 Program") {
        if old["ChangedBy"]["sub"] == "ann" && !key.starts_with("ActivityId-theirs") {
            old.as_object_mut().expect("an item").remove("ChangedBy");
        }
        assert_eq!(after[&key], old);
    }
    let body = operator.get(&erasure).await.body;
    assert_eq!(removed(&body), BTreeMap::from([("Author".to_owned(), 201)]), "{body}");
}

/// An employee who is added again during the erasure keeps what happens since then.
#[tokio::test(flavor = "multi_thread")]
async fn an_employee_who_returns_during_the_erasure_keeps_new_data() {
    // No stream function runs, which would enrol her in between.
    let stack = super::cost::by_hand().parameter(QUIET, "0").start().await.expect("a stack");
    let operator = Client::operator(&stack);
    seed(&stack).await;
    let erasure = of("employees/ann/erasure");
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    put_employee(&stack, "ann").await;
    let swim = activity(OURS, "swim", "swim", END);
    let later = Registration { registered_at: parsed("2099-01-01T00:00:00Z"), ..registration(&swim, "ann") };
    put(&stack, &[later]).await;
    put(&stack, &[swim]).await;
    let hers = async || {
        let mut all = items(&stack).await;
        all.retain(|key, _| key.ends_with("UserId-ann"));
        all
    };
    let version = async || hers().await.values().find_map(|item| item["Version"].as_i64());
    let before = version().await.expect("an employee");
    finish(&operator, "EmployeeErasureId-ann").await;
    let left = hers().await;
    assert!(left.len() == 2 && left.contains_key("ActivityId-swim Registration#UserId-ann"), "{left:?}");
    // The job has marked her, so that register-new-employee enrols her once more.
    assert_eq!(version().await, Some(before + 1), "{left:?}");
    // A second erasure removes the rest.
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    finish(&operator, "EmployeeErasureId-ann").await;
    assert_eq!(hers().await, BTreeMap::new());
}

/// The units of a request count for the company of the caller, and those of a batch for each
/// company.
#[tokio::test]
async fn units_are_counted_for_each_company() {
    let stack = stack().start().await.expect("a stack");
    let (_, own) = table(&stack);
    let read = async |company: &str| {
        let key = Key::new(&format!("CompanyId-{company}"), &"Plans");
        own.get::<wellness::Plans>(&key).await.expect("read")
    };
    #[expect(clippy::disallowed_methods, reason = "the deadline of the calls")]
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    let work = async {
        read("nobody").await;
        table::for_tenant(&OURS, async {
            read(OURS).await;
            table::with_reserved_time(Duration::from_secs(1), read(OURS)).await;
        })
        .await;
        table::for_tenant(&THEIRS, read(THEIRS)).await;
    };
    let ((), usage) = table::measured(deadline, work).await;
    let units: Vec<_> = usage.tenants.iter().map(|(tenant, (read, _))| (tenant.as_str(), read.as_f64())).collect();
    assert_eq!((units, usage.tenant), (vec![(OURS, 2.0), (THEIRS, 1.0)], None));
    let ((), usage) = table::measured(deadline, async { table::set_tenant(&OURS) }).await;
    assert_eq!(usage.tenant.as_deref(), Some(OURS));
}
