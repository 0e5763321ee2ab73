use crate::Name;
use keys::{
    RequestId,
    wellness::{CompanyId, CompanyPartition, EndDateSort, PlanTime, ProgramPartition, SectionId, SectionSort},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// A section of a company's program. GSI1 contains both sections and activities, so one query
/// returns both (docs/decisions/wellness-activities.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Sort key: `Section#SectionId-<id>`.
    #[serde(rename = "SK")]
    pub sort: SectionSort,
    /// GSI1PK: `CompanyId-<id>#Program`.
    #[serde(rename = "GSI1PK")]
    pub program: ProgramPartition,
    /// GSI1SK: the end date.
    #[serde(rename = "GSI1SK")]
    pub end: EndDateSort,
    /// Name of the section.
    pub name: Name,
    /// Start date.
    pub start_date: PlanTime,
    /// The request that has put the section. `None` if the row was read from GSI1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<RequestId>,
}

impl Item for Section {
    const TYPE: &'static str = "Section";
}

impl Section {
    /// Primary key of a section.
    pub fn key_of(company: &CompanyId, section: &SectionId) -> Key {
        Key::new(&CompanyPartition(company.clone()), &SectionSort(section.clone()))
    }

    /// The section id.
    pub fn id(&self) -> &SectionId {
        &self.sort.0
    }
}
