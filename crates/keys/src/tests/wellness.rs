//! Periods, statuses, levels of detail, and positions of wellness.

use super::{golden::is_key, properties::allowed_character};
use crate::{
    Bounds, TimestampSeconds,
    wellness::{
        CompanyId, CompanyPartition, EmployeeKey, EmployeeSort, EmployeesPartition, EmployeesPosition, Facet, FacetRef,
        Level, ListPartition, Owner, Period, PlanBound, PlanTime, PointsPartition, ProgramPartition, ProgramSort,
        ReferencePartition, RegistrationSort, ShownStatus, Status, UploadKey, UserId, Year,
    },
};
use proptest::{prelude::*, sample::select};
use std::fmt::Debug;
use std::str::FromStr;

const FIRST: i64 = -62_167_219_200;
const LAST: i64 = 253_402_207_200;

fn plan_time() -> impl Strategy<Value = PlanTime> {
    // From 0000-01-01 to 9999-12-30, in seconds.
    (FIRST..=LAST).prop_map(time_of)
}

fn time_of(seconds: i64) -> PlanTime {
    let instant = jiff::Timestamp::from_second(seconds).expect("in range");
    PlanTime::from(TimestampSeconds::containing(instant).expect("in range"))
}

/// Generates an arbitrary identifier. Many identifiers consist of parts of keys.
fn id<T: FromStr<Err: Debug> + Debug>() -> impl Strategy<Value = T> {
    let any = prop::collection::vec(allowed_character(), 1..=128)
        .prop_map(|characters| characters.into_iter().collect::<String>());
    let sly = "(ActivityId-|UserId-|CompanyId-|VenueId-|FileId-|GroupId-|Global|Employees|Program|List|Id-|Registrations|-|_|1){1,4}";
    prop_oneof![any, sly].prop_map(|text| text.parse().expect("an identifier"))
}

fn facet_ref() -> impl Strategy<Value = FacetRef> {
    (select(Facet::ALL.to_vec()), id()).prop_map(|(facet, id)| FacetRef { facet, id })
}

fn program_sort() -> impl Strategy<Value = ProgramSort> {
    prop_oneof![
        Just(ProgramSort::Program),
        Just(ProgramSort::Detail),
        Just(ProgramSort::GoalPrimary),
        Just(ProgramSort::Groups),
        id().prop_map(ProgramSort::Reward),
        id().prop_map(ProgramSort::Group),
        facet_ref().prop_map(ProgramSort::Reference),
    ]
}

fn period() -> impl Strategy<Value = Period> {
    (plan_time(), plan_time())
        .prop_map(|(one, other)| Period::new(one.min(other), one.max(other)).expect("in this order"))
}

