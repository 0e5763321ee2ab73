//! Tests the job engine with a service whose jobs count to a given number. Each step increments the
//! count by one.

use function::{App, Batch, Clients, Deadline, Error, Function, SettingsReader};
use futures::future::join;
use jobs::{Job, JobRunner, JobService, Jobs, Next, Run, State, Step};
use local::Stack;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    faults::{Fault, MOMENTS, Process, Proxy},
    metrics::Metrics,
    template,
    wellness::references::without_jobs,
};
use table::{Dynamo, Key, Table};

const HOUR: Duration = Duration::from_hours(1);

/// The number to count to.
#[derive(Debug, Serialize, Deserialize)]
struct Count(u64);

impl jobs::Task for Count {
    fn kind(&self) -> &'static str {
        "count"
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counted {
    number: u64,
}

/// A service that stores its jobs in a job table of the template.
#[derive(Clone)]
struct Counter(Jobs);

impl App for Counter {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("WELLNESS_JOBS_TABLE")?;
        Some(Self(Jobs::new(clients.dynamo(), table)))
    }
}

impl JobService for Counter {
    const SIDE_BY_SIDE: usize = 2;

    fn jobs(&self) -> &Jobs {
        &self.0
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let steps = Steps { to: run.job().task()? };
        run.steps(steps).await
    }
}

struct Steps {
    to: Count,
}

impl JobRunner for Steps {
    type Progress = Counted;

    async fn step(&mut self, job: &Job, at: Counted, stop: Deadline) -> Result<Step<Counted>, Error> {
        if stop.allows(Duration::from_secs(5)) {
            return Err(Error::Internal("a run has more than 5 seconds".to_owned()));
        }
        let (number, to) = (at.number + 1, self.to.0);
        assert_eq!(job.done, at.number, "the job and its progress are from the same step");
        // Every third step ends its run.
        let next = if number == to { Next::End } else { [Next::Wait, Next::Continue][usize::from(number % 3 != 0)] };
        Ok(Step { progress: Counted { number }, done: number, next })
    }
}

async fn continue_count(counter: Counter, batch: Batch) -> Result<BTreeSet<String>, Error> {
    jobs::continue_jobs(&counter, batch).await
}

fn function() -> Function {
    function::stream(continue_count, async |counter: Counter| counter.0.warm_up().await)
}

struct Scene {
    stack: Stack,
    proxy: Proxy,
    dynamo: Dynamo,
    table: Table,
}

impl Scene {
    async fn start() -> Self {
        let stack = without_jobs().start().await.expect("a stack");
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let dynamo = Dynamo::new(&stack.client().expect("a client"), system_tests::random());
        let table = dynamo.table(stack.table("WellnessJobs").expect("a table"));
        Self { stack, proxy, dynamo, table }
    }

    async fn put(&self, id: &str, to: u64) {
        let now = "2020-01-01T00:00:00Z".parse().expect("a time");
        let job = Job::new(&key(id), &id, &"first", &Count(to), now).expect("a job");
        self.dynamo.write(self.table.put_new(&job).expect("writable")).await.expect("put");
    }

    async fn job(&self, id: &str) -> Job {
        self.table.get(&key(id)).await.expect("an answer").expect("a job")
    }

    fn process(&self) -> Process<'_> {
        Process::start(&self.stack, &self.proxy, "continue-job", &function())
    }

    /// Invokes the function with a stream record for each job. Returns the reported batch item
    /// failures, or `None` if the function crashed.
    async fn call(&self, ids: &[&str]) -> Option<Value> {
        let run = self.process().run(&batch_of(ids), HOUR).await?;
        Some(run.answer.expect("an answer")["batchItemFailures"].clone())
    }
}

fn key(id: &str) -> Key {
    Key::new(&"Counts", &id)
}

