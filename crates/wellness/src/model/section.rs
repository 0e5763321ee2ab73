use crate::Name;
use keys::wellness::{CompanyId, CompanyPartition, EndDateSort, PlanTime, ProgramPartition, SectionId, SectionSort};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// A section, by which activities are grouped. GSI1 holds it beside the activities, so that one query answers both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Whose it is.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Which.
    #[serde(rename = "SK")]
    pub sort: SectionSort,
    /// The company's programme.
    #[serde(rename = "GSI1PK")]
    pub program: ProgramPartition,
    /// When it ends.
    #[serde(rename = "GSI1SK")]
    pub end: EndDateSort,
    /// Its name.
    pub name: Name,
    /// When it begins.
    pub start_date: PlanTime,
}

impl Item for Section {
    const TYPE: &'static str = "Section";
}

impl Section {
    /// Its key.
    #[must_use]
    pub fn key_of(company: &CompanyId, section: &SectionId) -> Key {
        Key::new(&CompanyPartition(company.clone()), &SectionSort(section.clone()))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SectionId {
        &self.sort.0
    }
}
