//! The one reader of records: lines of JSON, and records of CSV (RFC 4180).
//!
//! Where a record of CSV ends depends on every quote before it. The scanner therefore reads each
//! byte in order, and can only start at a [`Place`] that it returned (docs/decisions/csv.md).

use crate::Stop;
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use serde::{Deserialize, Serialize};
use std::mem;

/// Maximum length of a record in bytes, without its line end. A longer record is rejected without
/// being kept in memory.
pub const MAX_RECORD: usize = 16 * 1024;

/// A place in a file at which the reading of records can start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Place {
    /// Position of the next byte.
    pub position: u64,
    /// Number of lines that end before it.
    pub line: u64,
    /// The record that the position is in. `None` at the start of a record. Only a record that is
    /// too long is left before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<Inside>,
}

impl Place {
    pub(crate) fn new(position: u64, line: u64) -> Self {
        Self { position, line, inside: None }
    }
}

/// State inside a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inside {
    /// Position of the record.
    start: u64,
    /// Number of the line on which the record starts, from 1.
    line: u64,
    /// Number of the line of the last opening quote.
    quote: u64,
    state: State,
    /// Whether the record has had only separators and ASCII white space.
    is_blank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    /// At the start of a value.
    Start,
    /// In a value without quotes.
    Plain,
    /// In a quoted value.
    Quoted,
    /// In a quoted value, after `\r`.
    QuotedReturn,
    /// After a quote in a quoted value: its end, or the first half of a doubled quote.
    Closed,
    /// After the `\r` that ends the record. A `\n` belongs to the same line end.
    Ended,
}

/// A record of a file, before its values are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    /// Position of the record in the file.
    pub start: u64,
    /// Number of the line on which the record starts, from 1.
    pub line: u64,
    /// The place after the record.
    pub next: Place,
    /// The values, or the reason for which they cannot be read. A line of JSON is one value. `None`
    /// for a record without content, and at a place inside a record that is too long.
    pub values: Result<Option<Vec<String>>, String>,
}

/// Reads records from bytes that arrive in pieces.
#[derive(Debug)]
pub(crate) struct Scanner {
    is_csv: bool,
    max: usize,
    position: u64,
    line: u64,
    inside: Inside,
    is_long: bool,
    /// The values so far, without their quotes, one after the other.
    text: Vec<u8>,
    /// The ends of the values in `text`.
    ends: Vec<usize>,
}

impl Scanner {
    pub(crate) fn new(is_csv: bool, from: Place) -> Self {
        let Place { position, line, inside } = from;
        let is_long = inside.is_some();
        let inside = inside.unwrap_or_else(|| Inside::at(position, line));
        let (text, ends) = (Vec::new(), Vec::new());
        Self { is_csv, max: MAX_RECORD, position, line, inside, is_long, text, ends }
    }

    /// Position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reads on to the end of the next record. Returns `None` if the piece ends before. `read` is
    /// the number of bytes of the piece that are read.
    pub(crate) fn next(&mut self, piece: &[u8], read: &mut usize) -> Result<Option<RawRecord>, Stop> {
        for byte in piece.iter().skip(*read).copied() {
            let is_over = match self.inside.state {
                // The byte after `\r` belongs to the next record, unless it is `\n`.
                State::Ended if byte != b'\n' => return Ok(Some(self.record())),
                State::Ended => true,
                _ => self.step(byte)?,
            };
            *read += 1;
            self.position += 1;
            if is_over {
                return Ok(Some(self.record()));
            }
            if !self.is_long && self.inside.state != State::Ended && self.length() > self.max {
                self.is_long = true;
                self.text.clear();
                self.ends.clear();
            }
        }
        Ok(None)
    }

    /// Returns the last record of the file, if it has no line end.
    pub(crate) fn finish(&mut self) -> Result<Option<RawRecord>, Stop> {
        let Inside { state, quote, .. } = self.inside;
        match state {
            State::Quoted | State::QuotedReturn => {
                return Err(self.fault(&format!("The quoted value that starts on line {quote} has no closing quote.")));
            }
            State::Start if self.position == self.inside.start => return Ok(None),
            State::Ended => {}
            State::Start | State::Plain | State::Closed => {
                self.ends.push(self.text.len());
                self.line += 1;
            }
        }
        Ok(Some(self.record()))
    }

