//! Compares the ledger with a simple model after random operations on 50 accounts, of which some
//! have grouped posting. The operations are transfers, batches of transfers, holds, captures,
//! voids, refunds, releases of expired holds, settlements and repeated stream records. Many of them
//! run concurrently. Calls are
//! throttled, cancelled, lost or delayed, or get no response. Functions crash, requests are
//! repeated, and clocks differ.

mod checks;
mod faults;
mod generator;
mod history;
mod model;
mod operations;

use fastrand::Rng;
use faults::{Crashes, Sender, Sent, Trouble, each, sent, settled};
use futures::future::join_all;
use history::History;
use jiff::{SignedDuration, Timestamp};
use local::Stack;
use model::{Holder, Model};
use operations::{Action, Operation, Outcome, Request, Settled, Work, is_settled};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};
use system_tests::{
    Client,
    ledger::{ACCOUNTS, id},
    parsed, stack,
};

const ACCOUNTS_IN_LEDGER: usize = 50;
const CURRENCIES: [&str; 4] = ["USD", "EUR", "JPY", "KWD"];
/// Number of accounts that are opened with grouped posting.
const GROUPED: usize = 8;
const CLIENTS: usize = 8;
/// The time between two rounds, in seconds.
const PAUSE: i64 = 10;
/// The largest difference between a clock and the time of the round, in milliseconds.
const DRIFT: i64 = 1_000;

/// The minimum number of each outcome, per 1,000 requests. It is about a third of the average.
const MINIMA: [(&str, usize); 17] = [
    ("transfer done", 70),
    ("transfer insufficient-funds", 40),
    ("batched transfer done", 40),
    ("batched transfer insufficient-funds", 25),
    ("hold done", 30),
    ("hold insufficient-funds", 20),
    ("hold expired", 10),
    ("capture done", 25),
    ("capture hold-closed", 20),
    ("capture hold-exceeded", 1),
    ("void done", 8),
    ("void hold-closed", 6),
    ("refund done", 20),
    ("refund insufficient-funds", 2),
    ("refund already-reversed", 2),
    ("refund reversal-exceeded", 1),
    ("refund is-reversal", 2),
];

/// The functions, and the number of their calls. Some of their crashes must happen before each of
/// these calls, and some after it.
const CRASHES: [(&str, usize); 9] = [
    ("process-payment", 2),
    ("process-batch", 4),
    ("create-hold", 2),
    ("capture-hold", 3),
    ("void-hold", 3),
    ("reverse-transaction", 3),
    ("release-expired-holds", 4),
    ("settle-account", 1),
    ("react-to-transactions", 2),
];

