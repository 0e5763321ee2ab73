use crate::{
    schema::{self, lenient, titled},
    text::{Invalid, serde_as_text, serde_from_text},
};
use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime, Time},
    tz::{Offset, TimeZone},
};
use std::{fmt, ops::Range, str::FromStr};
use uuid::Uuid;

/// A UTC time in seconds, formatted as `2026-12-01T09:30:00Z`. The text always has 20 characters,
/// so its lexicographic order is the order of time (docs/decisions/times.md).
///
/// Parsing accepts RFC 3339 with any offset and fraction. The time is converted to UTC. The
/// fraction is truncated instead of rounded, so 23:59:59.999 stays on the same day. The leap second
/// 23:59:60 UTC becomes 23:59:59.
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
            .ok_or_else(out_of_range)
    }

    /// Adds days. Returns [`TimestampSeconds::MAX`] if the result would be later.
    pub fn plus_days(self, days: i64) -> Self {
        self.plus_seconds(days.saturating_mul(24 * 60 * 60))
    }

    /// Returns the time `seconds` later, or earlier if `seconds` is negative. A time out of range
    /// becomes the first or last time.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.0.checked_add(SignedDuration::from_secs(seconds)).map_or(Self::MAX, Self)
    }

    /// The time as a [`Timestamp`].
    pub fn instant(self) -> Timestamp {
        self.0
    }

    /// The UTC date of the time.
    pub fn day(self) -> Day {
        Day(self.0.to_zoned(TimeZone::UTC).date())
    }
}

/// A time or id in a key: exactly the text that `Display` writes.
pub(crate) struct Exact<T>(pub(crate) T);

impl<T: fmt::Display> fmt::Display for Exact<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Exact<TimestampSeconds> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        second_of(text, "0000-00-00T00:00:00Z").map(Self)
    }
}

impl FromStr for Exact<TimestampMillis> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        read_form(text, "0000-00-00T00:00:00.000Z").map(|time| Self(TimestampMillis(time))).ok_or(Invalid::key("time"))
    }
}

/// A time as `20261201T093000Z`. Payment ids contain this form, because it needs no escaping in a
/// URL path.
pub(crate) struct Compact(pub(crate) TimestampSeconds);

impl fmt::Display for Compact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.strftime("%Y%m%dT%H%M%SZ").fmt(out)
    }
}

impl FromStr for Compact {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        second_of(text, "00000000T000000Z").map(Self)
    }
}

/// Reads a key's time in whole seconds.
pub(crate) fn second_of(text: &str, form: &str) -> Result<TimestampSeconds, Invalid> {
    read_form(text, form).map(TimestampSeconds).ok_or(Invalid::key("time"))
}

