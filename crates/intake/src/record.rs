//! Records: a line of JSON, or the values of a line of CSV.

use crate::Stop;
use keys::is_plain_text;
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

/// Form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object on each line.
    JsonLines,
    /// Comma-separated values with a header (RFC 4180). A record is one line.
    Csv,
}

impl Format {
    const ENDINGS: [(&str, Self); 2] = [(".jsonl", Self::JsonLines), (".csv", Self::Csv)];
    /// Maximum length of a key in bytes. The keys of its report and of the rows are longer, and S3
    /// accepts 1,024 bytes.
    const MAX_KEY: usize = 900;

    /// Returns the form that the key of an object declares, in capitals or not.
    pub(crate) fn of(key: &str) -> Result<Self, Stop> {
        let Some((_, format)) = Self::split(key) else {
            return Err(Stop::file(
                "The name of the file must end with .jsonl or .csv. Compressed files are not supported.",
            ));
        };
        if key.len() > Self::MAX_KEY {
            return Err(Stop::File(format!("The key of the file must have at most {} bytes.", Self::MAX_KEY)));
        }
        // The key of the report contains the name.
        if !is_plain_text(key) || key.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err(Stop::file(
                "The key of the file must not contain control characters, invisible characters, or empty parts, \
                `.` and `..` between slashes. Upload the file under another name.",
            ));
        }
        Ok(format)
    }

    /// Returns the name of a file without its ending. A name that consists of an ending is returned
    /// as it is.
    #[must_use]
    pub fn stem(name: &str) -> &str {
        let stem = Self::split(name).map_or(name, |(stem, _)| stem);
        if ["", ".", ".."].contains(&stem.rsplit('/').next().unwrap_or_default()) { name } else { stem }
    }

    fn split(name: &str) -> Option<(&str, Self)> {
        Self::ENDINGS.iter().find_map(|(ending, format)| {
            let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
            end.eq_ignore_ascii_case(ending).then_some((stem, *format))
        })
    }
}

/// Form of the records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// JSON objects.
    JsonLines,
    /// Values of these columns.
    Csv(Columns),
}

impl Records {
    /// Returns the JSON object of a line.
    ///
    /// # Errors
    /// The reason for which the line is rejected.
    pub fn json<'a>(&self, line: &'a str) -> Result<Cow<'a, str>, String> {
        match self {
            Self::JsonLines => Ok(Cow::Borrowed(line)),
            Self::Csv(columns) => columns.json(line).map(Cow::Owned),
        }
    }
}

/// Columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    names: Vec<String>,
    /// Whether each column is a member of the object. The others are members of `rest`.
    is_own: Vec<bool>,
    rest: String,
}

impl Columns {
    /// Reads a header. It must have each of the columns `own` exactly once. All other columns are
    /// string members of the member `rest`.
    pub(crate) fn read(header: &str, own: &[&str], rest: &str) -> Result<Self, String> {
        let names: Vec<String> = values(header)
            .map_err(|reason| format!("The header is not valid: {reason}"))?
            .into_iter()
            .map(Cow::into_owned)
            .collect();
        let mut seen = BTreeSet::new();
        if let Some(again) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(format!("The header has the column `{}` more than once.", short(again)));
        }
        let missing: Vec<_> = own.iter().filter(|name| !seen.contains(*name)).map(|name| format!("`{name}`")).collect();
        if !missing.is_empty() {
            return Err(format!(
                "The first line must name the columns, separated by commas. Missing: {}.",
                missing.join(", ")
            ));
        }
        if names.iter().any(String::is_empty) {
            return Err("The header has a column without a name.".to_owned());
        }
        let is_own = names.iter().map(|name| own.contains(&name.as_str())).collect();
        Ok(Self { names, is_own, rest: rest.to_owned() })
    }

    /// Returns the JSON object of a line. Its members are sorted by name, so that the order of the
    /// columns does not matter.
    fn json(&self, line: &str) -> Result<String, String> {
        let values = values(line)?;
        if values.len() != self.names.len() {
            return Err(format!("The line has {} values, and the header {} columns.", values.len(), self.names.len()));
        }
        let (mut own, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for ((name, is_own), value) in self.names.iter().zip(&self.is_own).zip(values) {
            let members = if *is_own { &mut own } else { &mut rest };
            members.insert(name.as_str(), Value::String(value.into_owned()));
        }
        let rest = rest.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        own.insert(&self.rest, Value::Object(rest));
        serde_json::to_string(&own).map_err(|error| error.to_string())
    }
}

fn short(name: &str) -> String {
    name.chars().take(64).collect()
}

