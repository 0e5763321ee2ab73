//! Amounts as the sender of a payment writes them (docs/decisions/execution.md).

use crate::{Currency, Decimal, Invalid, Money};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;
use std::{
    fmt::{self, Display},
    str::FromStr,
};

/// A value that may be a JSON string or a JSON number. White space around a string is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<T>(pub T);

impl<T: FromStr> Written<T> {
    fn read(json: &RawValue) -> Result<Self, T::Err> {
        let text = serde_json::from_str::<String>(json.get()).unwrap_or_else(|_| json.get().to_owned());
        text.trim().parse().map(Self)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::read(&Box::<RawValue>::deserialize(input)?).map_err(D::Error::custom)
    }
}

/// An amount that can be paid: greater than 0, in ASCII digits, optionally with a point and
/// decimals. It has no sign, no exponent and no separators of thousands.
///
/// A text with a comma, or with more decimals than its currency, is not guessed at: `1,234` and
/// `1.234` are different amounts in different countries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payable(Decimal);

impl Payable {
    /// The amount as it was written, without leading zeros.
    pub fn decimal(self) -> Decimal {
        self.0
    }

    /// The amount in a currency.
    ///
    /// # Errors
    /// The amount has more decimals than the currency, or more than 38 digits.
    pub fn of(self, currency: Currency) -> Result<Money, Invalid> {
        let (places, code) = (currency.places(), currency.code());
        if self.0.written_places() > places {
            return Err(Invalid::new(format!("must have at most {places} decimal places in {code}")));
        }
        let most = Money::MAX_DIGITS - places;
        let large = |_| Invalid::new(format!("must have at most {most} digits before the point in {code}"));
        Money::new(self.0, currency).map_err(large)
    }
}

impl FromStr for Payable {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const FORM: &str = "must be greater than 0, in digits with at most one point, such as 1234.50";
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, after)| (whole, Some(after)));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(whole)
            || !fraction.is_none_or(is_number)
            || !text.contains(|digit: char| ('1'..='9').contains(&digit))
        {
            return Err(Invalid::new(FORM));
        }
        let whole = Some(whole.trim_start_matches('0')).filter(|rest| !rest.is_empty()).unwrap_or("0");
        let number = fraction.map_or_else(|| whole.to_owned(), |fraction| format!("{whole}.{fraction}"));
        let large = |_| Invalid::new(format!("must have at most {} digits", Money::MAX_DIGITS));
        number.parse().map(Self).map_err(large)
    }
}

/// The reason why data does not say what to pay. The message starts with the name of the member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member} {reason}")]
pub struct Unpayable {
    /// The member of the data.
    pub member: &'static str,
    /// The reason, for the sender of the data.
    pub reason: String,
}

impl Unpayable {
    /// Creates the error for a member.
    pub fn new(member: &'static str, reason: impl Display) -> Self {
        Self { member, reason: reason.to_string() }
    }
}

/// Reads what the data of a payment pays: its members `amount` and `currency`.
///
/// # Errors
/// No transaction service can pay the data: a member is missing or not valid, or the data is no
/// object.
pub fn payable(data: &str) -> Result<Money, Unpayable> {
    #[derive(Default, Deserialize)]
    struct Members {
        amount: Option<Box<RawValue>>,
        currency: Option<Box<RawValue>>,
    }
    // A derived deserializer would also accept an array.
    let read = if data.starts_with('{') { serde_json::from_str(data) } else { Ok(Members::default()) };
    let Members { amount, currency } =
        read.map_err(|_| Unpayable::new("amount", "and currency must each occur once, in valid JSON"))?;
    let amount: Payable = member("amount", amount.as_deref())?;
    let currency: Currency = member("currency", currency.as_deref())?;
    amount.of(currency).map_err(|reason| Unpayable::new("amount", reason))
}

