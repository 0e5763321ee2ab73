//! Jobs that replace or update a venue: failures, retries, unreadable items, and edits at the same
//! time (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).

use axum::http::StatusCode;
use futures::future::join;
use jobs::{Job, State};
use keys::wellness::Status;
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Client, assert_problem,
    faults::{Fault, Process, Proxy},
    send,
    wellness::of_company,
    wellness::references::{Rows, activity, by_hand, named, path, read, record, reference, step_of, steps_of},
};
use wellness::{Activity, Hold, Reference};

const YEAR: &str = "?from=2098-01-01&to=2098-12-31";
const MINUTE: Duration = Duration::from_mins(1);
const KINDS: [Kind; 2] = [Kind::Replacement, Kind::Update];

/// A stack, and a proxy that can make calls to DynamoDB fail. The test invokes the job function.
struct Scene {
    stack: Stack,
    proxy: Proxy,
    rows: Rows,
    client: Client,
}

impl Scene {
    async fn start() -> Self {
        let (stack, proxy) = by_hand().await;
        let (rows, client) = (Rows::of(&stack), Client::operator(&stack));
        Self { stack, proxy, rows, client }
    }

    fn process(&self) -> Process<'_> {
        Process::start(
            &self.stack,
            &self.proxy,
            "continue-job",
            &(wellness::patterns::continue_job::PATTERN.function)(),
        )
    }

    async fn job(&self, company: &str) -> Job {
        self.rows.job(company, "VenueId-1").await
    }

    /// Returns the job in the form of a response.
    async fn body(&self, company: &str) -> Value {
        self.client.get(&of_company(company, "jobs/VenueId-1")).await.body
    }

    async fn retry(&self, company: &str) -> Answer {
        send(self.client.request("POST", &of_company(company, "jobs/VenueId-1/retry"))).await
    }

    /// Invokes the function once. Returns the batch item failures in its response.
    async fn call(&self, event: &Value) -> Value {
        let run = self.process().run(event, MINUTE).await.expect("the function survives");
        run.answer.expect("an answer")["batchItemFailures"].clone()
    }

    /// Runs a job until it has ended.
    async fn run(&self, company: &str, id: &str) {
        for _ in 0..100 {
            if self.rows.job(company, id).await.state != State::Running {
                return;
            }
            self.call(&step_of(company, id)).await;
        }
        unreachable!("the job of {company} does not end");
    }

    /// Runs the job until it is done. Every item must have changed, and be counted once.
    async fn complete(&self, task: &Task, when: &str) {
        self.run(&task.company, "VenueId-1").await;
        for activity in &task.activities {
            let right = reference(activity, task.venue(), &json!({"v": 2}));
            assert_eq!(self.rows.venues(activity.id()).await, [right], "{when}");
        }
        self.assert_ended(task, [3, 0, 0], when).await;
    }

    /// Checks that the job is done, and the numbers of changed, skipped and remaining items.
    async fn assert_ended(&self, task: &Task, counts: [u64; 3], when: &str) {
        let job = self.body(&task.company).await;
        let shown = ["done", "skipped", "left"].map(|member| job[member].as_u64().unwrap_or_default());
        assert_eq!((&job["status"], shown), (&json!("done"), counts), "{when}: {job}");
        self.assert_no_hold(task, when).await;
    }

    async fn assert_no_hold(&self, task: &Task, when: &str) {
        let hold = Hold::key_of(&read(&task.company), &named("venues", "2"));
        assert_eq!(self.rows.jobs.get::<Hold>(&hold).await.expect("read"), None, "{when}");
    }

    /// Runs the job while DynamoDB rejects its changes. The job fails.
    async fn fail(&self, task: &Task, when: &str) {
        self.proxy.rule(|call| {
            let is_write = matches!(call.action.as_str(), "UpdateItem" | "TransactWriteItems");
            let is_change = is_write && call.table.as_deref().is_some_and(|table| table.ends_with("Activities"));
            let rejection = json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "injected"});
            if is_change { Fault::Refused(StatusCode::BAD_REQUEST, rejection) } else { Fault::None }
        });
        assert_eq!(self.call(&step_of(&task.company, "VenueId-1")).await, json!([]), "{when}");
        self.proxy.heal();
        self.assert_failed(task, when).await;
    }

    /// Checks that the job has failed, has no hold, and does not run again.
    async fn assert_failed(&self, task: &Task, when: &str) {
        let body = self.body(&task.company).await;
        let reason = json!("An internal error stopped the job. The log contains the cause.");
        assert_eq!((&body["status"], &body["reason"]), (&json!("failed"), &reason), "{when}: {body}");
        assert_eq!(self.job(&task.company).await.run, None, "{when}");
        self.assert_no_hold(task, when).await;
        assert_eq!(self.call(&step_of(&task.company, "VenueId-1")).await, json!([]), "{when}");
        assert_eq!(self.body(&task.company).await, body, "{when}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Replacement,
    Update,
}

/// A job on references to a venue. Every third activity is a draft.
struct Task {
    kind: Kind,
    company: String,
    activities: Vec<Activity>,
}

impl Task {
    /// Puts the items that the job changes, and starts the job.
    async fn start(scene: &Scene, kind: Kind, company: &str, count: usize) -> Self {
        let one = |number: usize| {
            let status = if number.is_multiple_of(3) { Status::Draft } else { Status::Active };
            activity(company, &format!("{company}-{number}"), status, &format!("2098-{:02}-01", 1 + number % 12))
        };
        let task = Self { kind, company: company.to_owned(), activities: (0..count).map(one).collect() };
        scene.rows.put_uses(&task.activities, "VenueId-1", &json!({"v": 1})).await;
        scene.rows.put(&[record(company, "VenueId-1", &json!({"v": 1}))]).await;
        let answer = task.ask(&scene.client).await;
        assert_eq!((answer.status, &answer.body["left"]), (202, &json!(count)), "{}", answer.body);
        task
    }

    async fn ask(&self, client: &Client) -> Answer {
        let venue = |rest: &str| path(&self.company, "venues", "1", &format!("{rest}{YEAR}"));
        match self.kind {
            Kind::Update => client.patch(&venue(""), &json!({"data": {"v": 2}})).await,
            Kind::Replacement => {
                client.post(&venue("/replacement"), &json!({"replacementId": "2", "data": {"v": 2}})).await
            }
        }
    }

    /// The venue of a changed reference.
    fn venue(&self) -> &'static str {
        if self.kind == Kind::Update { "VenueId-1" } else { "VenueId-2" }
    }
}

