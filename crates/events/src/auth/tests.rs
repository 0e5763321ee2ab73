use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::*;

const SECRET: &[u8] = b"local-only";

fn tokens() -> Tokens {
    Tokens::new(Authorizer::local())
}

fn claims(value: Value) -> Claims {
    serde_json::from_value(value).unwrap()
}

fn checked(value: Value) -> Result<Claims, String> {
    let tokens = tokens();
    tokens.check(&tokens.sign(claims(value), Duration::from_mins(1)).unwrap())
}

fn valid() -> Value {
    json!({"iss": "local", "aud": "local", "exp": 99_999_999_999_u64})
}

/// Token with any header, signed with HS256.
fn signed(header: &str, claims: &str) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
    let message = format!("{header}.{claims}");
    let key = EncodingKey::from_secret(SECRET);
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

#[test]
fn scopes_are_texts_or_lists_in_either_claim() {
    for (given, expected) in [
        (json!({"scope": "a b"}), vec!["a", "b"]),
        (json!({"scope": ["a", "b"]}), vec!["a", "b"]),
        (json!({"scp": ["a", "b"]}), vec!["a", "b"]),
        (json!({"scp": "a  b "}), vec!["a", "b"]),
        (json!({"scp": ["b"], "scope": "a b"}), vec!["a", "b"]),
        (json!({"scope": null, "scp": "a"}), vec!["a"]),
        (json!({"scope": ["a", null, 7, ["b"], {"c": "d"}]}), vec!["a"]),
        (json!({"scope": "", "scp": []}), vec![]),
        (json!({"scope": {"a": "b"}, "scp": true}), vec![]),
        (json!({"roles": ["a"], "SCOPE": "a"}), vec![]),
    ] {
        assert_eq!(scopes(&checked(given.clone()).unwrap()), expected, "{given}");
    }
}

#[test]
fn client_id_is_the_audience_of_a_token_without_aud() {
    for (given, expected) in [
        (json!({"aud": null, "client_id": "local"}), Ok(())),
        (json!({"aud": "local", "client_id": "other"}), Ok(())),
        (json!({"aud": ["other", 7, "local"]}), Ok(())),
        (json!({"aud": null}), Err("The token has neither a claim aud nor a claim client_id.")),
        (json!({"aud": null, "client_id": null}), Err("The token has neither a claim aud nor a claim client_id.")),
        (json!({"aud": null, "client_id": "other"}), Err("The claim client_id of the token names another audience.")),
        (json!({"aud": null, "client_id": ["local"]}), Err("The claim client_id of the token names another audience.")),
        (json!({"aud": "other", "client_id": "local"}), Err("The claim aud of the token names another audience.")),
        (json!({"aud": [], "client_id": "local"}), Err("The claim aud of the token names another audience.")),
        (json!({"aud": {"local": "local"}}), Err("The claim aud of the token names another audience.")),
    ] {
        assert_eq!(checked(given.clone()).map(drop), expected.map_err(str::to_owned), "{given}");
    }
}

#[test]
fn accepts_only_headers_that_it_understands() {
    for (header, expected) in [
        (r#"{"alg":"HS256"}"#, Ok(())),
        (r#"{"alg":"HS256","typ":"JWT","kid":"1"}"#, Ok(())),
        (r#"{"alg":"HS256","typ":"application/at+jwt"}"#, Ok(())),
        (r#"{"alg":"HS256","typ":"dpop+jwt"}"#, Err("The type of the token is not JWT.")),
        (r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, Err("The header of the token has critical extensions.")),
        (r#"{"alg":"HS256","crit":["b64"],"b64":false}"#, Err("The header of the token has critical extensions.")),
        (r#"{"alg":"HS256","crit":[]}"#, Err("The header of the token has critical extensions.")),
        (r#"{"alg":"HS512"}"#, Err("The token is not signed with HS256.")),
        (r#"{"alg":"RS256"}"#, Err("The token is not signed with HS256.")),
    ] {
        let done = tokens().check(&signed(header, &valid().to_string())).map(drop);
        assert_eq!(done, expected.map_err(str::to_owned), "{header}");
    }
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"HS256","alg":"none"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":"HS256","crit":"exp"}"#,
        r#"{"typ":"JWT"}"#,
        "[]",
        "null",
        "",
    ] {
        let token = signed(header, &valid().to_string());
        assert!(tokens().check(&token).is_err(), "{header}");
        let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
        assert!(tokens().check(&unsigned).is_err(), "{header} without a signature");
    }
}

#[test]
fn rejects_an_invalid_time_issuer_or_audience() {
    let (no_exp, other) = ("The token has no valid claim exp.", "The claim aud of the token names another audience.");
    let (late, iat) = (json!(99_999_999_999_u64), "The claim iat of the token is not a time in the past.");
    for (claim, value, expected) in [
        ("exp", json!(1), "The token has expired."),
        ("exp", json!("soon"), no_exp),
        ("exp", json!(-1), no_exp),
        ("exp", Value::Null, no_exp),
        ("nbf", late.clone(), "The token is not valid yet."),
        ("nbf", json!("soon"), "The claim nbf of the token is not valid."),
        ("iat", late, iat),
        ("iat", json!("soon"), iat),
        ("iss", json!("other"), "The claim iss of the token names another issuer."),
        ("iss", json!(7), "The token has no valid claim iss."),
        ("aud", json!("other"), other),
        ("aud", json!([]), other),
    ] {
        let rejected = checked(json!({claim: value})).map(drop);
        assert_eq!(rejected, Err(expected.to_owned()), "{claim}: {value}");
    }
    let nulls = json!({"sub": null, "nbf": null, "iat": null, "scope": null, "company_id": null});
    assert_eq!(checked(nulls).unwrap().keys().collect::<Vec<_>>(), ["aud", "exp", "iss"], "a null is no claim");
}

#[test]
fn rejects_another_secret_and_malformed_tokens() {
    let token = signed(r#"{"alg":"HS256"}"#, &valid().to_string());
    assert!(tokens().check(&token).is_ok());
    let other = encode(&Header::new(Algorithm::HS256), &claims(valid()), &EncodingKey::from_secret(b"other")).unwrap();
    let expected = "The signature of the token is not valid. Another secret has signed it.";
    assert_eq!(tokens().check(&other).map(drop), Err(expected.to_owned()));
    let tampered = format!("{}x", &token[..token.len() - 1]);
    for text in ["", ".", "..", "a.b.c", "Bearer", &format!("{token}.x"), &format!("{token}="), &tampered] {
        assert!(tokens().check(text).is_err(), "{text:?}");
    }
    assert!(tokens().check(&signed(r#"{"alg":"HS256"}"#, "[]")).is_err());
}

#[test]
fn the_bearer_scheme_is_optional() {
    for header in ["t", "Bearer t", "bearer t", "BEARER  t "] {
        assert_eq!(bearer(header), "t");
    }
    assert_eq!(bearer("Basic t"), "Basic t");
}
