use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Random bits for identifiers, shards and tokens, from one seed.
///
/// A process has one source; clones draw from it. `function` seeds it from the operating system and passes it to the handlers. A
/// test or a simulation seeds it with a number, and the same draws give the same values.
///
/// Each value is the SHA-256 hash of the seed and a counter: without the seed nobody predicts the next, and no draw waits for a
/// lock (docs/decisions/randomness.md).
#[derive(Clone)]
pub struct Random(Arc<Source>);

struct Source {
    seed: [u8; 32],
    drawn: AtomicU64,
}

impl Random {
    /// A source with the seed.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self(Arc::new(Source { seed, drawn: AtomicU64::new(0) }))
    }

    /// A source that repeats itself: for tests and simulations.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::new(Sha256::digest(seed.to_be_bytes()).into())
    }

    /// 128 bits.
    #[must_use]
    pub fn bits(&self) -> u128 {
        let number = self.0.drawn.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::new().chain_update(self.0.seed).chain_update(number.to_be_bytes()).finalize();
        digest[..16].iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }

    /// A number below the limit, each as likely as the others; 0 if there is none.
    pub(crate) fn below(&self, limit: u16) -> u16 {
        // The remainder prefers small numbers by less than one part in 2^112.
        u16::try_from(self.bits() % u128::from(limit.max(1))).unwrap_or_default()
    }
}

/// Without the seed: whoever knows it knows every value.
impl fmt::Debug for Random {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Random")
    }
}
