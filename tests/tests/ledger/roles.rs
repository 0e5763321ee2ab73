//! Each role, against each route of the ledger, with an own id, an id of another user, and an id
//! that does not exist ([permissions](../../../docs/requirements/ledger.md#permissions)). A new
//! route fails these tests until it has an expectation.

use function::{Pattern, Route};
use ledger::patterns;
use serde_json::{Value, json};
use system_tests::{
    Answer, Client,
    ledger::audit::{DAY, RECONCILIATIONS, at},
    ledger::{Books, MERCHANTS, batch, hold, id, payment},
    send,
};

const NOBODYS: &str = "880h1733";

/// A role: its scopes.
const ROLES: [(&str, &str); 6] = [
    ("user", "ledger:read ledger:write"),
    ("reader", "ledger:read"),
    ("writer", "ledger:write"),
    ("operator", "ledger:operate"),
    ("nobody", ""),
    ("operator of other services", "bank:operate cart:operate wellness:operate bank:read ledger:operator"),
];

/// Whose ids a request contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Other,
    Nobody,
}

/// The expected responses of a route: the scope of a user, and the statuses for own ids, for ids of
/// another user and for missing ids.
struct Rule {
    /// The scope that a user needs. `None` if only operators may use the route.
    scope: Option<&'static str>,
    user: [u16; 3],
    operator: [u16; 3],
}

const READ: Option<&str> = Some("ledger:read");
const WRITE: Option<&str> = Some("ledger:write");

fn rule(route: &str) -> Rule {
    let rule = |scope, user, operator| Rule { scope, user, operator };
    let operators = |operator| rule(None, [403; 3], operator);
    match route {
        "POST /ledger/merchants" => operators([201; 3]),
        // Every user may read every merchant.
        "GET /ledger/merchants" => rule(READ, [200; 3], [200; 3]),
        "GET /ledger/merchants/{merchantId}" => rule(READ, [200, 200, 404], [200, 200, 404]),
        // A merchant has no owner, so only operators read its totals.
        "GET /ledger/merchants/{merchantId}/totals" | "GET /ledger/reconciliations/{reconciliationId}" => {
            operators([200, 200, 404])
        }
        "POST /ledger/accounts" => rule(WRITE, [201, 403, 403], [201; 3]),
        "GET /ledger/accounts/{accountId}"
        | "GET /ledger/accounts/{accountId}/balance"
        | "GET /ledger/accounts/{accountId}/statement"
        | "GET /ledger/holds/{holdId}"
        | "GET /ledger/transactions/{transactionId}" => rule(READ, [200, 403, 403], [200, 200, 404]),
        // Only the payee captures or voids a hold.
        "PATCH /ledger/accounts/{accountId}" | "POST /ledger/holds/{holdId}/void" => {
            rule(WRITE, [200, 403, 403], [200, 200, 404])
        }
        "GET /ledger/users/{userId}/accounts" => rule(READ, [200, 403, 403], [200; 3]),
        // The ids are those of the debited account, and of the account that the original credited.
        "POST /ledger/transactions"
        | "POST /ledger/transactions/{transactionId}/reversal"
        | "POST /ledger/holds"
        | "POST /ledger/holds/{holdId}/capture" => rule(WRITE, [201, 403, 403], [201, 201, 404]),
        // Each transaction of a batch has its own outcome.
        "POST /ledger/transactions/batch" => rule(WRITE, [200; 3], [200; 3]),
        "GET /ledger/transactions" | "GET /ledger/trial-balance" => operators([200; 3]),
        "POST /ledger/reconciliations" => operators([202; 3]),
        "POST /ledger/reconciliations/{reconciliationId}/retry" => operators([409, 409, 404]),
        other => unreachable!("{other} has no expectation"),
    }
}

impl Rule {
    fn status(&self, scopes: &str, whose: Whose) -> u16 {
        let has = |wanted: &str| scopes.split(' ').any(|scope| scope == wanted);
        let statuses = match self.scope {
            _ if has("ledger:operate") => self.operator,
            Some(scope) if has(scope) => self.user,
            _ => [403; 3],
        };
        statuses[whose as usize]
    }
}

/// The ids in the requests of one caller.
struct Ids {
    user: &'static str,
    account: String,
    /// A payment that the account received.
    received: String,
    /// A hold of which the account is the payee.
    hold: String,
    merchant: String,
    reconciliation: String,
}

