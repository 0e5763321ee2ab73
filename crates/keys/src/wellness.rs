//! Keys of the table `Activities`, and of `WellnessJobs`, which stores jobs and their holds
//! (docs/decisions/models.md).
//!
//! | item | PK | SK | GSI1 | GSI2 | GSI3 |
//! | --- | --- | --- | --- | --- | --- |
//! | activity | `ActivityId-<id>` | `Program` | `CompanyId-<id>#Program`, `EndDate#<end>` | `CompanyId-<id>#Program#List`, `EndDate#<end>` | |
//! | part of an activity | `ActivityId-<id>` | `Program#Detail`, `Program#GoalPrimary`, `Program#Reward#<kind>`, `Program#Groups#GroupId-<id>` | | | |
//! | groups of an activity | `ActivityId-<id>` | `Program#Groups` | | `Groups#<0-9>`, `CompanyId-<id>#ActivityId-<id>` | |
//! | reference to a venue | `ActivityId-<id>` | `Program#Venue#VenueId-<id>` | | `CompanyId-<id>#VenueId-<id>`, `<status>#<end>#ActivityId-<id>` | |
//! | registration | `ActivityId-<id>` | `Registration#UserId-<id>` | | | `CompanyId-<id>#UserId-<id>#Registrations`, `ActivityEndDate#<end>` |
//! | counter of tickets | `ActivityId-<id>` | `Tickets` | | | |
//! | ticket of a sign-up | `ActivityId-<id>` | `Ticket#<number>` | | | |
//! | section | `CompanyId-<id>` | `Section#SectionId-<id>` | `CompanyId-<id>#Program`, `EndDate#<end>` | | |
//! | plans | `CompanyId-<id>` | `Plans` | | | |
//! | venue record | `CompanyId-<id>` | `Venue#VenueId-<id>` | | | |
//! | upload of a file | `CompanyId-<id>` | `Upload#FileId-<id>` | | | |
//! | template | `CompanyId-<id>` or `Global` | `Template#TemplateId-<id>` | | | |
//! | version of the loaded global templates | `Global` | `TemplateSet` | | | |
//! | employee | `CompanyId-<id>#Employees#<0-9>` | `UserId-<id>` | | | |
//! | correction of points | `CompanyId-<id>#Points` | `Correction#UserId-<id>#<time>#CorrectionId-<id>` | | | |
//! | report of a plan | `CompanyId-<id>#Reports` | `PlanId-<id>` | | | |
//! | row of a report | `CompanyId-<id>#Reports` | `PlanId-<id>#ReportId-<id>#ActivityId-<id>` or `PlanId-<id>#ReportId-<id>#Total` | | | |
//! | job | `CompanyId-<id>` | `Job#VenueId-<id>`, `Job#ActivityId-<id>`, `Job#EnrolmentId-<id>`, `Job#SeatsId-<id>`, `Job#DepartureId-<id>`, `Job#UploadId-<id>`, `Job#ReportId-<id>`, `Job#GroupsId-<id>`, `Job#ExportId-<id>`, `Job#ErasureId-<id>` or `Job#EmployeeErasureId-<id>` | | | |
//! | hold of a replacement on the new venue | `CompanyId-<id>` | `Hold#VenueId-<id>` | | | |
//! | jobs that callers have started | `CompanyId-<id>` | `Starts` | | | |
//! | idempotency record | `CompanyId-<id>` or `Global` | `IDEMPOTENCY#<key>` | | | |
//!
//! The table above shows venues only. Files, courses, trackers and notifications have keys of the
//! same form.
//!
//! GSI2 contains both the lists of activities and the references. Their partition keys never
//! collide: after the company id, a reference continues with `#VenueId-` or a similar name, and a
//! list continues with `#Program`. It also contains the activities with groups, below `Groups#`.
//!
//! The employees of a company are spread over ten partitions
//! (docs/decisions/wellness-employees.md).

use crate::{
    Bound, Bounds, Day, KeyRange, Random, RequestId, TimestampSeconds,
    id::identifier,
    schema,
    text::{Invalid, hashed, names, numbered_key, serde_as_text, uuid_of},
    time::{Exact, second_of},
};
use derives::Key;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

identifier! {
    /// The id of a company. Each company is a tenant.
    CompanyId;
    /// The id of an activity, which is unique across companies.
    ActivityId;
    /// The id of a user. Two companies may have an employee with the same id.
    UserId;
    /// The id of a section in a company's program.
    SectionId;
    /// The id of a plan of a company. A calendar year that no plan covers has its number as id.
    PlanId;
    /// The id of a group in an activity.
    GroupId;
    /// The id of a template.
    TemplateId;
    /// The id of a correction of an employee's points.
    CorrectionId;
    /// The id of a company's venue, file, course, tracker or notification. The id is unique within
    /// its company and facet.
    FacetId;
}

