//! A random source repeats itself for the same seed only, and its values are spread.

use crate::Random;
use std::collections::BTreeSet;

#[test]
fn repeats_the_values_of_the_same_seed_only() {
    let values = |seed| {
        let random = Random::seeded(seed);
        [random.bits(), random.bits(), random.bits()]
    };
    assert_eq!(values(1), values(1));
    let all: BTreeSet<u128> = (0..1_000).flat_map(values).collect();
    assert_eq!(all.len(), 3_000, "no value comes twice");
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
fn every_bit_is_as_often_set_as_not() {
    let random = Random::seeded(1);
    let mut set = [0_u32; 128];
    for _ in 0..10_000 {
        let bits = random.bits();
        set.iter_mut().enumerate().for_each(|(bit, count)| *count += u32::from(bits >> bit & 1 == 1));
    }
    assert!(set.iter().all(|count| (4_750..=5_250).contains(count)), "{set:?}");
}

#[test]
fn stays_below_the_limit() {
    let random = Random::seeded(1);
    for limit in [1, 2, 7, u16::MAX] {
        assert!((0..1_000).all(|_| random.below(limit) < limit));
    }
    assert_eq!(random.below(0), 0);
}

#[test]
fn does_not_show_its_seed() {
    assert_eq!(format!("{:?}", Random::new([7; 32])), "Random");
}