/// Reads a text that matches `form` exactly: a date, a time, and at most three digits of the
/// fraction. Four digits are no year before 0000, and jiff has no later time than
/// [`TimestampMillis::MAX`].
///
/// This function is called for each key that is read. Checking the form and then converting the
/// digits is faster than formatting the parsed time and comparing the texts.
fn read_form(text: &str, form: &str) -> Option<Timestamp> {
    if !has_shape(text, form) {
        return None;
    }
    let mut digits = text.bytes().filter(u8::is_ascii_digit).map(|digit| (digit - b'0').cast_signed());
    let mut two = || Some(digits.next()? * 10 + digits.next()?);
    let year = i16::from(two()?) * 100 + i16::from(two()?);
    let (month, day, hour, minute, second) = (two()?, two()?, two()?, two()?, two()?);
    let millis = digits.fold(0, |millis, digit| millis * 10 + i32::from(digit));
    let civil = DateTime::new(year, month, day, hour, minute, second, millis * 1_000_000).ok()?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

/// A UTC time in milliseconds, formatted as `2026-01-02T10:30:00.123Z`. The text always has 24
/// characters, so its lexicographic order is the order of time.
///
/// Parsing accepts RFC 3339 with any offset and fraction. Digits after the millisecond are
/// truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMillis(Timestamp);

impl TimestampMillis {
    /// Returns the time in a version 7 UUID. `None` if the UUID has no valid time.
    pub(crate) fn of_uuid(id: Uuid) -> Option<Self> {
        let (seconds, nanoseconds) = id.get_timestamp()?.to_unix();
        let instant = Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanoseconds).ok()?).ok()?;
        Self::containing(instant).ok()
    }

    /// The earliest supported time, 0000-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(TimestampSeconds::MIN.0);

    /// The latest supported time, 9999-12-30T22:00:00.999Z.
    pub const MAX: Self = Self(Timestamp::constant(253_402_207_200, 999_000_000));

    /// Truncates the instant to the millisecond.
    ///
    /// # Errors
    /// The instant is before the year 0, so its text would have more than 24 characters.
    pub fn containing(instant: Timestamp) -> Result<Self, Invalid> {
        TimestampSeconds::containing(instant)?;
        let milli = instant.as_millisecond() - i64::from(instant.subsec_nanosecond() % 1_000_000 < 0);
        Timestamp::from_millisecond(milli).map(Self).map_err(|_| out_of_range())
    }

    /// The time as a [`Timestamp`].
    pub fn instant(self) -> Timestamp {
        self.0
    }

    /// Returns the next millisecond. Returns the time unchanged if it is the last supported
    /// millisecond.
    pub fn next(self) -> Self {
        self.0.checked_add(MILLI).map_or(self, Self)
    }

    /// Subtracts seconds. Returns the time unchanged if the result would be out of range.
    pub fn minus_seconds(self, seconds: i64) -> Self {
        let earlier = self.0.checked_sub(SignedDuration::from_secs(seconds));
        earlier.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// Adds seconds. Returns the time unchanged if the result would be out of range.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        let later = self.0.checked_add(SignedDuration::from_secs(seconds));
        later.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// Adds days of 24 hours. Returns the time unchanged if the result would be out of range.
    pub fn plus_days(self, days: i64) -> Self {
        let later = self.0.checked_add(SignedDuration::from_hours(24 * days));
        later.ok().and_then(|instant| Self::containing(instant).ok()).unwrap_or(self)
    }

    /// The UTC date of the time.
    pub fn day(self) -> Day {
        self.second().day()
    }

    /// Truncates the time to the second.
    pub fn second(self) -> TimestampSeconds {
        TimestampSeconds::containing(self.0).unwrap_or(TimestampSeconds::MIN)
    }
}

impl FromStr for TimestampMillis {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::containing(parse_instant(text)?.stored()?)
    }
}

impl fmt::Display for TimestampMillis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.3}", self.0)
    }
}

serde_as_text!(TimestampMillis);

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const MILLI: SignedDuration = SignedDuration::from_millis(1);

/// Returns whether the text equals `form`, where each `0` in `form` stands for any digit.
fn has_shape(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        })
}

/// An instant of RFC 3339. Times of the years 0000 and 9999 may be outside the range of stored
/// times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Instant {
    /// Before the first stored time.
    Before,
    At(Timestamp),
    /// After the last stored time.
    After,
}

impl Instant {
    fn of(civil: DateTime, offset: Offset) -> Self {
        // All years have four digits, so a time that jiff cannot represent is after the last one.
        match offset.to_timestamp(civil) {
            Ok(instant) if instant < TimestampSeconds::MIN.0 => Self::Before,
            Ok(instant) => Self::At(instant),
            Err(_) => Self::After,
        }
    }

    /// The instant, if it can be stored.
    fn stored(self) -> Result<Timestamp, Invalid> {
        match self {
            Self::At(instant) => Ok(instant),
            Self::Before | Self::After => Err(out_of_range()),
        }
    }
}

fn out_of_range() -> Invalid {
    Invalid::new(format!("must be a time from {} to {}", TimestampSeconds::MIN, TimestampSeconds::MAX))
}

/// The parts of an RFC 3339 time.
struct Parts<'a> {
    /// `2026-12-01T09:30:00`
    civil: &'a str,
    /// The digits of the fraction.
    fraction: &'a str,
    offset: Offset,
}

impl<'a> Parts<'a> {
    /// Splits a time in upper case. Returns `None` if it does not have the form of RFC 3339.
    fn of(text: &'a str) -> Option<Self> {
        let (civil, rest) = text.split_at_checked(19).filter(|(civil, _)| has_shape(civil, "0000-00-00T00:00:00"))?;
        let (fraction, offset) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", rest),
        };
        if rest.starts_with('.') && fraction.is_empty() {
            return None;
        }
        Some(Self { civil, fraction, offset: offset_of(offset)? })
    }

    /// The instant. Returns `None` if the date or the time does not exist.
    ///
    /// A leap second is the last nanosecond of its minute, so that it stays on its day.
    fn instant(&self) -> Option<Instant> {
        let number = |range: Range<usize>| self.civil[range].parse::<i8>().ok();
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let is_leap = second == 60;
        if is_leap {
            let minutes = i32::from(hour) * 60 + i32::from(minute) - self.offset.seconds() / 60;
            (minutes.rem_euclid(24 * 60) == 24 * 60 - 1).then_some(())?;
        }
        let nanos = if is_leap { 999_999_999 } else { format!("{:0<9.9}", self.fraction).parse().ok()? };
        let date = Date::new(self.civil[..4].parse().ok()?, number(5..7)?, number(8..10)?).ok()?;
        let time = Time::new(hour, minute, second.min(59) + i8::from(second > 60), nanos).ok()?;
        Some(Instant::of(date.to_datetime(time), self.offset))
    }
}

