//! Authentication: tokens that are signed with a local secret, and the operator without a token.
use std::{
    env,
    time::{Duration, SystemTime},
};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
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
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut default = |name: &str, value: Value| {
            claims.entry(name).or_insert(value);
        };
        default("iss", json!(self.authorizer.issuer));
        default("aud", json!(self.authorizer.audiences.first()));
        default("iat", json!(now.as_secs()));
        default("exp", json!((now + life).as_secs()));
        Ok(encode(&Header::new(Algorithm::HS256), &claims, &self.signing)?)
    }

    /// Returns the claims of a token, or `None` if its signature, issuer, audience or time is
    /// invalid.
    pub(crate) fn check(&self, token: &str) -> Option<Claims> {
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_issuer(&[&self.authorizer.issuer]);
        rules.set_audience(&self.authorizer.audiences);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.validate_nbf = true;
        rules.leeway = 0;
        decode::<Claims>(token, &self.checking, &rules).ok().map(|token| token.claims)
    }
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
