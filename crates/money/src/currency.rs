use crate::Invalid;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{borrow::Cow, fmt, str::FromStr};

/// An ISO 4217 currency with a minor unit, such as `USD`. ISO 4217 codes without a minor unit are
/// rejected: precious metals such as `XAU`, and codes such as `XTS`, which is for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency {
    currency: iso_currency::Currency,
    places: u8,
}

impl Currency {
    /// The ISO 4217 code: three capital letters.
    pub fn code(self) -> &'static str {
        self.currency.code()
    }

    /// The number of digits after the decimal point.
    pub fn places(self) -> u8 {
        self.places
    }
}

impl FromStr for Currency {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let currency = iso_currency::Currency::from_code(text);
        let places = |currency: iso_currency::Currency| u8::try_from(currency.exponent()?).ok();
        let known = currency.and_then(|currency| Some(Self { currency, places: places(currency)? }));
        known.ok_or_else(|| Invalid::new("must be an ISO 4217 currency in capital letters such as USD"))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_currencies_without_a_minor_unit() {
        let places = |code: &str| code.parse::<Currency>().map(Currency::places).ok();
        assert_eq!([places("USD"), places("JPY"), places("KWD"), places("CLF")], [Some(2), Some(0), Some(3), Some(4)]);
        for bad in ["usd", "US", "USDX", "XAU", "XXX", "XTS", ""] {
            assert_eq!(places(bad), None, "{bad}");
        }
    }
}
