//! Dates of standing orders (docs/requirements/bank.md#standing-orders).

use bank::{JsonDay, OrderDay, Recurrence, TimeOfDay};
use jiff::civil::{Date, Time};
use keys::Day;
use proptest::prelude::*;

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

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
    for (json, text) in [("15", "15"), ("2.0", "2"), ("1e1", "10"), (r#""last""#, "last"), (r#""friday""#, "friday")] {
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
    let days: Vec<String> = days.chain(WEEKDAYS.map(str::to_owned)).collect();
    (prop::sample::select(days), 0..24_i8, 0..60_i8, a_day(), prop::option::of(0..1_000_i64)).prop_map(
        |(day, hour, minute, first_date, length)| Recurrence {
            day: day.parse().expect("a day"),
            time: format!("{hour:02}:{minute:02}").parse().expect("a time"),
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
        // `next` is the first payment after the range.
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