impl Ids {
    async fn of(books: &Books, whose: Whose, tag: &str) -> Self {
        let user = match whose {
            Whose::Own => "ann",
            Whose::Other => "bob",
            Whose::Nobody => "nobody",
        };
        if whose == Whose::Nobody {
            let id = || NOBODYS.to_owned();
            return Self { user, account: id(), received: id(), hold: id(), merchant: id(), reconciliation: id() };
        }
        let account = books.account(user).await;
        let received = books.pay(&format!("received {tag}"), &books.outside, &account, "5.00").await;
        books.pay(&format!("more {tag}"), &books.outside, &account, "5.00").await;
        let held = books.hold(&format!("hold {tag}"), &books.outside, &account, "5.00").await;
        let merchant = books.operator.post(MERCHANTS, &json!({"name": "a", "category": "b"})).await;
        let started = books.operator.post(RECONCILIATIONS, &json!({"from": at(0), "to": at(DAY)})).await;
        Self {
            user,
            account,
            received: id(&received, "transactionId"),
            hold: id(&held, "holdId"),
            merchant: id(&merchant, "merchantId"),
            reconciliation: started.body["reconciliationId"].as_str().expect("an id").to_owned(),
        }
    }

    fn body(&self, route: &str, outside: &str) -> Value {
        match route {
            "POST /ledger/merchants" => json!({"name": "a", "category": "b"}),
            "POST /ledger/accounts" => json!({"userId": self.user, "accountType": "checking", "currency": "USD"}),
            "PATCH /ledger/accounts/{accountId}" => json!({"status": "active"}),
            "POST /ledger/transactions" => payment(&self.account, outside, "0.01"),
            "POST /ledger/transactions/batch" => batch([("batch", payment(&self.account, outside, "0.01"))]),
            "POST /ledger/holds" => hold(&self.account, outside, "0.01"),
            "POST /ledger/holds/{holdId}/capture" => json!({"amount": "1.00"}),
            "POST /ledger/reconciliations" => json!({"from": at(0), "to": at(DAY)}),
            _ => Value::Null,
        }
    }

    async fn ask(&self, client: &Client, route: &Route, key: &str, outside: &str) -> Answer {
        let path = function::path(route.path, |name| {
            let id = match name {
                "accountId" => &self.account,
                "transactionId" => &self.received,
                "holdId" => &self.hold,
                "merchantId" => &self.merchant,
                "reconciliationId" => &self.reconciliation,
                "userId" => return Some(self.user.to_owned()),
                other => unreachable!("{other}"),
            };
            Some(id.clone())
        });
        let request = client.request(route.method, &path);
        let key = format!("{key} {}", route.path.replace(['{', '}'], ""));
        let request = if route.method == "POST" { request.header("idempotency-key", key) } else { request };
        let body = self.body(&format!("{} {}", route.method, route.path), outside);
        send(if body.is_null() { request } else { request.json(&body) }).await
    }
}

#[tokio::test]
async fn each_role_may_do_exactly_what_the_requirement_says() {
    let books = Books::open().await;
    let mut failures = Vec::new();
    let mut asked = 0;
    for (role, scopes) in ROLES {
        let client = Client::member(&books.stack, scopes, "none", "ann");
        for whose in [Whose::Own, Whose::Other, Whose::Nobody] {
            let ids = Ids::of(&books, whose, &format!("{role} {whose:?}")).await;
            for route in patterns().iter().flat_map(Pattern::routes) {
                let name = format!("{} {}", route.method, route.path);
                let wanted = rule(&name).status(scopes, whose);
                let answer = ids.ask(&client, route, &format!("{role} {whose:?}"), &books.outside).await;
                asked += 1;
                if answer.status != wanted {
                    failures.push(format!("{role}, {whose:?}, {name}: {wanted}, got {}", answer.body));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(asked >= 250, "{asked}");
    books.stack.stop().await;
}

#[test]
fn expectations_agree_with_the_scopes_of_the_routes() {
    for route in patterns().iter().flat_map(Pattern::routes) {
        let name = format!("{} {}", route.method, route.path);
        let wanted: Vec<&str> = rule(&name).scope.into_iter().chain(["ledger:operate"]).collect();
        assert_eq!(route.scopes, wanted, "{name}");
    }
}
