//! Authorization of the bank: tokens, scopes and account ownership
//! (docs/requirements/bank.md#permissions).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use local::{Auth, Stack};
use serde_json::{Value, json};
use system_tests::{Client, bank::stored, send, stack};

const TIME: &str = "2099-12-01T09:30:00Z";
const EVERY_SCOPE: &str = "bank:read bank:write bank:operate";

#[tokio::test]
async fn body_query_and_headers_cannot_change_the_caller() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let caller = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    let nobody = Client::operator(&stack);
    let claims = r#"{"sub":"x","scope":"bank:operate","account_ids":"A-2"}"#;
    let before = stored(&stack).await;
    for (client, status) in [(&caller, 403), (&nobody, 401)] {
        for name in [
            "account_ids",
            "scope",
            "sub",
            "x-account-ids",
            "x-amzn-request-context",
            "x-amzn-oidc-data",
            "x-forwarded-user",
        ] {
            let request = client.request("GET", "/bank/accounts/A-2/payments").header(name, claims);
            assert_eq!(send(request).await.status, status, "{name}");
        }
        let body = json!({"scheduledTime": TIME, "data": 1, "account_ids": ["A-2"], "scope": "bank:operate",
            "requestContext": {"authorizer": {"jwt": {"claims": {"scope": "bank:operate", "account_ids": "A-2"}}}}});
        let posted = client.post("/bank/accounts/A-2/payments", &body).await;
        assert!(posted.status == status || posted.status == 400, "{}", posted.body);
        for query in ["scope=bank:operate", "account_ids=A-2", "accountId=A-2", "access_token=x", "sub=x"] {
            let answer = client.get(&format!("/bank/accounts/A-2/payments?{query}")).await;
            assert!(answer.status == status || answer.status == 400, "{query}: {}", answer.body);
        }
    }
    assert!(stored(&stack).await == before);
    stack.stop().await;
}

fn signed(header: &Header, claims: &Value, secret: &str) -> String {
    encode(header, claims, &EncodingKey::from_secret(secret.as_bytes())).expect("a token")
}

fn unsigned(algorithm: &str, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({"alg": algorithm, "typ": "JWT"})), part(claims))
}

/// Replaces the claims of a valid token, but keeps the signature.
fn swapped(token: &str, claims: &Value) -> String {
    let mut parts: Vec<&str> = token.split('.').collect();
    let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
    parts[1] = &claims;
    parts.join(".")
}

/// Invalid authorization headers, each with a description of the error.
fn bad_headers(stack: &Stack) -> Vec<(&'static str, String)> {
    let now = jiff::Timestamp::now().as_second();
    let claims = |change: Value| {
        let mut claims = json!({"iss": "local", "aud": "local", "exp": now + 3_600, "sub": "x", "scope": EVERY_SCOPE});
        for (name, value) in change.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        claims
    };
    let of = |change: Value| {
        let token = stack.token(claims(change).as_object().expect("an object").clone());
        format!("Bearer {}", token.expect("a token"))
    };
    let (good, header) = (of(json!({})), Header::new(Algorithm::HS256));
    let mut cut = good.clone();
    cut.pop();
    vec![
        ("nothing", String::new()),
        ("no token", "Bearer".to_owned()),
        ("no token at all", "Bearer ".to_owned()),
        ("no JWT", "Bearer x".to_owned()),
        ("basic", "Basic b3BlcmF0b3I6bG9jYWwtb25seQ==".to_owned()),
        ("expired", of(json!({"exp": now - 1}))),
        ("expired long ago", of(json!({"exp": 0}))),
        ("an expiry that is not a time", of(json!({"exp": "never"}))),
        ("not yet valid", of(json!({"nbf": now + 3_600}))),
        ("another issuer", of(json!({"iss": "elsewhere"}))),
        ("no issuer", of(json!({"iss": null}))),
        ("another audience", of(json!({"aud": "elsewhere"}))),
        ("no audience", of(json!({"aud": []}))),
        ("another secret", format!("Bearer {}", signed(&header, &claims(json!({})), "guessed"))),
        ("an empty secret", format!("Bearer {}", signed(&header, &claims(json!({})), ""))),
        (
            "another algorithm",
            format!("Bearer {}", signed(&Header::new(Algorithm::HS512), &claims(json!({})), "local-only")),
        ),
        ("alg none", format!("Bearer {}", unsigned("none", &claims(json!({}))))),
        ("alg None", format!("Bearer {}", unsigned("None", &claims(json!({}))))),
        ("no signature", format!("Bearer {}", unsigned("HS256", &claims(json!({}))))),
        ("other claims under its signature", swapped(&good, &claims(json!({"sub": "y"})))),
        ("cut", cut),
    ]
}

