//! Tests of W34: the export and the erasure of a company, and the erasure of an employee.

use keys::TimestampSeconds;
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem, drained,
    faults::{Fault, MOMENTS, Process, Proxy},
    parsed, send, text, until,
    wellness::{
        activity, admin, challenge, create, event_at,
        files::{download, file_of, upload_file},
        of_company, put,
        references::{step_of, without_jobs},
        registration, registration_of, stack, table,
    },
};
use table::Key;
use wellness::Registration;

const OURS: &str = "123";
const THEIRS: &str = "1234";
const END: &str = "2099-12-31T23:59:59";
const QUIET: &str = "ErasureQuietSeconds";

/// All items of both tables, by table and key.
type Items = BTreeMap<(String, String), Value>;

async fn items(stack: &Stack) -> Items {
    let client = stack.client().expect("a client");
    let mut items = Items::new();
    for table in ["Activities", "WellnessJobs"] {
        let scan = client.scan().table_name(stack.table(table).expect("a table")).consistent_read(true);
        let mut pages = scan.into_paginator().items().send();
        while let Some(item) = pages.next().await {
            let item: Value = serde_dynamo::from_item(item.expect("an item")).expect("JSON");
            items.insert((table.to_owned(), format!("{} {}", text(&item, "PK"), text(&item, "SK"))), item);
        }
    }
    items
}

/// The items that name the company, by its id or by an activity of it.
fn of_one(items: &Items, company: &str) -> Items {
    let activities: BTreeSet<&str> = items
        .values()
        .filter(|item| item["Type"] == "Activity" && item["CompanyId"] == company)
        .map(|item| text(item, "PK"))
        .collect();
    let is_own = |item: &Value| {
        let partition = text(item, "PK");
        let own = format!("CompanyId-{company}");
        partition == own || partition.starts_with(&format!("{own}#")) || activities.contains(partition)
    };
    items.iter().filter(|(_, item)| is_own(item)).map(|(key, item)| (key.clone(), item.clone())).collect()
}

/// The folder of a bucket of the stack.
fn bucket(stack: &Stack, name: &str) -> PathBuf {
    let folders = fs::read_dir(stack.lake()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().ends_with(name));
    folders.into_iter().find(is_it).unwrap_or_else(|| stack.lake().join(format!("stack-{name}")))
}

/// The objects below a folder, by path.
fn objects(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(objects(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).expect("an object"));
        }
    }
    found
}

fn files(stack: &Stack) -> BTreeMap<String, Vec<u8>> {
    objects(&bucket(stack, "wellness-files"))
}

fn failures(stack: &Stack) -> BTreeMap<String, Vec<u8>> {
    objects(&bucket(stack, "wellness-failedchanges"))
}

/// Writes a failed batch with a change of an employee of each company.
fn fail_batch(stack: &Stack, name: &str, owners: &[(&str, &str)]) {
    let change = |(company, user): &(&str, &str)| {
        json!({"dynamodb": {"Keys": {"PK": {"S": format!("CompanyId-{company}#Employees#0")},
            "SK": {"S": format!("UserId-{user}")}}}})
    };
    let payload = json!({"Records": owners.iter().map(change).collect::<Vec<_>>()});
    let document = json!({"version": "1.0", "payload": payload.to_string()});
    let folder = bucket(stack, "wellness-failedchanges").join("aws/lambda/mapping");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), document.to_string()).expect("written");
}

