//! The events of `events/` and their variants. They are listed in an order in which each event
//! finds the items that earlier events created.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use crate::{patterns, root};
use function::Declared;
use local::events::Events;
use serde_json::{Value, json};

/// An event: its function, its case, and the expected response status. The case is empty for the
/// event that the function accepts. The status is `None` for events that are not HTTP requests.
pub type Event = (&'static str, &'static str, Option<u16>);

const BANK: [Event; 54] = [
    ("schedule-payment", "", Some(201)),
    ("schedule-payment", "day-is-over", Some(400)),
    ("list-account-payments", "", Some(200)),
    ("list-account-payments", "another-account", Some(403)),
    ("list-due-payments", "", Some(200)),
    ("list-due-payments", "no-such-day", Some(400)),
    ("update-payment-status", "", Some(404)),
    ("update-payment-status", "no-transaction-id", Some(400)),
    ("update-payment-status", "no-operator", Some(403)),
    ("archive-settled-payments", "", None),
    ("archive-settled-payments", "by-hand", None),
    ("archive-settled-payments", "no-such-day", None),
    ("list-account-transactions", "", Some(200)),
    ("list-account-transactions", "bad-cursor", Some(400)),
    ("list-transactions-by-date", "", Some(200)),
    ("list-transactions-by-date", "no-operator", Some(403)),
    ("find-transaction", "", Some(404)),
    ("find-transaction", "no-operator", Some(403)),
    ("get-payment", "", Some(404)),
    ("get-payment", "no-payment-id", Some(400)),
    ("dispatch-due-payments", "", None),
    ("dispatch-due-payments", "no-such-time", None),
    ("execute-payment", "", None),
    ("execute-payment", "unreadable-keys", None),
    ("execute-payment", "no-batch", None),
    ("start-dispatch", "", Some(202)),
    ("start-dispatch", "no-operator", Some(403)),
    ("continue-bank-job", "", None),
    ("continue-bank-job", "unreadable-keys", None),
    ("continue-bank-job", "no-batch", None),
    ("retry-bank-job", "", Some(404)),
    ("retry-bank-job", "no-job-id", Some(400)),
    ("set-dispatching", "", Some(200)),
    ("set-dispatching", "no-boolean", Some(400)),
    ("get-bank-job", "", Some(200)),
    ("get-bank-job", "no-job-id", Some(400)),
    ("import-payments", "", None),
    ("import-payments", "folder", None),
    ("import-payments", "test-event", None),
    ("import-payments", "spaces", None),
    ("import-payments", "removed", None),
    ("get-import", "", Some(200)),
    ("get-import", "no-import", Some(404)),
    ("retry-import", "", Some(409)),
    ("retry-import", "no-import", Some(404)),
    ("close-day", "", None),
    ("close-day", "by-hand", None),
    ("close-day", "not-over", None),
    ("start-close", "", Some(202)),
    ("start-close", "not-over", Some(400)),
    ("start-close", "no-operator", Some(403)),
    ("retry-payment", "", Some(404)),
    ("retry-payment", "no-payment-id", Some(400)),
    ("retry-payment", "no-operator", Some(403)),
];

