//! A month of the cart, the wellness service and the ledger, at an example load. The requirements
//! state no request rates for them. The units are the declared costs of the access patterns.
use std::fmt::Write;

use super::{
    day::{DAYS_A_MONTH, transferred, with_items},
    price::Prices,
};
use cart::patterns::{add_cart_item, checkout_cart, list_cart_items};
use ledger::patterns::get_statement;
use table::{Units, cost::Cost};
use wellness::patterns::{get_activity, list_registrations, record_progress};

const MILLION: u64 = 1_000_000;

const CART: &str = "cart: 10 M items, half of them bought five at once; a cart of five items is listed 100 M times";
const WELLNESS: &str = "wellness: 500,000 employees with 20 registrations, of which each opens the home page and an activity ten times, \
     and reports progress four times";
const LEDGER: &str =
    "ledger: 10 M payments, 10 M statements of 20 legs, and a daily reconciliation with a million accounts";

/// Read units of a reconciliation: for ten transactions, and for an account
/// (docs/decisions/ledger-reconciliation.md).
const RECONCILED: (u64, u64) = (12, 3);

/// Units that a month consumes: reads and writes.
type Month = (Units, Units);

/// The units of calls that are made so many times.
fn units<const N: usize>(calls: [(Cost, u64); N]) -> Month {
    calls.into_iter().fold((Units::ZERO, Units::ZERO), |sum, (cost, times)| {
        cost.places()
            .fold(sum, |(reads, writes), (_, read, write)| (reads + read.times(times), writes + write.times(times)))
    })
}

fn cart() -> Month {
    let case = cart::Case {
        cart_item: 300,
        cart_items: 5,
        contents: 400,
        record: None,
        product: 300,
        products: 0,
        order: 300,
        orders: 0,
        entry: 160,
        entries: 0,
        shards: 4,
        lines: 700,
    };
    units([
        (add_cart_item::PATTERN.calls[0].cost_of(&case), 10 * MILLION),
        (checkout_cart::PATTERN.calls[0].cost_of(&case), MILLION),
        (list_cart_items::PATTERN.calls[0].cost_of(&case), 100 * MILLION),
    ])
}

fn wellness() -> Month {
    let case = wellness::Case {
        activity: 900,
        narrow: 300,
        part: 500,
        parts: 4,
        registration: 500,
        items: 20,
        ..wellness::Case::default()
    };
    units([
        (list_registrations::PATTERN.calls[0].cost_of(&case), 5 * MILLION),
        (get_activity::PATTERN.calls[0].cost_of(&case), 5 * MILLION),
        (record_progress::PATTERN.calls[0].cost_of(&case), 2 * MILLION),
    ])
}

fn ledger() -> Month {
    let (transactions, accounts) = (10 * MILLION, MILLION * DAYS_A_MONTH);
    let (of_ten, of_account) = RECONCILED;
    let reconciled = Units::whole(transactions / 10 * of_ten + accounts * of_account);
    let (read, written) = units([
        (transferred(), transactions),
        (get_statement::PATTERN.calls[0].cost_of(&with_items(20)), transactions),
    ]);
    (read + reconciled, written)
}

/// Returns a row for each service.
pub(super) fn text(prices: &Prices) -> String {
    let mut text = format!(
        "\nA month of {DAYS_A_MONTH} days at an example load, in million units, without storage, calls and stream functions\n\n   W    R  dollars  load\n"
    );
    for (load, (read, written)) in [(CART, cart()), (WELLNESS, wellness()), (LEDGER, ledger())] {
        let [read, written] = [read, written].map(Units::rounded_up);
        let cost = prices.write.per_million(written).plus(prices.read.per_million(read)).cents();
        let [read, written] = [read, written].map(|units| units.div_ceil(MILLION));
        let _ = writeln!(text, "{written:4} {read:4} {cost:>8}  {load}");
    }
    text
}
