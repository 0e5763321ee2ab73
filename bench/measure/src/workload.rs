//! Runs the workload of `bench/postgres.py` on our ledger (docs/decisions/ledger-costs.md).
//!
//! Reads commands from standard input, such as `transfer 8 1000` for 8 clients and 1,000 ms, and
//! prints the result of each command as a line of JSON. The caller can therefore alternate between
//! the databases.

use crate::calls::{count, timed};
use function::{Function, Service};
use jiff::{SignedDuration, Timestamp};
use ledger::patterns::{get_statement, list_transactions, process_payment};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use system_tests::{
    Asks, drained,
    faults::{service, within},
    ledger::audit::{DAY, RECONCILIATIONS, Rows, Shelf, at, reconciled},
    ledger::model::posting,
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, payment},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    spawn,
    time::{sleep, timeout},
};
use uuid::Uuid;

const DEADLINE: Duration = Duration::from_secs(10);
/// Pause between two looks at the inbox. Each look takes ten calls, which delay the settlement.
const PAUSE: Duration = Duration::from_millis(100);
/// Number of legs of each busy account.
const LEGS: usize = 100;

/// The numbers of accounts, of busy accounts, and of retried keys.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) accounts: usize,
    pub(crate) busy: usize,
    pub(crate) keys: usize,
}

/// Runs commands until the end of the input. Then reconciles all transactions, and returns the
/// discrepancies.
pub(crate) async fn serve(sizes: Sizes) -> Value {
    let books = Books::open().await;
    fill(&books, sizes).await;
    let functions = Arc::new(Functions::of(&books, sizes).await);
    for number in 1..=sizes.keys {
        functions.retry(number).await;
    }
    let statement = books.operator.get(&statement(&account(1))).await.body;
    assert_eq!(statement["items"].as_array().map(Vec::len), Some(LEGS), "{statement}");
    drained(&books.operator, "react-to-transactions").await;
    println!("{}", json!({"ready": true}));
    let mut commands = BufReader::new(stdin()).lines();
    while let Some(command) = commands.next_line().await.expect("a command") {
        let result = match command.split(' ').collect::<Vec<_>>()[..] {
            ["reconcile"] => {
                let (done, millis) = timed(reconciled(&books.operator, &at(0), &at(DAY))).await;
                assert_eq!(done["discrepancies"], json!([]), "{done}");
                json!({"ms": millis, "transactions": done["transactions"]})
            }
            [work, clients, millis] => {
                let window = Duration::from_millis(millis.parse().expect("milliseconds"));
                run(&books, &functions, Work::of(work), clients.parse().expect("a number"), window).await
            }
            _ => panic!("{command}"),
        };
        println!("{result}");
    }
    let discrepancies = discrepancies(&books).await;
    books.stack.stop().await;
    json!({"discrepancies": discrepancies})
}

/// Writes the accounts, of which the busy ones have [`LEGS`] legs each.
async fn fill(books: &Books, Sizes { accounts, busy, .. }: Sizes) {
    let mut shelf = Shelf::default();
    let names: Vec<String> = (1..=accounts).map(account).collect();
    for name in &names {
        shelf.open(name);
    }
    for (number, milli) in (0..busy * LEGS / 2).zip((0..).step_by(1_000)) {
        let debit = number % busy;
        let credit = (debit + 1 + number / busy) % busy;
        shelf.post(&format!("history-{number}"), milli, &[(&names[debit], -1), (&names[credit], 1)]);
    }
    shelf.put(&Rows::of(&books.stack)).await;
}

/// Reconciles all transactions of the workload. The request has a later time, because a
/// reconciliation omits the newest transactions.
async fn discrepancies(books: &Books) -> Value {
    let now = Timestamp::now();
    let body = json!({"from": at(0), "to": now + SignedDuration::from_hours(1)});
    let started = books.at(now + SignedDuration::from_hours(2)).post(RECONCILIATIONS, &body).await;
    assert_eq!(started.status, 202, "{}", started.body);
    let path = format!("{RECONCILIATIONS}/{}", started.body["reconciliationId"].as_str().expect("an id"));
    loop {
        let body = books.operator.get(&path).await.body;
        match body["status"].as_str() {
            Some("done") => return body["discrepancies"].clone(),
            Some("running") => sleep(PAUSE).await,
            _ => panic!("{body}"),
        }
    }
}

/// An operation of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// A payment between two random accounts.
    Transfer,
    /// A payment from a random account to one merchant.
    Hot,
    /// A payment from a random account to one merchant with grouped posting.
    Grouped,
    /// A payment that was made before, with its key.
    Retry,
    /// The last 100 legs of a random busy account.
    Statement,
    /// The oldest 100 completed transactions.
    List,
}

impl Work {
    fn of(name: &str) -> Self {
        match name {
            "transfer" => Self::Transfer,
            "hot" => Self::Hot,
            "grouped" => Self::Grouped,
            "retry" => Self::Retry,
            "statement" => Self::Statement,
            "list" => Self::List,
            _ => panic!("{name}"),
        }
    }
}

