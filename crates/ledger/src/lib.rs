//! Double-entry financial transactions (seed 004): each access pattern a module, and a Lambda of the same name in `src/bin`.
//!
//! A transaction is a header and its legs, put once and never changed; what an account holds is what its last leg left. A
//! debit takes from the balance, a credit adds. The reconciliation reads it all again and tells what does not agree.
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

/// The domain's name in scopes: `ledger:read`, `ledger:write`, `ledger:operate`.
pub(crate) const DOMAIN: &str = "ledger";
