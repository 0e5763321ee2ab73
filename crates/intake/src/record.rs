//! Records: a line of JSON, or the values of a record of CSV.

use crate::{Stop, scan::is_space};
use keys::is_plain_text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of columns in a reason, and of characters of each.
const MAX_SHOWN: usize = 10;
const MAX_NAME: usize = 64;

/// Form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object on each line.
    JsonLines,
    /// Comma-separated values with a header (RFC 4180).
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
    /// Returns the JSON object of a record.
    ///
    /// # Errors
    /// The reason for which the record is rejected.
    pub(crate) fn json(&self, values: &[String]) -> Result<String, String> {
        match self {
            Self::JsonLines => Ok(values.concat()),
            Self::Csv(columns) => columns.json(values),
        }
    }
}

/// The columns that a service knows. White space around a name and its case do not matter.
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    /// The columns that a file must have. They are members of the object.
    pub own: &'a [&'a str],
    /// Member of the object that contains the values of all other columns.
    pub rest: &'a str,
    /// The other columns whose names the service reads. The rest keep the case of the file.
    pub known: &'a [&'a str],
    /// Whether the rest may have two columns whose names differ only in their case.
    pub has_cases: bool,
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
    /// Reads a header. It must have each of its own columns, and no column twice. A spreadsheet may
    /// add columns without a name and without values.
    pub(crate) fn read(header: &[String], schema: &Schema<'_>) -> Result<Self, String> {
        let known = || schema.own.iter().chain(schema.known);
        let canonical = |name: &String| {
            let name = name.trim_matches(is_space);
            known().find(|known| folded(known) == folded(name)).map_or(name, |known| known).to_owned()
        };
        let names: Vec<String> = header.iter().map(canonical).collect();
        let mut seen = BTreeSet::new();
        let is_rest = |name: &String| schema.has_cases && !known().any(|known| known == name);
        let compared = |name: &String| if is_rest(name) { name.clone() } else { folded(name) };
        let again = names.iter().find(|name| !name.is_empty() && !seen.insert(compared(name)));
        if let Some(again) = again {
            return Err(format!("The header has the column {} more than once.", shown(again)));
        }
        let missing: Vec<_> = schema.own.iter().filter(|own| !seen.contains(&folded(own))).collect();
        if !missing.is_empty() {
            let missing: Vec<_> = missing.into_iter().map(|name| format!("`{name}`")).collect();
            let found: Vec<_> = header.iter().take(MAX_SHOWN).map(|name| shown(name)).collect();
            let more = if header.len() > MAX_SHOWN { ", …" } else { "" };
            return Err(format!(
                "The first line must name the columns, separated by commas. Missing: {}. Found: {}{more}.",
                missing.join(", "),
                found.join(", ")
            ));
        }
        let is_own = names.iter().map(|name| schema.own.contains(&name.as_str())).collect();
        Ok(Self { names, is_own, rest: schema.rest.to_owned() })
    }

    /// The names of the columns that the schema does not list.
    pub fn others(&self, schema: &Schema<'_>) -> impl Iterator<Item = &str> {
        let is_listed = |name: &str| schema.own.iter().chain(schema.known).any(|listed| *listed == name);
        self.names.iter().map(String::as_str).filter(move |name| !name.is_empty() && !is_listed(name))
    }

    /// Returns the JSON object of a record. Its members are sorted by name, so that the order of
    /// the columns does not matter.
    fn json(&self, values: &[String]) -> Result<String, String> {
        if values.len() != self.names.len() {
            return Err(format!("The line has {} values, and the header {} columns.", values.len(), self.names.len()));
        }
        let (mut own, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for ((name, is_own), value) in self.names.iter().zip(&self.is_own).zip(values) {
            if name.is_empty() {
                if value.chars().all(is_space) {
                    continue;
                }
                return Err("The line has a value in a column without a name.".to_owned());
            }
            let members = if *is_own { &mut own } else { &mut rest };
            members.insert(name.as_str(), Value::String(value.clone()));
        }
        let rest = rest.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        own.insert(&self.rest, Value::Object(rest));
        serde_json::to_string(&own).map_err(|error| error.to_string())
    }
}

/// Returns the name of a column in a form that is equal for names that differ only in their case.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// Shows the name of a column, with its invisible characters.
pub fn shown(name: &str) -> String {
    let start: String = name.chars().take(MAX_NAME).collect();
    format!("`{}`", start.escape_debug())
}

