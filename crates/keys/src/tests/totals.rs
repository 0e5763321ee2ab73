//! Properties of the keys of totals.

use super::laws::{allowed_character, kinds, must_be_canonical, orders, round_trips};
use crate::{
    Day, KeyRange, Shard,
    totals::{CountedPartition, Series, TotalPartition, TotalScope, TotalSort},
};
use proptest::prelude::*;
use std::{fmt::Debug, str::FromStr};

/// Generates an arbitrary identifier. Many identifiers contain parts of keys.
fn id<T: FromStr<Err: Debug> + Debug>() -> impl Strategy<Value = T> {
    let any = prop::collection::vec(allowed_character(), 1..=128)
        .prop_map(|characters| characters.into_iter().collect::<String>());
    let sly = "(ALL|MERCHANT|DAY|COUNTED|2026-11-24|-|01|_|0){1,4}";
    prop_oneof![any, sly].prop_map(|text| text.parse().expect("an identifier"))
}

fn day() -> impl Strategy<Value = Day> {
    (0..=9_999, 1..=12, 1..=28)
        .prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}").parse().expect("a date"))
}

fn scope() -> impl Strategy<Value = TotalScope> {
    prop_oneof![Just(TotalScope::All), id().prop_map(TotalScope::Merchant)]
}

fn shard() -> impl Strategy<Value = Shard> {
    (0_u8..100).prop_map(|number| number.to_string().parse().expect("a shard"))
}

fn sort() -> impl Strategy<Value = TotalSort> {
    (day(), id()).prop_map(|(day, series)| TotalSort { day, series })
}

proptest! {
    #[test]
    fn keys_round_trip(scope in scope(), shard in shard(), sort in sort(), transaction in id()) {
        round_trips(&scope)?;
        round_trips(&TotalPartition { scope, shard })?;
        round_trips(&sort)?;
        round_trips(&CountedPartition(transaction))?;
    }

    #[test]
    fn partition_keys_parse_as_exactly_one_type(scope in scope(), shard in shard(), transaction in id()) {
        for text in [TotalPartition { scope, shard }.to_string(), CountedPartition(transaction).to_string()] {
            prop_assert_eq!(kinds!(text, TotalPartition, CountedPartition), 1, "{}", text);
        }
    }

    #[test]
    fn accepts_only_canonical_keys(text in "(ALL|MERCHANT#|COUNTED#|DAY#|2026-11-24|#|0|7|x){1,6}") {
        must_be_canonical::<TotalPartition>(&text)?;
        must_be_canonical::<TotalSort>(&text)?;
        must_be_canonical::<CountedPartition>(&text)?;
    }

    #[test]
    fn sort_keys_sort_by_day(one in sort(), other in sort()) {
        orders(&one, &other)?;
    }

    #[test]
    fn ranges_contain_exactly_their_days(sort in sort(), first in day(), last in day()) {
        let within = |range: KeyRange| range.contains(&sort.to_string());
        prop_assert_eq!(within(TotalSort::between(first, last)), first <= sort.day && sort.day <= last);
        prop_assert_eq!(within(TotalSort::through(last)), sort.day <= last);
    }
}

#[test]
fn series_never_change() {
    let of = |transaction: &str, account: &str, currency| {
        let types = (transaction.parse().expect("a type"), account.parse().expect("a type"));
        Series::of(&types.0, &types.1, currency).to_string()
    };
    assert_eq!(of("payment", "checking", "USD"), "38fb5465-f7ab-8d9b-90d0-7a3f0d80e34e");
    assert_ne!(of("paymentc", "hecking", "USD"), of("payment", "checking", "USD"));
}
