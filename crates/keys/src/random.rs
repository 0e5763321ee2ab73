use sha2::{Digest, Sha256};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A source of random bits for identifiers, shards and transaction tokens.
///
/// Clones share one source, and a process has only one source. The crate `function` seeds it from
/// the operating system and passes it to the handlers. With a fixed seed, tests and simulations get
/// the same values in each run.
///
/// Each value is part of the SHA-256 hash of the seed and a counter. Values cannot be predicted
/// without the seed. Generating a value needs no lock (docs/decisions/randomness.md).
#[derive(Clone)]
pub struct Random(Arc<Source>);

struct Source {
    seed: [u8; 32],
    drawn: AtomicU64,
}

impl Random {
    /// Creates a source with the seed.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(Arc::new(Source { seed, drawn: AtomicU64::new(0) }))
    }

    /// Creates a source with reproducible values, for tests and simulations.
    pub fn seeded(seed: u64) -> Self {
        Self::new(Sha256::digest(seed.to_be_bytes()).into())
    }

    /// Returns 128 random bits.
    pub fn bits(&self) -> u128 {
        let number = self.0.drawn.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::new().chain_update(self.0.seed).chain_update(number.to_be_bytes()).finalize();
        digest[..16].iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }

    /// Returns a number below `limit`, with equal probability. Returns 0 if `limit` is 0.
    pub(crate) fn below(&self, limit: u16) -> u16 {
        // The bias of the modulo operation is less than 2^-112.
        u16::try_from(self.bits() % u128::from(limit.max(1))).unwrap_or_default()
    }
}

/// Does not print the seed, which determines all values.
impl fmt::Debug for Random {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Random")
    }
}
