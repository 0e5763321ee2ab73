//! The pages of docs/access-patterns: the calls that each event makes in its world, and the
//! declared costs.

use function::{Pattern, Trigger};
use std::{collections::BTreeMap, fmt::Write};
use system_tests::is_current;
use table::{
    Projection,
    cost::{Cost, Sizes},
};

/// The patterns of a service, with examples of their costs.
struct Examples<C: Sizes + 'static> {
    patterns: Vec<Pattern<C>>,
    /// What the examples assume.
    about: &'static str,
    /// The examples with their headings.
    columns: Vec<(&'static str, C)>,
}

fn bank() -> Examples<bank::Case> {
    let case = |projection| bank::Case {
        item: 8 * 1024,
        entry: 300,
        projection,
        shards: 5,
        items: 5,
        keyed: false,
        run: 1_000,
    };
    Examples {
        patterns: bank::patterns(),
        about: "The examples have payments of 8 KB. A list and the archive have five items, one on each of five\n\
                shards. A run of an import has 1,000 bytes. `IndexProjection` is `KEYS_ONLY` by default.",
        columns: vec![("`KEYS_ONLY`", case(Projection::KeysOnly)), ("`ALL`", case(Projection::All))],
    }
}

fn cart() -> Examples<cart::Case> {
    let case = |cart_items| cart::Case {
        cart_item: 300,
        cart_items,
        contents: 120 + 50 * cart_items,
        record: None,
        product: 200,
        products: 10,
        order: 250,
        orders: 10,
        entry: 160,
        entries: 10,
        shards: 4,
        lines: 100 + 200 * cart_items,
    };
    Examples {
        patterns: cart::patterns(),
        about: "The examples have a cart or a page with this number of cart items of 300 bytes.",
        columns: vec![("5 items", case(5)), ("31 items", case(31))],
    }
}

fn wellness() -> Examples<wellness::Case> {
    let case = |items, references| wellness::Case {
        activity: 700,
        program: 640,
        narrow: 250,
        part: 350,
        parts: 6,
        reference: 230,
        references,
        groups: 0,
        rewards: 300,
        corrections: 200,
        report: 300,
        registration: 350,
        own: 350,
        items,
        upload: 300,
        job: 580,
        employee: 200,
        eligible: 10,
        record: None,
    };
    Examples {
        patterns: wellness::patterns(),
        about: "The examples have this number of activities or registrations in a list, and of references of\n\
                an activity or a venue. An activity has 700 bytes and six parts. Ten challenges admit the\n\
                employee.",
        columns: vec![("10 items, 5 references", case(10, 5)), ("50 items, 25 references", case(50, 25))],
    }
}

fn ledger() -> Examples<ledger::Case> {
    let case = |legs, items| ledger::Case {
        account: 650,
        of_user: 400,
        transaction: 650 + 60 * legs,
        of_status: 590 + 60 * legs,
        leg: 750,
        of_account: 700,
        reversals: 0,
        inbox: 600,
        hold: 700,
        of_hold: 500,
        legs,
        items,
        total: 250,
        totals: 4,
        shards: 4,
        merchant: true,
    };
    Examples {
        patterns: ledger::patterns(),
        about: "The examples have this number of legs, each on a different account, and of items in a list.",
        columns: vec![("2 legs, 100 items", case(2, 100)), ("48 legs, 50 items", case(48, 50))],
    }
}

fn lake() -> Examples<()> {
    Examples {
        patterns: lake::patterns(),
        about: "These functions consume no request units. `export-changes` pays for Firehose, which rounds the\n\
                size of each record up to a multiple of 5 KB, so a record has many rows.",
        columns: Vec::new(),
    }
}

/// Writes or checks the page of a service. The steps belong to functions.
pub(crate) fn check(service: &str, steps: &BTreeMap<String, Vec<String>>) {
    let page = match service {
        "bank" => bank().page(service, steps),
        "cart" => cart().page(service, steps),
        "ledger" => ledger().page(service, steps),
        "lake" => lake().page(service, steps),
        _ => wellness().page(service, steps),
    };
    is_current(&format!("docs/access-patterns/{service}.md"), &page);
}

