use crate::{
    Expected, Files, Line, MAX_LINE, Range, Stop,
    record::{Columns, Format, Records},
    store,
};
use aws_sdk_s3::Client;
use function::{Error, Fault, Input, read_record};
use std::ops;

/// Maximum size of a file in bytes (docs/requirements/bank.md#import-payments).
pub const MAX_FILE: u64 = 10 * 1024 * 1024 * 1024;
/// Bytes that are read to open a file: a byte order mark and a header of the maximum length.
const HEAD: u64 = MAX_LINE as u64 + 8;

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
    /// Position of the first line after the header.
    pub start: u64,
    /// Number of lines before `start`.
    pub lines: u64,
    /// Form of the records.
    pub records: Records,
    /// Control totals in the metadata of the object.
    pub expected: Expected,
}

impl File {
    /// Returns the object with this entity tag.
    #[must_use]
    pub fn new(files: &Files, bucket: &str, key: &str, tag: &str) -> Self {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Self { client: files.client(), bucket, key, tag: Some(tag.to_owned()), format: None }
    }

    /// Returns a CSV file whose content never changes, for example because its checksum was signed.
    #[must_use]
    pub fn fixed_csv(files: &Files, bucket: &str, key: &str) -> Self {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Self { client: files.client(), bucket, key, tag: None, format: Some(Format::Csv) }
    }

    /// Reads the start of the file: its form, its header and its control totals.
    ///
    /// # Errors
    /// [`Stop::File`] if the file cannot be imported at all.
    pub async fn open(&self, columns: &[&str], rest: &str) -> Result<Opened, Stop> {
        let format = self.format.map_or_else(|| Format::of(&self.key), Ok)?;
        let part = store::get(&self.client, (&self.bucket, &self.key), self.tag.as_deref(), 0..HEAD).await?;
        if part.size > MAX_FILE {
            return Err(Stop::file("The file is larger than 10 GB. Split it into several files."));
        }
        let expected = Expected::read(&part.metadata).map_err(Stop::File)?;
        if let Some((_, name)) = FOREIGN.iter().find(|(start, _)| part.bytes.starts_with(start)) {
            return Err(Stop::File(format!("The file is {name}. Send UTF-8 text without compression.")));
        }
        let text = part.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&part.bytes);
        let mark = (part.bytes.len() - text.len()) as u64;
        if text.is_empty() {
            return Err(Stop::file("The file is empty."));
        }
        let opened = |start, lines, records| Opened { size: part.size, start, lines, records, expected };
        match format {
            Format::JsonLines => Ok(opened(mark, 0, Records::JsonLines)),
            Format::Csv => {
                let (header, end) = header(text, mark + text.len() as u64 == part.size)?;
                let columns = Columns::read(header, columns, rest).map_err(Stop::File)?;
                Ok(opened(mark + end as u64, 1, Records::Csv(columns)))
            }
        }
    }

    /// Reads the lines that start in the range.
    ///
    /// # Errors
    /// [`Stop::File`] if the object was replaced or deleted.
    pub async fn read(&self, opened: &Opened, range: ops::Range<u64>) -> Result<Range, Stop> {
        let wanted = Range::bytes(&range, opened.start, opened.size);
        let part = store::get(&self.client, (&self.bucket, &self.key), self.tag.as_deref(), wanted.clone()).await?;
        // A part that is too short would look like the end of a line.
        if part.bytes.len() as u64 != wanted.end - wanted.start {
            return Err(store::Failure::outage(&"the response is incomplete").into());
        }
        Ok(Range::new(part.bytes, range, opened.start, opened.size))
    }
}

/// A line that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The id of the record, if it can be read.
    pub id: Option<String>,
    /// The reason.
    pub reason: String,
}

impl Opened {
    /// Reads the record of a line. Returns `None` for a blank line. If a record is not valid,
    /// `id_of` reads its id from the JSON object.
    ///
    /// # Errors
    /// The line is not valid.
    pub fn record<I: Input>(&self, line: &Line<'_>, id_of: fn(&str) -> Option<String>) -> Result<Option<I>, Invalid> {
        let unread = |reason: String| Invalid { id: None, reason };
        let text = line.text.map_err(|reason| unread(reason.to_owned()))?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let json = self.records.json(text).map_err(unread)?;
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
#[must_use]
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

/// Returns the header of a CSV file, and the position of the next line.
fn header(text: &[u8], is_whole: bool) -> Result<(&str, usize), Stop> {
    let end = text.iter().take(MAX_LINE + 2).position(|byte| *byte == b'\n');
    let (line, next) = match end {
        Some(end) => (&text[..end], end + 1),
        None if is_whole => (text, text.len()),
        None => return Err(Stop::File(format!("The header has more than {MAX_LINE} bytes."))),
    };
    let line = str::from_utf8(line).map_err(|_| Stop::file("The header is not valid UTF-8."))?;
    Ok((line.strip_suffix('\r').unwrap_or(line), next))
}
