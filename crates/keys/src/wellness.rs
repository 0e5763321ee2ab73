//! Keys of the table `Activities`, and of `WellnessJobs`, which stores jobs and their holds
//! (docs/decisions/wellness-model.md).
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
    id::{identifier, label},
    text::{Invalid, framed_key, hashed, names, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::{fmt, str::FromStr};

identifier!(
    /// The id of a company. Each company is a tenant.
    CompanyId
);
identifier!(
    /// The id of an activity, which is unique across companies.
    ActivityId
);
identifier!(
    /// The id of a user. Two companies may have an employee with the same id.
    UserId
);
identifier!(
    /// The id of a section in a company's program.
    SectionId
);
identifier!(
    /// The id of a plan of a company. A calendar year that no plan covers has its number as id.
    PlanId
);
identifier!(
    /// The id of a group in an activity.
    GroupId
);
identifier!(
    /// The id of a template.
    TemplateId
);
identifier!(
    /// The id of a correction of an employee's points.
    CorrectionId
);
identifier!(
    /// The id of a company's venue, file, course, tracker or notification. The id is unique within
    /// its company and facet.
    FacetId
);
label!(
    /// The kind of a reward, such as `Attendance`. An activity has at most one reward of each kind.
    RewardKind
);
label!(
    /// The topic of an activity, such as `Fitness`.
    SubType
);
label!(
    /// An employee's role in the plan, such as `EmployeeOnPlan`.
    Role
);
label!(
    /// An employee's department, such as `Sales`.
    Department
);

macro_rules! made_at {
    ($($name:ident),+) => {$(
        impl $name {
            /// Creates an id that begins with the time `now`.
            #[must_use]
            pub fn new(now: Timestamp, random: &Random) -> Self {
                Self::generated(&uuid_of(now, random).simple().to_string())
            }
        }
    )+};
}

made_at!(ActivityId, CorrectionId, FacetId, GroupId, TemplateId);

/// The stored status of an activity. The variants are in alphabetical order, which is also the
/// order of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Status {
    /// Published. Past its end date, the activity is completed ([`ShownStatus`]).
    #[default]
    Active,
    /// Cancelled.
    Cancelled,
    /// Not published yet. Lists omit drafts by default.
    Draft,
}

names!(
    Status, "must be draft, active or cancelled",
    Active => "active",
    Cancelled => "cancelled",
    Draft => "draft",
);

impl Status {
    /// Returns the status at the time `now` of an activity that ends at `end`.
    #[must_use]
    pub fn shown(self, end: PlanTime, now: TimestampSeconds) -> ShownStatus {
        match self {
            Self::Active if end.is_over(now) => ShownStatus::Completed,
            Self::Active => ShownStatus::Active,
            Self::Cancelled => ShownStatus::Cancelled,
            Self::Draft => ShownStatus::Draft,
        }
    }
}

/// The status of an activity in responses and filters. An active activity is completed once its
/// end is over ([`PlanTime::is_over`]; docs/decisions/wellness-completion.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ShownStatus {
    /// Running or upcoming.
    #[default]
    Active,
    /// Cancelled.
    Cancelled,
    /// Ended.
    Completed,
    /// Not published yet.
    Draft,
}

names!(
    ShownStatus, "must be draft, active, completed or cancelled",
    Active => "active",
    Cancelled => "cancelled",
    Completed => "completed",
    Draft => "draft",
);

impl ShownStatus {
    /// Returns the stored status.
    #[must_use]
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
    #[must_use]
    pub fn within(self, period: Period, now: TimestampSeconds) -> Option<Period> {
        match self {
            Self::Active => period.open_at(now),
            Self::Completed => Period::new(period.first, period.last.min(PlanTime::from(now).plus_seconds(-1))),
            Self::Cancelled | Self::Draft => Some(period),
        }
    }
}

/// The type of an activity (docs/requirements/wellness.md#activity-types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActivityType {
    /// A goal to reach. Employees are registered for challenges.
    Challenge,
    /// An event to attend.
    Event,
}

names!(
    ActivityType, "must be challenge or event",
    Challenge => "challenge",
    Event => "event",
);

/// The kinds of records that an activity may refer to, named as in API paths. Activities and
/// records have a many-to-many relationship
/// (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Facet {
    /// Courses to take.
    Courses,
    /// Files to read.
    Files,
    /// Notifications to send.
    Notifications,
    /// Trackers that measure progress.
    Trackers,
    /// Places of events.
    Venues,
}

