use crate::{Activity, Registration};
use function::{App, Clients, Error, SettingsReader};
use jobs::Jobs;
use keys::wellness::{ActivityId, CompanyId, EndDateSort};
use table::{Dynamo, Index, Key, Query, Table};

/// What every function of the domain works with.
#[derive(Debug, Clone)]
pub struct Wellness {
    pub(crate) dynamo: Dynamo,
    pub(crate) table: Table,
    /// What outlives a request.
    pub(crate) jobs: Jobs,
    /// `GSI1`: a company's activities and sections by their end.
    pub(crate) program: Index,
    /// `GSI2`, the narrow one: a company's activities by their end; references by what they refer to.
    pub(crate) lists: Index,
    /// `GSI3`: a user's registrations by the end of their activities.
    pub(crate) registrations: Index,
}

impl App for Wellness {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("ACTIVITIES_TABLE");
        let jobs = settings.get::<String>("WELLNESS_JOBS_TABLE");
        let dynamo = clients.dynamo();
        let index = |name: &str, partition, sort| Index { name: name.into(), partition, sort };
        Some(Self {
            dynamo: dynamo.clone(),
            table: dynamo.table(table?),
            jobs: Jobs::new(dynamo, jobs?),
            program: index("GSI1", Activity::PROGRAM, Activity::END),
            lists: index("GSI2", Activity::LIST, Activity::LIST_END),
            registrations: index("GSI3", Registration::OF_USER, Registration::END),
        })
    }
}

/// Calls that open the connection before the first event. What they answer does not matter, and a
/// failure shows again, with its reason, at the first event.
impl Wellness {
    pub(crate) async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<Activity>(&Key::placeholder()).await;
    }

    pub(crate) async fn warm_by_query(self) {
        let _ = self.table.page::<Activity>(&Query::new(&"#", &EndDateSort::nothing()), 1).await;
    }

    pub(crate) async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    pub(crate) async fn warm_by_program(self) {
        self.warm_by_index(&self.program).await;
    }

    pub(crate) async fn warm_by_lists(self) {
        self.warm_by_index(&self.lists).await;
    }

    pub(crate) async fn warm_by_registrations(self) {
        self.warm_by_index(&self.registrations).await;
    }

    async fn warm_by_index(&self, index: &Index) {
        let _ = self.table.page::<Activity>(&Query::new(&"#", &EndDateSort::nothing()).on(index), 1).await;
    }
}

impl Wellness {
    /// The activity itself, strongly consistent.
    ///
    /// # Errors
    /// 404 where there is none, or it is another company's.
    pub(crate) async fn activity(&self, company: &CompanyId, activity: &ActivityId) -> Result<Activity, Error> {
        let found = self.table.get::<Activity>(&Activity::key_of(activity)).await?;
        found.filter(|found| found.company == *company).ok_or(Error::NotFound("activity"))
    }
}