identifier! {
    check_label:
    /// The kind of a reward, such as `Attendance`. An activity has at most one reward of each kind.
    RewardKind;
    /// The topic of an activity, such as `Fitness`.
    SubType;
    /// An employee's role in the plan, such as `EmployeeOnPlan`.
    Role;
    /// An employee's department, such as `Sales`.
    Department;
}

identifier! {
    check_as check_attribute_name as AttributeName:
    /// The name of an attribute that a company keeps about its employees, such as `location`.
    ///
    /// The text has 1 to 40 ASCII letters, digits, `-` and `_`. The names of the other filters and
    /// of the other columns of a file of employees are reserved, in any case.
    AttributeName;
}

macro_rules! made_at {
    ($($name:ident),+) => {$(
        impl $name {
            /// Creates an id that begins with the time `now`.
            pub fn new(now: Timestamp, random: &Random) -> Self {
                Self::generated(&uuid_of(now, random).simple().to_string())
            }
        }
    )+};
}

made_at!(ActivityId, CorrectionId, FacetId, GroupId, TemplateId);

names! {
    /// The stored status of an activity.
    #[derive(Default)]
    pub enum Status as "NewActivityStatus": "must be draft, active or cancelled" {
        /// Published. Past its end date, the activity is completed ([`ShownStatus`]).
        #[default]
        Active = "active",
        /// Cancelled.
        Cancelled = "cancelled",
        /// Not published yet. Lists omit drafts by default.
        Draft = "draft",
    }
}

impl Status {
    /// Returns the status at the time `now` of an activity that ends at `end`.
    pub fn shown(self, end: PlanTime, now: TimestampSeconds) -> ShownStatus {
        match self {
            Self::Active if end.is_over(now) => ShownStatus::Completed,
            Self::Active => ShownStatus::Active,
            Self::Cancelled => ShownStatus::Cancelled,
            Self::Draft => ShownStatus::Draft,
        }
    }
}

names! {
    /// The status of an activity in responses and filters. An active activity is completed once its
    /// end is over ([`PlanTime::is_over`]; docs/decisions/wellness-activities.md).
    #[derive(Default)]
    pub enum ShownStatus as "ActivityStatus" ("An active activity is completed after its end date."): "must be draft, active, completed or cancelled" {
        /// Running or upcoming.
        #[default]
        Active = "active",
        /// Cancelled.
        Cancelled = "cancelled",
        /// Ended.
        Completed = "completed",
        /// Not published yet.
        Draft = "draft",
    }
}

impl ShownStatus {
    /// Returns the stored status.
    pub fn stored(self) -> Status {
        match self {
            Self::Active | Self::Completed => Status::Active,
            Self::Cancelled => Status::Cancelled,
            Self::Draft => Status::Draft,
        }
    }

    /// Returns the smallest part of the period that contains the ends of all activities with this
    /// status at the time `now`. `None` if it is empty. The part also contains ends of today with
    /// another status ([`Status::shown`]): a date has the key of its first second, but is over
    /// after its last one.
    pub fn within(self, period: Period, now: TimestampSeconds) -> Option<Period> {
        match self {
            Self::Active => period.open_at(now),
            Self::Completed => Period::new(period.first, period.last.min(PlanTime::from(now).plus_seconds(-1))),
            Self::Cancelled | Self::Draft => Some(period),
        }
    }
}

names! {
    /// The type of an activity (docs/requirements/wellness.md#activity-types).
    pub enum ActivityType as "ActivityType": "must be challenge or event" {
        /// A goal to reach. Employees are registered for challenges.
        Challenge = "challenge",
        /// An event to attend.
        Event = "event",
    }
}

names! {
    /// The kinds of records that an activity may refer to, named as in API paths. Activities and
    /// records have a many-to-many relationship
    /// (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).
    pub enum Facet as "Facet": "must be venues, files, courses, trackers or notifications" {
        /// Courses to take.
        Courses = "courses",
        /// Files to read.
        Files = "files",
        /// Notifications to send.
        Notifications = "notifications",
        /// Trackers that measure progress.
        Trackers = "trackers",
        /// Places of events.
        Venues = "venues",
    }
}

impl Facet {
    /// Returns the singular name, which is part of the keys.
    const fn singular(self) -> &'static str {
        match self {
            Self::Courses => "Course",
            Self::Files => "File",
            Self::Notifications => "Notification",
            Self::Trackers => "Tracker",
            Self::Venues => "Venue",
        }
    }
}

/// A UTC time in whole seconds, formatted without an offset: `2020-12-31T00:00:00`. The text always
/// has 19 characters, so its lexicographic order is the order of time.
///
/// Parsing accepts this form and RFC 3339 with any offset. It also accepts a date, which means the
/// first second of that day (docs/decisions/times.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanTime(TimestampSeconds);

