//! Tests of jobs that are killed, fail, run out of time, or are retried. In some tests, other
//! requests edit the activities at the same time.
//!
//! At any time, every activity must refer to exactly one of the two venues. A job must count each
//! of its changes exactly once.

use futures::future::{join, join_all};
use jobs::{Job, MAX_ATTEMPTS, State};
use keys::{
    RequestId,
    wellness::{ActivityEndDateSort, Status},
};
use local::Stack;
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem,
    faults::{Call, Fault, MOMENTS, Process, Proxy},
    send,
    units::Consumed,
    until,
    wellness::references::{
        Rows, activity, in_2020, in_runs_of, named, path, read, record, reference, step_of, steps_of, stored,
    },
    wellness::{declared, of_company},
};
use table::{Attribute, Change, Key, Usage};
use wellness::{Activity, Case, Hold, Reference, Registration, following};

const CONTINUE: &str = "continue-job";
const YEAR: &str = "?from=2020-01-01&to=2020-12-31";
const END: &str = "2020-12-31T00:00:00";
const MOVED: &str = "2021-06-30T12:00:00";
const MINUTE: Duration = Duration::from_mins(1);

/// A stack without the event source mapping of the jobs, and a proxy that can make calls to
/// DynamoDB fail.
struct Scene {
    stack: Stack,
    proxy: Proxy,
    rows: Rows,
    client: Client,
}

impl Scene {
    async fn start() -> Self {
        let stack = in_2020().start().await.expect("a stack");
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let (rows, client) = (Rows::of(&stack), Client::operator(&stack));
        Self { stack, proxy, rows, client }
    }

    fn process(&self) -> Process<'_> {
        Process::start(&self.stack, &self.proxy, CONTINUE, &wellness::patterns::continue_job::function())
    }

    async fn job(&self, task: &Task) -> Job {
        self.rows.job(&task.company, &task.id).await
    }

    /// Invokes the job function until the job is done. Returns the number of invocations, or `None`
    /// if the function died.
    async fn run(&self, task: &Task, timeout: Duration) -> Option<usize> {
        let process = self.process();
        for calls in 0..1_000 {
            if self.job(task).await.state == State::Done {
                return Some(calls);
            }
            process.run(&task.step(), timeout).await?;
        }
        unreachable!("the job of {} does not end", task.company);
    }

    /// Invokes the function once. Returns the batch item failures in its response.
    async fn call(&self, event: &Value) -> Value {
        let run = self.process().run(event, MINUTE).await.expect("the function survives");
        run.answer.expect("an answer")["batchItemFailures"].clone()
    }
}

/// A job on `count` references to a venue, or on `count` registrations of an activity.
struct Task {
    kind: Kind,
    company: String,
    id: String,
    activities: Vec<Activity>,
    count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Replacement,
    Update,
    Registrations,
}

const KINDS: [Kind; 3] = [Kind::Replacement, Kind::Update, Kind::Registrations];

impl Task {
    /// Puts the items that the job changes, and starts the job.
    async fn start(rows: &Rows, client: &Client, kind: Kind, company: &str, count: usize) -> Self {
        let one = |number: usize| {
            let status = if number.is_multiple_of(3) { Status::Draft } else { Status::Active };
            activity(company, &format!("{company}-{number}"), status, &end(number))
        };
        let activities = if kind == Kind::Registrations { Vec::new() } else { (0..count).map(one).collect() };
        let id =
            if kind == Kind::Registrations { format!("ActivityId-{company}-walk") } else { "VenueId-1".to_owned() };
        let task = Self { kind, company: company.to_owned(), id, activities, count };
        if kind == Kind::Registrations {
            rows.put(&[task.walk()]).await;
            let all: Vec<_> = (0..count).map(|number| task.registration(&format!("U{number}"))).collect();
            rows.put(&all).await;
            task.move_end(rows, MOVED).await;
            return task;
        }
        rows.put_uses(&task.activities, "VenueId-1", &json!({"v": 1})).await;
        rows.put(&[record(company, "VenueId-1", &json!({"v": 1}))]).await;
        let answer = task.ask(client).await;
        assert_eq!((answer.status, &answer.body["left"]), (202, &json!(count)), "{}", answer.body);
        task
    }

    async fn ask(&self, client: &Client) -> Answer {
        let venue = |rest: &str| path(&self.company, "venues", "1", &format!("{rest}{YEAR}"));
        match self.kind {
            Kind::Update => client.patch(&venue(""), &json!({"data": {"v": 2}})).await,
            _ => client.post(&venue("/replacement"), &json!({"replacementId": "2", "data": {"v": 2}})).await,
        }
    }