/// The events of the cart. The added item is listed and then purchased.
const CART: [Event; 40] = [
    ("put-product", "", Some(201)),
    ("put-product", "no-currency", Some(400)),
    ("put-product", "no-operator", Some(403)),
    ("get-product", "", Some(200)),
    ("get-product", "no-product", Some(404)),
    ("list-products", "", Some(200)),
    ("list-products", "bad-cursor", Some(400)),
    ("add-cart-item", "", Some(201)),
    ("add-cart-item", "price", Some(400)),
    ("add-cart-item", "no-product", Some(409)),
    ("update-cart-item", "", Some(404)),
    ("update-cart-item", "no-such-status", Some(400)),
    ("update-cart-item", "to-purchased", Some(400)),
    ("remove-cart-item", "", Some(404)),
    ("remove-cart-item", "another-account", Some(403)),
    ("list-cart-items", "", Some(200)),
    ("list-cart-items", "bad-cursor", Some(400)),
    ("list-sku-items", "", Some(200)),
    ("list-sku-items", "no-operator", Some(403)),
    ("get-cart-item", "", Some(404)),
    ("get-cart-item", "no-item-id", Some(400)),
    ("checkout-cart", "", Some(200)),
    ("checkout-cart", "empty-cart", Some(409)),
    ("merge-carts", "", Some(200)),
    ("merge-carts", "another-account", Some(403)),
    ("merge-carts", "same-account", Some(400)),
    ("list-orders", "", Some(200)),
    ("list-orders", "bad-cursor", Some(400)),
    ("get-order", "", Some(404)),
    ("get-order", "another-account", Some(403)),
    ("update-order", "", Some(404)),
    ("update-order", "no-operator", Some(403)),
    ("update-order", "no-such-status", Some(400)),
    ("continue-cart-job", "", None),
    ("continue-cart-job", "unreadable-keys", None),
    ("continue-cart-job", "no-batch", None),
    ("get-cart-job", "", Some(404)),
    ("get-cart-job", "no-operator", Some(403)),
    ("retry-cart-job", "", Some(404)),
    ("retry-cart-job", "no-operator", Some(403)),
];

/// Batches of the streams of the exported tables, and the steps of the workflow. export-changes
/// accepts all batches except the last one, even if it cannot process single records.
const LAKE: [Event; 16] = [
    ("export-changes", "", None),
    ("export-changes", "orders", None),
    ("export-changes", "payments", None),
    ("export-changes", "ledger", None),
    ("export-changes", "ttl", None),
    ("export-changes", "no-change", None),
    ("export-changes", "empty", None),
    ("export-changes", "unknown-fields", None),
    ("export-changes", "keys-only", None),
    ("export-changes", "another-table", None),
    ("export-changes", "unreadable", None),
    ("export-changes", "no-batch", None),
    ("convert-export", "", None),
    ("convert-export", "no-such-file", None),
    ("plan-refresh", "", None),
    ("plan-refresh", "no-such-table", None),
];