impl PlanTime {
    /// Returns the time in the form that responses use: RFC 3339 with `Z`.
    pub fn second(self) -> TimestampSeconds {
        self.0
    }

    /// Whether an activity that ends at this time is over at `now`. An end at 00:00:00 is a date,
    /// and includes its whole day in UTC (docs/decisions/times.md).
    ///
    /// Only this function compares an end with a time.
    pub fn is_over(self, now: TimestampSeconds) -> bool {
        self.last_second() < now
    }

    /// Returns the last second of an activity that ends at this time.
    pub fn last_second(self) -> TimestampSeconds {
        let day = self.0.day();
        if self.0 == day.first_second() { day.last_second() } else { self.0 }
    }

    /// Returns the time that is `seconds` later, within the supported range.
    fn plus_seconds(self, seconds: i64) -> Self {
        let moved = self.0.instant().checked_add(jiff::SignedDuration::from_secs(seconds)).ok();
        Self(moved.and_then(|moved| TimestampSeconds::containing(moved).ok()).unwrap_or(self.0))
    }
}

impl From<TimestampSeconds> for PlanTime {
    fn from(second: TimestampSeconds) -> Self {
        Self(second)
    }
}

impl FromStr for PlanTime {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const FORM: &str = "must be a time such as 2020-12-31T00:00:00 or a day such as 2020-12-31";
        let text = match text.len() {
            10 => format!("{text}T00:00:00Z"),
            19 => format!("{text}Z"),
            _ => text.to_owned(),
        };
        // The name of a short month is more precise than the list of forms.
        let is_form = |error: &Invalid| error.to_string().contains("such as");
        text.parse().map(Self).map_err(|error| if is_form(&error) { Invalid::new(FORM) } else { error })
    }
}

impl fmt::Display for PlanTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0.instant().strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

serde_as_text!(PlanTime);

/// A start or an end of a requested period: a [`Bound`], or a time in UTC without an offset.
///
/// In a body, the bound must contain a time that can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanBound(Bound);

impl From<PlanBound> for Bound {
    fn from(PlanBound(bound): PlanBound) -> Self {
        bound
    }
}

impl From<Day> for PlanBound {
    fn from(day: Day) -> Self {
        Self(day.into())
    }
}

impl FromStr for PlanBound {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() == 19 { format!("{text}Z").parse() } else { text.parse() }.map(Self)
    }
}

impl<'de> serde::Deserialize<'de> for PlanBound {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(input)?;
        let bound = text.parse().and_then(|Self(bound)| bound.stored());
        bound.map(Self).map_err(serde::de::Error::custom)
    }
}

/// A calendar year, such as `2020`. A plan typically runs for one calendar year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Year(u16);

impl Year {
    /// Returns the year that contains `time`.
    pub fn of(time: TimestampSeconds) -> Self {
        Self(time.day().year())
    }
}

impl From<Year> for PlanId {
    fn from(year: Year) -> Self {
        Self::generated(&year.to_string())
    }
}

impl FromStr for Year {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let year = text.parse().ok().map(Self);
        year.filter(|year| year.0 <= 9_999 && year.to_string() == text)
            .ok_or_else(|| Invalid::new("must be a year such as 2020"))
    }
}

impl fmt::Display for Year {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}", self.0)
    }
}

/// A range of times that includes both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Period {
    first: PlanTime,
    last: PlanTime,
}

impl Period {
    /// Returns the period between two times. Returns `None` if `last` is before `first`.
    pub fn new(first: PlanTime, last: PlanTime) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Returns the period within the bounds, which may have no second. A missing bound is no limit.
    pub fn within(bounds: Bounds) -> Self {
        let (first, last) = bounds.seconds();
        let (first, last) = (first.unwrap_or(TimestampSeconds::MIN), last.unwrap_or(TimestampSeconds::MAX));
        Self { first: PlanTime(first), last: PlanTime(last) }
    }

    /// Whether the period has no second.
    pub fn is_empty(self) -> bool {
        self.last < self.first
    }

    /// Returns the plan year: from the first second of January 1 to the last second of December 31
    /// (docs/requirements/wellness.md#program-plans).
    pub fn of_year(year: Year) -> Self {
        let at = |rest: &str| format!("{year}{rest}").parse().ok();
        // The last two days of the year 9999 are not supported.
        let last = at("-12-31T23:59:59").unwrap_or(PlanTime(TimestampSeconds::MAX));
        Self { first: at("-01-01T00:00:00").unwrap_or(last), last }
    }

    /// Returns the period that starts at `first` and has no end.
    pub fn since(first: PlanTime) -> Self {
        Self { first, last: PlanTime(TimestampSeconds::MAX).max(first) }
    }

