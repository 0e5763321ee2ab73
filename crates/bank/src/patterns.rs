//! The access patterns, a module each.

pub mod archive_processed_payments;
pub mod find_transaction;
pub mod get_payment;
pub mod list_account_payments;
pub mod list_account_transactions;
pub mod list_due_payments;
pub mod list_transactions_by_date;
pub mod schedule_payment;
pub mod update_payment_status;

use crate::Pattern;

/// Every access pattern of the domain, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        schedule_payment::PATTERN,
        list_account_payments::PATTERN,
        list_due_payments::PATTERN,
        update_payment_status::PATTERN,
        archive_processed_payments::PATTERN,
        list_account_transactions::PATTERN,
        list_transactions_by_date::PATTERN,
        find_transaction::PATTERN,
        get_payment::PATTERN,
    ]
}
