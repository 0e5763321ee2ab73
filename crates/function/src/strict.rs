//! Deserializes JSON input, and locates and describes its first fault.
//!
//! Derived `Deserialize` implementations accept an array of field values in place of an object, and
//! name Rust types in their errors. Input must not depend on either.

use crate::whole::whole;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        Visitor,
    },
};
use serde_json::value::RawValue;
use std::{cell::RefCell, fmt};

/// The first fault of a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The location in the value, as member names and indexes.
    pub(crate) path: Vec<String>,
    /// The description for the API caller.
    pub(crate) detail: String,
}

const NOT_DOCUMENTED: &str = "must be one of the documented values";

/// Deserializes valid JSON text.
///
/// # Errors
/// The text does not describe a `T`. An array never describes a struct.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, Mismatch> {
    let trail = RefCell::new(Vec::new());
    let mut text = serde_json::Deserializer::from_str(json);
    T::deserialize(Strict { inner: &mut text, trail: &trail }).map_err(|error| {
        let mut path = trail.take();
        path.reverse();
        if let Some(missing) = without_position(&error).strip_prefix("missing field `") {
            path.push(missing.trim_end_matches('`').to_owned());
        }
        // The text is valid JSON. serde_json reports a value that is not a text for an enum like
        // this.
        let is_of_enum = without_position(&error) == "expected value";
        let detail = if is_of_enum { NOT_DOCUMENTED.to_owned() } else { described(&error) };
        Mismatch { path, detail }
    })
}

/// Wraps a deserializer and everything that it passes on. `trail` collects the location of an
/// error, innermost part first.
struct Strict<'t, T> {
    inner: T,
    trail: &'t RefCell<Vec<String>>,
}

impl<'t, T> Strict<'t, T> {
    fn around<U>(&self, inner: U) -> Strict<'t, U> {
        Strict { inner, trail: self.trail }
    }

    /// Adds the location to the trail if the result is an error.
    fn located<U, E>(&self, result: Result<U, E>, at: impl FnOnce() -> String) -> Result<U, E> {
        result.inspect_err(|_| self.trail.borrow_mut().push(at()))
    }
}

/// Reads an integer of JSON Schema, such as `2.0` or `2e0`, from the text of the number.
macro_rules! whole_numbers {
    ($($method:ident),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            let text = Box::<RawValue>::deserialize(self.inner)?;
            let number = whole(text.get());
            match number.map(|number| (number, u64::try_from(number))) {
                Some((_, Ok(number))) => visitor.visit_u64(number),
                Some((number, Err(_))) => visitor.visit_i64(number),
                None => Err(D::Error::invalid_type(Unexpected::Other("another value"), &visitor)),
            }
        }
    )+};
}

macro_rules! forward {
    ($($method:ident($($name:ident: $type:ty),*)),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.around(visitor);
            self.inner.$method($($name,)* visitor)
        }
    )+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    forward!(
        deserialize_any(),
        deserialize_bool(),
        deserialize_i128(),
        deserialize_u128(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_option(),
        deserialize_unit(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_seq(),
        deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_map(),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
        deserialize_identifier(),
        deserialize_ignored_any(),
    );

    whole_numbers!(
        deserialize_i8,
        deserialize_i16,
        deserialize_i32,
        deserialize_i64,
        deserialize_u8,
        deserialize_u16,
        deserialize_u32,
        deserialize_u64,
    );

    /// An object, and not an array of the field values.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }
}

macro_rules! visit {
    ($($method:ident($($name:ident: $type:ty)?)),+ $(,)?) => {$(
        fn $method<E: serde::de::Error>(self, $($name: $type)?) -> Result<V::Value, E> {
            self.inner.$method($($name)?)
        }
    )+};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'_, V> {
    type Value = V::Value;

    visit!(
        visit_bool(value: bool),
        visit_i64(value: i64),
        visit_u64(value: u64),
        visit_f64(value: f64),
        visit_str(value: &str),
        visit_borrowed_str(value: &'de str),
        visit_string(value: String),
        visit_none(),
        visit_unit(),
    );

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(out)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.around(value);
        self.inner.visit_some(value)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        let value = self.around(value);
        self.inner.visit_newtype_struct(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        let items = Items { items: self.around(items), index: 0 };
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        let members = Members { members: self.around(members), name: String::new() };
        self.inner.visit_map(members)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(value)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<S::Value, D::Error> {
        let input = self.around(input);
        self.inner.deserialize(input)
    }
}

/// The items of an array.
struct Items<'t, A> {
    items: Strict<'t, A>,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.items.around(seed);
        let item = self.items.inner.next_element_seed(seed);
        let item = self.items.located(item, || self.index.to_string());
        self.index += 1;
        item
    }
}

/// The members of an object.
struct Members<'t, A> {
    members: Strict<'t, A>,
    /// The name of the current member.
    name: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(name) = self.members.inner.next_key::<String>()? else { return Ok(None) };
        self.name.clone_from(&name);
        let known: Result<_, serde::de::value::Error> = seed.deserialize(name.into_deserializer());
        self.members.located(known, || self.name.clone()).map(Some).map_err(A::Error::custom)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.members.around(seed);
        let value = self.members.inner.next_value_seed(seed);
        self.members.located(value, || self.name.clone())
    }
}

