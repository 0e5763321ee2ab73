//! Compares the ledger with a simple model after random transfers between 50 accounts, of which
//! eight have grouped posting. Many transfers run concurrently. Calls are throttled, cancelled,
//! lost or delayed, or get no response. Functions crash, requests are repeated, and clocks differ.

use fastrand::Rng;
use function::Service;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use keys::{ledger::LegType, totals::TotalSort};
use ledger::Total;
use local::Stack;
use money::{Currency, Decimal, Money};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};
use system_tests::{
    Answer, Client, drained, dynamo,
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy, service, within},
    ledger::id,
    ledger::model::{Stored, posting},
    ledger::totals::{COUNT, TOTALS},
    parsed, stack, until,
};
use table::Query;

const ACCOUNTS: usize = 50;
const CURRENCIES: [&str; 4] = ["USD", "EUR", "JPY", "KWD"];
/// Number of accounts with grouped posting.
const GROUPED: usize = 8;
const CLIENTS: usize = 8;
const MINUTE: Duration = Duration::from_mins(1);
/// The timeout of a request that gets no response.
const SHORT: Duration = Duration::from_millis(300);

/// Returns the random number generator. To repeat a run, set the environment variable `LEDGER_SEED`
/// to the seed of that run.
fn random() -> Rng {
    let seed = std::env::var("LEDGER_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("LEDGER_SEED={seed} repeats the requests of this run");
    Rng::with_seed(seed)
}

fn start() -> Timestamp {
    "2099-11-30T12:00:00.123Z".parse().expect("a time")
}

/// A fault that occurs during a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    None,
    /// The request is sent twice concurrently.
    Twice,
    /// The first n calls are throttled.
    Throttled(usize),
    /// The first n transactions are cancelled with a conflict.
    Conflicts(usize),
    /// The connection closes before or after the n-th call, and the function continues.
    Lost(usize, bool),
    /// The function crashes before or after the n-th call.
    Death(usize, bool),
    /// The transaction gets no response in time. `true` means that it was applied.
    Timeout(bool),
    /// The transaction reaches DynamoDB after the request has timed out.
    Late,
}

impl Trouble {
    fn random(rng: &mut Rng) -> Self {
        let (call, after) = (rng.usize(1..=3), rng.bool());
        match rng.u8(..100) {
            0..=4 => Self::Twice,
            5..=6 => Self::Throttled(call),
            7..=9 => Self::Conflicts(call),
            10..=12 => Self::Lost(call, after),
            13..=16 => Self::Death(call, after),
            17 => Self::Timeout(after),
            18 => Self::Late,
            _ => Self::None,
        }
    }

    /// Returns the name of the fault in the statistics.
    fn name(self) -> &'static str {
        match self {
            Self::None => "without faults",
            Self::Twice => "twice",
            Self::Throttled(_) => "throttled",
            Self::Conflicts(_) => "conflicts",
            Self::Lost(..) => "lost",
            Self::Death(..) => "crashed",
            Self::Timeout(_) => "timed out",
            Self::Late => "late",
        }
    }

    fn time(self) -> Duration {
        if matches!(self, Self::Timeout(_) | Self::Late) { SHORT } else { MINUTE }
    }

    fn of(self, call: &Call) -> Fault {
        let is_transaction = call.action == "TransactWriteItems";
        let moment = |after| MOMENTS[usize::from(after)];
        match self {
            Self::Throttled(calls) if call.number <= calls => Fault::throttled(),
            Self::Conflicts(calls) if is_transaction && call.nth <= calls => {
                Fault::cancelled(&["None", "TransactionConflict"])
            }
            Self::Lost(number, after) if call.number == number => Fault::Lost(moment(after)),
            Self::Death(number, after) if call.number == number => Fault::Death(moment(after)),
            Self::Timeout(true) if is_transaction && call.nth == 1 => Fault::Lost(Moment::After),
            Self::Timeout(_) if is_transaction => Fault::Silence,
            Self::Late if is_transaction => Fault::Held,
            _ => Fault::None,
        }
    }
}

