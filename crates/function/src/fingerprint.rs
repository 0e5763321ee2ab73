use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a request asked for, short enough to keep: a SHA-256 of its parts, as text.
///
/// Kept beside an idempotency key, it tells a retry from another request under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Of the parts, whose lengths go in as well.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        Self(STANDARD_NO_PAD.encode(digest.finalize()))
    }
}