    fn step(&self) -> Value {
        step_of(&self.company, &self.id)
    }

    /// Returns the activity that the users are registered for.
    fn walk(&self) -> Activity {
        activity(&self.company, &format!("{}-walk", self.company), Status::Active, END)
    }

    fn registration(&self, user: &str) -> Registration {
        let made = read("2020-01-01T00:00:00Z");
        Registration::new(read(&self.company), self.walk().id().clone(), read(END), read(user), made)
    }

    /// Changes the end date as W16 (update-activity) does. The same transaction puts the job, and
    /// overwrites a running job.
    async fn move_end(&self, rows: &Rows, end: &str) {
        let (walk, run) = (self.walk(), RequestId::new(jiff::Timestamp::now(), &system_tests::random()));
        let job = following(&walk.company, walk.id(), run, read("2020-01-01T00:00:00Z")).expect("a job");
        let put = rows.jobs.put(&job).expect("writable");
        rows.move_activity(walk.id(), Status::Active, read(end), &[put]).await;
    }

    /// Checks that each activity has exactly one of the two references, and that no registration is
    /// lost.
    async fn assert_whole(&self, rows: &Rows, when: &str) {
        let of_company = format!("CompanyId-{}#", self.company);
        let all = rows.all_references().await;
        let own = all.iter().filter(|reference| reference.uses.to_string().starts_with(&of_company));
        let mut found: Vec<_> = own.map(|reference| reference.partition.0.clone()).collect();
        let mut wanted: Vec<_> = self.activities.iter().map(|activity| activity.id().clone()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{when}");
        let registrations = rows.registrations(self.walk().id()).await;
        assert_eq!(registrations.len(), if self.kind == Kind::Registrations { self.count } else { 0 }, "{when}");
    }

    /// Checks that the job has changed every item and has counted each change once.
    async fn assert_done(&self, scene: &Scene, when: &str) {
        let rows = &scene.rows;
        self.assert_whole(rows, when).await;
        let (venue, data) = (if self.kind == Kind::Update { "VenueId-1" } else { "VenueId-2" }, json!({"v": 2}));
        for stored in join_all(self.activities.iter().map(|activity| rows.activity(activity.id()))).await {
            assert_eq!(rows.venues(stored.id()).await, [reference(&stored, venue, &data)], "{when}");
        }
        for registration in rows.registrations(self.walk().id()).await {
            let end = ActivityEndDateSort(rows.activity(self.walk().id()).await.end());
            assert_eq!(
                registration,
                Registration { end, ..self.registration(&registration.sort.0.to_string()) },
                "{when}"
            );
        }
        let job = scene.client.get(&of_company(&self.company, &format!("jobs/{}", self.id))).await.body;
        assert_eq!((&job["status"], &job["left"]), (&json!("done"), &json!(0)), "{when}: {job}");
        assert_eq!(job["done"], json!(self.count), "{when}");
        let hold: Option<Hold> =
            rows.jobs.get(&Hold::key_of(&read(&self.company), &named("venues", "2"))).await.expect("read");
        assert_eq!(hold, None, "{when}");
    }
}

fn end(number: usize) -> String {
    format!("2020-{:02}-{:02}T00:00:00", 1 + number % 12, 1 + number % 28)
}

/// Changes the statuses and end dates of random activities until `stop` is set. The end dates stay
/// within the job's period.
async fn edit(rows: &Rows, task: &Task, seed: u64, stop: &AtomicBool) -> usize {
    let (mut random, mut moves) = (fastrand::Rng::with_seed(seed), 0);
    while !stop.load(Ordering::Relaxed) {
        let activity = &task.activities[random.usize(..task.activities.len())];
        let status = if random.bool() { Status::Draft } else { Status::Active };
        rows.move_activity(activity.id(), status, read(end(random.usize(..) % 336)), &[]).await;
        moves += 1;
    }
    moves
}

async fn killed_while_others_edit(kind: Kind, count: usize, kills: usize) {
    let (seed, scene) = (fastrand::u64(..), Scene::start().await);
    let when = format!("seed {seed}");
    let task = Task::start(&scene.rows, &scene.client, kind, "C", count).await;
    let mut random = fastrand::Rng::with_seed(seed);
    let stop = AtomicBool::new(false);
    let work = async {
        for kill in 0..kills {
            let number = random.usize(1..=count / kills * 4 / 3);
            let moment = MOMENTS[random.usize(..2)];
            scene.proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            assert!(scene.run(&task, MINUTE).await.is_none(), "{when}: the job ended before kill {kill}");
            task.assert_whole(&scene.rows, &format!("{when}, kill {kill}")).await;
        }
        let killed = scene.job(&task).await;
        assert!(killed.state == State::Running && killed.done < count as u64, "{when}: {killed:?}");
        scene.proxy.heal();
        assert!(scene.run(&task, MINUTE).await.is_some(), "{when}");
        stop.store(true, Ordering::Relaxed);
    };
    let ((), moves) = Box::pin(join(work, edit(&scene.rows, &task, seed, &stop))).await;
    assert!(moves > kills, "{when}: only {moves} moves");
    task.assert_done(&scene, &when).await;
    for status in Status::ALL {
        let path = path("C", "venues", "1", &format!("/activities{YEAR}&status={status}&limit=100"));
        let (old, _) = scene.client.all(&path).await;
        assert_eq!(
            old.len(),
            if kind == Kind::Replacement { 0 } else { of_status(&scene, &task, status).await },
            "{when}"
        );
    }
    scene.stack.stop().await;
}

async fn of_status(scene: &Scene, task: &Task, status: Status) -> usize {
    let stored = join_all(task.activities.iter().map(|activity| scene.rows.activity(activity.id()))).await;
    stored.iter().filter(|activity| activity.status == status).count()
}

#[tokio::test]
async fn an_update_of_300_references_survives_20_kills_during_edits() {
    Box::pin(killed_while_others_edit(Kind::Update, 300, 20)).await;
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn a_replacement_of_3000_references_survives_20_kills_during_edits() {
    Box::pin(killed_while_others_edit(Kind::Replacement, 3_000, 20)).await;
}

#[tokio::test]
async fn a_run_stops_at_its_deadline_and_the_next_run_resumes() {
    let scene = Scene::start().await;
    for kind in KINDS {
        let task = Task::start(&scene.rows, &scene.client, kind, &format!("{kind:?}"), 400).await;
        // Each run has twice the time of the last one, until a run is long enough for a step, on
        // any machine.
        let (mut time, mut calls, process) = (Duration::from_millis(1), 0, scene.process());
        while scene.job(&task).await.state != State::Done {
            assert!(time < MINUTE, "{kind:?}: the job does not end");
            process.run(&task.step(), time).await.expect("no crash");
            (time, calls) = (2 * time, calls + 1);
        }
        assert!(calls > 1, "{kind:?}: the job took {calls} invocations");
        task.assert_done(&scene, &format!("{kind:?} in {calls} calls")).await;
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn the_stream_runs_a_job_until_it_has_ended() {
    let stack = in_runs_of(1).clock("2020-01-01T00:00:00Z".parse().expect("a time")).start().await.expect("a stack");
    let (rows, client) = (Rows::of(&stack), Client::operator(&stack));
    let proxy = Proxy::start(stack.dynamo_url()).await;
    let mut tasks = Vec::new();
    for (kind, count) in
        [(Kind::Replacement, 300), (Kind::Update, 60), (Kind::Registrations, 200), (Kind::Replacement, 0)]
    {
        tasks.push(Task::start(&rows, &client, kind, &format!("{kind:?}-{count}"), count).await);
    }
    for task in &tasks {
        let job = of_company(&task.company, &format!("jobs/{}", task.id));
        until(&client, &job, |answer| answer.body["status"] == "done").await;
    }
    let streams = client.get("/_local/streams").await.body;
    let mappings = streams["mappings"].as_array().expect("mappings").iter();
    assert!(mappings.clone().any(|mapping| mapping["function"] == CONTINUE && mapping["givenUp"] == 0), "{streams}");
    let scene = Scene { stack, proxy, rows, client };
    for task in &tasks {
        task.assert_done(&scene, &task.company).await;
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_failing_job_does_not_delay_the_other_jobs_of_its_batch() {
    let scene = Scene::start().await;
    let mut tasks = Vec::new();
    for company in ["A", "B", "C"] {
        tasks.push(Task::start(&scene.rows, &scene.client, Kind::Replacement, company, 3).await);
    }
    let batch =
        steps_of(&[("A", "VenueId-1"), ("B", "VenueId-1"), ("A", "VenueId-1"), ("C", "VenueId-1"), ("D", "VenueId-1")]);
    scene.proxy.rule(|call| {
        let is_of_b = call.action == "TransactWriteItems" && call.body.to_string().contains("CompanyId-B#");
        if is_of_b { Fault::throttled() } else { Fault::None }
    });
    assert_eq!(scene.call(&batch).await, json!([{"itemIdentifier": "2"}]));
    let done: Vec<u64> = join_all(tasks.iter().map(|task| scene.job(task))).await.iter().map(|job| job.done).collect();
    assert_eq!(done, [3, 0, 3]);
    scene.proxy.heal();
    assert_eq!(scene.call(&batch).await, json!([]));
    assert_eq!(scene.call(&batch).await, json!([]));
    for task in &tasks {
        task.assert_done(&scene, &task.company).await;
    }
    scene.stack.stop().await;
}

/// Whether `call` changes a registration.
fn is_of_registration(call: &Call) -> bool {
    call.body["Key"]["SK"]["S"].as_str().is_some_and(|sort| sort.starts_with("Registration#"))
}

impl Scene {
    /// Returns the job in the form of a response.
    async fn body(&self, task: &Task) -> Value {
        self.client.get(&task.path()).await.body
    }

    async fn retry(&self, task: &Task) -> Answer {
        send(self.client.request("POST", &format!("{}/retry", task.path()))).await
    }

    /// Starts a replacement that fails, because DynamoDB rejects a change.
    async fn failed_replacement(&self) -> Task {
        let task = Task::start(&self.rows, &self.client, Kind::Replacement, "C", 3).await;
        self.fail(&task, 0, "failed").await;
        task
    }

    /// Runs the job while DynamoDB rejects the change of one item. The job fails.
    async fn fail(&self, task: &Task, number: usize, when: &str) {
        self.proxy.rule(task.rejection(number));
        self.call(&task.step()).await;
        self.proxy.heal();
        self.assert_failed(task, INTERNAL, when).await;
    }

    /// Sets an attribute of the job's item.
    async fn set(&self, task: &Task, attribute: Attribute, value: impl Into<table::Value>) {
        let update = self.rows.jobs.update(self.job(task).await.key()).set(attribute, value);
        self.rows.dynamo.write(update).await.expect("written");
    }

    /// Checks that the job has failed for the given reason, has no hold, and does not run again.
    async fn assert_failed(&self, task: &Task, reason: &str, when: &str) {
        let body = self.body(task).await;
        assert_eq!((&body["status"], &body["reason"]), (&json!("failed"), &json!(reason)), "{when}: {body}");
        assert_eq!(self.job(task).await.run, None, "{when}");
        let hold = Hold::key_of(&read(&task.company), &named("venues", "2"));
        assert_eq!(self.rows.jobs.get::<Hold>(&hold).await.expect("read"), None, "{when}");
        assert_eq!(self.call(&task.step()).await, json!([]), "{when}");
        assert_eq!(self.body(task).await, body, "{when}");
    }
}

impl Task {
    fn path(&self) -> String {
        of_company(&self.company, &format!("jobs/{}", self.id))
    }

    /// Returns an item that the job changes, one of the item's attributes, and a value that makes
    /// the item unreadable.
    fn victim(&self, number: usize) -> (Key, Attribute, table::Value) {
        if self.kind == Kind::Registrations {
            let registration = self.registration(&format!("U{number}"));
            return (
                Registration::key_of(self.walk().id(), &registration.sort.0),
                Registration::END,
                (&"nonsense").into(),
            );
        }
        let venue = named("venues", "1");
        (Reference::key_of(self.activities[number].id(), &venue), Reference::COPIED_DATA, 5.into())
    }

    /// Makes an item that the job changes unreadable. Returns the update that repairs the item.
    async fn spoil(&self, rows: &Rows, number: usize) -> Change {
        let (key, attribute, nonsense) = self.victim(number);
        let right = match self.kind {
            Kind::Registrations => (&ActivityEndDateSort(read(END))).into(),
            _ => table::Value::of(&stored(&json!({"v": 1}))).expect("a value"),
        };
        rows.dynamo.write(rows.table.update(key.clone()).set(attribute, nonsense)).await.expect("spoiled");
        rows.table.update(key).set(attribute, right)
    }

    /// Returns a rule that rejects the change of an item.
    fn rejection(&self, number: usize) -> impl Fn(&Call) -> Fault + Send + 'static + use<> {
        let (key, ..) = self.victim(number);
        move |call| {
            let body = call.body.to_string();
            let is_change = matches!(call.action.as_str(), "UpdateItem" | "TransactWriteItems");
            if is_change && [key.partition(), key.sort()].iter().all(|part| body.contains(&format!("{part:?}"))) {
                let rejection =
                    json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "injected"});
                return Fault::Refused(axum::http::StatusCode::BAD_REQUEST, rejection);
            }
            Fault::None
        }
    }
}

/// Maximum number of invocations for a small job.
const MAX_CALLS: usize = 100;
const INTERNAL: &str = "An internal error stopped the job. The log contains the cause.";

#[tokio::test]
async fn a_job_passes_over_an_unreadable_item_and_reports_it() {
    let scene = Scene::start().await;
    for kind in KINDS {
        let (bad, good) = (format!("{kind:?}-bad"), format!("{kind:?}-good"));
        let bad = Task::start(&scene.rows, &scene.client, kind, &bad, 3).await;
        let good = Task::start(&scene.rows, &scene.client, kind, &good, 3).await;
        let repair = bad.spoil(&scene.rows, 1).await;
        let batch = steps_of(&[(&bad.company, &bad.id), (&good.company, &good.id)]);
        assert_eq!(scene.call(&batch).await, json!([]), "{kind:?}");
        for task in [&bad, &good] {
            assert!(scene.run(task, MINUTE).await.is_some(), "{kind:?}");
        }
        let body = scene.body(&bad).await;
        let shown = ["status", "done", "skipped", "left"].map(|member| body[member].clone());
        assert_eq!(shown, [json!("done"), json!(2), json!(1), json!(0)], "{kind:?}: {body}");
        assert_eq!(scene.retry(&bad).await.status, 409, "a job that passed over an item is done");
        scene.rows.dynamo.write(repair).await.expect("repaired");
        good.assert_done(&scene, "good").await;
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn an_unreadable_job_fails() {
    let scene = Scene::start().await;
    let attributes = [
        (Job::TASK, "A stored Task cannot be read."),
        (Job::PROGRESS, "A stored Progress cannot be read."),
        (Job::ID, "A stored Job cannot be read."),
    ];
    for (attribute, reason) in attributes {
        let task = Task::start(&scene.rows, &scene.client, Kind::Replacement, attribute.as_str(), 3).await;
        scene.set(&task, attribute, &"nonsense").await;
        assert_eq!(scene.call(&task.step()).await, json!([]), "{attribute}");
        scene.assert_failed(&task, reason, attribute.as_str()).await;
    }
    let task = Task::start(&scene.rows, &scene.client, Kind::Update, "Step", 3).await;
    let key = scene.job(&task).await.key();
    scene.set(&task, Job::STEP, &"nonsense").await;
    let mut batch = steps_of(&[("x", "VenueId-1"), ("Step", "VenueId-1"), ("y", "VenueId-1")]);
    batch["Records"][0]["dynamodb"]["Keys"] = json!({"PK": {"S": "CompanyId-"}, "SK": {"N": "1"}});
    batch["Records"][2] = json!({"eventID": 7});
    assert_eq!(scene.call(&batch).await, json!([]));
    scene.rows.dynamo.write(scene.rows.jobs.update(key).set(Job::STEP, 0)).await.expect("repaired");
    scene.assert_failed(&task, "The stored job cannot be read.", "the header").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_job_fails_if_dynamodb_rejects_its_change() {
    let scene = Scene::start().await;
    for (kind, action) in
        [(Kind::Replacement, "TransactWriteItems"), (Kind::Update, "UpdateItem"), (Kind::Registrations, "UpdateItem")]
    {
        let task = Task::start(&scene.rows, &scene.client, kind, &format!("{kind:?}"), 3).await;
        let rejection = json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "injected"});
        scene.proxy.rule(move |call| {
            let is_change = call.action == action && call.table.as_deref().is_some_and(|it| it.ends_with("Activities"));
            if is_change { Fault::Refused(axum::http::StatusCode::BAD_REQUEST, rejection.clone()) } else { Fault::None }
        });
        assert_eq!(scene.call(&task.step()).await, json!([]), "{kind:?}");
        scene.proxy.heal();
        scene.assert_failed(&task, INTERNAL, &format!("{kind:?}")).await;
        assert_eq!(scene.retry(&task).await.status, 202);
        assert!(scene.run(&task, MINUTE).await.is_some());
        task.assert_done(&scene, &format!("{kind:?}")).await;
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_job_fails_after_repeated_condition_failures() {
    let scene = Scene::start().await;
    let task = Task::start(&scene.rows, &scene.client, Kind::Update, "C", 1).await;
    let item = entry(&task.activities[0]);
    scene.proxy.rule(move |call| {
        let is_change = call.action == "UpdateItem" && call.body["Key"]["SK"]["S"] == "Program#Venue#VenueId-1";
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        let refusal = json!({"__type": kind, "message": "injected", "Item": item});
        if is_change { Fault::Refused(axum::http::StatusCode::BAD_REQUEST, refusal) } else { Fault::None }
    });
    assert_eq!(scene.call(&task.step()).await, json!([{"itemIdentifier": "1"}]), "a conflict is retried");
    scene.set(&task, Job::ATTEMPTS, MAX_ATTEMPTS - 1).await;
    assert_eq!(scene.call(&task.step()).await, json!([]));
    scene.proxy.heal();
    scene.assert_failed(&task, "50 consecutive runs failed. The log contains the causes.", "condition failed").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_job_fails_after_its_last_attempt() {
    let scene = Scene::start().await;
    let silent = Task::start(&scene.rows, &scene.client, Kind::Update, "silent", 3).await;
    scene.set(&silent, Job::ATTEMPTS, MAX_ATTEMPTS).await;
    assert_eq!(scene.call(&silent.step()).await, json!([]));
    let reason = "50 consecutive runs completed no step. They may have run out of time or memory.";
    scene.assert_failed(&silent, reason, "no run wrote a step").await;
    assert_eq!(scene.retry(&silent).await.status, 202);
    assert_eq!(scene.job(&silent).await.attempts, 0);
    assert!(scene.run(&silent, MINUTE).await.is_some());
    silent.assert_done(&scene, "silent").await;

    let throttled = Task::start(&scene.rows, &scene.client, Kind::Update, "throttled", 3).await;
    scene.set(&throttled, Job::ATTEMPTS, MAX_ATTEMPTS - 2).await;
    scene.proxy.rule(|call| if call.action == "Query" { Fault::throttled() } else { Fault::None });
    assert_eq!(scene.call(&throttled.step()).await, json!([{"itemIdentifier": "1"}]), "the second-to-last attempt");
    assert_eq!(scene.job(&throttled).await.attempts, MAX_ATTEMPTS - 1);
    assert_eq!(scene.call(&throttled.step()).await, json!([]), "the last attempt");
    scene.assert_failed(&throttled, "50 consecutive runs failed. The log contains the causes.", "throttled").await;
    scene.proxy.heal();
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_completed_step_resets_the_number_of_attempts() {
    let scene = Scene::start().await;
    let task = Task::start(&scene.rows, &scene.client, Kind::Registrations, "C", 60).await;
    scene.set(&task, Job::ATTEMPTS, MAX_ATTEMPTS - 1).await;
    let mut changes = 0;
    scene.proxy.rule(move |call| {
        changes += usize::from(is_of_registration(call));
        if changes > 50 { Fault::throttled() } else { Fault::None }
    });
    assert_eq!(scene.call(&task.step()).await, json!([{"itemIdentifier": "1"}]));
    let job = scene.job(&task).await;
    assert_eq!((job.state, job.attempts, job.done), (State::Running, 0, 50));
    scene.proxy.heal();
    assert!(scene.run(&task, MINUTE).await.is_some());
    task.assert_done(&scene, "C").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn only_a_failed_job_can_be_retried_and_only_once() {
    let scene = Scene::start().await;
    let refused = |answer: &Answer, kind: &str| assert_problem(answer, 409, kind);
    for kind in KINDS {
        let task = Task::start(&scene.rows, &scene.client, kind, &format!("{kind:?}"), 3).await;
        refused(&scene.retry(&task).await, "job-not-failed");
        assert!(scene.run(&task, MINUTE).await.is_some());
        refused(&scene.retry(&task).await, "job-not-failed");
        task.assert_done(&scene, "two rejected retries").await;
    }
    assert_eq!(send(scene.client.request("POST", &of_company("C", "jobs/VenueId-9/retry"))).await.status, 404);
    let task = Task::start(&scene.rows, &scene.client, Kind::Replacement, "C", 3).await;
    scene.fail(&task, 0, "failed").await;
    let mut statuses = [0; 4];
    for (status, answer) in statuses.iter_mut().zip(join_all((0..4).map(|_| scene.retry(&task))).await) {
        *status = answer.status;
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409, 409, 409]);
    assert!(scene.run(&task, MINUTE).await.is_some());
    task.assert_done(&scene, "one retry").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_retry_is_rejected_while_another_job_runs_on_the_venue() {
    let scene = Scene::start().await;
    let task = scene.failed_replacement().await;
    scene.rows.put(&[record("C", "VenueId-2", &json!({}))]).await;
    let update = path("C", "venues", "2", YEAR);
    assert_eq!(scene.client.patch(&update, &json!({"data": {"v": 2}})).await.status, 202, "a failed job has no hold");
    let answer = scene.retry(&task).await;
    assert_problem(&answer, 409, "job-under-way");
    scene.assert_failed(&task, INTERNAL, "after the rejected retry").await;
    for _ in 0..MAX_CALLS {
        if scene.rows.job("C", "VenueId-2").await.state != State::Running {
            break;
        }
        scene.call(&step_of("C", "VenueId-2")).await;
    }
    assert_eq!(scene.retry(&task).await.status, 202);
    let answer = scene.client.patch(&update, &json!({"data": {"v": 3}})).await;
    assert_problem(&answer, 409, "job-under-way");
    assert!(scene.run(&task, MINUTE).await.is_some());
    task.assert_done(&scene, "after the other job").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_failed_job_can_be_started_again() {
    let scene = Scene::start().await;
    let task = scene.failed_replacement().await;
    let answer = task.ask(&scene.client).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("running")), "{}", answer.body);
    assert!(scene.run(&task, MINUTE).await.is_some());
    task.assert_done(&scene, "started again").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn registrations_put_during_the_job_get_the_new_end_date() {
    let scene = Scene::start().await;
    let mut task = Task::start(&scene.rows, &scene.client, Kind::Registrations, "C", 150).await;
    let late: Vec<_> = (0..60).map(|number| task.registration(&format!("U{number}-late"))).collect();
    let register = async {
        for registration in late {
            scene.rows.register(registration).await;
        }
    };
    let (calls, ()) = Box::pin(join(scene.run(&task, MINUTE), register)).await;
    assert!(calls.is_some());
    let end = ActivityEndDateSort(read(MOVED));
    let all = scene.rows.registrations(task.walk().id()).await;
    assert!(all.len() == 210 && all.iter().all(|registration| registration.end == end));
    // Either the job or the registering request may have updated the end date. The job counts only
    // its own changes.
    let done = scene.job(&task).await.done;
    assert!((150..=210).contains(&done), "{done}");
    task.count = 210;
    task.assert_whole(&scene.rows, "at the end").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn activities_that_leave_the_scope_of_a_job_keep_their_reference() {
    let scene = Scene::start().await;
    for (kind, venue) in [(Kind::Replacement, "VenueId-2"), (Kind::Update, "VenueId-1")] {
        let company = format!("{kind:?}");
        // The first page contains the four drafts. Every third activity is a draft.
        let task = Task::start(&scene.rows, &scene.client, kind, &company, 12).await;
        let mut changes = 0;
        scene.proxy.rule(move |call| {
            let is_write = matches!(call.action.as_str(), "TransactWriteItems" | "UpdateItem");
            let is_change = is_write && call.body.to_string().contains("Program#Venue");
            changes += usize::from(is_change);
            if is_change && changes <= 4 { Fault::Held } else { Fault::None }
        });
        let edit = async {
            scene.proxy.held(4).await;
            for (number, status, end) in HISTORY {
                scene.rows.move_activity(task.activities[number].id(), status, read(end), &[]).await;
            }
            scene.proxy.release();
        };
        let (step, process) = (task.step(), scene.process());
        Box::pin(join(process.run(&step, MINUTE), edit)).await;
        scene.proxy.heal();
        assert!(scene.run(&task, MINUTE).await.is_some());
        for (number, activity) in task.activities.iter().enumerate() {
            let is_history = HISTORY.iter().any(|(history, ..)| *history == number);
            let (venue, data) = if is_history { ("VenueId-1", 1) } else { (venue, 2) };
            let stored = scene.rows.activity(activity.id()).await;
            let reference = reference(&stored, venue, &json!({"v": data}));
            assert_eq!(scene.rows.venues(activity.id()).await, [reference], "{kind:?} {number}");
        }
        let job = scene.client.get(&of_company(&company, "jobs/VenueId-1")).await.body;
        assert_eq!((&job["status"], &job["done"], &job["left"]), (&json!("done"), &json!(9), &json!(0)), "{kind:?}");
    }
    scene.stack.stop().await;
}

/// Edits of three drafts. Two are cancelled, and one gets an end date outside the job's period.
const HISTORY: [(usize, Status, &str); 3] =
    [(0, Status::Cancelled, END), (3, Status::Cancelled, END), (6, Status::Active, MOVED)];

/// Returns a query response with these outdated index entries.
fn behind(entries: &[Value]) -> Fault {
    Fault::Refused(
        axum::http::StatusCode::OK,
        json!({"Items": entries, "Count": entries.len(), "ScannedCount": entries.len()}),
    )
}

/// Returns the index entry of the activity's reference, as it was before the job.
fn entry(activity: &Activity) -> Value {
    let old = reference(activity, "VenueId-1", &json!({"v": 1}));
    let text = |text: String| json!({"S": text});
    json!({
        "PK": text(old.partition.to_string()), "SK": text(old.sort.to_string()), "GSI2PK": text(old.uses.to_string()),
        "GSI2SK": text(old.place.to_string()), "CopiedData": text(old.copied_data.text().to_owned()),
    })
}

#[tokio::test]
async fn an_outdated_index_hides_no_reference_and_counts_none_twice() {
    let scene = Scene::start().await;
    for kind in [Kind::Replacement, Kind::Update] {
        let company = format!("{kind:?}");
        let task = Task::start(&scene.rows, &scene.client, kind, &company, 3).await;
        // At first, queries return no index entries. Later, they return all entries, with outdated
        // values.
        scene.proxy.rule(|call| if call.action == "Query" { behind(&[]) } else { Fault::None });
        assert_eq!(scene.call(&task.step()).await, json!([]));
        assert_eq!(scene.job(&task).await.state, State::Running, "{kind:?}: one pass must not end the job");
        let entries: Vec<_> = task.activities.iter().map(entry).collect();
        let mut queries = 0;
        scene.proxy.rule(move |call| {
            queries += usize::from(call.action == "Query");
            if call.action == "Query" && (3..20).contains(&queries) { behind(&entries) } else { Fault::None }
        });
        assert!(scene.run(&task, MINUTE).await.is_some());
        scene.proxy.heal();
        task.assert_done(&scene, &company).await;
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_job_ends_even_if_its_hold_is_missing() {
    let scene = Scene::start().await;
    let task = Task::start(&scene.rows, &scene.client, Kind::Replacement, "C", 3).await;
    let hold = scene.rows.jobs.delete(Hold::key_of(&read("C"), &named("venues", "2")));
    scene.rows.dynamo.write(hold).await.expect("the hold exists");
    assert!(scene.run(&task, MINUTE).await.is_some());
    task.assert_done(&scene, "without its hold").await;
    scene.stack.stop().await;
}

fn sum(usages: &[Usage]) -> Consumed {
    let mut sums = Consumed::new();
    for call in usages.iter().flat_map(|usage| &usage.calls) {
        let table = call.table.rsplit('-').next().unwrap_or(&call.table).to_owned();
        let place = call.index.as_ref().map_or_else(|| table.clone(), |index| format!("{table}/{index}"));
        let sum = sums.entry(place).or_default();
        *sum = (sum.0 + call.read, sum.1 + call.write);
    }
    sums
}

#[tokio::test]
async fn jobs_consume_their_declared_cost() {
    for (count, bytes) in [(1, 10), (3, 10), (12, 2_000), (3, 3_500)] {
        let scene = Scene::start().await;
        let (rows, client) = (&scene.rows, &scene.client);
        let (old, new) = (json!({"text": "x".repeat(bytes)}), json!({"text": "y".repeat(bytes)}));
        let all: Vec<_> =
            (0..count).map(|number| activity("C", &format!("A{number:02}"), Status::Active, END)).collect();
        rows.put_uses(&all, "VenueId-1", &old).await;
        rows.put(&[record("C", "VenueId-2", &old)]).await;
        let replace = path("C", "venues", "1", &format!("/replacement{YEAR}"));
        assert_eq!(client.post(&replace, &json!({"replacementId": "2", "data": old})).await.status, 202);
        let size = table::size(&reference(&all[0], "VenueId-1", &old)).expect("a size");
        measure(&scene, "replacement", "VenueId-1", Case { reference: size, references: count, ..Case::default() })
            .await;
        assert_eq!(client.patch(&path("C", "venues", "2", YEAR), &json!({"data": new})).await.status, 202);
        measure(&scene, "update", "VenueId-2", Case { reference: size, references: count, ..Case::default() }).await;
        let task = Task::start(rows, client, Kind::Registrations, "R", count).await;
        let activity = table::size(&rows.activity(task.walk().id()).await).expect("a size");
        let registration = table::size(&task.registration("U0")).expect("a size");
        let case = Case { activity, registration, items: count, ..Case::default() };
        measure_of(&scene, "R", "registrations", &task.id, case).await;
        scene.stack.stop().await;
    }
}

async fn measure(scene: &Scene, kind: &str, id: &str, case: Case) {
    measure_of(scene, "C", kind, id, case).await;
}

async fn measure_of(scene: &Scene, company: &str, kind: &str, id: &str, case: Case) {
    let job = table::size(&scene.rows.job(company, id).await).expect("a size");
    let (process, mut usages) = (scene.process(), Vec::new());
    while scene.rows.job(company, id).await.state == State::Running {
        assert!(usages.len() < MAX_CALLS, "the {kind} job does not end");
        usages.push(process.run(&step_of(company, id), MINUTE).await.expect("the function survives").usage);
    }
    let function = format!("{CONTINUE}, {kind}");
    assert_eq!(sum(&usages), declared(&function, &Case { job, ..case }), "{function} of {case:?}");
}