/// Parses `Z` or an offset from `-23:59` to `+23:59`.
fn offset_of(text: &str) -> Option<Offset> {
    if text == "Z" {
        return Some(Offset::UTC);
    }
    if !(has_shape(text, "+00:00") || has_shape(text, "-00:00")) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (text[1..3].parse().ok()?, text[4..].parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()
}

/// Parses an instant in RFC 3339: letters of any case, any number of digits of the fraction, of
/// which nine count, and leap seconds.
fn parse_instant(text: &str) -> Result<Instant, Invalid> {
    const FORM: &str = "must be an RFC 3339 time such as 2026-12-01T09:30:00Z";
    const SPACE: &str = "must be an RFC 3339 time: in a query string, send the + of the offset as %2B";
    let text = text.to_ascii_uppercase();
    let Some(parts) = Parts::of(&text) else {
        let is_decoded_plus = text.matches(' ').count() == 1 && Parts::of(&text.replace(' ', "+")).is_some();
        return Err(Invalid::new(if is_decoded_plus { SPACE } else { FORM }));
    };
    parts.instant().ok_or_else(|| no_such_day(&text).unwrap_or_else(|| Invalid::new("must be an existing time")))
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
        Self::containing(parse_instant(text)?.stored()?)
    }
}

impl fmt::Display for TimestampSeconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

serde_as_text!(TimestampSeconds);

/// A start or an end of a time range: a time, as exact as in the request, or a whole day in UTC
/// (docs/decisions/times.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    start: Instant,
    end: Instant,
}

impl Bound {
    /// The first whole second at or after the bound. `None` if it is after the last stored time.
    fn first(self) -> Option<TimestampSeconds> {
        let Instant::At(exact) = self.start else {
            return (self.start == Instant::Before).then_some(TimestampSeconds::MIN);
        };
        let floor = TimestampSeconds::containing(exact).ok()?;
        if floor.0 == exact { Some(floor) } else { floor.0.checked_add(SECOND).ok().map(TimestampSeconds) }
    }

    /// The last whole second at or before the bound. `None` if it is before the first stored time.
    fn last(self) -> Option<TimestampSeconds> {
        match self.end {
            Instant::Before => None,
            Instant::At(exact) => TimestampSeconds::containing(exact).ok(),
            Instant::After => Some(TimestampSeconds::MAX),
        }
    }

    /// The first whole millisecond at or after the bound, as [`Bound::first`].
    fn first_milli(self) -> Option<TimestampMillis> {
        let Instant::At(exact) = self.start else {
            return (self.start == Instant::Before).then_some(TimestampMillis::MIN);
        };
        let floor = TimestampMillis::containing(exact).ok()?;
        if floor.0 == exact { Some(floor) } else { floor.0.checked_add(MILLI).ok().map(TimestampMillis) }
    }

    /// The last whole millisecond at or before the bound, as [`Bound::last`].
    fn last_milli(self) -> Option<TimestampMillis> {
        match self.end {
            Instant::Before => None,
            Instant::At(exact) => TimestampMillis::containing(exact).ok(),
            Instant::After => Some(TimestampMillis::MAX),
        }
    }

    /// The last whole millisecond of the bound that is not after `now`. A day that has started ends
    /// now. Returns `None` if the bound is after `now`.
    pub fn until(self, now: TimestampMillis) -> Option<TimestampMillis> {
        let has_started = match self.start {
            Instant::Before => true,
            Instant::At(start) => TimestampMillis::containing(start).is_ok_and(|start| start <= now),
            Instant::After => false,
        };
        has_started.then(|| self.last_milli().unwrap_or(TimestampMillis::MIN).min(now))
    }

    /// Requires the bound to contain a time that can be stored.
    pub(crate) fn stored(self) -> Result<Self, Invalid> {
        self.start.stored().or(self.end.stored()).map(|_| self)
    }
}

