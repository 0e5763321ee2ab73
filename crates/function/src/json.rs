//! The rules for JSON input (docs/decisions/input.md).

use crate::Fault;
use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{collections::BTreeSet, fmt};

/// Maximum number of nested arrays and objects in a field.
const MAX_DEPTH: usize = 32;
/// Maximum number of significant digits of a number. DynamoDB numbers have the same limit.
const MAX_DIGITS: usize = 38;

/// The members of an object, with unparsed values and possibly duplicate names.
pub(crate) type Members = Vec<(String, Box<RawValue>)>;

/// Escapes a name for a JSON pointer (RFC 6901).
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the faults in the values of an object's members, and its duplicate names.
///
/// Every parser must be able to read stored JSON, and all parsers must read the same value. The
/// values therefore have a limited depth, no lone surrogates, no duplicate members, and only
/// numbers that parsers can represent.
pub(crate) fn faults(pointer: &str, members: &Members) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_members(pointer, members, 0, &mut faults);
    faults
}

fn check_members(pointer: &str, members: &Members, depth: usize, faults: &mut Vec<Fault>) {
    let mut names = BTreeSet::new();
    for (name, value) in members {
        let pointer = format!("{pointer}/{}", escaped(name));
        if !names.insert(name) {
            push(faults, &pointer, "occurs more than once");
        }
        check(&pointer, value.get(), depth, faults);
    }
}

/// Checks a value. `json` is valid JSON except for lone surrogates.
fn check(pointer: &str, json: &str, depth: usize, faults: &mut Vec<Fault>) {
    match json.as_bytes().first() {
        Some(b'{' | b'[') if depth == MAX_DEPTH => push(faults, pointer, "is nested more than 32 levels deep"),
        Some(b'{') => match serde_json::from_str(json) {
            Ok(Object(members)) => check_members(pointer, &members, depth + 1, faults),
            Err(_) => push(faults, pointer, "has a member name with half of a surrogate pair"),
        },
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(json).unwrap_or_default();
            for (index, item) in items.iter().enumerate() {
                check(&format!("{pointer}/{index}"), item.get(), depth + 1, faults);
            }
        }
        Some(b'"') if serde_json::from_str::<String>(json).is_err() => {
            push(faults, pointer, "has half of a surrogate pair");
        }
        Some(b'-' | b'0'..=b'9') if !is_portable(json) => {
            push(faults, pointer, "must have at most 38 significant digits and the range of a 64-bit float");
        }
        _ => {}
    }
}

fn push(faults: &mut Vec<Fault>, pointer: &str, detail: &str) {
    faults.push(Fault { pointer: pointer.to_owned(), detail: detail.to_owned() });
}

/// Whether every parser can represent the number: as a 64-bit float that is neither infinite nor
/// rounded to 0, or with 38 decimal digits.
fn is_portable(number: &str) -> bool {
    let digits = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    let in_range = number.parse::<f64>().is_ok_and(|float| float.is_finite() && (float != 0.0 || digits.is_empty()));
    in_range && digits.len() <= MAX_DIGITS
}

/// A JSON object with unparsed values and possibly duplicate names.
pub(crate) struct Object(pub(crate) Members);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
            type Value = Object;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object, M::Error> {
                let mut members = Members::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }

        input.deserialize_map(Of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str) -> Vec<String> {
        let Object(members) = serde_json::from_str(&format!("{{\"data\": {value}}}")).expect("an object");
        faults("/body", &members).into_iter().map(|fault| format!("{} {}", fault.pointer, fault.detail)).collect()
    }

    fn nested(open: &str, close: &str, times: usize) -> String {
        format!("{}1{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn accepts_portable_json() {
        let numbers = ["0", "-0", "0.0e5", "1e308", "1.7976931348623157e308", "5e-324", "-0.10", "1E+50", "0.1000"];
        let digits = ["9".repeat(38), format!("1{}", "0".repeat(100)), format!("0.{}", "1".repeat(38))];
        let deep = [nested("[", "]", 32), nested("{\"a\":", "}", 32)];
        let texts = [r#""\ud83d\ude00""#, r#""\u0000\/""#, r#"{"a": 1, "A": 1}"#, "[[], {}, null, true]"];
        let all = numbers.map(str::to_owned).into_iter().chain(digits).chain(deep).chain(texts.map(str::to_owned));
        for value in all {
            assert_eq!(found(&value), Vec::<String>::new(), "{value}");
        }
    }

    #[test]
    fn locates_the_faults_of_other_json() {
        for number in ["1e309", "-1e999", "1e-400", &"9".repeat(39), &format!("0.{}", "1".repeat(39))] {
            let expected = "/body/data/0 must have at most 38 significant digits and the range of a 64-bit float";
            assert_eq!(found(&format!("[{number}]")), [expected], "{number}");
        }
        for text in [r#""\ud800""#, r#""\udc00a""#, r#""a\ud83d\ud83d""#] {
            assert_eq!(found(text), ["/body/data has half of a surrogate pair"], "{text}");
        }
        assert_eq!(found(r#"{"a": {"\ud800": 1}}"#), ["/body/data/a has a member name with half of a surrogate pair"]);
        assert_eq!(found(r#"[{"a": 1, "\u0061": 2}]"#), ["/body/data/0/a occurs more than once"]);
        for deep in [nested("[", "]", 33), nested("[", "]", 20_000), nested("{\"a\":", "}", 3_600)] {
            let found = found(&deep);
            assert!(found.len() == 1 && found[0].ends_with("is nested more than 32 levels deep"), "{found:?}");
        }
    }
}
