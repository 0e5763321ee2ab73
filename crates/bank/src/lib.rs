//! Scheduled bank payments (docs/requirements/bank.md). Each access pattern has a module in
//! `patterns`, and a Lambda function of the same name in `src/bin`.
//!
//! A payment is an item of `PaymentScheduler`. At the end of the day, the archive moves processed
//! payments to `TransactionHistory`. The status of a payment is stored only in the sort key of the
//! sharded index, so a status change updates a single key attribute (docs/decisions/payments.md).
#![deny(clippy::disallowed_methods)]

mod amendment;
mod archive;
mod cost;
mod dispatch;
mod execution;
mod facts;
mod jobs;
mod lists;
mod model;
pub mod patterns;
mod schedule;
pub mod service;
mod switch;

pub use cost::{Case, Pattern};
pub use dispatch::Dispatched;
pub use facts::Fact;
pub use jobs::{Task, job_key};
pub use model::import::{ImportBody, ImportProgress, ImportedFile, RunBody};
pub use model::payment::{Execution, MAX_BYTES, MAX_REASON, Payment, PaymentBody};
pub use model::recurrence::{JsonDay, OrderDay, Recurrence, TimeOfDay};
pub use model::standing::StandingOrderBody;
pub use model::transaction::{Transaction, TransactionBody};
pub use patterns::patterns;
pub use switch::Switch;

use ::jobs::{Job, Jobs};
use function::{App, Clients, SettingsReader};
use intake::Files;
use publisher::Bus;
use service::Payer;
use table::{Dynamo, Index, Key, Projection, Query, ShardedIndex, Table};

/// Prefix of the scopes `bank:read`, `bank:write` and `bank:operate`.
pub(crate) const DOMAIN: &str = "bank";

/// Tables and sharded index that the bank's functions use.
#[derive(Debug, Clone)]
pub struct Bank {
    dynamo: Dynamo,
    payments: Table,
    transactions: Table,
    /// Sharded index: `GSI1` or `GSI1All`. Both tables have an index of this name.
    due: ShardedIndex,
    jobs: Jobs,
    /// `GSI1` of `BankJobs`: the runs of imports by start.
    imports: Index,
    payer: Payer,
    files: Files,
    bus: Bus,
    /// Number of minutes after which a `PENDING` payment is overdue.
    overdue_minutes: u32,
}

impl App for Bank {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let dynamo = clients.dynamo();
        let (payments, transactions) =
            (settings.get::<String>("PAYMENTS_TABLE"), settings.get::<String>("TRANSACTIONS_TABLE"));
        let shards = settings.shards("WRITE_SHARDS", "READ_SHARDS");
        let jobs = settings.get::<String>("BANK_JOBS_TABLE");
        let payer = settings.get("TRANSACTION_SERVICE");
        let overdue_minutes = settings.get("OVERDUE_MINUTES");
        let name = settings.get::<String>("DUE_INDEX")?;
        let projection = match name.as_str() {
            "GSI1" => Projection::KeysOnly,
            "GSI1All" => Projection::All,
            _ => return settings.fault("DUE_INDEX must be GSI1 (KEYS_ONLY) or GSI1All (ALL)"),
        };
        let s3 = clients.config("s3");
        let by_path = settings.s3_by_path(&s3);
        let index = Index { name: name.into(), partition: Payment::SHARD, sort: Payment::DUE };
        let imports = Index { name: "GSI1".into(), partition: Job::LIST, sort: Job::LIST_SORT };
        Some(Self {
            dynamo: dynamo.clone(),
            payments: dynamo.table(payments?),
            transactions: dynamo.table(transactions?),
            due: ShardedIndex { index, projection, shards: shards? },
            jobs: Jobs::new(dynamo, jobs?),
            imports,
            payer: payer?,
            files: Files::new(s3, by_path),
            bus: Bus::start(settings, clients),
            overdue_minutes: overdue_minutes?,
        })
    }
}

/// Warm-up calls, which only open the connection during the init phase. Errors are ignored: if
/// DynamoDB is unreachable, the first invocation reports the error.
impl Bank {
    async fn warm_by_get_payment(self) {
        let _ = self.payments.get_eventually::<Payment>(&Key::placeholder()).await;
    }

    async fn warm_by_query_standing_orders(self) {
        let range = keys::bank::StandingOrderSort::all();
        let _ = self.payments.page::<model::standing::StandingOrder>(&Query::new(&"#", &range), 1).await;
    }

    async fn warm_by_get_transaction(self) {
        let _ = self.transactions.get_eventually::<Transaction>(&Key::placeholder()).await;
    }

    async fn warm_by_query_payments(self) {
        let range = keys::bank::PaymentSort::history();
        let _ = self.payments.page::<Payment>(&Query::new(&"#", &range), 1).await;
    }

    async fn warm_by_query_transactions(self) {
        let range = keys::bank::PaymentSort::history();
        let _ = self.transactions.page::<Transaction>(&Query::new(&"#", &range), 1).await;
    }

    async fn warm_by_batch_get(self) {
        let _ = self.payments.get_all::<Payment>(&[Key::placeholder()], false).await;
    }

    async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    async fn warm_by_days(self) {
        let range = keys::bank::CertificateSort::all();
        let _ = self.jobs.table().page::<model::day::CertificateKey>(&Query::new(&"#", &range), 1).await;
    }

    async fn warm_by_due_payments(self) {
        let _ = self.payments.sharded_page::<Payment>(&self.due, &keys::bank::DueSort::nothing(), 1).await;
    }

    async fn warm_by_due_transactions(self) {
        let _ = self.transactions.sharded_page::<Transaction>(&self.due, &keys::bank::DueSort::nothing(), 1).await;
    }
}
