use keys::{AccountId, ledger::LegType};
use money::{Currency, Money};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

/// What a transaction does to an account: `debit#5.50#USD#<account>`. The header carries a line for each of its legs, so that it
/// is whole by itself and a leg that is missing or changed shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// Takes or adds.
    pub leg_type: LegType,
    /// How much; more than nothing.
    pub amount: Money,
    /// Where.
    pub account: AccountId,
}

impl Posting {
    /// What it adds to the account's balance.
    #[must_use]
    pub fn change(&self) -> Money {
        match self.leg_type {
            LegType::Credit => self.amount,
            LegType::Debit => -self.amount,
        }
    }

    /// What undoes it.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { leg_type: self.leg_type.reversed(), ..self.clone() }
    }
}

/// What is taken and what is added of a currency; none where it has too many digits to be told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    pub(crate) debits: Option<Money>,
    pub(crate) credits: Option<Money>,
}

impl Sides {
    fn agree(self) -> bool {
        self.debits.is_some() && self.debits == self.credits
    }
}

fn sides(postings: &[Posting]) -> BTreeMap<Currency, Sides> {
    let mut sides = BTreeMap::new();
    for Posting { leg_type, amount, .. } in postings {
        let nothing = Some(Money::zero(amount.currency()));
        let of_it = sides.entry(amount.currency()).or_insert(Sides { debits: nothing, credits: nothing });
        let side = if *leg_type == LegType::Debit { &mut of_it.debits } else { &mut of_it.credits };
        *side = side.and_then(|sum| sum.checked_add(*amount));
    }
    sides
}

/// Currencies of which the debits and credits are not the same.
pub(crate) fn unbalanced(postings: &[Posting]) -> impl Iterator<Item = (Currency, Sides)> {
    sides(postings).into_iter().filter(|(_, sides)| !sides.agree())
}

/// The sum of the debits, where all is of one currency.
pub(crate) fn sum(postings: &[Posting]) -> Option<Money> {
    let mut sides = sides(postings).into_values();
    sides.next().filter(|_| sides.next().is_none())?.debits
}

/// A stored posting that this did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no posting")]
pub struct NoPosting;

impl FromStr for Posting {
    type Err = NoPosting;

    fn from_str(text: &str) -> Result<Self, NoPosting> {
        let parse = || {
            let mut parts = text.splitn(4, '#');
            let leg_type = parts.next()?.parse().ok()?;
            let (amount, currency) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self { leg_type, amount: Money::new(amount, currency).ok()?, account: parts.next()?.parse().ok()? })
        };
        parse().ok_or(NoPosting)
    }
}

impl fmt::Display for Posting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}#{}#{}", self.leg_type, self.amount.amount(), self.amount.currency(), self.account)
    }
}

impl Serialize for Posting {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Posting {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posting_comes_back() {
        let text = "debit#5.50#USD#660f9511-e29b-41d4-a716-446655440000";
        let posting: Posting = text.parse().expect("a posting");
        assert_eq!(posting.to_string(), text);
        assert_eq!(posting.change().to_string(), "-5.50 USD");
        assert_eq!(posting.reversed().change().to_string(), "5.50 USD");
        for bad in ["", "debit#5.50#USD", "debit#5.505#USD#A", "take#5#USD#A", "debit#5#USD#A#B", "debit#5#USD#"] {
            assert!(bad.parse::<Posting>().is_err(), "{bad}");
        }
    }
}
