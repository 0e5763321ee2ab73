//! Compares the generated pages with the code. `make docs` writes the pages.

use function::{Calls, Pattern, Problem, Route, Trigger};
use local::template::{Lambda, Mapping};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
};
use system_tests::{patterns, root, template};
use table::Projection;

const BEGIN: &str = "<!-- written by make docs -->\n";
const END: &str = "<!-- end -->\n";

fn trigger(trigger: Trigger) -> String {
    match trigger {
        Trigger::Http(routes) => {
            let routes = routes.iter().map(|route| format!("`{} {}`", route.method, route.path));
            routes.collect::<Vec<_>>().join(", ")
        }
        Trigger::Schedule(expression) => format!("`{expression}`"),
        Trigger::Stream(table) => format!("stream of {table}"),
    }
}

/// The patterns of one domain with examples of their costs.
struct Room<C: 'static> {
    name: &'static str,
    patterns: Vec<Pattern<C>>,
    /// The headings of the first column and of the two example columns.
    columns: [&'static str; 3],
    /// Example rows with their labels.
    rows: Vec<(&'static str, [C; 2])>,
    /// The example for the short table, with its label.
    typical: (&'static str, C),
}

/// Five items, one on each of five shards. No request has an idempotency key.
fn bank() -> Room<bank::Case> {
    let case = |kilobytes: usize, projection| bank::Case {
        item: kilobytes * 1024,
        entry: 300,
        projection,
        shards: 5,
        items: 5,
        keyed: false,
    };
    let both = |kilobytes| [Projection::KeysOnly, Projection::All].map(|projection| case(kilobytes, projection));
    Room {
        name: "bank",
        patterns: bank::patterns(),
        columns: ["item", "KEYS_ONLY (`GSI1`)", "ALL (`GSI1All`)"],
        rows: vec![("1 KB", both(1)), ("8 KB", both(8))],
        typical: ("cost with 8 KB items", case(8, Projection::KeysOnly)),
    }
}

fn cart() -> Room<cart::Case> {
    let case = |cart_item, cart_items| cart::Case { cart_item, cart_items, record: None };
    let both = |lines| [300, 900].map(|line| case(line, lines));
    Room {
        name: "cart",
        patterns: cart::patterns(),
        columns: ["ACTIVE items", "of 300 bytes", "of 900 bytes"],
        rows: vec![("5", both(5)), ("31", both(31))],
        typical: ("cost with five 300-byte cart items", case(300, 5)),
    }
}

/// The rows are a plan year, the registrations of an employee, and the activities of a venue. The
/// size of a narrow index entry does not grow with the activity.
fn wellness() -> Room<wellness::Case> {
    let case = |activity, items, references| wellness::Case {
        activity,
        program: activity - 60,
        narrow: 250,
        part: activity / 2,
        parts: 6,
        reference: activity / 3,
        references,
        registration: activity / 2,
        own: activity / 2,
        items,
        job: 350 + activity / 3,
        employee: 200,
        eligible: 10,
        record: None,
    };
    let both = |items, references| [700, 6_000].map(|activity| case(activity, items, references));
    Room {
        name: "wellness",
        patterns: wellness::patterns(),
        columns: ["activities or registrations, references", "activities of 700 bytes", "of 6,000 bytes"],
        rows: vec![("10, 5", both(10, 5)), ("50, 25", both(50, 25))],
        typical: ("cost with 50 small activities or registrations, 10 references", case(700, 50, 10)),
    }
}

/// Payments between two accounts, and transactions with more legs.
fn ledger() -> Room<ledger::Case> {
    let case = |legs, items| {
        let transaction = 650 + 60 * legs;
        let of_status = transaction - 60;
        ledger::Case { account: 550, of_user: 400, transaction, of_status, leg: 500, legs, items, merchant: true }
    };
    let both = |legs| [50, 100].map(|items| case(legs, items));
    Room {
        name: "ledger",
        patterns: ledger::patterns(),
        columns: ["legs of a transaction", "50 in a list", "100 in a list"],
        rows: vec![("2", both(2)), ("48", both(48))],
        typical: ("cost with two legs, and 100 items in a list", case(2, 100)),
    }
}

impl<C: 'static> Room<C> {
    fn page(&self) -> String {
        let Self { name, patterns, columns: [corner, one, other], rows, .. } = self;
        let mut page = format!("\n## {name}\n");
        for pattern in patterns {
            for (label, Calls { condition, formula, cost, .. }) in pattern.labelled() {
                let _ = write!(
                    page,
                    "\n### {} {label}\n\n{}\n\n- key condition: {condition}\n- cost: {formula}\n\n| {corner} | {one} | {other} |\n| --- | --- | --- |\n",
                    pattern.id,
                    trigger(pattern.trigger)
                );
                for (row, [one, other]) in rows {
                    let _ = writeln!(page, "| {row} | {} | {} |", cost(one), cost(other));
                }
            }
        }
        page
    }

    fn short(&self) -> String {
        let Self { name, patterns, typical: (typical, case), .. } = self;
        let mut table = format!("| # | function | trigger | {typical} |\n| --- | --- | --- | --- |\n");
        for pattern in patterns {
            let (file, trigger) = (pattern.name.replace('-', "_"), trigger(pattern.trigger));
            for (label, calls) in pattern.labelled() {
                let cost = (calls.cost)(case);
                let _ = writeln!(
                    table,
                    "| {} | [{label}](../crates/{name}/src/patterns/{file}.rs) | {trigger} | {cost} |",
                    pattern.id
                );
            }
        }
        table
    }
}

/// C7 consumes no units of the table. Its cost is the volume that Firehose bills, with several rows
/// per record and with one.
const EXPORT: function::Pattern<()> = export::patterns::export_cart_changes::PATTERN;
const CHANGES: usize = 1_000;

fn kilobytes_billed(row: usize) -> [usize; 2] {
    let rows = (0..CHANGES).map(|place| export::pack::Row { place, json: "x".repeat(row) });
    let packed: usize = export::pack::records(rows).0.iter().map(export::pack::Record::billed).sum();
    [packed / 1_024, CHANGES * row.next_multiple_of(export::pack::BILLED_STEP) / 1_024]
}

fn export_page() -> String {
    let mut page = format!(
        "\n### {} {}\n\n{}\n\n- key condition: none; new and old images of the cart items, by the event filter of the mapping\n\
         - cost: no unit of the table; PutRecordBatch of rows packed into records, which are billed by every 5 KB begun\n\n\
         | {CHANGES} changes | packed | one by one |\n| --- | --- | --- |\n",
        EXPORT.id,
        EXPORT.name,
        trigger(EXPORT.trigger)
    );
    for row in [300, 900] {
        let [packed, single] = kilobytes_billed(row);
        let _ = writeln!(page, "| of {row} bytes | {packed} KB | {single} KB |");
    }
    page
}

fn export_row() -> String {
    let (id, name, trigger, [packed, _]) = (EXPORT.id, EXPORT.name, trigger(EXPORT.trigger), kilobytes_billed(300));
    format!(
        "| {id} | [{name}](../crates/export/src/patterns/export_cart_changes.rs) | {trigger} | {packed} KB of Firehose for {CHANGES} changes of 300 bytes |\n"
    )
}

/// The introduction of the page. The short tables follow it.
const HEAD: &str = "# Access patterns\n\
    \n\
    `make docs` writes this page from the declarations beside the code. Tests compare each cost with the\n\
    capacity that DynamoDB reports, and each trigger with the stacks.\n\
    \n\
    R means read request units (RRU) and W means write request units (WRU). ⌈x⌉ rounds a size up to full\n\
    units: 4 KB for a read, 1 KB for a write. An eventually consistent read costs half of that, shown as\n\
    ½. The costs are those of requests without an `Idempotency-Key`.\n\
    \n\
    The examples assume:\n\
    \n\
    - **bank**: five items, one on each of five shards, for patterns with several items; else one.\n\
    - **cart**: a cart, or a page of a list, with the given number of ACTIVE items.\n\
    - **wellness**: a plan year, a user or an activity with the given number of activities or\n\
    \x20 registrations. An activity has six parts. An activity or a venue has the given number of\n\
    \x20 references. Ten challenges admit the employee.\n\
    - **ledger**: a transaction with the given number of legs, each on a different account, and a list\n\
    \x20 with the given number of items.\n\
    \n\
    ## Summary\n\
    \n\
    Each function links to its module. The bank uses the default index, `KEYS_ONLY`. The\n\
    sections below have the key conditions, the formulas and the costs of other sizes.\n\
    \n";

fn page() -> String {
    let rooms = [bank().page(), cart().page(), export_page(), wellness().page(), ledger().page()];
    HEAD.to_owned() + &short() + &rooms.concat()
}

fn short() -> String {
    let cart = cart().short() + &export_row();
    [bank().short(), cart, wellness().short(), ledger().short()].join("\n")
}

fn is_current(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("a page");
    }
    let found = fs::read_to_string(&path).expect("a page");
    assert!(found == wanted, "{} is stale: run `make docs`", path.display());
}

