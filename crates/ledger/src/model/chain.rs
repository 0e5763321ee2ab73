//! The hash chain of an account's legs ([decision](../../../../docs/decisions/ledger-history.md)).

use crate::{Leg, Purpose};
use money::Money;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt, str::FromStr};

/// A link of an account's hash chain, as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

/// The error for text that is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a hash")]
pub struct NoHash;

impl ChainHash {
    /// The hash before the first leg of an account: 64 zeros.
    pub(crate) const START: Self = Self([0; 32]);

    /// Hashes lines of text, each with its line feed. No line contains a line feed, because
    /// identifiers, amounts, times and descriptions do not. Different lines therefore have
    /// different texts.
    fn of(lines: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for line in lines {
            digest.update(line);
            digest.update("\n");
        }
        Self(digest.finalize().into())
    }

    /// Returns the hash of a leg with these contents, if `self` is the hash of the previous leg.
    pub(crate) fn then(self, contents: Self) -> Self {
        Self::of(&[&self.to_string(), &contents.to_string()])
    }
}

impl Leg {
    /// Hashes the contents of the entry, without its hash. `None` if the leg is no entry, or if an
    /// amount is not valid for the currency.
    pub(crate) fn contents(&self) -> Option<ChainHash> {
        let posted = self.entry()?.posted_at.map(|at| at.to_string());
        let (kind, posted) = posted.as_ref().map_or(("leg", None), |at| ("posting", Some(at.as_str())));
        let amount = Money::new(self.amount, self.currency).ok()?.amount().to_string();
        let (after, created) = (self.after()?.amount().to_string(), self.created_at.to_string());
        let of = [self.account.as_str(), self.user.as_str(), self.transaction().as_str(), self.id.as_str()];
        let what = [self.leg_type.as_str(), &amount, self.currency.code(), &after, &created];
        let Purpose { transaction_type, description, reference, merchant, counterparty } = &self.purpose;
        let copies = [
            description.as_ref().map(|text| format!("description {text}")),
            reference.as_ref().map(|text| format!("reference {text}")),
            merchant.as_ref().map(|id| format!("merchant {id}")),
            counterparty.as_ref().map(|id| format!("counterparty {id}")),
        ];
        let copies: Vec<&str> = copies.iter().flatten().map(String::as_str).collect();
        let purpose = [transaction_type.as_str()];
        Some(ChainHash::of(&[&[kind], &of[..], &what[..], &purpose[..], &copies[..], posted.as_slice()].concat()))
    }

    /// Whether the hash of the entry follows from its contents and from the previous entry of its
    /// account.
    pub fn is_chained_to(&self, previous: Option<&Self>) -> bool {
        let previous = previous.map_or(Some(ChainHash::START), Self::hash);
        let expected = previous.zip(self.contents()).map(|(previous, contents)| previous.then(contents));
        expected.is_some() && expected == self.hash()
    }
}

impl FromStr for ChainHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let (mut hash, is_upper) = ([0; 32], text.bytes().any(|byte| byte.is_ascii_uppercase()));
        hex::decode_to_slice(text, &mut hash).ok().filter(|()| !is_upper).ok_or(NoHash)?;
        Ok(Self(hash))
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 64];
        hex::encode_to_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
        out.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChainHash {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(input)?.parse().map_err(de::Error::custom)
    }
}
