//! Scheduled bank payments (seed 000): each access pattern a module, and a Lambda of the same name in
//! `src/bin`.
//!
//! A payment is one item of `PaymentScheduler` until it is paid and its day is over; then it is one
//! item of `TransactionHistory`. Its status stands in the sort key of the sharded index and nowhere
//! else, so a move of the status is one update of one attribute.
#![deny(clippy::disallowed_methods)]

mod cost;
mod lists;
mod model;
pub mod patterns;

pub use cost::{Case, Pattern};
pub use model::payment::{MAX_BYTES, Payment, PaymentBody};
pub use model::transaction::{Transaction, TransactionBody};
pub use patterns::patterns;

use function::{App, Clients, SettingsReader};
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
        let index = Index { name: name.into(), partition: Payment::SHARD, sort: Payment::DUE };
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
