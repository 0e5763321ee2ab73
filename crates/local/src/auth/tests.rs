use super::*;

fn tokens() -> Tokens {
    Tokens::new(Authorizer::local())
}

fn claims(value: Value) -> Claims {
    serde_json::from_value(value).unwrap()
}

fn checked(value: Value) -> Option<Claims> {
    let tokens = tokens();
    tokens.check(&tokens.sign(claims(value), Duration::from_mins(1)).unwrap())
}

#[test]
fn a_checked_token_returns_its_claims() {
    let claims = checked(json!({"sub": "u", "scope": "a b", "account_ids": ["x", "y"]})).unwrap();
    assert_eq!(claims["account_ids"], json!(["x", "y"]));
    assert_eq!((&claims["iss"], &claims["aud"]), (&json!("local"), &json!("local")));
    assert_eq!(scopes(&claims), ["a", "b"]);
}

#[test]
fn rejects_an_invalid_time_issuer_or_audience() {
    assert!(checked(json!({"exp": 1})).is_none());
    assert!(checked(json!({"exp": "soon"})).is_none());
    assert!(checked(json!({"nbf": 99_999_999_999_u64})).is_none());
    assert!(checked(json!({"iss": "other"})).is_none());
    assert!(checked(json!({"aud": "other"})).is_none());
    assert!(checked(json!({"aud": ["other", "local"]})).is_some());
}

#[test]
fn rejects_another_secret_or_algorithm() {
    let body = claims(json!({"iss": "local", "aud": "local", "exp": 99_999_999_999_u64}));
    let sign =
        |algorithm, secret: &[u8]| encode(&Header::new(algorithm), &body, &EncodingKey::from_secret(secret)).unwrap();
    assert!(tokens().check(&sign(Algorithm::HS256, b"local-only")).is_some());
    assert!(tokens().check(&sign(Algorithm::HS256, b"other")).is_none());
    assert!(tokens().check(&sign(Algorithm::HS512, b"local-only")).is_none());
    // {"alg":"none","typ":"JWT"}
    let signed = sign(Algorithm::HS256, b"local-only");
    let payload = signed.split('.').nth(1).unwrap();
    assert!(tokens().check(&format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.")).is_none());
    for text in ["", ".", "..", "a.b.c", "Bearer"] {
        assert!(tokens().check(text).is_none(), "{text:?}");
    }
}

#[test]
fn the_bearer_scheme_is_optional() {
    for header in ["t", "Bearer t", "bearer t", "BEARER  t "] {
        assert_eq!(bearer(header), "t");
    }
    assert_eq!(bearer("Basic t"), "Basic t");
}
