//! Tests that identifiers, shards and transaction tokens come from the random source of the
//! function (docs/decisions/randomness.md).

use function::Function;
use keys::Random;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Asks,
    cart::stock,
    faults::{Proxy, within},
    stack,
};
use table::Dynamo;

/// The writes of one request, with their ids, shards and tokens.
async fn writes(name: &str, function: &Function, asks: &Asks<'_>, seed: u64) -> Vec<Value> {
    let stack = stack().start().await.expect("a stack");
    stock(&stack, ["shoes"]).await;
    let proxy = Proxy::start(stack.dynamo_url()).await;
    let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name).expect("a function");
    let client = stack.client_of(lambda).config().to_builder().endpoint_url(proxy.url()).build();
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(client), Random::seeded(seed));
    let settings = lambda.environment.clone().into_iter().collect();
    let service = function.bind(&settings, dynamo).expect("valid settings");
    let event = asks.at("2026-12-01T09:30:00Z".parse().expect("a time"));
    let answer = service.call(event, within(Duration::from_mins(1))).await.answer.expect("an answer");
    assert_eq!(answer["statusCode"], 201, "{answer}");
    let calls = proxy.calls().into_iter().filter(|call| ["PutItem", "TransactWriteItems"].contains(&&*call.action));
    let writes = calls.map(|call| call.body).collect();
    stack.stop().await;
    writes
}

#[tokio::test]
async fn the_same_seed_produces_the_same_writes() {
    let (payment, item) = (
        json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": 1}}),
        json!({"sku": "shoes", "quantity": 1}),
    );
    let asks = |route, path, body| Asks { route, path, parameters: json!({"accountId": "A"}), key: None, body };
    let schedule = asks("POST /bank/accounts/{accountId}/payments", "/bank/accounts/A/payments", Some(&payment));
    let add = asks("POST /cart/accounts/{accountId}/items", "/cart/accounts/A/items", Some(&item));
    let functions = [
        ("schedule-payment", (bank::patterns::schedule_payment::PATTERN.function)(), schedule),
        ("add-cart-item", (cart::patterns::add_cart_item::PATTERN.function)(), add),
    ];
    for (name, function, asks) in &functions {
        let first = writes(name, function, asks, 1).await;
        assert!(!first.is_empty(), "{name} writes nothing");
        assert_eq!(first, writes(name, function, asks, 1).await, "{name}");
        assert_ne!(first, writes(name, function, asks, 2).await, "{name}");
    }
}

#[tokio::test]
async fn transaction_tokens_come_from_the_random_source() {
    let item = json!({"sku": "shoes", "quantity": 1});
    let (route, path) = ("POST /cart/accounts/{accountId}/items", "/cart/accounts/A/items");
    let add = Asks { route, path, parameters: json!({"accountId": "A"}), key: None, body: Some(&item) };
    let function = (cart::patterns::add_cart_item::PATTERN.function)();
    let mut tokens = Vec::new();
    for seed in [1, 1, 2] {
        let writes = writes("add-cart-item", &function, &add, seed).await;
        tokens.push(writes[0]["ClientRequestToken"].as_str().expect("a token").to_owned());
    }
    assert!(tokens[0] == tokens[1] && tokens[0] != tokens[2] && tokens[0].len() == 32, "{tokens:?}");
}
