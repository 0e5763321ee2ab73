use crate::alphabet::is_visible;
use crate::text::{Invalid, Simple, serde_as_text, uuid_of};
use crate::time::Exact;
use crate::{Random, TimestampMillis};
use derives::Key;
use std::{fmt, str::FromStr};

/// Maximum length of an identifier, in characters.
const MAX_LENGTH: usize = 128;

/// Maximum length of a reference, in characters.
const MAX_REFERENCE: usize = 64;

/// Maximum length of a name in metadata or of an attribute, in characters.
const MAX_NAME: usize = 40;

/// Returns whether the text is a valid identifier. A value that is not cannot name anything.
pub fn is_identifier(text: &str) -> bool {
    check(text).is_ok()
}

/// Checks the length and the alphabet of an identifier (docs/decisions/input.md).
pub(crate) fn check(text: &str) -> Result<(), Invalid> {
    check_length(text)?;
    check_segment(text)?;
    check_alphabet(text)
}

/// A URL parser removes these segments from a path, also in their percent-encoded form. That form
/// has at most six characters.
fn check_segment(text: &str) -> Result<(), Invalid> {
    if text.len() > "%2e%2e".len() {
        return Ok(());
    }
    let decoded = text.to_ascii_lowercase().replace("%2e", ".");
    if decoded == "." || decoded == ".." {
        return Err(Invalid::new("must not be `.` or `..`, because clients remove these segments from a path"));
    }
    Ok(())
}

fn check_alphabet(text: &str) -> Result<(), Invalid> {
    // Most identifiers have only such characters, and a page has many.
    if text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'[' | b']')) {
        return Ok(());
    }
    if text.contains(['#', '[', ']']) {
        return Err(Invalid::new("must not contain `#`, `[` or `]`"));
    }
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err(Invalid::new("must not contain U+FFFD, which replaces bytes that are not UTF-8"));
    }
    if !text.chars().all(is_visible) {
        return Err(Invalid::new("must not contain white space, control characters or invisible characters"));
    }
    Ok(())
}

/// Checks a label: an identifier that may also contain single spaces between words.
pub(crate) fn check_label(text: &str) -> Result<(), Invalid> {
    check_length(text)?;
    check_segment(text)?;
    if text.split(' ').any(str::is_empty) {
        return Err(Invalid::new("must have single spaces, and only between words"));
    }
    text.split(' ').try_for_each(check_alphabet)
}

/// Checks an idempotency key. API Gateway joins the values of a repeated header with commas, so a
/// key with a comma may be two keys (docs/decisions/input.md).
pub(crate) fn check_key(text: &str) -> Result<(), Invalid> {
    if text.contains(',') {
        return Err(Invalid::new(
            "must be sent once, without commas: 1 to 128 visible characters, with single spaces between words",
        ));
    }
    check_label(text)
}

/// Checks a word: ASCII letters, digits, `-` and `_`, with a letter first. A letter of another
/// script could look like one of a reserved word.
pub(crate) fn check_word(text: &str) -> Result<(), Invalid> {
    check_length(text)?;
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.chars().all(is_part) {
        return Ok(());
    }
    Err(Invalid::new("must have only the letters a to z and A to Z, digits, `-` and `_`, and start with a letter"))
}

/// Checks a reference: a short label.
pub(crate) fn check_reference(text: &str) -> Result<(), Invalid> {
    if text.chars().nth(MAX_REFERENCE).is_some() {
        return Err(Invalid::new("must have at most 64 characters"));
    }
    check_label(text)
}

/// Checks a name in metadata or of an attribute: ASCII letters, digits, `-` and `_`.
pub(crate) fn check_name(text: &str) -> Result<(), Invalid> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if (1..=MAX_NAME).contains(&text.len()) && text.chars().all(is_part) {
        return Ok(());
    }
    Err(Invalid::new("must have 1 to 40 characters: the letters a to z and A to Z, digits, `-` and `_`"))
}

/// Names that no attribute has, in any case: those of the other filters of an activity, and of the
/// other columns of a file of employees.
const NOT_ATTRIBUTES: [&str; 8] = ["type", "subType", "roles", "departments", "userId", "role", "department", "name"];

/// Checks the name of an attribute of an employee (docs/decisions/wellness-employees.md).
pub(crate) fn check_attribute_name(text: &str) -> Result<(), Invalid> {
    check_name(text)?;
    if NOT_ATTRIBUTES.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        return Err(Invalid::new(
            "must not be type, subType, roles, departments, userId, role, department or name, in any case",
        ));
    }
    Ok(())
}

fn check_length(text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Err(Invalid::new("must not be empty"));
    }
    if text.chars().nth(MAX_LENGTH).is_some() {
        return Err(Invalid::new("must have at most 128 characters"));
    }
    Ok(())
}

