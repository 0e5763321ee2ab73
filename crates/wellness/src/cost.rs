use table::cost::{Size, Sizes, Term, read, read_eventually, write};

/// An access pattern of this service.
pub type Pattern = function::Pattern<Case>;

/// The DynamoDB calls of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost formulas: item sizes in bytes, and numbers of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case<N = usize> {
    /// Size of an activity's base row, which has the sort key `Program`.
    pub activity: N,
    /// Size of an activity in GSI1, which projects all attributes except the keys of GSI2.
    pub program: N,
    /// Size of an activity in GSI2, which projects only a few attributes.
    pub narrow: N,
    /// Size of one part of an activity: the detail, the goal, a reward, the `Groups` row or a
    /// group.
    pub part: N,
    /// Number of parts of an activity.
    pub parts: N,
    /// Number of rows `Program#Groups` of an activity: 0 or 1.
    pub groups: N,
    /// Size of a reference, in the table and in GSI2. GSI2 projects almost all of its attributes.
    pub reference: N,
    /// Number of references: either those of an activity, or those to a venue.
    pub references: N,
    /// Total size of the rewards of an activity.
    pub rewards: N,
    /// Total size of the corrections of an employee's points.
    pub corrections: N,
    /// Size of a row of a report.
    pub report: N,
    /// Size of a registration.
    pub registration: N,
    /// Size of a section, a record, a template, or the plans of a company.
    pub own: N,
    /// Size of the upload of a file.
    pub upload: N,
    /// Number of items in the list: activities, registrations, sections or templates.
    pub items: N,
    /// Size of an employee.
    pub employee: N,
    /// Number of challenges that one employee is eligible for.
    pub eligible: N,
    /// Size of a job, including its task.
    pub job: N,
    /// Size of the idempotency record. `None` if the request has no `Idempotency-Key`.
    pub record: Option<N>,
}

/// The case with the names that formulas show.
pub(crate) type Named = Case<Size>;

impl Sizes for Case {
    type Named = Named;

    fn named(&self) -> Named {
        Case {
            activity: Size::named("activity", self.activity),
            program: Size::named("GSI1 entry", self.program),
            narrow: Size::named("narrow entry", self.narrow),
            part: Size::named("part", self.part),
            parts: Size::named("parts", self.parts),
            groups: Size::named("groups", self.groups),
            reference: Size::named("reference", self.reference),
            references: Size::named("references", self.references),
            rewards: Size::named("rewards", self.rewards),
            corrections: Size::named("corrections", self.corrections),
            report: Size::named("report row", self.report),
            registration: Size::named("registration", self.registration),
            own: Size::named("item", self.own),
            upload: Size::named("upload", self.upload),
            items: Size::named("items", self.items),
            employee: Size::named("employee", self.employee),
            eligible: Size::named("challenges", self.eligible),
            job: Size::named("job", self.job),
            record: self.record.map(|size| Size::named("record", size)),
        }
    }
}

/// Names of the tables and indexes in the declared costs.
pub(crate) const ACTIVITIES: &str = "Activities";
pub(crate) const JOBS: &str = "WellnessJobs";
pub(crate) const PROGRAM: &str = "Activities/GSI1";
pub(crate) const LISTS: &str = "Activities/GSI2";
pub(crate) const REGISTRATIONS: &str = "Activities/GSI3";

impl Named {
    /// Read request units (RRU) for looking up the idempotency record. A lookup that finds nothing
    /// consumes 1 RRU.
    pub(crate) fn record_read(&self) -> Term {
        Term::whole(usize::from(self.record.is_some()))
    }

    /// Write request units (WRU) for the idempotency record. A transaction consumes twice as many.
    pub(crate) fn record_write(&self) -> Term {
        self.record.map_or(Term::ZERO, write)
    }

    /// WRU for creating an item with this write. With an idempotency record, both are written in a
    /// transaction.
    pub(crate) fn created(&self, item: Term) -> Term {
        if self.record.is_some() { (item + self.record_write()).times(2) } else { item }
    }

    /// WRU for all parts of an activity. Each part is a separate write.
    pub(crate) fn parts_write(&self) -> Term {
        write(self.part).times(self.parts)
    }

    /// WRU for all references of an activity. Each reference is a separate write. GSI2 consumes the
    /// same number of WRU.
    pub(crate) fn references_write(&self) -> Term {
        write(self.reference).times(self.references)
    }

    /// RRU for a strongly consistent read of an activity's base row.
    pub(crate) fn activity_read(&self) -> Term {
        read(self.activity)
    }

    /// RRU for counting the references to a venue. The query for active activities reads all of
    /// them. The query for drafts, and those for activities that ended earlier today, find none and
    /// consume 0.5 RRU each.
    pub(crate) fn counted(&self) -> Term {
        read_eventually(self.reference * self.references) + Term::halves(3)
    }

    /// RRU for an eventually consistent query for all items of a list. `entry` is the size of one
    /// item.
    pub(crate) fn listed(&self, entry: Size) -> Term {
        read_eventually(entry * self.items)
    }
}
