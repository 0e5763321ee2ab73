use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// An access pattern of this service.
pub type Pattern = function::Pattern<Case>;

/// The DynamoDB calls of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// The input of a cost formula: item sizes in bytes, and item counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// Size of an activity's base row, `Program`.
    pub activity: usize,
    /// Size of an activity's entry in GSI1. The entry has all attributes of the base row except the
    /// keys of GSI2.
    pub program: usize,
    /// Size of an activity's entry in GSI2.
    pub narrow: usize,
    /// Size of another part of an activity: the detail, the goal, a reward or a group.
    pub part: usize,
    /// Number of parts of an activity.
    pub parts: usize,
    /// Size of a reference. GSI2 projects almost all of its attributes.
    pub reference: usize,
    /// Number of references of an activity, or number of activities that refer to one venue.
    pub references: usize,
    /// Size of a registration.
    pub registration: usize,
    /// Size of another item of a company: a section, a record or a template.
    pub own: usize,
    /// Number of listed items: activities in the plan year, registrations of a user or an activity,
    /// or templates on a page.
    pub items: usize,
    /// Size of an employee.
    pub employee: usize,
    /// Number of challenges that one employee is eligible for.
    pub eligible: usize,
    /// Size of a job item, including the task of the job.
    pub job: usize,
    /// Size of the idempotency record. `None` if the request has no `Idempotency-Key`.
    pub record: Option<usize>,
}

/// Names of the tables and indexes that consume units.
pub(crate) const ACTIVITIES: &str = "Activities";
pub(crate) const JOBS: &str = "WellnessJobs";
pub(crate) const PROGRAM: &str = "Activities/GSI1";
pub(crate) const LISTS: &str = "Activities/GSI2";
pub(crate) const REGISTRATIONS: &str = "Activities/GSI3";

impl Case {
    /// Converts a count of items to `u64`.
    pub(crate) fn count(number: usize) -> u64 {
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// The units of reading the idempotency record. A missing record costs 1 read unit.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// The units of writing the idempotency record, before the transaction doubles them.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }

    /// The units of writing all parts of an activity, with one write for each part.
    pub(crate) fn parts_write(&self) -> Units {
        write(self.part).times(Self::count(self.parts))
    }

    /// The units of writing all references of an activity to the table, with one write for each
    /// reference. GSI2 consumes the same number of units.
    pub(crate) fn references_write(&self) -> Units {
        write(self.reference).times(Self::count(self.references))
    }

    /// The units of a strongly consistent read of an activity's base row.
    pub(crate) fn activity_read(&self) -> Units {
        read(self.activity)
    }

    /// The units of counting a venue's references. The query for active activities reads all of
    /// them. The query for drafts finds none and costs half a unit.
    pub(crate) fn counted(&self) -> Units {
        read_eventually(self.reference * self.references) + Units::halves(1)
    }

    /// The units of a query for all items of a list whose entries have the size `entry`.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