proptest! {
    #[test]
    fn no_two_companies_share_a_partition(one in id::<CompanyId>(), other in id::<CompanyId>(), of in facet_ref(), user in id()) {
        prop_assume!(one != other);
        let keys = |company: &CompanyId| {
            let uses = ReferencePartition { company: company.clone(), of: of.clone() }.to_string();
            [
                CompanyPartition(company.clone()).to_string(),
                ProgramPartition(company.clone()).to_string(),
                ListPartition(company.clone()).to_string(),
                EmployeesPartition::of(company.clone(), &user).to_string(),
                PointsPartition(company.clone()).to_string(),
                uses,
            ]
        };
        let others = keys(&other);
        prop_assert!(keys(&one).iter().all(|key| !others.contains(key)));
        let own = CompanyPartition(one.clone());
        prop_assert!(keys(&one).iter().all(|key| own.owns(key)));
        prop_assert!(others.iter().all(|key| !own.owns(key)));
        prop_assert!(keys(&one).iter().all(|key| *key != Owner::Global.to_string()));
    }

    #[test]
    fn a_remainder_and_the_other_period_cover_the_period_once(whole in period(), other in period(), time in plan_time()) {
        let rest = whole.without(other);
        if let Some(rest) = rest.filter(|_| whole.contains(time)) {
            let is_inside = whole.first() < other.first() && other.last() < whole.last();
            prop_assert_eq!(rest.contains(time), is_inside || !other.contains(time));
        }
        prop_assert_eq!(rest.is_none(), other.contains(whole.first()) && other.contains(whole.last()));
        prop_assert_eq!(whole.overlaps(other), other.overlaps(whole));
        let shares = [whole.first(), whole.last()].iter().any(|end| other.contains(*end)) || whole.contains(other.first());
        prop_assert_eq!(whole.overlaps(other), shares);
    }

    #[test]
    fn an_employee_key_is_parsed_only_in_the_partition_of_the_user(company in id::<CompanyId>(), user in id::<UserId>()) {
        let own = EmployeesPartition::of(company.clone(), &user);
        prop_assert_eq!(own.company(), &company);
        let sort = EmployeeSort(user.clone()).to_string();
        let key = EmployeeKey { company: company.clone(), user };
        let partitions = (0..12).map(|part| format!("CompanyId-{company}#Employees#{part}"));
        let parsed: Vec<_> = partitions.filter_map(|partition| EmployeeKey::parse(&partition, &sort).ok()).collect();
        prop_assert_eq!(parsed, [key]);
    }

    #[test]
    fn positions_of_employees_lead_through_all_partitions(company in id::<CompanyId>(), user in id::<UserId>()) {
        let own = (EmployeesPartition::of(company.clone(), &user), EmployeeSort(user).to_string());
        let (mut at, mut seen) = (Some(EmployeesPosition::first()), 0);
        for _ in 0..12 {
            let Some(position) = at else { break };
            prop_assert!(is_key::<EmployeesPosition>(&position.to_string()));
            prop_assert!(EmployeesPosition::all().has_position(&position.to_string()));
            let (partition, range) = position.rest(company.clone());
            let is_found = partition == own.0 && range.contains(&own.1);
            seen += usize::from(is_found);
            at = position.moved_to(is_found.then(|| own.1.clone()));
        }
        prop_assert_eq!((seen, at), (1, None));
    }

    #[test]
    fn keys_of_uploads_round_trip_and_have_four_segments(company in id::<CompanyId>(), file in id()) {
        let key = UploadKey { company, file };
        let text = key.to_string();
        prop_assert_eq!(text.split('/').count(), 4);
        prop_assert!(text.split('/').all(|segment| !segment.is_empty() && !segment.contains('.')));
        prop_assert_eq!(text.parse::<UploadKey>().ok(), Some(key.clone()));
    }

    #[test]
    fn each_status_is_shown_in_its_part_of_the_period(period in period(), end in plan_time(), now in plan_time(), status in select(Status::ALL.to_vec()), shown in select(ShownStatus::ALL.to_vec())) {
        for now in [now, end, period.first(), period.last()].map(PlanTime::second) {
            let part = shown.within(period, now).is_some_and(|part| part.contains(end));
            let is_shown = status.shown(end, now) == shown && period.contains(end);
            prop_assert!(part || !is_shown, "no activity with the status is outside its part");
            let is_today = end.second().day() == now.day();
            prop_assert!(is_shown || !part || status != shown.stored() || is_today, "all others in the part end today");
            let of_today = period.over_today(now).is_some_and(|part| part.contains(end));
            let is_open = period.open_at(now).is_some_and(|part| part.contains(end)) && !of_today;
            prop_assert_eq!(is_open, period.contains(end) && !end.is_over(now));
        }
    }

    #[test]
    fn a_period_without_an_end_contains_all_later_times(from in plan_time(), at in plan_time()) {
        prop_assert_eq!(Period::since(from).contains(at), from <= at);
    }

    #[test]
    fn a_time_belongs_to_exactly_one_year(time in plan_time(), year in 0_u16..=9_999) {
        let holds = |year: Year| {
            let period = Period::of_year(year);
            period.first() <= time && time <= period.last()
        };
        let own = Year::of(time.second());
        prop_assert!(holds(own), "{time}");
        prop_assert!(time.to_string().starts_with(&own.to_string()));
        prop_assert!(is_key::<Year>(&own.to_string()));
        let other: Year = format!("{year:04}").parse().expect("a year");
        prop_assert_eq!(holds(other), other == own);
    }

    #[test]
    fn range_of_a_level_contains_exactly_its_sort_keys(sort in program_sort(), user in id()) {
        let text = sort.to_string();
        let of_reference = |facet| match facet {
            Facet::Courses => Level::Courses,
            Facet::Files => Level::Files,
            Facet::Notifications => Level::Notifications,
            Facet::Trackers => Level::Trackers,
            Facet::Venues => Level::Venues,
        };
        let own = match &sort {
            ProgramSort::Program => None,
            ProgramSort::Detail => Some(Level::Detail),
            ProgramSort::GoalPrimary => Some(Level::GoalPrimary),
            ProgramSort::Reward(_) => Some(Level::Rewards),
            ProgramSort::Groups | ProgramSort::Group(_) => Some(Level::Groups),
            ProgramSort::Reference(of) => Some(of_reference(of.facet)),
        };
        let registration = RegistrationSort(user).to_string();
        for level in Level::ALL {
            let wanted = level == Level::Program || Some(level) == own;
            prop_assert_eq!(level.range().contains(&text), wanted, "{} in {}", text, level);
            prop_assert!(!level.range().contains(&registration), "{} in {}", registration, level);
        }
        prop_assert!(RegistrationSort::all().contains(&registration) && !RegistrationSort::all().contains(&text));
    }

    #[test]
    fn a_day_includes_every_second_of_the_day(time in plan_time()) {
        let period = |text: &str| {
            let bound = text.parse::<PlanBound>().expect(text).into();
            Period::within(Bounds::new(Some(bound), Some(bound)).expect("one bound"))
        };
        prop_assert!(period(&time.second().day().to_string()).contains(time));
        let exact = period(&time.to_string());
        prop_assert_eq!((exact.first(), exact.last()), (time, time));
        prop_assert_eq!(exact, period(&time.second().to_string()));
    }
}