/// An account of the model.
#[derive(Debug, Clone)]
struct Holder {
    id: String,
    currency: Currency,
    is_negative: bool,
    /// The balance in minor units.
    balance: i128,
    /// The time and the id of the last leg.
    last: (String, String),
    /// The lowest balance since the last comparison.
    least: i128,
    /// Whether credits wait in an inbox until they are posted.
    is_grouped: bool,
    /// The sum of the grouped credits since the last comparison.
    incoming: i128,
}

/// A leg of a transfer, with its amount in minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    account: usize,
    leg_type: LegType,
    minor: i128,
}

impl Part {
    fn change(&self) -> i128 {
        if self.leg_type == LegType::Debit { -self.minor } else { self.minor }
    }
}

#[derive(Debug, Clone)]
struct Transfer {
    key: String,
    parts: Vec<Part>,
    body: Value,
    at: Timestamp,
    trouble: Trouble,
}

impl Transfer {
    fn event(&self) -> Value {
        posting(&self.key, &self.body, self.at)
    }
}

/// The response to a request: status and body text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    status: u64,
    body: String,
}

impl Outcome {
    /// Returns `None` if the response asks for a retry.
    fn from_answer(answer: &Value) -> Option<Self> {
        let (status, body) = (answer["statusCode"].as_u64()?, answer["body"].as_str()?.to_owned());
        let outcome = Self { status, body };
        assert!(matches!(status, 201 | 409 | 422 | 429 | 503), "{outcome:?}");
        assert!(status != 409 || outcome.body.contains("/problems/insufficient-funds"), "{outcome:?}");
        (!matches!(status, 429 | 503)).then_some(outcome)
    }
}

/// Invokes the function, which calls DynamoDB directly or through the proxy.
struct Sender {
    healthy: Service,
    troubled: Service,
    proxy: Proxy,
}

impl Sender {
    async fn start(stack: &Stack) -> Self {
        let function = ledger::patterns::process_payment::function();
        let of = |url: &str| service(stack, url, "process-payment", &function);
        let proxy = Proxy::start(stack.dynamo_url()).await;
        Self { healthy: of(stack.dynamo_url()), troubled: of(proxy.url()), proxy }
    }

    /// Sends the transfer once, or twice for [`Trouble::Twice`]. Returns one result for each
    /// request. A result is `None` if its outcome is unknown.
    async fn send(&self, transfer: &Transfer) -> Vec<Option<Outcome>> {
        let event = transfer.event();
        let well = async || {
            let invocation = self.healthy.call(event.clone(), within(MINUTE)).await;
            Outcome::from_answer(&invocation.answer.expect("an answer"))
        };
        match transfer.trouble {
            Trouble::None => vec![well().await],
            Trouble::Twice => join_all([well(), well()]).await,
            trouble => {
                self.proxy.rule(move |call| trouble.of(call));
                let process = Process::of(self.troubled.clone(), &self.proxy);
                let invocation = process.run(&event, trouble.time()).await;
                vec![invocation.and_then(|invocation| Outcome::from_answer(&invocation.answer.expect("an answer")))]
            }
        }
    }

    /// Sends the transfer until its outcome is known.
    async fn settle(&self, transfer: &Transfer) -> Outcome {
        let transfer = Transfer { trouble: Trouble::None, ..transfer.clone() };
        for _ in 0..100 {
            if let Some(outcome) = self.send(&transfer).await.pop().flatten() {
                return outcome;
            }
        }
        unreachable!("{} never gets an outcome", transfer.key)
    }
}

/// Distributes the transfers among the senders, which work concurrently.
async fn each<T, F>(senders: &[Arc<Sender>], transfers: Vec<Transfer>, work: fn(Arc<Sender>, Transfer) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let queue = Arc::new(std::sync::Mutex::new(transfers.into_iter()));
    let shares = senders.iter().map(|sender| {
        let (sender, queue) = (Arc::clone(sender), Arc::clone(&queue));
        tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().expect("the lock is not poisoned").next();
                let Some(transfer) = next else { return done };
                done.push(work(Arc::clone(&sender), transfer).await);
            }
        })
    });
    join_all(shares).await.into_iter().flat_map(|share| share.expect("no sender panics")).collect()
}