    /// Returns the place inside a record that is too long.
    pub(crate) fn unfinished(&self) -> Option<RawRecord> {
        let Inside { start, line, .. } = self.inside;
        let next = Place { position: self.position, line: self.line, inside: Some(self.inside) };
        self.is_long.then_some(RawRecord { start, line, next, values: Ok(None) })
    }

    fn length(&self) -> usize {
        usize::try_from(self.position - self.inside.start).unwrap_or(usize::MAX)
    }

    /// Reads a byte. Returns whether the record ends with it.
    fn step(&mut self, byte: u8) -> Result<bool, Stop> {
        let is_quoted = matches!(self.inside.state, State::Quoted | State::QuotedReturn);
        self.inside.state = match (self.inside.state, byte) {
            (_, b'"') if is_quoted => State::Closed,
            (state, byte) if is_quoted => {
                self.line += u64::from(byte == b'\r' || byte == b'\n' && state == State::Quoted);
                self.keep(byte);
                if byte == b'\r' { State::QuotedReturn } else { State::Quoted }
            }
            (_, b'\r' | b'\n') => {
                self.ends.push(self.text.len());
                self.line += 1;
                State::Ended
            }
            (_, b',') if self.is_csv => {
                if !self.is_long {
                    self.ends.push(self.text.len());
                }
                State::Start
            }
            (State::Start, b'"') if self.is_csv => {
                self.inside.quote = self.line + 1;
                State::Quoted
            }
            (State::Closed, b'"') => {
                self.keep(byte);
                State::Quoted
            }
            (State::Closed, _) => {
                let Inside { quote, .. } = self.inside;
                let here = self.line + 1;
                return Err(self.fault(&format!(
                    "After the closing quote on line {here}, the value that starts on line {quote} goes on. \
                     A quote in a quoted value must be doubled."
                )));
            }
            (_, b'"') if self.is_csv => {
                let here = self.line + 1;
                return Err(self.fault(&format!(
                    "A value on line {here} has a quote, but does not start with one. \
                     Put the value in double quotes, and double the quote."
                )));
            }
            _ => {
                self.keep(byte);
                State::Plain
            }
        };
        Ok(byte == b'\n' && self.inside.state == State::Ended)
    }

    fn keep(&mut self, byte: u8) {
        self.inside.is_blank &= byte.is_ascii_whitespace();
        if !self.is_long {
            self.text.push(byte);
        }
    }

    /// After a misplaced quote, nobody can tell values from records.
    fn fault(&self, reason: &str) -> Stop {
        Stop::File(format!("{reason} Nothing from line {} on was imported.", self.inside.line))
    }

    /// Takes the record that ends at the position.
    fn record(&mut self) -> RawRecord {
        let next = Place::new(self.position, self.line);
        let inside = Inside::at(next.position, next.line);
        let Inside { start, line, is_blank, .. } = mem::replace(&mut self.inside, inside);
        let values = if !mem::take(&mut self.is_long) {
            values(&self.text, &self.ends).map_err(str::to_owned)
        } else if is_blank {
            Ok(None)
        } else {
            Err(format!("The line has more than {} bytes.", self.max))
        };
        self.text.clear();
        self.ends.clear();
        RawRecord { start, line, next, values }
    }
}

/// Returns the records of a file of `size` bytes, from the place of the scanner on.
pub(crate) fn records(
    pieces: BoxStream<'_, Result<Vec<u8>, Stop>>,
    scanner: Scanner,
    size: u64,
) -> impl Stream<Item = Result<RawRecord, Stop>> + Send {
    let reading = Reading { pieces, scanner, piece: Vec::new(), read: 0, size };
    stream::try_unfold(reading, |mut reading| async move {
        let record = reading.next().await?;
        Ok(record.map(|record| (record, reading)))
    })
}

