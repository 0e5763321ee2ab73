use crate::Name;
use keys::wellness::{
    ActivityId, ActivityPartition, CompanyId, CompanyPartition, FacetRef, PlanTime, ProgramSort, RecordSort,
    ReferencePartition, Status, UseSort,
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText, Key};

/// An activity's reference to a venue, file, course, tracker or notification, with the data copied from it (seed 002,
/// pattern 5).
///
/// The activity's status and end stand in its index key and move with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Reference {
    /// Whose reference it is.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// What it refers to.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// All that refers to it.
    #[serde(rename = "GSI2PK")]
    pub uses: ReferencePartition,
    /// Where the activity stands, and when it ends.
    #[serde(rename = "GSI2SK")]
    pub place: UseSort,
    /// The copied data. Not `Data`: that is what GSI1 projects of activities, and must stay out of the narrow index.
    pub copied_data: JsonText,
}

impl Item for Reference {
    const TYPE: &'static str = "Reference";
}

impl Reference {
    /// A reference of an activity that stands and ends so.
    #[must_use]
    pub fn new(company: CompanyId, of: FacetRef, place: UseSort, copied_data: JsonText) -> Self {
        Self {
            partition: ActivityPartition(place.activity.clone()),
            sort: ProgramSort::Reference(of.clone()),
            uses: ReferencePartition { company, of },
            place,
            copied_data,
        }
    }

    /// Its key.
    #[must_use]
    pub fn key_of(activity: &ActivityId, of: &FacetRef) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::Reference(of.clone()))
    }

    /// What it refers to.
    #[must_use]
    pub fn of(&self) -> &FacetRef {
        &self.uses.of
    }

    /// Where it is found once its activity stands and ends so.
    #[must_use]
    pub fn moved(&self, status: Status, end: PlanTime) -> UseSort {
        UseSort { status, end, activity: self.place.activity.clone() }
    }
}

/// A venue, file, course, tracker or notification itself: the company's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    /// Whose it is.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Which.
    #[serde(rename = "SK")]
    pub sort: RecordSort,
    /// Its name.
    pub name: Name,
    /// Its data.
    pub data: JsonText,
}

impl Item for Record {
    const TYPE: &'static str = "ReferenceRecord";
}

impl Record {
    /// Its key.
    #[must_use]
    pub fn key_of(company: &CompanyId, of: &FacetRef) -> Key {
        Key::new(&CompanyPartition(company.clone()), &RecordSort(of.clone()))
    }
}