/// Lets a company use most of the service.
async fn live(stack: &Stack, company: &str) {
    let admin = admin(stack, company);
    let of = |rest: &str| of_company(company, rest);
    let section = json!({"name": "Spring", "startDate": "2099-01-01", "endDate": "2099-12-31"});
    assert_eq!(admin.put(&of("sections/s"), &section).await.status, 201);
    let plan = json!({"name": "Year", "startDate": "2099-01-01", "endDate": "2099-12-31"});
    assert_eq!(admin.put(&of("plans/year"), &plan).await.status, 201);
    let hall = json!({"name": "Hall", "data": {"City": "Chicago"}});
    assert_eq!(admin.put(&of("references/venues/hall"), &hall).await.status, 201);
    assert_eq!(admin.post_once(&of("templates"), "T", &json!({"name": "Walk"})).await.status, 201);
    let walk = text(&create(&admin, company, &challenge("Walk", END)).await, "activityId").to_owned();
    let mut drive = event_at("Blood drive", END, &["hall"]);
    drive["capacity"] = 1.into();
    let drive = text(&create(&admin, company, &drive).await, "activityId").to_owned();
    let placed = json!({"role": "R", "department": "D", "name": "Ann"});
    for user in ["ann", "bob", "cleo"] {
        assert_eq!(admin.put(&of(&format!("employees/{user}")), &placed).await.status, 201);
    }
    for user in ["ann", "bob", "cleo"] {
        let path = registration_of(company, user, &walk);
        until(&admin, &format!("/wellness/users/{user}/registrations?companyId={company}&year=2099"), |answer| {
            answer.body["items"].as_array().is_some_and(|items| !items.is_empty())
        })
        .await;
        assert_eq!(admin.patch(&path, &json!({"progress": 100})).await.status, 200);
        let join = admin.request("PUT", &registration_of(company, user, &drive));
        assert_eq!(send(join).await.status, 201);
    }
    let correction = json!({"planId": "year", "amount": 5, "reason": "Helped"});
    for user in ["ann", "bob"] {
        let points = format!("/wellness/users/{user}/points?companyId={company}");
        assert_eq!(admin.post_once(&points, &format!("points-of-{user}"), &correction).await.status, 201);
    }
    let made = admin.post(&of("files"), &file_of("Guide", "text/plain", b"hello")).await;
    assert_eq!(upload_file(&made.body["upload"], b"hello").await, 200);
    let file = of(&format!("references/files/{}", text(&made.body, "fileId")));
    until(&admin, &file, |answer| answer.body["status"] == "ready").await;
    assert_eq!(admin.post(&of("plans/year/report"), &json!({})).await.status, 202);
    until(&admin, &of("plans/year/report"), |answer| answer.status == 200).await;
    settled(stack, company).await;
}

/// Waits until no job of the company is running.
async fn settled(stack: &Stack, company: &str) {
    let operator = Client::operator(stack);
    drained(&operator, "register-new-employee").await;
    for _ in 0..1_000 {
        let running = of_one(&items(stack).await, company);
        if !running.values().any(|item| item["Type"] == "Job" && item["State"] == "running") {
            return;
        }
        drained(&operator, "continue-job").await;
    }
    unreachable!("a job does not end");
}

