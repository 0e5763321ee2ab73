//! Exact money: an amount is a whole number of its currency's minor units, up to the 38 digits of a DynamoDB number, and
//! never passes through a float.

mod currency;
mod decimal;

pub use currency::Currency;
pub use decimal::{Decimal, JsonDecimal};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a text is not the money that it should be, in words for whoever sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// An amount of a currency, in its minor units: 12.49 USD is 1249. Stored as a map of `Amount` and `Currency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Money {
    minor: i128,
    currency: Currency,
}

impl Money {
    /// The amount in the currency.
    ///
    /// # Errors
    /// It has more digits after the point than the currency, or more than 38 in all.
    pub fn new(amount: Decimal, currency: Currency) -> Result<Self, Invalid> {
        let places = currency.places();
        let minor = amount.scaled(places).ok_or_else(|| {
            if amount.places() > places {
                Invalid::new(format!("{} has {places} digits after the point", currency.code()))
            } else {
                Invalid::new("has more than 38 digits")
            }
        })?;
        Ok(Self { minor, currency })
    }

    /// Whole minor units.
    #[must_use]
    pub fn minor(self) -> i128 {
        self.minor
    }

    /// The currency.
    #[must_use]
    pub fn currency(self) -> Currency {
        self.currency
    }

    /// The amount as text, with all digits of its currency: `12.40`.
    #[must_use]
    pub fn amount(self) -> Decimal {
        Decimal::of_minor(self.minor, self.currency.places())
    }
}

impl fmt::Display for Money {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.amount(), self.currency)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Stored {
    amount: Decimal,
    currency: Currency,
}

impl From<Money> for Stored {
    fn from(money: Money) -> Self {
        Self { amount: money.amount(), currency: money.currency }
    }
}

impl TryFrom<Stored> for Money {
    type Error = Invalid;

    fn try_from(stored: Stored) -> Result<Self, Invalid> {
        Self::new(stored.amount, stored.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(amount: &str, currency: &str) -> Result<String, String> {
        let (amount, currency) = (amount.parse(), currency.parse().expect("a currency"));
        let amount = amount.map_err(|error: Invalid| error.to_string())?;
        Money::new(amount, currency).map(|money| money.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_amount_has_the_digits_of_its_currency() {
        assert_eq!(money("12.4", "USD").as_deref(), Ok("12.40 USD"));
        assert_eq!(money("12.400", "USD").as_deref(), Ok("12.40 USD"));
        assert_eq!(money("-0.05", "EUR").as_deref(), Ok("-0.05 EUR"));
        assert_eq!(money("12", "JPY").as_deref(), Ok("12 JPY"));
        assert_eq!(money("0.001", "KWD").as_deref(), Ok("0.001 KWD"));
        assert_eq!(money("12.345", "USD").unwrap_err(), "USD has 2 digits after the point");
        assert_eq!(money("1.5", "JPY").unwrap_err(), "JPY has 0 digits after the point");
        let largest = "9".repeat(38);
        assert_eq!(money(&largest, "USD").unwrap_err(), "has more than 38 digits");
        assert_eq!(money(&largest, "JPY"), Ok(format!("{largest} JPY")));
    }
}
