//! Compares the generated pages with the code. `make docs` writes the pages.

use function::{Calls, Pattern, Problem, Route, Trigger};
use local::template::{Lambda, Mapping, ObjectTrigger};
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
        Trigger::Streams(tables) => format!("streams of {}", tables.join(", ")),
        Trigger::Workflow(name) => format!("workflow {name}"),
        Trigger::Objects(bucket, prefix) => format!("object created in {bucket}, `{prefix}`"),
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

/// The examples have five items, one on each of five shards, and no idempotency key.
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
    let case = |cart_item, cart_items| cart::Case {
        cart_item,
        cart_items,
        contents: 120 + 50 * cart_items,
        record: None,
        product: 200,
        products: 10,
        order: 250,
        orders: 10,
        lines: 100 + 200 * cart_items,
    };
    let both = |lines| [300, 900].map(|line| case(line, lines));
    Room {
        name: "cart",
        patterns: cart::patterns(),
        columns: ["ACTIVE items", "of 300 bytes", "of 900 bytes"],
        rows: vec![("5", both(5)), ("31", both(31))],
        typical: ("cost with five 300-byte cart items", case(300, 5)),
    }
}

/// A list contains a plan year, the registrations of an employee, or the activities of a venue. The
/// entries of GSI2 have the same size for all activities.
fn wellness() -> Room<wellness::Case> {
    let case = |activity, items, references| wellness::Case {
        activity,
        program: activity - 60,
        narrow: 250,
        part: activity / 2,
        parts: 6,
        reference: activity / 3,
        references,
        groups: 0,
        rewards: 300,
        corrections: 200,
        report: 300,
        registration: activity / 2,
        own: activity / 2,
        items,
        upload: 300,
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

/// The examples are payments between two accounts, and transactions with more legs.
fn ledger() -> Room<ledger::Case> {
    let case = |legs, items| {
        let transaction = 650 + 60 * legs;
        let of_status = transaction - 60;
        ledger::Case {
            account: 650,
            of_user: 400,
            transaction,
            of_status,
            leg: 550,
            inbox: 500,
            hold: 700,
            of_hold: 500,
            legs,
            items,
            total: 250,
            totals: 4,
            shards: 4,
            merchant: true,
        }
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

/// C7 consumes no request units. Its cost is the volume that Firehose bills, with several rows per
/// record or with one.
const EXPORT: function::Pattern<()> = lake::patterns::export_changes::PATTERN;
const CHANGES: usize = 1_000;

fn kilobytes_billed(row: usize) -> [usize; 2] {
    let rows = (0..CHANGES).map(|place| lake::pack::Row { place, json: "x".repeat(row) });
    let packed: usize = lake::pack::records(rows).0.iter().map(lake::pack::Record::billed).sum();
    [packed / 1_024, CHANGES * row.next_multiple_of(lake::pack::BILLED_STEP) / 1_024]
}

fn export_page() -> String {
    let mut page = format!(
        "\n### {} {}\n\n{}\n\n- key condition: none. The filters of the event source mappings pass the changes of exported items\n\
         - cost: no request units. Firehose rounds the size of each record up to a multiple of 5 KB, so PutRecordBatch sends records with many rows\n\n\
         | {CHANGES} changes | many rows per record | one row per record |\n| --- | --- | --- |\n",
        EXPORT.id,
        EXPORT.name,
        trigger(EXPORT.trigger)
    );
    for row in [300, 900] {
        let [packed, single] = kilobytes_billed(row);
        let _ = writeln!(page, "| of {row} bytes | {packed} KB | {single} KB |");
    }
    for (pattern, condition) in WORKFLOW {
        let (id, name, trigger) = (pattern.id, pattern.name, trigger(pattern.trigger));
        let _ = write!(
            page,
            "\n### {id} {name}\n\n{trigger}\n\n- key condition: none. {condition}\n- cost: no request units\n"
        );
    }
    page
}

/// The functions of the workflow that refreshes the lake.
const WORKFLOW: [(function::Pattern<()>, &str); 2] = [
    (lake::patterns::convert_export::PATTERN, "The function reads a file of an export, and writes objects with rows"),
    (lake::patterns::plan_refresh::PATTERN, "The function returns SQL"),
];

fn export_row() -> String {
    let (id, name, trigger, [packed, _]) = (EXPORT.id, EXPORT.name, trigger(EXPORT.trigger), kilobytes_billed(300));
    format!(
        "| {id} | [{name}](../crates/lake/src/patterns/export_changes.rs) | {trigger} | {packed} KB billed by Firehose for {CHANGES} changes of 300 bytes |\n"
    ) + &WORKFLOW.map(|(pattern, _)| workflow_row(&pattern)).concat()
}

fn workflow_row(pattern: &function::Pattern<()>) -> String {
    let (id, name, file, trigger) =
        (pattern.id, pattern.name, pattern.name.replace('-', "_"), trigger(pattern.trigger));
    format!("| {id} | [{name}](../crates/lake/src/patterns/{file}.rs) | {trigger} | none |\n")
}

/// The introduction of the page, before the summary tables.
const HEAD: &str = "# Access patterns\n\
    \n\
    `make docs` writes this page from the `PATTERN` constants in the code. Tests compare each cost with\n\
    the capacity that DynamoDB reports, and each trigger with the stacks.\n\
    \n\
    R means read request units (RRU) and W means write request units (WRU). ⌈x⌉ rounds a size up to full\n\
    units: 4 KB for a read, 1 KB for a write. Σ is a sum of sizes. An eventually consistent read costs\n\
    half as much, shown as ½. The costs in the tables are for requests without an `Idempotency-Key`.\n\
    \n\
    The examples assume:\n\
    \n\
    - **bank**: a pattern for one payment has one item. A list and the archive have five items, one on\n\
    \x20 each of five shards.\n\
    - **cart**: a cart or a page has the given number of ACTIVE items.\n\
    - **wellness**: a list has the given number of activities or registrations. An activity has six\n\
    \x20 parts. An activity or a venue has the given number of references. Ten challenges admit the\n\
    \x20 employee.\n\
    - **ledger**: a transaction has the given number of legs, each on a different account. A list has\n\
    \x20 the given number of items.\n\
    \n\
    ## Summary\n\
    \n\
    Each function name links to its module. The bank uses the default index projection, `KEYS_ONLY`. The\n\
    sections below have the key conditions, the formulas and the costs of items of other sizes.\n\
    \n";

fn page() -> String {
    let rooms = [bank().page(), cart().page(), export_page(), wellness().page(), ledger().page()];
    HEAD.to_owned() + &short() + &rooms.concat()
}

fn short() -> String {
    let cart = cart().short() + &export_row();
    [bank().short(), cart, wellness().short(), ledger().short()].join("\n")
}

pub(crate) fn is_current(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).expect("the page is written");
    }
    let found = fs::read_to_string(&path).expect("the page is readable");
    assert!(found == wanted, "{} is stale: run `make docs`", path.display());
}

#[test]
fn access_patterns_page_is_current() {
    is_current("docs/access-patterns.md", &page());
}

#[test]
fn access_patterns_page_lists_every_pattern() {
    let (page, short) = (page(), short());
    for pattern in patterns::all() {
        let (id, name) = (pattern.id, pattern.name);
        assert!(page.contains(&format!("\n### {id} {name}")), "docs/access-patterns.md lacks {id} {name}");
        assert!(
            short.contains(&format!("| {id} | [{name}")),
            "the summary of docs/access-patterns.md lacks {id} {name}"
        );
    }
}

/// Compares the text between the two markers of a page with the wanted text.
fn part_is_current(path: &str, wanted: &str) {
    let page = fs::read_to_string(root().join(path)).expect("the page is readable");
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

/// Describes the trigger of a pattern: its routes with scopes, its schedule or its stream.
///
/// `deployed` describes the trigger in the template in the same way.
fn declared(trigger: Trigger) -> BTreeSet<String> {
    match trigger {
        Trigger::Http(routes) => {
            let scopes = |route: &Route| route.scopes.iter().copied().collect::<BTreeSet<_>>();
            routes.iter().map(|route| format!("{} {} {:?}", route.method, route.path, scopes(route))).collect()
        }
        Trigger::Schedule(expression) => [expression.to_owned()].into(),
        Trigger::Stream(table) => [format!("stream of {table}")].into(),
        Trigger::Streams(tables) => tables.iter().map(|table| format!("stream of {table}")).collect(),
        // The state machine invokes the function, so the function has no trigger of its own.
        Trigger::Workflow(_) => BTreeSet::new(),
        Trigger::Objects(bucket, prefix) => [format!("object in {} {prefix}", bucket.to_lowercase())].into(),
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
    let bucket = |trigger: &ObjectTrigger| trigger.bucket.rsplit('-').next().unwrap_or_default().to_owned();
    let objects = lambda.objects.iter().map(|trigger| format!("object in {} {}", bucket(trigger), trigger.prefix));
    routes.chain(schedules).chain(streams).chain(objects).collect()
}

#[test]
fn triggers_in_the_template_match_the_patterns() {
    let patterns: BTreeMap<_, _> =
        patterns::all().into_iter().map(|pattern| (pattern.name.to_owned(), declared(pattern.trigger))).collect();
    let template = template();
    let lambdas: BTreeMap<_, _> =
        template.lambdas.iter().map(|lambda| (lambda.name.clone(), deployed(lambda))).collect();
    assert_eq!(patterns, lambdas);
}
