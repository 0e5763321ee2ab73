//! The report of a plan (docs/decisions/wellness-plans.md).

use crate::{Name, Registration, model::registration::RegistrationStatus};
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityType, CompanyId, Department, PlanId, PlanTime, ReportRowSort, ReportSort, ReportsPartition},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use table::{Item, Key};

/// The last complete report of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PlanReport {
    /// Partition key: `CompanyId-<id>#Reports`.
    #[serde(rename = "PK")]
    pub(crate) partition: ReportsPartition,
    /// Sort key: `PlanId-<id>`.
    #[serde(rename = "SK")]
    pub(crate) sort: ReportSort,
    /// The id of the report, which is part of the keys of its rows.
    pub(crate) report: RequestId,
    /// The time at which the job started.
    pub(crate) as_of: TimestampSeconds,
}

impl Item for PlanReport {
    const TYPE: &'static str = "PlanReport";
}

impl PlanReport {
    /// Primary key of the report of a plan.
    pub(crate) fn key_of(company: &CompanyId, plan: &PlanId) -> Key {
        Key::new(&ReportsPartition(company.clone()), &ReportSort(plan.clone()))
    }
}

/// A row of a report: an activity, or the sums of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ReportRow {
    /// Partition key: `CompanyId-<id>#Reports`.
    #[serde(rename = "PK")]
    pub(crate) partition: ReportsPartition,
    /// Sort key: `PlanId-<id>#ReportId-<id>#ActivityId-<id>`, or `PlanId-<id>#ReportId-<id>#Total`.
    #[serde(rename = "SK")]
    pub(crate) sort: ReportRowSort,
    /// The name of the activity. Absent in the sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Name>,
    /// Challenge or event. Absent in the sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) activity_type: Option<ActivityType>,
    /// The end date of the activity. Absent in the sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_date: Option<PlanTime>,
    /// The counts of each department.
    pub(crate) counts: Counts,
}

impl Item for ReportRow {
    const TYPE: &'static str = "ReportRow";
}

/// The counts of each department. Removed employees have no department.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Counts(Vec<(Option<Department>, Count)>);

/// The counts of a department.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Count {
    /// Number of registrations of employees who take part.
    pub(crate) registered: u64,
    /// Number of completed ones among them.
    pub(crate) completed: u64,
    /// Sum of the earned points.
    pub(crate) points: u64,
}

impl Count {
    fn plus(self, other: Self) -> Self {
        Self {
            registered: self.registered + other.registered,
            completed: self.completed + other.completed,
            points: self.points + other.points,
        }
    }

    /// Returns the count of one registration at the time `now`. An employee who waits or has left
    /// counts only with the points.
    fn of(registration: &Registration, now: TimestampSeconds) -> Self {
        let status = registration.status(registration.end.0, now);
        let takes_part = registration.absence.is_none();
        Self {
            registered: u64::from(takes_part),
            completed: u64::from(status == RegistrationStatus::Completed),
            points: u64::from(registration.earned_points),
        }
    }
}

impl Counts {
    /// Adds registrations, each with the department of the employee.
    pub(crate) fn with<'a>(
        self,
        registrations: impl Iterator<Item = (Option<Department>, &'a Registration)>,
        now: TimestampSeconds,
    ) -> Self {
        self.plus(Self(registrations.map(|(department, one)| (department, Count::of(one, now))).collect()))
    }

    /// Adds the counts of each department.
    pub(crate) fn plus(self, other: Self) -> Self {
        let mut sums = BTreeMap::<Option<Department>, Count>::new();
        for (department, count) in self.0.into_iter().chain(other.0) {
            let sum = sums.entry(department).or_default();
            *sum = sum.plus(count);
        }
        sums.retain(|_, count| *count != Count::default());
        Self(sums.into_iter().collect())
    }

    /// Returns each department with its count, in alphabetical order.
    pub(crate) fn into_rows(self) -> Vec<(Option<Department>, Count)> {
        self.0
    }
}