/// Defines identifier types. `identifier!(check_label: …)` defines types with another check:
/// labels, which people read, words, which are compared with reserved words, and idempotency keys.
macro_rules! identifier {
    (check: $($(#[$doc:meta])* $name:ident;)+) => {$(
        $crate::id::identifier!(check_as check as Id:
            $(#[$doc])*
            ///
            /// The text has 1 to 128 visible characters without white space, `#`, `[` and `]`. `#`
            /// separates the parts of a key, so no identifier looks like a key with several parts.
            /// It is neither `.` nor `..`, so that it can be a segment of a path.
            $name;
        );
    )+};
    (check_label: $($(#[$doc:meta])* $name:ident;)+) => {$(
        $crate::id::identifier!(check_as check_label as Label:
            $(#[$doc])*
            ///
            /// The text has the form of an identifier, and may have single spaces between words.
            $name;
        );
    )+};
    (check_word: $($(#[$doc:meta])* $name:ident;)+) => {$(
        $crate::id::identifier!(check_as check_word as Word:
            $(#[$doc])*
            ///
            /// The text has 1 to 128 ASCII letters, digits, `-` and `_`, and starts with a letter.
            $name;
        );
    )+};
    (check_as $check:ident$( as $schema:ident)?: $(#[$doc:meta])* $name:ident;) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Creates an identifier from the hexadecimal digits of a generated id.
            #[allow(dead_code, reason = "callers supply most identifiers")]
            pub(crate) fn generated(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::id::$check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }

        $crate::text::serde_as_text!($name);
        $($crate::schema_of!($name, $crate::schema::$schema);)?
    };
    ($($rest:tt)+) => { $crate::id::identifier!(check: $($rest)+); };
}

pub(crate) use identifier;

identifier! {
    /// The id of a customer's account: the partition key of the bank's and the cart's tables.
    AccountId;
    /// The transaction id that the bank assigned to a processed payment. No other payment can have
    /// the same id (docs/decisions/idempotency.md).
    TransactionId;
}

identifier! {
    check_as check_key:
    /// The value of the request header `Idempotency-Key`.
    ///
    /// The text has the form of a label without commas.
    IdempotencyKey;
}

identifier! {
    /// The stock keeping unit (SKU) of a product: the partition key of the cart's index.
    Sku;
    /// The id of the order in which a cart item was purchased.
    OrderId;
}

impl OrderId {
    /// Generates an id from the time `now` and random bits.
    pub fn new(now: jiff::Timestamp, random: &Random) -> Self {
        Self::generated(&uuid_of(now, random).simple().to_string())
    }

    /// Returns the time in a generated id: the time at which the order was placed. `None` if the id
    /// has no valid time.
    pub fn time(&self) -> Option<TimestampMillis> {
        let Simple(id) = self.0.parse().ok()?;
        TimestampMillis::of_uuid(id)
    }

    /// Returns the start of the ids that are generated at the time: the 12 hexadecimal digits of
    /// its milliseconds since 1970.
    pub(crate) fn start(time: TimestampMillis) -> String {
        format!("{:012x}", time.instant().as_millisecond().max(0))
    }
}

/// Sort key of an idempotency record. The record is in the partition of the account, outside the
/// sort key ranges of the other items.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("IDEMPOTENCY#{0}")]
pub struct IdempotencySort(pub IdempotencyKey);

/// The id of an invocation. Parsing accepts any form of a UUID.
///
/// An item stores the id of the invocation that changed it last. After a lost response, the id
/// shows whether the invocation has made its change (docs/decisions/idempotency.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(uuid::Uuid);

impl RequestId {
    /// Generates an id from the time `now` and random bits.
    pub fn new(now: jiff::Timestamp, random: &Random) -> Self {
        Self(uuid_of(now, random))
    }
}

impl FromStr for RequestId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().map(Self).map_err(|_| Invalid::key("RequestId"))
    }
}

impl FromStr for Exact<RequestId> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().map(|Simple(id)| Self(RequestId(id)))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Simple(self.0).fmt(out)
    }
}

serde_as_text!(RequestId);

identifier! {
    /// A hash of an item's primary key. The key itself can be invalid or too long for a sort key.
    ItemHash;
}

impl ItemHash {
    /// Returns the hash of a primary key.
    pub fn of(partition: &str, sort: &str) -> Self {
        Self::generated(&crate::text::derived(&["item", partition, sort]).to_string())
    }
}

crate::schema!(IdempotencyKey as "IdempotencyKey", |generator| ::schemars::json_schema!({
    "description": "A `Label` without commas. The header occurs once.",
    "allOf": [generator.subschema_for::<crate::schema::Label>()],
    "not": {"pattern": ","}
}));
