//! Tests that only equal seeds give equal values, and that the values are evenly distributed.

use crate::Random;
use std::collections::BTreeSet;

#[test]
fn only_equal_seeds_give_equal_values() {
    let values = |seed| {
        let random = Random::seeded(seed);
        [random.bits(), random.bits(), random.bits()]
    };
    assert_eq!(values(1), values(1));
    let all: BTreeSet<u128> = (0..1_000).flat_map(values).collect();
    assert_eq!(all.len(), 3_000, "no value may be repeated");
}

#[test]
fn clones_share_the_source() {
    let random = Random::seeded(1);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let random = random.clone();
            std::thread::spawn(move || (0..1_000).map(|_| random.bits()).collect::<Vec<_>>())
        })
        .collect();
    let values = threads.into_iter().flat_map(|thread| thread.join().expect("values"));
    assert_eq!(values.collect::<BTreeSet<_>>().len(), 4_000);
}

#[test]
fn each_bit_is_set_in_half_of_the_values() {
    let random = Random::seeded(1);
    let mut set = [0_u32; 128];
    for _ in 0..10_000 {
        let bits = random.bits();
        set.iter_mut().enumerate().for_each(|(bit, count)| *count += u32::from(bits >> bit & 1 == 1));
    }
    assert!(set.iter().all(|count| (4_750..=5_250).contains(count)), "{set:?}");
}

#[test]
fn values_stay_below_the_limit() {
    let random = Random::seeded(1);
    for limit in [1, 2, 7, u16::MAX] {
        assert!((0..1_000).all(|_| random.below(limit) < limit));
    }
    assert_eq!(random.below(0), 0);
}

#[test]
fn debug_output_hides_the_seed() {
    assert_eq!(format!("{:?}", Random::new([7; 32])), "Random");
}
