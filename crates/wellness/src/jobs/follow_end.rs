//! The job that copies an activity's new end date to its registrations
//! (docs/decisions/wellness-jobs.md).

use crate::{Activity, Wellness, jobs::passes::PassItems};
use function::Error;
use jobs::{ItemState, PAGE, PagedItems};
use keys::{
    KeyRange,
    wellness::{ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, EndDateSort, RegistrationSort},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Change, Condition, Item, Key, Page, Query};

/// The registrations of an activity.
///
/// A request may read the old end date before the change, and put a registration with it during the
/// job. The request then corrects the registration itself. If the request crashes before that, the
/// last pass of the job finds the registration.
pub(crate) struct Registrations<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    activity: ActivityId,
    /// The activity's end date as last read. `None` before the first read.
    end: Option<EndDateSort>,
}

impl<'a> Registrations<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, activity: ActivityId) -> Self {
        Self { wellness, company, activity, end: None }
    }
}

/// The keys of a registration. The job ignores all other attributes, so an invalid one cannot make
/// it fail.
#[derive(Debug, Serialize, Deserialize, Attributes)]
pub(crate) struct IndexEntry {
    #[serde(rename = "SK")]
    sort: RegistrationSort,
    #[serde(rename = "GSI3SK")]
    end: ActivityEndDateSort,
}

impl Item for IndexEntry {
    const TYPE: &'static str = "Registration";
}

/// The end date and the company of an activity.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    #[serde(rename = "CompanyId")]
    company: CompanyId,
    #[serde(rename = "GSI1SK")]
    end: EndDateSort,
}

impl Item for End {
    const TYPE: &'static str = "Activity";
}

impl PassItems for Registrations<'_> {
    /// Reads the end date before each step, because it may change while the job runs. Such a change
    /// starts a new job, but the current run may execute another step first.
    async fn refresh(&mut self) -> Result<(), Error> {
        let found = self.wellness.table.get::<End>(&Activity::key_of(&self.activity)).await?;
        self.end = found.filter(|found| found.company == self.company).map(|found| found.end);
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        self.end.map(|_| RegistrationSort::all()).into_iter().collect()
    }

    async fn look(&self, range: &KeyRange) -> Result<Page<IndexEntry>, Error> {
        let query = Query::new(&ActivityPartition(self.activity.clone()), range).consistent();
        let mut page = self.wellness.table.page::<IndexEntry>(&query, PAGE).await?;
        page.items.retain(|entry| self.state(Some(entry)) == ItemState::Due);
        Ok(page)
    }
}

impl PagedItems for Registrations<'_> {
    type Thing = IndexEntry;

    /// Returns an error, so that a conflict ends this run. The other writer may have read a newer
    /// end date. The next run reads the end date again.
    fn may_repeat(&self) -> Result<(), Error> {
        Err(Error::stale())
    }

    fn id(entry: &IndexEntry) -> String {
        entry.sort.0.to_string()
    }

    fn key(&self, id: &str) -> Result<Key, Error> {
        let user = id.parse().map_err(|_| Error::Internal("a job's page contains an invalid user id".to_owned()))?;
        Ok(Key::new(&ActivityPartition(self.activity.clone()), &RegistrationSort(user)))
    }

    fn state(&self, entry: Option<&IndexEntry>) -> ItemState {
        match entry.zip(self.end) {
            Some((entry, end)) if entry.end.0 == end.0 => ItemState::Done,
            Some(_) => ItemState::Due,
            None => ItemState::Out,
        }
    }

    fn changes(&self, entry: &IndexEntry) -> Result<Vec<Change>, Error> {
        let end = self.end.ok_or_else(|| Error::Internal("the activity has no known end date".to_owned()))?;
        let key = Key::new(&ActivityPartition(self.activity.clone()), &entry.sort);
        let update = self.wellness.table.update(key).set(IndexEntry::END, &ActivityEndDateSort(end.0));
        Ok(vec![update.only_if(Condition::is(IndexEntry::END, &entry.end))])
    }
}
