//! A whole day of the bank in small (docs/requirements/bank.md): intake, dispatch, cancellation,
//! execution by the ledger and close, while every function crashes at random points.

use fastrand::Rng;
use function::{Diagnostic, Invocation, Service};
use futures::{StreamExt, future::poll_fn, stream as futures_stream};
use local::{Builder, Handler, Stack};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    ops::Range,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};
use system_tests::{
    Answer, Client,
    bank::{Row, path, payments, rows, scheduled_at, stack, transactions, upload},
    faults::{Fault, Proxy, service},
    ledger::Books,
    text,
};
use table::Usage;
use tokio::time::sleep;

const DAY: &str = "2099-12-01";
const EVENING: &str = "2099-12-01T23:59:59Z";
const AFTER: &str = "2099-12-02T00:15:00Z";
const EXECUTE: &str = "execute-payment";
const DISPATCH: &str = "dispatch-due-payments";
/// Number of ledger accounts.
const ACCOUNTS: usize = 100;
/// Initial balance of each account in cents.
const FUNDS: i64 = 100_000_000;
/// More than any account ever has.
const TOO_MUCH: i64 = 90_000_000_000;
const SIDE_BY_SIDE: usize = 24;
/// Maximum number of looks at a state, and the pause between two looks.
const LOOKS: usize = 20_000;
const PAUSE: Duration = Duration::from_millis(100);

/// Functions that crash, with a probability in percent and the maximum number of steps until a
/// crash. The first invocation of each always crashes. Functions that serve the fixtures do not
/// crash.
const CRASHES: [(&str, u8, u32); 11] = [
    ("schedule-payment", 10, 4),
    ("update-payment-status", 20, 4),
    ("import-payments", 50, 4),
    ("continue-bank-job", 50, 30),
    (DISPATCH, 50, 60),
    (EXECUTE, 30, 60),
    ("archive-settled-payments", 50, 60),
    ("close-day", 50, 4),
    ("get-day", 10, 4),
    ("get-import", 10, 3),
    ("set-dispatching", 50, 3),
];

/// The functions of the stack. A crash is the end of an invocation at any of its await points: its
/// calls may or may not reach DynamoDB, and its memory is lost.
#[derive(Default)]
struct Functions {
    services: OnceLock<HashMap<&'static str, Service>>,
    /// The executor without a ledger.
    cut_off: OnceLock<Service>,
    is_ledger_down: AtomicBool,
    random: Mutex<Rng>,
    crashes: Mutex<BTreeMap<&'static str, usize>>,
    /// Whether functions crash.
    is_rough: AtomicBool,
}

impl Functions {
    fn handlers(self: &Arc<Self>) -> impl Iterator<Item = (&'static str, Handler)> {
        let functions = Arc::clone(self);
        local::functions().map(move |(name, _)| {
            let functions = Arc::clone(&functions);
            let handler: Handler = Arc::new(move |event, context| {
                let functions = Arc::clone(&functions);
                Box::pin(async move { functions.invoke(name, event, context).await })
            });
            (name, handler)
        })
    }

    /// Binds the functions to the stack, and the executor without a ledger to the proxy.
    fn start(&self, stack: &Stack, without_ledger: &Proxy) {
        let deployed = |name: &str| stack.template().lambdas.iter().any(|lambda| lambda.name == name);
        let all = local::functions().filter(|(name, _)| deployed(name));
        let services = all.map(|(name, function)| (name, service(stack, stack.dynamo_url(), name, &function)));
        assert!(self.services.set(services.collect()).is_ok());
        without_ledger.rule(|call| {
            let is_ledger = call.table.as_deref().is_some_and(|table| table.ends_with("FinancialTransactions"));
            if is_ledger { Fault::internal() } else { Fault::None }
        });
        let function = bank::patterns::execute_payment::function();
        assert!(self.cut_off.set(service(stack, without_ledger.url(), EXECUTE, &function)).is_ok());
    }

