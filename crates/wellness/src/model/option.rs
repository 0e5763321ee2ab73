use crate::{
    Filters, Name, Wellness,
    model::enrolment::{Enrolment, Offer},
};
use function::Error;
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityPartition, ActivityType, CompanyId, EndDateSort, ListPartition, Period, ShownStatus, Status, SubType,
    },
};
use serde::{Deserialize, Serialize};
use table::{Item, Page, Query};

/// An activity with the attributes that GSI2 projects
/// (docs/requirements/wellness.md#pattern-2-list-active-activities-in-short-form).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ActivityOption {
    #[serde(rename = "PK")]
    pub(crate) partition: ActivityPartition,
    #[serde(rename = "GSI2SK")]
    pub(crate) end: EndDateSort,
    pub(crate) name: Name,
    pub(crate) activity_type: ActivityType,
    pub(crate) sub_type: SubType,
    pub(crate) status: Status,
    pub(crate) filters: Filters,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enrolment: Option<Enrolment>,
}

impl ActivityOption {
    pub(crate) fn shown_status(&self, now: TimestampSeconds) -> ShownStatus {
        self.status.shown(self.end.0, now)
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        let enrolment = self.enrolment.unwrap_or(Enrolment::of_type(self.activity_type));
        Offer { status: self.status, enrolment, end: self.end.0, filters: &self.filters }
    }
}

impl Item for ActivityOption {
    const TYPE: &'static str = "Activity";
}

impl Wellness {
    /// Queries the activities of a company that end within the period, for a response.
    pub(crate) async fn options(&self, company: &CompanyId, period: Period) -> Result<Page<ActivityOption>, Error> {
        let range = EndDateSort::within(period);
        Ok(self.table.query_all(&Query::new(&ListPartition(company.clone()), &range).on(&self.lists)).await?)
    }

    /// Queries the activities of a company that end within the period, for a job or a stream.
    pub(crate) async fn all_options(&self, company: &CompanyId, period: Period) -> Result<Page<ActivityOption>, Error> {
        let range = EndDateSort::within(period);
        let query = Query::new(&ListPartition(company.clone()), &range).on(&self.lists).large();
        Ok(self.table.query_all(&query).await?)
    }
}
