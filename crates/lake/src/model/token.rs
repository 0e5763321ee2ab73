use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::str::FromStr;

/// Key that converts account and user ids to tokens. An id always gets the same token in every
/// table. Without the
/// key, nobody can derive the id from a token (docs/decisions/export-tokens.md).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_the_hmac_of_the_account() {
        let key: TokenKey = "0123456789abcdef0123456789abcdef".parse().expect("a key");
        let token = |account: &str| key.token(account);
        // printf Account1 | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef -binary | basenc --base64url
        assert_eq!(token("Account1"), "token-NVoSHo1v3-PAysreNNUaN7Vp0Z-rnlis8xS2YykEYQ8");
        assert_ne!(token("Account1"), token("Account2"));
        assert!("0123456789abcdef0123456789abcde".parse::<TokenKey>().is_err());
    }
}
