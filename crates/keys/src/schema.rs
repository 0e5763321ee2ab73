//! JSON Schemas of texts, for the OpenAPI document
//! ([decision](../../../docs/decisions/openapi.md)).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

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

/// A visible character of a text, as a pattern.
const VISIBLE: &str = concat!(r"[^\x00-\x20", invisible!(), r"\ufff0-\ufffb\ufffe\uffff]");

/// A character that a text may contain, as a pattern.
const PLAIN: &str = r"[^\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]";

/// The pattern of [`crate::is_plain_text`]. It accepts U+200D also where it joins nothing.
#[must_use]
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

schema!(crate::Day as "Day": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"});

schema!(crate::Bound as "TimeBound", |generator| json_schema!({
    "description": "Start or end of a time range: a time, or a date, which means the whole day in UTC. A time outside \
        the range of stored times is no limit on its own side, and gives an empty range on the other side.",
    "anyOf": [titled::<crate::Day>(generator), titled::<Time>(generator)]
}));

schema!(crate::IdempotencyKey as "IdempotencyKey", |generator| json_schema!({
    "description": "A `Label` without commas. The header occurs once.",
    "allOf": [generator.subschema_for::<Label>()],
    "not": {"pattern": ","}
}));

schema!(crate::bank::PaymentId as "PaymentId": {
    "type": "string",
    "pattern": "^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{32}$"
});

schema!(crate::bank::JobId as "BankJobId": {
    "description": "The kind of the job and its id.",
    "type": "string",
    "maxLength": 200,
    "pattern": "^(dispatch-.+|close-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{4,})$"
});

schema!(crate::bank::ImportId as "ImportId": {
    "description": "Name of the file without its ending. A name in another folder has slashes, as %2F in the path.",
    "type": "string",
    "minLength": 1,
    "maxLength": 1024
});

schema!(crate::bank::ImportRun as "ImportRunId": {"type": "string", "pattern": "^[0-9A-Fa-f]{1,64}$"});

schema!(crate::cart::ItemId as "ItemId": {"type": "string", "pattern": "^[0-9a-f]{32}$"});

schema!(crate::cart::Status as "CartItemStatus", |_| {
    let listed = crate::cart::Status::ALL.into_iter().filter(|status| status.is_listed());
    json_schema!({"type": "string", "enum": listed.collect::<Vec<_>>()})
});

schema!(crate::wellness::PlanTime as "PlanTime", |generator| match generator.contract() {
    contract if contract.is_serialize() => Seconds::json_schema(generator),
    _ => json_schema!({
        "description": "A time, or a date, which means the first second of that day.",
        "anyOf": [titled::<crate::Day>(generator), titled::<LocalTime>(generator), titled::<Time>(generator)]
    }),
});
schema_of!(crate::wellness::PlanBound, crate::wellness::PlanTime);

schema!(crate::wellness::Year as "Year": {"type": "integer", "minimum": 1000, "maximum": 9999});

schema!(crate::wellness::JobId as "JobId": {
    "type": "string",
    "pattern": concat!(
        "^(Activity|Course|Departure|EmployeeErasure|Enrolment|Erasure|Export|File|Groups|Notification|Report|Rewards|\
         Seats|Tracker|Upload|Venue)Id-",
        part!(),
        "{1,128}$"
    )
});

/// An alternative of a union. Generated clients need its title.
pub(crate) fn titled<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"title": T::schema_name(), "allOf": [generator.subschema_for::<T>()]})
}

/// A type whose requests accept more forms than responses have.
macro_rules! lenient {
    ($type:ty, $request:ty, $response:ty) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                <$response>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                if generator.contract().is_deserialize() {
                    generator.subschema_for::<$request>()
                } else {
                    generator.subschema_for::<$response>()
                }
            }
        }
    };
}

lenient!(crate::TimestampSeconds, Time, Seconds);
lenient!(crate::TimestampMillis, Time, Millis);
