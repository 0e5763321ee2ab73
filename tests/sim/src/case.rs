//! Runs one case: a seed, a service and the steps of its clients.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use futures::future::join_all;
use jiff::Timestamp;
use keys::Random;
use local::in_process::InProcess;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use system_tests::root;
use template::{Selection, Template};
use tokio::time::{sleep, timeout};

use crate::{
    clock, costs,
    draw::Draw,
    faults::{Fault, Net, Rates, fragile},
    trace::{Trace, lock},
    workloads::{self, Step, Workload},
    world::{Exchange, Reply, World},
};

/// Virtual time after which a case must have ended.
const LONGEST: Duration = Duration::from_hours(24 * 3);

/// A case, as a replay file stores it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Case {
    pub(crate) service: String,
    pub(crate) seed: u64,
    pub(crate) dropped: BTreeSet<u32>,
    pub(crate) muted: BTreeSet<String>,
    /// Conditions that are left out ([`Rates::conditions`]).
    pub(crate) without: BTreeSet<String>,
    /// What the case shows, for a reader.
    pub(crate) note: String,
}

impl Case {
    pub(crate) fn new(service: &str, seed: u64) -> Self {
        Self { service: service.to_owned(), seed, ..Self::default() }
    }
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) violations: Vec<String>,
    pub(crate) trace: Trace,
    /// The faults that happened, by the label of their call.
    pub(crate) faults: Vec<(String, Fault)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) calls: u32,
    pub(crate) history: Vec<Exchange>,
    pub(crate) conditions: Vec<&'static str>,
}

