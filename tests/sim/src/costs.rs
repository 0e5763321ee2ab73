//! Compares the units of requests with the declared costs of their access patterns.
//!
//! The declarations depend on sizes and counts. The limits are their values for the largest items
//! of a case, so they are upper bounds. Each repetition of an invocation may consume them again.
use std::collections::{BTreeMap, BTreeSet};

use function::{Pattern, Trigger};
use table::{Projection, Units};

use crate::{spent::Places, world::World};

/// Functions without a maximum: they repeat their calls for each element of the request, or read
/// until a page is full.
const WITHOUT_MAXIMUM: [&str; 8] = [
    "process-batch",
    "merge-carts",
    "record-attendance",
    "dispatch-due-payments",
    "close-day",
    "list-overdue-payments",
    "list-due-payments",
    "get-statement",
];

/// Units that a function consumes only in some states, by function, and table or index. The
/// formulas of the documentation name most of them.
const SOMETIMES: [(&str, &str, u64, u64); 52] = [
    // The job that deletes the object of a file, and the reference that was added last.
    ("remove-reference-record", "WellnessJobs", 0, 2),
    ("remove-reference-record", "Activities", 1, 0),
    // The section, the template of the company and the global one, and the record of the template's
    // reference.
    ("create-activity", "Activities", 4, 0),
    // A product that the first read does not find, or finds inactive, is read again with strong
    // consistency.
    ("add-cart-item", "Products", 1, 0),
    // An item that was saved before, the only item of a cart that follows its product to another
    // currency, and the 40 items of a cart with their pointers, if an expired one is in the way or
    // a merge moves them.
    ("add-cart-item", "Cart", 90, 2),
    // The order of an item that was bought, twice and with its lines while a job moves the item. An
    // item that moves during its lookup is looked up again.
    ("get-cart-item", "Cart", 12, 0),
    ("update-cart-item", "Cart", 6, 2),
    ("remove-cart-item", "Cart", 4, 0),
    // The new end date of an activity that was changed during the sign-up, and the one of an
    // employee who comes back.
    ("join-activity", "Activities", 0, 1),
    ("join-activity", "Activities/GSI3", 0, 3),
    // The job that gives away the seats of sign-ups that have crashed.
    ("join-activity", "WellnessJobs", 0, 2),
    // An item that the first read does not find is read again with strong consistency.
    ("get-payment", "PaymentScheduler", 2, 0),
    ("get-payment", "TransactionHistory", 2, 0),
    ("get-bank-job", "BankJobs", 2, 0),
    ("get-product", "Products", 1, 0),
    ("get-order", "Cart", 4, 0),
    ("get-cart-job", "CartJobs", 2, 0),
    ("get-employee", "Activities", 1, 0),
    ("get-section", "Activities", 1, 0),
    ("get-plan", "Activities", 2, 0),
    ("get-template", "Activities", 12, 0),
    ("get-reference", "Activities", 2, 0),
    ("get-activity", "Activities", 20, 0),
    ("get-job", "WellnessJobs", 2, 0),
    ("get-merchant", "FinancialTransactions", 1, 0),
    ("get-hold", "FinancialTransactions", 1, 0),
    ("get-transaction", "FinancialTransactions", 14, 0),
    ("get-totals", "FinancialTransactions", 1, 0),
    ("get-reconciliation", "LedgerJobs", 1, 0),
    ("get-employee-import", "Activities", 1, 0),
    ("get-statement", "FinancialTransactions", 1, 0),
    ("list-account-holds", "FinancialTransactions", 1, 0),
    ("list-transactions", "FinancialTransactions", 2, 0),
    // Activities that the list of activities does not show in time.
    ("list-registrations", "Activities", 25, 0),
    // The pointer from an old id, and the payment with the new time.
    ("update-payment-status", "PaymentScheduler", 2, 0),
    // Supplements of the certificate.
    ("get-day", "BankJobs", 2, 0),
    ("reverse-transaction", "FinancialTransactions", 14, 12),
    ("reverse-transaction", "FinancialTransactions/GSI2", 0, 6),
    ("capture-hold", "FinancialTransactions", 7, 12),
    // Up to three more reads if a settlement changes the account.
    ("get-account", "FinancialTransactions", 30, 0),
    ("update-account", "FinancialTransactions", 30, 0),
    // A repeated request to close an account starts the settlement of its inbox, or wakes it.
    ("update-account", "LedgerJobs", 0, 2),
    // A look at the effect of a write whose response was late.
    ("void-hold", "FinancialTransactions", 1, 0),
    // The release of expired holds. A reversal looks again while the index still shows them.
    ("reverse-transaction", "FinancialTransactions/GSI1", 4, 6),
    ("capture-hold", "FinancialTransactions/GSI1", 1, 6),
    ("process-payment", "FinancialTransactions", 6, 12),
    ("process-payment", "FinancialTransactions/GSI1", 1, 6),
    ("create-hold", "FinancialTransactions", 6, 12),
    ("create-hold", "FinancialTransactions/GSI1", 1, 6),
    ("process-payment", "FinancialTransactions/GSI2", 0, 6),
    ("create-hold", "FinancialTransactions/GSI2", 0, 6),
    ("capture-hold", "FinancialTransactions/GSI2", 0, 6),
];

