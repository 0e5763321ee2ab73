//! Lists as CSV files (docs/decisions/csv.md).

use crate::{Contract, Error, Json, List, Reply};
use http::{HeaderName, HeaderValue, header};
use lambda_http::{Body, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeSet, convert::Infallible, str::FromStr};

/// The response header with the cursor of the next page.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("next-cursor");

/// Characters that start a formula in a spreadsheet program. The fullwidth forms count as well, and
/// so do the control characters that such a program removes.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Whether the text is a formula after any number of apostrophes.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(FORMULA)
}

/// Returns the apostrophe that keeps the text of a cell from being a formula. A text that looks
/// guarded gets one as well, so that [`unguarded`] returns every text as it was.
fn guard(text: &str) -> &'static str {
    if is_formula(text) { "'" } else { "" }
}

/// Returns the text of a cell without the apostrophe that [`Cell::Text`] puts in front.
pub fn unguarded(text: &str) -> &str {
    text.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(text)
}

/// The media type of a list, from the header `Accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MediaType {
    /// `application/json`, the default.
    #[default]
    Json,
    /// `text/csv`.
    Csv,
}

keys::schema!(MediaType as "MediaType": {"type": "string"});

impl FromStr for MediaType {
    type Err = Infallible;

    /// Reads the header. The caller gets CSV only if the header names `text/csv`, with a higher
    /// quality than `application/json`.
    fn from_str(accept: &str) -> Result<Self, Infallible> {
        let (csv, json) = (quality(accept, "text/csv"), quality(accept, "application/json"));
        Ok(if csv > json { Self::Csv } else { Self::Json })
    }
}

/// Returns the quality of the media type in the header, in thousandths. 0 if it is not named.
fn quality(accept: &str, media_type: &str) -> u16 {
    let of_range = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(media_type));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        if is_named { weight.map_or(1000, thousandths) } else { 0 }
    };
    accept.split(',').map(of_range).max().unwrap_or_default()
}

/// Reads a quality such as `0.5`. An invalid quality counts as 0.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_valid = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match whole {
        "1" if is_valid => 1000,
        "0" if is_valid => format!("{fraction:0<3}").parse().unwrap_or_default(),
        _ => 0,
    }
}

/// A cell of a CSV file.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// A text that a caller may have chosen. If it could be a formula, an apostrophe is put in
    /// front.
    Text(&'a str),
    /// A value in a format of the service, such as an amount or a time.
    Value(&'a str),
    /// No value.
    Empty,
}

/// A response in the format `text/csv` (RFC 4180), with a header line.
#[derive(Debug)]
pub struct Csv {
    text: String,
    next_cursor: Option<String>,
}

impl Csv {
    /// Creates a file with a line of column names. `next_cursor` is the cursor of the next page,
    /// which the response has as the header `next-cursor`.
    pub fn new(columns: &[&str], next_cursor: Option<String>) -> Self {
        let mut csv = Self { text: String::new(), next_cursor };
        csv.row(columns.iter().map(|name| Cell::Text(name)));
        csv
    }

    /// Adds a line.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) {
        for (number, cell) in cells.into_iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            match cell {
                Cell::Empty => {}
                Cell::Value(value) => self.quoted("", value),
                Cell::Text(text) => self.quoted(guard(text), text),
            }
        }
        self.text.push_str("\r\n");
    }

    fn quoted(&mut self, prefix: &str, text: &str) {
        if !prefix.is_empty() || text.contains([',', '"', '\r', '\n', '\t', ';']) {
            let escaped = text.replace('"', "\"\"");
            self.text.extend(["\"", prefix, &escaped, "\""]);
        } else {
            self.text.push_str(text);
        }
    }
}

impl Reply for Csv {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        let mut response = Response::new(Body::Text(self.text));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present"));
        if let Some(cursor) = self.next_cursor {
            let cursor = HeaderValue::from_str(&cursor).map_err(|error| Error::Internal(error.to_string()))?;
            headers.insert(NEXT_CURSOR, cursor);
        }
        Ok(response)
    }

    fn describe(contract: &mut Contract) {
        contract.add_media_type(200, "text/csv");
    }
}

/// A list in the format that the caller accepts.
#[derive(Debug)]
pub enum JsonOrCsv<T> {
    /// 200 with a JSON body.
    Json(T),
    /// 200 with a CSV file.
    Csv(Csv),
}

