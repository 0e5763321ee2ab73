//! Invalid requests to the cart must return the right problem and write nothing. Unusual but valid
//! requests must succeed.

use cart::Product;
use money::Money;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use system_tests::{
    Client,
    cart::{MAX_ITEMS, Shop, checkout_of, items_of, path, product, put_products, stock, stored},
    parsed,
    requests::{
        Case, NO_CURRENCIES, SECRET, all_are_refused, changes_of, cursor, must_refuse_cursor, no_identifiers, sent,
        shortened, unreadable, wrong_identifiers,
    },
    send, text,
};

const ITEMS: &str = "/cart/accounts/A-1/items";
const CHECKOUT: &str = "/cart/accounts/A-1/checkout";
const OF_SKU: &str = "/cart/skus/tea/items";
const PRODUCT: &str = "/cart/products/tea";
const GOOD: &str = r#"{"sku": "tea", "quantity": 1}"#;
/// Id of an item that does not exist.
const NOBODYS: &str = "0192f3a1b2c37d5e8f90a1b2c3d4e5f6";

fn bodies(client: &Client, cart_item: &Value) -> Vec<Case> {
    [("POST", ITEMS), ("PATCH", &path(cart_item))]
        .into_iter()
        .flat_map(|(method, path)| unreadable(client, method, path, GOOD))
        .collect()
}

/// Invalid values of the field `quantity`, for any request.
const WRONG_QUANTITIES: [&str; 14] = [
    "0",
    "-1",
    "1.5",
    "10000",
    "4294967297",
    "1e400",
    "\"1\"",
    "null",
    "true",
    "[1]",
    "{}",
    "\"\"",
    "-0.5",
    "18446744073709551617",
];