names!(
    Facet, "must be venues, files, courses, trackers or notifications",
    Courses => "courses",
    Files => "files",
    Notifications => "notifications",
    Trackers => "trackers",
    Venues => "venues",
);

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

    fn of_singular(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.singular() == name)
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
    #[must_use]
    pub fn second(self) -> TimestampSeconds {
        self.0
    }

    /// Whether an activity that ends at this time is over at `now`. An end at 00:00:00 is a date,
    /// and includes its whole day in UTC (docs/decisions/times.md).
    ///
    /// Only this function compares an end with a time.
    #[must_use]
    pub fn is_over(self, now: TimestampSeconds) -> bool {
        self.last_second() < now
    }

    /// Returns the last second of an activity that ends at this time.
    #[must_use]
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
    #[must_use]
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
    #[must_use]
    pub fn new(first: PlanTime, last: PlanTime) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Returns the period within the bounds, which may have no second. A missing bound is no limit.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        let (first, last) = bounds.seconds();
        let (first, last) = (first.unwrap_or(TimestampSeconds::MIN), last.unwrap_or(TimestampSeconds::MAX));
        Self { first: PlanTime(first), last: PlanTime(last) }
    }

    /// Whether the period has no second.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.last < self.first
    }

    /// Returns the plan year: from the first second of January 1 to the last second of December 31
    /// (docs/requirements/wellness.md#program-plans).
    #[must_use]
    pub fn of_year(year: Year) -> Self {
        let at = |rest: &str| format!("{year}{rest}").parse().ok();
        // The last two days of the year 9999 are not supported.
        let last = at("-12-31T23:59:59").unwrap_or(PlanTime(TimestampSeconds::MAX));
        Self { first: at("-01-01T00:00:00").unwrap_or(last), last }
    }

    /// Returns the period that starts at `first` and has no end.
    #[must_use]
    pub fn since(first: PlanTime) -> Self {
        Self { first, last: PlanTime(TimestampSeconds::MAX).max(first) }
    }

    /// Returns the ends that may not be over at `now`: from the start of the day, whose key is that
    /// of the date. Ends between then and `now` are over ([`PlanTime::is_over`]).
    #[must_use]
    pub fn not_over(now: TimestampSeconds) -> Self {
        Self::since(PlanTime(now.day().first_second()))
    }

    /// Returns the part of the period in [`Period::not_over`]. `None` if it is empty.
    #[must_use]
    pub fn open_at(self, now: TimestampSeconds) -> Option<Self> {
        Self::new(self.first.max(Self::not_over(now).first), self.last)
    }

    /// Returns the part of [`Period::open_at`] that is over at `now`. `None` if it is empty.
    #[must_use]
    pub fn over_today(self, now: TimestampSeconds) -> Option<Self> {
        let (date, now) = (Self::not_over(now).first, PlanTime(now));
        Self::new(self.first.max(date.plus_seconds(1)), self.last.min(now.plus_seconds(-1)))
    }

    /// Whether the period contains the time.
    #[must_use]
    pub fn contains(self, time: PlanTime) -> bool {
        (self.first..=self.last).contains(&time)
    }

    /// Returns the time in the period that is nearest to `time`.
    #[must_use]
    pub fn nearest(self, time: PlanTime) -> PlanTime {
        time.max(self.first).min(self.last)
    }

    /// Whether the periods have a second in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Returns the part that `other` leaves at the start or the end of this period. `None` if
    /// `other` covers the whole period. If `other` lies in the middle, the period is unchanged.
    #[must_use]
    pub fn without(self, other: Self) -> Option<Self> {
        match (other.contains(self.first), other.contains(self.last)) {
            (true, true) => None,
            (true, false) => Some(Self { first: other.last.plus_seconds(1), last: self.last }),
            (false, true) => Some(Self { first: self.first, last: other.first.plus_seconds(-1) }),
            (false, false) => Some(self),
        }
    }

    /// The first second.
    #[must_use]
    pub fn first(self) -> PlanTime {
        self.first
    }

    /// The last second.
    #[must_use]
    pub fn last(self) -> PlanTime {
        self.last
    }
}

