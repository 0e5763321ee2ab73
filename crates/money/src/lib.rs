//! Exact amounts of money. An amount is an integer number of minor units of its currency. It has at
//! most 38 digits, like a DynamoDB number, and is never converted to a float.
//!
//! ```
//! use money::Money;
//!
//! let dime = Money::new("0.10".parse()?, "USD".parse()?)?;
//! let sum = dime.checked_add(dime).and_then(|sum| sum.checked_add(dime));
//! assert_eq!(sum.map(|sum| sum.amount().to_string()).as_deref(), Some("0.30"));
//! // A dollar has two decimals, and currencies cannot be added to each other.
//! assert!(Money::new("0.105".parse()?, "USD".parse()?).is_err());
//! assert_eq!(dime.checked_add(Money::zero("EUR".parse()?)), None);
//! # Ok::<(), money::Invalid>(())
//! ```

mod currency;
mod decimal;
mod payable;
mod schema;

pub use currency::Currency;
pub use decimal::{Decimal, JsonDecimal};
pub use payable::{Payable, Unpayable, Written, payable};

use serde::{Deserialize, Serialize};
use std::{fmt, ops::Neg};

/// The error for an invalid amount or currency. The message is meant for the API caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// An amount and its currency. The amount is in minor units: 12.49 USD is 1249. Items store money
/// as a map with the keys `Amount` and `Currency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Money {
    minor: i128,
    currency: Currency,
}

impl Money {
    /// Maximum number of digits of an amount in minor units.
    pub(crate) const MAX_DIGITS: u8 = 38;

    /// Creates an amount in the currency.
    ///
    /// # Errors
    /// The amount has more digits after the decimal point than the currency allows, or more than 38
    /// digits.
    pub fn new(amount: Decimal, currency: Currency) -> Result<Self, Invalid> {
        let places = currency.places();
        let minor = amount.scaled(places).ok_or_else(|| {
            if amount.places() > places {
                Invalid::new(format!("must have at most {places} decimal places in {}", currency.code()))
            } else {
                Invalid::new("has more than 38 digits")
            }
        })?;
        Ok(Self { minor, currency })
    }

    /// The amount in minor units.
    pub fn minor(self) -> i128 {
        self.minor
    }

    /// The currency.
    pub fn currency(self) -> Currency {
        self.currency
    }

    /// Creates an amount from minor units. Returns `None` if the number has more than 38 digits.
    pub fn of_minor(minor: i128, currency: Currency) -> Option<Self> {
        (minor.unsigned_abs() < decimal::LIMIT.unsigned_abs()).then_some(Self { minor, currency })
    }

    /// Creates the amount 0.
    pub fn zero(currency: Currency) -> Self {
        Self { minor: 0, currency }
    }

    /// Adds two amounts. Returns `None` if the currencies differ or the sum has more than 38
    /// digits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let sum = self.minor.checked_add(other.minor).filter(|_| self.currency == other.currency)?;
        Self::of_minor(sum, self.currency)
    }

    /// The amount as a decimal number, with all decimal places of the currency. 12.4 USD is
    /// `12.40`.
    pub fn amount(self) -> Decimal {
        Decimal::of_minor(self.minor, self.currency.places())
    }
}

impl Neg for Money {
    type Output = Self;

    fn neg(self) -> Self {
        Self { minor: -self.minor, ..self }
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
    fn adds_exactly_and_only_within_one_currency() {
        let usd = |text: &str| Money::new(text.parse().expect("a decimal"), "USD".parse().expect("a currency"));
        let (dime, two) = (usd("0.10").expect("money"), usd("0.20").expect("money"));
        assert_eq!(dime.checked_add(two).map(|sum| sum.amount().to_string()).as_deref(), Some("0.30"));
        assert_eq!(dime.checked_add(-dime), Some(Money::zero(dime.currency())));
        assert_eq!(dime.checked_add(Money::zero("EUR".parse().expect("a currency"))), None);
        let most = usd(&format!("{}.99", "9".repeat(36))).expect("38 digits");
        assert_eq!(most.checked_add(Money::of_minor(1, most.currency()).expect("a cent")), None);
    }

    #[test]
    fn rejects_more_decimal_places_than_the_currency_has() {
        assert_eq!(money("12.4", "USD").as_deref(), Ok("12.40 USD"));
        assert_eq!(money("12.400", "USD").as_deref(), Ok("12.40 USD"));
        assert_eq!(money("-0.05", "EUR").as_deref(), Ok("-0.05 EUR"));
        assert_eq!(money("12", "JPY").as_deref(), Ok("12 JPY"));
        assert_eq!(money("0.001", "KWD").as_deref(), Ok("0.001 KWD"));
        assert_eq!(money("12.345", "USD").unwrap_err(), "must have at most 2 decimal places in USD");
        assert_eq!(money("1.5", "JPY").unwrap_err(), "must have at most 0 decimal places in JPY");
        let largest = "9".repeat(38);
        assert_eq!(money(&largest, "USD").unwrap_err(), "has more than 38 digits");
        assert_eq!(money(&largest, "JPY"), Ok(format!("{largest} JPY")));
    }
}
