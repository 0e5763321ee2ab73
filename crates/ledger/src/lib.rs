//! The ledger service: double-entry financial transactions
//! ([requirement](../../../docs/requirements/ledger.md)). Each access pattern has a module, and a
//! Lambda function of the same name in `src/bin`.
//!
//! A transaction consists of a header and legs, which are written atomically and never change. The
//! balance of an account is the balance after its last leg. A debit decreases the balance, and a
//! credit increases it. The reconciliation compares each transaction with its legs, and each
//! balance with the account's history. It reports all discrepancies.
#![deny(clippy::disallowed_methods)]

mod batch;
mod cost;
mod counting;
mod facts;
mod history;
mod holds;
mod jobs;
mod model;
pub mod patterns;
mod post;
mod reversals;
mod settlements;
mod store;
mod totals;
mod transfers;

pub use cost::{Case, Pattern};
pub use facts::Fact;
pub use model::account::{Account, AccountBody, LastLeg};
pub use model::chain::ChainHash;
pub use model::hold::{Hold, HoldBody};
pub use model::inbox::InboxItem;
pub use model::leg::{Booking, Entry, Grouped, Leg, LegBody, ReversedLeg, SettledLeg};
pub use model::merchant::{Merchant, MerchantBody};
pub use model::metadata::TransactionMetadata;
pub use model::posting::Posting;
pub use model::purpose::Purpose;
pub use model::reconciliation::{ReconciliationBody, ReconciliationSummary, Window};
pub use model::reference::ReferenceGuard;
pub use model::refusal::Rejection;
pub use model::reversal::Reversal;
pub use model::total::Total;
pub use model::transaction::{HeaderBody, Posted, Transaction, TransactionBody};
pub use patterns::patterns;
pub use transfers::{PostedTransfer, PostedTransfers, Transfer, TransferOutcome, Transfers};

use ::jobs::{Job, Jobs};
use function::{App, Clients, SettingsReader};
use keys::ledger::CreatedSort;
use publisher::Bus;
use std::num::NonZeroU32;
use store::{Books, index};
use table::{Index, Key, Query};
use totals::Totals;

/// The service's name in scopes: `ledger:read`, `ledger:write`, `ledger:operate`.
pub(crate) const DOMAIN: &str = "ledger";

/// The dependencies of every function of the service: tables, indexes and settings.
#[derive(Debug, Clone)]
pub struct Ledger {
    books: Books,
    /// The table of reconciliations and their findings.
    jobs: Jobs,
    /// `GSI1` of the table of jobs: reconciliations by start.
    by_start: Index,
    /// `GSI2`: transactions by idempotency key, all accounts, and open holds by expiry.
    by_key: Index,
    /// The table of daily totals.
    totals: Totals,
    /// Maximum number of accounts that a user can open.
    accounts_per_user: NonZeroU32,
    bus: Bus,
}

impl App for Ledger {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("LEDGER_TABLE");
        let jobs = settings.get::<String>("LEDGER_JOBS_TABLE");
        let shards = settings.shards("STATUS_WRITE_SHARDS", "STATUS_READ_SHARDS");
        let totals = Totals::start(settings, clients);
        let accounts_per_user = settings.get("ACCOUNTS_PER_USER");
        let dynamo = clients.dynamo();
        Some(Self {
            books: Books::new(dynamo, table?, shards?),
            jobs: Jobs::new(dynamo, jobs?),
            by_start: index("GSI1", Job::LIST, Job::LIST_SORT),
            by_key: index("GSI2", Transaction::BY_KEY, Transaction::BY_KEY_SORT),
            totals: totals?,
            accounts_per_user: accounts_per_user?,
            bus: Bus::start(settings, clients),
        })
    }
}

/// Warm-up calls, which open the connection before the first event. Their errors are ignored: if a
/// failure persists, the first event reports it.
impl Ledger {
    async fn warm_by_get(self) {
        let _ = self.books.table.get_eventually::<Account>(&Key::placeholder()).await;
    }

    async fn warm_by_batch_get(self) {
        let _ = self.books.table.get_all::<Account>(&[Key::placeholder()], false).await;
    }

    async fn warm_by_query(self) {
        let _ = self.books.table.page::<Leg>(&Query::new(&"#", &CreatedSort::nothing()), 1).await;
    }

    async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    async fn warm_totals(self) {
        futures::join!(self.clone().warm_by_batch_get(), self.totals.warm_up());
    }

    async fn warm_totals_by_query(self) {
        self.totals.warm_by_query().await;
    }

    async fn warm_by_key_index(self) {
        let range = CreatedSort::nothing();
        let _ = self.books.table.page::<Leg>(&Query::new(&"#", &range).on(&self.by_key), 1).await;
    }

    async fn warm_by_start(self) {
        let range = CreatedSort::nothing();
        let _ = self.jobs.table().page::<Job>(&Query::new(&"#", &range).on(&self.by_start), 1).await;
    }

    async fn warm_by_index(self) {
        let range = CreatedSort::nothing();
        let _ = self.books.table.page::<Leg>(&Query::new(&"#", &range).on(&self.books.by_time), 1).await;
    }
}
