//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

pub mod create_account;
pub mod create_merchant;
pub mod get_account;
pub mod get_balance;
pub mod get_merchant;
pub mod get_reconciliation;
pub mod get_statement;
pub mod get_transaction;
pub mod list_transactions;
pub mod list_user_accounts;
pub mod process_payment;
pub mod reconcile;
pub mod retry_reconciliation;
pub mod reverse_transaction;
pub mod start_daily_reconciliation;
pub mod start_reconciliation;
pub mod update_account;

use crate::Pattern;

/// Every access pattern of the domain, by number.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        create_account::PATTERN,
        create_merchant::PATTERN,
        get_account::PATTERN,
        get_balance::PATTERN,
        get_merchant::PATTERN,
        get_reconciliation::PATTERN,
        get_statement::PATTERN,
        get_transaction::PATTERN,
        list_transactions::PATTERN,
        list_user_accounts::PATTERN,
        process_payment::PATTERN,
        reconcile::PATTERN,
        retry_reconciliation::PATTERN,
        reverse_transaction::PATTERN,
        start_daily_reconciliation::PATTERN,
        start_reconciliation::PATTERN,
        update_account::PATTERN,
    ])
}
