//! Random choices. Each label has its own sequence, so that a removed step does not change the
//! choices of the other steps.
use fastrand::Rng;

#[derive(Debug, Clone)]
pub(crate) struct Draw(Rng);

impl Draw {
    pub(crate) fn of(seed: u64, label: &str) -> Self {
        // FNV-1a. The generator mixes the bits.
        let hash =
            label.bytes().fold(0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self(Rng::with_seed(hash))
    }

    /// A number from 0 to below the limit. The limit is at least 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit.max(1))
    }

    pub(crate) fn index(&mut self, count: usize) -> usize {
        self.0.usize(..count.max(1))
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.u64(least..=most)
    }

    /// Whether an event with this probability in thousandths happens.
    pub(crate) fn happens(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    pub(crate) fn one<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.index(values.len())]
    }

    /// One of the kinds of `name weight, name weight, …`, by its share.
    pub(crate) fn kind(&mut self, kinds: &'static str) -> &'static str {
        let kinds = kinds.split(", ").filter_map(|kind| kind.split_once(' '));
        let kinds: Vec<_> = kinds.filter_map(|(name, weight)| Some((name, weight.parse::<u64>().ok()?))).collect();
        let mut left = self.below(kinds.iter().map(|(_, weight)| weight).sum());
        for (name, weight) in kinds {
            if left < weight {
                return name;
            }
            left -= weight;
        }
        ""
    }
}