framed_key!(
    /// PK of an activity's item collection: `ActivityId-<id>`.
    ActivityPartition,
    "ActivityId-",
    "",
    ActivityId
);
framed_key!(
    /// PK of a company's sections, records, templates, jobs and holds: `CompanyId-<id>`.
    CompanyPartition,
    "CompanyId-",
    "",
    CompanyId
);

impl CompanyPartition {
    /// Whether the partition key belongs to the company: `CompanyId-<id>`, or a key that continues
    /// it after `#`. The partition of an activity does not name its company.
    #[must_use]
    pub fn owns(&self, partition: &str) -> bool {
        let rest = partition.strip_prefix(&self.to_string());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    }
}

framed_key!(
    /// GSI1PK of a company's activities and sections: `CompanyId-<id>#Program`.
    ProgramPartition,
    "CompanyId-",
    "#Program",
    CompanyId
);
framed_key!(
    /// GSI2PK of a company's activities: `CompanyId-<id>#Program#List`.
    ListPartition,
    "CompanyId-",
    "#Program#List",
    CompanyId
);
/// GSI3PK of an employee's registrations: `CompanyId-<id>#UserId-<id>#Registrations`.
///
/// The requirement's key is `UserId-<id>#Registrations`, without the company. Any administrator may
/// choose the user id of an employee, so registrations of two companies would share a partition
/// (docs/requirements/wellness.md#tenant-isolation).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationsPartition(pub EmployeeKey);

impl fmt::Display for RegistrationsPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CompanyId-{}#UserId-{}#Registrations", self.0.company, self.0.user)
    }
}

impl FromStr for RegistrationsPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let rest = text.strip_prefix("CompanyId-")?.strip_suffix("#Registrations")?;
            let (company, user) = rest.split_once("#UserId-")?;
            Some(Self(EmployeeKey { company: company.parse().ok()?, user: user.parse().ok()? }))
        };
        parse().ok_or(Invalid::key("RegistrationsPartition"))
    }
}

serde_as_text!(RegistrationsPartition);

/// PK of a tenth of a company's employees: `CompanyId-<id>#Employees#<0-9>`.
///
/// The digit is a hash of the user id, so the key of an employee follows from the company and the
/// user. The employees of one company can be written and listed faster than one partition allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmployeesPartition {
    company: CompanyId,
    part: u8,
}

impl EmployeesPartition {
    /// Number of partitions of a company.
    const PARTS: u8 = 10;

    /// Returns the partition of a company that contains the user.
    #[must_use]
    pub fn of(company: CompanyId, user: &UserId) -> Self {
        Self { company, part: hashed(user.as_str(), Self::PARTS) }
    }

    /// Returns a partition of a company by its number. `None` if there is none with this number.
    #[must_use]
    pub fn numbered(company: CompanyId, part: u8) -> Option<Self> {
        (part < Self::PARTS).then_some(Self { company, part })
    }

    /// The company.
    #[must_use]
    pub fn company(&self) -> &CompanyId {
        &self.company
    }
}

impl fmt::Display for EmployeesPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CompanyId-{}#Employees#{}", self.company, self.part)
    }
}

impl FromStr for EmployeesPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (company, part) = text.strip_prefix("CompanyId-")?.split_once("#Employees#")?;
            let part = part.parse().ok().filter(|part| *part < Self::PARTS)?;
            Some(Self { company: company.parse().ok()?, part })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("EmployeesPartition"))
    }
}

serde_as_text!(EmployeesPartition);

/// GSI2PK of a tenth of all activities with groups: `Groups#<0-9>`. The digit is a hash of the
/// activity id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupsPartition(u8);

impl GroupsPartition {
    const PARTS: u8 = 10;

    /// Returns the partition that contains the activity.
    #[must_use]
    pub fn of(activity: &ActivityId) -> Self {
        Self(hashed(activity.as_str(), Self::PARTS))
    }

    /// All partitions.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::PARTS).map(Self)
    }
}

impl fmt::Display for GroupsPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Groups#{}", self.0)
    }
}

impl FromStr for GroupsPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::all().find(|part| part.to_string() == text).ok_or(Invalid::key("GroupsPartition"))
    }
}

serde_as_text!(GroupsPartition);

/// GSI2SK of an activity with groups: `CompanyId-<id>#ActivityId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsSort {
    /// The company that owns the activity.
    pub company: CompanyId,
    /// The activity.
    pub activity: ActivityId,
}

impl GroupsSort {
    /// The range of all activities.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("CompanyId-")
    }
}

