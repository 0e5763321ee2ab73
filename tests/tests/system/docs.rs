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

/// The pages about measurements have the counts of their day.
#[test]
fn counts_of_functions_routes_and_tables_are_true() {
    let declared: Vec<_> = events::domains().into_iter().flat_map(|domain| domain.patterns).collect();
    let routes = declared.iter().map(|pattern| pattern.routes().len()).sum::<usize>();
    let truths = [("functions", declared.len()), ("routes", routes), ("tables", template().tables.len())];
    let docs = fs::read_dir(root().join("docs")).expect("the docs").map(|entry| entry.expect("an entry").path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let pages = pages.filter(|path| !path.ends_with("performance.md")).chain([root().join("README.md")]);
    let count = regex_lite::Regex::new(r"\b([0-9]{2,}) (functions|routes|tables)\b").expect("a pattern");
    let mut wrong = Vec::new();
    for path in pages {
        let page = fs::read_to_string(&path).expect("the page is readable");
        for found in count.captures_iter(&page) {
            if truths.iter().all(|(noun, truth)| found[2] != **noun || found[1] != truth.to_string()) {
                wrong.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{truths:?}: {wrong:?}");
}

/// The README repeats two ratios that `make bench` measured.
#[test]
fn ratios_of_the_readme_are_those_of_the_measurement() {
    let page = fs::read_to_string(root().join("docs/performance.md")).expect("the page is readable");
    let readme = fs::read_to_string(root().join("README.md")).expect("the page is readable");
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    for other in ["Python", "Node.js"] {
        let row = format!("| start to first response ÷ {other} | 0.");
        let (_, ratio) = page.split_once(&row).expect("the first table of ratios");
        let percent: u32 = ratio[..2].parse().expect("two digits");
        assert!(readme.contains(&format!("in {percent} % of the time of {other}")), "{other}: {percent} %");
    }
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