/// The events of the wellness service. The lists return the created items. Activity 123 and venue
/// 789 do not exist.
const WELLNESS: [Event; 99] = [
    ("put-plan", "", Some(201)),
    ("put-plan", "another-year", Some(400)),
    ("put-section", "", Some(201)),
    ("put-section", "ends-before-start", Some(400)),
    ("put-reference", "", Some(201)),
    ("put-reference", "no-such-facet", Some(400)),
    ("create-template", "", Some(201)),
    ("create-template", "no-operator", Some(403)),
    ("list-templates", "", Some(200)),
    ("list-templates", "bad-cursor", Some(400)),
    ("create-activity", "", Some(201)),
    ("create-activity", "no-end-date", Some(400)),
    ("list-activities", "", Some(200)),
    ("list-activities", "another-company", Some(403)),
    ("list-activity-options", "", Some(200)),
    ("list-activity-options", "no-such-type", Some(400)),
    ("get-activity", "", Some(404)),
    ("get-activity", "no-such-level", Some(400)),
    ("move-activity", "", Some(404)),
    ("move-activity", "no-section-id", Some(400)),
    ("update-activity", "", Some(404)),
    ("update-activity", "no-version", Some(400)),
    ("list-references", "", Some(200)),
    ("list-references", "no-such-facet", Some(400)),
    ("update-reference", "", Some(404)),
    ("update-reference", "another-company", Some(403)),
    ("replace-reference", "", Some(202)),
    ("replace-reference", "by-itself", Some(400)),
    ("retry-job", "", Some(409)),
    ("retry-job", "no-job-id", Some(400)),
    ("continue-job", "", None),
    ("continue-job", "unreadable-keys", None),
    ("continue-job", "no-batch", None),
    ("put-employee", "", Some(201)),
    ("put-employee", "another-company", Some(403)),
    ("put-employee", "no-department", Some(400)),
    ("register-new-employee", "", None),
    ("register-new-employee", "no-user", None),
    ("register-new-employee", "no-batch", None),
    ("create-employee-import", "", Some(201)),
    ("create-employee-import", "too-large", Some(400)),
    ("get-employee-import", "", Some(404)),
    ("get-employee-import", "another-company", Some(403)),
    ("create-file", "", Some(201)),
    ("create-file", "too-large", Some(400)),
    ("receive-file", "", None),
    ("receive-file", "no-name", None),
    ("list-participants", "", Some(200)),
    ("list-participants", "another-company", Some(403)),
    ("remove-employee", "", Some(404)),
    ("remove-employee", "another-company", Some(403)),
    ("list-registrations", "", Some(200)),
    ("list-registrations", "another-user", Some(403)),
    ("join-activity", "", Some(404)),
    ("join-activity", "another-user", Some(403)),
    ("leave-activity", "", Some(404)),
    ("leave-activity", "another-user", Some(403)),
    ("record-progress", "", Some(404)),
    ("record-progress", "too-precise", Some(400)),
    ("get-points", "", Some(200)),
    ("get-points", "another-user", Some(403)),
    ("correct-points", "", Some(201)),
    ("correct-points", "no-reason", Some(400)),
    ("record-attendance", "", Some(404)),
    ("record-attendance", "no-users", Some(400)),
    ("start-report", "", Some(409)),
    ("start-report", "another-company", Some(403)),
    ("get-report", "", Some(404)),
    ("get-report", "another-company", Some(403)),
    ("start-export", "", Some(202)),
    ("start-export", "company-admin", Some(403)),
    ("get-export", "", Some(200)),
    ("get-export", "company-admin", Some(403)),
    ("get-job", "", Some(200)),
    ("get-job", "no-job-id", Some(400)),
    ("start-erasure", "", Some(202)),
    ("start-erasure", "company-admin", Some(403)),
    ("get-erasure", "", Some(200)),
    ("get-erasure", "company-admin", Some(403)),
    ("update-part", "", Some(404)),
    ("update-part", "no-version", Some(400)),
    ("remove-part", "", Some(404)),
    ("remove-part", "bad-version", Some(400)),
    ("add-reference", "", Some(404)),
    ("add-reference", "no-such-facet", Some(400)),
    ("remove-reference", "", Some(404)),
    ("remove-reference", "no-such-facet", Some(400)),
    ("remove-reference-record", "", Some(404)),
    ("remove-reference-record", "no-such-facet", Some(400)),
    ("get-template", "", Some(404)),
    ("get-template", "another-company", Some(403)),
    ("update-template", "", Some(404)),
    ("update-template", "no-change", Some(400)),
    ("remove-template", "", Some(404)),
    ("remove-template", "no-operator", Some(403)),
    ("load-templates", "", None),
    ("load-templates", "no-such-time", None),
    ("start-group-progress", "", None),
    ("start-group-progress", "no-such-time", None),
];