/// Returns the random number generator. The environment variable `LEDGER_SEED` sets its seed. Later
/// requests also depend on the outcomes of earlier ones, which depend on timing.
fn random() -> Rng {
    let seed = std::env::var("LEDGER_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("LEDGER_SEED={seed}");
    Rng::with_seed(seed)
}

/// The rounds of a test continue after midnight, so the totals have two days.
fn start() -> Timestamp {
    "2099-11-30T23:59:00.123Z".parse().expect("a time")
}

/// The ledger and its model.
struct World {
    stack: Stack,
    senders: Vec<Arc<Sender>>,
    rng: Rng,
    model: Model,
    history: History,
    now: Timestamp,
    /// The successful operations by idempotency key, and their responses.
    done: BTreeMap<String, (Operation, Outcome)>,
    /// The idempotency keys of the rejected operations.
    rejected: BTreeSet<String>,
    keys: usize,
    requests: usize,
    /// The number of operations with each outcome.
    outcomes: BTreeMap<String, usize>,
    troubles: BTreeMap<&'static str, usize>,
    unknown: usize,
}

impl World {
    async fn open(crashes: &Crashes) -> Self {
        let (rng, stack) = (random(), stack().start().await.expect("a stack"));
        let client = Client::operator(&stack);
        let mut model = Model::default();
        for number in 0..ACCOUNTS_IN_LEDGER {
            let (currency, is_negative) = (CURRENCIES[number % CURRENCIES.len()], number < 2 * CURRENCIES.len());
            let is_grouped = number >= ACCOUNTS_IN_LEDGER - GROUPED;
            let terms = json!({
                "userId": "bank",
                "accountType": "any",
                "currency": currency,
                "allowNegative": is_negative,
                "posting": if is_grouped { "grouped" } else { "direct" },
            });
            let id = id(&client.post(ACCOUNTS, &terms).await, "accountId");
            model.holders.push(Holder::new(id, parsed(currency), is_negative, is_grouped));
        }
        let senders = join_all((0..CLIENTS).map(|_| Sender::start(&stack, crashes))).await;
        Self {
            senders: senders.into_iter().map(Arc::new).collect(),
            history: History::open(&stack).await,
            stack,
            rng,
            model,
            now: start(),
            done: BTreeMap::new(),
            rejected: BTreeSet::new(),
            keys: 0,
            requests: 0,
            outcomes: BTreeMap::new(),
            troubles: BTreeMap::new(),
            unknown: 0,
        }
    }

    /// Sends requests concurrently, repeats those with an unknown outcome, and compares the ledger
    /// with the model.
    async fn round(&mut self, operations: usize) {
        self.now += SignedDuration::from_secs(PAUSE);
        self.change_postings().await;
        let before = self.model.available();
        let closed = self.closed_holds();
        let requests = (0..operations).map(|_| self.request()).collect();
        let mut all = Vec::new();
        for (request, responses) in self.exchange(requests).await {
            let settled = Settled::of(&request, &responses);
            for one in &settled {
                self.count(&request, one);
            }
            all.extend(settled);
        }
        self.model.apply(&all);
        self.release().await;
        let least = self.compare(before).await;
        self.compare_holds(&closed).await;
        self.compare_refunds().await;
        let latest = self.now + SignedDuration::from_millis(DRIFT);
        for settled in &all {
            for rejection in settled.rejections() {
                let (action, problem) = (&settled.operation.action, rejection.problem());
                let may = rejection.status == 409 && self.model.may_reject(action, problem, &least, latest);
                assert!(may, "rejected without a reason: {settled:?}");
            }
        }
        self.remember(all);
    }

    /// Changes the posting of two accounts. Changes under load have their own test.
    async fn change_postings(&mut self) {
        let operator = Client::operator(&self.stack);
        for number in [0, ACCOUNTS_IN_LEDGER / 2].map(|first| first + self.rng.usize(..ACCOUNTS_IN_LEDGER / 2)) {
            let holder = &mut self.model.holders[number];
            holder.is_grouped = !holder.is_grouped;
            let posting = if holder.is_grouped { "grouped" } else { "direct" };
            let changed = operator.patch(&format!("{ACCOUNTS}/{}", holder.id), &json!({"posting": posting})).await;
            assert_eq!(changed.status, 200, "{}", changed.body);
        }
    }

    /// Sends the requests until the outcome of each operation is known.
    async fn exchange(&mut self, requests: Vec<Request>) -> Vec<Sent> {
        let (mut done, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for (request, responses) in each(&self.senders, requests, sent).await {
            if is_settled(&request, &responses) {
                done.push((request, responses));
            } else if self.rng.bool() {
                before.push((request, responses));
            } else {
                after.push((request, responses));
            }
        }
        self.unknown += before.len() + after.len();
        // Repeat some requests before the delayed transactions reach DynamoDB, and the others
        // afterwards.
        done.extend(each(&self.senders, before, settled).await);
        join_all(self.senders.iter().map(|sender| sender.arrive())).await;
        done.extend(each(&self.senders, after, settled).await);
        done
    }

    fn count(&mut self, request: &Request, settled: &Settled) {
        let batch = if matches!(request.work, Work::Batch(_)) { "batched " } else { "" };
        let outcome = match settled.success() {
            Some(_) => "done",
            None => settled.outcomes.last().expect("an outcome").problem(),
        };
        *self.outcomes.entry(format!("{batch}{} {outcome}", settled.operation.action.name())).or_default() += 1;
    }

    fn remember(&mut self, all: Vec<Settled>) {
        for settled in all {
            match settled.success().cloned() {
                Some(outcome) => drop(self.done.insert(settled.operation.key.clone(), (settled.operation, outcome))),
                None => drop(self.rejected.insert(settled.operation.key)),
            }
        }
    }

    /// Repeats some requests ten days later. Each request gets its original response. A different
    /// request with the same key is rejected.
    async fn again(&mut self, keys: usize) {
        self.now += SignedDuration::from_hours(10 * 24);
        let (before, closed) = (self.model.available(), self.closed_holds());
        let all: Vec<Operation> = self.done.values().map(|(operation, _)| operation.clone()).collect();
        let some: Vec<Operation> = (0..keys).filter_map(|_| self.rng.choice(&all).cloned()).collect();
        let others: Vec<Operation> = some.iter().filter_map(|operation| self.different(operation)).collect();
        for Settled { operation, outcomes, .. } in self.repeated(some).await {
            assert_eq!(outcomes.last(), Some(&self.done[&operation.key].1), "{operation:?}");
        }
        for Settled { operation, outcomes, .. } in self.repeated(others).await {
            assert!(outcomes.iter().all(|outcome| outcome.status == 422), "{operation:?}: {outcomes:?}");
        }
        // A request can release the expired holds of its account.
        self.release().await;
        self.compare(before).await;
        self.compare_holds(&closed).await;
    }

    async fn repeated(&self, operations: Vec<Operation>) -> Vec<Settled> {
        let request = |operation| Request { work: Work::One(operation), at: self.now, trouble: Trouble::None };
        let unsent: Vec<Sent> = operations.into_iter().map(|operation| (request(operation), Vec::new())).collect();
        let sent = each(&self.senders, unsent, settled).await;
        sent.iter().flat_map(|(request, responses)| Settled::of(request, responses)).collect()
    }

    /// Returns a different request with the same key. `None` if there is no such request.
    fn different(&self, operation: &Operation) -> Option<Operation> {
        let mut body = operation.body.clone();
        let account = match &operation.action {
            Action::Transfer(_) => {
                body["description"] = "another".into();
                return Some(Operation { body, ..operation.clone() });
            }
            // The key of a void belongs to its hold.
            Action::Void { .. } => return None,
            Action::Hold { debit, .. } => *debit,
            Action::Capture { hold, .. } => self.model.holds[hold].debit,
            Action::Refund { original, .. } => {
                let original = &self.model.posted[original];
                original.has_two_legs().then(|| original.parts[0].account)?
            }
        };
        let [one, two] = [1, 2].map(|minor| json!(self.model.holders[account].amount(minor)));
        body["amount"] = if body["amount"] == one { two } else { one };
        Some(Operation { body, ..operation.clone() })
    }

    /// Prints how often each outcome occurred, and checks that no outcome is rare.
    fn report(&self) {
        let Self { requests, unknown, outcomes, troubles, .. } = self;
        println!("{requests} requests, {unknown} without an outcome at first: {troubles:?}");
        for (outcome, count) in outcomes {
            println!("{count:6} ({:3} ‰) {outcome}", 1_000 * count / requests);
        }
        for (outcome, share) in MINIMA {
            let count = outcomes.get(outcome).copied().unwrap_or_default();
            assert!(count * 1_000 >= share * requests, "only {count} of {requests} requests: {outcome}");
        }
        assert!(unknown * 50 > *requests, "too few responses were lost: {unknown} of {requests}");
    }
}

async fn operations(rounds: usize, of_each: usize, crashes: &Crashes) {
    let mut world = World::open(crashes).await;
    let began = Instant::now();
    for _ in 0..rounds {
        world.round(of_each).await;
    }
    println!("{} operations in {:.1} s", rounds * of_each, began.elapsed().as_secs_f64());
    world.again(100).await;
    world.check_table().await;
    world.reconcile().await;
    println!("compared after {:.1} s", began.elapsed().as_secs_f64());
    world.report();
    world.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_operations_neither_create_nor_lose_money() {
    operations(10, 200, &Crashes::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make test-slow"]
async fn two_hundred_thousand_operations_neither_create_nor_lose_money() {
    // Use twenty ledgers, because each transaction makes the local engine scan all client tokens of
    // the last ten minutes.
    let crashes = Crashes::default();
    for _ in 0..20 {
        operations(20, 500, &crashes).await;
    }
    let crashes = crashes.lock().expect("no sender panics");
    for (function, calls) in CRASHES {
        for crash in (1..=calls).flat_map(|call| [false, true].map(|after| (function, call, after))) {
            assert!(crashes.contains(&crash), "no crash at {crash:?}");
        }
    }
}