/// The functions that process the workload, and its accounts.
struct Functions {
    payments: Service,
    statements: Service,
    transactions: Service,
    merchant: String,
    grouped: String,
    sizes: Sizes,
}

impl Functions {
    async fn of(books: &Books, sizes: Sizes) -> Self {
        let bind = |name, function: &Function| service(&books.stack, books.stack.dynamo_url(), name, function);
        let terms = json!({"userId": "merchant", "accountType": "merchant", "currency": "USD", "posting": "grouped"});
        Self {
            payments: bind("process-payment", &(process_payment::PATTERN.function)()),
            statements: bind("get-statement", &(get_statement::PATTERN.function)()),
            transactions: bind("list-transactions", &(list_transactions::PATTERN.function)()),
            merchant: books.account("merchant").await,
            grouped: id(&books.operator.post(ACCOUNTS, &terms).await, "accountId"),
            sizes,
        }
    }

    /// Processes one request. Returns the number of conflicts.
    async fn request(&self, work: Work) -> u64 {
        let Sizes { accounts, busy, keys } = self.sizes;
        match work {
            Work::Transfer => {
                let debit = below(accounts);
                let credit = (debit + 1 + below(accounts - 1)) % accounts;
                self.pay(&unique(), &account(debit + 1), &account(credit + 1)).await
            }
            Work::Hot => self.pay(&unique(), &account(1 + below(accounts)), &self.merchant).await,
            Work::Grouped => self.pay(&unique(), &account(1 + below(accounts)), &self.grouped).await,
            Work::Retry => self.retry(1 + below(keys)).await,
            Work::Statement => {
                let account = account(1 + below(busy));
                let (route, path) = ("GET /ledger/accounts/{accountId}/statement", statement(&account));
                read(&self.statements, route, &path, json!({"accountId": account})).await
            }
            Work::List => {
                let path = format!("{TRANSACTIONS}?since={}&limit=100", at(0));
                read(&self.transactions, "GET /ledger/transactions", &path, Value::Null).await
            }
        }
    }

    async fn retry(&self, number: usize) -> u64 {
        self.pay(&format!("retry-{number}"), &account(number), &account(number + 1)).await
    }

    /// Makes a payment. Repeats it if it is rejected because of conflicts.
    async fn pay(&self, key: &str, from: &str, to: &str) -> u64 {
        let body = payment(from, to, "0.01");
        let mut conflicts = 0;
        loop {
            let invocation = self.payments.call(posting(key, &body, Timestamp::now()), within(DEADLINE)).await;
            conflicts += invocation.usage.conflicts;
            let answer = invocation.answer.expect("an answer");
            match answer["statusCode"].as_u64() {
                Some(200 | 201) => return conflicts,
                Some(429 | 503) => {}
                _ => panic!("{answer}"),
            }
        }
    }
}

async fn read(function: &Service, route: &str, path: &str, parameters: Value) -> u64 {
    let event = Asks { route, path, parameters, key: None, body: None }.at(Timestamp::now());
    let answer = function.call(event, within(DEADLINE)).await.answer.expect("an answer");
    assert_eq!(answer["statusCode"], 200, "{answer}");
    0
}

fn account(number: usize) -> String {
    format!("account-{number}")
}

fn statement(account: &str) -> String {
    format!("{ACCOUNTS}/{account}/statement")
}

fn unique() -> String {
    Uuid::now_v7().to_string()
}

/// Returns a random number below the limit.
fn below(limit: usize) -> usize {
    usize::try_from(Uuid::now_v7().as_u128() % u128::from(count(limit))).expect("a number below the limit")
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    conflicts: AtomicU64,
}

/// Runs the operation with concurrent clients. Each client sends one request after the other.
///
/// Counts the requests that were completed within the window. With grouped posting, the time ends
/// when all payments are settled. Returns after the functions have processed the streams.
async fn run(books: &Books, functions: &Arc<Functions>, work: Work, clients: usize, window: Duration) -> Value {
    let counts = Arc::new(Counts::default());
    let client = |_| {
        let (functions, counts) = (Arc::clone(functions), Arc::clone(&counts));
        let start = Instant::now();
        spawn(timeout(window, async move {
            while start.elapsed() < window {
                counts.conflicts.fetch_add(functions.request(work).await, Relaxed);
                counts.requests.fetch_add(1, Relaxed);
            }
        }))
    };
    let clients: Vec<_> = (0..clients).map(client).collect();
    let all = async {
        for client in clients {
            // A client whose last request exceeds the window is stopped.
            let _ = client.await.expect("no client panics");
        }
        if work == Work::Grouped {
            settled(books, &functions.grouped).await;
        }
    };
    let ((), millis) = timed(all).await;
    drained(&books.operator, "react-to-transactions").await;
    let [requests, conflicts] = [&counts.requests, &counts.conflicts].map(|count| count.load(Relaxed));
    json!({"ms": millis, "requests": requests, "conflicts": conflicts})
}

/// Waits until the inbox of the account is empty.
async fn settled(books: &Books, account: &str) {
    let path = format!("{ACCOUNTS}/{account}");
    while books.operator.get(&path).await.body["pending"] != "0.00" {
        sleep(PAUSE).await;
    }
}
