//! What the access patterns of all domains declare.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use function::{Pattern, Route, Trigger};
use std::collections::BTreeSet;
use table::cost::Cost;

/// A pattern without its calls.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its number.
    pub id: &'static str,
    /// Its function.
    pub name: &'static str,
    /// What invokes the function.
    pub trigger: Trigger,
}

impl Declared {
    /// Its routes, each beside it.
    pub fn routes(&self) -> impl Iterator<Item = (&Self, &'static Route)> {
        let routes = match self.trigger {
            Trigger::Http(routes) => routes,
            _ => &[],
        };
        routes.iter().map(move |route| (self, route))
    }
}

impl<C> From<Pattern<C>> for Declared {
    fn from(Pattern { id, name, trigger, .. }: Pattern<C>) -> Self {
        Self { id, name, trigger }
    }
}

/// The patterns of all domains.
#[must_use]
pub fn all() -> Vec<Declared> {
    fn of<C>(patterns: Vec<Pattern<C>>) -> impl Iterator<Item = Declared> {
        patterns.into_iter().map(Declared::from)
    }
    let domains = of(bank::patterns()).chain(of(cart::patterns())).chain(of(wellness::patterns()));
    domains.chain(of(ledger::patterns())).chain(of(export::patterns())).collect()
}

/// The cost that is declared of calls: `label` is the function's name and the calls' variant.
pub fn cost_of<C>(patterns: &[Pattern<C>], label: &str, case: &C) -> Cost {
    let mut calls = patterns.iter().flat_map(Pattern::labelled);
    let (_, calls) = calls.find(|(known, _)| known == label).expect("declared calls");
    (calls.cost)(case)
}

/// The labels of all calls.
#[must_use]
pub fn labels<C>(patterns: &[Pattern<C>]) -> BTreeSet<String> {
    patterns.iter().flat_map(Pattern::labelled).map(|(label, _)| label).collect()
}
