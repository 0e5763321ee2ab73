//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

pub mod archive_settled_payments;
pub mod find_transaction;
pub mod get_payment;
pub mod list_account_payments;
pub mod list_account_transactions;
pub mod list_due_payments;
pub mod list_transactions_by_date;
pub mod schedule_payment;
pub mod update_payment_status;

use crate::Pattern;

/// Every access pattern of the domain, by number.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        archive_settled_payments::PATTERN,
        find_transaction::PATTERN,
        get_payment::PATTERN,
        list_account_payments::PATTERN,
        list_account_transactions::PATTERN,
        list_due_payments::PATTERN,
        list_transactions_by_date::PATTERN,
        schedule_payment::PATTERN,
        update_payment_status::PATTERN,
    ])
}