fn additions(client: &Client) -> Vec<Case> {
    let case = |body: String, at: &str| {
        Case::faults(format!("POST {}", shortened(&body)), sent(client, "POST", ITEMS, body), at)
    };
    let mut cases = Vec::new();
    for quantity in WRONG_QUANTITIES {
        cases.push(case(format!(r#"{{"sku": "tea", "quantity": {quantity}}}"#), "/body/quantity"));
    }
    for sku in wrong_identifiers() {
        cases.push(case(format!(r#"{{"sku": {sku}, "quantity": 1}}"#), "/body/sku"));
    }
    let rows = [
        ("{}", "/body/sku"),
        (r#"{"quantity": 1}"#, "/body/sku"),
        (r#"{"Sku": "tea", "quantity": 1}"#, "/body/sku /body/Sku"),
        // The price is that of the product, also for operators.
        (r#"{"sku": "tea", "quantity": 1, "price": "12.49"}"#, "/body/price"),
        (r#"{"sku": "tea", "quantity": 1, "currency": "USD"}"#, "/body/currency"),
        (r#"{"sku": "tea", "quantity": 1, "name": "Tea"}"#, "/body/name"),
        (r#"{"sku": "tea", "quantity": 1, "status": "PURCHASED"}"#, "/body/status"),
        (r#"{"sku": "tea", "quantity": 1, "orderId": "O-1"}"#, "/body/orderId"),
        (r#"{"sku": "tea", "quantity": 1, "accountId": "A-2"}"#, "/body/accountId"),
        (r#"{"sku": "tea", "quantity": 1, "itemId": "x"}"#, "/body/itemId"),
        (r#"{"sku": "tea", "quantity": 1, "PK": 1, "SK": 2}"#, "/body/PK /body/SK"),
        (r#"{"sku": "tea", "quantity": 1, "a/b~c": 1}"#, "/body/a~1b~0c"),
        (r#"{"sku": "tea", "quantity": 1, "": 1}"#, "/body/"),
        (r#"{"sku": "tea", "quantity": 1, "quantity": 1}"#, "/body/quantity"),
        (r#"{"sku": "tea", "sku": "cup", "quantity": 1}"#, "/body/sku"),
        (r##"{"sku": "#", "quantity": 0, "x": 1}"##, "/body/sku /body/quantity /body/x"),
    ];
    cases.extend(rows.into_iter().map(|(body, at)| case(body.to_owned(), at)));
    cases
}

fn products(client: &Client) -> Vec<Case> {
    let case = |body: String, at: &str| {
        Case::faults(format!("PUT {}", shortened(&body)), sent(client, "PUT", PRODUCT, body), at)
    };
    let mut cases = unreadable(client, "PUT", PRODUCT, r#"{"name": "Tea", "price": "1", "currency": "USD"}"#);
    for (currency, prices) in [
        (
            "USD",
            "12.345 \"12.345\" -1 \"-0.01\" -12.49 1e3 1E3 \"1e3\" 1.2e1 \"\" \"x\" \"12,49\" \"+1\" \"1.\" \".5\" \"01\" null true [] {}",
        ),
        ("JPY", "1.5 \"0.1\" \"100.01\""),
        ("KWD", "1.2345 \"0.0001\""),
        (
            "USD",
            "1000000000000 \"1000000000000.00\" 99999999999999999999999999999999999999999 \"0.000000000000000000000000000000000000001\"",
        ),
    ] {
        for price in prices.split(' ') {
            cases
                .push(case(format!(r#"{{"name": "Tea", "price": {price}, "currency": "{currency}"}}"#), "/body/price"));
        }
    }
    for price in ["\" 1\"", "\"1 \"", "\"1 000\"", "\"\\u0661\""] {
        cases.push(case(format!(r#"{{"name": "Tea", "price": {price}, "currency": "USD"}}"#), "/body/price"));
    }
    for currency in NO_CURRENCIES {
        cases.push(case(format!(r#"{{"name": "Tea", "price": "1", "currency": {currency}}}"#), "/body/currency"));
        let both = format!(r#"{{"name": "Tea", "price": "x", "currency": {currency}}}"#);
        cases.push(case(both, "/body/price /body/currency"));
    }
    let long = format!("\"{}\"", "x".repeat(101));
    for name in ["\"\"", "\" \"", "null", "5", "[]", "\"a\\nb\"", "\"a\\u202eb\"", &long] {
        cases.push(case(format!(r#"{{"name": {name}, "price": "1", "currency": "USD"}}"#), "/body/name"));
    }
    let with = |more: &str| format!(r#"{{"name": "Tea", "price": "1", "currency": "USD", {more}}}"#);
    for (more, at) in [
        (r#""active": "true""#, "/body/active"),
        (r#""active": null"#, "/body/active"),
        (r#""active": 1"#, "/body/active"),
        (r#""version": "1""#, "/body/version"),
        (r#""version": 1.5"#, "/body/version"),
        (r#""version": null"#, "/body/version"),
        (r#""version": -1"#, "/body/version"),
        (r#""version": 9007199254740992"#, "/body/version"),
        (r#""sku": "cup""#, "/body/sku"),
        (r#""quantity": 1"#, "/body/quantity"),
        (r#""price": "1""#, "/body/price"),
    ] {
        cases.push(case(with(more), at));
    }
    cases.push(case("{}".to_owned(), "/body/name /body/price /body/currency"));
    cases.push(case(r#"{"name": "Tea", "price": "1"}"#.to_owned(), "/body/currency"));
    cases.push(case(r#"{"name": "Tea", "currency": "USD"}"#.to_owned(), "/body/price"));
    for version in [0_i64, 2, 9_007_199_254_740_991] {
        let request = sent(client, "PUT", PRODUCT, with(&format!(r#""version": {version}"#)));
        cases.push(Case::new(format!("version {version}"), request, 412, "another-version"));
    }
    let new = sent(client, "PUT", "/cart/products/new", with(r#""version": 1"#));
    cases.push(Case::new("a version of a product that does not exist", new, 412, "another-version"));
    let missing = client.request("GET", "/cart/products/unknown");
    cases.push(Case::new("an unknown product", missing, 404, "not-found"));
    for query in ["limit=0", "limit=101", "cursor=x", "status=ACTIVE", "active=true"] {
        let name = query.split('=').next().expect("a name");
        cases.push(Case::query(client, "/cart/products", query, name));
    }
    cases
}

fn updates(client: &Client, cart_item: &Value) -> Vec<Case> {
    let path = path(cart_item);
    let case = |body: String, at: &str| {
        Case::faults(format!("PATCH {}", shortened(&body)), sent(client, "PATCH", &path, body), at)
    };
    let mut cases = Vec::new();
    for quantity in WRONG_QUANTITIES {
        cases.push(case(format!(r#"{{"quantity": {quantity}}}"#), "/body/quantity"));
        cases.push(case(format!(r#"{{"quantity": {quantity}, "status": "SAVED"}}"#), "/body/quantity"));
    }
    for status in [
        "\"REMOVED\"",
        "\"JOINED\"",
        "\"active\"",
        "\"PURCHASED\"",
        "\"SHIPPED\"",
        "\"ACTIVE#\"",
        "\" SAVED\"",
        "\"\"",
        "null",
        "5",
        "true",
        "[\"SAVED\"]",
        "{}",
    ] {
        cases.push(case(format!(r#"{{"status": {status}}}"#), "/body/status"));
        cases.push(case(format!(r#"{{"status": {status}, "quantity": 2}}"#), "/body/status"));
    }
    let rows = [
        ("{}", "/body"),
        (r#"{"orderId": "O-1"}"#, "/body /body/orderId"),
        (r#"{"quantity": 2, "orderId": "O-1"}"#, "/body/orderId"),
        (r#"{"status": "ACTIVE", "orderId": "O-1"}"#, "/body/orderId"),
        (r#"{"Quantity": 2}"#, "/body /body/Quantity"),
        (r#"{"quantity": 2, "price": "1.00", "currency": "USD"}"#, "/body/price /body/currency"),
        (r#"{"quantity": 2, "sku": "cup"}"#, "/body/sku"),
        (r#"{"quantity": 2, "version": 1}"#, "/body/version"),
        (r#"{"quantity": 2, "addedAt": "2026-01-02T10:30:00Z"}"#, "/body/addedAt"),
        (r#"{"quantity": 2, "quantity": 2}"#, "/body/quantity"),
        (r#"{"status": "SAVED", "status": "ACTIVE"}"#, "/body/status"),
        (
            r##"{"status": "x", "quantity": 0, "orderId": "#", "z": 1}"##,
            "/body/status /body/quantity /body/orderId /body/z",
        ),
    ];
    cases.extend(rows.into_iter().map(|(body, at)| case(body.to_owned(), at)));
    cases
}

/// Returns a request to every route with these path parameters. All other input is valid.
fn routes(client: &Client, account: &str, item: &str, sku: &str) -> Vec<(&'static str, RequestBuilder)> {
    let items = format!("/cart/accounts/{account}/items");
    let one = format!("{items}/{item}");
    vec![
        ("C1", sent(client, "POST", &items, GOOD)),
        ("C2", sent(client, "PATCH", &one, r#"{"quantity": 2}"#)),
        ("C3", client.request("DELETE", &one)),
        ("C4", client.request("POST", &format!("/cart/accounts/{account}/checkout"))),
        ("C5", client.request("GET", &items)),
        ("C6", client.request("GET", &format!("/cart/skus/{sku}/items"))),
        ("C8", client.request("GET", &one)),
        (
            "C9",
            sent(client, "PUT", &format!("/cart/products/{sku}"), r#"{"name": "x", "price": 1, "currency": "USD"}"#),
        ),
        ("C10", client.request("GET", &format!("/cart/products/{sku}"))),
        ("C11 list", client.request("GET", &format!("/cart/accounts/{account}/orders"))),
        ("C11", client.request("GET", &format!("/cart/accounts/{account}/orders/{item}"))),
        ("C12", sent(client, "PATCH", &format!("/cart/accounts/{account}/orders/{item}"), r#"{"status": "SHIPPED"}"#)),
        ("C13", sent(client, "POST", &format!("/cart/accounts/{account}/merge"), r#"{"fromAccountId": "guest"}"#)),
        ("C14", client.request("GET", &format!("/cart/jobs/{sku}"))),
        ("C14 retry", client.request("POST", &format!("/cart/jobs/{sku}/retry"))),
    ]
}

/// Routes with a SKU in the path, and without an account.
const OF_SKU_ROUTES: [&str; 3] = ["C6", "C9", "C10"];
const OF_JOB_ROUTES: [&str; 2] = ["C14", "C14 retry"];

fn identifiers(client: &Client, cart_item: &Value) -> Vec<Case> {
    let mut cases = Vec::new();
    let id = text(cart_item, "itemId");
    for text in no_identifiers() {
        let name = shortened(&text);
        let is_of_account = |route: &&str| !OF_SKU_ROUTES.contains(route) && !OF_JOB_ROUTES.contains(route);
        for (route, request) in routes(client, &text, id, "tea").into_iter().filter(|(route, _)| is_of_account(route)) {
            cases.push(Case::faults(format!("{route} of account {name}"), request, "/path/accountId"));
        }
        for (route, request) in routes(client, "A-1", &text, &text) {
            match route {
                "C2" | "C3" | "C8" => {
                    cases.push(Case::faults(format!("{route} of item {name}"), request, "/path/itemId"));
                }
                "C11" | "C12" => {
                    cases.push(Case::faults(format!("{route} of order {name}"), request, "/path/orderId"));
                }
                route if OF_JOB_ROUTES.contains(&route) => {
                    cases.push(Case::faults(format!("{route} {name}"), request, "/path/jobId"));
                }
                route if OF_SKU_ROUTES.contains(&route) => {
                    cases.push(Case::faults(format!("{route} of SKU {name}"), request, "/path/sku"));
                }
                _ => {}
            }
        }
    }
    let forms = [
        "x".to_owned(),
        id.to_uppercase(),
        id[1..].to_owned(),
        format!("{id}0"),
        format!("%20{id}"),
        format!("{}-{}-{}-{}-{}", &id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]),
        format!("%7B{id}%7D"),
        format!("urn:uuid:{id}"),
        format!("ITEM%23{id}"),
        "CART".to_owned(),
        format!("ACTIVE%232026-01-02T10:30:00.123Z%23{id}"),
    ];
    for form in forms {
        for (route, request) in routes(client, "A-1", &form, "tea") {
            if ["C2", "C3", "C8"].contains(&route) {
                cases.push(Case::faults(format!("{route} of item {form}"), request, "/path/itemId"));
            }
        }
    }
    cases
}

fn queries(client: &Client, cart_item: &Value) -> Vec<Case> {
    let everywhere = [
        "limit=0",
        "limit=-1",
        "limit=101",
        "limit=x",
        "limit=1.5",
        "limit=1e400",
        "limit=%2B5",
        "limit=+5",
        "limit=",
        "limit",
        "limit=18446744073709551617",
        "limit=%EF%BC%95",
        "limit=5&limit=6",
        "cursor=",
        "cursor=x",
        "cursor=%23",
        "cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "cursor=x&cursor=x",
        "status=",
        "status=active",
        "status=REMOVED",
        "status=JOINED",
        "status=PLACED",
        "status=ACTIVE%23",
        "status=ACTIVE&status=SAVED",
        "status=ACTIVE,SAVED",
        "Limit=5",
        "page=2",
        "accountId=A-1",
    ];
    let of_sku = [
        ("date=", "date"),
        ("date=today", "date"),
        ("date=2026-02-29", "date"),
        ("date=2026-02-30", "date"),
        ("date=2026-13-01", "date"),
        ("date=2026-1-1", "date"),
        ("date=20260102", "date"),
        ("date=2026-01", "date"),
        ("date=2026-01-02T00:00:00Z", "date"),
        ("date=10000-01-01", "date"),
        ("date=2026-01-02%23", "date"),
        ("date=2026-01-02&date=2026-01-02", "date"),
        ("date=2026-01-02&from=2026-01-02T00:00:00Z", "date"),
        ("date=2026-01-02&to=2026-01-02T00:00:00Z", "date"),
        ("date=2026-01-02&from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z", "date"),
        ("from=", "from"),
        ("from=2026-01-2", "from"),
        ("from=2026-01-03&to=2026-01-02", "to"),
        ("from=x&to=y", "from to"),
        ("to=2026-02-30T00:00:00Z", "to"),
        ("to=2026-01-02T25:00:00Z", "to"),
        ("to=2026-01-02T00:00:00%2B24:00", "to"),
        ("to=2026-01-02T00:00:00+02:00", "to"),
        ("to=2026-01-02T00:00:00", "to"),
        ("from=2026-01-02T00:00:00Z&from=2026-01-02T00:00:00Z", "from"),
        ("from=2026-01-02T00:00:01Z&to=2026-01-02T00:00:00Z", "to"),
        ("from=2026-01-02T00:00:00.001Z&to=2026-01-02T00:00:00Z", "to"),
        ("from=2026-01-02T00:00:00.0000002Z&to=2026-01-02T00:00:00.0000001Z", "to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-02T00:59:59%2B01:00", "to"),
        ("date=x&limit=0&status=x&page=2", "date limit status page"),
        ("date=x&from=2026-01-02T00:00:00Z", "date"),
    ];
    let case = |list: &str, query: &str, names: &str| Case::query(client, list, query, names);
    let name = |query: &'static str| query.split('=').next().expect("a name");
    let mut cases: Vec<Case> =
        [ITEMS, OF_SKU].iter().flat_map(|list| everywhere.map(|query| case(list, query, name(query)))).collect();
    cases.extend(of_sku.map(|(query, names)| case(OF_SKU, query, names)));
    for query in ["date=2026-01-02", "from=2026-01-02T00:00:00Z", "to=2026-01-02T00:00:00Z"] {
        cases.push(case(ITEMS, query, name(query)));
    }
    // These routes have no query parameters.
    let one = path(cart_item);
    for query in ["limit=5", "status=ACTIVE", "x=", "a%2Fb=1"] {
        let at = if query.starts_with('a') { "/query/a~1b".to_owned() } else { format!("/query/{}", name(query)) };
        for (method, path) in [("POST", ITEMS), ("PATCH", &one), ("DELETE", &one), ("GET", &one), ("POST", CHECKOUT)] {
            let body = match path {
                ITEMS => GOOD,
                CHECKOUT => "{}",
                _ => r#"{"quantity": 2}"#,
            };
            let path = format!("{path}?{query}");
            cases.push(Case::faults(format!("{method} {path}"), sent(client, method, &path, body), &at));
        }
    }
    cases
}

fn headers(client: &Client) -> Vec<Case> {
    let keys = ["", "a#b", "#", &"x".repeat(129), &"x".repeat(5_000), "a\tb", "a,a", "a, a", ".."].map(str::to_owned);
    let case = |key: &String| {
        [(ITEMS, GOOD), (CHECKOUT, "")].map(|(path, body)| {
            let request = sent(client, "POST", path, body).header("idempotency-key", key);
            Case::faults(format!("{path}, key {:?}", shortened(key)), request, "/header/idempotency-key")
        })
    };
    keys.iter().flat_map(case).collect()
}

fn together(client: &Client) -> Vec<Case> {
    let body = r##"{"sku": "#", "quantity": 0, "quantity": 1, "price": "x", "status": "ACTIVE"}"##;
    let post = sent(client, "POST", "/cart/accounts/A%231/items?x=1", body).header("idempotency-key", "a#b");
    let patch =
        sent(client, "PATCH", "/cart/accounts/%00/items/x", r#"{"status": "SAVED", "orderId": "O", "more": 1}"#);
    vec![
        Case::faults(
            "seven faults of a POST",
            post,
            "/header/idempotency-key /path/accountId /query/x /body/sku /body/quantity /body/price /body/status",
        ),
        Case::faults("four faults of a PATCH", patch, "/path/accountId /path/itemId /body/orderId /body/more"),
        Case::faults(
            "an invalid account and an unreadable body",
            sent(client, "POST", "/cart/accounts/A%231/items", "{"),
            "/path/accountId /body",
        ),
        Case::faults(
            "an invalid account and an invalid key of a checkout",
            client.request("POST", "/cart/accounts/A%231/checkout").header("idempotency-key", "#"),
            "/header/idempotency-key /path/accountId",
        ),
    ]
}

/// Requests with ids that are valid on their own but too long in combination.
fn sizes(client: &Client) -> Vec<Case> {
    let long = ["\u{20ac}".repeat(128), "\u{1f4b6}".repeat(128), "\u{e4}".repeat(128)];
    let mut cases = Vec::new();
    for sku in &long {
        for account in &long {
            let request = client.request("POST", &items_of(account)).json(&json!({"sku": sku, "quantity": 1}));
            cases.push(Case::new("ids that are too long in combination", request, 413, "too-large"));
        }
    }
    cases
}

fn add_request(client: &Client, account: &str, sku: &str, more: &Value) -> RequestBuilder {
    let mut body = json!({"sku": sku, "quantity": 1});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    client.request("POST", &items_of(account)).json(&body)
}

fn states(client: &Client, bought: &Value) -> Vec<Case> {
    let unknown = format!("{ITEMS}/{NOBODYS}");
    // The item exists, but in another account.
    let elsewhere = format!("{}/{}", items_of("A-9"), text(bought, "itemId"));
    let mut cases = Vec::new();
    for path in [&unknown, &elsewhere] {
        cases.push(Case::new(format!("GET {path}"), client.request("GET", path), 404, "not-found"));
        cases.push(Case::new(format!("DELETE {path}"), client.request("DELETE", path), 404, "not-found"));
        for body in [json!({"quantity": 1}), json!({"status": "ACTIVE"})] {
            let request = client.request("PATCH", path).json(&body);
            cases.push(Case::new(format!("PATCH {path} {body}"), request, 404, "not-found"));
        }
    }
    for body in [json!({"quantity": 7}), json!({"status": "ACTIVE"}), json!({"status": "SAVED"})] {
        let request = client.request("PATCH", &path(bought)).json(&body);
        cases.push(Case::new(format!("PATCH of a purchased item {body}"), request, 409, "purchased"));
    }
    cases.push(Case::new("DELETE of a purchased item", client.request("DELETE", &path(bought)), 409, "purchased"));
    let unknown = add_request(client, "A-1", "unknown", &json!({}));
    cases.push(Case::new("an unknown product", unknown, 409, "product-unavailable"));
    let inactive = add_request(client, "A-1", "inactive", &json!({}));
    cases.push(Case::new("an inactive product", inactive, 409, "product-unavailable"));
    let foreign = add_request(client, "dollars", "in-yen", &json!({}));
    cases.push(Case::new("a product in another currency", foreign, 409, "cart-currency"));
    let merge = |body: &'static str| sent(client, "POST", "/cart/accounts/A-1/merge", body);
    for body in ["{}", r#"{"fromAccountId": "A-1"}"#, r##"{"fromAccountId": "#"}"##, r#"{"fromAccountId": null}"#] {
        cases.push(Case::faults(format!("merge {body}"), merge(body), "/body/fromAccountId"));
    }
    cases.push(Case::faults("merge with more", merge(r#"{"fromAccountId": "A-2", "to": 1}"#), "/body/to"));
    cases.push(Case::new("a merge of a full cart", merge(r#"{"fromAccountId": "over"}"#), 409, "cart-full"));
    cases.push(Case::new("a merge of currencies", merge(r#"{"fromAccountId": "yen"}"#), 409, "cart-currency"));
    cases.push(Case::new("a merge of many pieces", merge(r#"{"fromAccountId": "many"}"#), 409, "quantity-limit"));
    cases.push(Case::new("an empty cart", client.request("POST", &checkout_of("A-9")), 409, "cart-empty"));
    cases.push(Case::new("a full cart", add_request(client, "full", "one-more", &json!({})), 409, "cart-full"));
    let most = json!({"sku": "sku-0", "quantity": 9_999});
    cases.push(Case::new(
        "maximum quantity",
        client.request("POST", &items_of("full")).json(&most),
        409,
        "quantity-limit",
    ));
    let keyed = add_request(client, "A-1", "another", &json!({})).header("idempotency-key", "taken");
    cases.push(Case::new("a used key", keyed, 422, "idempotency-key-reused"));
    let keyed = client.request("POST", CHECKOUT).header("idempotency-key", "taken");
    cases.push(Case::new("a checkout with the key of an addition", keyed, 422, "idempotency-key-reused"));
    cases
}

fn gateway(client: &Client, cart_item: &Value) -> Vec<Case> {
    let long = items_of(&"x".repeat(10_300));
    let one = path(cart_item);
    let rows = [
        ("GET", "/cart", 404),
        ("GET", "/cart/accounts//items", 404),
        ("POST", "/cart/accounts//items", 404),
        ("POST", "/cart/accounts//checkout", 404),
        ("GET", "/cart/accounts/A-1/items/", 404),
        ("GET", "/cart/skus//items", 404),
        ("GET", "/cart/skus/tea", 404),
        ("POST", "/cart/products", 405),
        ("DELETE", PRODUCT, 405),
        ("GET", CHECKOUT, 405),
        ("PUT", ITEMS, 405),
        ("DELETE", ITEMS, 405),
        ("POST", OF_SKU, 405),
        ("PUT", &one, 405),
        ("POST", &one, 405),
        ("GET", &long, 431),
    ];
    let case = |(method, path, status)| {
        Case::gateway(format!("{method} {}", shortened(path)), client.request(method, path), status)
    };
    rows.into_iter().map(case).collect()
}

/// Creates a cart item with a long SKU, a purchased item, an item of another account, and a full
/// cart. Returns the first two items.
async fn filled(shop: &Shop) -> (Value, Value) {
    let yen = Money::new(parsed("1200"), parsed("JPY")).expect("a price");
    let long = ["\u{20ac}".repeat(128), "\u{1f4b6}".repeat(128), "\u{e4}".repeat(128), "x".repeat(128)];
    stock(&shop.stack, long.iter().map(String::as_str).chain([SECRET])).await;
    let special = [Product { active: false, ..product("inactive") }, Product { price: yen, ..product("in-yen") }];
    put_products(&shop.stack, special).await;
    let add = async |account: &str, sku: &str| send(add_request(&shop.now, account, sku, &json!({}))).await.body;
    let cart_item = add("A-1", &"x".repeat(128)).await;
    let taken = add_request(&shop.now, "A-1", "tea", &json!({})).header("idempotency-key", "taken");
    let bought = path(&send(taken).await.body);
    shop.now.patch(&path(&cart_item), &json!({"status": "SAVED"})).await;
    shop.now.post(CHECKOUT, &json!({})).await;
    let bought = shop.now.get(&bought).await;
    add("dollars", "tea").await;
    add(SECRET, SECRET).await;
    for number in 0..MAX_ITEMS {
        add("full", &format!("sku-{number}")).await;
        add("over", &format!("sku-{number}")).await;
    }
    add("yen", "in-yen").await;
    add("A-1", "pot").await;
    send(shop.now.request("POST", &items_of("many")).json(&json!({"sku": "pot", "quantity": 9_999}))).await;
    (cart_item, bought.body)
}

#[tokio::test]
async fn invalid_request_returns_the_expected_problem_and_writes_nothing() {
    let shop = Shop::open(30).await;
    let (cart_item, bought) = filled(&shop).await;
    let client = &shop.now;
    let groups = [
        bodies(client, &cart_item),
        additions(client),
        products(client),
        updates(client, &cart_item),
        identifiers(client, &cart_item),
        queries(client, &cart_item),
        headers(client),
        together(client),
        sizes(client),
        states(client, &bought),
        gateway(client, &cart_item),
    ];
    let cases: Vec<Case> = groups.into_iter().flatten().collect();
    assert!(cases.len() >= 400, "{}", cases.len());
    assert!(stored(&shop.stack).await.len() > MAX_ITEMS);
    all_are_refused(cases, &shop.stack.tables(), async || stored(&shop.stack).await).await;
    shop.stack.stop().await;
}

/// Price in the request, currency, and price in the response.
const PRICES: [(&str, &str, &str); 16] = [
    ("12.49", "USD", "12.49"),
    ("\"12.49\"", "USD", "12.49"),
    ("0.1", "USD", "0.10"),
    ("0.29", "EUR", "0.29"),
    ("1.005", "KWD", "1.005"),
    ("999999999999.99", "USD", "999999999999.99"),
    ("\"999999999999.99\"", "USD", "999999999999.99"),
    ("900719925474.09", "USD", "900719925474.09"),
    ("123456789012.345", "KWD", "123456789012.345"),
    ("100", "JPY", "100"),
    ("100.00", "JPY", "100"),
    ("12.490000", "USD", "12.49"),
    ("0", "USD", "0.00"),
    ("0.01", "USD", "0.01"),
    ("\"0.0001\"", "CLF", "0.0001"),
    ("4.35", "USD", "4.35"),
];

#[tokio::test]
async fn returns_prices_in_strings_and_numbers_exactly() {
    let shop = Shop::open(30).await;
    for (number, (sent_as, currency, price)) in PRICES.into_iter().enumerate() {
        let (product, account) = (format!("/cart/products/price-{number}"), format!("A-{number}"));
        let body = format!(r#"{{"name": "Tea", "price": {sent_as}, "currency": "{currency}"}}"#);
        let put = send(sent(&shop.now, "PUT", &product, body)).await;
        assert_eq!((put.status, &put.body["price"]), (201, &json!(price)), "{sent_as} {currency}: {}", put.body);
        assert_eq!(shop.now.get(&product).await.body, put.body);
        let added = send(add_request(&shop.now, &account, &format!("price-{number}"), &json!({}))).await;
        assert_eq!((added.status, &added.body["price"]), (201, &json!(price)), "{sent_as} {currency}: {}", added.body);
        assert_eq!(added.body["currency"], currency);
        assert_eq!(shop.now.get(&path(&added.body)).await.body, added.body);
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    let longest = "x".repeat(128);
    let ids = [
        ("a%2523b", "a%23b"),
        ("%2F", "/"),
        ("a+b", "a+b"),
        ("%C3%A4%F0%9F%92%B6", "ä💶"),
        ("items", "items"),
        ("CART", "CART"),
        (longest.as_str(), longest.as_str()),
    ];
    for (escaped, id) in ids {
        let items = items_of(escaped);
        stock(&shop.stack, [id]).await;
        let created = client.post(&items, &json!({"sku": id, "quantity": 9_999})).await;
        let shown = (created.status, &created.body["accountId"], &created.body["sku"]);
        assert_eq!(shown, (201, &json!(id), &json!(id)), "{}", created.body);
        let location = created.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, created.body);
        assert_eq!(client.get(&items).await.body["items"], json!([created.body]));
        assert_eq!(client.get(&format!("/cart/skus/{escaped}/items")).await.body["items"], json!([created.body]));
        let bought = client.post(&checkout_of(escaped), &json!({"expectedTotal": "124887.51"})).await;
        assert_eq!((bought.status, &bought.body["accountId"]), (200, &json!(id)), "{}", bought.body);
        let order = text(&bought.body, "orderId");
        let read = client.get(&format!("/cart/accounts/{escaped}/orders/{order}")).await;
        assert_eq!((read.status, &read.body), (200, &bought.body));
    }
    for kind in
        ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json", "application/json;"]
    {
        let taken = send(client.request("POST", ITEMS).header("content-type", kind).body(GOOD)).await;
        assert!([200, 201].contains(&taken.status), "{kind}: {}", taken.body);
    }
    // A checkout accepts no body, too.
    let checkout = client.request("POST", CHECKOUT).header("content-type", "text/plain").body("please");
    assert_eq!(send(checkout).await.status, 415);
    assert_eq!(send(sent(client, "POST", CHECKOUT, r#"{"sku": "s"}"#)).await.status, 400);
    assert_eq!(send(sent(client, "POST", CHECKOUT, "{}")).await.status, 200);
    let spaces = format!("{GOOD}{}", " ".repeat(64 * 1024 - GOOD.len()));
    assert_eq!(send(sent(client, "POST", ITEMS, spaces)).await.status, 201, "64 KB");
    shop.stack.stop().await;
}

/// Returns the size of an item as DynamoDB calculates it: names and values.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Number(number) => number.to_string().len().div_ceil(2) + 1,
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + bytes(value)).sum(),
        _ => 1,
    }
}

/// Returns the size of the largest cart item. A map adds three bytes, and each member of a map adds
/// one byte.
async fn largest(shop: &Shop) -> usize {
    let cart_items = stored(&shop.stack).await.into_values().filter(|item| item["Type"] == "CartItem");
    let maps = |cart_item: &Value| -> usize {
        cart_item.as_object().into_iter().flatten().filter_map(|(_, value)| Some(3 + value.as_object()?.len())).sum()
    };
    cart_items.map(|cart_item| bytes(&cart_item) + maps(&cart_item)).max().unwrap_or_default()
}

#[tokio::test]
async fn accepted_item_stays_within_1_kb_after_status_changes() {
    let shop = Shop::open(30).await;
    let client = &shop.now;
    let account = "\u{20ac}".repeat(128);
    let items = items_of(&account);
    let dear = Money::new(parsed("999999999999.99"), parsed("USD")).expect("a price");
    let products = |price| (1..=128).map(move |bytes| Product { price, ..product(&"x".repeat(bytes)) });
    put_products(&shop.stack, products(dear)).await;
    let add = async |bytes: usize| send(add_request(client, &account, &"x".repeat(bytes), &json!({}))).await;
    let mut sku = 128;
    while add(sku).await.status == 413 {
        sku -= 1;
        assert!(sku > 0, "no SKU is short enough");
    }
    assert!(sku < 128, "the account is too short for this test");
    let there = client.get(&items).await.body["items"][0].clone();
    let change = async |cart_item: &Value, body: Value| {
        let answer = client.patch(&path(cart_item), &body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.body);
        assert!(largest(&shop).await <= 1_024);
        answer.body
    };
    for _ in 0..20 {
        change(&there, json!({"quantity": 9_990})).await;
        change(&there, json!({"status": "SAVED", "quantity": 5_000})).await;
        change(&there, json!({"status": "ACTIVE"})).await;
    }
    let saved = change(&there, json!({"status": "SAVED"})).await;
    assert_eq!(add(sku).await.status, 201);
    let joined = change(&saved, json!({"status": "ACTIVE"})).await;
    assert_ne!(joined["itemId"], saved["itemId"]);
    change(&joined, json!({"quantity": 9_999})).await;
    let other = Money::new(parsed("888888888888.88"), parsed("USD")).expect("a price");
    put_products(&shop.stack, products(other)).await;
    let bought = send(client.request("POST", &checkout_of(&account))).await;
    assert_eq!(bought.status, 200);
    let most = largest(&shop).await;
    assert!((900..=1_024).contains(&most), "{most}");
    let order = format!("/cart/accounts/{account}/orders/{}", text(&bought.body, "orderId"));
    assert_eq!(client.patch(&order, &json!({"status": "CANCELLED"})).await.status, 200);
    assert_eq!(add(sku).await.status, 201);
    let cart_item = client.get(&items).await.body["items"][0].clone();
    assert_eq!(send(client.request("DELETE", &path(&cart_item))).await.status, 204);
    assert!(largest(&shop).await <= 1_024);
    shop.stack.stop().await;
}

/// Creates nine cart items for each account: three products in each status.
async fn three_of_each(client: &Client, accounts: &[&str]) {
    for account in accounts {
        for status in ["PURCHASED", "SAVED", "ACTIVE"] {
            for sku in ["tea", "cup", "pot"] {
                let cart_item = send(add_request(client, account, sku, &json!({}))).await.body;
                if status == "SAVED" {
                    assert_eq!(client.patch(&path(&cart_item), &json!({"status": status})).await.status, 200);
                }
            }
            if status == "PURCHASED" {
                assert_eq!(client.post(&checkout_of(account), &json!({})).await.status, 200);
            }
        }
    }
}

#[tokio::test]
async fn rejects_a_modified_cursor() {
    let shop = Shop::open(30).await;
    three_of_each(&shop.now, &["A-1"]).await;
    three_of_each(&shop.now, &["A-2", "A-3"]).await;
    for list in [format!("{ITEMS}?status=ACTIVE"), format!("{OF_SKU}?status=SAVED")] {
        let cursor = cursor(&shop.now, &list).await;
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(cursor.len() <= 120 && cursor.chars().all(safe), "{cursor}");
        for changed in changes_of(&cursor) {
            must_refuse_cursor(&shop.now, &list, &changed).await;
        }
        let next = shop.now.get(&format!("{list}&limit=100&cursor={cursor}")).await;
        assert_eq!(
            (next.status, next.body["items"].as_array().map(Vec::len)),
            (200, Some(1)),
            "the unmodified cursor is valid"
        );
    }
    shop.stack.stop().await;
}

#[tokio::test]
async fn rejects_a_cursor_of_another_list() {
    let shop = Shop::open(30).await;
    three_of_each(&shop.now, &["A-1", "A-2", "A-3"]).await;
    let client = &shop.now;
    let lists = [
        format!("{ITEMS}?status=ACTIVE"),
        format!("{ITEMS}?status=SAVED"),
        format!("{ITEMS}?status=PURCHASED"),
        "/cart/accounts/A-2/items?status=ACTIVE".to_owned(),
        format!("{OF_SKU}?status=ACTIVE"),
        format!("{OF_SKU}?status=SAVED"),
        format!("{OF_SKU}?from=2000-01-01T00:00:00Z"),
        format!("{OF_SKU}?from=2000-01-01T00:00:00.001Z"),
        format!("{OF_SKU}?to=9999-01-01T00:00:00Z"),
        format!("{OF_SKU}?from=2000-01-01T00:00:00Z&to=9999-01-01T00:00:00Z"),
        "/cart/skus/cup/items?status=ACTIVE".to_owned(),
        // These lists have no cursor.
        "/cart/accounts/tea/items?status=ACTIVE".to_owned(),
        "/cart/skus/A-1/items?status=ACTIVE".to_owned(),
    ];
    for from in 0..lists.len() - 2 {
        let cursor = cursor(client, &lists[from]).await;
        for to in (0..lists.len()).filter(|to| *to != from) {
            must_refuse_cursor(client, &lists[to], &cursor).await;
        }
    }
    // A list without `status` is the same list as with `status=ACTIVE`.
    let default = cursor(client, &format!("{ITEMS}?")).await;
    assert_eq!(client.get(&format!("{}&cursor={default}", lists[0])).await.status, 200);
    // The cursors of an operator are invalid for other callers, and the reverse.
    let own = Client::caller(&shop.stack, "cart:read", &["A-1"]);
    let (theirs, mine) = (cursor(client, &lists[0]).await, cursor(&own, &lists[0]).await);
    must_refuse_cursor(&own, &lists[0], &theirs).await;
    must_refuse_cursor(client, &lists[0], &mine).await;
    let more = own.get(&format!("{}&limit=100&cursor={mine}", lists[0])).await;
    assert_eq!(more.body["items"].as_array().map(Vec::len), Some(1), "a limit may change between pages");
    shop.stack.stop().await;
}