    /// Returns the ends that may not be over at `now`: from the start of the day, whose key is that
    /// of the date. Ends between then and `now` are over ([`PlanTime::is_over`]).
    pub fn not_over(now: TimestampSeconds) -> Self {
        Self::since(PlanTime(now.day().first_second()))
    }

    /// Returns the part of the period in [`Period::not_over`]. `None` if it is empty.
    pub fn open_at(self, now: TimestampSeconds) -> Option<Self> {
        Self::new(self.first.max(Self::not_over(now).first), self.last)
    }

    /// Returns the part of [`Period::open_at`] that is over at `now`. `None` if it is empty.
    pub fn over_today(self, now: TimestampSeconds) -> Option<Self> {
        let (date, now) = (Self::not_over(now).first, PlanTime(now));
        Self::new(self.first.max(date.plus_seconds(1)), self.last.min(now.plus_seconds(-1)))
    }

    /// Whether the period contains the time.
    pub fn contains(self, time: PlanTime) -> bool {
        (self.first..=self.last).contains(&time)
    }

    /// Returns the time in the period that is nearest to `time`.
    pub fn nearest(self, time: PlanTime) -> PlanTime {
        time.max(self.first).min(self.last)
    }

    /// Whether the periods have a second in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Returns the part that `other` leaves at the start or the end of this period. `None` if
    /// `other` covers the whole period. If `other` lies in the middle, the period is unchanged.
    pub fn without(self, other: Self) -> Option<Self> {
        match (other.contains(self.first), other.contains(self.last)) {
            (true, true) => None,
            (true, false) => Some(Self { first: other.last.plus_seconds(1), last: self.last }),
            (false, true) => Some(Self { first: self.first, last: other.first.plus_seconds(-1) }),
            (false, false) => Some(self),
        }
    }

    /// The first second.
    pub fn first(self) -> PlanTime {
        self.first
    }

    /// The last second.
    pub fn last(self) -> PlanTime {
        self.last
    }
}

/// PK of an activity's item collection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ActivityId-{0}")]
pub struct ActivityPartition(pub ActivityId);

/// PK of a company's sections, records, templates, jobs and holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{0}")]
pub struct CompanyPartition(pub CompanyId);

impl CompanyPartition {
    /// Whether the partition key belongs to the company: `CompanyId-<id>`, or a key that continues
    /// it after `#`. The partition of an activity does not name its company.
    pub fn owns(&self, partition: &str) -> bool {
        let rest = partition.strip_prefix(&self.to_string());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    }
}

/// GSI1PK of a company's activities and sections.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{0}#Program")]
pub struct ProgramPartition(pub CompanyId);

/// GSI2PK of a company's activities.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{0}#Program#List")]
pub struct ListPartition(pub CompanyId);

/// GSI3PK of an employee's registrations: `CompanyId-<id>#UserId-<id>#Registrations`.
///
/// The requirement's key is `UserId-<id>#Registrations`, without the company. Any administrator may
/// choose the user id of an employee, so registrations of two companies would share a partition
/// (docs/requirements/wellness.md#tenant-isolation).
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("CompanyId-{company}#UserId-{user}#Registrations")]
pub struct RegistrationsPartition {
    /// The company.
    pub company: CompanyId,
    /// The user.
    pub user: UserId,
}

/// One of ten partitions, as a digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Tenth(u8);

impl Tenth {
    const COUNT: u8 = 10;
    const FIRST: Self = Self(0);

    /// The partition by a hash of the text.
    fn of(text: &str) -> Self {
        Self(hashed(text, Self::COUNT))
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }
}

impl fmt::Display for Tenth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for Tenth {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::all().find(|part| part.to_string() == text).ok_or(Invalid::key("Tenth"))
    }
}

/// PK of a tenth of a company's employees: `CompanyId-<id>#Employees#<0-9>`.
///
/// The digit is a hash of the user id, so the key of an employee follows from the company and the
/// user. The employees of one company can be written and listed faster than one partition allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{company}#Employees#{part}")]
pub struct EmployeesPartition {
    company: CompanyId,
    part: Tenth,
}

impl EmployeesPartition {
    /// Returns the partition of a company that contains the user.
    pub fn of(company: CompanyId, user: &UserId) -> Self {
        Self { company, part: Tenth::of(user.as_str()) }
    }

    /// Returns a partition of a company by its number. `None` if there is none with this number.
    pub fn numbered(company: CompanyId, part: u8) -> Option<Self> {
        Tenth::all().nth(part.into()).map(|part| Self { company, part })
    }

    /// The company.
    pub fn company(&self) -> &CompanyId {
        &self.company
    }
}

/// GSI2PK of a tenth of all activities with groups: `Groups#<0-9>`. The digit is a hash of the
/// activity id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Groups#{0}")]
pub struct GroupsPartition(Tenth);

