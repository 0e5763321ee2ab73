use crate::Invalid;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, str::FromStr};

/// Smallest positive integer that is too large: DynamoDB numbers have at most 38 digits.
pub(crate) const LIMIT: i128 = 10_i128.pow(38);

/// An exact decimal number. It keeps trailing zeros, so `12.49` and `12.490` are not equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    places: u8,
}

impl Decimal {
    /// The number `digits × 10^-places`.
    pub(crate) fn of_minor(digits: i128, places: u8) -> Self {
        Self { digits, places }
    }

    /// Returns the number of digits after the decimal point, without trailing zeros.
    pub(crate) fn places(self) -> u8 {
        let (mut digits, mut places) = (self.digits, self.places);
        while places > 0 && digits % 10 == 0 {
            (digits, places) = (digits / 10, places - 1);
        }
        places
    }

    /// Returns the number of digits after the decimal point, with trailing zeros.
    pub(crate) fn written_places(self) -> u8 {
        self.places
    }

    /// Parses a number as DynamoDB returns it, possibly with an exponent: `1E+20`.
    ///
    /// # Errors
    /// The text is not a number, or has more than 38 digits.
    pub fn of_number(text: &str) -> Result<Self, Invalid> {
        let (mantissa, exponent) = text.split_once(['E', 'e']).unwrap_or((text, "0"));
        let (mantissa, exponent) = (mantissa.parse::<Self>()?, exponent.parse::<i16>());
        let exponent = exponent.map_err(|_| Invalid::new("is not a number"))?;
        let shift = i16::from(mantissa.places) - exponent;
        let scaled = if shift >= 0 {
            u8::try_from(shift).ok().map(|places| Self { digits: mantissa.digits, places })
        } else {
            let unit = 10_i128.checked_pow(u32::from(shift.unsigned_abs()));
            let digits = unit.and_then(|unit| mantissa.digits.checked_mul(unit));
            digits.filter(|digits| digits.abs() < LIMIT).map(|digits| Self { digits, places: 0 })
        };
        scaled.ok_or_else(|| Invalid::new("has more than 38 digits"))
    }

    /// Returns the number multiplied by `10^places`. Returns `None` if the result is not an integer
    /// or has more than 38 digits.
    pub fn scaled(self, places: u8) -> Option<i128> {
        if places < self.places {
            let unit = 10_i128.checked_pow(u32::from(self.places - places))?;
            return (self.digits % unit == 0).then(|| self.digits / unit);
        }
        let unit = 10_i128.checked_pow(u32::from(places - self.places))?;
        self.digits.checked_mul(unit).filter(|scaled| scaled.abs() < LIMIT)
    }
}

impl FromStr for Decimal {
    type Err = Invalid;

    /// Parses `-?digits` or `-?digits.digits`, with at most 38 digits. The part before the decimal
    /// point must not have a leading zero unless it is `0`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        const FORM: &str = "must be a decimal number such as 12.49";
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(Invalid::new(FORM));
        }
        let fraction = if unsigned.contains('.') { fraction } else { "" };
        let digits = format!("{whole}{fraction}").parse().ok().filter(|digits: &i128| *digits < LIMIT);
        let (Some(digits), Ok(places)) = (digits, u8::try_from(fraction.len())) else {
            return Err(Invalid::new("has more than 38 digits"));
        };
        Ok(Self { digits: if unsigned.len() < text.len() { -digits } else { digits }, places })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, digits) = (if self.digits < 0 { "-" } else { "" }, self.digits.unsigned_abs().to_string());
        let places = usize::from(self.places);
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(out, "{sign}{whole}{}{fraction}", if places > 0 { "." } else { "" })
    }
}

/// Serializes as a string, because most JSON parsers read a number as a float.
impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

/// Deserializes a stored value: a DynamoDB number or the serialized string.
impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::of_number(&Cow::<str>::deserialize(input)?).map_err(D::Error::custom)
    }
}

/// A decimal that deserializes from a JSON string or a JSON number without rounding. It works with
/// `serde_json` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonDecimal(pub Decimal);

impl<'de> Deserialize<'de> for JsonDecimal {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(input)?;
        let text = json.get();
        let string = text.starts_with('"').then(|| serde_json::from_str::<Cow<str>>(text)).transpose();
        let text = string.map_err(D::Error::custom)?.unwrap_or(Cow::Borrowed(text));
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decimals_round_trip(digits in -LIMIT + 1..LIMIT, places in 0_u8..=38) {
            let decimal = Decimal { digits, places };
            prop_assume!(digits != 0 && decimal.to_string().bytes().filter(u8::is_ascii_digit).count() <= 38);
            prop_assert_eq!(decimal.to_string().parse::<Decimal>().ok(), Some(decimal));
            let json = serde_json::to_string(&decimal).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Decimal>(&json).ok(), Some(decimal));
        }
    }

    #[test]
    fn parses_stored_numbers_with_an_exponent() {
        for (number, text) in [("5.5", "5.5"), ("1500", "1500"), ("1E+3", "1000"), ("-1.5e2", "-150"), ("25E-1", "2.5")]
        {
            assert_eq!(Decimal::of_number(number).map(|read| read.to_string()).as_deref(), Ok(text));
            let stored = serde_json::from_value::<Decimal>(number.into()).expect("a stored decimal");
            assert_eq!(stored.to_string(), text);
        }
        for bad in ["", "E", "1E", "1E+38", "1E99999", "NaN", "1E-300"] {
            assert!(Decimal::of_number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn parses_json_strings_and_number_literals_exactly() {
        for (json, text) in [("\"12.49\"", "12.49"), ("12.49", "12.49"), ("0.10", "0.10"), ("-3", "-3"), ("0", "0")] {
            assert_eq!(serde_json::from_str::<JsonDecimal>(json).expect("a decimal").0.to_string(), text);
        }
        for bad in [
            "\"\"", "\"1e3\"", "1e3", "\".5\"", "\"5.\"", "\"+5\"", "\" 5\"", "\"05\"", "\"1,5\"", "null", "true", "[]",
        ] {
            assert!(serde_json::from_str::<JsonDecimal>(bad).is_err(), "{bad}");
        }
        assert!("1".repeat(39).parse::<Decimal>().is_err());
        assert!(format!("0.{}", "0".repeat(300)).parse::<Decimal>().is_err());
    }
}
