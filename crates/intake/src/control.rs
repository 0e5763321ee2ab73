//! Totals of a file, and the totals that its sender expects.

use money::{Currency, Decimal, Money, payable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Smallest amount, in minor units, that is not part of a total. No total of a file of 10 GB can
/// therefore have more than 38 digits.
pub const MAX_COUNTED: i128 = 10_i128.pow(28);

/// Sums by currency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Totals(BTreeMap<String, Decimal>);

impl Totals {
    /// Adds an amount. An amount of [`MAX_COUNTED`] or more is passed over.
    pub fn add(&mut self, money: Money) {
        if money.minor().abs() >= MAX_COUNTED {
            return;
        }
        let currency = money.currency();
        let sum = self.of(currency).and_then(|sum| sum.checked_add(money)).unwrap_or(money);
        self.0.insert(currency.code().to_owned(), sum.amount());
    }

    /// Adds all sums of others.
    pub fn add_all(&mut self, others: &Self) {
        others.sums().for_each(|sum| self.add_sum(sum));
    }

    fn add_sum(&mut self, sum: Money) {
        let total = self.of(sum.currency()).map_or(Some(sum), |own| own.checked_add(sum));
        if let Some(total) = total {
            self.0.insert(sum.currency().code().to_owned(), total.amount());
        }
    }

    fn of(&self, currency: Currency) -> Option<Money> {
        self.0.get(currency.code()).and_then(|sum| Money::new(*sum, currency).ok())
    }

    /// The sums, by currency code.
    pub fn sums(&self) -> impl Iterator<Item = Money> {
        self.0.iter().filter_map(|(code, sum)| Money::new(*sum, code.parse().ok()?).ok())
    }

    fn nonzero(&self) -> Vec<Money> {
        self.sums().filter(|sum| sum.minor() != 0).collect()
    }
}

impl Totals {
    /// Adds the amount in the data of a record. Returns whether the data has an amount that can be
    /// paid.
    pub fn add_data(&mut self, data: &str) -> bool {
        payable(data).map(|money| self.add(money)).is_ok()
    }
}

/// Totals that the sender of a file expects, from the metadata of the object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Number of records: `x-amz-meta-expected-count`.
    count: Option<u64>,
    /// Sums by currency, such as `12.50 USD, 3.00 EUR`: `x-amz-meta-expected-sum`.
    sum: Option<Totals>,
}

const COUNT: &str = "expected-count";
const SUM: &str = "expected-sum";

impl Expected {
    pub(crate) fn read(metadata: &HashMap<String, String>) -> Result<Self, String> {
        let count = metadata.get(COUNT).map(|text| {
            let is_number = text.bytes().all(|digit| digit.is_ascii_digit());
            let count = text.parse().ok().filter(|_| is_number);
            count.ok_or_else(|| format!("The metadata {COUNT} must be a whole number."))
        });
        let sum = metadata.get(SUM).map(|text| {
            sums(text).ok_or_else(|| {
                format!(
                    "The metadata {SUM} must have the form `12.50 USD`, with each currency once, separated by commas."
                )
            })
        });
        Ok(Self { count: count.transpose()?, sum: sum.transpose()? })
    }

    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.count.is_none() && self.sum.is_none()
    }

    /// Whether sums must be compared.
    pub fn has_sum(&self) -> bool {
        self.sum.is_some()
    }

    /// Compares the expected totals with those of the file. Returns the difference as text.
    pub fn difference(&self, count: u64, totals: &Totals) -> Option<String> {
        let mut found = Vec::new();
        if let Some(expected) = self.count.filter(|expected| *expected != count) {
            found.push(format!("{COUNT} is {expected}, and the file has {count} records"));
        }
        if let Some(expected) = self.sum.as_ref().filter(|expected| expected.nonzero() != totals.nonzero()) {
            found.push(format!("{SUM} is {}, and the sum of the file is {}", text(expected), text(totals)));
        }
        (!found.is_empty()).then(|| format!("{}. Nothing was scheduled.", found.join(". ")))
    }
}

fn text(totals: &Totals) -> String {
    let sums: Vec<_> = totals.nonzero().iter().map(Money::to_string).collect();
    if sums.is_empty() { "0".to_owned() } else { sums.join(", ") }
}

fn sums(text: &str) -> Option<Totals> {
    let mut totals = Totals::default();
    for part in text.split(',') {
        let (amount, currency) = part.trim().split_once(' ')?;
        let money = Money::new(amount.parse().ok()?, currency.trim().parse().ok()?).ok()?;
        if totals.of(money.currency()).is_some() {
            return None;
        }
        totals.add_sum(money);
    }
    Some(totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(count: Option<&str>, sum: Option<&str>) -> Result<Expected, String> {
        let metadata = [(COUNT, count), (SUM, sum)].into_iter();
        let metadata = metadata.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        Expected::read(&metadata)
    }

    fn totals(data: &[&str]) -> Totals {
        let mut totals = Totals::default();
        for data in data {
            totals.add_data(data);
        }
        totals
    }

    #[test]
    fn sums_amounts_by_currency_exactly() {
        let sums = totals(&[
            r#"{"amount": "0.10", "currency": "USD"}"#,
            r#"{"amount": 0.20, "currency": "USD", "to": "Ann"}"#,
            r#"{"amount": "-5", "currency": "JPY"}"#,
            r#"{"amount": "1.001", "currency": "USD"}"#,
            r#"{"amount": "1"}"#,
            r#"{"amount": "99999999999999999999999999999999.00", "currency": "USD"}"#,
            "[]",
            r#"["7.00", "USD"]"#,
        ]);
        assert_eq!(text(&sums), "0.30 USD");
        let json = serde_json::to_string(&sums).expect("JSON");
        assert_eq!(serde_json::from_str::<Totals>(&json).expect("totals"), sums);
    }

    #[test]
    fn compares_counts_and_all_currencies() {
        let file = totals(&[r#"{"amount": "12.50", "currency": "USD"}"#, r#"{"amount": "3", "currency": "EUR"}"#]);
        let difference = |count, sum| expected(count, sum).expect("metadata").difference(2, &file);
        for (count, sum) in [
            (None, None),
            (Some("2"), None),
            (Some("02"), Some("3.00 EUR, 12.5 USD")),
            (None, Some("12.50 USD,3 EUR, 0 JPY")),
        ] {
            assert_eq!(difference(count, sum), None, "{count:?} {sum:?}");
        }
        for (count, sum) in [(Some("3"), None), (None, Some("12.50 USD")), (None, Some("12.50 USD, 3.01 EUR"))] {
            assert!(difference(count, sum).is_some(), "{count:?} {sum:?}");
        }
        let both = difference(Some("3"), Some("1 USD")).expect("a difference");
        let expected = "expected-count is 3, and the file has 2 records. \
            expected-sum is 1.00 USD, and the sum of the file is 3.00 EUR, 12.50 USD. Nothing was scheduled.";
        assert_eq!(both, expected);
    }

    #[test]
    fn rejects_metadata_of_another_form() {
        for count in ["", "-1", "1.0", "many", "+1"] {
            assert!(expected(Some(count), None).is_err(), "{count}");
        }
        for sum in ["", "12.50", "USD 12.50", "1 USD 2 EUR", "1 USD, 2 USD", "1.001 USD", "1 XXX", "1 USD,"] {
            assert!(expected(None, Some(sum)).is_err(), "{sum}");
        }
    }
}
