//! Authentication: tokens that are signed with a local secret, and the operator without a token.
use std::{
    env,
    time::{Duration, SystemTime},
};

use itertools::Itertools as _;
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode, errors::ErrorKind,
};
use serde_json::{Map, Value, json};

use template::Authorizer;

/// Whether a request needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Auth {
    /// A request without a token acts as the local operator, who has every scope.
    #[default]
    Open,
    /// A request without a token is rejected with 401.
    Required,
}

/// Claims of a token.
pub type Claims = Map<String, Value>;

/// The error of a token that could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the token can't be signed: {0}")]
pub struct TokenError(#[from] jsonwebtoken::errors::Error);

/// Signs and verifies tokens (HS256).
#[derive(Clone)]
pub struct Tokens {
    authorizer: Authorizer,
    signing: EncodingKey,
    checking: DecodingKey,
}

impl Tokens {
    /// Uses the authorizer's issuer and audiences. The environment variable `LOCAL_JWT_SECRET` sets
    /// the secret. Default: `local-only`.
    pub fn new(authorizer: Authorizer) -> Self {
        let secret = env::var("LOCAL_JWT_SECRET").unwrap_or_else(|_| "local-only".to_owned());
        Self {
            authorizer,
            signing: EncodingKey::from_secret(secret.as_bytes()),
            checking: DecodingKey::from_secret(secret.as_bytes()),
        }
    }

    /// Signs a token with these claims. Adds defaults for missing claims `iss`, `aud`, `iat` and
    /// `exp`. By default, the token expires after `life`.
    ///
    /// # Errors
    /// [`TokenError`] if signing fails.
    pub fn sign(&self, mut claims: Claims, life: Duration) -> Result<String, TokenError> {
        let now = unix_time();
        let mut default = |name: &str, value: Value| {
            claims.entry(name).or_insert(value);
        };
        default("iss", json!(self.authorizer.issuer));
        default("aud", json!(self.authorizer.audiences.first()));
        default("iat", json!(now.as_secs()));
        default("exp", json!((now + life).as_secs()));
        Ok(encode(&Header::new(Algorithm::HS256), &claims, &self.signing)?)
    }

    /// Returns the claims of a token. The error says which check failed.
    pub fn check(&self, token: &str) -> Result<Claims, String> {
        check_header(token)?;
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_issuer(&[&self.authorizer.issuer]);
        rules.set_required_spec_claims(&["exp", "iss"]);
        // The library does not know `client_id`, and takes null for a value.
        (rules.validate_aud, rules.validate_nbf) = (false, false);
        rules.leeway = 0;
        let mut claims = decode::<Claims>(token, &self.checking, &rules).map_err(|error| reason(error.kind()))?.claims;
        claims.retain(|_, value| !value.is_null());
        check_audience(&claims, &self.authorizer.audiences)?;
        check_times(&claims, unix_time())?;
        Ok(claims)
    }
}

/// Checks that one of the audiences is in `aud` or, only without `aud`, in `client_id`.
fn check_audience(claims: &Claims, audiences: &[String]) -> Result<(), String> {
    let is_ours = |one: &Value| one.as_str().is_some_and(|one| audiences.iter().any(|ours| ours == one));
    let (name, is_ours) = match (claims.get("aud"), claims.get("client_id")) {
        (Some(Value::Array(all)), _) => ("aud", all.iter().any(is_ours)),
        (Some(aud), _) => ("aud", is_ours(aud)),
        (None, Some(client)) => ("client_id", is_ours(client)),
        (None, None) => return Err("The token has neither a claim aud nor a claim client_id.".to_owned()),
    };
    if is_ours { Ok(()) } else { Err(format!("The claim {name} of the token names another audience.")) }
}

fn check_times(claims: &Claims, now: Duration) -> Result<(), String> {
    let is_past = |name: &str| claims.get(name).map(|time| time.as_f64().map(|time| time <= now.as_secs_f64()));
    match is_past("nbf") {
        Some(None) => return Err("The claim nbf of the token is not valid.".to_owned()),
        Some(Some(false)) => return Err("The token is not valid yet.".to_owned()),
        _ => {}
    }
    match is_past("iat") {
        None | Some(Some(true)) => Ok(()),
        _ => Err("The claim iat of the token is not a time in the past.".to_owned()),
    }
}

/// Checks what the signature does not cover: the type of the token, and extensions that a recipient
/// must understand (RFC 7515, section 4.1.11). This stack understands none.
fn check_header(token: &str) -> Result<(), String> {
    let header = decode_header(token).map_err(|error| reason(error.kind()))?;
    if header.crit.is_some() {
        return Err("The header of the token has critical extensions.".to_owned());
    }
    let kind = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
    match kind.strip_prefix("application/").unwrap_or(&kind) {
        "jwt" | "at+jwt" => Ok(()),
        _ => Err("The type of the token is not JWT.".to_owned()),
    }
}

fn reason(kind: &ErrorKind) -> String {
    let text = match kind {
        ErrorKind::ExpiredSignature => "The token has expired.",
        ErrorKind::InvalidSignature => "The signature of the token is not valid. Another secret has signed it.",
        ErrorKind::InvalidIssuer => "The claim iss of the token names another issuer.",
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => "The token is not signed with HS256.",
        ErrorKind::MissingRequiredClaim(claim) => return format!("The token has no valid claim {claim}."),
        ErrorKind::InvalidClaimFormat(claim) => return format!("The claim {claim} of the token is not valid."),
        _ => "The token is not a JSON Web Token. `make token` creates one.",
    };
    text.to_owned()
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Claims of the local operator, with every scope.
pub fn operator(scopes: &[String]) -> Claims {
    let mut claims = Claims::new();
    claims.insert("sub".to_owned(), json!("local-operator"));
    claims.insert("scope".to_owned(), json!(scopes.join(" ")));
    claims
}

/// Scopes in the claims `scope` and `scp`. Each of them is a text or a list: Cognito sends a text
/// in `scope`, Okta a list in `scp`, and Entra a text in `scp`.
pub fn scopes(claims: &Claims) -> Vec<&str> {
    ["scope", "scp"].into_iter().filter_map(|name| claims.get(name)).flat_map(texts).unique().collect()
}

fn texts(claim: &Value) -> Vec<&str> {
    match claim {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().unwrap_or_default().split_ascii_whitespace().collect(),
    }
}

/// Token in an `Authorization` header, with or without the scheme `Bearer`.
pub fn bearer(header: &str) -> &str {
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => header.trim(),
    }
}

#[cfg(test)]
mod tests;
