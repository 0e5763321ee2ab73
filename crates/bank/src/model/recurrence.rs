//! Dates of a standing order: calendar arithmetic without a clock
//! (docs/requirements/bank.md#standing-orders).

use function::Whole;
use jiff::{
    ToSpan,
    civil::{Date, Time, Weekday},
};
use keys::{Day, TimestampSeconds};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use std::{fmt, str::FromStr};

/// Defines a type whose text `Display` writes and `FromStr` reads, as it is stored.
macro_rules! stored_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                String::deserialize(input)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

/// How often a standing order pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Schedule {
    /// Once a month.
    Monthly,
    /// Once a week.
    Weekly,
}

impl FromStr for Schedule {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "monthly" => Ok(Self::Monthly),
            "weekly" => Ok(Self::Weekly),
            _ => Err("must be monthly or weekly"),
        }
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        String::deserialize(input)?.parse().map_err(D::Error::custom)
    }
}

/// The day on which a standing order pays. It is stored as text: `15`, `last` or `monday`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderDay {
    /// A day of the month, 1 to 31. A shorter month has its last day instead.
    Date(i8),
    /// The last day of the month.
    Last,
    /// A day of the week.
    Weekday(Weekday),
}

/// The days of the week, as in requests.
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const LAST: &str = "last";

impl OrderDay {
    /// The schedule that has such a day.
    pub(crate) fn schedule(self) -> Schedule {
        match self {
            Self::Date(_) | Self::Last => Schedule::Monthly,
            Self::Weekday(_) => Schedule::Weekly,
        }
    }
}

impl fmt::Display for OrderDay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(number) => number.fmt(out),
            Self::Last => out.write_str(LAST),
            Self::Weekday(day) => {
                let named = WEEKDAYS.iter().find(|(_, weekday)| weekday == day);
                out.write_str(named.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for OrderDay {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == LAST {
            return Ok(Self::Last);
        }
        if let Some((_, day)) = WEEKDAYS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Weekday(*day));
        }
        let number = text.parse().ok().filter(|number: &i8| (1..=31).contains(number) && number.to_string() == text);
        number.map(Self::Date).ok_or("must be a whole number from 1 to 31, \"last\", or a day of the week")
    }
}

stored_as_text!(OrderDay);

/// An [`OrderDay`] in a request or a response: a number, or a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonDay(pub(crate) OrderDay);

impl From<JsonDay> for OrderDay {
    fn from(JsonDay(day): JsonDay) -> Self {
        day
    }
}

impl Serialize for JsonDay {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            OrderDay::Date(number) => out.serialize_i8(number),
            day => out.collect_str(&day),
        }
    }
}

impl<'de> Deserialize<'de> for JsonDay {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(input)?;
        // A number in quotes is no day of the month.
        let text = serde_json::from_str::<String>(value.get()).ok().filter(|text| text.parse::<i8>().is_err());
        let number = || value.get().parse::<Whole<1, 31>>().ok().map(|number| i64::from(number).to_string());
        text.or_else(number).unwrap_or_default().parse().map(Self).map_err(D::Error::custom)
    }
}

keys::schema!(JsonDay as "StandingOrderDay": {
    "description": "Day of the month, or `last`, for the schedule monthly. A month without the day uses its last day. \
        Day of the week for the schedule weekly.",
    "anyOf": [
        {"title": "DayOfMonth", "type": "integer", "minimum": 1, "maximum": 31},
        {
            "title": "NamedDay",
            "type": "string",
            "enum": ["last", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        }
    ]
});

/// A time of the day in UTC, as `09:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeOfDay(Time);

impl FromStr for TimeOfDay {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':').and_then(|(hour, minute)| hour.parse().ok().zip(minute.parse().ok()));
        let time = parts.and_then(|(hour, minute)| Time::new(hour, minute, 0, 0).ok()).map(Self);
        time.filter(|time| time.to_string() == text).ok_or("must be a time in UTC such as 09:30")
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:02}:{:02}", self.0.hour(), self.0.minute())
    }
}

stored_as_text!(TimeOfDay);

keys::schema!(TimeOfDay as "TimeOfDay": {
    "description": "Time of the day in UTC.",
    "type": "string",
    "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"
});

/// The times of a standing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Recurrence {
    pub(crate) day: OrderDay,
    pub(crate) time: TimeOfDay,
    /// No payment is on an earlier date.
    pub(crate) first_date: Day,
    /// No payment is on a later date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_date: Option<Day>,
}

impl Recurrence {
    /// Returns the first date of a payment on or after the day.
    pub(crate) fn on_or_after(&self, day: Day) -> Option<Day> {
        let from = day.max(self.first_date).date();
        let found = match self.day {
            OrderDay::Weekday(weekday) => from.checked_add(from.weekday().until(weekday).days()).ok(),
            OrderDay::Date(number) => monthly(from, number),
            OrderDay::Last => monthly(from, 31),
        };
        found.and_then(|date| Day::try_from(date).ok()).filter(|date| self.last_date.is_none_or(|last| *date <= last))
    }

