//! Properties that every key must have.

use proptest::prelude::*;
use std::{
    fmt::{Debug, Display},
    str::FromStr,
};

/// Checks that parsing the text of a key returns an equal key.
pub(crate) fn round_trips<T: Display + FromStr + PartialEq + Debug>(key: &T) -> Result<(), TestCaseError> {
    let parsed = key.to_string().parse::<T>().ok();
    prop_assert_eq!(parsed.as_ref(), Some(key));
    Ok(())
}

/// Checks that two keys sort as text in the order of their values.
pub(crate) fn orders<T: Display + Ord + Debug>(one: &T, other: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(other), "{:?} {:?}", one, other);
    Ok(())
}

/// Checks that a text that parses as a key is the exact text of that key.
pub(crate) fn takes_only_itself<T: Display + FromStr>(text: &str) -> Result<(), TestCaseError> {
    if let Ok(key) = text.parse::<T>() {
        prop_assert_eq!(key.to_string(), text);
    }
    Ok(())
}

/// Counts the key types that can parse the text.
macro_rules! kinds {
    ($text:expr, $($kind:ty),+) => {
        [$($text.parse::<$kind>().is_ok()),+].into_iter().filter(|is_one| *is_one).count()
    };
}

pub(crate) use kinds;