impl fmt::Display for GroupsSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CompanyId-{}#ActivityId-{}", self.company, self.activity)
    }
}

impl FromStr for GroupsSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (company, activity) = text.strip_prefix("CompanyId-")?.split_once("#ActivityId-")?;
            Some(Self { company: company.parse().ok()?, activity: activity.parse().ok()? })
        };
        parse().ok_or(Invalid::key("GroupsSort"))
    }
}

serde_as_text!(GroupsSort);

/// A position in the list of all employees of a company: the number of a partition, and a text
/// after which the list continues in this partition, as `<0-9>#UserId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmployeesPosition {
    part: u8,
    after: String,
}

impl EmployeesPosition {
    /// The start of a partition.
    fn start_of(part: u8) -> Self {
        Self { part, after: EmployeeSort::all().from().to_owned() }
    }

    /// Returns the start of the list.
    #[must_use]
    pub fn first() -> Self {
        Self::start_of(0)
    }

    /// The range of all positions.
    #[must_use]
    pub fn all() -> KeyRange {
        let last = EmployeesPartition::PARTS - 1;
        KeyRange::through(Self::first().to_string(), Self::start_of(last).to_string())
    }

    /// Returns the position after a read of the rest of its partition. `next` is the sort key at
    /// which the read ended, if the partition has more employees. `None` at the end of the list.
    #[must_use]
    pub fn moved_to(&self, next: Option<String>) -> Option<Self> {
        match next {
            Some(after) => Some(Self { part: self.part, after }),
            None => Some(self.part + 1).filter(|part| *part < EmployeesPartition::PARTS).map(Self::start_of),
        }
    }

    /// Returns the partition of the company, and the range of the employees after the position.
    #[must_use]
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
            let part = part.parse().ok().filter(|part| *part < EmployeesPartition::PARTS)?;
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

framed_key!(
    /// PK of the corrections of points of a company's employees: `CompanyId-<id>#Points`.
    PointsPartition,
    "CompanyId-",
    "#Points",
    CompanyId
);

/// SK of a correction of an employee's points:
/// `Correction#UserId-<id>#<time>#CorrectionId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CorrectionSort {
    /// The employee.
    pub user: UserId,
    /// The time of the correction, which lies within the corrected plan.
    pub at: PlanTime,
    /// The id of the correction.
    pub id: CorrectionId,
}

impl CorrectionSort {
    /// The range of the corrections of an employee.
    #[must_use]
    pub fn of(user: &UserId) -> KeyRange {
        KeyRange::beginning_with(format!("Correction#UserId-{user}#"))
    }

    /// The range of the corrections of an employee in the period.
    #[must_use]
    pub fn within(user: &UserId, period: Period) -> KeyRange {
        let at = |time: PlanTime| format!("Correction#UserId-{user}#{time}#");
        KeyRange::through(at(period.first), at(period.last))
    }
}

impl fmt::Display for CorrectionSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Correction#UserId-{}#{}#CorrectionId-{}", self.user, self.at, self.id)
    }
}

impl FromStr for CorrectionSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (user, rest) = text.strip_prefix("Correction#UserId-")?.split_once('#')?;
            let (at, id) = rest.split_once("#CorrectionId-")?;
            Some(Self { user: user.parse().ok()?, at: at.parse().ok()?, id: id.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("CorrectionSort"))
    }
}

serde_as_text!(CorrectionSort);

/// PK of a template or an idempotency record: `CompanyId-<id>` or `Global`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All companies share the item.
    Global,
    /// One company owns the item.
    Company(CompanyId),
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => out.write_str("Global"),
            Self::Company(company) => write!(out, "CompanyId-{company}"),
        }
    }
}

impl FromStr for Owner {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "Global" => Ok(Self::Global),
            _ => text.parse().map(|CompanyPartition(company)| Self::Company(company)),
        }
    }
}

serde_as_text!(Owner);

/// A company's venue, file, course, tracker or notification: `VenueId-<id>` in keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FacetRef {
    /// The kind of record.
    pub facet: Facet,
    /// The id within the company and the facet.
    pub id: FacetId,
}

impl fmt::Display for FacetRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}Id-{}", self.facet.singular(), self.id)
    }
}

impl FromStr for FacetRef {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (name, id) = text.split_once("Id-")?;
            Some(Self { facet: Facet::of_singular(name)?, id: id.parse().ok()? })
        };
        parse().ok_or(Invalid::key("FacetRef"))
    }
}

