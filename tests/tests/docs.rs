//! The pages that are written from the code are not stale. `make docs` writes them.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use bank::{Case, Pattern};
use local::template::{Lambda, Template};
use std::{collections::BTreeMap, fmt::Write, fs, path::Path};
use system_tests::root;
use table::Projection;

const BEGIN: &str = "<!-- written by make docs -->\n";
const END: &str = "<!-- end -->\n";

fn template() -> Template {
    let text = fs::read_to_string(root().join("template.yaml")).expect("the template");
    Template::read(&text, Path::new("template.yaml"), "docs", &BTreeMap::new()).expect("a template")
}

fn trigger(lambda: &Lambda) -> String {
    let routes = lambda.routes.iter().map(|route| format!("`{} {}`", route.method, route.path));
    let schedules = lambda.schedules.iter().map(|schedule| format!("`{}`", schedule.expression));
    routes.chain(schedules).collect::<Vec<_>>().join(", ")
}

/// Five items, one on each of five shards, under a key where a key may be.
fn cost(pattern: &Pattern, kilobytes: usize, projection: Projection) -> String {
    let case = Case { item: kilobytes * 1024, entry: 300, projection, shards: 5, items: 5, keyed: false };
    (pattern.cost)(&case).to_string()
}

fn lambda<'a>(template: &'a Template, pattern: &Pattern) -> &'a Lambda {
    let name = pattern.function.split(' ').next().expect("a name");
    template.lambdas.iter().find(|lambda| lambda.name == name).expect("a function of the template")
}

fn page(template: &Template) -> String {
    let mut page = String::from(
        "# Access patterns\n\nWritten by `make docs` from the declarations beside the code and from template.yaml; a test holds the\n\
         costs against what DynamoDB reports, and this page against both.\n\nR and W are read and write units; ⌈x⌉ is every \
         4 KB of a read or 1 KB of a write begun; ½ because a\nread is eventually consistent. The examples are of five \
         items, one on each of five shards, where a\npattern takes several, and of one item where it takes one.\n\n## bank\n",
    );
    for pattern in bank::patterns() {
        let (lambda, condition, formula) = (lambda(template, &pattern), pattern.condition, pattern.formula);
        let _ = write!(
            page,
            "\n### {} {}\n\n{}\n\n- key condition: {condition}\n- cost: {formula}\n\n| item | KEYS_ONLY (`GSI1`) | ALL (`GSI1All`) |\n| --- | --- | --- |\n",
            pattern.id,
            pattern.function,
            trigger(lambda)
        );
        for kilobytes in [1, 8] {
            let (keys_only, all) =
                (cost(&pattern, kilobytes, Projection::KeysOnly), cost(&pattern, kilobytes, Projection::All));
            let _ = writeln!(page, "| {kilobytes} KB | {keys_only} | {all} |");
        }
    }
    page
}

fn short(template: &Template) -> String {
    let mut table = String::from("| # | function | trigger | cost of 8 KB items |\n| --- | --- | --- | --- |\n");
    for pattern in bank::patterns() {
        let cost = cost(&pattern, 8, Projection::KeysOnly);
        let _ = writeln!(
            table,
            "| {} | [{}](crates/bank/src/{}.rs) | {} | {cost} |",
            pattern.id,
            pattern.function,
            lambda(template, &pattern).name.replace('-', "_"),
            trigger(lambda(template, &pattern))
        );
    }
    table
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

#[test]
fn the_readme_shows_the_same() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let (before, rest) = readme.split_once(BEGIN).expect("the place where the table begins");
    let (_, after) = rest.split_once(END).expect("the place where it ends");
    is_current("README.md", &format!("{before}{BEGIN}\n{}\n{END}{after}", short(&template())));
}

#[test]
fn every_function_of_the_template_has_a_pattern() {
    let template = template();
    let patterns = bank::patterns();
    for lambda in &template.lambdas {
        assert!(
            patterns.iter().any(|pattern| pattern.function.split(' ').next() == Some(&lambda.name)),
            "{}",
            lambda.name
        );
    }
}
