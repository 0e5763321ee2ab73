//! JSON Schemas of texts, for the OpenAPI document
//! ([decision](../../../docs/decisions/openapi.md)).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Gives a type its schema: `schema!(Day as "Day": {"type": "string", "format": "date"})`. The
/// document has one schema for all types with the same name.
#[macro_export]
macro_rules! schema {
    ($type:ty as $name:literal: $schema:tt) => {
        $crate::schema!($type as $name, |_| ::schemars::json_schema!($schema));
    };
    ($type:ty as $name:literal, $schema:expr) => {
        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let schema: fn(&mut ::schemars::SchemaGenerator) -> ::schemars::Schema = $schema;
                schema(generator)
            }
        }
    };
}

/// Implements `JsonSchema` by another type's schema: `schema_of!(AccountId, Id)`.
#[macro_export]
macro_rules! schema_of {
    ($type:ty, $other:ty) => {
        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                <$other as ::schemars::JsonSchema>::inline_schema()
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                <$other as ::schemars::JsonSchema>::schema_name()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                <$other as ::schemars::JsonSchema>::schema_id()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                <$other as ::schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}

/// The characters that no identifier contains, for a character class of a pattern. Characters that
/// Unicode has not assigned are not listed.
macro_rules! invisible {
    () => {
        r"\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0"
    };
}

/// A part of an identifier, as a pattern.
macro_rules! part {
    () => {
        concat!(r"[^#\[\]\x00-\x20", invisible!(), r"\ufff0-\uffff]")
    };
}

/// A character of an identifier, as a pattern.
pub(crate) const PART: &str = part!();

/// A visible character of a text, as a pattern.
const VISIBLE: &str = concat!(r"[^\x00-\x20", invisible!(), r"\ufff0-\ufffb\ufffe\uffff]");

/// A character that a text may contain, as a pattern.
const PLAIN: &str = r"[^\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]";

/// The pattern of [`crate::is_plain_text`]. It accepts U+200D also where it joins nothing.
pub fn plain_text() -> String {
    format!("^{PLAIN}*{VISIBLE}{PLAIN}*$")
}

/// The schema of an identifier.
pub(crate) struct Id;
schema!(Id as "Id": {
    "description": "Visible characters of any script, without white space, `#`, `[` and `]`. The pattern does not list \
        the characters that Unicode has not assigned, which are also rejected. `.` and `..` are rejected, because \
        clients remove them from a path.",
    "type": "string",
    "not": {"pattern": r"^(\.|%2[eE]){1,2}$"},
    "minLength": 1,
    "maxLength": 128,
    "pattern": concat!("^", part!(), "+$")
});

/// The schema of a label.
pub(crate) struct Label;
schema!(Label as "Label": {
    "description": "Parts with the characters of an `Id`, separated by single spaces. It is not `.` or `..`.",
    "type": "string",
    "not": {"pattern": r"^(\.|%2[eE]){1,2}$"},
    "minLength": 1,
    "maxLength": 128,
    "pattern": concat!("^", part!(), "+( ", part!(), "+)*$")
});

/// The schema of a word.
pub(crate) struct Word;
schema!(Word as "Word": {
    "description": "ASCII letters, digits, `-` and `_`, with a letter first.",
    "type": "string",
    "minLength": 1,
    "maxLength": 128,
    "pattern": "^[A-Za-z][A-Za-z0-9_-]*$"
});

/// The name of an attribute of an employee.
pub(crate) struct AttributeName;
schema!(AttributeName as "AttributeName": {
    "description": "ASCII letters, digits, `-` and `_`. The names of the other filters and of the other columns of a \
        file of employees are reserved.",
    "type": "string",
    "not": {"pattern": "^([Tt][Yy][Pp][Ee]|[Ss][Uu][Bb][Tt][Yy][Pp][Ee]|[Rr][Oo][Ll][Ee][Ss]?|\
        [Dd][Ee][Pp][Aa][Rr][Tt][Mm][Ee][Nn][Tt][Ss]?|[Uu][Ss][Ee][Rr][Ii][Dd]|[Nn][Aa][Mm][Ee])$"},
    "pattern": "^[A-Za-z0-9_-]{1,40}$"
});

/// A time of a request.
pub(crate) struct Time;
schema!(Time as "Time": {
    "description": "RFC 3339 time with any offset. The service truncates it to seconds or milliseconds.",
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
});

/// A time without an offset.
pub(crate) struct LocalTime;
schema!(LocalTime as "LocalTime": {
    "description": "Time in UTC without the suffix `Z`.",
    "type": "string",
    "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"
});

pub(crate) struct Seconds;
schema!(Seconds as "TimestampSeconds": {
    "description": "Time in UTC with a precision of seconds.",
    "type": "string",
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
});

pub(crate) struct Millis;
schema!(Millis as "TimestampMillis": {
    "description": "Time in UTC with a precision of milliseconds.",
    "type": "string",
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"
});

/// An alternative of a union. Generated clients need its title.
pub(crate) fn titled<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"title": T::schema_name(), "allOf": [generator.subschema_for::<T>()]})
}

/// A type whose requests accept more forms than responses have.
macro_rules! lenient {
    ($type:ty, $request:ty, $response:ty) => {
        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                <$response as ::schemars::JsonSchema>::schema_name()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                if generator.contract().is_deserialize() {
                    generator.subschema_for::<$request>()
                } else {
                    generator.subschema_for::<$response>()
                }
            }
        }
    };
}

pub(crate) use lenient;
