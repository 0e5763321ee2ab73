use crate::{Function, path};
use table::cost::Cost;

/// The declaration of an access pattern, in one constant next to its handler.
///
/// The registry of functions, the documentation and the `Location` of jobs and reversals derive
/// from this constant. A test compares the constant with the template. `C` is the input of the cost
/// functions: sizes in bytes and numbers of items.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<C: 'static> {
    /// The number in `docs/access-patterns.md`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and its binary.
    pub name: &'static str,
    /// The trigger of the function.
    pub trigger: Trigger,
    /// The DynamoDB calls. A request variant that makes other calls has a separate entry.
    pub calls: &'static [Calls<C>],
    /// Creates the function.
    pub function: fn() -> Function,
}

/// The trigger of a function.
#[derive(Debug, Clone, Copy)]
pub enum Trigger {
    /// HTTP requests to these routes.
    Http(&'static [Route]),
    /// An EventBridge schedule expression.
    Schedule(&'static str),
    /// The stream of this table.
    Stream(&'static str),
}

impl Trigger {
    /// Returns the routes. Schedules and streams have none.
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
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// The scopes. A caller needs at least one of them.
    pub scopes: &'static [&'static str],
}

/// DynamoDB calls and their cost.
///
/// The documentation is generated from these values. A test compares the cost with the capacity
/// that DynamoDB reports.
#[derive(Debug, Clone, Copy)]
pub struct Calls<C: 'static> {
    /// The suffix that names the request variant in the documentation, such as `, quantity`. Empty
    /// if all requests make the same calls.
    pub variant: &'static str,
    /// The key conditions.
    pub condition: &'static str,
    /// The cost as a formula. R and W are read and write units. ⌈x⌉ is the size x in units, rounded
    /// up: 1 KB per write unit and 4 KB per read unit.
    pub formula: &'static str,
    /// Calculates the cost.
    pub cost: fn(&C) -> Cost,
}

impl<C> Pattern<C> {
    /// Returns the routes. Functions of schedules and streams have none.
    #[must_use]
    pub const fn routes(&self) -> &'static [Route] {
        self.trigger.routes()
    }

    /// Returns the calls, each with the function name and variant, such as `update-cart-item,
    /// quantity`.
    pub fn labelled(&self) -> impl Iterator<Item = (String, &'static Calls<C>)> {
        self.calls.iter().map(|calls| (format!("{}{}", self.name, calls.variant), calls))
    }

    /// Returns the path of the first route with these parameters.
    pub fn location(&self, parameter: impl Fn(&str) -> Option<String>) -> String {
        self.routes().first().map_or_else(String::new, |route| path(route.path, parameter))
    }
}

/// A pattern without the costs. The input type of the costs differs between services.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// The number in `docs/access-patterns.md`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and its binary.
    pub name: &'static str,
    /// The trigger of the function.
    pub trigger: Trigger,
    /// Creates the function.
    pub function: fn() -> Function,
}

impl Declared {
    /// Returns the routes. Functions of schedules and streams have none.
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

/// Sorts the patterns by number (B2 before B10), then by name.
#[must_use]
pub fn by_number<C>(mut patterns: Vec<Pattern<C>>) -> Vec<Pattern<C>> {
    patterns.sort_by_key(|pattern| (pattern.id.len(), pattern.id, pattern.name));
    patterns
}