/// Runs the case on this thread.
pub(crate) fn run(case: &Case) -> Result<Outcome, String> {
    let workload = workloads::of(&case.service).ok_or_else(|| format!("there is no workload {}", case.service))?;
    // The retries of the SDK and of `table` draw their pauses from this generator.
    fastrand::seed(case.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(live(case, Arc::from(workload)))
}

async fn live(case: &Case, workload: Arc<dyn Workload>) -> Result<Outcome, String> {
    let mut draw = Draw::of(case.seed, "case");
    clock::start(*draw.one(&starts()));
    let trace = Trace::default();
    let mut rates = Rates::drawn(&mut draw);
    rates.leave_out(&case.without);
    let net = Net::new(case.seed, trace.clone(), rates, case.muted.clone());
    let steps = plan(&*workload, &mut draw);
    let template = template(workload.stacks())?;
    let around = Arc::clone(&net);
    let connect = move |inner| around.around(inner);
    let stack =
        InProcess::start(template, &Random::seeded(case.seed), (case.seed, net.rates.hostile), &connect, fragile);
    let world = World::new(stack.map_err(|error| error.to_string())?, &net);
    let whole = act(&world, &workload, case, &steps);
    if timeout(LONGEST, whole).await.is_err() {
        world.violation("the case did not end");
    }
    for line in world.dump() {
        trace.add("item", line);
    }
    Ok(Outcome {
        violations: world.violations(),
        faults: net.happened(),
        calls: net.calls(),
        history: world.history(),
        conditions: net.rates.conditions(),
        trace,
        steps,
    })
}

async fn act(world: &Arc<World>, workload: &Arc<dyn Workload>, case: &Case, steps: &[Step]) {
    world.start();
    workload.prepare(world).await;
    settle(world).await;
    world.net.set_quiet(false);
    let mut clients = BTreeMap::<u32, Vec<Step>>::new();
    for step in steps.iter().filter(|step| !case.dropped.contains(&step.id)) {
        clients.entry(step.client).or_default().push(step.clone());
    }
    let clients = clients.into_values().map(|steps| {
        let (world, workload) = (Arc::clone(world), Arc::clone(workload));
        tokio::spawn(async move {
            for step in steps {
                sleep(Duration::from_millis(step.pause)).await;
                workload.act(&world, &step, &format!("c{}.{}", step.client, step.id)).await;
            }
        })
    });
    for ended in join_all(clients).await {
        if let Err(error) = ended {
            world.violation(format!("a client failed: {error}"));
        }
    }
    world.trace.add("case", "faults stop");
    world.net.set_quiet(true);
    settle(world).await;
    workload.finish(world).await;
    settle(world).await;
    let history = world.history();
    check_keys(world, &history);
    workload.verify(world, &history).await;
    costs::check(world, &case.service);
}

/// Waits until all streams are read and all jobs have ended.
async fn settle(world: &World) {
    for _ in 0..400 {
        sleep(Duration::from_secs(3)).await;
        if world.is_idle() && running(world).is_empty() {
            return;
        }
    }
    world.violation(format!("the services do not come to rest; running jobs: {:?}", running(world)));
}

/// Keys of the jobs that have not ended. A failed job is a violation.
fn running(world: &World) -> Vec<String> {
    let tables = world.stack.template().tables.iter().filter(|table| table.name.ends_with("Jobs"));
    let items = tables.flat_map(|table| world.stack.items(&table.name).unwrap_or_default());
    let in_state = |item: &Value, state: &str| item["State"]["S"] == state;
    let name = |item: &Value| format!("{}|{}", item["PK"]["S"], item["SK"]["S"]);
    let mut running = Vec::new();
    for item in items {
        let text = format!("a job failed: {} {}", name(&item), item["Reason"]["S"]);
        if in_state(&item, "running") {
            running.push(name(&item));
        } else if in_state(&item, "failed") && world.net.is_quiet() && !world.violations().contains(&text) {
            world.violation(text);
        }
    }
    running
}

/// All answers to one idempotency key of a caller have the same outcome, once it is a success.
fn check_keys(world: &World, history: &[Exchange]) {
    for exchange in history.iter().filter(|exchange| exchange.ask.key.is_some() && exchange.ask.method == "POST") {
        let mut successes = exchange.replies.iter().filter(|reply| matches!(reply.status, 200..=299));
        let Some(first) = successes.next() else { continue };
        let ids = |reply: &Reply| {
            let names = ["transactionId", "holdId", "paymentId", "orderId", "itemId", "activityId", "jobId"];
            names.map(|name| reply.body[name].as_str().unwrap_or_default().to_owned())
        };
        if successes.any(|reply| ids(reply) != ids(first)) {
            world.violation(format!("{}: one idempotency key has two outcomes", exchange.label));
        }
    }
}

fn plan(workload: &dyn Workload, draw: &mut Draw) -> Vec<Step> {
    let clients = draw.between(2, 6);
    let count = workload.steps(draw);
    let pace = *draw.one(&[5, 50, 400, 3_000]);
    let steps = (0..count).map(|id| Step {
        id: u32::try_from(id).unwrap_or_default(),
        client: u32::try_from(draw.below(clients)).unwrap_or_default(),
        pause: draw.below(pace),
        action: workload.action(draw),
    });
    steps.collect()
}

/// Start times: noon, and shortly before the end of a day, of a month and of a year.
fn starts() -> [Timestamp; 4] {
    ["2031-05-14T12:00:00Z", "2031-05-14T23:58:00Z", "2031-06-30T23:59:30Z", "2031-12-31T23:59:00Z"]
        .map(|text| text.parse().unwrap_or_default())
}

fn template(stacks: &'static [&'static str]) -> Result<Template, String> {
    static READ: OnceLock<Mutex<BTreeMap<Vec<&'static str>, Template>>> = OnceLock::new();
    let mut read = lock(READ.get_or_init(Mutex::default));
    if let Some(template) = read.get(stacks) {
        return Ok(template.clone());
    }
    let file = root().join("template.yaml");
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    // The hostile layer delays index entries by up to five seconds. A function runs for at most a
    // minute, and a frozen one for twelve seconds longer.
    let parameters = [("IndexLagSeconds", "10"), ("ErasureQuietSeconds", "75")];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let template = Template::read_some(&text, &file, "sim", &parameters, &Selection::of(stacks));
    let template = template.map_err(|error| error.to_string())?;
    read.insert(stacks.to_vec(), template.clone());
    Ok(template)
}
