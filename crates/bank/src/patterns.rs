//! The access patterns, a module each.

pub mod archive_processed_payments;
pub mod find_transaction;
pub mod get_payment;
pub mod list_account_payments;
pub mod list_account_transactions;
pub mod list_due_payments;
pub mod list_transactions_by_date;
pub(crate) mod query;
pub mod schedule_payment;
pub mod update_payment_status;

use crate::Pattern;
use function::Function;

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![
        ("schedule-payment", schedule_payment::function()),
        ("list-account-payments", list_account_payments::function()),
        ("list-due-payments", list_due_payments::function()),
        ("update-payment-status", update_payment_status::function()),
        ("archive-processed-payments", archive_processed_payments::function()),
        ("list-account-transactions", list_account_transactions::function()),
        ("list-transactions-by-date", list_transactions_by_date::function()),
        ("find-transaction", find_transaction::function()),
        ("get-payment", get_payment::function()),
    ]
}

/// What every access pattern asks and costs, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        schedule_payment::PATTERN,
        list_account_payments::PATTERN,
        list_due_payments::PATTERN,
        update_payment_status::PATTERN,
        update_payment_status::PROCESSED,
        archive_processed_payments::PATTERN,
        list_account_transactions::PATTERN,
        list_transactions_by_date::PATTERN,
        find_transaction::PATTERN,
        get_payment::PATTERN,
    ]
}
