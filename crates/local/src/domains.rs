use function::{Declared, Function, Pattern};

/// A domain of the system.
#[derive(Debug, Clone)]
pub struct Domain {
    /// The name of its crate.
    pub name: &'static str,
    /// Its access patterns, in the order of the design.
    pub patterns: Vec<Declared>,
}

impl Domain {
    fn new<C>(name: &'static str, patterns: Vec<Pattern<C>>) -> Self {
        Self { name, patterns: patterns.into_iter().map(Declared::from).collect() }
    }
}

/// Every domain. This is the only list of them: the local stack and the tests of the whole system read it.
#[must_use]
pub fn domains() -> Vec<Domain> {
    vec![
        Domain::new("bank", bank::patterns()),
        Domain::new("cart", cart::patterns()),
        Domain::new("export", export::patterns()),
        Domain::new("wellness", wellness::patterns()),
        Domain::new("ledger", ledger::patterns()),
    ]
}

/// Every function, by the name of its binary.
pub fn functions() -> impl Iterator<Item = (&'static str, Function)> {
    let patterns = domains().into_iter().flat_map(|domain| domain.patterns);
    patterns.map(|pattern| (pattern.name, (pattern.function)()))
}