async fn sent(sender: Arc<Sender>, transfer: Transfer) -> (Transfer, Vec<Option<Outcome>>) {
    let results = sender.send(&transfer).await;
    (transfer, results)
}

async fn settled(sender: Arc<Sender>, transfer: Transfer) -> (Transfer, Outcome) {
    let outcome = sender.settle(&transfer).await;
    (transfer, outcome)
}

/// The ledger and its model.
struct World {
    stack: Stack,
    senders: Vec<Arc<Sender>>,
    rng: Rng,
    holders: Vec<Holder>,
    numbers: BTreeMap<String, usize>,
    now: Timestamp,
    /// The posted transfers and their responses.
    done: BTreeMap<String, (Transfer, Outcome)>,
    /// The idempotency keys of the rejected transfers.
    refused: BTreeSet<String>,
    requests: usize,
    troubles: BTreeMap<&'static str, usize>,
    unknown: usize,
}

impl World {
    async fn open() -> Self {
        let (rng, stack) = (random(), stack().start().await.expect("a stack"));
        let client = Client::operator(&stack);
        let mut holders = Vec::new();
        for number in 0..ACCOUNTS {
            let (currency, is_negative) = (CURRENCIES[number % CURRENCIES.len()], number < 2 * CURRENCIES.len());
            let is_grouped = number >= ACCOUNTS - GROUPED;
            let terms = json!({
                "userId": "bank",
                "accountType": "any",
                "currency": currency,
                "allowNegative": is_negative,
                "posting": if is_grouped { "grouped" } else { "direct" },
            });
            let id = id(&client.post("/ledger/accounts", &terms).await, "accountId");
            let currency = currency.parse().expect("a currency");
            let last = Default::default();
            holders.push(Holder { id, currency, is_negative, balance: 0, last, least: 0, is_grouped, incoming: 0 });
        }
        let senders = join_all((0..CLIENTS).map(|_| Sender::start(&stack))).await.into_iter().map(Arc::new).collect();
        let numbers = holders.iter().enumerate().map(|(number, holder)| (holder.id.clone(), number)).collect();
        Self {
            stack,
            senders,
            rng,
            holders,
            numbers,
            now: start(),
            done: BTreeMap::new(),
            refused: BTreeSet::new(),
            requests: 0,
            troubles: BTreeMap::new(),
            unknown: 0,
        }
    }

