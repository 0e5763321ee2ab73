//! Scheduled bank payments (seed 000): each access pattern a module, and a Lambda of the same name in
//! `src/bin`.
//!
//! A payment is one item of `PaymentScheduler` until it is paid and its day is over; then it is one
//! item of `TransactionHistory`. Its status stands in the sort key of the sharded index and nowhere
//! else, so a move of the status is one update of one attribute.

pub mod archive_processed_payments;
mod cost;
pub mod find_transaction;
pub mod get_payment;
pub mod list_account_payments;
pub mod list_account_transactions;
pub mod list_due_payments;
pub mod list_transactions_by_date;
mod payment;
mod query;
pub mod schedule_payment;
mod transaction;
pub mod update_payment_status;

pub use cost::{Case, Pattern};
pub use payment::{MAX_BYTES, Payment, PaymentBody};
pub use transaction::{Transaction, TransactionBody};

use function::{App, Clients, Function, SettingsReader};
use table::{Dynamo, Index, Key, Projection, Query, ShardedIndex, Table};

/// The domain's name in scopes: `bank:read`, `bank:write`, `bank:operate`.
pub(crate) const DOMAIN: &str = "bank";

/// What every function of the domain works with.
#[derive(Debug, Clone)]
pub struct Bank {
    dynamo: Dynamo,
    payments: Table,
    transactions: Table,
    /// `GSI1` or `GSI1All`, the same on both tables.
    due: ShardedIndex,
}

impl App for Bank {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let dynamo = clients.dynamo();
        let (payments, transactions) =
            (settings.get::<String>("PAYMENTS_TABLE"), settings.get::<String>("TRANSACTIONS_TABLE"));
        let shards = settings.shards("WRITE_SHARDS", "READ_SHARDS");
        let name = settings.get::<String>("DUE_INDEX")?;
        let projection = match name.as_str() {
            "GSI1" => Projection::KeysOnly,
            "GSI1All" => Projection::All,
            _ => return settings.fault("DUE_INDEX must be GSI1 (KEYS_ONLY) or GSI1All (ALL)"),
        };
        let index = Index { name: name.into(), partition: "GSI1PK", sort: "GSI1SK" };
        Some(Self {
            dynamo: dynamo.clone(),
            payments: dynamo.table(payments?),
            transactions: dynamo.table(transactions?),
            due: ShardedIndex { index, projection, shards: shards? },
        })
    }
}

/// Calls that open the connection before the first event. What they answer does not matter, and a
/// failure shows again, with its reason, at the first event.
impl Bank {
    async fn warm_by_get_payment(self) {
        let _ = self.payments.get_eventually::<Payment>(&Key::placeholder()).await;
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

    async fn warm_by_due_payments(self) {
        let _ = self.payments.sharded_page::<Payment>(&self.due, &keys::bank::DueSort::nothing(), 1).await;
    }

    async fn warm_by_due_transactions(self) {
        let _ = self.transactions.sharded_page::<Transaction>(&self.due, &keys::bank::DueSort::nothing(), 1).await;
    }
}

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![
        ("schedule-payment", schedule_payment::function()),
        ("list-account-payments", list_account_payments::function()),
        ("list-due-payments", list_due_payments::function()),
        ("update-payment-status", update_payment_status::function()),
        ("archive-processed-payments", archive_processed_payments::function()),
        ("list-account-transactions", list_account_transactions::function()),
        ("list-transactions-by-date", list_transactions_by_date::function()),
        ("find-transaction", find_transaction::function()),
        ("get-payment", get_payment::function()),
    ]
}

/// What every access pattern asks and costs, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        schedule_payment::PATTERN,
        list_account_payments::PATTERN,
        list_due_payments::PATTERN,
        update_payment_status::PATTERN,
        update_payment_status::PROCESSED,
        archive_processed_payments::PATTERN,
        list_account_transactions::PATTERN,
        list_transactions_by_date::PATTERN,
        find_transaction::PATTERN,
        get_payment::PATTERN,
    ]
}
