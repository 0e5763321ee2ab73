//! Units: an event consumes the read and write units of its row, and its pattern declares them.

use crate::{calls::steps_of, patterns, stage::Stage};
use function::Pattern;
use std::collections::BTreeMap;
use system_tests::patterns::{cost_of, labels};
use table::{Units, cost::Sizes};

/// Events of a variant of their pattern, of an empty run, or with more than one item. The tests of
/// the service compare the declared cost of these patterns (`cost.rs`).
const OTHERS: &[&str] = &[
    "archive-settled-payments",
    "close-day",
    "dispatch-due-payments",
    "execute-payment",
    "list-due-payments",
    "list-overdue-payments",
    "list-transactions-by-date",
    "retry-payment",
    "schedule-payment",
    "add-cart-item",
    "checkout-cart",
    "continue-cart-job",
    "put-product",
    "list-products",
    "capture-hold",
    "get-totals",
    "get-trial-balance",
    "list-merchants",
    "list-reconciliations",
    "list-user-accounts",
    "process-batch",
    "react-to-transactions",
    "reconcile",
    "release-expired-holds",
    "settle-account",
    "create-activity",
    "create-template",
    "get-activity",
    "get-points",
    "get-report",
    "join-activity",
    "list-activities",
    "list-activity-options",
    "list-registrations",
    "put-plan",
    "put-section",
    "register-new-employee",
    "replace-reference",
    "start-erasure",
    "start-export",
    "start-group-progress",
    "update-activity",
];

pub(crate) async fn check(stage: &mut Stage) {
    let mut steps = BTreeMap::new();
    for row in stage.rows.clone() {
        if !stage.plays(&row.event) {
            continue;
        }
        stage.net.record();
        let invoked = stage.invoke(&row, stage.event(&row)).await;
        if let Err(error) = &invoked.answer {
            stage.fault(&row.event, "success", format!("{error:?}"));
        }
        let recorded = stage.net.recorded();
        // The event of a function comes before its variants.
        if row.event == row.function() || !steps.contains_key(row.function()) {
            steps.insert(row.function().to_owned(), steps_of(&recorded));
        }
        let calls = invoked.usage.calls.iter().map(|call| (call.read, call.write));
        stage.same(&row.event, &row.units, &sum(calls));
        if let Some(declared) = declared(stage.service.name, &row.event) {
            let is_other = declared != row.units;
            if is_other != OTHERS.contains(&row.event.as_str()) {
                stage.fault(&row.event, format!("a declared cost of {}", row.units), declared);
            }
        }
        stage.restore();
    }
    if !stage.is_selective() {
        patterns::check(stage.service.name, &steps);
    }
}

fn sum(units: impl Iterator<Item = (Units, Units)>) -> String {
    let (read, write) =
        units.fold((Units::ZERO, Units::ZERO), |(reads, writes), (read, write)| (reads + read, writes + write));
    format!("{read}/{write}")
}

/// The declared units of a function for one item of each kind, of less than a unit, if it has such
/// a cost.
fn declared(service: &str, function: &str) -> Option<String> {
    fn of<C: Sizes>(patterns: &[Pattern<C>], function: &str, case: &C) -> Option<String> {
        let is_declared = labels(patterns).contains(function);
        is_declared.then(|| sum(cost_of(patterns, function, case).places().map(|(_, read, write)| (read, write))))
    }
    match service {
        "bank" => of(&bank::patterns(), function, &bank::Case { shards: 1, items: 1, ..bank::Case::default() }),
        "cart" => of(&cart::patterns(), function, &cart::Case { cart_items: 1, shards: 4, ..cart::Case::default() }),
        "ledger" => of(&ledger::patterns(), function, &ledger::Case { items: 1, legs: 2, ..ledger::Case::default() }),
        "wellness" => of(&wellness::patterns(), function, &wellness::Case { items: 1, ..wellness::Case::default() }),
        _ => None,
    }
}