impl From<Day> for Bound {
    fn from(Day(date): Day) -> Self {
        let at = |time: Time| Instant::of(date.to_datetime(time), Offset::UTC);
        Self { start: at(Time::MIN), end: at(Time::MAX) }
    }
}

impl FromStr for Bound {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const FORM: &str = "must be an RFC 3339 time such as 2026-12-01T09:30:00Z or a date such as 2026-12-01";
        if has_shape(text, "0000-00-00") {
            return text.parse().map(<Self as From<Day>>::from);
        }
        let is_form = |error: &Invalid| error.to_string().contains("such as");
        let exact = parse_instant(text).map_err(|error| if is_form(&error) { Invalid::new(FORM) } else { error })?;
        Ok(Self { start: exact, end: exact })
    }
}

serde_from_text!(Bound);

/// A time range, both ends included.
///
/// A start before the first stored time and an end after the last one are no limits. A range
/// without stored times is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    from: Option<Bound>,
    to: Option<Bound>,
}

impl Bounds {
    /// Creates a range. `None` stands for a missing bound. Returns `None` if the range ends before
    /// it starts.
    pub fn new(from: Option<Bound>, to: Option<Bound>) -> Option<Self> {
        let is_backward = from.zip(to).is_some_and(|(from, to)| from.start > to.end);
        (!is_backward).then_some(Self { from, to })
    }

    /// The first and the last whole second. The last one is before the first one if the range has
    /// no whole second. `None` stands for a missing bound.
    pub fn seconds(self) -> (Option<TimestampSeconds>, Option<TimestampSeconds>) {
        match (self.from.map(Bound::first), self.to.map(Bound::last)) {
            (Some(None), _) | (_, Some(None)) => (Some(TimestampSeconds::MAX), Some(TimestampSeconds::MIN)),
            (from, to) => (from.flatten(), to.flatten()),
        }
    }

    /// The first and the last whole millisecond, as [`Bounds::seconds`].
    pub fn millis(self) -> (Option<TimestampMillis>, Option<TimestampMillis>) {
        match (self.from.map(Bound::first_milli), self.to.map(Bound::last_milli)) {
            (Some(None), _) | (_, Some(None)) => (Some(TimestampMillis::MAX), Some(TimestampMillis::MIN)),
            (from, to) => (from.flatten(), to.flatten()),
        }
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

    /// The date, for calendar arithmetic.
    pub fn date(self) -> Date {
        self.0
    }

    /// Returns the time of the day, in UTC. A time after the last supported one becomes
    /// [`TimestampSeconds::MAX`].
    pub fn at(self, time: Time) -> TimestampSeconds {
        let instant = self.0.to_datetime(time).to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
        instant.and_then(|instant| TimestampSeconds::containing(instant).ok()).unwrap_or(TimestampSeconds::MAX)
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
    pub fn first_milli(self) -> TimestampMillis {
        TimestampMillis(self.first_second().0)
    }

    /// The last millisecond of the day.
    pub fn last_milli(self) -> TimestampMillis {
        const REST: SignedDuration = SignedDuration::from_millis(999);
        let last = self.last_second().0;
        TimestampMillis(last.saturating_add(REST).unwrap_or(last))
    }

    /// Returns the number of days from `earlier` to this day.
    pub fn days_since(self, earlier: Self) -> i64 {
        self.0.duration_since(earlier.0).as_hours() / 24
    }

    /// Returns the previous day. Returns the same day if it is the first supported day.
    pub fn before(self) -> Self {
        self.0.yesterday().map_or(self, Self)
    }

    /// Returns the next day. Returns the same day if it is the last supported day.
    pub fn next(self) -> Self {
        self.0.tomorrow().map_or(self, Self)
    }
}

impl TryFrom<Date> for Day {
    type Error = Invalid;

    fn try_from(date: Date) -> Result<Self, Invalid> {
        if date.year() >= 0 { Ok(Self(date)) } else { Err(Invalid::new("must not be before the year 0")) }
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

crate::schema!(Day as "Day": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"});

crate::schema!(Bound as "TimeBound", |generator| ::schemars::json_schema!({
    "description": "Start or end of a time range: a time, or a date, which means the whole day in UTC. A time outside \
        the range of stored times is no limit on its own side, and gives an empty range on the other side.",
    "anyOf": [titled::<Day>(generator), titled::<schema::Time>(generator)]
}));

lenient!(TimestampSeconds, schema::Time, schema::Seconds);
lenient!(TimestampMillis, schema::Time, schema::Millis);