serde_as_text!(FacetRef);

/// GSI2PK of the references to a venue: `CompanyId-<id>#VenueId-<id>`.
///
/// The requirement's key is `VenueId-<id>`, without the company. The company prefix isolates
/// tenants (docs/requirements/wellness.md#tenant-isolation).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReferencePartition {
    /// The owning company.
    pub company: CompanyId,
    /// The venue that the references point to.
    pub of: FacetRef,
}

impl fmt::Display for ReferencePartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CompanyId-{}#{}", self.company, self.of)
    }
}

impl FromStr for ReferencePartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (company, of) = text.strip_prefix("CompanyId-")?.split_once('#')?;
            Some(Self { company: company.parse().ok()?, of: of.parse().ok()? })
        };
        parse().ok_or(Invalid::key("ReferencePartition"))
    }
}

serde_as_text!(ReferencePartition);

/// SK of an activity's rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ProgramSort {
    /// The base row.
    Program,
    /// The detail: the description and other data that lists do not show.
    Detail,
    /// The goal.
    GoalPrimary,
    /// A reward.
    Reward(RewardKind),
    /// The type and rules of the groups.
    Groups,
    /// A group.
    Group(GroupId),
    /// A reference to a venue, with a copy of the venue's data.
    Reference(FacetRef),
}

impl fmt::Display for ProgramSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => out.write_str("Program"),
            Self::Detail => out.write_str("Program#Detail"),
            Self::GoalPrimary => out.write_str("Program#GoalPrimary"),
            Self::Reward(kind) => write!(out, "Program#Reward#{kind}"),
            Self::Groups => out.write_str("Program#Groups"),
            Self::Group(group) => write!(out, "Program#Groups#GroupId-{group}"),
            Self::Reference(of) => write!(out, "Program#{}#{of}", of.facet.singular()),
        }
    }
}

impl FromStr for ProgramSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let mut parts = text.splitn(3, '#');
            let key = match (parts.next()?, parts.next(), parts.next()) {
                ("Program", None, None) => Self::Program,
                ("Program", Some("Detail"), None) => Self::Detail,
                ("Program", Some("GoalPrimary"), None) => Self::GoalPrimary,
                ("Program", Some("Groups"), None) => Self::Groups,
                ("Program", Some("Reward"), Some(kind)) => Self::Reward(kind.parse().ok()?),
                ("Program", Some("Groups"), Some(group)) => Self::Group(group.strip_prefix("GroupId-")?.parse().ok()?),
                ("Program", Some(_), Some(of)) => Self::Reference(of.parse().ok()?),
                _ => return None,
            };
            (key.to_string() == text).then_some(key)
        };
        parse().ok_or(Invalid::key("ProgramSort"))
    }
}

serde_as_text!(ProgramSort);

/// A level of detail: all rows whose sort key begins with the name of the level
/// (docs/requirements/wellness.md#pattern-4-get-an-activity).
///
/// The level `Program` contains the whole activity. No other name is a prefix of another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `Program`, the whole activity.
    Program,
    /// `Program#Course`.
    Courses,
    /// `Program#Detail`.
    Detail,
    /// `Program#File`.
    Files,
    /// `Program#GoalPrimary`.
    GoalPrimary,
    /// `Program#Groups` and all groups.
    Groups,
    /// `Program#Notification`.
    Notifications,
    /// `Program#Reward`.
    Rewards,
    /// `Program#Tracker`.
    Trackers,
    /// `Program#Venue`.
    Venues,
}

names!(
    Level, "must be Program, or Program# followed by Detail, GoalPrimary, Reward, Groups, Venue, File, Course, Tracker or Notification",
    Program => "Program",
    Courses => "Program#Course",
    Detail => "Program#Detail",
    Files => "Program#File",
    GoalPrimary => "Program#GoalPrimary",
    Groups => "Program#Groups",
    Notifications => "Program#Notification",
    Rewards => "Program#Reward",
    Trackers => "Program#Tracker",
    Venues => "Program#Venue",
);

impl Level {
    /// Returns the key range of the level.
    #[must_use]
    pub fn range(self) -> KeyRange {
        KeyRange::beginning_with(self.as_str())
    }
}

/// GSI1SK of activities and sections, and GSI2SK of activities: `EndDate#<end>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndDateSort(pub PlanTime);

