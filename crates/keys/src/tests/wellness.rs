//! Properties of the wellness keys: they round-trip, sort like their values, and are in the right
//! range and partition. Each key has exactly one accepted form.

use super::laws::{allowed_character, kinds, must_be_canonical, orders, round_trips};
use crate::{
    Bounds, IdempotencySort, KeyRange, TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, CompanyPartition, CorrectionSort, DrawnEntry,
        EmployeeKey, EmployeeSort, EmployeesPartition, EmployeesPosition, EndDateSort, Facet, FacetRef,
        GroupsPartition, GroupsSort, HoldSort, JobId, JobSort, Level, ListPartition, Owner, Period, PlanBound, PlanId,
        PlanTime, PlansSort, PointsPartition, ProgramPartition, ProgramSort, RecordSort, ReferencePartition,
        RegistrationPlace, RegistrationSort, RegistrationsPartition, ReportRowSort, ReportSort, ReportsPartition,
        SectionSort, ShownStatus, Status, TemplateSetSort, TemplateSort, TicketSort, TicketsSort, UploadKey,
        UploadSort, UseSort, UserId, Year,
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

fn use_sort() -> impl Strategy<Value = UseSort> {
    (select(Status::ALL.to_vec()), plan_time(), id()).prop_map(|(status, end, activity)| UseSort {
        status,
        end,
        activity,
    })
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

fn job_id() -> impl Strategy<Value = JobId> {
    prop_oneof![
        facet_ref().prop_map(JobId::Uses),
        id().prop_map(JobId::Registrations),
        id().prop_map(JobId::Enrolment),
        id().prop_map(JobId::Seats),
        id().prop_map(JobId::Departure),
        id().prop_map(JobId::Rewards),
        id().prop_map(JobId::Report),
        id().prop_map(JobId::Groups),
        id().prop_map(JobId::Export),
        id().prop_map(JobId::Erasure),
        id().prop_map(JobId::EmployeeErasure),
        id().prop_map(JobId::Upload)
    ]
}

fn period() -> impl Strategy<Value = Period> {
    (plan_time(), plan_time())
        .prop_map(|(one, other)| Period::new(one.min(other), one.max(other)).expect("in this order"))
}

proptest! {
    #[test]
    fn partition_keys_round_trip(company in id::<CompanyId>(), activity in id::<ActivityId>(), user in id::<UserId>(), of in facet_ref()) {
        round_trips(&ActivityPartition(activity.clone()))?;
        round_trips(&CompanyPartition(company.clone()))?;
        round_trips(&EmployeesPartition::of(company.clone(), &user))?;
        round_trips(&ProgramPartition(company.clone()))?;
        round_trips(&ListPartition(company.clone()))?;
        round_trips(&RegistrationsPartition(EmployeeKey { company: company.clone(), user }))?;
        round_trips(&Owner::Company(company.clone()))?;
        round_trips(&Owner::Global)?;
        round_trips(&ReportsPartition(company.clone()))?;
        round_trips(&GroupsPartition::of(&activity))?;
        prop_assert!(GroupsPartition::all().any(|part| part == GroupsPartition::of(&activity)));
        let groups = GroupsSort { company: company.clone(), activity: activity.clone() };
        prop_assert!(GroupsSort::all().contains(&groups.to_string()));
        round_trips(&groups)?;
        round_trips(&ReferencePartition { company, of })?;
    }

    #[test]
    fn sort_keys_round_trip(
        program in program_sort(), use_sort in use_sort(), time in plan_time(), of in facet_ref(), job in job_id(),
        user in id::<UserId>(), section in id(), template in id(), correction in id(), ticket in 1..=TicketSort::MAX,
        plan in id::<PlanId>(), report in "[0-9a-f]{32}", row in prop::option::of(id())
    ) {
        round_trips(&program)?;
        round_trips(&use_sort)?;
        round_trips(&EndDateSort(time))?;
        round_trips(&ActivityEndDateSort(time))?;
        round_trips(&EmployeeSort(user.clone()))?;
        let correction = CorrectionSort { user: user.clone(), at: time, id: correction };
        prop_assert!(CorrectionSort::of(&user).contains(&correction.to_string()));
        // The filter of the stream passes keys that begin as those of employees.
        prop_assert!(!EmployeeSort::all().contains(&correction.to_string()));
        round_trips(&correction)?;
        round_trips(&RegistrationSort(user))?;
        round_trips(&SectionSort(section))?;
        round_trips(&PlansSort)?;
        let report = report.parse().expect("a request id");
        let row = ReportRowSort { plan: plan.clone(), report, of: row };
        prop_assert!(ReportRowSort::of_report(&row.plan, &row.report).contains(&row.to_string()));
        prop_assert!(ReportRowSort::of_plan(&row.plan).contains(&row.to_string()));
        round_trips(&row)?;
        prop_assert!(ReportSort(plan.clone()).to_string().parse::<ReportRowSort>().is_err());
        round_trips(&ReportSort(plan))?;
        round_trips(&TicketsSort)?;
        round_trips(&TicketSort::new(ticket).expect("a number"))?;
        round_trips(&DrawnEntry::of(&user))?;
        round_trips(&TemplateSort(template))?;
        round_trips(&TemplateSetSort)?;
        round_trips(&RecordSort(of.clone()))?;
        round_trips(&HoldSort(of.clone()))?;
        round_trips(&of)?;
        round_trips(&JobSort(job.clone()))?;
        round_trips(&job)?;
    }

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
    fn partition_keys_parse_as_exactly_one_type(company in id::<CompanyId>(), activity in id::<ActivityId>(), user in id(), of in facet_ref()) {
        for key in [
            ActivityPartition(activity.clone()).to_string(),
            Owner::Company(company.clone()).to_string(),
            Owner::Global.to_string(),
            EmployeesPartition::of(company.clone(), &user).to_string(),
            ReportsPartition(company.clone()).to_string(),
        ] {
            prop_assert_eq!(kinds!(key, ActivityPartition, Owner, EmployeesPartition, ReportsPartition), 1, "{}", key);
        }
        let groups = GroupsPartition::of(&activity).to_string();
        for key in [ListPartition(company.clone()).to_string(), ReferencePartition { company, of }.to_string(), groups] {
            prop_assert_eq!(kinds!(key, ListPartition, ReferencePartition, GroupsPartition), 1, "{}", key);
        }
    }

    #[test]
    fn sort_keys_parse_as_exactly_one_type(
        program in program_sort(), of in facet_ref(), job in job_id(), user in id::<UserId>(), section in id(), template in id(), key in id()
    ) {
        let employee = EmployeeSort(user.clone()).to_string();
        let tickets = [TicketsSort.to_string(), TicketSort::new(7).expect("a number").to_string()];
        for sort in [program.to_string(), RegistrationSort(user).to_string(), employee.clone()].into_iter().chain(tickets) {
            prop_assert_eq!(kinds!(sort, ProgramSort, RegistrationSort, EmployeeSort, TicketsSort, TicketSort), 1, "{}", sort);
            prop_assert_eq!(EmployeeSort::all().contains(&sort), sort == employee, "{}", sort);
        }
        let keys = [
            SectionSort(section).to_string(),
            TemplateSort(template).to_string(),
            RecordSort(of.clone()).to_string(),
            HoldSort(of.clone()).to_string(),
            JobSort(job).to_string(),
            IdempotencySort(key).to_string(),
            TemplateSetSort.to_string(),
            PlansSort.to_string(),
        ];
        for (place, sort) in keys.iter().enumerate() {
            let kinds =
                kinds!(sort, SectionSort, TemplateSort, RecordSort, HoldSort, JobSort, IdempotencySort, TemplateSetSort, PlansSort);
            prop_assert_eq!(kinds, 1, "{}", sort);
            prop_assert_eq!(SectionSort::all().contains(sort), place == 0, "{}", sort);
            prop_assert_eq!(TemplateSort::all().contains(sort), place == 1, "{}", sort);
            for facet in Facet::ALL {
                let is_of_facet = place == 2 && facet == of.facet;
                prop_assert_eq!(RecordSort::of_facet(facet).contains(sort), is_of_facet, "{}", sort);
            }
            prop_assert!(sort.parse::<EmployeeSort>().is_err() && !EmployeeSort::all().contains(sort), "{}", sort);
        }
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
        while let Some(position) = at {
            round_trips(&position)?;
            prop_assert!(EmployeesPosition::all().has_position(&position.to_string()));
            let (partition, range) = position.rest(company.clone());
            let is_found = partition == own.0 && range.contains(&own.1);
            seen += usize::from(is_found);
            at = position.moved_to(is_found.then(|| own.1.clone()));
        }
        prop_assert_eq!(seen, 1);
    }

    #[test]
    fn keys_of_uploads_round_trip_and_have_four_segments(company in id::<CompanyId>(), file in id()) {
        let key = UploadKey { company, file };
        let text = key.to_string();
        prop_assert_eq!(text.split('/').count(), 4);
        prop_assert!(text.split('/').all(|segment| !segment.is_empty() && !segment.contains('.')));
        prop_assert_eq!(text.parse::<UploadKey>().ok(), Some(key.clone()));
        round_trips(&UploadSort(key.file))?;
    }

    #[test]
    fn tickets_sort_like_their_numbers(one in 1..=TicketSort::MAX, other in 1..=TicketSort::MAX) {
        let [a, b] = [one, other].map(|number| TicketSort::new(number).expect("a number"));
        orders(&a, &b)?;
        prop_assert_eq!(a.number(), one);
        prop_assert!(TicketSort::all().contains(&a.to_string()) && !TicketSort::all().contains(&TicketsSort.to_string()));
        prop_assert_eq!(TicketSort::after(0, other).contains(&a.to_string()), one <= other);
        prop_assert_eq!(TicketSort::after(one, u64::MAX).contains(&b.to_string()), one < other);
        prop_assert!(!TicketSort::after(other, other).contains(&b.to_string()));
    }

    #[test]
    fn keys_sort_like_their_values(a in plan_time(), b in plan_time(), one in use_sort(), mut other in use_sort(), same: bool) {
        orders(&a, &b)?;
        orders(&EndDateSort(a), &EndDateSort(b))?;
        orders(&ActivityEndDateSort(a), &ActivityEndDateSort(b))?;
        if same {
            (other.status, other.end) = (one.status, one.end);
        }
        orders(&one, &other)?;
        orders(&one.status, &other.status)?;
        prop_assert_eq!(a.to_string().len(), 19);
        prop_assert_eq!(a.to_string() + "Z", a.second().to_string(), "the required text has no offset");
    }

    #[test]
    fn ranges_include_both_ends_of_the_period(period in period(), end in plan_time(), mut place in use_sort(), status in select(Status::ALL.to_vec()), at: u8) {
        // Also test the seconds before and after each end.
        let beside = |end: PlanTime, by: i64| time_of((end.second().instant().as_second() + by).clamp(FIRST, LAST));
        let (first, last) = (period.first(), period.last());
        let end = [end, first, last, beside(first, -1), beside(last, 1)][usize::from(at % 5)];
        let inside = period.first() <= end && end <= period.last();
        prop_assert_eq!(EndDateSort::within(period).contains(&EndDateSort(end).to_string()), inside);
        prop_assert_eq!(ActivityEndDateSort::within(period).contains(&ActivityEndDateSort(end).to_string()), inside);
        place.end = end;
        let range = UseSort::within(status, period);
        prop_assert_eq!(range.contains(&place.to_string()), inside && place.status == status);
        prop_assert!(UseSort::all().contains(&place.to_string()));
        let user = "1".parse().expect("an id");
        let correction = CorrectionSort { user, at: end, id: "1".parse().expect("an id") };
        let corrections = CorrectionSort::within(&correction.user, period);
        prop_assert_eq!(corrections.contains(&correction.to_string()), inside);
        let other = CorrectionSort { user: "11".parse().expect("an id"), ..correction };
        prop_assert!(!corrections.contains(&other.to_string()));
        for range in [range, EndDateSort::within(period), ActivityEndDateSort::within(period), corrections] {
            prop_assert!(range.from() <= range.to(), "DynamoDB rejects a range that ends before it starts");
        }
        prop_assert!(!EndDateSort::nothing().contains(&EndDateSort(end).to_string()));
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
        round_trips(&own)?;
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
    fn reference_lists_continue_after_the_cursor(a in use_sort(), mut b in use_sort(), period in period(), ties: bool) {
        b.status = a.status;
        if ties {
            b.end = a.end;
        }
        let range = UseSort::within(a.status, period);
        let (position, key) = (a.to_string(), b.to_string());
        prop_assume!(range.contains(&position));
        prop_assert_eq!(range.after(&position).contains(&key), range.contains(&key) && a < b);
        prop_assert!(position.starts_with(range.shared_prefix()));
    }

    #[test]
    fn changed_keys_are_rejected_or_round_trip(
        texts in (program_sort(), use_sort(), facet_ref(), job_id(), plan_time(), id()), at in 0_usize..60, with in any::<char>()
    ) {
        let (program, place, of, job, time, company): (_, _, _, _, _, CompanyId) = texts;
        let changed = |text: String| {
            let mut characters: Vec<char> = text.chars().collect();
            let at = at % characters.len();
            characters[at] = with;
            characters.into_iter().collect::<String>()
        };
        must_be_canonical::<ProgramSort>(&changed(program.to_string()))?;
        must_be_canonical::<UseSort>(&changed(place.to_string()))?;
        must_be_canonical::<EndDateSort>(&changed(EndDateSort(time).to_string()))?;
        must_be_canonical::<ActivityEndDateSort>(&changed(ActivityEndDateSort(time).to_string()))?;
        must_be_canonical::<JobSort>(&changed(JobSort(job).to_string()))?;
        must_be_canonical::<RecordSort>(&changed(RecordSort(of.clone()).to_string()))?;
        must_be_canonical::<HoldSort>(&changed(HoldSort(of.clone()).to_string()))?;
        must_be_canonical::<ListPartition>(&changed(ListPartition(company.clone()).to_string()))?;
        must_be_canonical::<ReportsPartition>(&changed(ReportsPartition(company.clone()).to_string()))?;
        let plan = company.as_str().parse().expect("an id");
        let report = "0".repeat(32).parse().expect("a request id");
        must_be_canonical::<ReportRowSort>(&changed(ReportRowSort { plan, report, of: None }.to_string()))?;
        must_be_canonical::<Owner>(&changed(Owner::Company(company.clone()).to_string()))?;
        let employees = EmployeesPartition::of(company.clone(), &company.as_str().parse().expect("an id"));
        must_be_canonical::<EmployeesPartition>(&changed(employees.to_string()))?;
        must_be_canonical::<PointsPartition>(&changed(PointsPartition(company.clone()).to_string()))?;
        let user: UserId = company.as_str().parse().expect("an id");
        let own = RegistrationsPartition(EmployeeKey { company: company.clone(), user });
        must_be_canonical::<RegistrationsPartition>(&changed(own.to_string()))?;
        let place = RegistrationPlace { end: time, activity: company.as_str().parse().expect("an id") };
        must_be_canonical::<RegistrationPlace>(&changed(place.to_string()))?;
        let (user, id) = (company.as_str().parse().expect("an id"), company.as_str().parse().expect("an id"));
        must_be_canonical::<CorrectionSort>(&changed(CorrectionSort { user, at: time, id }.to_string()))?;
        must_be_canonical::<ReferencePartition>(&changed(ReferencePartition { company, of }.to_string()))?;
    }

    #[test]
    fn any_accepted_text_round_trips(text in any::<String>()) {
        must_be_canonical::<ProgramSort>(&text)?;
        must_be_canonical::<UseSort>(&text)?;
        must_be_canonical::<JobId>(&text)?;
        must_be_canonical::<Year>(&text)?;
        must_be_canonical::<Owner>(&text)?;
        must_be_canonical::<PointsPartition>(&text)?;
        must_be_canonical::<CorrectionSort>(&text)?;
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

#[test]
fn keys_match_the_requirement() {
    let time: PlanTime = "2020-12-31T00:00:00".parse().expect("a time");
    let activity: ActivityId = "123".parse().expect("an id");
    let company: CompanyId = "123".parse().expect("an id");
    let venue = FacetRef { facet: Facet::Venues, id: "123".parse().expect("an id") };
    let range = |range: &KeyRange| format!("{} {}", range.from(), range.to());
    let year = Period::of_year("2020".parse().expect("a year"));
    for (written, required) in [
        (ProgramPartition(company.clone()).to_string(), "CompanyId-123#Program"),
        (ListPartition(company.clone()).to_string(), "CompanyId-123#Program#List"),
        (EndDateSort(time).to_string(), "EndDate#2020-12-31T00:00:00"),
        (
            RegistrationsPartition(EmployeeKey { company: company.clone(), user: "123".parse().expect("an id") })
                .to_string(),
            "CompanyId-123#UserId-123#Registrations",
        ),
        (ActivityEndDateSort(time).to_string(), "ActivityEndDate#2020-12-31T00:00:00"),
        (ActivityPartition(activity.clone()).to_string(), "ActivityId-123"),
        (ProgramSort::Reward("Attendance".parse().expect("a kind")).to_string(), "Program#Reward#Attendance"),
        (ProgramSort::Group("456".parse().expect("an id")).to_string(), "Program#Groups#GroupId-456"),
        (ProgramSort::Reference(venue.clone()).to_string(), "Program#Venue#VenueId-123"),
        (ReferencePartition { company, of: venue }.to_string(), "CompanyId-123#VenueId-123"),
        (
            UseSort { status: Status::Active, end: time, activity }.to_string(),
            "active#2020-12-31T00:00:00#ActivityId-123",
        ),
        (
            range(&ActivityEndDateSort::within(year)),
            "ActivityEndDate#2020-01-01T00:00:00 ActivityEndDate#2020-12-31T23:59:59$",
        ),
        (range(&EndDateSort::within(year)), "EndDate#2020-01-01T00:00:00 EndDate#2020-12-31T23:59:59"),
        (range(&Level::Groups.range()), "Program#Groups Program#Groupt"),
    ] {
        assert_eq!(written, required);
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

/// The hash is part of stored keys. A different hash would lose every stored employee.
#[test]
fn the_partition_of_an_employee_never_changes() {
    let partition =
        |user: &str| EmployeesPartition::of("123".parse().expect("an id"), &user.parse().expect("an id")).to_string();
    for (user, part) in [("123", 9), ("456", 8), ("bob@example.com", 4), ("Büro", 3)] {
        assert_eq!(partition(user), format!("CompanyId-123#Employees#{part}"), "{user}");
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
