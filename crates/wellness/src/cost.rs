use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// An access pattern of the domain.
pub type Pattern = function::Pattern<Case>;

/// The calls of one of its access patterns.
pub(crate) type Calls = function::Calls<Case>;

/// The input of a cost: sizes in bytes, counts of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// The row `Program` of an activity.
    pub activity: usize,
    /// What GSI1 carries of it: all but its keys in the narrow index.
    pub program: usize,
    /// What the narrow index carries of it.
    pub narrow: usize,
    /// A part of an activity beside that row: a detail, a goal, a reward, a group.
    pub part: usize,
    /// How many of them an activity has.
    pub parts: usize,
    /// A reference, which the narrow index carries nearly whole.
    pub reference: usize,
    /// How many of them an activity has, or how many activities refer to one venue.
    pub references: usize,
    /// A registration.
    pub registration: usize,
    /// What is a company's own beside its activities: a section, a venue, a template.
    pub own: usize,
    /// Activities of the plan year, registrations of a user or of an activity, templates on a page.
    pub items: usize,
    /// An employee.
    pub employee: usize,
    /// Challenges that are for one employee.
    pub eligible: usize,
    /// A job's item, with the data that it writes.
    pub job: usize,
    /// The idempotency record, where the request had an `Idempotency-Key`.
    pub record: Option<usize>,
}

/// Places where units are consumed.
pub(crate) const ACTIVITIES: &str = "Activities";
pub(crate) const JOBS: &str = "WellnessJobs";
pub(crate) const PROGRAM: &str = "Activities/GSI1";
pub(crate) const LISTS: &str = "Activities/GSI2";
pub(crate) const REGISTRATIONS: &str = "Activities/GSI3";

impl Case {
    /// So many of something.
    pub(crate) fn count(number: usize) -> u64 {
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// Looks whether the request came before: there is no record, which costs a unit.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// The record, before the transaction doubles it.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }

    /// All parts of an activity, each written by itself.
    pub(crate) fn parts_write(&self) -> Units {
        write(self.part).times(Self::count(self.parts))
    }

    /// All references of an activity, each written by itself; as much in the narrow index.
    pub(crate) fn references_write(&self) -> Units {
        write(self.reference).times(Self::count(self.references))
    }

    /// The activity itself, strongly consistent.
    pub(crate) fn activity_read(&self) -> Units {
        read(self.activity)
    }

    /// The references to one that are active, counted; there are no drafts, which costs half a unit to see.
    pub(crate) fn counted(&self) -> Units {
        read_eventually(self.reference * self.references) + Units::halves(1)
    }

    /// All activities of a list.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
