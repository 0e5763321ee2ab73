use crate::Random;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

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
pub(crate) fn uuid_of(now: jiff::Timestamp, random: &Random) -> uuid::Uuid {
    let milliseconds = u64::try_from(now.as_millisecond()).unwrap_or_default();
    let [bytes @ .., _, _, _, _, _, _] = random.bits().to_be_bytes();
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &bytes).into_uuid()
}

/// Parses a UUID of 32 lower-case hexadecimal digits, the only accepted form.
pub(crate) fn parse_simple(text: &str) -> Option<uuid::Uuid> {
    let is_simple = text.len() == 32 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
    if is_simple { uuid::Uuid::try_parse(text).ok() } else { None }
}

/// Creates a version 8 UUID from a hash of the parts. Equal parts give the same UUID. It is
/// infeasible to find different parts with the same UUID.
///
/// For the id of a new item, the parts include the caller and the idempotency key. A repeated
/// request therefore gets the same id.
pub(crate) fn derived(parts: &[&str]) -> uuid::Uuid {
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

/// Defines a key type that puts two literals around an identifier or another key. The second
/// literal may be empty.
macro_rules! framed_key {
    ($(#[$doc:meta])* $name:ident, $before:literal, $after:literal, $inner:ty) => {
        $crate::text::framed_key!($(#[$doc])* $name, ($before), ($after), $inner);
    };
    ($(#[$doc:meta])* $name:ident, ($($before:literal),+), ($after:literal), $inner:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(out, concat!($($before,)+ "{}", $after), self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let inner = text
                    .strip_prefix(concat!($($before),+))
                    .and_then(|rest| rest.strip_suffix($after))
                    .ok_or($crate::Invalid::key(stringify!($name)))?;
                inner.parse().map(Self)
            }
        }

        $crate::text::serde_as_text!($name);
    };
}

/// Defines a key type that puts a literal and `#` before an identifier or another key.
macro_rules! prefixed_key {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $inner:ty) => {
        $crate::text::framed_key!($(#[$doc])* $name, ($prefix, "#"), (""), $inner);
    };
}

/// Defines a key type that has only one value.
macro_rules! constant_key {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name;

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                if text == $text { Ok(Self) } else { Err($crate::Invalid::key(stringify!($name))) }
            }
        }

        $crate::text::serde_as_text!($name);
    };
}

/// Defines the names of the variants of an enumeration, in keys and in JSON.
macro_rules! names {
    ($type:ident, $expected:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// All values in alphabetical order, which is also the order of the keys.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in keys and in JSON.
            #[must_use]
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
    };
}

pub(crate) use {constant_key, framed_key, names, prefixed_key, serde_as_text, serde_from_text};
