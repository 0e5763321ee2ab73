use crate::{Activity, Detail, Goal, Group, Groups, Reference, Reward};
use keys::wellness::ProgramSort;
use serde::{Deserialize, Serialize};
use table::Item;

/// An item of an activity whose sort key begins with `Program`. The attribute `Type` determines the
/// variant. Only reads use this enum. Writes use the individual structs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Type")]
pub(crate) enum Row {
    Activity(Box<Activity>),
    Detail(Detail),
    Goal(Goal),
    Reward(Reward),
    Groups(Groups),
    Group(Group),
    Reference(Reference),
}

impl Item for Row {
    const TYPE: &'static str = "item of an activity";
}

impl Row {
    /// The sort key.
    pub(crate) fn sort(&self) -> &ProgramSort {
        match self {
            Self::Activity(row) => &row.sort,
            Self::Detail(row) => &row.sort,
            Self::Goal(row) => &row.sort,
            Self::Reward(row) => &row.sort,
            Self::Groups(row) => &row.sort,
            Self::Group(row) => &row.sort,
            Self::Reference(row) => &row.sort,
        }
    }
}