impl GroupsPartition {
    /// Returns the partition that contains the activity.
    pub fn of(activity: &ActivityId) -> Self {
        Self(Tenth::of(activity.as_str()))
    }

    /// All partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        Tenth::all().map(Self)
    }
}

/// GSI2SK of an activity with groups.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("CompanyId-{company}#ActivityId-{activity}")]
#[range(all)]
pub struct GroupsSort {
    /// The company that owns the activity.
    pub company: CompanyId,
    /// The activity.
    pub activity: ActivityId,
}

/// A position in the list of all employees of a company: the number of a partition, and a text
/// after which the list continues in this partition, as `<0-9>#UserId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmployeesPosition {
    part: Tenth,
    after: String,
}

impl EmployeesPosition {
    /// The start of a partition.
    fn start_of(part: Tenth) -> Self {
        Self { part, after: EmployeeSort::all().from().to_owned() }
    }

    /// Returns the start of the list.
    pub fn first() -> Self {
        Self::start_of(Tenth::FIRST)
    }

    /// The range of all positions.
    pub fn all() -> KeyRange {
        let last = Tenth::all().last().unwrap_or(Tenth::FIRST);
        KeyRange::through(Self::first().to_string(), Self::start_of(last).to_string())
    }

    /// Returns the position after a read of the rest of its partition. `next` is the sort key at
    /// which the read ended, if the partition has more employees. `None` at the end of the list.
    pub fn moved_to(&self, next: Option<String>) -> Option<Self> {
        match next {
            Some(after) => Some(Self { part: self.part, after }),
            None => Tenth::all().find(|part| *part > self.part).map(Self::start_of),
        }
    }

    /// Returns the partition of the company, and the range of the employees after the position.
    pub fn rest(&self, company: CompanyId) -> (EmployeesPartition, KeyRange) {
        (EmployeesPartition { company, part: self.part }, EmployeeSort::all().after(&self.after))
    }
}

impl fmt::Display for EmployeesPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.part, self.after)
    }
}

impl FromStr for EmployeesPosition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (part, after) = text.split_once('#')?;
            let part = part.parse().ok()?;
            EmployeeSort::all().contains(after).then(|| Self { part, after: after.to_owned() })
        };
        parse().filter(|position| position.to_string() == text).ok_or(Invalid::key("EmployeesPosition"))
    }
}

serde_as_text!(EmployeesPosition);

/// The primary key of an employee: a user of one company.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmployeeKey {
    /// The company.
    pub company: CompanyId,
    /// The user.
    pub user: UserId,
}

impl EmployeeKey {
    /// Parses both parts of the key.
    ///
    /// # Errors
    /// A part is invalid, or the partition is not the one that contains the user.
    pub fn parse(partition: &str, sort: &str) -> Result<Self, Invalid> {
        let (partition, EmployeeSort(user)) = (partition.parse::<EmployeesPartition>()?, sort.parse()?);
        let own = EmployeesPartition::of(partition.company.clone(), &user) == partition;
        own.then_some(Self { company: partition.company, user }).ok_or(Invalid::key("EmployeeKey"))
    }
}

/// PK of the corrections of points of a company's employees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{0}#Points")]
pub struct PointsPartition(pub CompanyId);

/// SK of a correction of an employee's points.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Correction#UserId-{user}#{at:Exact}#CorrectionId-{id}")]
#[range(of(user))]
#[range(at(user, at))]
pub struct CorrectionSort {
    /// The employee.
    pub user: UserId,
    /// The time of the correction, which lies within the corrected plan.
    pub at: PlanTime,
    /// The id of the correction.
    pub id: CorrectionId,
}

impl CorrectionSort {
    /// The range of the corrections of an employee in the period.
    pub fn within(user: &UserId, period: Period) -> KeyRange {
        KeyRange::spanning(&Self::at(user, &period.first), &Self::at(user, &period.last))
    }
}

/// PK of a template or an idempotency record: `CompanyId-<id>` or `Global`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Key)]
pub enum Owner {
    /// All companies share the item.
    #[key("Global")]
    Global,
    /// One company owns the item.
    #[key("{0:CompanyPartition}")]
    Company(CompanyId),
}

impl From<CompanyId> for Owner {
    fn from(company: CompanyId) -> Self {
        Self::Company(company)
    }
}

/// The singular name of a facet, which is part of the keys.
struct Singular(Facet);

impl fmt::Display for Singular {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.singular())
    }
}

impl FromStr for Singular {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let named = Facet::ALL.into_iter().find(|facet| facet.singular() == text);
        named.map(Self).ok_or(Invalid::key("Facet"))
    }
}

/// A company's venue, file, course, tracker or notification: `VenueId-<id>` in keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{facet:Singular}Id-{id}")]
pub struct FacetRef {
    /// The kind of record.
    pub facet: Facet,
    /// The id within the company and the facet.
    pub id: FacetId,
}

