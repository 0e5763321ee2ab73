use crate::{
    Expected, Files, MAX_RECORD, Place, RawRecord, Stop,
    record::{Columns, Format, Records, Schema, other_separator},
    scan::{self, Scanner},
    store,
};
use aws_sdk_s3::Client;
use function::{Error, Fault, Input, read_record};
use futures::{Stream, StreamExt, stream};
use std::ops;

/// Maximum size of a file in bytes (docs/requirements/bank.md#import-payments).
pub const MAX_FILE: u64 = 10 * 1024 * 1024 * 1024;
/// Bytes that are read to open a file: a byte order mark, a header of the maximum length, and the
/// byte after its line end.
const HEAD: u64 = MAX_RECORD as u64 + 8;
/// Size of the pieces in which records are read, and number of the pieces that are read ahead.
const PIECE: u64 = 1024 * 1024;
const AHEAD: usize = 4;

/// Starts of files in another format, with the name of the format.
const FOREIGN: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PK\x03\x04", "a ZIP archive or a workbook"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard"),
    (b"BZh", "compressed with bzip2"),
    (b"\xff\xfe", "in UTF-16"),
    (b"\xfe\xff", "in UTF-16"),
];
/// Maximum length of a reason in characters.
const MAX_REASON: usize = 400;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One version of an object in S3. If the object is replaced, reading it fails.
#[derive(Clone)]
pub struct File {
    client: Client,
    bucket: String,
    key: String,
    /// `None` if the object cannot be replaced by another content.
    tag: Option<String>,
    /// `None` if the name of the object declares the format.
    format: Option<Format>,
}

/// A file whose start has been read.
pub struct Opened {
    /// Size in bytes.
    pub size: u64,
    /// The place after the header.
    pub start: Place,
    /// Form of the records.
    pub records: Records,
    /// Control totals in the metadata of the object.
    pub expected: Expected,
}

impl File {
    /// Returns the object with this entity tag.
    pub fn new(files: &Files, bucket: &str, key: &str, tag: &str) -> Self {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Self { client: files.client(), bucket, key, tag: Some(tag.to_owned()), format: None }
    }

    /// Returns a CSV file whose content never changes, for example because its checksum was signed.
    pub fn fixed_csv(files: &Files, bucket: &str, key: &str) -> Self {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Self { client: files.client(), bucket, key, tag: None, format: Some(Format::Csv) }
    }

    /// Reads the start of the file: its form, its header and its control totals.
    ///
    /// # Errors
    /// [`Stop::File`] if the file cannot be imported at all.
    pub async fn open(&self, schema: &Schema<'_>) -> Result<Opened, Stop> {
        let format = self.format.map_or_else(|| Format::of(&self.key), Ok)?;
        let part = store::get(&self.client, (&self.bucket, &self.key), self.tag.as_deref(), 0..HEAD).await?;
        if part.size > MAX_FILE {
            return Err(Stop::file("The file is larger than 10 GB. Split it into several files."));
        }
        let expected = Expected::read(&part.metadata).map_err(Stop::File)?;
        if let Some(name) = foreign(&part.bytes) {
            return Err(Stop::File(format!("The file is {name}. Send UTF-8 text without compression.")));
        }
        let text = part.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&part.bytes);
        if text.is_empty() {
            return Err(Stop::file("The file is empty."));
        }
        let first = Place::new((part.bytes.len() - text.len()) as u64, 0);
        let (start, records) = match format {
            Format::JsonLines => (first, Records::JsonLines),
            Format::Csv => {
                let (header, start) = header(text, first, part.size)?;
                (start, Records::Csv(Columns::read(&header, schema).map_err(Stop::File)?))
            }
        };
        Ok(Opened { size: part.size, start, records, expected })
    }

    /// Reads the records from a place on, in their order. Five pieces of the file and one record
    /// are in memory.
    ///
    /// # Errors
    /// [`Stop::File`] if the object was replaced or deleted, or at a misplaced quote, after which
    /// the records of the file are not known.
    pub fn records(&self, opened: &Opened, from: Place) -> impl Stream<Item = Result<RawRecord, Stop>> + Send {
        let size = opened.size;
        let next = move |start: u64| (start < size).then(|| start..start.saturating_add(PIECE).min(size));
        let ranges = std::iter::successors(next(from.position), move |range| next(range.end));
        let pieces = stream::iter(ranges).map(|range| self.clone().read(range)).buffered(AHEAD).boxed();
        let is_csv = matches!(opened.records, Records::Csv(_));
        scan::records(pieces, Scanner::new(is_csv, from), size)
    }

    async fn read(self, range: ops::Range<u64>) -> Result<Vec<u8>, Stop> {
        let length = range.end - range.start;
        let part = store::get(&self.client, (&self.bucket, &self.key), self.tag.as_deref(), range).await?;
        // The scanner would take a piece that is too short for the end of the file.
        if part.bytes.len() as u64 != length {
            return Err(store::Failure::outage(&"the response is incomplete").into());
        }
        Ok(part.bytes)
    }
}