/// Units that each repetition may consume in any place, because it looks at the effects of the
/// attempt before, or starts a job for them.
const OF_REPETITION: Units = Units::whole(2);

/// Adds the highest declared units of the functions that requests invoke.
fn add<C: table::cost::Sizes>(limits: &mut BTreeMap<&'static str, Places>, patterns: Vec<Pattern<C>>, case: &C) {
    for pattern in patterns.into_iter().filter(|pattern| matches!(pattern.trigger, Trigger::Http(_))) {
        let places = limits.entry(pattern.name).or_default();
        for calls in pattern.calls {
            for (place, read, write) in calls.cost_of(case).places() {
                let most = places.entry(place.to_owned()).or_default();
                *most = (most.0.max(read), most.1.max(write));
            }
        }
    }
}

/// Highest number of cart items that an account had.
fn cart_items(world: &World) -> usize {
    let mut most = BTreeMap::<String, usize>::new();
    for item in world.items("Cart").iter().filter(|item| item["Type"]["S"] == "CartItem") {
        *most.entry(item["PK"]["S"].to_string()).or_default() += 1;
    }
    most.into_values().max().unwrap_or_default() + 10
}

fn limits(world: &World, service: &str) -> BTreeMap<&'static str, Places> {
    const SMALL: usize = 1_000;
    let mut limits = BTreeMap::new();
    match service {
        "cart" => {
            let count = cart_items(world);
            let case = cart::Case {
                cart_item: SMALL,
                cart_items: count,
                contents: 300 + 70 * count,
                record: Some(2 * SMALL),
                product: SMALL,
                products: 100,
                order: SMALL,
                orders: 50,
                entry: SMALL,
                entries: 50,
                shards: 4,
                lines: 300 * count,
            };
            add(&mut limits, cart::patterns(), &case);
            // An addition to a cart without CART reads its items.
            add(&mut limits, cart::patterns(), &cart::Case { cart_items: 0, ..case });
        }
        "wellness" | "plans" => {
            let case = wellness::Case {
                activity: SMALL,
                program: SMALL,
                narrow: SMALL,
                part: SMALL,
                parts: 8,
                rewards: 2 * SMALL,
                corrections: 20 * SMALL,
                report: 2 * SMALL,
                registration: SMALL,
                groups: 1,
                reference: SMALL,
                references: 25,
                own: 2 * SMALL,
                upload: SMALL,
                items: 50,
                employee: SMALL,
                eligible: 50,
                job: 4 * SMALL,
                record: Some(2 * SMALL),
            };
            add(&mut limits, wellness::patterns(), &case);
        }
        _ => {
            let projection = Projection::KeysOnly;
            let case =
                bank::Case { item: SMALL, entry: SMALL, projection, shards: 10, items: 100, keyed: true, run: SMALL };
            add(&mut limits, bank::patterns(), &case);
            add(&mut limits, bank::patterns(), &bank::Case { projection: Projection::All, ..case });
            let case = ledger::Case {
                account: SMALL,
                of_user: SMALL,
                transaction: SMALL,
                of_status: SMALL,
                leg: SMALL,
                of_account: SMALL,
                reversals: 100 * SMALL,
                inbox: SMALL,
                hold: SMALL,
                of_hold: SMALL,
                legs: 2,
                items: 100,
                total: SMALL,
                totals: 50,
                shards: 10,
                merchant: true,
            };
            add(&mut limits, ledger::patterns(), &case);
        }
    }
    limits
}

/// No successful request consumed more than the declared units, and again for each repetition.
pub(crate) fn check(world: &World, service: &str) {
    // DynamoDB rounds up the units of each page.
    if world.net.rates.hostile.short_page > 0.0 {
        return;
    }
    let limits = limits(world, service);
    let all = world.spent();
    // A client repeats a request with its idempotency key, and one of two equal requests finds the
    // other one. Their costs have no declaration.
    let twins: BTreeSet<String> =
        all.iter().filter_map(|spent| Some(format!("{}.0", spent.label.strip_suffix("t.0")?))).collect();
    for spent in &all {
        let is_repeated = !spent.label.ends_with(".0") || spent.label.ends_with("t.0") || twins.contains(&spent.label);
        if is_repeated || WITHOUT_MAXIMUM.contains(&spent.function.as_str()) {
            continue;
        }
        let Some(limit) = limits.get(spent.function.as_str()) else { continue };
        for (place, (read, write)) in &spent.places {
            let (mut most_read, mut most_write) = limit.get(place).copied().unwrap_or_default();
            for (_, _, read, write) in SOMETIMES.iter().filter(|(of, at, ..)| *of == spent.function && at == place) {
                (most_read, most_write) = (most_read + Units::whole(*read), most_write + Units::whole(*write));
            }
            let times = 1 + spent.repeats;
            let more = OF_REPETITION.times(spent.repeats);
            if *read > most_read.times(times) + more || *write > most_write.times(times) + more {
                world.violation(format!(
                    "{}: {} consumed {read} R and {write} W of {place}, but declares {most_read} R and {most_write} W, with {} repetitions",
                    spent.label, spent.function, spent.repeats
                ));
            }
        }
    }
}