#[tokio::test]
async fn rejects_invalid_tokens() {
    for auth in [Auth::Open, Auth::Required] {
        let stack = stack().auth(auth).start().await.expect("a stack");
        let before = stored(&stack).await;
        let nobody = Client::operator(&stack);
        for (name, header) in bad_headers(&stack) {
            let body = json!({"scheduledTime": TIME, "data": 1});
            for request in [
                nobody.request("POST", "/bank/accounts/A-1/payments").json(&body),
                nobody.request("GET", "/bank/payments/due"),
            ] {
                let answer = send(request.header("authorization", &header)).await;
                assert_eq!((answer.status, &answer.body["message"]), (401, &json!("Unauthorized")), "{name}, {auth:?}");
            }
        }
        assert!(stored(&stack).await == before);
        stack.stop().await;
    }
}

#[tokio::test]
async fn rejects_requests_without_a_token_if_the_stack_requires_one() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let without = Client::operator(&stack);
    for path in ["/bank/payments/due", "/bank/accounts/A-1/payments", "/bank/transactions", "/bank/transactions/T-1"] {
        let answer = without.get(path).await;
        assert_eq!((answer.status, &answer.body["message"]), (401, &json!("Unauthorized")), "{path}");
    }
    let token = stack.operator_token().expect("a token");
    for header in [format!("Bearer {token}"), format!("bearer {token}"), token.clone()] {
        let request = without.request("GET", "/bank/payments/due").header("authorization", &header);
        assert_eq!(send(request).await.status, 200, "{header}");
    }
    stack.stop().await;
}

/// Okta, Entra and Cognito send scopes in other claims and forms, and a null is no claim.
#[tokio::test]
async fn a_token_means_the_same_whatever_its_form() {
    let stack = stack().start().await.expect("a stack");
    let scope = json!("bank:read");
    for (claims, account, status) in [
        (json!({"scope": scope, "account_ids": "A-1"}), "A-1", 200),
        (json!({"scope": [scope], "account_ids": ["A-1"]}), "A-1", 200),
        (json!({"scp": scope, "account_ids": ["A-0", "A-1"]}), "A-1", 200),
        (json!({"scp": ["other", scope], "account_ids": "A-0 A-1"}), "A-1", 200),
        (json!({"scope": null, "scp": [scope], "account_ids": "A-1"}), "A-1", 200),
        (json!({"scp": ["bank:operate"]}), "A-1", 200),
        (json!({"scope": scope, "account_ids": [7, true]}), "7", 200),
        (json!({"scope": scope, "account_ids": 7}), "7", 200),
        (json!({"roles": [scope], "account_ids": "A-1"}), "A-1", 403),
        (json!({"scope": scope, "account_ids": null}), "null", 403),
        (json!({"scope": scope, "account_ids": [null]}), "null", 403),
        (json!({"scope": scope, "account_ids": [null]}), "%3Cnil%3E", 403),
        (json!({"scope": scope, "account_ids": "null"}), "null", 403),
        (json!({"scope": scope, "account_ids": {"a": "b A-1 c"}}), "A-1", 403),
        (json!({"scope": scope, "account_ids": [["A-0", "A-1", "A-2"]]}), "A-1", 403),
        (json!({"scope": scope, "accounts": "A-1"}), "A-1", 403),
    ] {
        let caller = Client::with_claims(&stack, claims.clone());
        let answer = caller.get(&format!("/bank/accounts/{account}/payments")).await;
        assert_eq!(answer.status, status, "{account} {claims}: {}", answer.body);
    }
    stack.stop().await;
}
