//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

#![allow(missing_docs, reason = "PATTERN declares the access pattern of its module")]

pub mod capture_hold;
pub mod create_account;
pub mod create_hold;
pub mod create_merchant;
pub mod get_account;
pub mod get_balance;
pub mod get_hold;
pub mod get_merchant;
pub mod get_reconciliation;
pub mod get_statement;
pub mod get_totals;
pub mod get_transaction;
pub mod get_trial_balance;
pub mod list_account_holds;
pub mod list_merchants;
pub mod list_reconciliations;
pub mod list_transactions;
pub mod list_user_accounts;
pub mod process_batch;
pub mod process_payment;
pub mod react_to_transactions;
pub mod reconcile;
pub mod release_expired_holds;
pub mod retry_reconciliation;
pub mod reverse_transaction;
pub mod settle_account;
pub mod start_daily_reconciliation;
pub mod start_reconciliation;
pub mod update_account;
pub mod void_hold;

use crate::Pattern;

/// Every access pattern of the domain, by number.
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        capture_hold::PATTERN,
        create_account::PATTERN,
        create_hold::PATTERN,
        create_merchant::PATTERN,
        get_account::PATTERN,
        get_balance::PATTERN,
        get_hold::PATTERN,
        get_merchant::PATTERN,
        get_reconciliation::PATTERN,
        get_statement::PATTERN,
        get_totals::PATTERN,
        get_transaction::PATTERN,
        get_trial_balance::PATTERN,
        list_account_holds::PATTERN,
        list_merchants::PATTERN,
        list_reconciliations::PATTERN,
        list_transactions::PATTERN,
        list_user_accounts::PATTERN,
        process_batch::PATTERN,
        process_payment::PATTERN,
        react_to_transactions::PATTERN,
        reconcile::PATTERN,
        release_expired_holds::PATTERN,
        retry_reconciliation::PATTERN,
        reverse_transaction::PATTERN,
        settle_account::PATTERN,
        start_daily_reconciliation::PATTERN,
        start_reconciliation::PATTERN,
        update_account::PATTERN,
        void_hold::PATTERN,
    ])
}
