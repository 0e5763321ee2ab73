//! Sends requests with the example tokens of docs/issuers.md to a stack with their settings.

use regex_lite::Regex;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fs};
use system_tests::{Client, root, stack};

/// An example token, with the settings of the stack that must accept it.
struct Example {
    parameters: BTreeMap<String, String>,
    claims: Map<String, Value>,
}

fn examples() -> Vec<Example> {
    let page = fs::read_to_string(root().join("docs/issuers.md")).expect("the page");
    let block = Regex::new(r"(?s)<!-- token: (.*?) -->\n\n```json\n(.*?)```").expect("a pattern");
    let example = |found: regex_lite::Captures<'_>| {
        let pairs = found[1].split_whitespace().map(|pair| pair.split_once('=').expect("a setting"));
        let mut claims: Map<String, Value> = serde_json::from_str(&found[2]).expect("the claims");
        // The stack adds present times, and no audience to a null.
        claims.retain(|name, _| !["iat", "nbf", "exp"].contains(&name.as_str()));
        claims.entry("aud").or_insert(Value::Null);
        let parameters = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Example { parameters, claims }
    };
    block.captures_iter(&page).map(example).collect()
}

/// The statuses of the payments of three accounts.
async fn statuses(parameters: &BTreeMap<String, String>, claims: &Map<String, Value>) -> [u16; 3] {
    let builder = parameters.iter().fold(stack(), |builder, (name, value)| builder.parameter(name, value));
    let stack = builder.stacks(["bank"]).start().await.expect("a stack");
    let client = Client::with_claims(&stack, claims.clone().into());
    let mut statuses = [0; 3];
    for (status, account) in statuses.iter_mut().zip(["A-1", "A-2", "A-3"]) {
        *status = client.get(&format!("/bank/accounts/{account}/payments")).await.status;
    }
    stack.stop().await;
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_accept_the_example_tokens() {
    let examples = examples();
    assert!(examples.len() >= 7, "{} examples", examples.len());
    for Example { parameters, claims } in &examples {
        let expected = if claims.contains_key("account_ids") { [200, 200, 403] } else { [200; 3] };
        assert_eq!(statuses(parameters, claims).await, expected, "{parameters:?} {claims:?}");
        for (name, status) in [("JwtIssuer", 401), ("JwtAudience", 401), ("ScopePrefix", 403)] {
            let mut others = parameters.clone();
            others.insert(name.to_owned(), "other".to_owned());
            assert_eq!(statuses(&others, claims).await, [status; 3], "{others:?} {claims:?}");
        }
    }
}
