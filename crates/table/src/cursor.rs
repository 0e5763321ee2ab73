use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use keys::KeyRange;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// Length of the checksum in bytes. The probability that a randomly changed cursor has a valid
/// checksum is 1 in 2^64.
const CHECKSUM: usize = 8;
/// Length in bytes of the time, in seconds since 1970. Five bytes are enough until the year 36812.
const TIME: usize = 5;

/// The cursor was edited or belongs to another list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor of this list")]
pub struct BadCursor;

/// The request that a cursor is valid for: the route, the caller's access, and the query parameters
/// including defaults.
#[derive(Debug, Clone)]
pub struct Binding {
    digest: Sha256,
}

impl Binding {
    /// Creates a binding to the route.
    #[must_use]
    pub fn new(route: &str) -> Self {
        Self { digest: Sha256::new() }.with(route)
    }

    /// Adds a part and its length. Without the lengths, different parts could have the same
    /// concatenation.
    #[must_use]
    pub fn with(mut self, part: &str) -> Self {
        self.digest.update(part.len().to_be_bytes());
        self.digest.update(part);
        self
    }

    fn checksum(self, started: &[u8], position: &str) -> [u8; CHECKSUM] {
        let mut digest = self.with(position).digest;
        digest.update(started);
        let mut checksum = [0; CHECKSUM];
        checksum.copy_from_slice(&digest.finalize()[..CHECKSUM]);
        checksum
    }
}

/// The position of the next page, as URL-safe text. It contains a checksum, the time of the first
/// page and the last key. The key is stored without the prefix that all keys of the range share.
///
/// All pages use the time of the first page, so that defaults such as "today" do not change between
/// pages. The checksum needs no secret: a forged cursor gives access only to items that the same
/// query returns without a cursor (docs/decisions/cursor.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    checksum: [u8; CHECKSUM],
    started: [u8; TIME],
    rest: String,
}

impl Cursor {
    /// Creates a cursor for the items after `position` in `range`. `started` is the time of the
    /// first page, in seconds since 1970.
    #[must_use]
    pub fn new(binding: Binding, started: i64, range: &KeyRange, position: &str) -> Self {
        let rest = position.strip_prefix(range.shared_prefix()).unwrap_or(position).to_owned();
        let mut time = [0; TIME];
        time.copy_from_slice(&started.to_be_bytes()[8 - TIME..]);
        Self { checksum: bind(binding, range).checksum(&time, &rest), started: time, rest }
    }

    /// The time of the first page, in seconds since 1970. The time is unverified until
    /// [`Cursor::open`] succeeds.
    #[must_use]
    pub fn started(&self) -> i64 {
        let mut bytes = [0; 8];
        bytes[8 - TIME..].copy_from_slice(&self.started);
        i64::from_be_bytes(bytes)
    }

    /// Checks the cursor and returns the part of the range after its position.
    ///
    /// # Errors
    /// The cursor was edited or belongs to another list.
    pub fn open(&self, binding: Binding, range: &KeyRange) -> Result<KeyRange, BadCursor> {
        if bind(binding, range).checksum(&self.started, &self.rest) != self.checksum {
            return Err(BadCursor);
        }
        // A cursor with a forged checksum still cannot leave the range.
        let position = self.position(range);
        if range.contains(&position) { Ok(range.after(&position)) } else { Err(BadCursor) }
    }

    /// The position in the range. It is unverified until [`Cursor::open`] succeeds.
    #[must_use]
    pub fn position(&self, range: &KeyRange) -> String {
        format!("{}{}", range.shared_prefix(), self.rest)
    }
}

fn bind(binding: Binding, range: &KeyRange) -> Binding {
    binding.with(range.from()).with(range.to())
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.checksum[..], &self.started[..], self.rest.as_bytes()].concat();
        out.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BadCursor)?;
        let (checksum, bytes) = bytes.split_first_chunk().ok_or(BadCursor)?;
        let (started, rest) = bytes.split_first_chunk().ok_or(BadCursor)?;
        let rest = String::from_utf8(rest.to_vec()).map_err(|_| BadCursor)?;
        Ok(Self { checksum: *checksum, started: *started, rest })
    }
}

#[cfg(test)]
mod tests;
