use crate::Name;
use function::Input;
use keys::{
    RequestId,
    wellness::{
        ActivityId, ActivityPartition, CompanyId, CompanyPartition, Facet, FacetId, FacetRef, PlanTime, ProgramSort,
        RecordSort, ReferencePartition, Status, UseSort,
    },
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Condition, Item, JsonText, Key};

/// An activity's reference to a venue, with a copy of the venue's data
/// (docs/decisions/wellness-references.md).
///
/// The index sort key contains the activity's status and end date. A change of either one also
/// updates the index sort key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Reference {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#Venue#VenueId-<id>`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// GSI2PK: `CompanyId-<id>#VenueId-<id>`.
    #[serde(rename = "GSI2PK")]
    pub uses: ReferencePartition,
    /// GSI2SK: `<status>#<end>#ActivityId-<id>`, with the status and the end date of the activity.
    #[serde(rename = "GSI2SK")]
    pub place: UseSort,
    /// The copied data. The attribute is not called `Data`, because GSI2 projects the copied data
    /// but not the `Data` of activities.
    pub copied_data: JsonText,
}

impl Item for Reference {
    const TYPE: &'static str = "Reference";
}

impl Reference {
    /// Creates a reference to the venue `of`. `place` contains the id, the status and the end date
    /// of the activity.
    pub fn new(company: CompanyId, of: FacetRef, place: UseSort, copied_data: JsonText) -> Self {
        Self {
            partition: ActivityPartition(place.activity.clone()),
            sort: ProgramSort::Reference(of.clone()),
            uses: ReferencePartition { company, of },
            place,
            copied_data,
        }
    }

    /// Primary key of an activity's reference.
    pub fn key_of(activity: &ActivityId, of: &FacetRef) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::Reference(of.clone()))
    }

    /// Returns the venue that the activity refers to.
    pub fn of(&self) -> &FacetRef {
        &self.uses.of
    }

    /// Returns the index sort key for a new status and end date of the activity.
    pub fn moved(&self, status: Status, end: PlanTime) -> UseSort {
        UseSort { status, end, activity: self.place.activity.clone() }
    }
}

/// A company's record of a venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Sort key: `Venue#VenueId-<id>`.
    #[serde(rename = "SK")]
    pub sort: RecordSort,
    /// Name of the venue.
    pub name: Name,
    /// Data of the venue: a JSON object.
    pub data: JsonText,
    /// The activity whose reference to the venue was added last, if any. A concurrent removal of
    /// the record then fails (docs/decisions/wellness-references.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<ActivityId>,
    /// The request that has put the name or the data. `None` for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<RequestId>,
}

impl Item for Record {
    const TYPE: &'static str = "ReferenceRecord";
}

impl Record {
    /// Primary key of a record.
    pub fn key_of(company: &CompanyId, of: &FacetRef) -> Key {
        Key::new(&CompanyPartition(company.clone()), &RecordSort(of.clone()))
    }
}

/// The venue in a path.
#[derive(Debug, Clone, Input)]
pub(crate) struct VenuePath {
    #[input(path)]
    facet: Facet,
    #[input(path = "facetId")]
    id: FacetId,
}

impl From<VenuePath> for FacetRef {
    fn from(VenuePath { facet, id }: VenuePath) -> Self {
        Self { facet, id }
    }
}

/// The last use of a record. All other attributes are ignored, so that an invalid one cannot make
/// it unreadable.
#[derive(Debug, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct LastUse {
    pub(crate) used_by: Option<ActivityId>,
}

impl Item for LastUse {
    const TYPE: &'static str = Record::TYPE;
}

impl LastUse {
    /// The condition that no reference was added in the meantime.
    pub(crate) fn is_unchanged(&self) -> Condition {
        Condition::unchanged(Self::USED_BY, self.used_by.as_ref())
    }
}
