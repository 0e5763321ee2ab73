//! The pages that are written from the code are not stale. `make docs` writes them.

use function::Problem;
use local::template::{Lambda, Template};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};
use system_tests::root;
use table::{Projection, cost::Pattern};

const BEGIN: &str = "<!-- written by make docs -->\n";
const END: &str = "<!-- end -->\n";

fn template() -> Template {
    let text = fs::read_to_string(root().join("template.yaml")).expect("the template");
    Template::read(&text, Path::new("template.yaml"), "docs", &BTreeMap::new()).expect("a template")
}

fn trigger(lambda: &Lambda) -> String {
    let routes = lambda.routes.iter().map(|route| format!("`{} {}`", route.method, route.path));
    let schedules = lambda.schedules.iter().map(|schedule| format!("`{}`", schedule.expression));
    let streams = lambda.mappings.iter().map(|mapping| {
        let table = mapping.table.rsplit('-').next().unwrap_or_default();
        format!("stream of {table}")
    });
    routes.chain(schedules).chain(streams).collect::<Vec<_>>().join(", ")
}

/// The patterns of one domain, and the examples of what they cost.
struct Room<C> {
    name: &'static str,
    patterns: Vec<Pattern<C>>,
    /// The corner and the names of the columns.
    columns: [&'static str; 3],
    /// Rows of examples, each by its name.
    rows: Vec<(&'static str, [C; 2])>,
    /// The example that is enough for a short table, and its name.
    typical: (&'static str, C),
}

/// Five items, one on each of five shards, under a key where a key may be.
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
        typical: ("cost of 8 KB items", case(8, Projection::KeysOnly)),
    }
}

fn cart() -> Room<cart::Case> {
    let case = |line, lines| cart::Case { line, lines, record: None };
    let both = |lines| [300, 900].map(|line| case(line, lines));
    Room {
        name: "cart",
        patterns: cart::patterns(),
        columns: ["ACTIVE lines", "of 300 bytes", "of 900 bytes"],
        rows: vec![("5", both(5)), ("31", both(31))],
        typical: ("cost of a cart of five 300-byte lines", case(300, 5)),
    }
}

/// A plan year, or what an employee or a venue has of it. The narrow index stays narrow.
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
        typical: ("cost of 50 small activities or registrations, 10 references", case(700, 50, 10)),
    }
}

/// A ledger of payments between two accounts, and of entries with more legs.
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
        typical: ("cost of two legs, and of 100 in a list", case(2, 100)),
    }
}

fn lambda<'a>(template: &'a Template, function: &str) -> &'a Lambda {
    let name = name(function);
    template.lambdas.iter().find(|lambda| lambda.name == name).expect("a function of the template")
}

/// The function's name, without the words that tell its patterns apart.
fn name(function: &str) -> &str {
    function.split([' ', ',']).next().expect("a name")
}

impl<C> Room<C> {
    fn page(&self, template: &Template) -> String {
        let Self { name, patterns, columns: [corner, one, other], rows, .. } = self;
        let mut page = format!("\n## {name}\n");
        for Pattern { id, function, condition, formula, cost } in patterns {
            let trigger = trigger(lambda(template, function));
            let _ = write!(
                page,
                "\n### {id} {function}\n\n{trigger}\n\n- key condition: {condition}\n- cost: {formula}\n\n| {corner} | {one} | {other} |\n| --- | --- | --- |\n"
            );
            for (row, [one, other]) in rows {
                let _ = writeln!(page, "| {row} | {} | {} |", cost(one), cost(other));
            }
        }
        page
    }

    fn short(&self, template: &Template) -> String {
        let Self { name, patterns, typical: (typical, case), .. } = self;
        let mut table = format!("| # | function | trigger | {typical} |\n| --- | --- | --- | --- |\n");
        for Pattern { id, function, cost, .. } in patterns {
            let lambda = lambda(template, function);
            let (file, trigger, cost) = (lambda.name.replace('-', "_"), trigger(lambda), cost(case));
            let _ =
                writeln!(table, "| {id} | [{function}](crates/{name}/src/patterns/{file}.rs) | {trigger} | {cost} |");
        }
        table
    }
}

/// C7 asks nothing of the table: what it costs is what Firehose bills, for rows packed and for rows one by one.
const EXPORT: &str = "export-cart-changes";
const CHANGES: usize = 1_000;

