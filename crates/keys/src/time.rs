use crate::text::{Invalid, serde_as_text};
use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};
use std::{fmt, str::FromStr};

/// A UTC time in seconds, formatted as `2026-12-01T09:30:00Z`. The text always has 20 characters,
/// so its lexicographic order is the order of time (docs/decisions/times.md).
///
/// Parsing accepts RFC 3339 with any offset and fraction. The time is converted to UTC. The
/// fraction is truncated instead of rounded, so 23:59:59.999 stays on the same day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampSeconds(Timestamp);

impl TimestampSeconds {
    /// The earliest supported time, 0000-01-01T00:00:00Z.
    pub const MIN: Self = Self(Timestamp::constant(-62_167_219_200, 0));

    /// The latest supported time, 9999-12-30T22:00:00Z.
    pub const MAX: Self = Self(Timestamp::constant(253_402_207_200, 0));

    /// Truncates the instant to the second.
    ///
    /// # Errors
    /// The instant is before the year 0, so its text would have more than 20 characters.
    pub fn containing(instant: Timestamp) -> Result<Self, Invalid> {
        Timestamp::from_second(instant.as_second() - i64::from(instant.subsec_nanosecond() < 0))
            .ok()
            .map(Self)
            .filter(|second| *second >= Self::MIN)
            .ok_or_else(|| Invalid::new("must be between the years 0000 and 9999"))
    }

    /// Adds days. Returns [`TimestampSeconds::MAX`] if the result would be later.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Self {
        self.plus_seconds(days.saturating_mul(24 * 60 * 60))
    }

    /// Returns the time `seconds` later, or earlier if `seconds` is negative. A time out of range
    /// becomes the first or last time.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.0.checked_add(SignedDuration::from_secs(seconds)).map_or(Self::MAX, Self)
    }

    /// The time as a [`Timestamp`].
    #[must_use]
    pub fn instant(self) -> Timestamp {
        self.0
    }

    /// The UTC date of the time.
    #[must_use]
    pub fn day(self) -> Day {
        Day(self.0.to_zoned(TimeZone::UTC).date())
    }

    /// Formats the time as `20261201T093000Z`. Payment ids contain this form, because it needs no
    /// escaping in a URL path.
    pub(crate) fn compact(self) -> impl fmt::Display {
        self.0.strftime("%Y%m%dT%H%M%SZ")
    }

    /// Parses only the format that [`TimestampSeconds::compact`] writes.
    pub(crate) fn parse_compact(text: &str) -> Option<Self> {
        Self::parse_form(text, "00000000T000000Z")
    }

    /// Parses only the format that `Display` writes.
    pub(crate) fn parse_exact(text: &str) -> Option<Self> {
        Self::parse_form(text, "0000-00-00T00:00:00Z")
    }

    /// Parses a text that matches `form` exactly.
    ///
    /// This function is called for each key that is read. Checking the form and then converting the
    /// digits is faster than formatting the parsed time and comparing the texts.
    fn parse_form(text: &str, form: &str) -> Option<Self> {
        if !has_shape(text, form) {
            return None;
        }
        let mut digits = text.bytes().filter(u8::is_ascii_digit).map(|digit| (digit - b'0').cast_signed());
        let mut two = || Some(digits.next()? * 10 + digits.next()?);
        let year = i16::from(two()?) * 100 + i16::from(two()?);
        let civil = DateTime::new(year, two()?, two()?, two()?, two()?, two()?, 0).ok()?;
        Self::containing(TimeZone::UTC.to_timestamp(civil).ok()?).ok()
    }
}

/// A UTC time in milliseconds, formatted as `2026-01-02T10:30:00.123Z`. The text always has 24
/// characters, so its lexicographic order is the order of time.
///
/// Parsing accepts RFC 3339 with any offset and fraction. Digits after the millisecond are
/// truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMillis(Timestamp);

impl TimestampMillis {
    /// Truncates the instant to the millisecond.
    ///
    /// # Errors
    /// The instant is before the year 0, so its text would have more than 24 characters.
    pub fn containing(instant: Timestamp) -> Result<Self, Invalid> {
        TimestampSeconds::containing(instant)?;
        let milli = instant.as_millisecond() - i64::from(instant.subsec_nanosecond() % 1_000_000 < 0);
        Timestamp::from_millisecond(milli)
            .map(Self)
            .map_err(|_| Invalid::new("must be between the years 0000 and 9999"))
    }

    /// The time as a [`Timestamp`].
    #[must_use]
    pub fn instant(self) -> Timestamp {
        self.0
    }

    /// Returns the next millisecond. Returns the time unchanged if it is the last supported
    /// millisecond.
    #[must_use]
    pub fn next(self) -> Self {
        self.0.checked_add(MILLI).map_or(self, Self)
    }

    /// Subtracts seconds. Returns the time unchanged if the result would be out of range.
    #[must_use]
    pub fn minus_seconds(self, seconds: i64) -> Self {
        let earlier = self.0.checked_sub(SignedDuration::from_secs(seconds));
        earlier.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// Adds seconds. Returns the time unchanged if the result would be out of range.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        let later = self.0.checked_add(SignedDuration::from_secs(seconds));
        later.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// Adds days of 24 hours. Returns the time unchanged if the result would be out of range.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Self {
        let later = self.0.checked_add(SignedDuration::from_hours(24 * days));
        later.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// The UTC date of the time.
    #[must_use]
    pub fn day(self) -> Day {
        self.second().day()
    }

    /// Truncates the time to the second.
    #[must_use]
    pub fn second(self) -> TimestampSeconds {
        TimestampSeconds::containing(self.0).unwrap_or(TimestampSeconds::MIN)
    }
}

impl FromStr for TimestampMillis {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::containing(parse_instant(text)?)
    }
}

