use crate::Random;
use crate::text::{Invalid, prefixed_key, serde_as_text};
use std::{fmt, str::FromStr};

/// The longest identifier, in characters.
const LONGEST: usize = 128;

pub(crate) fn check(text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::new("must not be empty"));
    }
    if text.chars().nth(LONGEST).is_some() {
        return Err(Invalid::new("must have at most 128 characters"));
    }
    if text.contains('#') {
        return Err(Invalid::new("must not contain `#`"));
    }
    if text.chars().any(char::is_control) {
        return Err(Invalid::new("must not contain control characters"));
    }
    Ok(())
}

/// An identifier of its own type; also for the modules of the domains.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// 1 to 128 characters, no `#` and no control characters: `#` separates the parts of a
        /// key, so no key can be forged through an identifier.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The identifier as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// One that was made here, of hexadecimal digits.
            #[allow(dead_code, reason = "most identifiers are the callers'")]
            pub(crate) fn generated(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::id::check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }

        $crate::text::serde_as_text!($name);
    };
}

pub(crate) use identifier;

identifier!(
    /// A customer's account: the partition key of the bank tables.
    AccountId
);
identifier!(
    /// What a processed payment became at the bank; names one payment only.
    TransactionId
);
identifier!(
    /// What the caller sent as `Idempotency-Key`.
    IdempotencyKey
);
identifier!(
    /// A product: the partition key of the cart's index.
    Sku
);
identifier!(
    /// What a cart line was purchased under.
    OrderId
);

impl OrderId {
    /// A new one, made at `now`.
    #[must_use]
    pub fn new(now: jiff::Timestamp, random: &Random) -> Self {
        Self::generated(&crate::text::uuid_of(now, random).simple().to_string())
    }
}

prefixed_key!(
    /// SK of the record that makes a POST repeatable: `IDEMPOTENCY#<key>`, beside the items of its account and outside
    /// their ranges.
    IdempotencySort,
    "IDEMPOTENCY",
    IdempotencyKey
);

/// Names one invocation; written with a change, it tells an answer that was lost from another's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(uuid::Uuid);

impl RequestId {
    /// A new one, made at `now`.
    #[must_use]
    pub fn new(now: jiff::Timestamp, random: &Random) -> Self {
        Self(crate::text::uuid_of(now, random))
    }
}

impl FromStr for RequestId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().map(Self).map_err(|_| Invalid::key("RequestId"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(out)
    }
}

serde_as_text!(RequestId);
