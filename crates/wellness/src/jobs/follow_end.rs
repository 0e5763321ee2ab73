//! The job that moves an activity's registrations to its new end date
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
/// One pass is enough, because registrations are sorted by user, and their users never change. W11
/// (register-new-employee) reads the end date again after it has put a registration.
pub(crate) struct Registrations<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    activity: ActivityId,
    /// The activity's current end date. `None` before the first read.
    end: Option<EndDateSort>,
}

impl<'a> Registrations<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, activity: ActivityId) -> Self {
        Self { wellness, company, activity, end: None }
    }
}

/// The keys of a registration. Other attributes are not read, so an invalid attribute cannot make
/// the job fail.
#[derive(Debug, Serialize, Deserialize, Attributes)]
pub(crate) struct Place {
    #[serde(rename = "SK")]
    sort: RegistrationSort,
    #[serde(rename = "GSI3SK")]
    end: ActivityEndDateSort,
}

impl Item for Place {
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
    const QUIET: u8 = 0;

    /// Reads the end date again, because it may change while the job runs. Such a change starts
    /// another job, but an invocation of this job may come first.
    async fn refresh(&mut self) -> Result<(), Error> {
        let found = self.wellness.table.get::<End>(&Activity::key_of(&self.activity)).await?;
        self.end = found.filter(|found| found.company == self.company).map(|found| found.end);
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        self.end.map(|_| RegistrationSort::all()).into_iter().collect()
    }

    async fn look(&self, range: &KeyRange) -> Result<Page<Place>, Error> {
        let query = Query::new(&ActivityPartition(self.activity.clone()), range).consistent();
        let Page { mut items, next } = self.wellness.table.page(&query, PAGE).await?;
        items.retain(|place| self.state(Some(place)) == ItemState::Due);
        Ok(Page { items, next })
    }
}

impl PagedItems for Registrations<'_> {
    type Thing = Place;

    /// Returns an error, so the page is not repeated in this run after a conflict. The conflicting
    /// writer may have read a newer end date, which only another run reads.
    fn may_repeat(&self) -> Result<(), Error> {
        Err(Error::stale())
    }

    fn id(place: &Place) -> String {
        place.sort.0.to_string()
    }

    fn key(&self, id: &str) -> Result<Key, Error> {
        let user = id.parse().map_err(|_| Error::Internal("a job's page names no user".to_owned()))?;
        Ok(Key::new(&ActivityPartition(self.activity.clone()), &RegistrationSort(user)))
    }

    fn state(&self, place: Option<&Place>) -> ItemState {
        match place.zip(self.end) {
            Some((place, end)) if place.end.0 == end.0 => ItemState::Done,
            Some(_) => ItemState::Due,
            None => ItemState::Out,
        }
    }

    fn changes(&self, place: &Place) -> Result<Vec<Change>, Error> {
        let end = self.end.ok_or_else(|| Error::Internal("an activity without an end".to_owned()))?;
        let key = Key::new(&ActivityPartition(self.activity.clone()), &place.sort);
        let update = self.wellness.table.update(key).set(Place::END, &ActivityEndDateSort(end.0));
        Ok(vec![update.only_if(Condition::is(Place::END, &place.end))])
    }
}