impl EndDateSort {
    /// The range of end dates in the period, for patterns 1 and 2 of
    /// docs/requirements/wellness.md.
    #[must_use]
    pub fn within(period: Period) -> KeyRange {
        KeyRange::between(Self(period.first).to_string(), Self(period.last).to_string())
    }

    /// The range of all end dates.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("EndDate#")
    }

    /// An empty range, for warm-up queries.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

/// GSI3SK of a registration: `ActivityEndDate#<end>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityEndDateSort(pub PlanTime);

impl ActivityEndDateSort {
    /// The range of all end dates.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("ActivityEndDate#")
    }

    /// The range of end dates in the period, for pattern 3 of docs/requirements/wellness.md. It
    /// also contains each [`RegistrationPlace`] with such an end date.
    #[must_use]
    pub fn within(period: Period) -> KeyRange {
        KeyRange::through(Self(period.first).to_string(), format!("{}#", Self(period.last)))
    }
}

/// The position of a registration in the list of an employee:
/// `ActivityEndDate#<end>#ActivityId-<id>`. Many activities may end in the same second, so GSI3SK
/// alone is not a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationPlace {
    /// End date of the activity.
    pub end: PlanTime,
    /// The activity.
    pub activity: ActivityId,
}

impl fmt::Display for RegistrationPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#ActivityId-{}", ActivityEndDateSort(self.end), self.activity)
    }
}

impl FromStr for RegistrationPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (end, activity) = text.split_once("#ActivityId-")?;
            let ActivityEndDateSort(end) = end.parse().ok()?;
            Some(Self { end, activity: activity.parse().ok()? })
        };
        parse().ok_or(Invalid::key("RegistrationPlace"))
    }
}

macro_rules! time_sort {
    ($name:ident, $prefix:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, concat!($prefix, "#{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let time = text.strip_prefix(concat!($prefix, "#")).and_then(|time| time.parse().ok()).map(Self);
                time.filter(|key| key.to_string() == text).ok_or(Invalid::key(stringify!($name)))
            }
        }

        serde_as_text!($name);
    };
}

time_sort!(EndDateSort, "EndDate");
time_sort!(ActivityEndDateSort, "ActivityEndDate");

/// GSI2SK of a reference: `<status>#<end>#ActivityId-<id>`, with the activity's status and end
/// date.
///
/// The activity id makes the sort key unique, so a cursor stores only this key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    #[must_use]
    pub fn within(status: Status, period: Period) -> KeyRange {
        KeyRange::through(format!("{status}#{}", period.first), format!("{status}#{}#", period.last))
    }

    /// The range of all references to a venue.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::through(format!("{}#", Status::Active), format!("{}#", Status::Draft))
    }
}

impl fmt::Display for UseSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}#ActivityId-{}", self.status, self.end, self.activity)
    }
}

impl FromStr for UseSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let mut parts = text.splitn(3, '#');
            let (status, end) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let activity = parts.next()?.strip_prefix("ActivityId-")?.parse().ok()?;
            Some(Self { status, end, activity })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("UseSort"))
    }
}

serde_as_text!(UseSort);

framed_key!(
    /// SK of a registration: `Registration#UserId-<id>`. It is in the item collection of the
    /// activity, but it is not in any level of detail.
    RegistrationSort,
    "Registration#UserId-",
    "",
    UserId
);

impl RegistrationSort {
    /// The range of all registrations of an activity.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Registration#")
    }
}

/// SK of the counter of an activity's tickets: `Tickets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TicketsSort;

impl fmt::Display for TicketsSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Tickets")
    }
}

impl FromStr for TicketsSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "Tickets" { Ok(Self) } else { Err(Invalid::key("TicketsSort")) }
    }
}

serde_as_text!(TicketsSort);

/// SK of a ticket: `Ticket#<number>`, with ten digits. The first ticket of an activity has the
/// number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TicketSort(u64);

impl TicketSort {
    /// The highest number.
    pub const MAX: u64 = 9_999_999_999;

    /// Returns the key of a ticket. `None` if the number is 0 or too high.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (1..=Self::MAX).contains(&number).then_some(Self(number))
    }

    /// The number of the ticket.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The range of all tickets of an activity.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Ticket#")
    }

    /// The range of the tickets after one number, up to another one. Empty if there is none between
    /// them.
    #[must_use]
    pub fn after(number: u64, last: u64) -> KeyRange {
        let last = last.min(Self::MAX);
        if number >= last {
            return KeyRange::nothing_from("Ticket#");
        }
        KeyRange::between(Self(number + 1).to_string(), Self(last).to_string())
    }
}

