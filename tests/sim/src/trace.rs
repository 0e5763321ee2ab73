//! The trace of a case: one line per step.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use crate::clock;

/// Lines of a case. Clones share the lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    /// Adds a line with the virtual time and the actor.
    pub(crate) fn add(&self, actor: &str, text: impl AsRef<str>) {
        let time = clock::elapsed();
        let line = format!("{:>7}.{:03} {actor:<24} {}", time / 1000, time % 1000, text.as_ref());
        lock(&self.0).push(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        lock(&self.0).clone()
    }

    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for line in lock(&self.0).iter() {
            hash.update(line);
            hash.update("\n");
        }
        format!("{:016x}", hash.finalize().iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