/// A date has the stored form of its first second, and ends with its last one.
#[test]
fn an_end_is_over_after_its_second_or_its_day() {
    for (end, last) in [
        ("2020-12-31", "2020-12-31T23:59:59Z"),
        ("2020-12-31T00:00:00", "2020-12-31T23:59:59Z"),
        ("2020-12-31T01:00:00+01:00", "2020-12-31T23:59:59Z"),
        ("2020-12-31T00:00:01", "2020-12-31T00:00:01Z"),
        ("2020-12-31T12:00:00", "2020-12-31T12:00:00Z"),
        ("2020-12-31T23:59:59", "2020-12-31T23:59:59Z"),
        ("9999-12-30", "9999-12-30T22:00:00Z"),
    ] {
        let (end, last): (PlanTime, TimestampSeconds) = (end.parse().expect("an end"), last.parse().expect("a time"));
        assert_eq!(end.last_second(), last);
        assert!(!end.is_over(last));
        assert!(end.is_over(last.plus_seconds(1)) || last == TimestampSeconds::MAX);
    }
}

#[test]
fn the_employees_of_a_company_are_spread_evenly() {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..10_000 {
        let user = format!("user-{number}@example.com").parse().expect("an id");
        let partition = EmployeesPartition::of("123".parse().expect("an id"), &user);
        *counts.entry(partition.to_string()).or_default() += 1;
    }
    assert_eq!(counts.len(), 10);
    assert!(counts.values().all(|count| (850..=1_150).contains(count)), "{counts:?}");
}

#[test]
fn accepts_plan_times_in_three_forms() {
    let read = |text: &str| text.parse::<PlanTime>().map(|time| time.to_string());
    for (text, time) in [
        ("2020-12-31T00:00:00", "2020-12-31T00:00:00"),
        ("2020-12-31", "2020-12-31T00:00:00"),
        ("2020-12-31T01:30:00+02:00", "2020-12-30T23:30:00"),
        ("2020-12-31T00:00:00.999Z", "2020-12-31T00:00:00"),
        ("2020-02-29", "2020-02-29T00:00:00"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(time), "{text}");
    }
    for bad in [
        "",
        "2020",
        "2020-12",
        "2021-02-29",
        "2020-12-31 00:00:00",
        "2020-12-31T00:00",
        "2020-12-31T24:00:00",
        "2020-12-31T00:00:00.5",
        "31/12/2020",
        "2020-12-31T",
        "9999-12-31",
        "-020-12-31",
        "２020-12-31",
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn years_have_four_digits() {
    for good in ["0000", "0001", "2020", "9999"] {
        assert_eq!(good.parse::<Year>().expect(good).to_string(), good);
    }
    for bad in ["", "20", "02020", "+2020", "-2020", "2020 ", "10000", "65535", "99999", "two"] {
        assert!(bad.parse::<Year>().is_err(), "{bad:?}");
    }
    let last = Period::of_year("9999".parse().expect("a year"));
    assert_eq!(
        (last.first().to_string(), last.last()),
        ("9999-01-01T00:00:00".to_owned(), TimestampSeconds::MAX.into())
    );
}
