//! The job that replaces or updates all references to one venue
//! (docs/decisions/wellness-references.md).

use crate::{Reference, Task, Wellness, jobs::passes::PassItems, model::uses::OPEN};
use function::Error;
use jobs::{ItemState, PAGE, PagedItems};
use keys::{
    KeyRange, TimestampSeconds,
    wellness::{FacetRef, Period, ReferencePartition, UseSort},
};
use table::{Change, Condition, JsonText, Key, Page, Query, Value};

/// The references to a venue in draft and active activities that end within the period.
pub(crate) struct References<'a> {
    wellness: &'a Wellness,
    uses: ReferencePartition,
    period: Period,
    started_at: TimestampSeconds,
    copied_data: JsonText,
    /// The new venue of a replacement. `None` if the job only updates the copied data.
    replacement: Option<FacetRef>,
}

impl<'a> References<'a> {
    /// Returns `None` if the task does not change references. Activities that ended before the job
    /// started are completed. The task has the whole period, so that equal requests have equal
    /// tasks.
    pub(crate) fn of(
        wellness: &'a Wellness,
        uses: ReferencePartition,
        task: Task,
        started_at: TimestampSeconds,
    ) -> Option<Self> {
        let facet = uses.of.facet;
        let open = |period: Period| period.open_at(started_at).unwrap_or(period);
        match task {
            Task::Replace { replacement: id, copied_data, period } => {
                let replacement = Some(FacetRef { facet, id });
                Some(Self { wellness, uses, period: open(period), started_at, copied_data, replacement })
            }
            Task::Update { copied_data, period } => {
                Some(Self { wellness, uses, period: open(period), started_at, copied_data, replacement: None })
            }
            Task::Follow
            | Task::Enrol
            | Task::Seat
            | Task::Depart
            | Task::Award
            | Task::Receive
            | Task::Group
            | Task::Report { .. }
            | Task::Export { .. }
            | Task::Erase { .. } => None,
        }
    }

    fn is_within(&self, reference: &Reference) -> bool {
        let UseSort { status, end, .. } = reference.place;
        let is_open = OPEN.contains(&status) && !end.is_over(self.started_at);
        reference.uses == self.uses && is_open && self.period.contains(end)
    }

    /// Reads the references from the table, because their index entries may be outdated. Returns
    /// the references that must change, and the number of unreadable references.
    async fn due(&self, entries: &[Reference]) -> Result<(Vec<Reference>, usize), Error> {
        let keys: Vec<Key> = entries.iter().map(|entry| self.key_of(entry)).collect();
        let mut found = self.wellness.table.get_all::<Reference>(&keys, true).await?;
        let references = keys.iter().filter_map(|key| found.items.remove(key));
        let due = references.filter(|reference| self.state(Some(reference)) == ItemState::Due).collect();
        Ok((due, found.unreadable.len()))
    }

    fn key_of(&self, reference: &Reference) -> Key {
        Reference::key_of(&reference.place.activity, &self.uses.of)
    }
}

impl PassItems for References<'_> {
    fn ranges(&self) -> Vec<KeyRange> {
        OPEN.map(|status| UseSort::within(status, self.period)).to_vec()
    }

    async fn look(&self, range: &KeyRange) -> Result<Page<Reference>, Error> {
        let mut query = Query::new(&self.uses, range).on(&self.wellness.lists);
        if self.replacement.is_none() {
            query = query.only_if(Condition::is_not(Reference::COPIED_DATA, Value::of(&self.copied_data)?));
        }
        let page = self.wellness.table.page(&query, PAGE).await?;
        let (items, unreadable) = self.due(&page.items).await?;
        Ok(Page { items, next: page.next, skipped: page.skipped + unreadable })
    }
}

impl PagedItems for References<'_> {
    type Thing = Reference;

    fn id(reference: &Reference) -> String {
        reference.place.activity.to_string()
    }

    fn key(&self, id: &str) -> Result<Key, Error> {
        let activity =
            id.parse().map_err(|_| Error::Internal("a job's page contains an invalid activity id".to_owned()))?;
        Ok(Reference::key_of(&activity, &self.uses.of))
    }

    fn state(&self, reference: Option<&Reference>) -> ItemState {
        match (reference, &self.replacement) {
            // A missing reference has already been replaced. Only this job deletes references to
            // the old venue.
            (None, Some(_)) => ItemState::Done,
            (Some(reference), None) if reference.copied_data == self.copied_data => ItemState::Done,
            (Some(reference), _) if self.is_within(reference) => ItemState::Due,
            _ => ItemState::Out,
        }
    }

    /// A replacement deletes the old reference and puts the new one in the same transaction. The
    /// transaction fails if the status or the end date has changed. If the activity already refers
    /// to the new venue, that reference is overwritten.
    fn changes(&self, reference: &Reference) -> Result<Vec<Change>, Error> {
        let (table, key, place) = (&self.wellness.table, self.key_of(reference), &reference.place);
        let is_there = Condition::is(Reference::PLACE, place);
        let Some(replacement) = &self.replacement else {
            let data = Value::of(&self.copied_data)?;
            return Ok(vec![table.update(key).set(Reference::COPIED_DATA, data).only_if(is_there)]);
        };
        let (company, data) = (self.uses.company.clone(), self.copied_data.clone());
        let new = Reference::new(company, replacement.clone(), place.clone(), data);
        Ok(vec![table.delete(key).only_if(is_there), table.put(&new)?])
    }
}
