//! The matrix of roles, routes and targets: each role sends each request for its own account, for
//! another account, and for an id that nobody has. The expectation is the table of permissions in
//! the requirements of the service.

use crate::{Answer, Client, bank::stored, patterns, send};
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The account of the customer.
pub const OWN: &str = "A-1";
/// An account of another customer.
pub const OTHER: &str = "A-2";
/// An account without items.
const NOBODY: &str = "A-9";

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 2xx.
    Done,
    /// 401 from the gateway: the token is missing.
    NoToken,
    /// 403 from the gateway: the scope is missing.
    NoScope,
    /// 403 from the function.
    Forbidden,
    /// 404.
    Missing,
    /// 409.
    Conflict,
}

impl Outcome {
    fn of(answer: &Answer) -> Option<Self> {
        match (answer.status, answer.body["type"].as_str()) {
            (200 | 201 | 202 | 204, None) => Some(Self::Done),
            (401, None) => Some(Self::NoToken),
            (403, None) => Some(Self::NoScope),
            (403, Some("/problems/forbidden")) => Some(Self::Forbidden),
            (404, Some("/problems/not-found")) => Some(Self::Missing),
            (409, Some(_)) => Some(Self::Conflict),
            _ => None,
        }
    }
}

/// A request of the matrix, and who may send it.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Method and path, as declared by the pattern.
    pub route: &'static str,
    /// The scopes with which the gateway passes the request.
    pub gate: &'static [&'static str],
    /// Whether customers may send this request for their own accounts.
    pub customer: bool,
    /// The body, or null.
    pub body: Value,
    /// The state of the item that the request names. Empty if the request needs no item.
    pub state: &'static str,
    /// The outcome of a permitted request.
    pub done: Outcome,
    /// The outcome of a permitted request for an id that nobody has.
    pub missing: Outcome,
    /// An id that nobody has, if it differs from the id of the other attempts.
    pub unknown: Option<&'static str>,
}

