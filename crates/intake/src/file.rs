use crate::{
    Expected, Files, MAX_LINE, Range, Stop,
    record::{Columns, Format, Records},
    store,
};
use aws_sdk_s3::Client;
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
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One version of an object in S3. If the object is replaced, reading it fails.
#[derive(Clone)]
pub struct File {
    client: Client,
    bucket: String,
    key: String,
    tag: String,
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
        Self { client: files.client(), bucket: bucket.to_owned(), key: key.to_owned(), tag: tag.to_owned() }
    }

    /// Reads the start of the file: its form, its header and its control totals.
    ///
    /// # Errors
    /// [`Stop::File`] if the file cannot be imported at all.
    pub async fn open(&self, columns: &[&str], rest: &str) -> Result<Opened, Stop> {
        let format = Format::of(&self.key)?;
        let part = store::get(&self.client, (&self.bucket, &self.key), Some(&self.tag), 0..HEAD).await?;
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
        let part = store::get(&self.client, (&self.bucket, &self.key), Some(&self.tag), wanted.clone()).await?;
        // A part that is too short would look like the end of a line.
        if part.bytes.len() as u64 != wanted.end - wanted.start {
            return Err(store::Failure::outage(&"the response is incomplete").into());
        }
        Ok(Range::new(part.bytes, range, opened.start, opened.size))
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