async fn done(client: &Client, path: &str) -> Value {
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

fn counts<'a>(items: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item["Type"].as_str().unwrap_or("StoredItem").to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_company_leaves_nothing_and_others_keep_every_byte() {
    let stack = stack().parameter(QUIET, "1").start().await.expect("a stack");
    let operator = Client::operator(&stack);
    live(&stack, OURS).await;
    live(&stack, THEIRS).await;
    let (dynamo, own) = table(&stack);
    let bad = Key::new(&format!("CompanyId-{OURS}"), &"Section#SectionId-bad");
    dynamo.write(own.upsert(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
    fail_batch(&stack, "ours", &[(OURS, "ann")]);
    fail_batch(&stack, "both", &[(OURS, "ann"), (THEIRS, "bob")]);
    fail_batch(&stack, "theirs", &[(THEIRS, "ann")]);
    let export = of_company(OURS, "export");
    assert_eq!(operator.post(&export, &json!({})).await.status, 202);
    let exported = done(&operator, &export).await["files"].as_array().expect("files").len();
    settled(&stack, THEIRS).await;
    let (before, before_files) = (items(&stack).await, files(&stack));

    let erasure = of_company(OURS, "erasure");
    let started = operator.post(&erasure, &json!({})).await;
    assert_eq!((started.status, &started.body["jobId"]), (202, &json!("ErasureId-123")), "{}", started.body);
    let body = done(&operator, &erasure).await;

    let after = items(&stack).await;
    let left: Vec<_> = of_one(&after, OURS).into_values().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(text(&left[0], "SK"), "Job#ErasureId-123");
    for user in ["ann", "Ann", "Walk", "Helped"] {
        assert!(!left[0].to_string().contains(user), "{}", left[0]);
    }
    assert_eq!(of_one(&after, THEIRS), of_one(&before, THEIRS));
    assert_eq!(after.len(), of_one(&after, THEIRS).len() + 1, "no item without an owner remains");
    let mut expected = counts(of_one(&before, OURS).values());
    expected.insert("Object".to_owned(), u64::try_from(exported).expect("a number") + 1);
    expected.insert("FailedEvent".to_owned(), 2);
    assert_eq!(removed(&body), expected);

    let others: BTreeMap<_, _> = before_files.into_iter().filter(|(path, _)| !path.contains("/123/")).collect();
    assert_eq!(files(&stack), others);
    let left = failures(&stack);
    let names: Vec<_> = left.keys().map(|path| path.rsplit('/').next().expect("a name")).collect();
    assert_eq!(names, ["both", "theirs"]);
    assert!(left.values().all(|document| !String::from_utf8_lossy(document).contains("CompanyId-123#")));
    assert!(left.values().all(|document| String::from_utf8_lossy(document).contains("CompanyId-1234#")));

    let kept = body["kept"].as_array().expect("copies").iter();
    let kept: BTreeMap<_, TimestampSeconds> = kept.map(|one| (text(one, "what"), parsed(text(one, "until")))).collect();
    let end: TimestampSeconds = parsed(text(&body, "completedAt"));
    assert_eq!((kept["point-in-time recovery"], kept["logs"]), (end.plus_days(35), end.plus_days(30)));
    assert_eq!(kept["streams"], end.plus_days(1));
    // The erased company can start again.
    live(&stack, OURS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_contains_every_item_and_file() {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    live(&stack, OURS).await;
    live(&stack, THEIRS).await;
    let (dynamo, own) = table(&stack);
    let bad = Key::new(&format!("CompanyId-{OURS}"), &"Section#SectionId-bad");
    dynamo.write(own.upsert(bad).set(Registration::PROGRESS, &"none")).await.expect("written");
    let export = of_company(OURS, "export");
    assert_problem(&operator.get(&export).await, 404, "not-found");
    let started = operator.post(&export, &json!({})).await;
    assert_eq!((started.status, &started.body["kind"]), (202, &json!("export")), "{}", started.body);
    let body = done(&operator, &export).await;
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    for file in body["files"].as_array().expect("files") {
        let (status, name, content) = download(text(file, "downloadUrl")).await;
        assert_eq!((status, content.len()), (200, usize::try_from(file["bytes"].as_u64().unwrap()).unwrap()));
        assert!(name.starts_with("attachment"), "{name}");
        if let Some(count) = file["items"].as_u64() {
            let content = String::from_utf8(content).expect("a text");
            let read: Vec<Value> = content.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(u64::try_from(read.len()).expect("a number"), count, "{file}");
            lines.extend(read);
        } else {
            assert!(text(file, "name").starts_with("files/"), "{file}");
            texts.push(content);
        }
    }
    assert_eq!(texts, [b"hello"]);
    let key = |item: &Value| format!("{} {}", text(item, "PK"), text(item, "SK"));
    let exported: BTreeMap<String, Value> = lines.into_iter().map(|item| (key(&item), item)).collect();
    let stored = of_one(&items(&stack).await, OURS).into_iter().filter(|((table, _), _)| table == "Activities");
    assert_eq!(exported, stored.map(|((_, key), item)| (key, item)).collect());

    let others = admin(&stack, THEIRS);
    for path in [export.as_str(), &of_company(THEIRS, "export")] {
        assert_eq!(others.get(path).await.status, 403);
    }
    let url = body["files"][0]["downloadUrl"].as_str().expect("a URL");
    assert_eq!(download(&url.replace("/123/", "/1234/")).await.0, 403);
}

/// Runs a job until it is done, in separate invocations.
async fn finish(client: &Client, company: &str, job: &str) {
    for _ in 0..100 {
        let answer = client.get(&of_company(company, &format!("jobs/{job}"))).await;
        if answer.body["status"] != "running" {
            assert_eq!(answer.body["status"], "done", "{}", answer.body);
            return;
        }
        client.invoke("continue-job", &step_of(company, job)).await;
    }
    unreachable!("{job} does not end");
}

async fn by_hand(quiet: &str) -> (Stack, Proxy) {
    let stack = without_jobs().parameter(QUIET, quiet).start().await.expect("a stack");
    let proxy = Proxy::start(stack.dynamo_url()).await;
    (stack, proxy)
}

/// Puts a company with an employee and two activities.
async fn seed(stack: &Stack) {
    let employee = json!({"role": "R", "department": "D"});
    let admin = admin(stack, OURS);
    assert_eq!(admin.put(&of_company(OURS, "employees/ann"), &employee).await.status / 100, 2);
    for id in ["walk", "run"] {
        let activity = activity(OURS, id, id, END);
        put(stack, &["ann", "bob"].map(|user| registration(&activity, user))).await;
        put(stack, &[activity]).await;
    }
}

/// The job dies before or after any of its calls. The next runs complete it, and count each item
/// once.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_killed_at_any_call_completes_later() {
    let (stack, proxy) = by_hand("0").await;
    let operator = Client::operator(&stack);
    let process = Process::start(&stack, &proxy, "continue-job", &wellness::patterns::continue_job::function());
    let mut deaths = 0;
    for (path, job, step) in [("erasure", "ErasureId-123", 3), ("employees/ann/erasure", "EmployeeErasureId-ann", 1)] {
        for (call, moment) in (1..60).step_by(step).flat_map(|call| MOMENTS.map(|moment| (call, moment))) {
            seed(&stack).await;
            let before = counts(of_one(&items(&stack).await, OURS).values());
            let started = operator.post(&of_company(OURS, path), &json!({})).await;
            assert_eq!((started.status, &started.body["jobId"]), (202, &json!(job)));
            proxy.rule(move |it| if it.number == call { Fault::Death(moment) } else { Fault::None });
            let ended = process.run(&step_of(OURS, job), Duration::from_mins(1)).await;
            proxy.heal();
            deaths += usize::from(ended.is_none());
            finish(&operator, OURS, job).await;
            let body = operator.get(&of_company(OURS, path)).await.body;
            let left = of_one(&items(&stack).await, OURS);
            if path == "erasure" {
                assert_eq!(left.len(), 1, "{call} {moment:?}: {left:?}");
                let mut all = removed(&body);
                // The erasure that ran before has deleted its predecessors.
                all.retain(|kind, _| kind != "Job");
                assert_eq!(all, before.into_iter().filter(|(kind, _)| kind != "Job").collect());
            } else {
                assert!(left.keys().all(|(_, key)| !key.ends_with("UserId-ann")), "{call} {moment:?}: {left:?}");
                let expected = [("Employee", 1), ("Registration", 2)].map(|(kind, count)| (kind.to_owned(), count));
                assert_eq!(removed(&body), expected.into(), "{call} {moment:?}");
                assert!(left.keys().any(|(_, key)| key.ends_with("UserId-bob")));
            }
            if ended.is_some() {
                break;
            }
        }
    }
    assert!(deaths >= 40, "{deaths}");
}

/// An enrolment that has read an activity before its erasure puts a registration after it.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_removes_items_that_a_concurrent_function_writes() {
    let (stack, _proxy) = by_hand("2").await;
    let operator = Client::operator(&stack);
    seed(&stack).await;
    assert_eq!(operator.post(&of_company(OURS, "erasure"), &json!({})).await.status, 202);
    let step = step_of(OURS, "ErasureId-123");
    operator.invoke("continue-job", &step).await;
    assert_eq!(of_one(&items(&stack).await, OURS).len(), 1, "the first pass has removed everything");
    let walk = activity(OURS, "walk", "walk", END);
    put(&stack, &[registration(&walk, "late")]).await;
    let late = admin(&stack, OURS);
    let employee = json!({"role": "R", "department": "D"});
    assert_eq!(late.put(&of_company(OURS, "employees/late"), &employee).await.status, 201);
    finish(&operator, OURS, "ErasureId-123").await;
    let left = items(&stack).await;
    assert_eq!(left.len(), 1, "{left:?}");
    let body = operator.get(&of_company(OURS, "erasure")).await.body;
    assert_eq!((removed(&body)["Registration"], removed(&body)["Employee"]), (5, 2), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_employee_leaves_nothing_and_colleagues_keep_every_byte() {
    let stack = stack().parameter(QUIET, "1").start().await.expect("a stack");
    let operator = Client::operator(&stack);
    live(&stack, OURS).await;
    live(&stack, THEIRS).await;
    fail_batch(&stack, "both", &[(OURS, "ann"), (OURS, "bob"), (THEIRS, "ann")]);
    assert_eq!(operator.post(&of_company(OURS, "export"), &json!({})).await.status, 202);
    done(&operator, &of_company(OURS, "export")).await;
    let before = items(&stack).await;
    let erasure = of_company(OURS, "employees/ann/erasure");
    assert_problem(&operator.get(&erasure).await, 404, "not-found");
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    let body = done(&operator, &erasure).await;
    settled(&stack, OURS).await;
    let after = items(&stack).await;
    let mut all = removed(&body);
    let exported = all.remove("Object").expect("the objects of the export");
    assert!(exported >= 5, "{exported}");
    let expected = [("Correction", 1), ("Employee", 1), ("FailedEvent", 1), ("Registration", 2)];
    assert_eq!(all, expected.map(|(kind, count)| (kind.to_owned(), count)).into());
    // The erasure itself and the key of an idempotent request, which expires in a day, name her.
    let names = |item: &Value| item.to_string().contains("ann\"") || item.to_string().contains("UserId-ann");
    let ours = of_one(&after, OURS);
    let left: Vec<_> = ours.iter().filter(|(_, item)| names(item)).map(|((_, key), _)| key.as_str()).collect();
    assert!(left.iter().all(|key| key.contains("EmployeeErasureId-ann") || key.contains("IDEMPOTENCY#")), "{left:?}");
    assert_eq!(of_one(&after, THEIRS), of_one(&before, THEIRS));
    // Bob waited for the only seat that Ann gave up.
    let bob =
        |items: &Items| of_one(items, OURS).into_iter().filter(|((_, key), _)| key.contains("bob")).collect::<Items>();
    let (was, is) = (bob(&before), bob(&after));
    assert_eq!(was.keys().collect::<Vec<_>>(), is.keys().collect::<Vec<_>>());
    let changed: Vec<_> = is.iter().filter(|(key, item)| was[*key] != **item).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].1.get("Absence").is_none() && changed[0].1["Ticket"] == 2, "{changed:?}");
    let document = failures(&stack).into_values().next().expect("a document");
    let document = String::from_utf8(document).expect("a text");
    assert!(document.contains("UserId-bob") && document.contains("CompanyId-1234"), "{document}");
    assert!(!document.contains(r#"CompanyId-123#Employees#0\"},\"SK\":{\"S\":\"UserId-ann"#), "{document}");
    assert!(files(&stack).keys().all(|path| !path.contains("/exports/")));
}

/// An employee who is added again during the erasure keeps what happens since then.
#[tokio::test(flavor = "multi_thread")]
async fn an_employee_who_returns_during_the_erasure_keeps_new_data() {
    let (stack, _proxy) = by_hand("0").await;
    let operator = Client::operator(&stack);
    seed(&stack).await;
    let erasure = of_company(OURS, "employees/ann/erasure");
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    let admin = admin(&stack, OURS);
    let employee = json!({"role": "R", "department": "D"});
    assert_eq!(admin.put(&of_company(OURS, "employees/ann"), &employee).await.status, 201);
    let swim = activity(OURS, "swim", "swim", END);
    let later = Registration { registered_at: parsed("2099-01-01T00:00:00Z"), ..registration(&swim, "ann") };
    put(&stack, &[later]).await;
    put(&stack, &[swim]).await;
    finish(&operator, OURS, "EmployeeErasureId-ann").await;
    let left = of_one(&items(&stack).await, OURS);
    let hers: Vec<_> = left.keys().map(|(_, key)| key.as_str()).filter(|key| key.ends_with("UserId-ann")).collect();
    assert_eq!(hers.len(), 2, "{hers:?}");
    assert!(hers.contains(&"ActivityId-swim Registration#UserId-ann"), "{hers:?}");
    // The job has marked her, so that register-new-employee enrols her once more.
    let returned = left.values().find(|item| item["Type"] == "Employee" && item["SK"] == "UserId-ann");
    assert_eq!(returned.map(|item| &item["Version"]), Some(&json!(2)), "{left:?}");
    // A second erasure removes the rest.
    assert_eq!(operator.post(&erasure, &json!({})).await.status, 202);
    finish(&operator, OURS, "EmployeeErasureId-ann").await;
    let left = of_one(&items(&stack).await, OURS);
    assert!(left.keys().all(|(_, key)| !key.ends_with("UserId-ann")), "{left:?}");
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
    assert_eq!(units, [(OURS, 2.0), (THEIRS, 1.0)]);
    assert_eq!(usage.tenant, None);
    let ((), usage) = table::measured(deadline, async { table::set_tenant(&OURS) }).await;
    assert_eq!(usage.tenant.as_deref(), Some(OURS));
}
