use crate::Random;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt, str::FromStr};
use uuid::Uuid;

/// The error for an invalid identifier, time or key. The message is meant for the API caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(Cow<'static, str>);

impl Invalid {
    pub(crate) fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self(why.into())
    }

    /// The error for a stored key that cannot be parsed. The message contains only the name of the
    /// key type.
    pub(crate) fn key(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

/// Creates a version 7 UUID. UUIDs of this version sort by creation time.
pub(crate) fn uuid_of(now: Timestamp, random: &Random) -> Uuid {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let [bytes @ .., _, _, _, _, _, _] = random.bits().to_be_bytes();
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &bytes).into_uuid()
}

/// A UUID in a key: 32 lower-case hexadecimal digits.
pub(crate) struct Simple(pub(crate) Uuid);

impl fmt::Display for Simple {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(out)
    }
}

impl FromStr for Simple {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_simple = text.len() == 32 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let uuid = is_simple.then(|| Uuid::try_parse(text).ok()).flatten();
        uuid.map(Self).ok_or(Invalid::key("Uuid"))
    }
}

/// Creates a version 8 UUID from a hash of the parts. Equal parts give the same UUID. It is
/// infeasible to find different parts with the same UUID.
///
/// For the id of a new item, the parts include the caller and the idempotency key. A repeated
/// request therefore gets the same id.
pub(crate) fn derived(parts: &[&str]) -> Uuid {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Returns a hash of the text below `bound`. The hash is part of stored keys, so it never changes.
/// A bound of 0 is treated as 1.
pub(crate) fn hashed(text: &str, bound: u8) -> u8 {
    let remainder = |rest: u16, byte: u8| ((rest << 8) | u16::from(byte)) % u16::from(bound.max(1));
    // The remainder is less than `bound`.
    u8::try_from(Sha256::digest(text).into_iter().fold(0, remainder)).unwrap_or_default()
}

/// Implements serialization with `Display` and deserialization with `FromStr`. Parsing must reverse
/// formatting.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }

        $crate::text::serde_from_text!($type);
    };
}

/// Implements deserialization with `FromStr`.
macro_rules! serde_from_text {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(input)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Defines a key type with a number from 1 to `$max`, in a text such as `Ticket#{:010}`.
macro_rules! numbered_key {
    ($(#[$doc:meta])* $name:ident($number:ty), $text:literal, $max:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($number);

        impl $name {
            /// The first key.
            pub const FIRST: Self = Self(1);
            /// The greatest number.
            pub const MAX: $number = $max;

            /// Returns the key with the number. Returns `None` if the number is 0 or too great.
            pub fn new(number: $number) -> Option<Self> {
                (1..=Self::MAX).contains(&number).then_some(Self(number))
            }

            /// Returns the next key. Returns `None` after the last one.
            pub fn next(self) -> Option<Self> {
                Self::new(self.0 + 1)
            }

            /// The number.
            pub fn number(self) -> $number {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, $text, self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let digits = text.rsplit('#').next().unwrap_or_default();
                let key = digits.parse().ok().and_then(Self::new);
                key.filter(|key| key.to_string() == text).ok_or($crate::Invalid::key(stringify!($name)))
            }
        }

        $crate::text::serde_as_text!($name);
    };
}

/// Defines an enumeration whose values have names in keys and in JSON. The text after the type says
/// which names are valid.
macro_rules! names {
    ($(#[$meta:meta])* pub enum $type:ident$( as $schema:literal$( ($about:literal))?)?: $expected:literal {
        $($(#[$of:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$of])* $variant,)+
        }

        impl $type {
            /// All values in alphabetical order, which is also the order of the keys.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in keys and in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let named = Self::ALL.into_iter().find(|one| one.as_str() == text);
                named.ok_or_else(|| $crate::Invalid::new($expected))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.as_str())
            }
        }

        $crate::text::serde_as_text!($type);
        $($crate::schema!($type as $schema, |_| ::schemars::json_schema!({
            $("description": $about,)?
            "type": "string",
            "enum": $type::ALL.map($type::as_str)
        }));)?
    };
}

pub(crate) use {names, numbered_key, serde_as_text, serde_from_text};
