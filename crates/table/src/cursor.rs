use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use keys::KeyRange;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

/// Length of the checksum in bytes. A randomly changed cursor passes the check with a probability
/// of 1 in 2^64.
const CHECKSUM: usize = 8;
/// Length of the time in bytes. Five bytes for seconds since 1970 suffice until the year 36812.
const TIME: usize = 5;

/// The cursor was edited or belongs to a different list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor of this list")]
pub struct BadCursor;

/// The request for which a cursor is valid. It includes the route, the caller's access, and the
/// query parameters with their defaults.
#[derive(Debug, Clone)]
pub struct Binding {
    digest: Sha256,
}

impl Binding {
    /// Creates a binding to the route.
    pub fn new(route: &str) -> Self {
        Self { digest: Sha256::new() }.with(route)
    }

    /// Adds a part of the request. The digest includes the length of each part, so that `ab` + `c`
    /// differs from `a` + `bc`.
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

/// The position of the next page, as URL-safe text. A cursor contains a checksum, the time of the
/// first page, and the last key without the common prefix of the range.
///
/// All pages use the time of the first page, so defaults such as "today" stay the same on every
/// page. The checksum needs no secret, because a forged cursor only reveals items that the same
/// query returns without a cursor (docs/decisions/lists.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    checksum: [u8; CHECKSUM],
    started: [u8; TIME],
    rest: String,
}

keys::schema!(Cursor as "Cursor": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"});

impl Cursor {
    /// Creates a cursor for the items after `position` in `range`. `started` is the time of the
    /// first page, in seconds since 1970.
    pub fn new(binding: Binding, started: i64, range: &KeyRange, position: &str) -> Self {
        let rest = position.strip_prefix(range.shared_prefix()).unwrap_or(position).to_owned();
        let mut time = [0; TIME];
        time.copy_from_slice(&started.to_be_bytes()[8 - TIME..]);
        Self { checksum: bind(binding, range).checksum(&time, &rest), started: time, rest }
    }

    /// The time of the first page, in seconds since 1970. The time is unverified until
    /// [`Cursor::open`] succeeds.
    pub fn started(&self) -> i64 {
        let mut bytes = [0; 8];
        bytes[8 - TIME..].copy_from_slice(&self.started);
        i64::from_be_bytes(bytes)
    }

    /// Checks the cursor and returns the part of the range after its position.
    ///
    /// # Errors
    /// The cursor was edited or belongs to a different list.
    pub fn open(&self, binding: Binding, range: &KeyRange) -> Result<KeyRange, BadCursor> {
        if bind(binding, range).checksum(&self.started, &self.rest) != self.checksum {
            return Err(BadCursor);
        }
        // A cursor with a forged checksum must not give access to items outside the range.
        let position = self.position(range);
        if range.has_position(&position) { Ok(range.after(&position)) } else { Err(BadCursor) }
    }

    /// The position in the range. The position is unverified until [`Cursor::open`] succeeds.
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
