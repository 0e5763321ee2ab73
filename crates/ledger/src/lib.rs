//! The ledger service: double-entry financial transactions
//! ([requirement](../../../docs/requirements/ledger.md)). Each access pattern has a module, and a
//! Lambda of the same name in `src/bin`.
//!
//! A transaction is a header and its legs. They are written together and never change. The balance
//! of an account is the balance after its last leg. A debit decreases the balance, and a credit
//! increases it. The reconciliation checks transactions against their legs and balances against
//! their history, and reports discrepancies.
#![deny(clippy::disallowed_methods)]

mod cost;
mod jobs;
mod model;
pub mod patterns;
mod post;
mod store;

pub use cost::{Case, Pattern};
pub use model::account::{Account, AccountBody, LastLeg};
pub use model::leg::{Leg, LegBody};
pub use model::merchant::{Merchant, MerchantBody};
pub use model::posting::Posting;
pub use model::reconciliation::{ReconciliationBody, Window};
pub use model::reversal::Reversal;
pub use model::transaction::{HeaderBody, Posted, Transaction, TransactionBody};
pub use patterns::patterns;
pub use store::Ledger;

/// The service's name in scopes: `ledger:read`, `ledger:write`, `ledger:operate`.
pub(crate) const DOMAIN: &str = "ledger";