impl Attempt {
    /// A request that customers may send for their own accounts.
    #[must_use]
    pub fn of_customers(route: &'static str, gate: &'static [&'static str]) -> Self {
        let missing = if names_an_item(route) { Outcome::Missing } else { Outcome::Done };
        Self { route, gate, customer: true, body: Value::Null, state: "", done: Outcome::Done, missing, unknown: None }
    }

    /// A request that only operators may send.
    #[must_use]
    pub fn of_operators(route: &'static str, gate: &'static [&'static str]) -> Self {
        Self { customer: false, ..Self::of_customers(route, gate) }
    }

    /// Sets the body, and the state of the item that the request names.
    #[must_use]
    pub fn with(self, state: &'static str, body: Value) -> Self {
        Self { body, state, ..self }
    }

    /// Sets the outcomes of a permitted request: for an existing id, and for an id that nobody has.
    #[must_use]
    pub fn gets(self, done: Outcome, missing: Outcome) -> Self {
        Self { done, missing, ..self }
    }

    /// Sets the id that nobody has.
    #[must_use]
    pub fn unknown(self, unknown: &'static str) -> Self {
        Self { unknown: Some(unknown), ..self }
    }

    fn expected(&self, role: &Role, target: Target) -> Outcome {
        let Some(scopes) = &role.scopes else { return Outcome::NoToken };
        let scopes: Vec<&str> = scopes.split_whitespace().collect();
        if !self.gate.iter().any(|scope| scopes.contains(scope)) {
            return Outcome::NoScope;
        }
        let permitted = if target == Target::Nobody { self.missing } else { self.done };
        match target {
            _ if role.operates => permitted,
            _ if !self.customer => Outcome::Forbidden,
            // All customers share what belongs to no account.
            _ if !self.route.contains("{accountId}") => permitted,
            Target::Own => permitted,
            Target::Nobody if names_an_item(self.route) => permitted,
            Target::Other | Target::Nobody => Outcome::Forbidden,
        }
    }

    /// The path of the request. An id that nobody has is below the customer's own account.
    fn path(&self, target: Target, id: &str, unknown: &str) -> String {
        let unknown = self.unknown.unwrap_or(unknown);
        let (account, id) = match target {
            Target::Own => (OWN, id),
            Target::Other => (OTHER, id),
            Target::Nobody if names_an_item(self.route) => (OWN, unknown),
            Target::Nobody => (NOBODY, unknown),
        };
        let (_, path) = self.route.split_once(' ').expect("a route");
        let part = |part: &str| match part {
            "{accountId}" => account.to_owned(),
            "{date}" => DATE.to_owned(),
            _ if part.starts_with('{') => id.to_owned(),
            _ => part.to_owned(),
        };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    }
}

/// The day in a path. It is in the past.
const DATE: &str = "2020-01-01";

/// Whether the path has an id other than the account.
fn names_an_item(route: &str) -> bool {
    route.replace("{accountId}", "").replace("{date}", "").contains('{')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Own,
    Other,
    Nobody,
}

#[derive(Debug)]
struct Role {
    /// The scopes of the token. `None`: the request has no token.
    scopes: Option<String>,
    operates: bool,
}

fn roles(service: &str) -> Vec<Role> {
    let of = |form: &str| form.replace('_', service);
    let others: Vec<String> = ["bank", "cart", "wellness", "ledger"]
        .iter()
        .filter(|other| **other != service)
        .map(|other| format!("{other}:read {other}:write {other}:operate"))
        .collect();
    let others = format!("{} wellness:admin", others.join(" "));
    let customer = |scopes: String| Role { scopes: Some(scopes), operates: false };
    // Scopes that only look like those of the service are worth nothing.
    let lookalikes = of("_:operator x_:operate _");
    vec![
        Role { scopes: None, operates: false },
        customer(String::new()),
        customer(of("_:read")),
        customer(of("_:write")),
        customer(of("_:read _:write")),
        customer(lookalikes),
        customer(others.clone()),
        customer(format!("{} {others}", of("_:read _:write"))),
        Role { scopes: Some(of("_:operate")), operates: true },
    ]
}

/// Sends every attempt in every role for every target, and compares the outcomes with the
/// expectation. A refused request changes nothing, and its response does not depend on the target.
/// The stack must require tokens.
///
/// `make` creates an item of an account in a state, and returns its id. `unknown` is an id that
/// nobody has. Each declared route of the service needs an attempt.
pub async fn check(
    stack: &Stack,
    service: &str,
    attempts: &[Attempt],
    unknown: &str,
    make: impl AsyncFn(&str, &str) -> String,
) {
    let prefix = format!("/{service}/");
    let routes = patterns::all().into_iter().flat_map(|pattern| pattern.routes());
    let routes = routes.filter(|route| route.path.starts_with(&prefix));
    let declared: BTreeSet<String> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
    let expected: BTreeSet<String> = attempts.iter().map(|attempt| attempt.route.to_owned()).collect();
    assert_eq!(declared, expected, "each route needs an expectation");
    let roles = roles(service);
    for attempt in attempts {
        for target in [Target::Own, Target::Other, Target::Nobody] {
            let account = if target == Target::Other { OTHER } else { OWN };
            let mut id = make(account, attempt.state).await;
            for role in &roles {
                let when = format!("{} {} as {:?} for {target:?}", attempt.route, attempt.body, role.scopes);
                let before = stored(stack).await;
                let answer = ask(stack, role, attempt, &attempt.path(target, &id, unknown)).await;
                let wanted = attempt.expected(role, target);
                assert_eq!(Outcome::of(&answer), Some(wanted), "{when}: {} {}", answer.status, answer.body);
                if wanted == Outcome::Done {
                    id = make(account, attempt.state).await;
                } else {
                    assert!(stored(stack).await == before, "{when}: a refused request must change nothing");
                    assert_reveals_nothing(&answer, wanted, &when);
                }
            }
        }
    }
}

async fn ask(stack: &Stack, role: &Role, attempt: &Attempt, path: &str) -> Answer {
    let accounts: &[&str] = if role.operates { &[] } else { &[OWN] };
    let client = match &role.scopes {
        Some(scopes) => Client::caller(stack, scopes, accounts),
        None => Client::operator(stack),
    };
    let (method, _) = attempt.route.split_once(' ').expect("a route");
    let request = client.request(method, path);
    send(if attempt.body.is_null() { request } else { request.json(&attempt.body) }).await
}

/// Checks that a refusal has the same fields for every target.
fn assert_reveals_nothing(answer: &Answer, outcome: Outcome, when: &str) {
    let mut body = answer.body.clone();
    if outcome == Outcome::Forbidden {
        body["instance"].take();
        let expected = json!({"type": "/problems/forbidden", "status": 403, "title": "Not allowed",
            "detail": body["detail"], "instance": null});
        assert_eq!(body, expected, "{when}");
    }
    let text = body.to_string();
    assert!(outcome == Outcome::Conflict || !text.contains(OTHER) && !text.contains("secret"), "{when}: {text}");
}
