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

/// An access pattern with the text of its calls: the variant, the key condition and the formula of
/// its cost.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) declared: Declared,
    pub(crate) calls: Vec<[&'static str; 3]>,
}

impl<C> From<Pattern<C>> for Described {
    fn from(pattern: Pattern<C>) -> Self {
        let calls = pattern.calls.iter().map(|calls| [calls.variant, calls.condition, calls.formula]).collect();
        Self { declared: pattern.into(), calls }
    }
}

/// Returns all services with the texts of their access patterns.
pub(crate) fn described() -> Vec<(&'static str, Vec<Described>)> {
    fn all<C>(patterns: Vec<Pattern<C>>) -> Vec<Described> {
        patterns.into_iter().map(Described::from).collect()
    }
    vec![
        ("bank", all(bank::patterns())),
        ("cart", all(cart::patterns())),
        ("lake", all(lake::patterns())),
        ("wellness", all(wellness::patterns())),
        ("ledger", all(ledger::patterns())),
    ]
}

/// Returns all functions, with the names of their binaries.
pub fn functions() -> impl Iterator<Item = (&'static str, Function)> {
    let patterns = domains().into_iter().flat_map(|domain| domain.patterns);
    patterns.map(|pattern| (pattern.name, (pattern.function)()))
}
