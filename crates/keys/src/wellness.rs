//! Keys of `Activities` and, of jobs and their holds, of `WellnessJobs` (seed 002).
//!
//! | item | PK | SK | GSI1 | GSI2 | GSI3 |
//! | --- | --- | --- | --- | --- | --- |
//! | activity | `ActivityId-<id>` | `Program` | `CompanyId-<id>#Program`, `EndDate#<end>` | `CompanyId-<id>#Program#List`, `EndDate#<end>` | |
//! | its parts | `ActivityId-<id>` | `Program#Detail`, `Program#GoalPrimary`, `Program#Reward#<kind>`, `Program#Groups`, `Program#Groups#GroupId-<id>` | | | |
//! | reference to a venue | `ActivityId-<id>` | `Program#Venue#VenueId-<id>` | | `CompanyId-<id>#VenueId-<id>`, `<status>#<end>#ActivityId-<id>` | |
//! | registration | `ActivityId-<id>` | `Registration#UserId-<id>` | | | `UserId-<id>#Registrations`, `ActivityEndDate#<end>` |
//! | section | `CompanyId-<id>` | `Section#SectionId-<id>` | `CompanyId-<id>#Program`, `EndDate#<end>` | | |
//! | venue | `CompanyId-<id>` | `Venue#VenueId-<id>` | | | |
//! | template | `CompanyId-<id>` or `Global` | `Template#TemplateId-<id>` | | | |
//! | employee | `UserId-<id>` | `Employee` | | | |
//! | job | `CompanyId-<id>` | `Job#VenueId-<id>` or `Job#ActivityId-<id>` | | | |
//! | hold of a job on another venue | `CompanyId-<id>` | `Hold#VenueId-<id>` | | | |
//! | idempotency record | `CompanyId-<id>` or `Global` | `IDEMPOTENCY#<key>` | | | |
//!
//! As venues are files, courses, trackers and notifications. GSI2 has two meanings, lists and references: no partition key
//! of the one is one of the other, because `Program#List` is no facet's id.

use crate::{
    Day, KeyRange, Random, TimestampSeconds,
    id::identifier,
    text::{Invalid, constant_key, framed_key, names, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};

identifier!(
    /// A company: the tenant.
    CompanyId
);
identifier!(
    /// An activity; unique over all companies.
    ActivityId
);
identifier!(
    /// A user; unique over all companies.
    UserId
);
identifier!(
    /// A section of a company's programme.
    SectionId
);
identifier!(
    /// A group within an activity.
    GroupId
);
identifier!(
    /// A template.
    TemplateId
);
identifier!(
    /// A company's venue, file, course, tracker or notification; unique within its company and facet.
    FacetId
);
identifier!(
    /// What a reward is for, such as `Attendance`; unique within its activity.
    RewardKind
);
identifier!(
    /// What an activity is about, such as `Fitness`.
    SubType
);
identifier!(
    /// What an employee is to the plan, such as `EmployeeOnPlan`.
    Role
);
identifier!(
    /// Where an employee works, such as `Sales`.
    Department
);

macro_rules! made_at {
    ($($name:ident),+) => {$(
        impl $name {
            /// A new one, made at `now`.
            #[must_use]
            pub fn new(now: Timestamp, random: &Random) -> Self {
                Self::generated(&uuid_of(now, random).simple().to_string())
            }
        }
    )+};
}

made_at!(ActivityId, GroupId, TemplateId);

/// Where an activity stands. In the order of their names, which is the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Status {
    /// Under way, or to come.
    #[default]
    Active,
    /// Called off.
    Cancelled,
    /// Over.
    Completed,
    /// Not yet published: in no list that does not ask for it.
    Draft,
}

names!(
    Status, "must be draft, active, completed or cancelled",
    Active => "active",
    Cancelled => "cancelled",
    Completed => "completed",
    Draft => "draft",
);

/// The two kinds of activities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ActivityType {
    /// Something to achieve; employees are registered for it.
    Challenge,
    /// Something to go to.
    Event,
}

names!(
    ActivityType, "must be challenge or event",
    Challenge => "challenge",
    Event => "event",
);

/// What an activity may refer to, many to many (seed 002, pattern 5). By the names that stand in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Facet {
    /// A course to take.
    Courses,
    /// A file to read.
    Files,
    /// A notification to send.
    Notifications,
    /// A tracker to measure with.
    Trackers,
    /// A place to go to.
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
    /// One of them, as it stands in keys.
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