#[test]
fn access_patterns_page_is_current() {
    is_current("docs/access-patterns.md", &page());
}

#[test]
fn lists_every_pattern() {
    let (page, short) = (page(), short());
    for pattern in patterns::all() {
        let (id, name) = (pattern.id, pattern.name);
        assert!(page.contains(&format!("\n### {id} {name}")), "docs/access-patterns.md lacks {id} {name}");
        assert!(short.contains(&format!("| {id} | [{name}")), "the table of README.md lacks {id} {name}");
    }
}

/// Compares the part of the page between the two markers with the text.
fn part_is_current(path: &str, wanted: &str) {
    let page = fs::read_to_string(root().join(path)).expect("a page");
    let (before, rest) = page.split_once(BEGIN).expect("the begin marker");
    let (_, after) = rest.split_once(END).expect("the end marker");
    is_current(path, &format!("{before}{BEGIN}\n{wanted}\n{END}{after}"));
}

#[test]
fn http_page_lists_every_problem_type() {
    let mut table = "| status | type | when |\n| --- | --- | --- |\n".to_owned();
    for problem in Problem::ALL {
        let _ = writeln!(table, "| {} | `/problems/{}` | {} |", problem.status(), problem.name(), problem.when());
    }
    part_is_current("docs/http.md", &table);
}

