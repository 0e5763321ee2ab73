//! `local token`: prints a signed token.
use serde_json::json;

use super::{CliError, TokenOptions};
use crate::{Claims, Tokens, template::Authorizer};

pub(super) fn token(options: TokenOptions) -> Result<(), CliError> {
    let life = options.expires_in;
    println!("{}", Tokens::new(Authorizer::local()).sign(claims(options), life)?);
    Ok(())
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
