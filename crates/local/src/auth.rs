//! Authentication: tokens that are signed with a local secret, and the operator without a token.
use std::{
    env,
    time::{Duration, SystemTime},
};

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode, errors::ErrorKind,
};
use serde_json::{Map, Value, json};

use crate::template::Authorizer;

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
    #[must_use]
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
    pub(crate) fn check(&self, token: &str) -> Result<Claims, String> {
        check_header(token)?;
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_issuer(&[&self.authorizer.issuer]);
        rules.set_audience(&self.authorizer.audiences);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.validate_nbf = true;
        rules.leeway = 0;
        let claims = decode::<Claims>(token, &self.checking, &rules).map_err(|error| reason(error.kind()))?.claims;
        match claims.get("iat").map(Value::as_f64) {
            None => Ok(claims),
            Some(Some(issued)) if issued <= unix_time().as_secs_f64() => Ok(claims),
            Some(_) => Err("The claim iat of the token is not a time in the past.".to_owned()),
        }
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
        ErrorKind::ImmatureSignature => "The token is not valid yet.",
        ErrorKind::InvalidSignature => "The signature of the token is not valid. Another secret has signed it.",
        ErrorKind::InvalidIssuer => "The claim iss of the token names another issuer.",
        ErrorKind::InvalidAudience => "The claim aud of the token names another audience.",
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
pub(crate) fn operator(scopes: &[String]) -> Claims {
    let mut claims = Claims::new();
    claims.insert("sub".to_owned(), json!("local-operator"));
    claims.insert("scope".to_owned(), json!(scopes.join(" ")));
    claims
}

/// Scopes in the claims.
pub(crate) fn scopes(claims: &Claims) -> Vec<&str> {
    claims.get("scope").and_then(Value::as_str).unwrap_or_default().split_ascii_whitespace().collect()
}

/// Token in an `Authorization` header, with or without the scheme `Bearer`.
pub(crate) fn bearer(header: &str) -> &str {
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => header.trim(),
    }
}

#[cfg(test)]
mod tests;