/// The trigger of the pattern in the form of the template: routes with scopes, schedules and
/// streams.
fn declared(trigger: Trigger) -> BTreeSet<String> {
    match trigger {
        Trigger::Http(routes) => {
            let scopes = |route: &Route| route.scopes.iter().copied().collect::<BTreeSet<_>>();
            routes.iter().map(|route| format!("{} {} {:?}", route.method, route.path, scopes(route))).collect()
        }
        Trigger::Schedule(expression) => [expression.to_owned()].into(),
        Trigger::Stream(table) => [format!("stream of {table}")].into(),
    }
}

fn deployed(lambda: &Lambda) -> BTreeSet<String> {
    let routes = lambda.routes.iter().map(|route| {
        let scopes: BTreeSet<_> = route.scopes.iter().collect();
        format!("{} {} {scopes:?}", route.method, route.path)
    });
    let schedules = lambda.schedules.iter().map(|schedule| schedule.expression.clone());
    let table = |mapping: &Mapping| mapping.table.rsplit('-').next().unwrap_or_default().to_owned();
    let streams = lambda.mappings.iter().map(|mapping| format!("stream of {}", table(mapping)));
    routes.chain(schedules).chain(streams).collect()
}

#[test]
fn every_function_is_deployed_with_the_trigger_of_its_pattern() {
    let patterns: BTreeMap<_, _> =
        patterns::all().into_iter().map(|pattern| (pattern.name.to_owned(), declared(pattern.trigger))).collect();
    let template = template();
    let lambdas: BTreeMap<_, _> =
        template.lambdas.iter().map(|lambda| (lambda.name.clone(), deployed(lambda))).collect();
    assert_eq!(patterns, lambdas);
}
