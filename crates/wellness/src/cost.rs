use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// An access pattern of this service.
pub type Pattern = function::Pattern<Case>;

/// The DynamoDB calls of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost formulas: item sizes in bytes, and numbers of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// Size of an activity's base row, which has the sort key `Program`.
    pub activity: usize,
    /// Size of an activity in GSI1, which projects all attributes except the keys of GSI2.
    pub program: usize,
    /// Size of an activity in GSI2, which projects only a few attributes.
    pub narrow: usize,
    /// Size of one part of an activity: the detail, the goal, a reward, the `Groups` row or a
    /// group.
    pub part: usize,
    /// Number of parts of an activity.
    pub parts: usize,
    /// Number of rows `Program#Groups` of an activity: 0 or 1.
    pub groups: usize,
    /// Size of a reference, in the table and in GSI2. GSI2 projects almost all of its attributes.
    pub reference: usize,
    /// Number of references: either those of an activity, or those to a venue.
    pub references: usize,
    /// Total size of the rewards of an activity.
    pub rewards: usize,
    /// Total size of the corrections of an employee's points.
    pub corrections: usize,
    /// Size of a row of a report.
    pub report: usize,
    /// Size of a registration.
    pub registration: usize,
    /// Size of a section, a record, a template, or the plans of a company.
    pub own: usize,
    /// Size of the upload of a file.
    pub upload: usize,
    /// Number of items in the list: activities, registrations, sections or templates.
    pub items: usize,
    /// Size of an employee.
    pub employee: usize,
    /// Number of challenges that one employee is eligible for.
    pub eligible: usize,
    /// Size of a job, including its task.
    pub job: usize,
    /// Size of the idempotency record. `None` if the request has no `Idempotency-Key`.
    pub record: Option<usize>,
}

/// Names of the tables and indexes in the declared costs.
pub(crate) const ACTIVITIES: &str = "Activities";
pub(crate) const JOBS: &str = "WellnessJobs";
pub(crate) const PROGRAM: &str = "Activities/GSI1";
pub(crate) const LISTS: &str = "Activities/GSI2";
pub(crate) const REGISTRATIONS: &str = "Activities/GSI3";

impl Case {
    /// Converts a number of items to `u64`.
    pub(crate) fn count(number: usize) -> u64 {
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// Read request units (RRU) for looking up the idempotency record. A lookup that finds nothing
    /// consumes 1 RRU.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// Write request units (WRU) for the idempotency record. A transaction consumes twice as many.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }

    /// WRU for all parts of an activity. Each part is a separate write.
    pub(crate) fn parts_write(&self) -> Units {
        write(self.part).times(Self::count(self.parts))
    }

    /// WRU for all references of an activity. Each reference is a separate write. GSI2 consumes the
    /// same number of WRU.
    pub(crate) fn references_write(&self) -> Units {
        write(self.reference).times(Self::count(self.references))
    }

    /// RRU for a strongly consistent read of an activity's base row.
    pub(crate) fn activity_read(&self) -> Units {
        read(self.activity)
    }

    /// RRU for counting the references to a venue. The query for active activities reads all of
    /// them. The query for drafts, and those for activities that ended earlier today, find none and
    /// consume 0.5 RRU each.
    pub(crate) fn counted(&self) -> Units {
        read_eventually(self.reference * self.references) + Units::halves(3)
    }

    /// RRU for an eventually consistent query for all items of a list. `entry` is the size of one
    /// item.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
