use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use keys::KeyRange;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// Bytes of the checksum that a cursor carries: one changed at random passes once in 2^64.
const CHECKSUM: usize = 8;
/// Bytes of the time in a cursor: seconds since 1970 until the year 36812.
const TIME: usize = 5;

/// A cursor that was changed, or belongs to another list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor of this list")]
pub struct BadCursor;

/// All that a cursor is bound to: the route, the caller's reach, and the resolved query.
#[derive(Debug, Clone)]
pub struct Binding {
    digest: Sha256,
}

impl Binding {
    /// Starts with the route.
    #[must_use]
    pub fn new(route: &str) -> Self {
        Self { digest: Sha256::new() }.with(route)
    }

    /// Adds a part. Its length goes in as well, so that no two lists of parts read alike.
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

/// Where a list goes on: opaque, URL-safe text of a checksum, the time of the first page, and the
/// position without what every key of the range begins with.
///
/// The time lets defaults such as "today" mean the same on every page. The checksum is no secret:
/// who forges a cursor reaches what the same query reaches without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    checksum: [u8; CHECKSUM],
    started: [u8; TIME],
    rest: String,
}

impl Cursor {
    /// A cursor behind `position` in `range`, of a list whose first page was read at `started`, in
    /// seconds since 1970.
    #[must_use]
    pub fn new(binding: Binding, started: i64, range: &KeyRange, position: &str) -> Self {
        let rest = position.strip_prefix(range.shared_prefix()).unwrap_or(position).to_owned();
        let mut time = [0; TIME];
        time.copy_from_slice(&started.to_be_bytes()[8 - TIME..]);
        Self { checksum: bind(binding, range).checksum(&time, &rest), started: time, rest }
    }

    /// When the first page was read. Not to be trusted before [`Cursor::open`].
    #[must_use]
    pub fn started(&self) -> i64 {
        let mut bytes = [0; 8];
        bytes[8 - TIME..].copy_from_slice(&self.started);
        i64::from_be_bytes(bytes)
    }

    /// What is left of the range behind the cursor.
    ///
    /// # Errors
    /// The cursor was changed, or belongs to another list.
    pub fn open(&self, binding: Binding, range: &KeyRange) -> Result<KeyRange, BadCursor> {
        if bind(binding, range).checksum(&self.started, &self.rest) != self.checksum {
            return Err(BadCursor);
        }
        // Whoever forges a checksum still stays within the range.
        let position = self.position(range);
        if range.contains(&position) { Ok(range.after(&position)) } else { Err(BadCursor) }
    }

    /// The position in the range. Not to be trusted before [`Cursor::open`].
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