fn batch_of(ids: &[&str]) -> Value {
    let record = |(number, id): (usize, &&str)| {
        let keys = json!({"PK": {"S": "Counts"}, "SK": {"S": id}});
        json!({"dynamodb": {"Keys": keys, "SequenceNumber": (number + 1).to_string()}})
    };
    json!({"Records": ids.iter().enumerate().map(record).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_run_is_limited_to_five_seconds_and_ends_after_a_waiting_step() {
    let scene = Scene::start().await;
    scene.put("A", 7).await;
    for (done, state) in [(3, State::Running), (6, State::Running), (7, State::Done), (7, State::Done)] {
        assert_eq!(scene.call(&["A"]).await, Some(json!([])));
        let job = scene.job("A").await;
        assert_eq!((job.done, job.state, &job.reason), (done, state, &None));
        assert_eq!((job.step, job.attempts), (i64::try_from(done).expect("few"), 0));
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn concurrent_runs_count_each_step_once() {
    let scene = Scene::start().await;
    scene.put("A", 30).await;
    scene.put("B", 20).await;
    let mut rounds = 0;
    while scene.job("A").await.state == State::Running || scene.job("B").await.state == State::Running {
        rounds += 1;
        assert!(rounds <= 50, "each round writes at least one step");
        // Holds the first run at its first or second update until two other runs have finished. The
        // first run then has an outdated step, or finds no work.
        let held = rounds % 2 + 1;
        scene.proxy.rule(move |call| {
            let is_held = call.action == "UpdateItem" && call.nth == held;
            if is_held { Fault::Held } else { Fault::None }
        });
        let done = async || [scene.job("A").await.done, scene.job("B").await.done];
        let other = async {
            scene.proxy.held(1).await;
            let answers = [scene.call(&["B", "A"]).await, scene.call(&["B", "A"]).await];
            let reached = done().await;
            scene.proxy.release();
            (answers, reached)
        };
        let first = async {
            if scene.job("A").await.is_running() { scene.call(&["A"]).await } else { scene.call(&["B"]).await }
        };
        let (first, (others, reached)) = Box::pin(join(first, other)).await;
        assert!([first].iter().chain(&others).all(|answer| *answer == Some(json!([]))), "{others:?}");
        let now = done().await;
        assert!(now.iter().zip(reached).all(|(now, reached)| *now >= reached), "{reached:?} became {now:?}");
    }
    for (id, to) in [("A", 30), ("B", 20)] {
        let job = scene.job(id).await;
        assert_eq!((job.done, job.step), (to, i64::try_from(to).expect("few")), "{id}");
    }
    scene.stack.stop().await;
}

#[tokio::test]
async fn resumes_a_run_that_is_killed_at_any_call() {
    for moment in MOMENTS {
        let (scene, mut number) = (Scene::start().await, 0);
        loop {
            number += 1;
            let id = format!("{moment:?}-{number}");
            scene.put(&id, 3).await;
            scene.proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            let ended = scene.call(&[&id]).await.is_some();
            scene.proxy.heal();
            assert!(scene.job(&id).await.state != State::Failed, "{id}");
            scene.call(&[&id]).await;
            let job = scene.job(&id).await;
            assert_eq!((job.state, job.done, job.step), (State::Done, 3, 3), "{id}");
            if ended {
                break;
            }
        }
        // A run makes five calls: one reads the job, one counts the run, and three write a step.
        // The sixth round therefore completes.
        assert_eq!(number, 6, "{moment:?}");
        scene.stack.stop().await;
    }
}

#[test]
fn only_starts_and_completed_steps_trigger_the_function() {
    let template = template();
    let names = [
        ("continue-job", "any"),
        ("continue-bank-job", "any"),
        ("reconcile", "reconciliation"),
        ("settle-account", "settlement"),
    ];
    for (name, kind) in names {
        let image = |state: &str, attempts: &str| json!({"Kind": {"S": kind}, "State": {"S": state}, "Attempts": {"N": attempts}});
        let lambda = template.lambdas.iter().find(|lambda| lambda.name == name).expect("a function");
        // Further filters pass what the function publishes.
        let filter = &lambda.mappings[0].filters[0];
        let calls = |image: Value| {
            let record = json!({"eventName": "MODIFY", "dynamodb": {"NewImage": image}});
            filter.matches(&record)
        };
        assert!(calls(image("running", "0")), "{name}");
        for other in [image("running", "1"), image("done", "0"), image("failed", "0"), json!({"Kind": {"S": "x"}})] {
            assert!(!calls(other.clone()), "{name}: {other}");
        }
    }
}

#[tokio::test]
async fn a_failed_job_counts_as_one_defect() {
    let (scene, counts) = (Scene::start().await, Metrics::default());
    scene.put("bad", 3).await;
    scene.put("good", 3).await;
    let spoil = scene.table.update(key("bad")).set(Job::TASK, &"nonsense");
    scene.dynamo.write(spoil).await.expect("spoiled");
    let _guard = counts.record();
    for _ in 0..2 {
        assert_eq!(scene.call(&["bad", "good"]).await, Some(json!([])));
    }
    let states = [scene.job("bad").await.state, scene.job("good").await.state];
    assert_eq!(states, [State::Failed, State::Done]);
    assert_eq!(counts.all(), BTreeMap::from([("Defects".to_owned(), 1)]));
    scene.stack.stop().await;
}