/// A time of a programme, to the second in UTC, in the seed's form without an offset: `2020-12-31T00:00:00`, always 19
/// characters, so text order is time order.
///
/// Reads this form, RFC 3339 with any offset, and a day, which is its first second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanTime(TimestampSeconds);

impl PlanTime {
    /// The same time with its `Z`, as it is answered.
    #[must_use]
    pub fn second(self) -> TimestampSeconds {
        self.0
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
        text.parse().map(Self).map_err(|_| Invalid::new(FORM))
    }
}

impl fmt::Display for PlanTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0.instant().strftime("%Y-%m-%dT%H:%M:%S"))
    }
}

serde_as_text!(PlanTime);

/// An end of a period as a caller names it: a time, or a day, which is taken whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanBound {
    /// A time.
    At(crate::Bound),
    /// All of a day.
    Day(Day),
}

impl PlanBound {
    /// The first second that is not before it.
    #[must_use]
    pub fn first(self) -> PlanTime {
        match self {
            Self::At(bound) => PlanTime(bound.first()),
            Self::Day(day) => PlanTime(day.first_second()),
        }
    }

    /// The last second that is not after it.
    #[must_use]
    pub fn last(self) -> PlanTime {
        match self {
            Self::At(bound) => PlanTime(bound.last()),
            Self::Day(day) => PlanTime(day.last_second()),
        }
    }
}

impl FromStr for PlanBound {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.len() {
            10 => text.parse().map(Self::Day),
            19 => format!("{text}Z").parse().map(Self::At),
            _ => text.parse().map(Self::At),
        }
    }
}

/// A calendar year, in which a plan runs: `2020`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Year(u16);

impl Year {
    /// The year that the time lies in.
    #[must_use]
    pub fn of(time: TimestampSeconds) -> Self {
        Self(time.day().year())
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

/// From the one time to the other, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Period {
    first: PlanTime,
    last: PlanTime,
}

impl Period {
    /// From the one to the other; none where the other comes first.
    #[must_use]
    pub fn new(first: PlanTime, last: PlanTime) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// The plan year (seed 002: 01/01/2020 - 12/31/2020), to its last second.
    #[must_use]
    pub fn of_year(year: Year) -> Self {
        let at = |rest: &str| format!("{year}{rest}").parse().ok();
        // The last days of the year 9999 are out of reach.
        let last = at("-12-31T23:59:59").unwrap_or(PlanTime(TimestampSeconds::MAX));
        Self { first: at("-01-01T00:00:00").unwrap_or(last), last }
    }

    /// From the time on.
    #[must_use]
    pub fn since(first: PlanTime) -> Self {
        Self { first, last: PlanTime(TimestampSeconds::MAX).max(first) }
    }

    /// What is left of it from the time on, the whole where the time is before it; none where it is over.
    #[must_use]
    pub fn from(self, time: PlanTime) -> Option<Self> {
        Self::new(self.first.max(time), self.last)
    }

    /// Where it begins.
    #[must_use]
    pub fn first(self) -> PlanTime {
        self.first
    }

    /// Where it ends.
    #[must_use]
    pub fn last(self) -> PlanTime {
        self.last
    }
}

framed_key!(
    /// PK of all that is of an activity.
    ActivityPartition,
    "ActivityId-",
    "",
    ActivityId
);
framed_key!(
    /// PK of what a company has beside its activities.
    CompanyPartition,
    "CompanyId-",
    "",
    CompanyId
);
framed_key!(
    /// PK of what is of a user.
    UserPartition,
    "UserId-",
    "",
    UserId
);
framed_key!(
    /// GSI1PK of a company's activities and sections.
    ProgramPartition,
    "CompanyId-",
    "#Program",
    CompanyId
);
framed_key!(
    /// GSI2PK of a company's activities in the narrow index.
    ListPartition,
    "CompanyId-",
    "#Program#List",
    CompanyId
);
framed_key!(
    /// GSI3PK of a user's registrations.
    RegistrationsPartition,
    "UserId-",
    "#Registrations",
    UserId
);

/// Whose a template or a record of idempotency is: `CompanyId-<id>`, or `Global`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Everybody's.
    Global,
    /// A company's own.
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

/// A venue, file, course, tracker or notification of a company: `VenueId-<id>` in keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FacetRef {
    /// What it is.
    pub facet: Facet,
    /// Which.
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

/// GSI2PK of the references to a venue, file, course, tracker or notification: `CompanyId-<id>#VenueId-<id>`. The seed has
/// `VenueId-<id>` alone; the company makes it one tenant's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReferencePartition {
    /// Whose it is.
    pub company: CompanyId,
    /// What is referred to.
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

/// SK within an activity's `Program`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ProgramSort {
    /// The activity itself.
    Program,
    /// Description and other data that lists don't need.
    Detail,
    /// What is to be achieved.
    GoalPrimary,
    /// What is to be earned.
    Reward(RewardKind),
    /// How employees are grouped.
    Groups,
    /// A group.
    Group(GroupId),
    /// A reference, with the copied data.
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

/// How much of an activity is asked for (seed 002, pattern 4): everything whose sort key begins with the level's name. No
/// level's name begins another's, but for `Program`, which is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// All of it.
    Program,
    /// `Program#Course`.
    Courses,
    /// `Program#Detail`.
    Detail,
    /// `Program#File`.
    Files,
    /// `Program#GoalPrimary`.
    GoalPrimary,
    /// `Program#Groups`, and each group.
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
    Level, "must be Program, or Program# and Detail, GoalPrimary, Reward, Groups, Venue, File, Course, Tracker or Notification",
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
    /// What the level holds.
    #[must_use]
    pub fn range(self) -> KeyRange {
        KeyRange::beginning_with(self.as_str())
    }
}

