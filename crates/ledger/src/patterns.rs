//! The access patterns, a module each.

pub mod create_account;
pub mod create_merchant;
pub mod get_account;
pub mod get_merchant;
pub mod get_reconciliation;
pub mod get_statement;
pub mod get_transaction;
pub mod list_transactions;
pub mod list_user_accounts;
pub(crate) mod post;
pub mod process_payment;
pub mod reconcile;
pub mod reverse_transaction;
pub mod start_daily_reconciliation;
pub mod start_reconciliation;
pub mod update_account;

use crate::Pattern;
use function::Function;

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
