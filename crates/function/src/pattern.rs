use crate::{Function, path};
use table::cost::Cost;

/// Everything that is declared of an access pattern, in one constant beside its handler.
///
/// The registry of functions, the documentation and the `Location` of jobs and reversals derive from it, and a test compares it with
/// the template. `C` is the input of its costs: sizes in bytes and counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<C: 'static> {
    /// Its number in `docs/access-patterns.md`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and of its binary.
    pub name: &'static str,
    /// What invokes the function.
    pub trigger: Trigger,
    /// Its calls of DynamoDB; more than one entry if requests differ in their calls.
    pub calls: &'static [Calls<C>],
    /// Makes the function.
    pub function: fn() -> Function,
}

/// What invokes a function.
#[derive(Debug, Clone, Copy)]
pub enum Trigger {
    /// Requests of these routes.
    Http(&'static [Route]),
    /// A schedule expression of EventBridge.
    Schedule(&'static str),
    /// The stream of the table.
    Stream(&'static str),
}

impl Trigger {
    /// The routes; none of a schedule or a stream.
    #[must_use]
    pub const fn routes(&self) -> &'static [Route] {
        match self {
            Self::Http(routes) => routes,
            Self::Schedule(_) | Self::Stream(_) => &[],
        }
    }
}

/// A route of the HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// The scopes of which a caller needs one.
    pub scopes: &'static [&'static str],
}

/// Calls of DynamoDB, and their cost.
///
/// The documentation is written from them, and a test compares the cost with the capacity that DynamoDB reports.
#[derive(Debug, Clone, Copy)]
pub struct Calls<C: 'static> {
    /// What tells these requests of the function from its others, such as `, quantity`; empty if it has one kind.
    pub variant: &'static str,
    /// The key conditions.
    pub condition: &'static str,
    /// The cost in words: R and W are read and write units, ⌈x⌉ is x KB of a write or 4 KB of a read, begun.
    pub formula: &'static str,
    /// The cost in numbers.
    pub cost: fn(&C) -> Cost,
}

impl<C> Pattern<C> {
    /// The routes; none of a function that a schedule or a stream invokes.
    #[must_use]
    pub const fn routes(&self) -> &'static [Route] {
        self.trigger.routes()
    }

    /// Its calls, each under the function's name and the variant, such as `update-cart-item, quantity`.
    pub fn labelled(&self) -> impl Iterator<Item = (String, &'static Calls<C>)> {
        self.calls.iter().map(|calls| (format!("{}{}", self.name, calls.variant), calls))
    }

    /// The path of its first route with these parameters.
    pub fn location(&self, parameter: impl Fn(&str) -> Option<String>) -> String {
        self.routes().first().map_or_else(String::new, |route| path(route.path, parameter))
    }
}

/// A pattern without the costs of its calls, whose input differs from domain to domain.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its number in `docs/access-patterns.md`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and of its binary.
    pub name: &'static str,
    /// What invokes the function.
    pub trigger: Trigger,
    /// Makes the function.
    pub function: fn() -> Function,
}

impl Declared {
    /// The routes; none of a function that a schedule or a stream invokes.
    #[must_use]
    pub const fn routes(&self) -> &'static [Route] {
        self.trigger.routes()
    }
}

impl<C> From<Pattern<C>> for Declared {
    fn from(Pattern { id, name, trigger, function, .. }: Pattern<C>) -> Self {
        Self { id, name, trigger, function }
    }
}

/// The patterns by their numbers (B2 before B10), and then by their names.
#[must_use]
pub fn by_number<C>(mut patterns: Vec<Pattern<C>>) -> Vec<Pattern<C>> {
    patterns.sort_by_key(|pattern| (pattern.id.len(), pattern.id, pattern.name));
    patterns
}