/// GSI2PK of the references to a venue.
///
/// The requirement's key is `VenueId-<id>`, without the company. The company prefix isolates
/// tenants (docs/requirements/wellness.md#tenant-isolation).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Key)]
#[key("CompanyId-{company}#{of}")]
pub struct ReferencePartition {
    /// The owning company.
    pub company: CompanyId,
    /// The venue that the references point to.
    pub of: FacetRef,
}

/// SK of an activity's rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Key)]
pub enum ProgramSort {
    /// The base row.
    #[key("Program")]
    Program,
    /// The detail: the description and other data that lists do not show.
    #[key("Program#Detail")]
    Detail,
    /// The goal.
    #[key("Program#GoalPrimary")]
    GoalPrimary,
    /// A reward.
    #[key("Program#Reward#{0}")]
    Reward(RewardKind),
    /// The type and rules of the groups.
    #[key("Program#Groups")]
    Groups,
    /// A group.
    #[key("Program#Groups#GroupId-{0}")]
    Group(GroupId),
    /// A reference to a venue, with a copy of the venue's data.
    #[key("Program#{0:RecordSort}")]
    Reference(FacetRef),
}

names! {
    /// A level of detail: all rows whose sort key begins with the name of the level
    /// (docs/requirements/wellness.md#pattern-4-get-an-activity).
    ///
    /// The level `Program` contains the whole activity. No other name is a prefix of another name.
    pub enum Level as "Level": "must be Program, or Program# followed by Detail, GoalPrimary, Reward, Groups, Venue, File, Course, Tracker or Notification" {
        /// `Program`, the whole activity.
        Program = "Program",
        /// `Program#Course`.
        Courses = "Program#Course",
        /// `Program#Detail`.
        Detail = "Program#Detail",
        /// `Program#File`.
        Files = "Program#File",
        /// `Program#GoalPrimary`.
        GoalPrimary = "Program#GoalPrimary",
        /// `Program#Groups` and all groups.
        Groups = "Program#Groups",
        /// `Program#Notification`.
        Notifications = "Program#Notification",
        /// `Program#Reward`.
        Rewards = "Program#Reward",
        /// `Program#Tracker`.
        Trackers = "Program#Tracker",
        /// `Program#Venue`.
        Venues = "Program#Venue",
    }
}

impl Level {
    /// Returns the key range of the level.
    pub fn range(self) -> KeyRange {
        KeyRange::beginning_with(self.as_str())
    }
}

/// GSI1SK of activities and sections, and GSI2SK of activities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("EndDate#{0:Exact}")]
#[range(all)]
pub struct EndDateSort(pub PlanTime);

impl EndDateSort {
    /// The range of end dates in the period, for patterns 1 and 2 of
    /// docs/requirements/wellness.md.
    pub fn within(period: Period) -> KeyRange {
        KeyRange::between(Self(period.first).to_string(), Self(period.last).to_string())
    }

    /// The range of end dates from `first` to `last`, both inclusive.
    pub fn between(first: PlanTime, last: PlanTime) -> KeyRange {
        KeyRange::between(Self(first).to_string(), Self(last).to_string())
    }

    /// An empty range, for warm-up queries.
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

/// GSI3SK of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ActivityEndDate#{0:Exact}")]
#[range(all)]
pub struct ActivityEndDateSort(pub PlanTime);

impl ActivityEndDateSort {
    /// The range of end dates in the period, for pattern 3 of docs/requirements/wellness.md. It
    /// also contains each [`RegistrationPlace`] with such an end date.
    pub fn within(period: Period) -> KeyRange {
        KeyRange::through(Self(period.first).to_string(), format!("{}#", Self(period.last)))
    }
}

/// The position of a registration in the list of an employee, or of an activity in the list of a
/// company. Many activities may end in the same second, so the end alone is not a position.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("{end:ActivityEndDateSort}#ActivityId-{activity}")]
pub struct RegistrationPlace {
    /// End date of the activity.
    pub end: PlanTime,
    /// The activity.
    pub activity: ActivityId,
}

/// GSI2SK of a reference: `<status>#<end>#ActivityId-<id>`, with the activity's status and end
/// date.
///
/// The activity id makes the sort key unique, so a cursor stores only this key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{status}#{end:Exact}#ActivityId-{activity}")]
#[range(with_status(status))]
#[range(at(status, end))]
pub struct UseSort {
    /// Status of the activity.
    pub status: Status,
    /// End date of the activity.
    pub end: PlanTime,
    /// The activity.
    pub activity: ActivityId,
}

impl UseSort {
    /// The range of references that have the stored status and an end date in the period, for
    /// pattern 5 of docs/requirements/wellness.md.
    pub fn within(status: Status, period: Period) -> KeyRange {
        KeyRange::spanning(&Self::at(&status, &period.first), &Self::at(&status, &period.last))
    }