    async fn invoke(&self, name: &'static str, event: Value, context: function::Context) -> Invocation {
        let services = self.services.get().expect("a running stack");
        let is_cut_off = name == EXECUTE && self.is_ledger_down.load(Ordering::Relaxed);
        let service = if is_cut_off { self.cut_off.get().expect("a service") } else { &services[name] };
        let Some(mut steps) = self.steps_until_crash(name) else { return service.call(event, context).await };
        let mut call = Box::pin(service.call(event, context));
        let outcome = poll_fn(|task| {
            if steps == 0 {
                return Poll::Ready(None);
            }
            steps -= 1;
            call.as_mut().poll(task).map(Some)
        });
        outcome.await.unwrap_or_else(|| {
            *self.crashes.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
            let error = Diagnostic { error_type: "Crash".to_owned(), error_message: "crashed".to_owned() };
            Invocation { answer: Err(error), usage: Usage::default() }
        })
    }

    fn steps_until_crash(&self, name: &str) -> Option<u32> {
        let (_, percent, most) = CRASHES.iter().find(|(crashing, ..)| *crashing == name)?;
        if !self.is_rough.load(Ordering::Relaxed) {
            return None;
        }
        let crashed = self.crashes.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        match (crashed, name) {
            (None, _) => return Some(1),
            // Lambda repeats an event of S3 twice.
            (Some(2..), "import-payments") => return None,
            _ => {}
        }
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        (random.u8(..100) < *percent).then(|| random.u32(1..=*most))
    }
}

/// A payment of the day.
#[derive(Debug, Clone, Copy)]
struct Planned {
    number: usize,
    cents: i64,
}

impl Planned {
    fn new(number: usize) -> Self {
        let is_rejected = number % 100 >= 97;
        let cents = i64::try_from(1 + number % 997).expect("cents");
        Self { number, cents: if is_rejected { TOO_MUCH + cents } else { cents } }
    }

    fn is_rejected(&self) -> bool {
        self.cents > TOO_MUCH
    }

    /// Whether the customer tries to cancel the payment during the dispatch.
    fn is_cancelled(&self) -> bool {
        self.number % 20 == 7
    }

    fn debit(&self) -> usize {
        self.number % ACCOUNTS
    }

