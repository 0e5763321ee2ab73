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
pub use model::account::{Account, AccountBody, LastLeg};
pub use model::chain::ChainHash;
pub use model::hold::{Hold, HoldBody};
pub use model::inbox::InboxItem;
pub use model::leg::{Booking, Entry, Grouped, Leg, LegBody, SettledLeg};
pub use model::merchant::{Merchant, MerchantBody};
pub use model::posting::Posting;
pub use model::reconciliation::{ReconciliationBody, Window};
pub use model::refusal::Rejection;
pub use model::reversal::Reversal;
pub use model::total::Total;
pub use model::transaction::{HeaderBody, Posted, Transaction, TransactionBody};
pub use patterns::patterns;
pub use store::Ledger;
pub use transfers::{PostedTransfer, PostedTransfers, Transfer, TransferOutcome, Transfers};

/// The service's name in scopes: `ledger:read`, `ledger:write`, `ledger:operate`.
pub(crate) const DOMAIN: &str = "ledger";