/// The pieces of a file, and the scanner that reads them.
struct Reading<'a> {
    pieces: BoxStream<'a, Result<Vec<u8>, Stop>>,
    scanner: Scanner,
    piece: Vec<u8>,
    /// Number of bytes of the piece that the scanner has read.
    read: usize,
    size: u64,
}

impl Reading<'_> {
    async fn next(&mut self) -> Result<Option<RawRecord>, Stop> {
        loop {
            if let Some(record) = self.scanner.next(&self.piece, &mut self.read)? {
                return Ok(Some(record));
            }
            let is_inside = !mem::take(&mut self.piece).is_empty() && self.scanner.position < self.size;
            if let Some(place) = self.scanner.unfinished().filter(|_| is_inside) {
                return Ok(Some(place));
            }
            let Some(piece) = self.pieces.next().await else { return self.scanner.finish() };
            (self.piece, self.read) = (piece?, 0);
        }
    }
}

impl Inside {
    /// The start of a record.
    fn at(position: u64, lines: u64) -> Self {
        let line = lines + 1;
        Self { start: position, line, quote: line, state: State::Start, is_blank: true }
    }
}

/// Returns the values of a record. `None` if all of them are blank.
fn values(text: &[u8], ends: &[usize]) -> Result<Option<Vec<String>>, &'static str> {
    if text.contains(&0) {
        return Err("The line has a NUL byte.");
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let values: Result<Vec<_>, _> = starts.zip(ends).map(|(start, end)| str::from_utf8(&text[start..*end])).collect();
    let values = values.map_err(|_| "The line is not valid UTF-8.")?;
    let is_blank = values.iter().all(|value| value.chars().all(is_space));
    Ok((!is_blank).then(|| values.into_iter().map(str::to_owned).collect()))
}