impl fmt::Display for TimestampMillis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.3}", self.0)
    }
}

serde_as_text!(TimestampMillis);

const MILLI: SignedDuration = SignedDuration::from_millis(1);

/// Returns whether the text equals `form`, where each `0` in `form` stands for any digit.
fn has_shape(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        })
}

/// Returns whether the text has the form of an RFC 3339 time. The crate jiff checks the numbers,
/// but it also accepts spaces, commas, missing parts and offsets of 24 hours.
fn is_rfc3339(text: &str) -> bool {
    let Some((whole, rest)) = text.split_at_checked(19) else { return false };
    let fraction = rest.strip_prefix('.').map_or(0, |digits| 1 + digits.bytes().take_while(u8::is_ascii_digit).count());
    let Some(offset) = rest.get(fraction..) else { return false };
    has_shape(whole, "0000-00-00T00:00:00")
        && (fraction == 0 || (2..=10).contains(&fraction))
        && (offset == "Z" || ((has_shape(offset, "+00:00") || has_shape(offset, "-00:00")) && &offset[1..3] <= "23"))
}

/// Parses an instant in RFC 3339.
pub(crate) fn parse_instant(text: &str) -> Result<Timestamp, Invalid> {
    const FORM: &str = "must be an RFC 3339 time such as 2026-12-01T09:30:00Z";
    const SPACE: &str = "must be an RFC 3339 time: in a query string, send the + of the offset as %2B";
    if !is_rfc3339(text) {
        let is_decoded_plus = text.matches(' ').count() == 1 && is_rfc3339(&text.replace(' ', "+"));
        return Err(Invalid::new(if is_decoded_plus { SPACE } else { FORM }));
    }
    text.parse().map_err(|_| {
        no_such_day(text).unwrap_or_else(|| Invalid::new("must be an existing time between the years 0000 and 9999"))
    })
}

/// The error for a text that starts with a date whose month is shorter, such as `2026-06-31`.
fn no_such_day(text: &str) -> Option<Invalid> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let date = text.get(..10).filter(|date| has_shape(date, "0000-00-00"))?;
    let (year, month, day) = (date[..4].parse().ok()?, date[5..7].parse().ok()?, &date[8..]);
    let last = Date::new(year, month, 1).ok()?.days_in_month();
    let name = MONTHS[usize::from(month.unsigned_abs()) - 1];
    let is_over = day.parse::<i8>().ok()? > last;
    is_over.then(|| Invalid::new(format!("must be an existing date: {name} {year:04} has {last} days")))
}

impl FromStr for TimestampSeconds {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::containing(parse_instant(text)?)
    }
}

impl fmt::Display for TimestampSeconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

serde_as_text!(TimestampSeconds);

/// A start or an end of a time range, as exact as in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    floor: TimestampSeconds,
    exact: Timestamp,
}

impl Bound {
    /// The first whole second at or after the bound, for the start of a range.
    #[must_use]
    pub fn first(self) -> TimestampSeconds {
        if self.floor.0 == self.exact { self.floor } else { self.floor.plus_seconds(1) }
    }

    /// The last whole second at or before the bound, for the end of a range.
    #[must_use]
    pub fn last(self) -> TimestampSeconds {
        self.floor
    }

    /// The first whole millisecond at or after the bound.
    #[must_use]
    pub fn first_milli(self) -> TimestampMillis {
        let last = self.last_milli();
        if last.0 == self.exact { last } else { TimestampMillis(last.0.saturating_add(MILLI).unwrap_or(last.0)) }
    }

    /// The last whole millisecond at or before the bound.
    #[must_use]
    pub fn last_milli(self) -> TimestampMillis {
        TimestampMillis::containing(self.exact).unwrap_or(TimestampMillis(self.floor.0))
    }
}

impl FromStr for Bound {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let exact = parse_instant(text)?;
        Ok(Self { floor: TimestampSeconds::containing(exact)?, exact })
    }
}

/// A UTC date, formatted as `2026-12-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// The year, 0 to 9999.
    pub(crate) fn year(self) -> u16 {
        self.0.year().unsigned_abs()
    }

    /// The first second of the day.
    pub(crate) fn first_second(self) -> TimestampSeconds {
        self.0.to_zoned(TimeZone::UTC).map_or(TimestampSeconds::MAX, |zoned| TimestampSeconds(zoned.timestamp()))
    }

    /// The last second of the day.
    pub(crate) fn last_second(self) -> TimestampSeconds {
        self.first_second().plus_seconds(24 * 60 * 60 - 1)
    }

    /// The first millisecond of the day.
    #[must_use]
    pub fn first_milli(self) -> TimestampMillis {
        TimestampMillis(self.first_second().0)
    }

    /// The last millisecond of the day.
    #[must_use]
    pub fn last_milli(self) -> TimestampMillis {
        const REST: SignedDuration = SignedDuration::from_millis(999);
        let last = self.last_second().0;
        TimestampMillis(last.saturating_add(REST).unwrap_or(last))
    }

    /// Returns the previous day. Returns the same day if it is the first supported day.
    #[must_use]
    pub fn before(self) -> Self {
        self.0.yesterday().map_or(self, Self)
    }

    /// Returns the next day. Returns the same day if it is the last supported day.
    #[must_use]
    pub fn next(self) -> Self {
        self.0.tomorrow().map_or(self, Self)
    }
}

impl FromStr for Day {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().ok().map(Self).filter(|day| day.0.year() >= 0 && day.to_string() == text).ok_or_else(|| {
            let is_date = has_shape(text, "0000-00-00");
            let missing = no_such_day(text).filter(|_| is_date);
            missing.unwrap_or_else(|| Invalid::new("must be an existing date such as 2026-12-01"))
        })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

serde_as_text!(Day);