fn trigger(trigger: Trigger) -> String {
    match trigger {
        Trigger::Http(routes) => {
            let routes = routes.iter().map(|route| format!("`{} {}`", route.method, route.path));
            routes.collect::<Vec<_>>().join(", ")
        }
        Trigger::Schedule(expression) => format!("`{expression}`"),
        Trigger::Stream(table) => format!("Stream of {table}"),
        Trigger::Streams(tables) => format!("Streams of {}", tables.join(", ")),
        Trigger::Workflow(name) => format!("Workflow {name}"),
        Trigger::Objects(bucket, prefix) => format!("Object created in {bucket}, `{prefix}`"),
    }
}

impl<C: Sizes + 'static> Examples<C> {
    fn page(&self, service: &str, steps: &BTreeMap<String, Vec<String>>) -> String {
        let mut page = format!(
            "# Access patterns: {service}\n\n\
             `make docs` writes this page. The steps are the calls that the event of a function makes in its\n\
             world. The costs are declared beside the handlers, and tests compare them with the capacity that\n\
             DynamoDB reports. R means read request units (RRU) and W means write request units (WRU). ⌈x⌉ is\n\
             the size x in whole units: 4 KB for a read, 1 KB for a write. An eventually consistent read costs\n\
             half as much, shown as ½. Costs are those of requests without an `Idempotency-Key`.\n\n{}\n",
            self.about
        );
        for pattern in &self.patterns {
            let (id, name, file) = (pattern.id, pattern.name, pattern.name.replace('-', "_"));
            let path = format!("../../crates/{service}/src/patterns/{file}.rs");
            let _ = write!(page, "\n## {id} {name}\n\n{}. [Code]({path})\n", trigger(pattern.trigger));
            let steps = steps.get(name).map(Vec::as_slice).unwrap_or_default();
            page += if steps.is_empty() { "" } else { "\n" };
            for (number, step) in steps.iter().enumerate() {
                let _ = writeln!(page, "{}. {step}", number + 1);
            }
            page += &self.costs(pattern);
        }
        page
    }

    /// The costs of the variants. If the examples have other formulas, each has a row. Otherwise,
    /// each has a column, unless it says the same in every row.
    fn costs(&self, pattern: &Pattern<C>) -> String {
        let [(first, one), others @ ..] = &self.columns[..] else { return String::new() };
        let differs = |other: &C, of: fn(&Cost) -> String| {
            pattern.calls.iter().any(|calls| of(&calls.cost_of(one)) != of(&calls.cost_of(other)))
        };
        let (by_row, by_column): (Vec<_>, Vec<_>) = others.iter().partition(|(_, case)| differs(case, Cost::formula));
        let by_column: Vec<_> = by_column.into_iter().filter(|(_, case)| differs(case, Cost::to_string)).collect();
        let has_names = pattern.calls.len() > 1 || !by_row.is_empty();
        let mut head = vec!["cost", if by_column.is_empty() { "example" } else { first }];
        head.extend(by_column.iter().map(|(heading, _)| *heading));
        if has_names {
            head.insert(0, "request");
        }
        let mut table = format!("\n| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len()));
        for calls in pattern.calls {
            let variant = calls.variant.trim_start_matches([',', ' ']);
            let rows = std::iter::once((if by_row.is_empty() { "" } else { *first }, one));
            for (heading, case) in rows.chain(by_row.iter().map(|(heading, case)| (*heading, case))) {
                let cost = calls.cost_of(case);
                let mut row = vec![cost.formula(), cost.to_string()];
                row.extend(by_column.iter().map(|(_, case)| calls.cost_of(case).to_string()));
                if has_names {
                    let name = [variant, heading].into_iter().filter(|name| !name.is_empty());
                    row.insert(0, name.collect::<Vec<_>>().join(", "));
                }
                let _ = writeln!(table, "| {} |", row.join(" | "));
            }
        }
        table
    }
}