/// Returns the name of the separator in the first line of a file that separates values otherwise.
pub(crate) fn other_separator(text: &[u8]) -> Option<&'static str> {
    const OTHERS: [(u8, &str); 3] = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    let line = text.split(|byte| b"\r\n".contains(byte)).find(|line| !line.trim_ascii().is_empty())?;
    let other = OTHERS.into_iter().find(|(separator, _)| line.contains(separator));
    other.filter(|_| !line.contains(&b',')).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema<'_> = Schema { own: &["id", "dueTime"], rest: "data", known: &["amount"], has_cases: false };

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    fn columns(header: &[&str]) -> Result<Columns, String> {
        Columns::read(&texts(header), &SCHEMA)
    }

    #[test]
    fn other_columns_are_string_members() {
        let json = |header: &[&str], values: &[&str]| columns(header).and_then(|columns| columns.json(&texts(values)));
        let expected = r#"{"data":{"amount":"1.50","to":"Ann, \"A\""},"dueTime":"t","id":"7"}"#;
        assert_eq!(
            json(&["id", "amount", "dueTime", "to"], &["7", "1.50", "t", "Ann, \"A\""]).as_deref(),
            Ok(expected)
        );
        assert_eq!(
            json(&["to", "dueTime", "amount", "id"], &["Ann, \"A\"", "t", "1.50", "7"]).as_deref(),
            Ok(expected)
        );
        assert_eq!(json(&["id", "dueTime"], &["7", "t"]).as_deref(), Ok(r#"{"data":{},"dueTime":"t","id":"7"}"#));
        // A column may have the name of the member that contains it.
        let nested = r#"{"data":{"data":"x"},"dueTime":"t","id":"7"}"#;
        assert_eq!(json(&["id", "dueTime", "data"], &["7", "t", "x"]).as_deref(), Ok(nested));
        let spaces = ["", "\u{a0}", "id", "dueTime", ""];
        let empty = json(&spaces, &["", " ", "7", "t", "\t"]);
        assert_eq!(empty.as_deref(), Ok(r#"{"data":{},"dueTime":"t","id":"7"}"#));
        let error = json(&spaces, &["", "", "7", "t", "x"]).unwrap_err();
        assert_eq!(error, "The line has a value in a column without a name.");
        let error = json(&["id", "dueTime", "a"], &["7", "t"]).unwrap_err();
        assert_eq!(error, "The line has 2 values, and the header 3 columns.");
    }

    #[test]
    fn case_and_white_space_of_a_header_do_not_matter() {
        let expected = columns(&["id", "dueTime", "amount", "Note"]).expect("columns");
        for header in [
            ["ID", "duetime", "Amount", "Note"],
            [" id ", "\u{a0}dueTime", "amount\u{3000}", "\tNote "],
            ["\u{feff}Id", "DUETIME\r\n", "\u{200b}AMOUNT", "\u{2007}Note\u{202f}"],
        ] {
            assert_eq!(columns(&header).as_ref(), Ok(&expected), "{header:?}");
        }
    }

    #[test]
    fn a_header_names_each_column_once() {
        let many =
            ["x"; 60].map(str::to_owned).iter().enumerate().map(|(at, x)| format!("{x}{at}")).collect::<Vec<_>>();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        for (header, reason) in [
            (&["id", "time"][..], "Missing: `dueTime`. Found: `id`, `time`."),
            (&["i\u{ad}d", "due\u{a0}Time"], "Missing: `id`, `dueTime`. Found: `i\\u{ad}d`, `due\\u{a0}Time`."),
            (&["account", ""], "Missing: `id`, `dueTime`. Found: `account`, ``."),
            (&many, "`x8`, `x9`, …."),
            (&["id", "dueTime", "id"], "`id` more than once."),
            (&["id", "dueTime", "a", "a"], "`a` more than once."),
            (&["id", "dueTime", "Note", "note "], "`note` more than once."),
            (&["id", "dueTime", "ID"], "`id` more than once."),
            (&["id", "dueTime", "É", "é"], "`é` more than once."),
        ] {
            let error = columns(header).unwrap_err();
            assert!(error.ends_with(reason), "{header:?}: {error}");
        }
    }

    #[test]
    fn a_schema_may_tell_further_columns_apart_by_their_case() {
        let schema = Schema { has_cases: true, ..SCHEMA };
        let read = |header: &[&str]| Columns::read(&texts(header), &schema);
        let columns = read(&["id", "Note", "", "dueTime", "note", "AMOUNT"]).expect("columns");
        assert_eq!(columns.others(&schema).collect::<Vec<_>>(), ["Note", "note"]);
        for header in
            [["id", "dueTime", "note", " note"], ["id", "dueTime", "Amount", "amount"], ["id", "dueTime", "a", "ID"]]
        {
            assert!(read(&header).unwrap_err().ends_with("more than once."), "{header:?}");
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
}
