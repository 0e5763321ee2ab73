use crate::{Contract, Function, Problem, path};
use table::cost::{Cost, Sizes};

/// The declaration of an access pattern, as a constant next to its handler.
///
/// The list of functions, the documentation, and the `Location` of jobs and reversals are derived
/// from this constant. A test compares the constant with the template. `C` is the input of the cost
/// functions, such as item sizes and item counts.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<C: Sizes + 'static> {
    /// The number in `docs/access-patterns`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and its binary.
    pub name: &'static str,
    /// The trigger of the function.
    pub trigger: Trigger,
    /// The DynamoDB calls. A request variant with different calls has a separate entry.
    pub calls: &'static [Calls<C>],
    /// Describes what HTTP requests and their responses contain: [`crate::contract`].
    pub contract: fn(&mut Contract),
    /// Creates the function.
    pub function: fn() -> Function,
}

/// The trigger of a function.
#[derive(Debug, Clone, Copy)]
pub enum Trigger {
    /// HTTP requests, with their routes.
    Http(&'static [Route]),
    /// A schedule, as an EventBridge expression.
    Schedule(&'static str),
    /// A DynamoDB stream, as the name of its table.
    Stream(&'static str),
    /// Several DynamoDB streams, as the names of their tables.
    Streams(&'static [&'static str]),
    /// A Step Functions state machine, as its logical name.
    Workflow(&'static str),
    /// Objects created in an S3 bucket, as the logical name of the bucket and the prefix of the
    /// keys.
    Objects(&'static str, &'static str),
}

impl Trigger {
    /// Returns the routes. Other triggers have no routes.
    pub const fn routes(&self) -> &'static [Route] {
        match self {
            Self::Http(routes) => routes,
            Self::Schedule(_) | Self::Stream(_) | Self::Streams(_) | Self::Workflow(_) | Self::Objects(..) => &[],
        }
    }
}

/// A route of the HTTP API.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The HTTP method.
    pub method: &'static str,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// The scopes. The caller needs at least one of these scopes.
    pub scopes: &'static [&'static str],
    /// One line about the route.
    pub summary: &'static str,
    /// The problem types, without those of every route and every body.
    pub problems: &'static [Problem],
}

/// The DynamoDB calls of a request, and the read and write request units that they consume.
///
/// The documentation is generated from these values. A test compares the calculated units with the
/// units that DynamoDB reports.
#[derive(Debug, Clone, Copy)]
pub struct Calls<C: Sizes + 'static> {
    /// The request variant, empty for the default variant. The documentation appends it to the
    /// function name. For example, `, status` becomes `update-activity, status`.
    pub variant: &'static str,
    /// Declares the consumed units with the sizes that they depend on.
    pub cost: fn(&C::Named) -> Cost,
}

impl<C: Sizes> Calls<C> {
    /// The calls of a request variant.
    pub const fn new(variant: &'static str, cost: fn(&C::Named) -> Cost) -> Self {
        Self { variant, cost }
    }

    /// Calculates the consumed units of a case, with their formula.
    pub fn cost_of(&self, case: &C) -> Cost {
        (self.cost)(&case.named())
    }
}

impl<C: Sizes> Pattern<C> {
    /// Returns the routes. A pattern with a schedule or stream has no routes.
    pub const fn routes(&self) -> &'static [Route] {
        self.trigger.routes()
    }

    /// Returns the calls. The label of each entry consists of the function name and the variant,
    /// such as `update-cart-item, quantity`.
    pub fn labelled(&self) -> impl Iterator<Item = (String, &'static Calls<C>)> {
        self.calls.iter().map(|calls| (format!("{}{}", self.name, calls.variant), calls))
    }

    /// Returns the path of the first route, with its parameters replaced.
    pub fn location(&self, parameter: impl Fn(&str) -> Option<String>) -> String {
        self.routes().first().map_or_else(String::new, |route| path(route.path, parameter))
    }
}

/// A [`Pattern`] without its calls. Unlike [`Pattern`], this type is the same for all services.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// The number in `docs/access-patterns`, such as `B1`.
    pub id: &'static str,
    /// The name of the function and its binary.
    pub name: &'static str,
    /// The trigger of the function.
    pub trigger: Trigger,
    /// Describes what HTTP requests and their responses contain.
    pub contract: fn(&mut Contract),
    /// Creates the function.
    pub function: fn() -> Function,
}

impl Declared {
    /// Returns the routes. A pattern with a schedule or stream has no routes.
    pub const fn routes(&self) -> &'static [Route] {
        self.trigger.routes()
    }
}

impl<C: Sizes> From<Pattern<C>> for Declared {
    fn from(Pattern { id, name, trigger, contract, function, .. }: Pattern<C>) -> Self {
        Self { id, name, trigger, contract, function }
    }
}

/// Sorts patterns by number (B2 before B10), then by name.
pub fn by_number<C: Sizes>(mut patterns: Vec<Pattern<C>>) -> Vec<Pattern<C>> {
    patterns.sort_by_key(|pattern| (pattern.id.len(), pattern.id, pattern.name));
    patterns
}
