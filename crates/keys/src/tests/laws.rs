//! Properties that every key must have.

use crate::alphabet::is_visible;
use proptest::prelude::*;
use std::{
    fmt::{Debug, Display},
    str::FromStr,
};

/// A character of each identifier. Other identifiers than idempotency keys may have commas, and dots
/// if they are not alone.
pub(crate) fn allowed_character() -> impl Strategy<Value = char> {
    any::<char>().prop_filter("allowed", |c| !"#[],.\u{fffd}".contains(*c) && is_visible(*c))
}

/// Checks that parsing the text of a key returns an equal key.
pub(crate) fn round_trips<T: Display + FromStr + PartialEq + Debug>(key: &T) -> Result<(), TestCaseError> {
    let parsed = key.to_string().parse::<T>().ok();
    prop_assert_eq!(parsed.as_ref(), Some(key));
    Ok(())
}

/// Checks that the texts of two keys sort in the same order as their values.
pub(crate) fn orders<T: Display + Ord + Debug>(one: &T, other: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(other), "{:?} {:?}", one, other);
    Ok(())
}

/// Checks that the text is either rejected or the canonical form of a key.
pub(crate) fn must_be_canonical<T: Display + FromStr>(text: &str) -> Result<(), TestCaseError> {
    if let Ok(key) = text.parse::<T>() {
        prop_assert_eq!(key.to_string(), text);
    }
    Ok(())
}

/// Counts the key types that accept the text.
macro_rules! kinds {
    ($text:expr, $($kind:ty),+) => {
        [$($text.parse::<$kind>().is_ok()),+].into_iter().filter(|is_one| *is_one).count()
    };
}

pub(crate) use kinds;