#[tokio::test]
async fn a_failing_job_does_not_delay_the_other_jobs_of_its_batch() {
    let (scene, mut tasks) = (Scene::start().await, Vec::new());
    for company in ["A", "B", "C"] {
        tasks.push(Task::start(&scene, Kind::Replacement, company, 3).await);
    }
    let batch = steps_of(&["A", "B", "A", "C", "D"].map(|company| (company, "VenueId-1")));
    scene.proxy.rule(|call| {
        let is_of_b = call.action == "TransactWriteItems" && call.body.to_string().contains("CompanyId-B#");
        if is_of_b { Fault::throttled() } else { Fault::None }
    });
    assert_eq!(scene.call(&batch).await, json!([{"itemIdentifier": "2"}]));
    for (company, done) in [("A", 3), ("B", 0), ("C", 3)] {
        assert_eq!(scene.job(company).await.done, done, "{company}");
    }
    scene.proxy.heal();
    for task in &tasks {
        scene.complete(task, &task.company).await;
    }
}

#[tokio::test]
async fn a_job_passes_over_an_unreadable_item_and_reports_it() {
    let scene = Scene::start().await;
    for kind in KINDS {
        let bad = Task::start(&scene, kind, &format!("{kind:?}-bad"), 3).await;
        let good = Task::start(&scene, kind, &format!("{kind:?}-good"), 3).await;
        let damage = scene.rows.table.update(Reference::key_of(bad.activities[1].id(), &named("venues", "1")));
        scene.rows.dynamo.write(damage.set(Reference::COPIED_DATA, 5)).await.expect("damaged");
        let batch = steps_of(&[(&bad.company, "VenueId-1"), (&good.company, "VenueId-1")]);
        assert_eq!(scene.call(&batch).await, json!([]), "{kind:?}");
        scene.run(&bad.company, "VenueId-1").await;
        scene.assert_ended(&bad, [2, 1, 0], "an unreadable reference").await;
        scene.complete(&good, "another company").await;
    }
}

