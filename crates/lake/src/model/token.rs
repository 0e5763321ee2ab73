use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::str::FromStr;

/// Key that converts account and user ids to tokens. An id always gets the same token in every
/// table. Without the
/// key, nobody can derive the id from a token (docs/decisions/export.md).
///
/// A token is an HMAC-SHA-256. A key must have at least 32 characters, because a key with fewer
/// bytes than the hash would weaken the HMAC (RFC 2104).
pub(crate) struct TokenKey(Hmac<Sha256>);

const FEWEST_CHARACTERS: usize = 32;

impl TokenKey {
    pub(crate) fn token(&self, id: &str) -> String {
        let hash = self.0.clone().chain_update(id).finalize().into_bytes();
        format!("token-{}", URL_SAFE_NO_PAD.encode(hash))
    }
}

impl FromStr for TokenKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().count() < FEWEST_CHARACTERS {
            return Err("must have at least 32 characters");
        }
        Hmac::new_from_slice(text.as_bytes()).map(Self).map_err(|_| "is not a valid key")
    }
}