    /// Returns the first date whose payment is not before the time.
    pub(crate) fn since(&self, time: TimestampSeconds) -> Option<Day> {
        let (day, next) = (time.day(), time.day().next());
        if self.time_on(day) >= time {
            self.on_or_after(day)
        } else {
            (next > day).then(|| self.on_or_after(next)).flatten()
        }
    }

    /// Returns the dates of the payments from `first` to `last`, and the date of the next payment
    /// after them.
    pub(crate) fn dates(&self, first: Day, last: Day) -> (Vec<Day>, Option<Day>) {
        let (mut dates, mut next) = (Vec::new(), self.on_or_after(first));
        while let Some(date) = next.filter(|date| *date <= last) {
            dates.push(date);
            // The last supported day has no next one.
            next = Some(date.next()).filter(|day| *day > date).and_then(|day| self.on_or_after(day));
        }
        (dates, next)
    }

    /// The time of the payment on this date.
    pub(crate) fn time_on(&self, date: Day) -> TimestampSeconds {
        date.at(self.time.0)
    }
}

/// Returns the first date on or after `from` with this day of the month. A shorter month has its
/// last day instead.
fn monthly(from: Date, day: i8) -> Option<Date> {
    let in_month = |month: Date| month.with().day(day.min(month.days_in_month())).build().ok();
    let this = in_month(from)?;
    if this >= from { Some(this) } else { in_month(from.first_of_month().checked_add(1.month()).ok()?) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn day(text: &str) -> Day {
        text.parse().expect("a day")
    }

    fn recurrence(day: &str, first: &str, last: Option<&str>) -> Recurrence {
        let (first_date, last_date) = (self::day(first), last.map(self::day));
        Recurrence { day: day.parse().expect("a day"), time: "09:30".parse().expect("a time"), first_date, last_date }
    }

    fn texts(recurrence: &Recurrence, first: &str, last: &str) -> Vec<String> {
        recurrence.dates(day(first), day(last)).0.iter().map(Day::to_string).collect()
    }

    #[test]
    fn month_without_the_day_uses_its_last_day() {
        let dates = texts(&recurrence("31", "2027-11-30", None), "2027-01-01", "2028-04-30");
        let ends = ["2027-11-30", "2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"];
        assert_eq!(dates, ends, "2028 is a leap year");
        assert_eq!(texts(&recurrence("last", "2027-11-30", None), "2027-01-01", "2028-04-30"), ends);
        let dates = texts(&recurrence("30", "2027-01-31", None), "2027-01-01", "2027-04-29");
        assert_eq!(dates, ["2027-02-28", "2027-03-30"]);
        assert_eq!(texts(&recurrence("29", "2100-02-01", None), "2100-01-01", "2100-03-01"), ["2100-02-28"]);
    }

    #[test]
    fn weeks_continue_over_the_end_of_a_year() {
        let order = recurrence("thursday", "2026-12-18", Some("2027-01-14"));
        let (dates, next) = order.dates(day("2026-01-01"), day("2027-12-31"));
        let dates: Vec<String> = dates.iter().map(Day::to_string).collect();
        assert_eq!(
            (dates, next),
            (["2026-12-24", "2026-12-31", "2027-01-07", "2027-01-14"].map(str::to_owned).into(), None)
        );
    }

    #[test]
    fn payment_before_the_time_belongs_to_the_past() {
        let order = recurrence("1", "2026-12-01", None);
        for (time, date) in [
            ("2026-12-01T09:30:00Z", "2026-12-01"),
            ("2026-12-01T09:30:01Z", "2027-01-01"),
            ("2026-11-15T23:00:00Z", "2026-12-01"),
        ] {
            assert_eq!(order.since(time.parse().expect("a time")), Some(day(date)), "{time}");
        }
    }

    #[test]
    fn last_supported_day_has_no_successor() {
        let (dates, next) = recurrence("last", "9999-12-01", None).dates(day("9999-12-01"), day("9999-12-31"));
        assert_eq!((dates, next), (vec![day("9999-12-31")], None));
    }

    #[test]
    fn texts_have_one_form() {
        for text in ["1", "31", "last", "monday", "sunday"] {
            assert_eq!(text.parse::<OrderDay>().map(|day| day.to_string()), Ok(text.to_owned()));
        }
        for text in ["0", "32", "-1", "01", "+1", "1.0", "Last", "Monday", "mon", ""] {
            assert!(text.parse::<OrderDay>().is_err(), "{text}");
        }
        for text in ["00:00", "23:59"] {
            assert_eq!(text.parse::<TimeOfDay>().map(|time| time.to_string()), Ok(text.to_owned()));
        }
        for text in ["24:00", "9:30", "09:30:00", "09:60", "-1:30", "+9:30", "09:3", ""] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
    }

    #[test]
    fn day_of_a_request_is_a_number_or_a_name() {
        let read = |json: &str| serde_json::from_str::<JsonDay>(json).ok().map(|JsonDay(day)| day.to_string());
        for (json, text) in
            [("15", "15"), ("2.0", "2"), ("1e1", "10"), (r#""last""#, "last"), (r#""friday""#, "friday")]
        {
            assert_eq!(read(json).as_deref(), Some(text), "{json}");
        }
        for json in [r#""15""#, "0", "32", "1.5", "true", "null", "[1]", r#""""#] {
            assert_eq!(read(json), None, "{json}");
        }
        let written = |text: &str| serde_json::to_string(&JsonDay(text.parse().expect("a day"))).expect("JSON");
        assert_eq!(["15", "last"].map(written), ["15", r#""last""#]);
    }

    fn a_day() -> impl Strategy<Value = Day> {
        (1_995_i16..2_110, 1_i8..=12, 1_i8..=31).prop_map(|(year, month, day)| {
            let first = Date::new(year, month, 1).expect("a date");
            let date = first.with().day(day.min(first.days_in_month())).build().expect("a date");
            Day::try_from(date).expect("a day")
        })
    }

    fn an_order() -> impl Strategy<Value = Recurrence> {
        let days = (1..=31_i32).map(|day| day.to_string()).chain(["last".to_owned()]);
        let days: Vec<String> = days.chain(WEEKDAYS.map(|(name, _)| name.to_owned())).collect();
        (prop::sample::select(days), 0..24_i8, 0..60_i8, a_day(), prop::option::of(0..1_000_i64)).prop_map(
            |(day, hour, minute, first_date, length)| Recurrence {
                day: day.parse().expect("a day"),
                time: TimeOfDay(Time::constant(hour, minute, 0, 0)),
                first_date,
                last_date: length.map(|days| first_date.at(Time::MIN).plus_days(days).day()),
            },
        )
    }

    /// Whether the order pays on the date, from the definition.
    fn pays_on(order: &Recurrence, day: Day) -> bool {
        let date = day.date();
        let is_last = date.day() == date.days_in_month();
        let is_day = match order.day {
            OrderDay::Last => is_last,
            OrderDay::Date(number) => date.day() == number || is_last && date.day() < number,
            OrderDay::Weekday(weekday) => date.weekday() == weekday,
        };
        is_day && order.first_date <= day && order.last_date.is_none_or(|last| day <= last)
    }

    proptest! {
        #[test]
        fn dates_are_those_of_the_definition(order in an_order(), before in 0..40_i64, length in 0..800_i64) {
            let first = order.first_date.at(Time::MIN).plus_days(-before).day();
            let last = first.at(Time::MIN).plus_days(length).day();
            let (mut expected, mut day) = (Vec::new(), first);
            while day <= last {
                expected.extend(pays_on(&order, day).then_some(day));
                day = day.next();
            }
            let (dates, next) = order.dates(first, last);
            prop_assert_eq!(&dates, &expected);
            // The next payment is after the range, and no payment is between them.
            let start = day.max(order.first_date);
            let mut days = (0..=31).map(|days| start.at(Time::MIN).plus_days(days).day());
            let following = days.find(|day| pays_on(&order, *day));
            prop_assert_eq!(next, following);
        }

        #[test]
        fn consecutive_ranges_have_each_date_once(order in an_order(), cut in 0..400_i64, length in 0..400_i64) {
            let first = order.first_date;
            let plus = |days| first.at(Time::MIN).plus_days(days).day();
            let (whole, end) = order.dates(first, plus(cut + length));
            let (mut parts, next) = order.dates(first, plus(cut));
            if let Some(next) = next {
                parts.extend(order.dates(next, plus(cut + length)).0);
            }
            prop_assert_eq!(parts, whole);
            prop_assert!(end.is_none_or(|end| end > plus(cut + length)));
        }

        #[test]
        fn first_payment_is_not_before_the_time(order in an_order(), seconds in -4_000_000_i64..40_000_000) {
            let time = order.first_date.at(Time::MIN).plus_seconds(seconds);
            let found = order.since(time);
            prop_assert!(found.is_none_or(|date| order.time_on(date) >= time && pays_on(&order, date)));
            let mut day = time.day();
            while found.is_none_or(|found| day < found) && day <= time.plus_days(40).day() {
                prop_assert!(!pays_on(&order, day) || order.time_on(day) < time, "{}", day);
                day = day.next();
            }
        }
    }
}