fn member<T: FromStr<Err: fmt::Display>>(name: &'static str, value: Option<&RawValue>) -> Result<T, Unpayable> {
    let value = value.ok_or_else(|| Unpayable::new(name, "is missing"))?;
    Written::read(value).map(|Written(value)| value).map_err(|reason| Unpayable::new(name, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(amount: &str, currency: &str) -> Result<String, String> {
        let data = format!("{{\"amount\": {amount}, \"currency\": {currency}, \"to\": [1]}}");
        payable(&data).map(|money| money.to_string()).map_err(|reason| reason.to_string())
    }

    #[test]
    fn reads_amounts_that_can_be_paid() {
        let most = format!("{}.99", "9".repeat(36));
        for (amount, currency, paid) in [
            ("\"12.50\"", "USD", "12.50 USD"),
            ("\" 5.00 \\t\\u00a0\"", " USD ", "5.00 USD"),
            ("\"12.5\"", "USD", "12.50 USD"),
            ("\"7\"", "USD", "7.00 USD"),
            ("12.50", "USD", "12.50 USD"),
            ("\"0.01\"", "USD", "0.01 USD"),
            ("\"0007.50\"", "USD", "7.50 USD"),
            ("705", "JPY", "705 JPY"),
            ("\"0.001\"", "KWD", "0.001 KWD"),
            (&format!("\"{most}\""), "USD", &format!("{most} USD")),
            (&format!("\"{}1\"", "0".repeat(99)), "JPY", "1 JPY"),
        ] {
            assert_eq!(read(amount, &format!("\"{currency}\"")).as_deref(), Ok(paid), "{amount} {currency}");
        }
    }

    #[test]
    fn refuses_other_amounts_with_a_reason() {
        const FORM: &str = "amount must be greater than 0, in digits with at most one point, such as 1234.50";
        for amount in [
            "12,50",
            "1,234.50",
            "1.234,50",
            "1 234.50",
            "1'234",
            "$5.00",
            "5.00 USD",
            "€5",
            "0",
            "0.00",
            "-5",
            "+5",
            "-0",
            "",
            " ",
            ".5",
            "5.",
            ".",
            "1e3",
            "1E-2",
            "0x10",
            "1_000",
            "1.2.3",
            "NaN",
            "(5.00)",
            "٥",
            "５.００",
            "\u{200b}5",
            "\u{2212}5",
        ] {
            assert_eq!(read(&format!("\"{amount}\""), "\"USD\"").unwrap_err(), FORM, "{amount}");
        }
        for amount in ["0", "-5", "1e3", "true", "[5]", "{}", "\"\\ud800\""] {
            assert_eq!(read(amount, "\"USD\"").unwrap_err(), FORM, "{amount}");
        }
        let [long, digits] = [37, 39].map(|count| format!("\"{}\"", "9".repeat(count)));
        for (amount, currency, reason) in [
            ("\"705.5\"", "\"JPY\"", "amount must have at most 0 decimal places in JPY"),
            ("\"705.0\"", "\"JPY\"", "amount must have at most 0 decimal places in JPY"),
            ("\"1.000\"", "\"USD\"", "amount must have at most 2 decimal places in USD"),
            (&long, "\"USD\"", "amount must have at most 36 digits before the point in USD"),
            (&digits, "\"JPY\"", "amount must have at most 38 digits"),
            ("null", "\"USD\"", "amount is missing"),
            ("5", "null", "currency is missing"),
            ("5", "\"usd\"", "currency must be an ISO 4217 currency in capital letters such as USD"),
            ("5", "\"XXL\"", "currency must be an ISO 4217 currency in capital letters such as USD"),
            ("5", "\"\"", "currency must be an ISO 4217 currency in capital letters such as USD"),
            ("5", "840", "currency must be an ISO 4217 currency in capital letters such as USD"),
            ("5", "\"USD\", \"amount\": 6", "amount and currency must each occur once, in valid JSON"),
        ] {
            assert_eq!(read(amount, currency).unwrap_err(), reason, "{amount} {currency}");
        }
    }

    #[test]
    fn data_that_is_no_object_pays_nothing() {
        for data in ["null", "\"12.50\"", "12.50", "[\"12.50\", \"USD\"]", "{}", "[]"] {
            assert_eq!(payable(data), Err(Unpayable::new("amount", "is missing")), "{data}");
        }
    }

    #[test]
    fn a_single_member_is_read_alike() {
        let amount = |json| serde_json::from_str::<Written<Payable>>(json).map(|Written(amount)| amount.decimal());
        assert_eq!(amount("\" 012.5 \"").map(|amount| amount.to_string()).ok().as_deref(), Some("12.5"));
        assert!(amount("\"-12.5\"").is_err());
        assert!(serde_json::from_str::<Written<Currency>>("\" USD\"").is_ok());
    }
}