impl fmt::Display for TicketSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Ticket#{:010}", self.0)
    }
}

impl FromStr for TicketSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.strip_prefix("Ticket#").and_then(|number| number.parse().ok()).and_then(Self::new);
        number.filter(|key| key.to_string() == text).ok_or(Invalid::key("TicketSort"))
    }
}

serde_as_text!(TicketSort);

/// Entry of an employee's sign-up in progress in the map `Drawn` of SK = `Tickets`: a hash of the
/// user id in eight hexadecimal digits, because the map must stay small. Employees may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawnEntry(u32);

impl DrawnEntry {
    /// Returns the entry of an employee.
    #[must_use]
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

framed_key!(
    /// SK of a section: `Section#SectionId-<id>`.
    SectionSort,
    "Section#SectionId-",
    "",
    SectionId
);

impl SectionSort {
    /// The range of all sections of a company.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Section#")
    }
}

/// SK of a company's plans: `Plans`. One item has all plans, so that no two plans can overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlansSort;

impl fmt::Display for PlansSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Plans")
    }
}

impl FromStr for PlansSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "Plans" { Ok(Self) } else { Err(Invalid::key("PlansSort")) }
    }
}

serde_as_text!(PlansSort);

framed_key!(
    /// SK of a template: `Template#TemplateId-<id>`.
    TemplateSort,
    "Template#TemplateId-",
    "",
    TemplateId
);

impl TemplateSort {
    /// The range of all templates of an owner.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Template#")
    }
}

/// SK of the item that stores the version of the loaded global templates: `TemplateSet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TemplateSetSort;

impl fmt::Display for TemplateSetSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TemplateSet")
    }
}

impl FromStr for TemplateSetSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        (text == "TemplateSet").then_some(Self).ok_or(Invalid::key("TemplateSetSort"))
    }
}

serde_as_text!(TemplateSetSort);

framed_key!(
    /// SK of an employee: `UserId-<id>`. No other item of the table has a sort key of this form.
    EmployeeSort,
    "UserId-",
    "",
    UserId
);

impl EmployeeSort {
    /// The range of all employees of a partition.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("UserId-")
    }
}

framed_key!(
    /// SK of the upload of a file: `Upload#FileId-<id>`.
    UploadSort,
    "Upload#FileId-",
    "",
    FacetId
);

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
    #[must_use]
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
    #[must_use]
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
    #[must_use]
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

/// The id of a job is the id of the venue or activity that the job processes: `VenueId-<id>`,
/// `ActivityId-<id>`, or `EnrolmentId-<id>`, `SeatsId-<id>`, `RewardsId-<id>` or `GroupsId-<id>`
/// with the id of an activity, or `DepartureId-<id>` with the id of a user, `UploadId-<id>` with
/// the id of a file, or `ReportId-<id>` with the id of a plan. Each venue therefore has at most one
/// job at a time, and each activity, user and plan at most one of each kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobId {
    /// A job that processes the references to a venue.
    Uses(FacetRef),
    /// A job that processes the registrations of an activity.
    Registrations(ActivityId),
    /// A job that enrols employees in an activity.
    Enrolment(ActivityId),
    /// A job that gives the free seats of an activity to those who wait.
    Seats(ActivityId),
    /// A job that ends the registrations of a removed employee.
    Departure(UserId),
    /// A job that awards the rewards of an activity.
    Rewards(ActivityId),
    /// A job that checks an uploaded file, or deletes the object of a removed file.
    Upload(FacetId),
    /// A job that writes the report of a plan.
    Report(PlanId),
    /// A job that computes the progress of the groups of an activity.
    Groups(ActivityId),
    /// The job that exports the data of the company.
    Export(CompanyId),
    /// The job that erases the company.
    Erasure(CompanyId),
    /// A job that erases an employee.
    EmployeeErasure(UserId),
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uses(of) => of.fmt(out),
            Self::Registrations(activity) => write!(out, "ActivityId-{activity}"),
            Self::Enrolment(activity) => write!(out, "EnrolmentId-{activity}"),
            Self::Seats(activity) => write!(out, "SeatsId-{activity}"),
            Self::Departure(user) => write!(out, "DepartureId-{user}"),
            Self::Rewards(activity) => write!(out, "RewardsId-{activity}"),
            Self::Upload(file) => write!(out, "UploadId-{file}"),
            Self::Report(plan) => write!(out, "ReportId-{plan}"),
            Self::Groups(activity) => write!(out, "GroupsId-{activity}"),
            Self::Export(company) => write!(out, "ExportId-{company}"),
            Self::Erasure(company) => write!(out, "ErasureId-{company}"),
            Self::EmployeeErasure(user) => write!(out, "EmployeeErasureId-{user}"),
        }
    }
}