/// The events of the ledger. They open two accounts, post and reverse a transaction, capture and
/// void a hold, and freeze an account.
const LEDGER: [Event; 58] = [
    ("create-merchant", "", Some(201)),
    ("create-merchant", "no-operator", Some(403)),
    ("list-merchants", "", Some(200)),
    ("list-merchants", "bad-cursor", Some(400)),
    ("get-merchant", "", Some(200)),
    ("get-merchant", "no-such-merchant", Some(404)),
    ("create-account", "", Some(201)),
    ("create-account", "external", Some(201)),
    ("create-account", "no-currency", Some(400)),
    ("process-payment", "", Some(201)),
    ("process-payment", "no-key", Some(400)),
    ("process-payment", "anothers-account", Some(403)),
    ("process-payment", "insufficient-funds", Some(409)),
    ("process-batch", "", Some(200)),
    ("process-batch", "same-key", Some(400)),
    ("create-hold", "", Some(201)),
    ("create-hold", "no-key", Some(400)),
    ("capture-hold", "", Some(201)),
    ("capture-hold", "too-much", Some(409)),
    ("void-hold", "", Some(200)),
    ("void-hold", "already-voided", Some(409)),
    ("release-expired-holds", "", None),
    ("release-expired-holds", "no-such-time", None),
    ("get-account", "", Some(200)),
    ("get-account", "anothers-account", Some(403)),
    ("get-balance", "", Some(200)),
    ("get-balance", "in-future", Some(400)),
    ("list-user-accounts", "", Some(200)),
    ("list-user-accounts", "another-user", Some(403)),
    ("get-transaction", "", Some(200)),
    ("get-transaction", "no-such-transaction", Some(404)),
    ("list-transactions", "", Some(200)),
    ("list-transactions", "no-operator", Some(403)),
    ("get-statement", "", Some(200)),
    ("get-statement", "bad-cursor", Some(400)),
    ("reverse-transaction", "", Some(201)),
    ("reverse-transaction", "already-reversed", Some(409)),
    ("reverse-transaction", "no-key", Some(400)),
    ("update-account", "", Some(200)),
    ("update-account", "no-such-status", Some(400)),
    ("start-reconciliation", "", Some(202)),
    ("start-reconciliation", "ends-before-start", Some(400)),
    ("react-to-transactions", "", None),
    ("react-to-transactions", "inbox", None),
    ("react-to-transactions", "unreadable", None),
    ("react-to-transactions", "no-batch", None),
    ("settle-account", "", None),
    ("settle-account", "no-batch", None),
    ("reconcile", "", None),
    ("reconcile", "unreadable-keys", None),
    ("reconcile", "no-batch", None),
    ("get-reconciliation", "", Some(200)),
    ("get-reconciliation", "no-such-reconciliation", Some(404)),
    ("retry-reconciliation", "", Some(409)),
    ("retry-reconciliation", "no-such-reconciliation", Some(404)),
    ("start-daily-reconciliation", "", None),
    ("start-daily-reconciliation", "by-hand", None),
    ("start-daily-reconciliation", "no-such-day", None),
];

const LISTED: [&[Event]; 5] = [&BANK, &CART, &LAKE, &WELLNESS, &LEDGER];

/// The case of an event that is in no file. The event is derived from the accepted event of the
/// function: its caller has no claims except `sub`.
pub const NO_CLAIMS: &str = "no-claims";

/// Every event. A function with a GET route does not have to be in the lists above. Its event then
/// gets 200, and 403 if the caller has no claims.
#[must_use]
pub fn all() -> Vec<Event> {
    let listed = LISTED.concat();
    let is_read = |pattern: &Declared| pattern.routes().iter().any(|route| route.method == "GET");
    let is_listed = |pattern: &Declared| listed.iter().any(|(function, ..)| *function == pattern.name);
    let reads = patterns::all().into_iter().filter(|pattern| is_read(pattern) && !is_listed(pattern));
    let reads = reads.flat_map(|pattern| [(pattern.name, "", Some(200)), (pattern.name, NO_CLAIMS, Some(403))]);
    let reads: Vec<Event> = reads.collect();
    [listed, reads].concat()
}

/// The name of an event.
#[must_use]
pub fn name(function: &str, why: &str) -> String {
    if why.is_empty() { function.to_owned() } else { format!("{function}.{why}") }
}

/// The content of an event.
#[must_use]
pub fn event(function: &str, why: &str) -> Value {
    if why != NO_CLAIMS {
        return folder().event(&name(function, why)).expect("an event");
    }
    let mut event = event(function, "");
    let claims = &mut event["requestContext"]["authorizer"]["jwt"]["claims"];
    *claims = json!({"sub": claims["sub"]});
    event
}

/// The folder `events/`.
#[must_use]
pub fn folder() -> Events {
    Events::of(root().join("events"))
}
