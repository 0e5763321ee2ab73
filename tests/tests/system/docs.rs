//! Compares the generated pages with the code. `make docs` writes the pages.

use function::{Problem, Route, Trigger};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
};
use system_tests::{is_current, patterns, root, template};
use template::{Lambda, Mapping, ObjectTrigger};

const BEGIN: &str = "<!-- written by make docs -->\n";
const END: &str = "<!-- end -->\n";

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