/// Whether a value of only such characters is blank: white space, the zero width space and the byte
/// order mark.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{200b}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use function::{Cell, Csv, Reply, unguarded};
    use futures::FutureExt;
    use proptest::prelude::*;

    const CSV: bool = true;
    const JSON: bool = false;

    /// The records from a place on, and the reason for which the file ends before its end.
    type Found = (Vec<RawRecord>, Option<String>);

    struct Case<'a> {
        is_csv: bool,
        file: &'a [u8],
        max: usize,
    }

    impl Case<'_> {
        /// Reads the file in pieces.
        fn read(&self, from: Place, piece: usize) -> Found {
            let start = usize::try_from(from.position).expect("a position");
            let pieces: Vec<_> = self.file[start..].chunks(piece).map(|piece| Ok(piece.to_vec())).collect();
            let scanner = Scanner { max: self.max, ..Scanner::new(self.is_csv, from) };
            let records = records(stream::iter(pieces).boxed(), scanner, self.file.len() as u64);
            let (mut found, mut fault) = (Vec::new(), None);
            for record in records.collect::<Vec<_>>().now_or_never().expect("pieces that are there") {
                match record {
                    Ok(record) => found.push(record),
                    Err(stop) => fault = Some(stop.to_string()),
                }
            }
            (found, fault)
        }

        fn whole(&self) -> Found {
            let (records, fault) = self.read(Place::default(), self.file.len().max(1));
            (with_content(records), fault)
        }

        /// Checks that the same records are read with pieces of any size, and from each place.
        fn check(&self) -> Found {
            let whole = self.whole();
            for piece in [1, 2, 3, 7] {
                let (records, fault) = self.read(Place::default(), piece);
                for (number, record) in records.iter().enumerate() {
                    let stored = serde_json::to_string(&record.next).expect("JSON");
                    let place = serde_json::from_str(&stored).expect("a place");
                    let (rest, end) = self.read(place, piece + 1);
                    let expected = with_content(records[number + 1..].to_vec());
                    assert_eq!((with_content(rest), &end), (expected, &fault), "{piece} {place:?}");
                }
                assert_eq!((with_content(records), fault), whole, "{piece}");
            }
            whole
        }
    }

    fn with_content(records: Vec<RawRecord>) -> Vec<RawRecord> {
        records.into_iter().filter(|record| record.values != Ok(None)).collect()
    }

    fn check(is_csv: bool, file: &[u8]) -> Found {
        Case { is_csv, file, max: MAX_RECORD }.check()
    }

    /// The line of each record, with its values between slashes or its fault.
    fn shown(records: Vec<RawRecord>) -> Vec<(u64, String)> {
        let shown = |record: RawRecord| match record.values {
            Ok(values) => (record.line, values.expect("values").join("/")),
            Err(reason) => (record.line, reason),
        };
        records.into_iter().map(shown).collect()
    }

    #[test]
    fn records_end_with_any_line_end_outside_quotes() {
        type Shown = &'static [(u64, &'static str)];
        let cases: &[(bool, &[u8], Shown)] = &[
            (CSV, b"", &[]),
            (CSV, b"a,b\nc,d", &[(1, "a/b"), (2, "c/d")]),
            (CSV, b"a,b\r\nc,d\r\n", &[(1, "a/b"), (2, "c/d")]),
            (CSV, b"a,b\rc,d\r", &[(1, "a/b"), (2, "c/d")]),
            (CSV, b"a\r\nb\rc\nd\n\re\r\r\nf", &[(1, "a"), (2, "b"), (3, "c"), (4, "d"), (6, "e"), (8, "f")]),
            (CSV, b",\n,\xff", &[(2, "The line is not valid UTF-8.")]),
            (CSV, b"a,\n,b,\n", &[(1, "a/"), (2, "/b/")]),
            (CSV, b"\"a\"\"b\",\" c, d \",\"\", e \n", &[(1, "a\"b/ c, d // e ")]),
            // Line ends in quoted values.
            (CSV, b"\"a\nb\",c\nd,e\n", &[(1, "a\nb/c"), (3, "d/e")]),
            (CSV, b"\"a\r\nb\r\",c\rd,\"\n\n\"\re", &[(1, "a\r\nb\r/c"), (4, "d/\n\n"), (7, "e")]),
            // Blank records.
            (CSV, b"a\n,,,\n\"\", ,\"\t\xc2\xa0\"\n\"\r\n\"\n\xef\xbb\xbf\nb", &[(1, "a"), (7, "b")]),
            (CSV, b"\n\n \r\n\t\r\r\na", &[(6, "a")]),
            // The halves of a character are in two values, so none is valid.
            (CSV, b"\xc3,\xa9\na", &[(1, "The line is not valid UTF-8."), (2, "a")]),
            (CSV, b"a\0\n\"b\n\0\"\nc", &[(1, "The line has a NUL byte."), (2, "The line has a NUL byte."), (4, "c")]),
            // Quotes and commas have no meaning in a line of JSON.
            (
                JSON,
                b"{\"a\": 1,\n\"b\",\r\n\"\r \n\n\xc2\xa0\xe2\x80\x8b\nx",
                &[(1, "{\"a\": 1,"), (2, "\"b\","), (3, "\""), (7, "x")],
            ),
        ];
        for (is_csv, file, expected) in cases {
            let (records, fault) = check(*is_csv, file);
            let expected: Vec<_> = expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!((shown(records), fault), (expected, None), "{}", file.escape_ascii());
        }
    }

    #[test]
    fn the_file_ends_at_a_misplaced_quote() {
        let cases: &[(&[u8], usize, &str)] = &[
            (b"a\n\"b", 1, "The quoted value that starts on line 2 has no closing quote. Nothing from line 2 on"),
            (
                b"a\n\"b\n\",\"c\nd",
                1,
                "The quoted value that starts on line 3 has no closing quote. Nothing from line 2 on",
            ),
            (b"a\"b\nc", 0, "A value on line 1 has a quote, but does not start with one."),
            (b"a,\n,b\"\n", 1, "A value on line 2 has a quote, but"),
            (b"a\n \"b\nc\"\n", 1, "A value on line 2 has a quote, but"),
            (b"\xef\xbb\xbf\"a\"", 0, "A value on line 1 has a quote, but"),
            (b"\"a\"b\n", 0, "After the closing quote on line 1, the value that starts on line 1 goes on."),
            (b"\"a\" ,b\n", 0, "After the closing quote on line 1, the value that"),
            (b"a\n\"b\nc\"d\"\n", 1, "After the closing quote on line 3, the value that starts on line 2 goes on."),
            (b"\"\"\"", 0, "The quoted value that starts on line 1 has no closing quote."),
            (b"\"\"a\"\"", 0, "After the closing quote on line 1"),
        ];
        for (file, count, reason) in cases {
            let (records, fault) = check(CSV, file);
            let fault = fault.expect("a fault");
            assert!(fault.starts_with(reason) && fault.ends_with("was imported."), "{}: {fault}", file.escape_ascii());
            assert_eq!(records.len(), *count, "{}", file.escape_ascii());
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_one_record() {
        let long = "x".repeat(3 * MAX_RECORD);
        let fits = "y".repeat(MAX_RECORD);
        let commas = ",".repeat(MAX_RECORD + 1);
        let file = format!("a\n{long}\nb\n{fits}\r\n{fits}z\n\"\n{long}\n\n,\"\"c\n\"\n{commas}\nd\r");
        let case = Case { is_csv: CSV, file: file.as_bytes(), max: MAX_RECORD };
        let too_long = "The line has more than 16384 bytes.";
        let expected = [(1, "a"), (2, too_long), (3, "b"), (4, fits.as_str()), (5, too_long), (6, too_long), (12, "d")];
        let expected: Vec<_> = expected.into_iter().map(|(line, text)| (line, text.to_owned())).collect();
        for piece in [1_000, MAX_RECORD, 40_000, 1_000_000] {
            let (records, fault) = case.read(Place::default(), piece);
            assert_eq!((shown(with_content(records.clone())), fault), (expected.clone(), None), "{piece}");
            for record in &records {
                let (rest, _) = case.read(record.next, piece);
                let first = record.line + u64::from(record.values != Ok(None));
                let expected = expected.iter().filter(|(line, _)| *line >= first).cloned().collect::<Vec<_>>();
                assert_eq!(shown(with_content(rest)), expected, "{piece} {:?}", record.next);
            }
        }
        // A quote that is never closed is a fault of the file, at any distance.
        let open = format!("a,b\n\"c,d\n{}", "e,f\n".repeat(MAX_RECORD));
        let (records, fault) =
            Case { is_csv: CSV, file: open.as_bytes(), max: MAX_RECORD }.read(Place::default(), 1_000);
        assert_eq!(shown(with_content(records)), [(1, "a/b".to_owned())]);
        assert!(fault.is_some_and(|fault| fault.starts_with("The quoted value that starts on line 2 has no closing")));
    }

    /// What the crate `csv` reads. It accepts more than RFC 4180.
    fn reference(file: &[u8]) -> Vec<Vec<Vec<u8>>> {
        // It removes a byte order mark.
        let file = [b"\xef\xbb\xbf", file].concat();
        let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file.as_slice());
        let records = reader.into_byte_records().map(|record| record.expect("a record"));
        let values = records.map(|record| record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>());
        let is_blank = |value: &Vec<u8>| str::from_utf8(value).is_ok_and(|value| value.chars().all(is_space));
        values.filter(|values| !values.iter().all(is_blank)).collect()
    }

    /// Checks that the scanner reads the records of the reference, or those before a fault.
    fn compare(file: &[u8]) -> Option<String> {
        let (records, fault) = check(CSV, file);
        let expected = reference(file);
        assert!(if fault.is_some() { records.len() <= expected.len() } else { records.len() == expected.len() });
        for (record, expected) in records.iter().zip(expected) {
            let texts: Result<Vec<_>, _> = expected.into_iter().map(String::from_utf8).collect();
            assert_eq!(record.values.clone().ok(), texts.ok().map(Some), "{}", file.escape_ascii());
            let before = &file[..usize::try_from(record.start).expect("a position")];
            let ends = before.iter().zip(before.iter().skip(1).chain(&[0]));
            let ends = ends.filter(|(byte, next)| **byte == b'\n' || **byte == b'\r' && **next != b'\n');
            assert_eq!(record.line, 1 + ends.count() as u64, "{}", file.escape_ascii());
        }
        fault
    }

    fn token() -> impl Strategy<Value = &'static [u8]> {
        let tokens: [&[u8]; 14] = [
            b"\"",
            b"\"",
            b"\"\"",
            b",",
            b"\r",
            b"\n",
            b"\r\n",
            b"a",
            b" ",
            b"\xc3\xa9",
            b"\xc3",
            b"\xff",
            b"\xef\xbb\xbf",
            b"\",\"",
        ];
        prop::sample::select(tokens.to_vec())
    }

    fn tokens(most: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(token(), 0..most).prop_map(|tokens| tokens.concat())
    }

    /// Texts with the characters that matter to a list, and all others without NUL.
    fn text() -> impl Strategy<Value = String> {
        "('|=|-|\"|,|\r|\n|\u{ff0b}|a| |\u{feff}|[^\0]){0,6}"
    }

    /// A file that a program has written, with the values in it.
    fn written() -> impl Strategy<Value = (Vec<Vec<Vec<u8>>>, Vec<u8>)> {
        let records = prop::collection::vec(prop::collection::vec(tokens(5), 1..4), 1..6);
        (records, any::<bool>(), 0..3_usize).prop_map(|(records, always, end)| {
            let style = if always { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
            let end = [csv::Terminator::CRLF, csv::Terminator::Any(b'\n'), csv::Terminator::Any(b'\r')][end];
            let mut writer =
                csv::WriterBuilder::new().flexible(true).quote_style(style).terminator(end).from_writer(vec![]);
            for record in &records {
                writer.write_byte_record(&csv::ByteRecord::from(record.clone())).expect("written");
            }
            (records, writer.into_inner().expect("a file"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn any_bytes_give_the_records_of_another_reader_or_a_fault(file in tokens(30)) {
            compare(&file);
        }

        #[test]
        fn any_written_file_is_read(written in written()) {
            let (_, file) = written;
            prop_assert_eq!(compare(&file), None);
        }

        /// A list that this project returns, with texts that callers chose.
        #[test]
        fn any_list_is_read_back(rows in prop::collection::vec(prop::collection::vec(text(), 3), 1..5)) {
            let mut list = Csv::new(&["a", "b", "c", "d"], None);
            for row in &rows {
                list.row([Cell::Value("row")].into_iter().chain(row.iter().map(|text| Cell::Text(text))));
            }
            let response = list.reply("/").expect("a list");
            let (records, fault) = check(CSV, response.body());
            prop_assert_eq!(fault, None);
            let read = |record: &RawRecord| record.values.clone().expect("values").expect("values");
            let read: Vec<_> = records.iter().skip(1).map(read).collect();
            let read: Vec<Vec<_>> = read.iter().map(|row| row[1..].iter().map(|text| unguarded(text)).collect()).collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn a_damaged_file_never_gives_other_records(written in written(), at in any::<prop::sample::Index>(), damage in token()) {
            let (_, mut file) = written;
            let at = at.index(file.len() + 1);
            file.splice(at..at, damage.iter().copied());
            compare(&file);
        }

        #[test]
        fn the_length_of_a_record_is_that_of_its_bytes(file in tokens(30), is_csv: bool, max in 1_usize..8) {
            let all = check(is_csv, &file);
            let (records, fault) = Case { is_csv, file: &file, max }.check();
            // A short maximum changes no boundary.
            prop_assert_eq!(fault, all.1);
            let place = |at: u64| usize::try_from(at).expect("a position");
            let mut expected = all.0;
            for record in &mut expected {
                let bytes = &file[place(record.start)..place(record.next.position)];
                let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                if text.strip_suffix(b"\r").unwrap_or(text).len() > max {
                    record.values = Err(String::new());
                }
            }
            let is_long = |record: &RawRecord| record.values.as_ref().is_err_and(|reason| reason.contains("more than"));
            let mut found = records;
            found.iter_mut().filter(|record| is_long(record)).for_each(|record| record.values = Err(String::new()));
            // White space of other scripts is not blank in a record that is not kept.
            found.retain(|record| expected.iter().any(|other| other.start == record.start) || record.values.is_ok());
            prop_assert_eq!(found, expected);
        }
    }
}
