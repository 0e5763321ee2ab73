use function::{Declared, Function, Pattern};
use publisher::Facts;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use table::cost::Sizes;

/// Service with its access patterns.
#[derive(Debug, Clone)]
pub struct Domain {
    /// Name of its crate.
    pub name: &'static str,
    /// Its access patterns, in the order of docs/access-patterns.
    pub patterns: Vec<Declared>,
}

impl Domain {
    fn new<C: Sizes>(name: &'static str, patterns: Vec<Pattern<C>>) -> Self {
        Self { name, patterns: patterns.into_iter().map(Declared::from).collect() }
    }
}

/// Returns all services. The local stack and the system tests use this list.
pub fn domains() -> Vec<Domain> {
    vec![
        Domain::new("bank", bank::patterns()),
        Domain::new("cart", cart::patterns()),
        Domain::new("lake", lake::patterns()),
        Domain::new("wellness", wellness::patterns()),
        Domain::new("ledger", ledger::patterns()),
    ]
}

/// An access pattern with the variants of its requests, and the formulas of their costs.
#[derive(Debug, Clone)]
pub struct Described {
    /// The access pattern.
    pub declared: Declared,
    /// Variant and formula.
    pub calls: Vec<(&'static str, String)>,
}

impl<C: Sizes + Default> From<Pattern<C>> for Described {
    fn from(pattern: Pattern<C>) -> Self {
        let calls = pattern.calls.iter().map(|calls| (calls.variant, calls.cost_of(&C::default()).formula())).collect();
        Self { declared: pattern.into(), calls }
    }
}

/// Returns all services with the texts of their access patterns.
pub fn described() -> Vec<(&'static str, Vec<Described>)> {
    fn all<C: Sizes + Default>(patterns: Vec<Pattern<C>>) -> Vec<Described> {
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

/// Returns the JSON Schemas of the published events, by source. A schema lists the types of events
/// as alternatives with one member each: the detail type and the data.
pub fn published() -> Vec<(&'static str, Value)> {
    vec![
        schema_of::<bank::Fact>(),
        schema_of::<cart::Fact>(),
        schema_of::<ledger::Fact>(),
        schema_of::<wellness::Fact>(),
    ]
}

fn schema_of<F: Facts>() -> (&'static str, Value) {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    (F::SOURCE, settings.into_generator().into_root_schema_for::<F>().to_value())
}