    fn credit(&self) -> usize {
        (self.number + 1 + self.number / ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS
    }

    fn time(&self) -> String {
        format!("{DAY}T{:02}:{:02}:{:02}Z", self.number % 24, self.number % 60, self.number / 60 % 60)
    }

    fn data(&self, accounts: &[String]) -> Value {
        json!({"creditAccountId": accounts[self.credit()], "amount": decimal(self.cents), "currency": "USD", "number": self.number})
    }
}

fn decimal(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn cents(amount: &str) -> i64 {
    amount.replace('.', "").parse().expect("cents")
}

/// The number of the planned payment that an item of the bank belongs to.
fn number(row: &Row) -> usize {
    let data: Value = serde_json::from_str(&row["Data"]).expect("JSON");
    usize::try_from(data["number"].as_u64().expect("a number")).expect("a number")
}

struct World {
    functions: Arc<Functions>,
    books: Books,
    accounts: Vec<String>,
    plan: Vec<Planned>,
}

impl World {
    async fn start(count: usize, stack: Builder) -> Self {
        let functions = Arc::new(Functions { random: Mutex::new(Rng::with_seed(7)), ..Functions::default() });
        let stack = stack.handlers(functions.handlers()).parameter("MaxAttempts", "99");
        let stack = stack.start().await.expect("a stack");
        // The proxy runs until the end of the test.
        let proxy = Box::leak(Box::new(Proxy::start(stack.dynamo_url()).await));
        functions.start(&stack, proxy);
        let books = Books::of(stack).await;
        let funded = (0..ACCOUNTS).map(|number| {
            let books = &books;
            async move { books.funded(&format!("user-{number}"), &decimal(FUNDS)).await }
        });
        let accounts = futures_stream::iter(funded).buffered(8).collect().await;
        functions.is_rough.store(true, Ordering::Relaxed);
        Self { functions, books, accounts, plan: (0..count).map(Planned::new).collect() }
    }

    fn client(&self) -> &Client {
        &self.books.operator
    }

    /// Sends a request again until the function did not crash.
    async fn repeated(&self, send: impl AsyncFn() -> Answer) -> Answer {
        let mut last = None;
        for _ in 0..100 {
            let answer = send().await;
            if answer.status < 500 {
                return answer;
            }
            last = Some(answer.body);
        }
        unreachable!("every attempt crashes: {last:?}")
    }

    /// Invokes a function again until it did not crash.
    async fn invoked(&self, function: &str, event: &Value) -> Value {
        for _ in 0..100 {
            let answer = self.client().invoke(function, event).await;
            if answer.body["errorType"].is_null() {
                return answer.body;
            }
        }
        unreachable!("every attempt crashes")
    }

    /// Schedules payments by requests, some of them twice.
    async fn post(&self, plan: &[Planned]) -> Vec<(Planned, Value)> {
        let posts = plan.iter().map(|planned| async move {
            let account = &self.accounts[planned.debit()];
            let body = json!({"scheduledTime": planned.time(), "data": planned.data(&self.accounts)});
            let (url, key) = (format!("/bank/accounts/{account}/payments"), format!("K-{}", planned.number));
            let answer = self.repeated(async || self.client().post_once(&url, &key, &body).await).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
            if planned.number % 50 == 0 {
                let again = self.repeated(async || self.client().post_once(&url, &key, &body).await).await;
                assert_eq!(again.body["paymentId"], answer.body["paymentId"]);
            }
            (*planned, answer.body)
        });
        futures_stream::iter(posts).buffer_unordered(SIDE_BY_SIDE).collect().await
    }

    /// Imports payments from a file. Returns the numbers of scheduled lines and duplicates, and
    /// the sum of the scheduled lines in cents.
    async fn import(&self, name: &str, range: Range<usize>) -> (u64, u64, i64) {
        let mut file = String::new();
        for planned in &self.plan[range] {
            let line = json!({"id": format!("K-{}", planned.number), "accountId": self.accounts[planned.debit()],
                "scheduledTime": planned.time(), "data": planned.data(&self.accounts)});
            writeln!(file, "{line}").expect("text");
        }
        upload(&self.books.stack, &format!("inbox/{name}.jsonl"), &[], file).await;
        let import = self.imported(&format!("/bank/imports/{name}")).await;
        assert_eq!((text(&import, "status"), &import["rejected"]), ("done", &json!(0)), "{import}");
        let scheduled = import["totals"].as_array().into_iter().flatten();
        let sum = scheduled.filter(|total| total["outcome"] == "scheduled").map(|total| cents(text(total, "amount")));
        let count = |name: &str| import[name].as_u64().expect("a number");
        (count("scheduled"), count("duplicates"), sum.sum())
    }

    /// Waits until the import has ended.
    async fn imported(&self, path: &str) -> Value {
        for _ in 0..LOOKS {
            let answer = self.client().get(path).await;
            if answer.status == 200 && answer.body["status"] != "running" {
                return answer.body;
            }
            sleep(PAUSE).await;
        }
        unreachable!("the import does not end")
    }

    async fn dispatch(&self) -> Value {
        self.invoked(DISPATCH, &scheduled_at(EVENING)).await
    }

    /// Cancels payments as their customer. Returns the number of successful cancellations.
    async fn cancel(&self, payments: &[(Planned, Value)]) -> usize {
        let done = AtomicUsize::new(0);
        let cancel = async |payment: &Value| {
            let body = json!({"status": "CANCELLED"});
            let answer = self.repeated(async || self.client().patch(&path(payment), &body).await).await;
            assert!([200, 409].contains(&answer.status), "{}", answer.body);
            done.fetch_add(usize::from(answer.status == 200), Ordering::Relaxed);
        };
        let cancelled = payments.iter().filter(|(planned, _)| planned.is_cancelled());
        futures_stream::iter(cancelled).for_each_concurrent(4, |(_, payment)| cancel(payment)).await;
        done.into_inner()
    }

    /// Delivers records of the stream again.
    async fn repeat_records(&self, payments: &[(Planned, Value)]) {
        for some in payments.chunks(50).step_by(10) {
            let record = |(index, (_, payment)): (usize, &(Planned, Value))| {
                let sort = format!("{}#{}", text(payment, "scheduledTime"), text(payment, "paymentId"));
                let keys = json!({"PK": {"S": payment["accountId"]}, "SK": {"S": sort}});
                json!({"eventName": "MODIFY", "dynamodb": {"SequenceNumber": index.to_string(), "Keys": keys}})
            };
            let records: Vec<Value> = some.iter().enumerate().map(record).collect();
            self.client().invoke(EXECUTE, &json!({"Records": records})).await;
        }
    }

    async fn day(&self) -> Value {
        self.repeated(async || self.client().get(&format!("/bank/days/{DAY}")).await).await.body
    }

    async fn count(&self, status: &str) -> u64 {
        self.day().await["counts"][status].as_u64().expect("a count")
    }

    async fn transfers(&self) -> Vec<Row> {
        let all = rows(&self.books.stack, "FinancialTransactions", "Transaction").await;
        all.into_iter().filter(|row| row["CreatedBy"] == "service:bank").collect()
    }

    /// Dispatches until every payment is settled.
    async fn settle(&self) {
        for _ in 0..LOOKS {
            let started = Instant::now();
            self.dispatch().await;
            let counts = self.day().await["counts"].clone();
            if counts["SCHEDULED"] == 0 && counts["PENDING"] == 0 {
                return;
            }
            pause_since(started).await;
        }
        unreachable!("payments stay open: {}", self.day().await);
    }

    /// Closes the day, and returns the certificate.
    async fn close(&self) -> Value {
        self.invoked("close-day", &scheduled_at(AFTER)).await;
        for _ in 0..LOOKS {
            let started = Instant::now();
            let day = self.day().await;
            if day["status"] == "closed" {
                return day;
            }
            pause_since(started).await;
        }
        unreachable!("the day is not closed")
    }
}

/// Waits before the next look at a day. Counting takes longer, the more payments there are, and
/// must leave most of the time to the functions.
async fn pause_since(started: Instant) {
    sleep(PAUSE.max(4 * started.elapsed())).await;
}

/// A total of the certificate in cents.
fn total(totals: &Value, status: &str) -> i64 {
    let totals = totals.as_array().expect("totals").iter();
    totals.filter(|total| total["status"] == status).map(|total| cents(text(total, "amount"))).sum()
}

async fn whole_day(count: usize, stack: Builder) {
    let world = World::start(count, stack).await;
    let by_file = count / 5;
    // A fifth of the payments comes in files. The second file overlaps the first.
    let half = by_file / 2;
    let (mut posted, first) = futures::join!(world.post(&world.plan[by_file..]), world.import("first", 0..half));
    posted.sort_by_key(|(planned, _)| planned.number);
    let second = world.import("second", half / 2..by_file).await;
    let again = world.import("again", 0..half).await;
    let of = |range: Range<usize>| world.plan[range].iter().map(|planned| planned.cents).sum::<i64>();
    let number = |count: usize| u64::try_from(count).expect("a number");
    assert_eq!(first, (number(half), 0, of(0..half)));
    assert_eq!(second, (number(by_file - half), number(half - half / 2), of(half..by_file)));
    assert_eq!(again, (0, number(half), 0));
    assert_eq!(payments(&world.books.stack).await.len(), count);

    // While dispatching is disabled, nothing is dispatched or executed.
    let switch = async |enabled: bool| {
        let body = json!({"enabled": enabled});
        let answer = world.repeated(async || world.client().put("/bank/dispatching", &body).await).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    };
    switch(false).await;
    assert_eq!(world.dispatch().await["disabled"], true);
    assert_eq!((world.count("SCHEDULED").await, world.transfers().await.len()), (number(count), 0));
    switch(true).await;

    // Customers cancel while two dispatches run. The ledger is down at first.
    world.functions.is_ledger_down.store(true, Ordering::Relaxed);
    let (_, _, cancelled) = futures::join!(world.dispatch(), world.dispatch(), world.cancel(&posted));
    assert_eq!(world.transfers().await.len(), 0);
    world.functions.is_ledger_down.store(false, Ordering::Relaxed);
    futures::join!(world.settle(), world.repeat_records(&posted));
    world.repeat_records(&posted).await;
    let archive = scheduled_at(AFTER);
    let (certificate, _) = futures::join!(world.close(), world.invoked("archive-settled-payments", &archive));
    check(&world, &certificate, cancelled).await;

    let crashes = world.functions.crashes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for (name, ..) in CRASHES {
        assert!(crashes.contains_key(name), "{name} never crashed: {crashes:?}");
    }
    world.books.stack.stop().await;
}

/// Each payment is in one table, and posted exactly once or not at all. The certificate, the ledger
/// and the plan agree.
async fn check(world: &World, certificate: &Value, cancelled: usize) {
    assert_eq!(payments(&world.books.stack).await.len(), 0, "all payments are archived");
    let history = transactions(&world.books.stack).await;
    let mut settled: BTreeMap<usize, &Row> = BTreeMap::new();
    for row in &history {
        assert!(settled.insert(number(row), row).is_none(), "two payments for one: {row:?}");
    }
    assert_eq!(settled.len(), world.plan.len(), "payments are lost");
    let transfers = world.transfers().await;
    let mut by_id: BTreeMap<&str, &Row> = transfers.iter().map(|row| (row["ID"].as_str(), row)).collect();
    assert_eq!(by_id.len(), transfers.len());
    let mut sums: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    let mut balances = vec![FUNDS; ACCOUNTS];
    for planned in &world.plan {
        let row = settled[&planned.number];
        let status = row["GSI1SK"].split('#').next().expect("a status");
        let sum = sums.entry(status).or_default();
        *sum = (sum.0 + 1, sum.1 + planned.cents);
        match status {
            "PROCESSED" => {
                assert!(!planned.is_rejected(), "{row:?}");
                let transfer = by_id.remove(row["GSI2PK"].as_str()).expect("a transaction");
                assert_eq!(cents(&decimal_of(&transfer["Amount"])), planned.cents, "{transfer:?}");
                balances[planned.debit()] -= planned.cents;
                balances[planned.credit()] += planned.cents;
            }
            "FAILED" => assert!(planned.is_rejected(), "{row:?}"),
            "CANCELLED" => assert!(planned.is_cancelled(), "{row:?}"),
            other => unreachable!("{other}"),
        }
    }
    assert!(by_id.is_empty(), "transactions without a payment: {by_id:?}");
    for (status, (count, sum)) in &sums {
        assert_eq!(certificate["counts"][status], json!(count), "{certificate}");
        assert_eq!(total(&certificate["totals"], status), *sum, "{certificate}");
    }
    let processed = sums["PROCESSED"];
    assert_eq!(certificate["ledger"]["transactions"], json!(processed.0), "{certificate}");
    assert_eq!(total(&certificate["ledger"]["totals"], "PROCESSED"), processed.1, "{certificate}");
    assert_eq!((&certificate["openCount"], &certificate["discrepancyCount"]), (&json!(0), &json!(0)), "{certificate}");
    // A cancellation whose answer was lost is reported as a conflict when it is repeated.
    assert!(sums.get("CANCELLED").map_or(0, |sum| sum.0) >= u64::try_from(cancelled).expect("a number"));
    for (account, balance) in world.accounts.iter().zip(balances) {
        assert_eq!(world.books.balance(account).await, decimal(balance));
    }
}

/// A stored decimal with two places.
fn decimal_of(stored: &str) -> String {
    match stored.split_once('.') {
        None => format!("{stored}.00"),
        Some((whole, part)) => format!("{whole}.{part:0<2}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_500_payments_is_posted_once_or_not_at_all() {
    whole_day(500, stack()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make test-slow: takes minutes"]
async fn each_of_20_000_payments_is_posted_once_or_not_at_all() {
    whole_day(20_000, stack()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "make test-slow: takes half an hour"]
async fn each_of_100_000_payments_is_posted_once_or_not_at_all() {
    // The in-memory database of the local DynamoDB engine is limited to 1 GB.
    let folder = std::env::temp_dir().join(format!("day-{}", fastrand::u64(..)));
    std::fs::create_dir(&folder).expect("a folder");
    whole_day(100_000, stack().data(folder.join("data.db"))).await;
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
