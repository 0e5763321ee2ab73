use crate::{Activity, Registration, files::FileStore};
use function::{App, Clients, Error, SettingsReader};
use intake::Files;
use jobs::Jobs;
use keys::wellness::{ActivityId, CompanyId, EndDateSort};
use table::{Dynamo, Index, Key, Query, Table};

/// The shared state of all wellness functions.
#[derive(Debug, Clone)]
pub struct Wellness {
    pub(crate) dynamo: Dynamo,
    pub(crate) table: Table,
    /// The `WellnessJobs` table and its client.
    pub(crate) jobs: Jobs,
    /// `GSI1`: activities and sections of a company, sorted by end date.
    pub(crate) program: Index,
    /// `GSI2` has two kinds of entries: activities of a company in short form, sorted by end date,
    /// and references to an object such as a venue, sorted by status and end date.
    pub(crate) lists: Index,
    /// `GSI3`: registrations of a user, sorted by the end date of the activity.
    pub(crate) registrations: Index,
    /// The bucket of files and exports.
    pub(crate) files: FileStore,
    /// The bucket of failed events.
    pub(crate) failures: FileStore,
    /// The time in seconds without new items after which an erasure is complete.
    pub(crate) quiet_seconds: Option<u32>,
    /// The time in seconds after which the indexes show every change.
    pub(crate) index_lag_seconds: Option<u32>,
    /// The retention of the logs in days.
    pub(crate) log_days: Option<i64>,
}

impl App for Wellness {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("ACTIVITIES_TABLE");
        let jobs = settings.get::<String>("WELLNESS_JOBS_TABLE");
        let dynamo = clients.dynamo();
        let index = |name: &str, partition, sort| Index { name: name.into(), partition, sort };
        let by_path = settings.optional::<String>("AWS_ENDPOINT_URL_S3").is_some();
        let files = Files::new(clients.config("s3"), by_path);
        Some(Self {
            failures: FileStore::new(files.clone(), settings.optional("FAILED_CHANGES_BUCKET")),
            files: FileStore::new(files, settings.optional("FILES_BUCKET")),
            quiet_seconds: settings.optional("ERASURE_QUIET_SECONDS"),
            index_lag_seconds: settings.optional("INDEX_LAG_SECONDS"),
            log_days: settings.optional("LOG_RETENTION_DAYS"),
            dynamo: dynamo.clone(),
            table: dynamo.table(table?),
            jobs: Jobs::new(dynamo, jobs?),
            program: index("GSI1", Activity::PROGRAM, Activity::END),
            lists: index("GSI2", Activity::LIST, Activity::LIST_END),
            registrations: index("GSI3", Registration::OF_USER, Registration::END),
        })
    }
}

/// Warm-up calls, which open the connection to DynamoDB during the init phase
/// (docs/decisions/cold-start.md). Their results are ignored. If an error persists, the first
/// invocation reports it.
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
    /// Reads the base row of an activity with strong consistency.
    ///
    /// # Errors
    /// 404 if the activity does not exist or belongs to another company.
    pub(crate) async fn activity(&self, company: &CompanyId, activity: &ActivityId) -> Result<Activity, Error> {
        let found = self.table.get::<Activity>(&Activity::key_of(activity)).await?;
        found.filter(|found| found.company == *company).ok_or(Error::NotFound("activity"))
    }
}