    /// The range of all references to a venue.
    pub fn all() -> KeyRange {
        KeyRange::spanning(&Self::with_status(&Status::Active), &Self::with_status(&Status::Draft))
    }
}

/// SK of a registration. It is in the item collection of the activity, but it is not in any level
/// of detail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Registration#UserId-{0}")]
#[range(all)]
pub struct RegistrationSort(pub UserId);

/// SK of the counter of an activity's tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Key)]
#[key("Tickets")]
pub struct TicketsSort;

numbered_key!(
    /// SK of a ticket: `Ticket#<number>`, with ten digits. The first ticket of an activity has the
    /// number 1.
    TicketSort(u64), "Ticket#{:010}", 9_999_999_999
);

impl TicketSort {
    /// The range of all tickets of an activity.
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Ticket#")
    }

    /// The range of the tickets after one number, up to another one. Empty if there is none between
    /// them.
    pub fn after(number: u64, last: u64) -> KeyRange {
        let last = last.min(Self::MAX);
        if number >= last {
            return KeyRange::nothing_from("Ticket#");
        }
        KeyRange::between(Self(number + 1).to_string(), Self(last).to_string())
    }
}

/// Entry of an employee's sign-up in progress in the map `Drawn` of SK = `Tickets`: a hash of the
/// user id in eight hexadecimal digits, because the map must stay small. Employees may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawnEntry(u32);

impl DrawnEntry {
    /// Returns the entry of an employee.
    pub fn of(user: &UserId) -> Self {
        let digest = Sha256::digest(user.as_str());
        Self(digest.iter().take(4).fold(0, |hash, byte| (hash << 8) | u32::from(*byte)))
    }
}

impl fmt::Display for DrawnEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:08x}", self.0)
    }
}

impl FromStr for DrawnEntry {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let entry = u32::from_str_radix(text, 16).ok().map(Self);
        entry.filter(|entry| entry.to_string() == text).ok_or(Invalid::key("DrawnEntry"))
    }
}

serde_as_text!(DrawnEntry);

/// SK of a section.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Section#SectionId-{0}")]
#[range(all)]
pub struct SectionSort(pub SectionId);

/// SK of a company's plans. One item has all plans, so that no two plans can overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Key)]
#[key("Plans")]
pub struct PlansSort;

/// SK of a template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Template#TemplateId-{0}")]
#[range(all)]
pub struct TemplateSort(pub TemplateId);

/// SK of the item that stores the version of the loaded global templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Key)]
#[key("TemplateSet")]
pub struct TemplateSetSort;

/// SK of an employee. No other item of the table has a sort key of this form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("UserId-{0}")]
#[range(all)]
pub struct EmployeeSort(pub UserId);

/// SK of the upload of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Upload#FileId-{0}")]
pub struct UploadSort(pub FacetId);

/// Key of an uploaded object in S3: `uploads/<company>/files/<file>`. Characters other than ASCII
/// letters and digits are percent-encoded, so that no id is a path of several segments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UploadKey {
    /// The owning company.
    pub company: CompanyId,
    /// The file.
    pub file: FacetId,
}

impl UploadKey {
    /// The prefix of all uploads.
    pub const PREFIX: &'static str = "uploads/";

    /// The prefix of the uploads of a company.
    pub fn of_company(company: &CompanyId) -> String {
        format!("{}{}/", Self::PREFIX, percent_encoded(company.as_str()))
    }
}

impl fmt::Display for UploadKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (company, file) = (percent_encoded(self.company.as_str()), percent_encoded(self.file.as_str()));
        write!(out, "{}{company}/files/{file}", Self::PREFIX)
    }
}

impl FromStr for UploadKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (company, file) = text.strip_prefix(Self::PREFIX)?.split_once("/files/")?;
            let (company, file) = (percent_decoded(company)?, percent_decoded(file)?);
            Some(Self { company: company.parse().ok()?, file: file.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("UploadKey"))
    }
}

/// Key of an object of an export in S3: `exports/<company>/<export>/<name>`. The company is encoded
/// as in [`UploadKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportKey {
    /// The exported company.
    pub company: CompanyId,
    /// The id of the export.
    pub export: RequestId,
    /// The name of the object within the export.
    pub name: String,
}

impl ExportKey {
    /// The prefix of all exports.
    pub const PREFIX: &'static str = "exports/";

    /// The prefix of the exports of a company.
    pub fn of_company(company: &CompanyId) -> String {
        format!("{}{}/", Self::PREFIX, percent_encoded(company.as_str()))
    }
}

impl fmt::Display for ExportKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}/{}", Self::of_company(&self.company), self.export, self.name)
    }
}