/// An item that is a row of a CSV file.
pub trait CsvRow {
    /// Names of the columns.
    const COLUMNS: &'static [&'static str];

    /// Names of further columns, which follow from the items of the page.
    fn more_columns(_: &[Self]) -> BTreeSet<&str>
    where
        Self: Sized,
    {
        BTreeSet::new()
    }

    /// Adds the row of this item. `more` are the names of the further columns.
    fn add_to(&self, more: &BTreeSet<&str>, csv: &mut Csv);
}

impl<T: CsvRow> List<T> {
    /// Returns the list in the format that the caller prefers.
    pub fn in_format(self, format: MediaType) -> JsonOrCsv<Self> {
        match format {
            MediaType::Json => JsonOrCsv::Json(self),
            MediaType::Csv => {
                let (items, next_cursor) = self.into_parts();
                let more = T::more_columns(&items);
                let columns: Vec<&str> = T::COLUMNS.iter().copied().chain(more.iter().copied()).collect();
                let mut csv = Csv::new(&columns, next_cursor);
                for item in &items {
                    item.add_to(&more, &mut csv);
                }
                JsonOrCsv::Csv(csv)
            }
        }
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for JsonOrCsv<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        match self {
            Self::Json(body) => Json(body).reply(path),
            Self::Csv(csv) => csv.reply(path),
        }
    }

    fn describe(contract: &mut Contract) {
        Json::<T>::describe(contract);
        Csv::describe(contract);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn csv_must_be_preferred_to_json() {
        for accept in
            ["text/csv", "TEXT/CSV; header=present", "text/csv, */*;q=0.1", "application/json;q=0.5, text/csv"]
        {
            assert_eq!(accept.parse(), Ok(MediaType::Csv), "{accept}");
        }
        for accept in
            ["", "*/*", "application/json", "application/json, text/csv", "text/csv;q=0", "text/csv;q=2", "text/*"]
        {
            assert_eq!(accept.parse(), Ok(MediaType::Json), "{accept}");
        }
    }

    fn line(cell: Cell<'_>) -> String {
        let mut csv = Csv::new(&["a"], None);
        csv.row([cell, Cell::Empty]);
        csv.text
    }

    #[test]
    fn texts_are_quoted_and_never_formulas() {
        assert_eq!(line(Cell::Text("Coffee")), "a\r\nCoffee,\r\n");
        assert_eq!(line(Cell::Text("a \"b\", c\r\nd")), "a\r\n\"a \"\"b\"\", c\r\nd\",\r\n");
        assert_eq!(line(Cell::Value("-5.00")), "a\r\n-5.00,\r\n");
        for start in FORMULA {
            assert_eq!(line(Cell::Text(&format!("{start}1\"+A1"))), format!("a\r\n\"'{start}1\"\"+A1\",\r\n"));
        }
    }

    #[test]
    fn a_text_gets_an_apostrophe_if_it_is_or_looks_like_a_guarded_formula() {
        for (text, cell) in [
            ("=1", "'=1"),
            ("'=1", "''=1"),
            ("''-x", "'''-x"),
            ("'t Hooft", "'t Hooft"),
            ("'", "'"),
            ("'\u{ff0b}", "''\u{ff0b}"),
            ("a-b", "a-b"),
        ] {
            assert_eq!([guard(text), text].concat(), cell, "{text}");
            assert_eq!(unguarded(cell), text, "{cell}");
        }
        // A cell of another program, which no list would contain.
        assert_eq!(unguarded("=1"), "=1");
    }

    proptest! {
        /// Texts of the characters that matter, and of all others.
        #[test]
        fn every_text_survives_its_cell(text in r"('|=|\+|-|@|\t|\r|\n|\x{ff1d}|a| |\PC){0,6}") {
            let cell = [guard(&text), &text].concat();
            prop_assert!(!cell.starts_with(FORMULA));
            prop_assert_eq!(unguarded(&cell), text);
        }
    }

    #[test]
    fn next_cursor_is_a_header() {
        let response = Csv::new(&["a"], Some("abc".to_owned())).reply("/a").expect("a response");
        assert_eq!(response.headers()["next-cursor"], "abc");
        assert!(Csv::new(&["a"], None).reply("/a").expect("a response").headers().get("next-cursor").is_none());
        assert!(Csv::new(&["a"], Some("a\r\nb".to_owned())).reply("/a").is_err());
    }
}