fn kilobytes_billed(row: usize) -> [usize; 2] {
    let rows = (0..CHANGES).map(|place| export::pack::Row { place, json: "x".repeat(row) });
    let packed: usize = export::pack::records(rows).0.iter().map(export::pack::Record::billed).sum();
    [packed / 1_024, CHANGES * row.next_multiple_of(export::pack::BILLED_STEP) / 1_024]
}

fn export_page(template: &Template) -> String {
    let mut page = format!(
        "\n### C7 {EXPORT}\n\n{}\n\n- key condition: none; new and old images of the lines, by the event filter of the mapping\n\
         - cost: no unit of the table; PutRecordBatch of rows packed into records, which are billed by every 5 KB begun\n\n\
         | {CHANGES} changes | packed | one by one |\n| --- | --- | --- |\n",
        trigger(lambda(template, EXPORT))
    );
    for row in [300, 900] {
        let [packed, single] = kilobytes_billed(row);
        let _ = writeln!(page, "| of {row} bytes | {packed} KB | {single} KB |");
    }
    page
}

fn export_row(template: &Template) -> String {
    let (trigger, [packed, _]) = (trigger(lambda(template, EXPORT)), kilobytes_billed(300));
    format!(
        "| C7 | [{EXPORT}](crates/export/src/patterns/export_cart_changes.rs) | {trigger} | {packed} KB of Firehose for {CHANGES} changes of 300 bytes |\n"
    )
}

fn page(template: &Template) -> String {
    const HEAD: &str = "# Access patterns\n\nWritten by `make docs` from the declarations beside the code and from template.yaml; a test holds the\n\
         costs against what DynamoDB reports, and this page against both.\n\nR and W are read and write units; ⌈x⌉ is every \
         4 KB of a read or 1 KB of a write begun; ½ because a\nread is eventually consistent. The bank's examples are of five \
         items, one on each of five shards, where a\npattern takes several, and of one item where it takes one; the cart's \
         are of a cart, or a page, of so\nmany ACTIVE lines; wellness' are of a plan year of so many activities, of a user or an activity \
         with so many\nregistrations, of an activity of six parts or a venue with so many references, and of an employee \
         whom ten\nchallenges are for; the ledger's are of a transaction of so many legs, each on an account of its own, and of a list of so many \
         items. All are of requests without an Idempotency-Key.\n";
    let rooms = [
        bank().page(template),
        cart().page(template),
        export_page(template),
        wellness().page(template),
        ledger().page(template),
    ];
    HEAD.to_owned() + &rooms.concat()
}

fn short(template: &Template) -> String {
    let cart = cart().short(template) + &export_row(template);
    [bank().short(template), cart, wellness().short(template), ledger().short(template)].join("\n")
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
fn the_access_patterns_are_those_of_the_code() {
    is_current("docs/access-patterns.md", &page(&template()));
}

/// The part of a page between the two marks is this text.
fn part_is_current(path: &str, wanted: &str) {
    let page = fs::read_to_string(root().join(path)).expect("a page");
    let (before, rest) = page.split_once(BEGIN).expect("the place where the part begins");
    let (_, after) = rest.split_once(END).expect("the place where it ends");
    is_current(path, &format!("{before}{BEGIN}\n{wanted}\n{END}{after}"));
}

#[test]
fn the_readme_shows_the_same() {
    part_is_current("README.md", &short(&template()));
}

#[test]
fn the_contract_lists_every_problem_type() {
    let mut table = "| status | type | when |\n| --- | --- | --- |\n".to_owned();
    for problem in Problem::ALL {
        let _ = writeln!(table, "| {} | `/problems/{}` | {} |", problem.status(), problem.name(), problem.when());
    }
    part_is_current("docs/http.md", &table);
}

#[test]
fn every_function_of_the_template_has_a_pattern() {
    fn functions<C>(patterns: Vec<Pattern<C>>) -> impl Iterator<Item = &'static str> {
        patterns.into_iter().map(|pattern| name(pattern.function))
    }
    let rooms = functions(bank::patterns()).chain(functions(cart::patterns())).chain(functions(wellness::patterns()));
    let named: BTreeSet<&str> = rooms.chain(functions(ledger::patterns())).chain([EXPORT]).collect();
    let template = template();
    let wanted: BTreeSet<&str> = template.lambdas.iter().map(|lambda| lambda.name.as_str()).collect();
    assert_eq!(named, wanted);
}
