//! Authorization of the cart: scopes, account ownership, and operator lists
//! (docs/requirements/cart.md#permissions).

use local::{Auth, Stack};
use serde_json::{Value, json};
use system_tests::{
    Answer, Client, End,
    cart::{Shop, checkout_of, items_of, path, stocked, stored},
    send, stack, text,
};

fn new(sku: &str) -> Value {
    json!({"sku": sku, "quantity": 1})
}

async fn delete(client: &Client, path: &str) -> Answer {
    send(client.request("DELETE", path)).await
}

async fn add(client: &Client, account: &str, sku: &str) -> Value {
    let answer = client.post(&items_of(account), &new(sku)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body
}

/// Calls the access patterns in the order C8, C5, C6, C1, C2, C3, C4. In this order, each request
/// finds the items that it needs.
async fn every_access_pattern(client: &Client, cart_item: &Value) -> [Answer; 7] {
    let (path, account) = (path(cart_item), text(cart_item, "accountId"));
    [
        client.get(&path).await,
        client.get(&items_of(account)).await,
        client.get("/cart/skus/tea/items").await,
        client.post(&items_of(account), &new("cup")).await,
        client.patch(&path, &json!({"quantity": 2})).await,
        delete(client, &path).await,
        client.post(&checkout_of(account), &json!({})).await,
    ]
}

#[tokio::test]
async fn scopes_and_account_ids_limit_access() {
    use End::{Done, NoReach, NoScope};
    const NO_REACH: [End; 7] = [NoReach, NoReach, NoScope, NoReach, NoReach, NoReach, NoReach];
    // Columns: C8, C5, C6, C1, C2, C3, C4
    let table: &[(&str, &str, [End; 7])] = &[
        ("cart:operate", "", [Done; 7]),
        ("bank:read cart:operate", "A-9", [Done; 7]),
        ("cart:read cart:write", "A-1", [Done, Done, NoScope, Done, Done, Done, Done]),
        ("cart:read cart:write", "A-0 A-1 A-3", [Done, Done, NoScope, Done, Done, Done, Done]),
        ("cart:read", "A-1", [Done, Done, NoScope, NoScope, NoScope, NoScope, NoScope]),
        ("cart:write", "A-1", [NoScope, NoScope, NoScope, Done, Done, Done, Done]),
        ("cart:read cart:write", "A-2", NO_REACH),
        ("cart:read cart:write", "A-11 a-1 A- 1 A-1,A-2", NO_REACH),
        ("cart:read cart:write", "", NO_REACH),
        ("cart:read cart:write bank:operate", "A-2", NO_REACH),
        ("", "A-1", [NoScope; 7]),
        ("bank:operate bank:read bank:write", "A-1", [NoScope; 7]),
        ("cart:operator xcart:operate CART:OPERATE cart", "A-1", [NoScope; 7]),
    ];
    for (scope, accounts, ends) in table {
        let stack = stocked(stack()).await;
        let operator = Client::operator(&stack);
        let cart_item = add(&operator, "A-1", "tea").await;
        let others = add(&operator, "A-2", "tea").await;
        let accounts: Vec<&str> = accounts.split_whitespace().collect();
        let caller = Client::caller(&stack, scope, &accounts);
        let before = stored(&stack).await;
        let answers = every_access_pattern(&caller, &cart_item).await;
        let got: Vec<_> = answers.iter().map(End::of).collect();
        assert_eq!(got, ends.map(Some), "{scope:?} of {accounts:?}: {answers:#?}");
        let may_write = ends[3..].contains(&Done);
        assert_eq!(stored(&stack).await != before, may_write, "{scope:?} of {accounts:?}");
        assert_eq!(operator.get(&path(&others)).await.body, others, "items of other accounts are unchanged");
        if ends[2] != Done {
            assert!(!answers.iter().any(|answer| answer.shows("A-2")), "{answers:#?}");
        }
        stack.stop().await;
    }
}

/// Creates a cart item of A-2 in each status, and one of A-1.
async fn two_carts(shop: &Shop) -> (Vec<Value>, Value) {
    let mut others = Vec::new();
    let bought = add(&shop.now, "A-2", "secret-1").await;
    shop.now.post(&checkout_of("A-2"), &json!({})).await;
    others.push(shop.now.get(&path(&bought)).await.body);
    for (sku, status) in [("secret-2", "SAVED"), ("secret-3", "ACTIVE")] {
        let cart_item = add(&shop.now, "A-2", sku).await;
        others.push(shop.now.patch(&path(&cart_item), &json!({"status": status})).await.body);
    }
    (others, add(&shop.now, "A-1", "tea").await)
}

#[tokio::test]
async fn no_route_reads_or_changes_items_of_another_account() {
    let shop = Shop::open(30).await;
    let (others, own) = two_carts(&shop).await;
    let caller = Client::caller(&shop.stack, "cart:read cart:write", &["A-1"]);
    shop.now.post_once(&items_of("A-2"), "K", &new("secret-4")).await;
    let before = stored(&shop.stack).await;
    let changes = [json!({"quantity": 5}), json!({"status": "ACTIVE"})];
    for cart_item in &others {
        // The owner's path, the caller's path, and malformed paths that contain both.
        let id = text(cart_item, "itemId");
        for (account, status) in [
            ("A-2", [403, 403]),
            ("A-1", [404, 404]),
            ("A-1%2F..%2FA-2", [403, 403]),
            ("A-1%20A-2", [400, 400]),
            ("A-2%00", [400, 400]),
            ("A-2%23", [400, 400]),
        ] {
            let path = format!("/cart/accounts/{account}/items/{id}");
            let mut answers = vec![caller.get(&path).await, delete(&caller, &path).await];
            for change in &changes {
                answers.push(caller.patch(&path, change).await);
            }
            for answer in answers {
                assert!(status.contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
                assert!(!answer.body.to_string().contains("secret"), "{}", answer.body);
            }
        }
    }
    for status in ["ACTIVE", "SAVED", "PURCHASED"] {
        let list = caller.get(&format!("{}?status={status}", items_of("A-1"))).await;
        let wanted = if status == "ACTIVE" { json!([own]) } else { json!([]) };
        assert_eq!((list.status, &list.body["items"]), (200, &wanted));
        assert_eq!(caller.get(&format!("{}?status={status}", items_of("A-2"))).await.status, 403);
    }
    assert_eq!(caller.post(&checkout_of("A-2"), &json!({})).await.status, 403);
    assert_eq!(
        caller.post_once(&items_of("A-2"), "K", &new("secret-4")).await.status,
        403,
        "the response of another account must stay hidden"
    );
    assert!(stored(&shop.stack).await == before);
    // Idempotency keys of different accounts are independent.
    let mine = caller.post_once(&items_of("A-1"), "K", &new("secret-4")).await;
    assert_eq!((mine.status, text(&mine.body, "accountId")), (201, "A-1"));
    let bought = caller.post(&checkout_of("A-1"), &json!({})).await;
    assert_eq!((bought.status, &bought.body["accountId"]), (200, &json!("A-1")), "{}", bought.body);
    assert_eq!(shop.now.get(&items_of("A-2")).await.body["items"].as_array().map(Vec::len), Some(2));
    shop.stack.stop().await;
}

#[tokio::test]
async fn unknown_items_and_items_of_other_accounts_get_equal_responses() {
    let shop = Shop::open(30).await;
    let (others, _) = two_carts(&shop).await;
    let caller = Client::caller(&shop.stack, "cart:read cart:write", &["A-1"]);
    let without_instance = |mut answer: Answer| {
        answer.body["instance"].take();
        (answer.status, answer.body)
    };
    let nobodys = "0192f3a1b2c37d5e8f90a1b2c3d4e5f6";
    for account in ["A-1", "A-2"] {
        for cart_item in &others {
            let there = format!("{}/{}", items_of(account), text(cart_item, "itemId"));
            let not_there = format!("{}/{nobodys}", items_of(account));
            let body = json!({"status": "SAVED"});
            for (one, two) in [
                (caller.get(&there).await, caller.get(&not_there).await),
                (caller.patch(&there, &body).await, caller.patch(&not_there, &body).await),
                (delete(&caller, &there).await, delete(&caller, &not_there).await),
            ] {
                assert_eq!(without_instance(one), without_instance(two), "{there}");
            }
        }
    }
    let empty = caller.post(&checkout_of("A-2"), &json!({})).await;
    assert_eq!(without_instance(empty), without_instance(caller.post(&checkout_of("A-3"), &json!({})).await));
    shop.stack.stop().await;
}

#[tokio::test]
async fn only_operators_list_items_by_product() {
    let shop = Shop::open(30).await;
    two_carts(&shop).await;
    let list = "/cart/skus/secret-3/items";
    for (scope, accounts) in [
        ("cart:read", ["A-1"]),
        ("cart:write cart:read", ["A-2"]),
        ("cart:read bank:operate", ["A-2"]),
        ("bank:operate", ["A-2"]),
    ] {
        let answer = Client::caller(&shop.stack, scope, &accounts).get(list).await;
        assert_eq!((answer.status, &answer.body["message"]), (403, &json!("Forbidden")), "{scope}");
    }
    let operator = Client::caller(&shop.stack, "cart:operate", &[]).get(list).await;
    assert_eq!((operator.status, operator.body["items"].as_array().map(Vec::len)), (200, Some(1)));
    shop.stack.stop().await;
}

/// Returns every cart route of the template, with valid path parameters.
fn routes(stack: &Stack) -> Vec<(String, String)> {
    let lambdas = stack.template().lambdas.iter();
    let routes = lambdas.flat_map(|lambda| &lambda.routes).filter(|route| route.path.starts_with("/cart/"));
    let filled = |path: &str| {
        let path = path.replace("{accountId}", "A-1").replace("{sku}", "tea");
        let path = path.replace("{itemId}", "0192f3a1b2c37d5e8f90a1b2c3d4e5f6");
        path.replace("{orderId}", "O-1").replace("{jobId}", "J-1")
    };
    routes.map(|route| (route.method.clone(), filled(&route.path))).collect()
}

#[tokio::test]
async fn every_route_requires_a_valid_token() {
    for auth in [Auth::Open, Auth::Required] {
        let stack = stack().auth(auth).start().await.expect("a stack");
        let nobody = Client::operator(&stack);
        let expired = json!({"sub": "x", "scope": "cart:operate", "exp": 0});
        let expired = stack.token(expired.as_object().expect("an object").clone()).expect("a token");
        let operator = stack.operator_token().expect("a token");
        let mut headers = vec![Some(String::new()), Some("Bearer x".to_owned()), Some(format!("Bearer {expired}"))];
        headers.push(Some(format!("Bearer {}", &operator[..operator.len() - 4])));
        headers.extend((auth == Auth::Required).then_some(None));
        let routes = routes(&stack);
        assert_eq!(routes.len(), 16);
        let before = stored(&stack).await;
        for (method, path) in &routes {
            for header in &headers {
                let mut request = nobody.request(method, path).json(&new("tea"));
                if let Some(header) = header {
                    request = request.header("authorization", header);
                }
                let answer = send(request).await;
                assert_eq!((answer.status, &answer.body["message"]), (401, &json!("Unauthorized")), "{method} {path}");
            }
        }
        assert!(stored(&stack).await == before);
        for (method, path) in &routes {
            let request = nobody.request(method, path).bearer_auth(&operator).json(&new("tea"));
            assert_ne!(send(request).await.status, 401, "{method} {path}");
        }
        stack.stop().await;
    }
}

#[tokio::test]
async fn body_query_and_headers_do_not_set_the_caller() {
    let stack = stocked(stack().auth(Auth::Required)).await;
    let caller = Client::caller(&stack, "cart:read cart:write", &["A-1"]);
    let before = stored(&stack).await;
    let claims = r#"{"sub":"x","scope":"cart:operate","account_ids":"A-2"}"#;
    for name in ["account_ids", "scope", "x-account-ids", "x-amzn-request-context", "x-amzn-oidc-data"] {
        for path in [items_of("A-2"), "/cart/skus/tea/items".to_owned()] {
            let answer = send(caller.request("GET", &path).header(name, claims)).await;
            assert_eq!(answer.status, 403, "{name} {path}: {}", answer.body);
        }
    }
    for more in [json!({"accountId": "A-2"}), json!({"account_ids": ["A-2"], "scope": "cart:operate"})] {
        let mut body = new("tea");
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        for account in ["A-1", "A-2"] {
            assert_eq!(caller.post(&items_of(account), &body).await.status, 400);
        }
    }
    for query in ["scope=cart:operate", "account_ids=A-2", "accountId=A-2", "access_token=x"] {
        let answer = caller.get(&format!("{}?{query}", items_of("A-2"))).await;
        assert!([400, 403].contains(&answer.status), "{query}: {}", answer.body);
    }
    assert!(stored(&stack).await == before);
    stack.stop().await;
}