    /// Returns balanced legs in one currency: up to `most` pairs, each with a debit and a credit of
    /// the same amount. An account may be in several pairs, always on the same side.
    fn parts(&mut self, currency: usize, most: usize) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for _ in 0..self.rng.usize(1..=most) {
            let mut two = self.rng.choose_multiple((currency..ACCOUNTS).step_by(CURRENCIES.len()), 2);
            self.rng.shuffle(&mut two);
            let minor = i128::from(self.rng.u64(1..=20_000));
            let both = [LegType::Debit, LegType::Credit].into_iter().zip(two);
            let pair: Vec<Part> = both.map(|(leg_type, account)| Part { account, leg_type, minor }).collect();
            let is_other_side = |part: &Part| {
                let other = |own: &Part| own.account == part.account && own.leg_type != part.leg_type;
                parts.iter().any(other)
            };
            if !pair.iter().any(is_other_side) {
                parts.extend(pair);
            }
        }
        parts
    }

    fn transfer(&mut self) -> Transfer {
        let currency = self.rng.usize(..CURRENCIES.len());
        let most = if self.rng.u8(..10) == 0 { 3 } else { 1 };
        let mut parts = self.parts(currency, most);
        if self.rng.u8(..20) == 0 {
            parts.extend(self.parts((currency + 1) % CURRENCIES.len(), 1));
        }
        let legs: Vec<Value> = parts
            .iter()
            .map(|part| {
                let Holder { id, currency, .. } = &self.holders[part.account];
                let amount = Money::of_minor(part.minor, *currency).expect("an amount").amount();
                json!({"accountId": id, "legType": part.leg_type, "amount": amount, "currency": currency})
            })
            .collect();
        let body = if let ([from, to], true) = (&legs[..], self.rng.bool()) {
            json!({
                "transactionType": "transfer",
                "debitAccountId": from["accountId"],
                "creditAccountId": to["accountId"],
                "amount": from["amount"],
                "currency": from["currency"],
            })
        } else {
            json!({"legs": legs})
        };
        self.requests += 1;
        let at = self.now + SignedDuration::from_millis(self.rng.i64(-1_000..=1_000));
        let trouble = Trouble::random(&mut self.rng);
        *self.troubles.entry(trouble.name()).or_default() += 1;
        Transfer { key: format!("K-{}", self.requests), parts, body, at, trouble }
    }

    /// Sends the transfers concurrently, retries those with an unknown outcome, and compares the
    /// ledger with the model.
    async fn round(&mut self, transfers: usize) {
        self.now += SignedDuration::from_secs(10);
        let transfers = (0..transfers).map(|_| self.transfer()).collect();
        let mut outcomes = Vec::new();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (transfer, results) in each(&self.senders, transfers, sent).await {
            let known: Vec<Outcome> = results.iter().flatten().cloned().collect();
            let done: Vec<&Outcome> = known.iter().filter(|outcome| outcome.status == 201).collect();
            assert!(done.iter().all(|outcome| *outcome == done[0]), "{transfer:?}: {done:?}");
            match (done.first(), known.len() == results.len()) {
                (Some(done), _) => outcomes.push((transfer, (*done).clone())),
                (None, true) => outcomes.push((transfer, known[0].clone())),
                (None, false) if self.rng.bool() => before.push(transfer),
                (None, false) => after.push(transfer),
            }
        }
        self.unknown += before.len() + after.len();
        // Retry some transfers before the delayed transactions reach DynamoDB, and the others
        // afterwards.
        outcomes.extend(each(&self.senders, before, settled).await);
        join_all(self.senders.iter().map(|sender| sender.proxy.arrive())).await;
        outcomes.extend(each(&self.senders, after, settled).await);
        self.learn(outcomes);
        self.look().await;
    }

    /// Applies the posted transfers to the model in the order of their legs, and compares the
    /// balance after each leg.
    fn learn(&mut self, outcomes: Vec<(Transfer, Outcome)>) {
        self.holders.iter_mut().for_each(|holder| holder.least = holder.balance);
        let mut legs = Vec::new();
        let mut refused = Vec::new();
        for (transfer, outcome) in outcomes {
            match outcome.status {
                201 => {
                    legs.extend(self.legs(&transfer, &outcome));
                    self.done.insert(transfer.key.clone(), (transfer, outcome));
                }
                409 => refused.push(transfer),
                _ => unreachable!("{transfer:?}: {outcome:?}"),
            }
        }
        legs.sort();
        let mut unfinished = BTreeMap::new();
        for (created, leg, transaction, account, change, after) in legs {
            let holder = &mut self.holders[account];
            let Some(after) = after else {
                holder.incoming += change;
                continue;
            };
            assert!(created > holder.last.0 || holder.last.1.starts_with(&transaction), "{leg} is not later");
            // The balance between two legs of the same transaction is never visible, so it may be
            // negative.
            if unfinished.insert(account, transaction.clone()).is_some_and(|last| last != transaction) {
                holder.least = holder.least.min(holder.balance);
            }
            holder.balance += change;
            // A debit of a grouped account sees the credits that were posted before.
            let seen = if holder.is_grouped { holder.balance..=i128::MAX } else { holder.balance..=holder.balance };
            assert!(seen.contains(&after), "{after} after {leg} in {holder:?}");
            assert!(change > 0 || after >= 0 || holder.is_negative, "{leg} overdraws its account");
            holder.last = (created, leg);
        }
        for holder in &mut self.holders {
            holder.least = holder.least.min(holder.balance);
            assert!(holder.least >= 0 || holder.is_negative || holder.is_grouped, "{holder:?}");
        }
        for transfer in refused {
            assert!(self.may_be_refused(&transfer), "{transfer:?} was rejected without a reason");
            self.refused.insert(transfer.key);
        }
        for holder in &mut self.holders {
            holder.balance += std::mem::take(&mut holder.incoming);
        }
    }

    /// Checks that the response contains the requested legs. Returns the time, id, transaction,
    /// account, change and balance of each leg.
    fn legs(&self, transfer: &Transfer, outcome: &Outcome) -> Vec<(String, String, String, usize, i128, Option<i128>)> {
        let body: Value = serde_json::from_str(&outcome.body).expect("JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let legs = body["legs"].as_array().expect("legs");
        let read = |(leg, part): (&Value, &Part)| {
            let holder = &self.holders[part.account];
            let minor = |name: &str| {
                let amount: Decimal = text(&leg[name]).parse().expect("a number");
                Money::new(amount, holder.currency).expect("an amount").minor()
            };
            let asked = (json!(holder.id), json!(part.leg_type), part.minor);
            assert_eq!((leg["accountId"].clone(), leg["legType"].clone(), minor("amount")), asked, "{transfer:?}");
            let transaction = text(&body["transactionId"]);
            (
                text(&leg["createdAt"]),
                text(&leg["legId"]),
                transaction,
                part.account,
                part.change(),
                (!holder.is_grouped || part.leg_type == LegType::Debit).then(|| minor("balanceAfter")),
            )
        };
        assert_eq!(legs.len(), transfer.parts.len(), "{transfer:?}: {outcome:?}");
        legs.iter().zip(&transfer.parts).map(read).collect()
    }

    /// Whether the transfer could have overdrawn one of its accounts at some point in this round.
    fn may_be_refused(&self, transfer: &Transfer) -> bool {
        let mut changes = BTreeMap::<usize, i128>::new();
        transfer.parts.iter().any(|part| {
            let change = changes.entry(part.account).or_default();
            *change += part.change();
            let holder = &self.holders[part.account];
            !holder.is_negative && holder.least + *change < 0
        })
    }

    /// Checks that all balances equal those of the model, and that their sum is zero.
    async fn look(&self) {
        let operator = Client::operator(&self.stack);
        for holder in self.holders.iter().filter(|holder| holder.is_grouped) {
            let nothing = Money::zero(holder.currency).amount();
            let is_settled = |answer: &Answer| answer.body["pending"] == json!(nothing);
            until(&operator, &format!("/ledger/accounts/{}", holder.id), is_settled).await;
        }
        let (items, _) = operator.all("/ledger/users/bank/accounts?limit=100").await;
        assert_eq!(items.len(), self.holders.len());
        let mut sums = BTreeMap::<&str, i128>::new();
        for item in &items {
            let holder = &self.holders[self.numbers[item["accountId"].as_str().expect("an id")]];
            let balance: Decimal = item["balance"].as_str().and_then(|text| text.parse().ok()).expect("a balance");
            let balance = Money::new(balance, holder.currency).expect("an amount").minor();
            assert_eq!(balance, holder.balance, "{item}");
            *sums.entry(holder.currency.code()).or_default() += balance;
        }
        assert!(sums.values().all(|sum| *sum == 0), "money was created or lost: {sums:?}");
    }

    /// Repeats some requests ten days later. Each request gets its original response. A different
    /// request with the same key is rejected.
    async fn again(&mut self, keys: usize) {
        self.now += SignedDuration::from_hours(10 * 24);
        let all: Vec<_> = self.done.values().map(|(transfer, _)| transfer.clone()).collect();
        let mut some = || Transfer { at: self.now, ..self.rng.choice(&all).expect("a transfer").clone() };
        let some: Vec<_> = (0..keys).map(|_| some()).collect();
        let others = some.clone().into_iter().map(|transfer| Transfer { body: other(&transfer.body), ..transfer });
        for (transfer, outcome) in each(&self.senders, some.clone(), settled).await {
            assert_eq!(outcome, self.done[&transfer.key].1, "{}", transfer.key);
        }
        for (transfer, outcome) in each(&self.senders, others.collect(), settled).await {
            assert_eq!(outcome.status, 422, "{}: {outcome:?}", transfer.key);
        }
    }

    /// Checks that the daily totals of all transactions are the sums of the stored postings.
    async fn check_totals(&self, stored: &Stored) {
        drained(&Client::operator(&self.stack), COUNT).await;
        let table = dynamo(&self.stack).table(self.stack.table(TOTALS).expect("a table"));
        let range = TotalSort::through(parsed("9999-12-30"));
        let (mut counted, mut wanted) = (BTreeMap::<_, [i128; 3]>::new(), BTreeMap::<_, [i128; 3]>::new());
        for shard in 0..4 {
            let query = Query::new(&format!("ALL#{shard}"), &range);
            for total in table.query_all::<Total>(&query).await.expect("totals").items {
                let minor = |amount| Money::new(amount, total.currency).expect("an amount").minor();
                let sums = counted.entry((total.transaction_type.to_string(), total.currency)).or_default();
                let more = [minor(total.debits), minor(total.credits), total.transactions.into()];
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
        for transaction in stored.transactions.values() {
            let key = |currency| (transaction.transaction_type.to_string(), currency);
            let currencies: BTreeSet<_> =
                transaction.postings.iter().map(|posting| posting.amount.currency()).collect();
            for currency in currencies {
                wanted.entry(key(currency)).or_default()[2] += 1;
            }
            for posting in &transaction.postings {
                let side = usize::from(posting.leg_type == LegType::Credit);
                wanted.entry(key(posting.amount.currency())).or_default()[side] += posting.amount.minor();
            }
        }
        assert_eq!(counted, wanted, "each transaction is counted once");
    }

    /// Checks that the table equals the model. Each posted key must have one transaction, and
    /// rejected keys must have none.
    async fn end(self) {
        let stored = Stored::read(&self.stack).await;
        stored.check();
        self.check_totals(&stored).await;
        let keys: Vec<_> =
            stored.transactions.values().filter_map(|transaction| transaction.idempotency_key.as_ref()).collect();
        let once: BTreeSet<&str> = keys.iter().map(|key| key.as_str()).collect();
        assert_eq!((keys.len(), once.len()), (self.done.len(), self.done.len()), "one transaction for each key");
        assert_eq!(once, self.done.keys().map(String::as_str).collect());
        assert!(self.refused.iter().all(|key| !once.contains(key.as_str())));
        assert_eq!(self.done.len() + self.refused.len(), self.requests, "one outcome for each key");
        let Self { requests, done, refused, unknown, troubles, .. } = self;
        let (done, refused) = (done.len(), refused.len());
        println!(
            "{requests} transfers, {done} posted, {refused} rejected, {unknown} without a response at first: {troubles:?}"
        );
        assert!(refused * 50 > requests && refused * 2 < requests, "{refused} of {requests} were rejected");
        assert!(unknown * 100 > requests, "too few responses were lost: {unknown} of {requests}");
    }
}

/// Returns a different transfer.
fn other(body: &Value) -> Value {
    let mut body = body.clone();
    body["description"] = "another".into();
    body
}

async fn transfers(rounds: usize, of_each: usize) {
    let mut world = World::open().await;
    let began = Instant::now();
    for _ in 0..rounds {
        world.round(of_each).await;
    }
    world.again(100).await;
    println!("{} transfers in {:.1} s", rounds * of_each, began.elapsed().as_secs_f64());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_transfers_neither_create_nor_lose_money() {
    transfers(10, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make test-slow"]
async fn a_hundred_thousand_transfers_neither_create_nor_lose_money() {
    // Use five ledgers, because each transaction makes the local engine scan all client tokens of
    // the last ten minutes.
    for _ in 0..5 {
        transfers(10, 2_000).await;
    }
}
