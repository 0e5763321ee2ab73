//! `local token`: prints a signed token.
use serde_json::json;

use super::{CliError, TokenOptions};
use events::{Claims, Tokens};
use template::{
    Authorizer,
    nearest::{nearest, suggest},
};

pub(super) fn token(options: TokenOptions) -> Result<(), CliError> {
    check(&options.scopes, &options.stack.builder().scopes()?)?;
    let life = options.expires_in;
    println!("{}", Tokens::new(Authorizer::local()).sign(claims(options), life)?);
    Ok(())
}

/// Checks that a route requires each of the scopes.
pub(super) fn check(scopes: &[String], known: &[String]) -> Result<(), CliError> {
    match scopes.iter().find(|scope| !known.contains(scope)) {
        Some(scope) => {
            let nearest = nearest(scope, known.iter().map(String::as_str));
            let scopes = format!("there is no scope {scope:?}; the scopes are {}", known.join(", "));
            Err(CliError::Failed(suggest(scopes, nearest)))
        }
        None => Ok(()),
    }
}

pub(super) fn claims(options: TokenOptions) -> Claims {
    let mut claims = Claims::new();
    claims.insert("sub".to_owned(), json!(options.sub));
    claims.insert("scope".to_owned(), json!(options.scopes.join(" ")));
    if !options.accounts.is_empty() {
        claims.insert("account_ids".to_owned(), json!(options.accounts));
    }
    if let Some(company) = options.company {
        claims.insert("company_id".to_owned(), json!(company));
    }
    claims
}
