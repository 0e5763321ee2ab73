use function::{Declared, Function, Pattern};

/// Service with its access patterns.
#[derive(Debug, Clone)]
pub struct Domain {
    /// Name of its crate.
    pub name: &'static str,
    /// Its access patterns, in the order of docs/access-patterns.md.
    pub patterns: Vec<Declared>,
}

impl Domain {
    fn new<C>(name: &'static str, patterns: Vec<Pattern<C>>) -> Self {
        Self { name, patterns: patterns.into_iter().map(Declared::from).collect() }
    }
}

/// Returns all services. The local stack and the system tests use this list.
#[must_use]
pub fn domains() -> Vec<Domain> {
    vec![
        Domain::new("bank", bank::patterns()),
        Domain::new("cart", cart::patterns()),
        Domain::new("lake", lake::patterns()),
        Domain::new("wellness", wellness::patterns()),
        Domain::new("ledger", ledger::patterns()),
    ]
}

/// Returns all functions, with the names of their binaries.
pub fn functions() -> impl Iterator<Item = (&'static str, Function)> {
    let patterns = domains().into_iter().flat_map(|domain| domain.patterns);
    patterns.map(|pattern| (pattern.name, (pattern.function)()))
}
