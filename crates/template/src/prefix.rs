//! Object prefixes of delivery streams. `!{…}` expressions insert the arrival time.
use std::fmt::Write;

use jiff::{Timestamp, tz::TimeZone};
use uuid::Uuid;

/// Object prefix with its expressions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefix(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `strftime` directives, applied to the time in UTC.
    Time(String),
    RandomString,
    ErrorOutputType,
}

impl Prefix {
    /// Parses a prefix. The error message names an unsupported expression.
    pub(crate) fn read(text: &str, of_errors: bool) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("!{") {
            let length = rest[start..].find('}').ok_or("a prefix has a !{ without a }")?;
            parts.push(Part::Literal(rest[..start].to_owned()));
            parts.push(Part::read(&rest[start + 2..start + length], of_errors)?);
            rest = &rest[start + length + 1..];
        }
        parts.push(Part::Literal(rest.to_owned()));
        if of_errors && !text.is_empty() && !parts.contains(&Part::ErrorOutputType) {
            return Err("an ErrorOutputPrefix needs !{firehose:error-output-type}".to_owned());
        }
        // Firehose appends the hour to a prefix without a timestamp.
        if !of_errors && !parts.iter().any(|part| matches!(part, Part::Time(_))) {
            parts.push(Part::Time("%Y/%m/%d/%H/".to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns the prefix for data that arrives at this time.
    pub fn at(&self, time: Timestamp) -> String {
        let time = time.to_zoned(TimeZone::UTC);
        let mut out = String::new();
        for part in &self.0 {
            // Writing to a String can't fail.
            let _ = match part {
                Part::Literal(text) => out.write_str(text),
                Part::Time(format) => write!(out, "{}", time.strftime(format)),
                Part::RandomString => out.write_str(&Uuid::new_v4().simple().to_string()[..11]),
                Part::ErrorOutputType => out.write_str("processing-failed"),
            };
        }
        out
    }
}

impl Part {
    fn read(expression: &str, of_errors: bool) -> Result<Self, String> {
        match expression.split_once(':') {
            Some(("timestamp", pattern)) => directives(pattern).map(Self::Time),
            Some(("firehose", "random-string")) => Ok(Self::RandomString),
            Some(("firehose", "error-output-type")) if of_errors => Ok(Self::ErrorOutputType),
            _ => Err(format!("the local stack does not support !{{{expression}}} in a prefix")),
        }
    }
}

/// Converts a Java date pattern with numeric fields to `strftime` directives.
fn directives(pattern: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(first).len();
        let (piece, next) = rest.split_at(run);
        let known = match piece {
            "yyyy" => "%Y",
            "MM" => "%m",
            "dd" => "%d",
            "HH" => "%H",
            "mm" => "%M",
            "ss" => "%S",
            "%" => "%%",
            other if !first.is_ascii_alphabetic() && first != '\'' && first != '%' => other,
            other => return Err(format!("the local stack does not support {other} in a timestamp")),
        };
        out.push_str(known);
        rest = next;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluates_a_prefix_in_utc() {
        let time: Timestamp = "2026-03-04T23:59:58.5-05:00".parse().unwrap();
        for (prefix, expected) in [
            ("changes/cart-items/hour=!{timestamp:yyyy-MM-dd-HH}/", "changes/cart-items/hour=2026-03-05-04/"),
            ("y=!{timestamp:yyyy}/m=!{timestamp:MM}/!{timestamp:mm.ss}-", "y=2026/m=03/59.58-"),
            ("plain/", "plain/2026/03/05/04/"),
            ("", "2026/03/05/04/"),
        ] {
            assert_eq!(Prefix::read(prefix, false).unwrap().at(time), expected, "{prefix}");
        }
        let errors = "errors/!{firehose:error-output-type}/!{timestamp:yyyy}/";
        assert_eq!(Prefix::read(errors, true).unwrap().at(time), "errors/processing-failed/2026/");
        let random = Prefix::read("!{firehose:random-string}/!{timestamp:dd}/", false).unwrap();
        assert_ne!(random.at(time), random.at(time));
    }

    #[test]
    fn rejects_an_invalid_prefix() {
        for (prefix, of_errors, message) in [
            ("a/!{timestamp:yyyy", false, "a prefix has a !{ without a }"),
            ("!{timestamp:EEE}/", false, "the local stack does not support EEE in a timestamp"),
            ("!{timestamp:yy}/", false, "the local stack does not support yy in a timestamp"),
            (
                "!{firehose:error-output-type}/",
                false,
                "the local stack does not support !{firehose:error-output-type} in a prefix",
            ),
            (
                "!{partitionKeyFromQuery:x}/",
                false,
                "the local stack does not support !{partitionKeyFromQuery:x} in a prefix",
            ),
            ("errors/", true, "an ErrorOutputPrefix needs !{firehose:error-output-type}"),
        ] {
            assert_eq!(Prefix::read(prefix, of_errors).unwrap_err(), message, "{prefix}");
        }
    }
}
