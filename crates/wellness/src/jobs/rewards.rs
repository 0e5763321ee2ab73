//! The job that awards changed rewards to the employees who have already earned them
//! (docs/decisions/wellness-points.md).

use crate::{Registration, Reward, Wellness, jobs::passes::PassItems};
use function::Error;
use jobs::{ItemState, PAGE, PagedItems};
use keys::{
    KeyRange, TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, RegistrationSort},
};
use table::{Change, Condition, Key, Page, Query};

/// The registrations of an activity that have earned a reward and lack the award.
///
/// A report of progress may have read the rewards before they changed, and may write after the
/// first pass has read its registration. The last pass finds it.
pub(crate) struct Earned<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    activity: ActivityId,
    /// The time of the awards.
    now: TimestampSeconds,
    /// The rewards as last read.
    rewards: Vec<Reward>,
}

impl<'a> Earned<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, activity: ActivityId, now: TimestampSeconds) -> Self {
        Self { wellness, company, activity, now, rewards: Vec::new() }
    }
}

impl PassItems for Earned<'_> {
    /// Reads the rewards before each step, because they may change while the job runs.
    async fn refresh(&mut self) -> Result<(), Error> {
        self.rewards = self.wellness.rewards(&self.activity).await?;
        Ok(())
    }

    fn ranges(&self) -> Vec<KeyRange> {
        vec![RegistrationSort::all()]
    }

    async fn look(&self, range: &KeyRange) -> Result<Page<Registration>, Error> {
        let query = Query::new(&ActivityPartition(self.activity.clone()), range).consistent();
        let mut page = self.wellness.table.page::<Registration>(&query, PAGE).await?;
        page.items.retain(|registration| self.state(Some(registration)) == ItemState::Due);
        Ok(page)
    }
}

impl PagedItems for Earned<'_> {
    type Thing = Registration;

    fn id(registration: &Registration) -> String {
        registration.sort.0.to_string()
    }

    fn key(&self, id: &str) -> Result<Key, Error> {
        let user = id.parse().map_err(|_| Error::Internal("a job's page contains an invalid user id".to_owned()))?;
        Ok(Registration::key_of(&self.activity, &user))
    }

    /// An employee who waits or has left earns nothing.
    fn state(&self, registration: Option<&Registration>) -> ItemState {
        match registration.filter(|one| one.company == self.company && one.absence.is_none()) {
            Some(registration) if registration.due(&self.rewards, self.now).is_empty() => ItemState::Done,
            Some(_) => ItemState::Due,
            None => ItemState::Out,
        }
    }

    fn changes(&self, registration: &Registration) -> Result<Vec<Change>, Error> {
        let change = self.wellness.table.update(registration.key()).only_if(Condition::missing(Registration::ABSENCE));
        Ok(vec![registration.awarding(change, &registration.due(&self.rewards, self.now))?])
    }
}