impl FromStr for JobId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let job = match text.split_once("Id-") {
            Some(("Activity", activity)) => activity.parse().ok().map(Self::Registrations),
            Some(("Enrolment", activity)) => activity.parse().ok().map(Self::Enrolment),
            Some(("Seats", activity)) => activity.parse().ok().map(Self::Seats),
            Some(("Departure", user)) => user.parse().ok().map(Self::Departure),
            Some(("Rewards", activity)) => activity.parse().ok().map(Self::Rewards),
            Some(("Upload", file)) => file.parse().ok().map(Self::Upload),
            Some(("Report", plan)) => plan.parse().ok().map(Self::Report),
            Some(("Groups", activity)) => activity.parse().ok().map(Self::Groups),
            Some(("Export", company)) => company.parse().ok().map(Self::Export),
            Some(("Erasure", company)) => company.parse().ok().map(Self::Erasure),
            Some(("EmployeeErasure", user)) => user.parse().ok().map(Self::EmployeeErasure),
            _ => text.parse().ok().map(Self::Uses),
        };
        job.ok_or_else(|| Invalid::new("is not a job id"))
    }
}

serde_as_text!(JobId);

framed_key!(
    /// PK of the reports of a company's plans: `CompanyId-<id>#Reports`.
    ReportsPartition,
    "CompanyId-",
    "#Reports",
    CompanyId
);

/// SK of the last complete report of a plan: `PlanId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSort(pub PlanId);

impl fmt::Display for ReportSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PlanId-{}", self.0)
    }
}

impl FromStr for ReportSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plan = text.strip_prefix("PlanId-").and_then(|plan| plan.parse().ok());
        plan.map(Self).ok_or(Invalid::key("ReportSort"))
    }
}

serde_as_text!(ReportSort);

/// SK of a row of a report: `PlanId-<id>#ReportId-<id>#ActivityId-<id>` for an activity, and
/// `PlanId-<id>#ReportId-<id>#Total` for the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRowSort {
    /// The plan.
    pub plan: PlanId,
    /// The id of the report.
    pub report: RequestId,
    /// The activity. `None` for the sums.
    pub of: Option<ActivityId>,
}

impl ReportRowSort {
    /// The range of the rows of a report. The activities are sorted by id, and the sums come last.
    #[must_use]
    pub fn of_report(plan: &PlanId, report: &RequestId) -> KeyRange {
        KeyRange::beginning_with(format!("PlanId-{plan}#ReportId-{report}#"))
    }

    /// The range of the rows of all reports of a plan.
    #[must_use]
    pub fn of_plan(plan: &PlanId) -> KeyRange {
        KeyRange::beginning_with(format!("PlanId-{plan}#"))
    }
}

impl fmt::Display for ReportRowSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PlanId-{}#ReportId-{}#", self.plan, self.report)?;
        match &self.of {
            Some(activity) => write!(out, "ActivityId-{activity}"),
            None => out.write_str("Total"),
        }
    }
}

impl FromStr for ReportRowSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (plan, rest) = text.strip_prefix("PlanId-")?.split_once("#ReportId-")?;
            let (report, row) = rest.split_once('#')?;
            let of = row.strip_prefix("ActivityId-").map(str::parse).transpose().ok()?;
            Some(Self { plan: plan.parse().ok()?, report: report.parse().ok()?, of })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("ReportRowSort"))
    }
}

serde_as_text!(ReportRowSort);

prefixed_key!(
    /// SK of a job: `Job#` and the id of the job, such as `Job#VenueId-<id>`.
    JobSort,
    "Job",
    JobId
);

prefixed_key!(
    /// SK of a replacement's hold on the new venue: `Hold#VenueId-<id>`.
    HoldSort,
    "Hold",
    FacetRef
);
