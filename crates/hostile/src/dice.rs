//! Random decisions. Each call gets its own generator, from the seed, its table and its number, so
//! that the calls of one table do not change the faults of another.
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;
use sha2::{Digest, Sha256};

/// Source of the generators.
#[derive(Debug)]
pub(super) struct Dice {
    seed: u64,
    /// The number of calls of each table.
    rolled: Mutex<BTreeMap<String, u64>>,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, rolled: Mutex::default() }
    }

    /// Returns the generator of the next call of a table.
    pub(super) fn next(&self, table: &str) -> Rng {
        let mut rolled = self.rolled.lock().unwrap_or_else(PoisonError::into_inner);
        let number = rolled.entry(table.to_owned()).or_default();
        *number += 1;
        self.of(table, *number)
    }

    fn of(&self, table: &str, number: u64) -> Rng {
        let parts = [&self.seed.to_be_bytes()[..], table.as_bytes(), &number.to_be_bytes()];
        let digest = parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize();
        Rng::with_seed(digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
    }
}

/// Whether a fault with this rate happens.
pub(super) fn happens(rng: &mut Rng, rate: f64) -> bool {
    rate > 0.0 && rng.f64() < rate
}

/// Returns a time up to `longest`. Short times are more likely: the median is a hundredth of the
/// maximum at most.
pub(super) fn time(rng: &mut Rng, longest: Duration) -> Duration {
    longest.mul_f64(rng.f64().powi(4)).max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_depend_on_the_seed_the_table_and_the_number_of_the_call() {
        let draw = |seed, tables: &[&str]| -> Vec<u64> {
            let dice = Dice::new(seed);
            tables.iter().map(|table| dice.next(table).u64(..)).collect()
        };
        let [one, two] = draw(1, &["A", "A"])[..] else { panic!("two numbers") };
        assert_ne!(one, two);
        assert_eq!(draw(1, &["A", "B", "A"])[2], two, "the calls of another table change nothing");
        assert_ne!(draw(2, &["A"])[0], one);
        assert_ne!(draw(1, &["B"])[0], one);
    }
}
