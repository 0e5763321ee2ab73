//! What holds of every key.

use proptest::prelude::*;
use std::{
    fmt::{Debug, Display},
    str::FromStr,
};

/// What is written is read as what it was.
pub(crate) fn round_trips<T: Display + FromStr + PartialEq + Debug>(key: &T) -> Result<(), TestCaseError> {
    let parsed = key.to_string().parse::<T>().ok();
    prop_assert_eq!(parsed.as_ref(), Some(key));
    Ok(())
}

/// Text order is value order.
pub(crate) fn orders<T: Display + Ord + Debug>(one: &T, other: &T) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(other), "{:?} {:?}", one, other);
    Ok(())
}

/// Only what the key writes is read as one.
pub(crate) fn takes_only_itself<T: Display + FromStr>(text: &str) -> Result<(), TestCaseError> {
    if let Ok(key) = text.parse::<T>() {
        prop_assert_eq!(key.to_string(), text);
    }
    Ok(())
}

/// How many of the kinds of keys the text is one of.
macro_rules! kinds {
    ($text:expr, $($kind:ty),+) => {
        [$($text.parse::<$kind>().is_ok()),+].into_iter().filter(|is_one| *is_one).count()
    };
}

pub(crate) use kinds;
