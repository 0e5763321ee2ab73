//! Runs a function repeatedly (`own-code function schedule-payment 100`), or only its SDK calls
//! (`own-code calls schedule-payment 100`).
//!
//! The difference between the two callgrind counts is the cost of our own code
//! (docs/decisions/measuring.md). The responses of DynamoDB come from `answers.json`, without a
//! connection.
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement may stop here")]

mod canned;

use aws_sdk_dynamodb::Client;
use canned::{Canned, Recorder};
use function::{Context, Function, Service};
use keys::Random;
use std::{env, fs, path::PathBuf};
use table::Dynamo;

/// The functions, with the folders of their events.
fn functions() -> [(&'static str, &'static str, Function); 3] {
    [
        ("schedule-payment", "bank", (bank::patterns::schedule_payment::PATTERN.function)()),
        ("list-account-payments", "bank", (bank::patterns::list_account_payments::PATTERN.function)()),
        ("process-payment", "ledger", (ledger::patterns::process_payment::PATTERN.function)()),
    ]
}

const SETTINGS: [(&str, &str); 18] = [
    ("PAYMENTS_TABLE", "local-PaymentScheduler"),
    ("TRANSACTIONS_TABLE", "local-TransactionHistory"),
    ("WRITE_SHARDS", "5"),
    ("READ_SHARDS", "5"),
    ("DUE_INDEX", "GSI1"),
    ("BANK_JOBS_TABLE", "local-BankJobs"),
    ("TRANSACTION_SERVICE", "none"),
    ("OVERDUE_MINUTES", "30"),
    ("LEDGER_TABLE", "local-FinancialTransactions"),
    ("WELLNESS_JOBS_TABLE", "local-WellnessJobs"),
    ("LEDGER_JOBS_TABLE", "local-LedgerJobs"),
    ("ACCOUNTS_PER_USER", "100"),
    ("STATUS_WRITE_SHARDS", "1"),
    ("STATUS_READ_SHARDS", "1"),
    ("TOTALS_TABLE", "local-Totals"),
    ("TOTALS_WRITE_SHARDS", "4"),
    ("TOTALS_READ_SHARDS", "4"),
    ("FAILED_CHANGES_RETENTION_DAYS", "90"),
];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, name, times] = arguments.as_slice() else { panic!("own-code function|calls <function> <times>") };
    let times: usize = times.parse().expect("a number");
    let (_, folder, function) = functions().into_iter().find(|(own, ..)| own == name).expect("a function");
    let canned = Canned::of(name);
    let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let bind = |client: &Client| function.bind(&settings, Dynamo::new(client, Random::seeded(1))).expect("settings");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let event = fs::read_to_string(root.join(format!("events/{folder}/{name}.json"))).expect("an event");
    let (client, recorder) = (canned.client(), Recorder::default());
    let heard = recorder.listen_to(&client);
    invoke(&bind(&heard), &event).await;
    let (service, inputs) = (bind(&client), recorder.inputs());
    for _ in 0..times {
        match what.as_str() {
            "function" => invoke(&service, &event).await,
            _ => canned::repeat(&client, &inputs).await,
        }
    }
}

/// Runs a function, from the text of an event to the text of its response.
async fn invoke(service: &Service, event: &str) {
    let mut context = Context::default();
    context.deadline = u64::MAX / 2;
    let answer = service.respond(event, context).await.expect("an answer");
    assert!(["{\"statusCode\":200", "{\"statusCode\":201"].iter().any(|start| answer.starts_with(start)), "{answer}");
}