/// The message of a serde error in the words of JSON, without Rust types and positions. Messages of
/// other types pass unchanged.
pub(crate) fn described(error: &serde_json::Error) -> String {
    let text = without_position(error);
    let text = text.as_str();
    for (start, detail) in [
        ("missing field ", "is missing"),
        ("unknown field ", "is unknown"),
        ("duplicate field ", "occurs more than once"),
    ] {
        if text.starts_with(start) {
            return detail.to_owned();
        }
    }
    let is_mismatch =
        ["invalid type: ", "invalid value: ", "invalid length "].iter().any(|kind| text.starts_with(kind));
    match text.rsplit_once(", expected ").filter(|_| is_mismatch) {
        Some((_, expected)) => format!("must be {}", named(expected)),
        None if text.starts_with("unknown variant ") => NOT_DOCUMENTED.to_owned(),
        None if error.is_syntax() || error.is_eof() => format!("is not valid JSON: {text}"),
        None => text.to_owned(),
    }
}

/// The message without its position, which refers to the field instead of the body.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// The name of an expected value in JSON.
fn named(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "u128" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" | "i128" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" | "a character" | "string or map" | "variant identifier" => "a string",
        "a sequence" => "an array",
        "a map" | "any valid JSON value" => "a JSON object",
        "unit" => "null",
        other if other.starts_with("struct ") => "a JSON object",
        other if other.starts_with("tuple ") || other.contains("array of length") => {
            "an array of the documented length"
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Leg {
        account_id: String,
        amount: u8,
        #[serde(default)]
        more: Vec<Option<Leg>>,
        #[serde(default)]
        map: BTreeMap<String, bool>,
    }

    #[derive(Debug, Deserialize)]
    enum Side {
        Open,
    }

    fn fault<T: DeserializeOwned + fmt::Debug>(json: &str) -> String {
        let Mismatch { path, detail } = read::<T>(json).expect_err(json);
        format!("/{} {detail}", path.join("/"))
    }

    #[test]
    fn locates_and_describes_faults() {
        for (json, expected) in [
            (r#"[["A", 1]]"#, "/0 must be a JSON object"),
            (
                r#"[{"accountId": "A", "amount": 1}, {"accountId": "A", "amount": "1"}]"#,
                "/1/amount must be a whole number from 0 to 255",
            ),
            (r#"[{"accountId": "A", "amount": 256}]"#, "/0/amount must be a whole number from 0 to 255"),
            (r#"[{"accountId": "A", "amount": 1.5}]"#, "/0/amount must be a whole number from 0 to 255"),
            (r#"[{"accountId": 5, "amount": 1}]"#, "/0/accountId must be a string"),
            (r#"[{"accountId": "A"}]"#, "/0/amount is missing"),
            (r#"[{"accountId": "A", "accountId": "A"}]"#, "/0 occurs more than once"),
            (r#"[{"accountId": "A", "amount": 1, "x": 1}]"#, "/0/x is unknown"),
            (r#"[{"accountId": "A", "amount": 1, "more": [null, ["B", 1]]}]"#, "/0/more/1 must be a JSON object"),
            (r#"[{"accountId": "A", "amount": 1, "map": {"a/b": 1}}]"#, "/0/map/a/b must be true or false"),
            (r#"[{"accountId": "A", "amount": 1, "map": []}]"#, "/0/map must be a JSON object"),
            ("{}", "/ must be an array"),
            ("null", "/ must be an array"),
        ] {
            assert_eq!(fault::<Vec<Leg>>(json), expected, "{json}");
        }
        assert_eq!(fault::<u64>("-1"), "/ must be a whole number of 0 or more");
        for json in ["null", "1", "{}", "[]", "\"Closed\""] {
            assert_eq!(fault::<Side>(json), "/ must be one of the documented values", "{json}");
        }
    }

    #[test]
    fn reads_valid_values_like_serde_json() {
        let json = r#"[{"accountId": "Ä\n", "amount": 1, "more": [null, {"amount": 0, "accountId": ""}], "map": {"a": true}}]"#;
        assert_eq!(read::<Vec<Leg>>(json).expect("legs"), serde_json::from_str::<Vec<Leg>>(json).expect("legs"));
        let raw = read::<BTreeMap<String, Box<RawValue>>>(r#"{"a": {"b": 1.50}}"#).expect("raw JSON");
        assert_eq!(raw["a"].get(), r#"{"b": 1.50}"#);
        assert_eq!(read::<Option<Option<u8>>>("null"), Ok(None));
    }
}
