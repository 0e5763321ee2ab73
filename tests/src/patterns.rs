//! The declarations of the access patterns of all domains.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use events::domains;
use function::{Declared, Function, Pattern};
use std::collections::BTreeSet;
use table::cost::{Cost, Sizes};

/// The patterns of all domains.
pub fn all() -> Vec<Declared> {
    domains().into_iter().flat_map(|domain| domain.patterns).collect()
}

/// The function with this name.
pub fn function_named(name: &str) -> Function {
    let pattern = all().into_iter().find(|pattern| pattern.name == name).expect("a function");
    (pattern.function)()
}

/// All operator scopes.
pub(crate) fn operator_scopes() -> String {
    let routes = all().into_iter().flat_map(|pattern| pattern.routes());
    let scopes = routes.flat_map(|route| route.scopes).filter(|scope| scope.ends_with(":operate"));
    scopes.copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}

/// The declared cost of the calls with this label. The label is the function name, followed by the
/// suffix of the request variant.
pub fn cost_of<C: Sizes>(patterns: &[Pattern<C>], label: &str, case: &C) -> Cost {
    let mut calls = patterns.iter().flat_map(Pattern::labelled);
    let (_, calls) = calls.find(|(known, _)| known == label).expect("declared calls");
    calls.cost_of(case)
}

/// The labels of all calls.
pub fn labels<C: Sizes>(patterns: &[Pattern<C>]) -> BTreeSet<String> {
    patterns.iter().flat_map(Pattern::labelled).map(|(label, _)| label).collect()
}