/// Splits a line of CSV. A value with a comma or a quote is in double quotes, and a quote in it is
/// doubled. Everything else is an error: a lenient parser would read another amount.
fn values(line: &str) -> Result<Vec<Cow<'_, str>>, String> {
    const OPEN: &str = "a quoted value does not end on its line.";
    let (mut values, mut rest) = (Vec::new(), line);
    loop {
        let (value, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let (value, after) = unquoted(quoted).ok_or(OPEN)?;
            match after.strip_prefix(',') {
                Some(next) => (value, Some(next)),
                None if after.is_empty() => (value, None),
                None => return Err("a quoted value is followed by other text.".to_owned()),
            }
        } else {
            let (value, after) = rest.split_once(',').map_or((rest, None), |(value, next)| (value, Some(next)));
            if value.contains('"') {
                return Err("a value with a quote must be in double quotes.".to_owned());
            }
            (Cow::Borrowed(value), after)
        };
        values.push(value);
        match after {
            Some(next) => rest = next,
            None => return Ok(values),
        }
    }
}

/// Reads a value up to its closing quote. Returns it with the text after the quote.
fn unquoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = Cow::Borrowed("");
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"')?;
        if value.is_empty() {
            value = Cow::Borrowed(part);
        } else {
            value.to_mut().push_str(part);
        }
        match after.strip_prefix('"') {
            Some(next) => {
                value.to_mut().push('"');
                rest = next;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(header: &str) -> Result<Columns, String> {
        Columns::read(header, &["id", "time"], "data")
    }

    #[test]
    fn reads_values_as_rfc_4180_describes() {
        for (line, expected) in [
            ("", &[""][..]),
            ("a,b", &["a", "b"]),
            ("a,,", &["a", "", ""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"a \"\"b\"\"\",\"\"", &["a \"b\"", ""]),
            ("\"\"\"\"", &["\""]),
            (" a , b", &[" a ", " b"]),
        ] {
            assert_eq!(values(line).expect(line), expected, "{line}");
        }
        for line in ["\"a", "a,\"b", "a\"b", "\"a\"b", "\"a\" ,b", "\"\"\"", "a,b\""] {
            assert!(values(line).is_err(), "{line}");
        }
    }

    #[test]
    fn other_columns_are_string_members() {
        let json = |header: &str, line: &str| columns(header).and_then(|columns| columns.json(line));
        let expected = r#"{"data":{"amount":"1.50","to":"Ann, \"A\""},"id":"7","time":"t"}"#;
        assert_eq!(json("id,amount,time,to", "7,1.50,t,\"Ann, \"\"A\"\"\"").as_deref(), Ok(expected));
        assert_eq!(json("to,time,amount,id", "\"Ann, \"\"A\"\"\",t,1.50,7").as_deref(), Ok(expected));
        assert_eq!(json("id,time", "7,t").as_deref(), Ok(r#"{"data":{},"id":"7","time":"t"}"#));
        // A column may have the name of the member that contains it.
        assert_eq!(json("id,time,data", "7,t,x").as_deref(), Ok(r#"{"data":{"data":"x"},"id":"7","time":"t"}"#));
        let error = json("id,time,a", "7,t").unwrap_err();
        assert_eq!(error, "The line has 2 values, and the header 3 columns.");
    }

    #[test]
    fn a_header_names_each_column_once() {
        for (header, reason) in [
            ("id", "Missing: `time`."),
            ("a;b", "Missing: `id`, `time`."),
            ("id,time,id", "`id` more than once."),
            ("id,time,a,a", "`a` more than once."),
            ("id,time,", "a column without a name."),
            ("id,\"time", "The header is not valid: a quoted value does not end on its line."),
        ] {
            let error = columns(header).unwrap_err();
            assert!(error.ends_with(reason), "{header}: {error}");
        }
    }

    #[test]
    fn the_ending_declares_the_form() {
        let of = |name| Format::of(name).ok();
        for (name, stem) in [
            ("a.csv", "a"),
            ("A.CSV", "A"),
            ("a.Csv", "a"),
            ("a.b.csv", "a.b"),
            ("2026/é (1)+50%.csv", "2026/é (1)+50%"),
            (" a .csv", " a "),
            (".csv", ".csv"),
            ("a/...CSV", "a/...CSV"),
        ] {
            assert_eq!((of(name), Format::stem(name)), (Some(Format::Csv), stem));
        }
        assert_eq!(["a.jsonl", "a.JSONL"].map(of), [Some(Format::JsonLines); 2]);
        let long = format!("{}.csv", "x".repeat(900));
        for other in ["a", "a.csv.gz", "a.csv ", "a.json", "csv", ".txt", "é", "a\n.csv", "a\u{202e}.csv", &long] {
            assert_eq!(of(other), None, "{other}");
        }
        for other in ["a//b.csv", "a/../b.csv", "./b.csv", "/b.csv"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(["a", "a.csv.gz"].map(Format::stem), ["a", "a.csv.gz"]);
    }

    proptest! {
        #[test]
        fn quoted_values_round_trip(expected in prop::collection::vec("[a,\"\u{e9} ]{0,6}", 1..5)) {
            let line: Vec<_> = expected.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            let line = line.join(",");
            prop_assert_eq!(values(&line).expect("values"), expected);
        }
    }
}
