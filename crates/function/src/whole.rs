use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected, Visitor},
};
use std::{fmt, str::FromStr};

/// A whole number from `MIN` to `MAX`, in JSON or in a query string: an integer of JSON Schema, so
/// `2.0` and `2e0` are forms of 2 (docs/decisions/input.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Whole<const MIN: i64, const MAX: i64>(i64);

/// The version of an item that a request is based on. Every JSON parser reads it without a loss.
pub type Version = Whole<0, 9_007_199_254_740_991>;

/// The error for a number that is not whole or out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {min} to {max}")]
pub struct InvalidNumber {
    min: i64,
    max: i64,
}

impl<const MIN: i64, const MAX: i64> TryFrom<i64> for Whole<MIN, MAX> {
    type Error = InvalidNumber;

    fn try_from(number: i64) -> Result<Self, InvalidNumber> {
        let fits = (MIN..=MAX).contains(&number);
        fits.then_some(Self(number)).ok_or(InvalidNumber { min: MIN, max: MAX })
    }
}

impl<const MIN: i64, const MAX: i64> TryFrom<u32> for Whole<MIN, MAX> {
    type Error = InvalidNumber;

    fn try_from(number: u32) -> Result<Self, InvalidNumber> {
        i64::from(number).try_into()
    }
}

impl<const MIN: i64, const MAX: i64> FromStr for Whole<MIN, MAX> {
    type Err = InvalidNumber;

    fn from_str(text: &str) -> Result<Self, InvalidNumber> {
        whole(text).ok_or(InvalidNumber { min: MIN, max: MAX })?.try_into()
    }
}

impl<const MIN: i64, const MAX: i64> From<Whole<MIN, MAX>> for i64 {
    fn from(Whole(number): Whole<MIN, MAX>) -> Self {
        number
    }
}

/// A number out of the range of `u32` becomes the nearest one.
impl<const MIN: i64, const MAX: i64> From<Whole<MIN, MAX>> for u32 {
    fn from(Whole(number): Whole<MIN, MAX>) -> Self {
        Self::try_from(number.max(0)).unwrap_or(Self::MAX)
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Number<const MIN: i64, const MAX: i64>;

        impl<const MIN: i64, const MAX: i64> Visitor<'_> for Number<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a whole number from {MIN} to {MAX}, without quotes")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                Whole::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                let whole = i64::try_from(number).ok().and_then(|number| Whole::try_from(number).ok());
                whole.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }

        input.deserialize_i64(Number::<MIN, MAX>)
    }
}

/// Reads a number in JSON notation, also with leading zeros. Returns `None` if it is not whole, or
/// out of the range of `i64`. The digits are never converted to a float, which would round them.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(i, f)| (i, Some(f)));
    let are_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_number = are_digits(integer)
        && fraction.is_none_or(are_digits)
        && are_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    if !is_number {
        return None;
    }
    let digits = format!("{integer}{}", fraction.unwrap_or_default());
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The number of zeros after the significant digits, if it is not negative.
    let trailing = i64::try_from(digits.len() - digits.trim_end_matches('0').len()).ok()?;
    let decimals = i64::try_from(fraction.map_or(0, str::len)).ok()?;
    let zeros = exponent.parse::<i64>().ok()?.checked_add(trailing - decimals)?;
    let zeros = usize::try_from(zeros).ok().filter(|zeros| *zeros <= 18)?;
    format!("{sign}{significant}{}", "0".repeat(zeros)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strict;
    use proptest::prelude::*;

    #[test]
    fn whole_numbers_have_many_forms() {
        for two in ["2", "2.0", "2e0", "20e-1", "0.2E+1", "2.000", "0.0002e4", "2000e-3", "200E-2"] {
            assert_eq!(two.parse::<Whole<1, 9>>().map(i64::from), Ok(2), "{two}");
            assert_eq!(strict::read::<Whole<1, 9>>(two).map(i64::from), Ok(2), "{two}");
            assert_eq!(strict::read::<u8>(two), Ok(2), "{two}");
        }
        assert_eq!(["-0", "-0.0", "0e400", "-0e-99999999999999999999"].map(whole), [Some(0); 4]);
        assert_eq!(["9.223372036854775807e18", "-9223372036854775808.0"].map(whole), [Some(i64::MAX), Some(i64::MIN)]);
        let no_integers = [
            "2.5",
            "1e400",
            "-1e400",
            "1e-1",
            "2.00000000000000000000001",
            "9223372036854775808",
            "1e19",
            "",
            "-",
            ".",
            "2.",
            ".2",
            "e",
            "2e",
            "+2",
            " 2",
            "2 ",
            "0x2",
            "NaN",
            "1e99999999999999999999",
            "9007199254740992.5",
            "--2",
        ];
        for other in no_integers {
            assert_eq!(whole(other), None, "{other}");
        }
    }

    #[test]
    fn reasons_name_the_limits_of_the_field() {
        const REASON: &str = "must be a whole number from 1 to 9999, without quotes";
        for wrong in ["0", "10000", "-1", "2.5", "1e400", "1e19", "\"2\"", "null", "true", "[]", "{}", "1e30"] {
            let fault = strict::read::<Whole<1, 9_999>>(wrong).expect_err(wrong);
            assert_eq!((fault.path.len(), fault.detail.as_str()), (0, REASON), "{wrong}");
        }
        let text = "100000".parse::<Whole<1, 100>>().map_err(|error| error.to_string());
        assert_eq!(text, Err("must be a whole number from 1 to 100".to_owned()));
    }

    proptest! {
        #[test]
        fn every_form_of_a_number_is_read(number: i64, count in 1_usize..30) {
            let (zeros, digits) = ("0".repeat(count), number.unsigned_abs().to_string());
            let (sign, length) = (if number < 0 { "-" } else { "" }, digits.len());
            let forms = [
                number.to_string(), format!("{number}.{zeros}"), format!("{number}{zeros}e-{count}"),
                format!("{sign}0.{digits}E{length}"), format!("{sign}0.{zeros}{digits}e+{}", count + length),
            ];
            prop_assert_eq!(forms.each_ref().map(|form| whole(form)), [Some(number); 5], "{:?}", forms);
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.eE]{0,12}", any: String) {
            // A float that is whole and small is read exactly.
            if let Ok(float) = serde_json::from_str::<f64>(&text)
                && float.abs() < 1e6
                && text.len() < 8
            {
                prop_assert_eq!(whole(&text).is_some(), float.fract() == 0.0, "{}", text);
            }
            whole(&any);
        }
    }
}
