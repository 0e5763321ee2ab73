//! The activities of a multi-tenant wellness program (docs/requirements/wellness.md).
//!
//! Each access pattern has a module in `src/patterns` and a Lambda function of the same name in
//! `src/bin`.
//!
//! An activity is an item collection: the base row `Program`, the parts, the references, and the
//! registrations of employees. A change that does not fit into one transaction runs as a job.
//!
//! In comments and names, "venue" also means a file, course, tracker or notification. A record is
//! the company's item for a venue. A reference is a row of an activity that points to a venue and
//! contains a copy of the venue's data.
#![deny(clippy::disallowed_methods)]

mod cost;
mod employees;
mod facts;
mod files;
mod jobs;
mod model;
pub mod patterns;
mod registrations;

pub use cost::{Case, Pattern};
pub use facts::Fact;
pub use model::activity::{Activity, ActivityBody, Name};
pub use model::award::{Award, Correction, CorrectionBody, Reason};
pub use model::employee::{Employee, EmployeeBody, LastChange};
pub use model::enrolment::Enrolment;
pub use model::filters::{AttributeMap, AttributeValue, Candidate, Filters, FiltersBody};
pub use model::groups::{Group, GroupProgress, Groups};
pub use model::job::{Hold, Task, following, job_key};
pub use model::parts::{Detail, Goal, Milestone, Points, Reward};
pub use model::plan::{Plan, Plans};
pub use model::reference::{Record, Reference};
pub use model::registration::{Progress, Registration, RegistrationBody};
pub use model::section::Section;
pub use model::shipped::TemplateSet;
pub use model::template::{Template, TemplateBody};
pub use patterns::patterns;

use ::jobs::Jobs;
use files::FileStore;
use function::{App, Clients, Error, SettingsReader};
use intake::Files;
use keys::wellness::{ActivityId, CompanyId, EndDateSort};
use publisher::Bus;
use table::{Change, Condition, Dynamo, Index, Item, Key, Query, Table};

/// The service name. It is the prefix of the scopes `wellness:read`, `wellness:write`,
/// `wellness:admin` and `wellness:operate`.
pub(crate) const DOMAIN: &str = "wellness";

/// The shared state of all wellness functions.
#[derive(Debug, Clone)]
pub struct Wellness {
    dynamo: Dynamo,
    table: Table,
    /// The `WellnessJobs` table and its client.
    jobs: Jobs,
    bus: Bus,
    /// `GSI1`: activities and sections of a company, sorted by end date.
    program: Index,
    /// `GSI2` has two kinds of entries: activities of a company in short form, sorted by end date,
    /// and references to an object such as a venue, sorted by status and end date.
    lists: Index,
    /// `GSI3`: registrations of a user, sorted by the end date of the activity.
    registrations: Index,
    /// The bucket of files and exports.
    files: FileStore,
    /// The bucket of failed events.
    failures: FileStore,
    /// The time in seconds without new items after which an erasure is complete.
    quiet_seconds: Option<u32>,
    /// The time in seconds after which the indexes show every change.
    index_lag_seconds: Option<u32>,
    /// The retention of the logs in days.
    log_days: Option<i64>,
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
            bus: Bus::start(settings, clients),
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
    async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<Activity>(&Key::placeholder()).await;
    }

    async fn warm_by_query(self) {
        let _ = self.table.page::<Activity>(&Query::new(&"#", &EndDateSort::nothing()), 1).await;
    }

    async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    async fn warm_by_program(self) {
        self.warm_by_index(&self.program).await;
    }

    async fn warm_by_lists(self) {
        self.warm_by_index(&self.lists).await;
    }

    async fn warm_by_registrations(self) {
        self.warm_by_index(&self.registrations).await;
    }

    async fn warm_by_index(&self, index: &Index) {
        let _ = self.table.page::<Activity>(&Query::new(&"#", &EndDateSort::nothing()).on(index), 1).await;
    }
}

impl Wellness {
    /// Puts a new item, with its idempotency record if the request has a key. Its id is new and
    /// random, and nobody deletes the item within the seconds in which a late attempt of the SDK
    /// can arrive. A put alone therefore needs no transaction.
    async fn put_new<T: Item + PartialEq>(&self, changes: Vec<Change>, item: &T) -> Result<(), Error> {
        match <[Change; 1]>::try_from(changes) {
            Ok([put]) => Ok(self.dynamo.write_once_as(put, item).await?),
            Err(changes) => Ok(self.dynamo.transact(changes).await?),
        }
    }

    /// Reads an item, and returns its deletion on the condition that it is unchanged. `None` if
    /// there is no such item.
    ///
    /// An attempt of the SDK may arrive after a refused one. The condition keeps it from deleting
    /// an item that has been created in the meantime. An unreadable item has no condition
    /// (docs/decisions/consistency.md).
    async fn deletion<T: Item, C: IntoIterator<Item = Condition>>(
        &self,
        key: Key,
        is_unchanged: impl FnOnce(&T) -> C,
    ) -> Result<Option<Change>, Error> {
        let stored = match self.table.get::<T>(&key).await {
            Err(table::Error::Unreadable(..)) => return Ok(Some(self.table.delete(key))),
            stored => stored?,
        };
        Ok(stored.map(|item| self.table.delete(key).only_if_all(is_unchanged(&item))))
    }

    /// Reads the base row of an activity with strong consistency.
    ///
    /// # Errors
    /// 404 if the activity does not exist or belongs to another company.
    async fn activity(&self, company: &CompanyId, activity: &ActivityId) -> Result<Activity, Error> {
        let found = self.table.get::<Activity>(&Activity::key_of(activity)).await?;
        found.filter(|found| found.company == *company).ok_or(Error::NotFound("activity"))
    }
}