/// GSI1SK of an activity and of a section, GSI2SK of an activity: `EndDate#<end>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndDateSort(pub PlanTime);

impl EndDateSort {
    /// Ends within the period (seed 002, patterns 1 and 2).
    #[must_use]
    pub fn within(period: Period) -> KeyRange {
        KeyRange::between(Self(period.first).to_string(), Self(period.last).to_string())
    }

    /// A range that no activity lies in, for calls that only open the connection.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

/// GSI3SK of a registration: `ActivityEndDate#<end>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityEndDateSort(pub PlanTime);

impl ActivityEndDateSort {
    /// Of activities that end within the period (seed 002, pattern 3).
    #[must_use]
    pub fn within(period: Period) -> KeyRange {
        KeyRange::between(Self(period.first).to_string(), Self(period.last).to_string())
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

/// GSI2SK of a reference: `<status>#<end>#ActivityId-<id>`, status and end of the activity. The activity makes the order
/// total, so one position is a whole cursor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UseSort {
    /// Where the activity stands.
    pub status: Status,
    /// When it ends.
    pub end: PlanTime,
    /// Which.
    pub activity: ActivityId,
}

impl UseSort {
    /// In activities with the status that end within the period (seed 002, pattern 5).
    #[must_use]
    pub fn within(status: Status, period: Period) -> KeyRange {
        KeyRange::through(format!("{status}#{}", period.first), format!("{status}#{}#", period.last))
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
    /// SK of a registration, in its activity's collection and outside `Program`: `Registration#UserId-<id>`.
    RegistrationSort,
    "Registration#UserId-",
    "",
    UserId
);

impl RegistrationSort {
    /// Every registration of an activity.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Registration#")
    }
}

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

framed_key!(
    /// SK of a template: `Template#TemplateId-<id>`.
    TemplateSort,
    "Template#TemplateId-",
    "",
    TemplateId
);

impl TemplateSort {
    /// Every template of an owner.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("Template#")
    }
}

constant_key!(
    /// SK of an employee.
    EmployeeSort,
    "Employee"
);

/// SK of a company's venue, file, course, tracker or notification: `Venue#VenueId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordSort(pub FacetRef);

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

/// Names a job by what it works at, so that a thing has one job at a time: `VenueId-<id>`, or `ActivityId-<id>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobId {
    /// The references to a venue, file, course, tracker or notification.
    Uses(FacetRef),
    /// The registrations of an activity.
    Registrations(ActivityId),
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uses(of) => of.fmt(out),
            Self::Registrations(activity) => write!(out, "ActivityId-{activity}"),
        }
    }
}

impl FromStr for JobId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let job = match text.strip_prefix("ActivityId-") {
            Some(activity) => activity.parse().ok().map(Self::Registrations),
            None => text.parse().ok().map(Self::Uses),
        };
        job.ok_or_else(|| Invalid::new("is no job id"))
    }
}

serde_as_text!(JobId);

prefixed_key!(
    /// SK of a job: `Job#VenueId-<id>` or `Job#ActivityId-<id>`.
    JobSort,
    "Job",
    JobId
);

prefixed_key!(
    /// SK of what a job holds on the one that takes another's place: `Hold#VenueId-<id>`.
    HoldSort,
    "Hold",
    FacetRef
);
