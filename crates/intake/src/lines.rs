//! Lines in a byte range of a file. A line belongs to the range in which it starts, so that several
//! workers can read the ranges of a file independently.

use memchr::memchr;
use std::ops;

/// Maximum length of a line in bytes, without its end. A longer line is rejected without being
/// kept in memory.
pub const MAX_LINE: usize = 16 * 1024;
/// Bytes after a range that can belong to its last line: the line, `\r` and `\n`.
const OVER: u64 = MAX_LINE as u64 + 2;

/// The bytes of a range, and of the line that continues after it.
#[derive(Debug, Clone)]
pub struct Range {
    bytes: Vec<u8>,
    /// Position of the first byte in the file.
    offset: u64,
    /// Positions at which the lines of this range start.
    starts: ops::Range<u64>,
    /// Whether the first byte belongs to the line before the range.
    follows: bool,
    size: u64,
}

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Position of the line in the file.
    pub start: u64,
    /// Position after the line. Every later line starts there or behind it.
    pub end: u64,
    /// The text without its end, or the reason for which it cannot be read.
    pub text: Result<&'a str, &'static str>,
}

impl Range {
    /// The bytes to read for the lines that start in `range`. `start` is the position of the first
    /// line of the file, and `size` the size of the file.
    pub(crate) fn bytes(range: &ops::Range<u64>, start: u64, size: u64) -> ops::Range<u64> {
        // The byte before the range tells whether a line starts with the range.
        let first = if range.start <= start { start } else { range.start - 1 };
        first..range.end.saturating_add(OVER).min(size)
    }

    pub(crate) fn new(bytes: Vec<u8>, range: ops::Range<u64>, start: u64, size: u64) -> Self {
        let offset = Self::bytes(&range, start, size).start;
        Self { bytes, offset, follows: offset < range.start, starts: range, size }
    }

    /// Position after the range.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.starts.end
    }

    /// Returns the lines that start in the range, in order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let first = match memchr(b'\n', &self.bytes) {
            _ if !self.follows => Some(0),
            Some(end) => Some(end + 1),
            None => None,
        };
        std::iter::successors(first.and_then(|at| self.line(at)), |line| {
            let at = usize::try_from(line.end.checked_sub(self.offset)?).ok()?;
            self.line(at)
        })
    }

    fn line(&self, at: usize) -> Option<Line<'_>> {
        let start = self.offset + at as u64;
        let rest = self.bytes.get(at..)?;
        if start >= self.starts.end || rest.is_empty() {
            return None;
        }
        let (text, end) = match memchr(b'\n', rest) {
            Some(length) => (&rest[..length], start + length as u64 + 1),
            None if self.offset + self.bytes.len() as u64 >= self.size => (rest, self.size),
            // The end of the line was not read, so no other line starts in the range.
            None => (rest, self.starts.end.max(start + 1)),
        };
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = match text.len() {
            0..=MAX_LINE => str::from_utf8(text).map_err(|_| "The line is not valid UTF-8."),
            _ => Err("The line has more than 16384 bytes."),
        };
        Some(Line { start, end, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range_of(file: &[u8], range: ops::Range<u64>, start: u64) -> Range {
        let size = file.len() as u64;
        let wanted = Range::bytes(&range, start, size);
        let place = |at: u64| usize::try_from(at).expect("a position");
        let bytes = file[place(wanted.start).min(file.len())..place(wanted.end)].to_vec();
        Range::new(bytes, range, start, size)
    }

    type Found = Vec<(u64, Result<String, &'static str>)>;

    fn lines(file: &[u8], step: u64, start: u64) -> Found {
        let mut found = Vec::new();
        let mut at = start;
        while at < file.len() as u64 {
            let end = (at + step).min(file.len() as u64);
            let range = range_of(file, at..end, start);
            found.extend(range.lines().map(|line| (line.start, line.text.map(str::to_owned))));
            at = end;
        }
        found
    }

    #[test]
    fn every_line_is_in_exactly_one_range() {
        let file = b"\xef\xbb\xbfone\r\n\ntwo\nthree\xff\n\r\nlast";
        let expected: Found = vec![
            (3, Ok("one".to_owned())),
            (8, Ok(String::new())),
            (9, Ok("two".to_owned())),
            (13, Err("The line is not valid UTF-8.")),
            (20, Ok(String::new())),
            (22, Ok("last".to_owned())),
        ];
        for step in 1..=30 {
            assert_eq!(lines(file, step, 3), expected, "{step}");
        }
    }

    #[test]
    fn a_long_line_is_rejected_once_and_the_next_line_is_found() {
        let long = "x".repeat(3 * MAX_LINE);
        let fits = "y".repeat(MAX_LINE);
        let file = format!("a\n{long}\nb\n{fits}\r\n{fits}z\nc").into_bytes();
        for step in [1_000, MAX_LINE as u64, 40_000, 1_000_000] {
            let texts: Vec<_> =
                lines(&file, step, 0).into_iter().map(|(_, text)| text.map(|text| text.len())).collect();
            let too_long = Err("The line has more than 16384 bytes.");
            assert_eq!(texts, [Ok(1), too_long, Ok(1), Ok(MAX_LINE), too_long, Ok(1)], "{step}");
        }
    }

    proptest! {
        #[test]
        fn ranges_of_any_size_find_the_same_lines(file in "[a\n\r]{0,200}", step in 1_u64..50) {
            let whole = lines(file.as_bytes(), 1_000, 0);
            prop_assert_eq!(lines(file.as_bytes(), step, 0), whole.clone());
            prop_assert_eq!(whole.len(), file.split_terminator('\n').count());
        }

        /// A run can stop after any line. The next run starts at the end of that line.
        #[test]
        fn a_range_can_start_after_any_line(file in "[a\n\r]{1,100}", at in 0_usize..40) {
            let whole = range_of(file.as_bytes(), 0..file.len() as u64, 0);
            let all: Vec<_> = whole.lines().map(|line| (line.start, line.end)).collect();
            let Some((_, end)) = all.get(at).copied() else { return Ok(()) };
            let rest = range_of(file.as_bytes(), end..file.len() as u64, 0);
            let rest: Vec<_> = rest.lines().map(|line| (line.start, line.end)).collect();
            prop_assert_eq!(&rest[..], &all[at + 1..]);
        }
    }
}
