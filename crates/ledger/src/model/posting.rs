use keys::{AccountId, ledger::LegType};
use money::{Currency, Money};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

/// A debit or credit of an account in a transaction. Its text form is `debit#5.50#USD#<account>`.
///
/// The header of a transaction lists one posting for each leg. A missing or changed leg can
/// therefore be detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    /// Debit or credit.
    pub leg_type: LegType,
    /// The amount, which is positive.
    pub amount: Money,
    /// The account.
    pub account: AccountId,
}

impl Posting {
    /// Returns the amount to add to the account's balance. The amount is negative for a debit.
    pub fn change(&self) -> Money {
        match self.leg_type {
            LegType::Credit => self.amount,
            LegType::Debit => -self.amount,
        }
    }

    /// Returns the opposite posting: a credit for a debit, and a debit for a credit.
    pub fn reversed(&self) -> Self {
        Self { leg_type: self.leg_type.reversed(), ..self.clone() }
    }
}

/// The sum of the debits and the sum of the credits in one currency. A sum is `None` if it has more
/// than 38 digits.
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

/// Returns each currency whose debits do not equal its credits, with both sums.
pub(crate) fn unbalanced(postings: &[Posting]) -> impl Iterator<Item = (Currency, Sides)> {
    sides(postings).into_iter().filter(|(_, sides)| !sides.agree())
}

/// Returns the sum of the debits. `None` if the postings have several currencies.
pub(crate) fn sum(postings: &[Posting]) -> Option<Money> {
    let mut sides = sides(postings).into_values();
    sides.next().filter(|_| sides.next().is_none())?.debits
}

/// The error for text that is not a posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a posting")]
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
