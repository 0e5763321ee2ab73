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
pub enum Schedule {
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
pub enum OrderDay {
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
    pub fn schedule(self) -> Schedule {
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
pub struct JsonDay(pub OrderDay);

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
pub struct TimeOfDay(Time);

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
pub struct Recurrence {
    /// The day of the month or of the week.
    pub day: OrderDay,
    /// The time of each payment.
    pub time: TimeOfDay,
    /// No payment is on an earlier date.
    pub first_date: Day,
    /// No payment is on a later date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_date: Option<Day>,
}

impl Recurrence {
    /// Returns the first date of a payment on or after the day.
    pub fn on_or_after(&self, day: Day) -> Option<Day> {
        let from = day.max(self.first_date).date();
        let found = match self.day {
            OrderDay::Weekday(weekday) => from.checked_add(from.weekday().until(weekday).days()).ok(),
            OrderDay::Date(number) => monthly(from, number),
            OrderDay::Last => monthly(from, 31),
        };
        found.and_then(|date| Day::try_from(date).ok()).filter(|date| self.last_date.is_none_or(|last| *date <= last))
    }

    /// Returns the first date whose payment is not before the time.
    pub fn since(&self, time: TimestampSeconds) -> Option<Day> {
        let (day, next) = (time.day(), time.day().next());
        if self.time_on(day) >= time {
            self.on_or_after(day)
        } else {
            (next > day).then(|| self.on_or_after(next)).flatten()
        }
    }

    /// Returns the dates of the payments from `first` to `last`, and the date of the next payment
    /// after them.
    pub fn dates(&self, first: Day, last: Day) -> (Vec<Day>, Option<Day>) {
        let (mut dates, mut next) = (Vec::new(), self.on_or_after(first));
        while let Some(date) = next.filter(|date| *date <= last) {
            dates.push(date);
            // The last supported day has no next one.
            next = Some(date.next()).filter(|day| *day > date).and_then(|day| self.on_or_after(day));
        }
        (dates, next)
    }

    /// The time of the payment on this date.
    pub fn time_on(&self, date: Day) -> TimestampSeconds {
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
