//! Double-entry financial transactions (seed 004): each access pattern a module, and a Lambda of the same name in `src/bin`.
//!
//! A transaction is a header and its legs, put once and never changed; what an account holds is what its last leg left. A
//! debit takes from the balance, a credit adds. The reconciliation reads it all again and tells what does not agree.

mod account;
mod check_accounts;
mod check_transactions;
mod cost;
pub mod create_account;
pub mod create_merchant;
mod entry;
pub mod get_account;
pub mod get_merchant;
pub mod get_reconciliation;
pub mod get_statement;
pub mod get_transaction;
mod leg;
pub mod list_transactions;
pub mod list_user_accounts;
mod merchant;
mod post;
mod posting;
pub mod process_payment;
pub mod reconcile;
mod reconciliation;
mod reversal;
pub mod reverse_transaction;
pub mod start_daily_reconciliation;
pub mod start_reconciliation;
mod store;
mod transaction;
pub mod update_account;

pub use account::{Account, AccountBody, LastLeg};
pub use cost::{Case, Pattern};
pub use leg::{Leg, LegBody};
pub use merchant::{Merchant, MerchantBody};
pub use posting::Posting;
pub use reconciliation::{Progress, Reconciliation, ReconciliationBody, State, Window};
pub use reversal::Reversal;
pub use store::Ledger;
pub use transaction::{HeaderBody, Posted, Transaction, TransactionBody};

use function::Function;

/// The domain's name in scopes: `ledger:read`, `ledger:write`, `ledger:operate`.
pub(crate) const DOMAIN: &str = "ledger";

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![
        ("create-merchant", create_merchant::function()),
        ("get-merchant", get_merchant::function()),
        ("create-account", create_account::function()),
        ("get-account", get_account::function()),
        ("list-user-accounts", list_user_accounts::function()),
        ("process-payment", process_payment::function()),
        ("get-transaction", get_transaction::function()),
        ("list-transactions", list_transactions::function()),
        ("reverse-transaction", reverse_transaction::function()),
        ("get-statement", get_statement::function()),
        ("start-reconciliation", start_reconciliation::function()),
        ("start-daily-reconciliation", start_daily_reconciliation::function()),
        ("reconcile", reconcile::function()),
        ("get-reconciliation", get_reconciliation::function()),
        ("update-account", update_account::function()),
    ]
}

/// What every access pattern asks and costs, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        create_merchant::PATTERN,
        get_merchant::PATTERN,
        create_account::PATTERN,
        get_account::PATTERN,
        list_user_accounts::PATTERN,
        process_payment::PATTERN,
        get_transaction::PATTERN,
        list_transactions::PATTERN,
        list_transactions::BY_KEY,
        reverse_transaction::PATTERN,
        get_statement::PATTERN,
        start_reconciliation::PATTERN,
        start_daily_reconciliation::PATTERN,
        reconcile::PATTERN,
        get_reconciliation::PATTERN,
        update_account::PATTERN,
    ]
}