#[tokio::test]
async fn only_a_failed_job_can_be_retried_and_started_again() {
    let scene = Scene::start().await;
    for kind in KINDS {
        let (when, task) = (format!("{kind:?}"), Task::start(&scene, kind, &format!("{kind:?}"), 3).await);
        assert_problem(&scene.retry(&task.company).await, 409, "job-not-failed");
        scene.fail(&task, &when).await;
        assert_eq!(scene.retry(&task.company).await.status, 202);
        assert_problem(&scene.retry(&task.company).await, 409, "job-not-failed");
        scene.complete(&task, &when).await;
        assert_problem(&scene.retry(&task.company).await, 409, "job-not-failed");
    }
    let task = Task::start(&scene, Kind::Replacement, "C", 3).await;
    scene.fail(&task, "failed").await;
    let answer = task.ask(&scene.client).await;
    assert_eq!((answer.status, &answer.body["status"]), (202, &json!("running")), "{}", answer.body);
    scene.complete(&task, "started again").await;
}

#[tokio::test]
async fn a_retry_is_rejected_while_another_job_runs_on_the_venue() {
    let scene = Scene::start().await;
    let task = Task::start(&scene, Kind::Replacement, "C", 3).await;
    scene.fail(&task, "failed").await;
    scene.rows.put(&[record("C", "VenueId-2", &json!({}))]).await;
    let update = path("C", "venues", "2", YEAR);
    assert_eq!(scene.client.patch(&update, &json!({"data": {"v": 2}})).await.status, 202, "a failed job has no hold");
    assert_problem(&scene.retry("C").await, 409, "job-under-way");
    scene.assert_failed(&task, "after the rejected retry").await;
    scene.run("C", "VenueId-2").await;
    assert_eq!(scene.retry("C").await.status, 202);
    let answer = scene.client.patch(&update, &json!({"data": {"v": 3}})).await;
    assert_problem(&answer, 409, "job-under-way");
    scene.complete(&task, "after the other job").await;
}

/// Two drafts are cancelled, and one gets an end date outside the job's period.
const LEAVING: [(usize, Status, &str); 3] =
    [(0, Status::Cancelled, "2098-12-31"), (3, Status::Cancelled, "2098-12-31"), (6, Status::Active, "2099-06-30")];

#[tokio::test]
async fn activities_that_leave_the_scope_of_a_job_keep_their_reference() {
    let scene = Scene::start().await;
    for kind in KINDS {
        // The first page contains the four drafts.
        let task = Task::start(&scene, kind, &format!("{kind:?}"), 12).await;
        let mut changes = 0;
        scene.proxy.rule(move |call| {
            let is_write = matches!(call.action.as_str(), "TransactWriteItems" | "UpdateItem");
            let is_change = is_write && call.body.to_string().contains("Program#Venue");
            changes += usize::from(is_change);
            if is_change && changes <= 4 { Fault::Held } else { Fault::None }
        });
        let edit = async {
            scene.proxy.held(4).await;
            for (number, status, end) in LEAVING {
                scene.rows.move_activity(task.activities[number].id(), status, read(end), &[]).await;
            }
            scene.proxy.release();
        };
        let (step, process) = (step_of(&task.company, "VenueId-1"), scene.process());
        Box::pin(join(process.run(&step, MINUTE), edit)).await;
        scene.proxy.heal();
        scene.run(&task.company, "VenueId-1").await;
        for (number, activity) in task.activities.iter().enumerate() {
            let has_left = LEAVING.iter().any(|(left, ..)| *left == number);
            let (venue, data) = if has_left { ("VenueId-1", 1) } else { (task.venue(), 2) };
            let stored = scene.rows.activity(activity.id()).await;
            let reference = reference(&stored, venue, &json!({"v": data}));
            assert_eq!(scene.rows.venues(activity.id()).await, [reference], "{kind:?} {number}");
        }
        scene.assert_ended(&task, [9, 0, 0], "nine of twelve").await;
    }
}