/// A record that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The id of the record, if it can be read.
    pub id: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Opened {
    /// Reads a record. Returns `None` for a blank record. If the record is not valid, `id_of` reads
    /// its id from the JSON object.
    ///
    /// # Errors
    /// The record is not valid.
    pub fn record<I: Input>(&self, raw: &RawRecord, id_of: fn(&str) -> Option<String>) -> Result<Option<I>, Invalid> {
        // If a closing quote is missing, the record ends far away.
        let end = match raw.next.line {
            last if last > raw.line => format!(" The record ends on line {last}."),
            _ => String::new(),
        };
        let unread = |reason: &String| Invalid { id: None, reason: format!("{reason}{end}") };
        let Some(values) = raw.values.as_ref().map_err(unread)? else { return Ok(None) };
        let json = self.records.json(values).map_err(|reason| unread(&reason))?;
        read_record(&json).map(Some).map_err(|error| {
            let reason = match error {
                Error::Invalid(faults) => described(&faults),
                error => error.to_string(),
            };
            Invalid { id: id_of(&json), reason }
        })
    }
}

/// Describes the faults of a line, with the names of its members.
pub fn described(faults: &[Fault]) -> String {
    let text = |Fault { pointer, detail }: &Fault| match pointer.strip_prefix("/body/") {
        Some(member) => format!("{member} {detail}"),
        None => format!("The line {detail}"),
    };
    let text = faults.iter().map(text).collect::<Vec<_>>().join("; ");
    match text.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the format of a file that is not UTF-8 text.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let known = FOREIGN.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, name)| *name);
    // The first character of a text is an ASCII character, one byte of which is 0 in UTF-16.
    known.or_else(|| bytes.iter().take(4).any(|byte| *byte == 0).then_some("in UTF-16 or UTF-32, or no text"))
}

/// Returns the header of a CSV file, and the place after it. Blank records before it are ignored.
fn header(text: &[u8], first: Place, size: u64) -> Result<(Vec<String>, Place), Stop> {
    if let Some(name) = other_separator(text) {
        let reason = format!("The first line must name the columns, separated by commas, not by {name}.");
        return Err(Stop::File(reason));
    }
    let (mut scanner, mut read) = (Scanner::new(true, first), 0);
    loop {
        let mut record = scanner.next(text, &mut read)?;
        if record.is_none() && scanner.position() == size {
            record = scanner.finish()?;
        }
        match record.map(|record| (record.values, record.next)) {
            Some((Ok(None), _)) => {}
            Some((Ok(Some(header)), next)) => return Ok((header, next)),
            Some((Err(reason), _)) => return Err(Stop::File(reason.replacen("The line", "The header", 1))),
            None if scanner.position() == size => return Err(Stop::file("The file is empty.")),
            None => return Err(Stop::File(format!("The header has more than {MAX_RECORD} bytes."))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_header_of_every_line_end() {
        for (text, names, next) in [
            ("a,b\n1,2\n", "a/b", (4, 1)),
            ("a,b\r\n1,2\n", "a/b", (5, 1)),
            ("a,b\r1,2\r", "a/b", (4, 1)),
            ("a,b", "a/b", (3, 1)),
            ("a,b\r", "a/b", (4, 1)),
            ("\n,,\r\n\ra,\"b\nc\"\n1,2", "a/b\nc", (14, 5)),
            ("a,b;c\n", "a/b;c", (6, 1)),
        ] {
            let (header, place) = header(text.as_bytes(), Place::default(), text.len() as u64).expect("a header");
            assert_eq!((header.join("/").as_str(), place), (names, Place::new(next.0, next.1)), "{text:?}");
        }
        let long = format!("a,{}\n", "b".repeat(MAX_RECORD));
        let start = &long[..MAX_RECORD];
        for (text, size, reason) in [
            ("", 0, "The file is empty."),
            ("\n \r\n,,", 6, "The file is empty."),
            ("\na;b;c\n", 7, "The first line must name the columns, separated by commas, not by semicolons."),
            ("\"a\"\t\"b\"\r", 8, "The first line must name the columns, separated by commas, not by tabs."),
            ("a,b\0\n", 5, "The header has a NUL byte."),
            ("a,\"b\n", 5, "The quoted value that starts on line 1 has no closing quote."),
            ("a,\"b\" \n", 7, "After the closing quote on line 1"),
            (&long, long.len() as u64, "The header has more than 16384 bytes."),
            (start, long.len() as u64, "The header has more than 16384 bytes."),
        ] {
            let stop = header(text.as_bytes(), Place::default(), size).expect_err("a fault").to_string();
            assert!(stop.starts_with(reason), "{text:?}: {stop}");
        }
    }

    #[test]
    fn other_formats_are_named() {
        for (start, name) in [
            (&b"\x1f\x8b\x08"[..], "compressed with gzip"),
            (b"\xff\xfei\0d\0", "in UTF-16"),
            (b"\xfe\xff\0i\0d", "in UTF-16"),
            (b"i\0d\0", "in UTF-16 or UTF-32, or no text"),
            (b"\0i\0d", "in UTF-16 or UTF-32, or no text"),
            (b"\0\0\xfe\xff\0\0\0i", "in UTF-16 or UTF-32, or no text"),
        ] {
            assert_eq!(foreign(start), Some(name), "{}", start.escape_ascii());
        }
        assert_eq!([foreign(b""), foreign(b"id,\n"), foreign(b"\xef\xbb\xbfid")], [None; 3]);
    }
}