/// Encodes all bytes except ASCII letters and digits as `%` and two digits.
fn percent_encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                (u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?, after)
            }
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// SK of a company's venue record: `Venue#VenueId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordSort(pub FacetRef);

impl RecordSort {
    /// The range of a company's records of one kind.
    pub fn of_facet(facet: Facet) -> KeyRange {
        KeyRange::beginning_with(format!("{}#", facet.singular()))
    }
}

impl fmt::Display for RecordSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.0.facet.singular(), self.0)
    }
}

impl FromStr for RecordSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let of = text.split_once('#').and_then(|(_, of)| of.parse().ok()).map(Self);
        of.filter(|key| key.to_string() == text).ok_or(Invalid::key("RecordSort"))
    }
}

serde_as_text!(RecordSort);

/// The id of a job is the id of what the job processes. Each venue therefore has at most one job at
/// a time, and each activity, user and plan at most one of each kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[invalid("is not a job id")]
pub enum JobId {
    /// A job that processes the references to a venue.
    #[key("{0}")]
    Uses(FacetRef),
    /// A job that processes the registrations of an activity.
    #[key("ActivityId-{0}")]
    Registrations(ActivityId),
    /// A job that enrols employees in an activity.
    #[key("EnrolmentId-{0}")]
    Enrolment(ActivityId),
    /// A job that gives the free seats of an activity to those who wait.
    #[key("SeatsId-{0}")]
    Seats(ActivityId),
    /// A job that ends the registrations of a removed employee.
    #[key("DepartureId-{0}")]
    Departure(UserId),
    /// A job that awards the rewards of an activity.
    #[key("RewardsId-{0}")]
    Rewards(ActivityId),
    /// A job that checks an uploaded file, or deletes the object of a removed file.
    #[key("UploadId-{0}")]
    Upload(FacetId),
    /// A job that writes the report of a plan.
    #[key("ReportId-{0}")]
    Report(PlanId),
    /// A job that computes the progress of the groups of an activity.
    #[key("GroupsId-{0}")]
    Groups(ActivityId),
    /// The job that exports the data of the company.
    #[key("ExportId-{0}")]
    Export(CompanyId),
    /// The job that erases the company.
    #[key("ErasureId-{0}")]
    Erasure(CompanyId),
    /// A job that erases an employee.
    #[key("EmployeeErasureId-{0}")]
    EmployeeErasure(UserId),
}

/// PK of the reports of a company's plans.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CompanyId-{0}#Reports")]
pub struct ReportsPartition(pub CompanyId);

/// SK of the last complete report of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("PlanId-{0}")]
pub struct ReportSort(pub PlanId);

/// The subject of a row of a report. The activities are sorted by id, and the sums come last.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
pub enum RowOf {
    /// An activity.
    #[key("ActivityId-{0}")]
    Activity(ActivityId),
    /// The sums.
    #[key("Total")]
    Total,
}

/// SK of a row of a report.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("PlanId-{plan}#ReportId-{report:Exact}#{of}")]
#[range(of_plan(plan))]
#[range(of_report(plan, report))]
pub struct ReportRowSort {
    /// The plan.
    pub plan: PlanId,
    /// The id of the report.
    pub report: RequestId,
    /// The subject.
    pub of: RowOf,
}

/// SK of a job: `Job#` and the id of the job, such as `Job#VenueId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Job#{0}")]
pub struct JobSort(pub JobId);

/// SK of a replacement's hold on the new venue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Hold#{0}")]
pub struct HoldSort(pub FacetRef);

/// SK of the list of the jobs that callers of a company have started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("Starts")]
pub struct StartsSort;

impl FromStr for Exact<PlanTime> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        second_of(text, "0000-00-00T00:00:00").map(|second| Self(second.into()))
    }
}

crate::schema!(PlanTime as "PlanTime", |generator| match generator.contract() {
    contract if contract.is_serialize() => <schema::Seconds as ::schemars::JsonSchema>::json_schema(generator),
    _ => ::schemars::json_schema!({
        "description": "A time, or a date, which means the first second of that day.",
        "anyOf": [schema::titled::<Day>(generator), schema::titled::<schema::LocalTime>(generator), schema::titled::<schema::Time>(generator)]
    }),
});

crate::schema_of!(PlanBound, PlanTime);

crate::schema!(Year as "Year": {"type": "integer", "minimum": 1000, "maximum": 9999});

crate::schema!(JobId as "JobId", |_| ::schemars::json_schema!({
    "type": "string",
    "pattern": format!(
        "^(Activity|Course|Departure|EmployeeErasure|Enrolment|Erasure|Export|File|Groups|Notification|Report|Rewards|\
         Seats|Tracker|Upload|Venue)Id-{}{{1,128}}$",
        schema::PART
    )
}));
