//! Helpers that put and read activities, references and registrations directly in the tables.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{
    changed,
    faults::Proxy,
    random,
    wellness::{activity as challenge, employee_key},
};
use jobs::Job;
use keys::wellness::{
    ActivityId, ActivityPartition, ActivityType, CompanyPartition, EndDateSort, FacetRef, JobId, Level, PlanTime,
    RecordSort, Status, UseSort,
};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::fmt::Display;
use table::{BatchWrite, Change, Condition, Dynamo, JsonText, Query, Table};
use wellness::{Activity, AttributeMap, Employee, LastChange, Record, Reference, job_key};

/// Direct access to the tables of a stack.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The DynamoDB client.
    pub dynamo: Dynamo,
    /// The table `Activities`.
    pub table: Table,
    /// The table `WellnessJobs`.
    pub jobs: Table,
}

/// Parses a literal value of a test.
pub fn read<T: std::str::FromStr<Err: std::fmt::Debug>>(text: impl Display) -> T {
    text.to_string().parse().expect("well formed")
}

/// Converts JSON to the form that the table stores.
pub fn stored(json: &Value) -> JsonText {
    serde_json::from_value(json.to_string().into()).expect("JSON")
}

/// Returns the base row of an event for all employees.
pub fn activity(company: &str, id: &str, status: Status, end: &str) -> Activity {
    let challenge = challenge(company, id, &format!("Activity {id}"), end);
    Activity { activity_type: ActivityType::Event, status, ..challenge }
}

/// Returns a reference of the activity to `of`, such as `VenueId-123`.
pub fn reference(activity: &Activity, of: &str, data: &Value) -> Reference {
    let place = UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
    Reference::new(activity.company.clone(), read(of), place, stored(data))
}

/// Returns the company's record of a venue, such as `VenueId-123`.
pub fn record(company: &str, of: &str, data: &Value) -> Record {
    let partition = CompanyPartition(read(company));
    Record { partition, sort: RecordSort(read(of)), name: read(of), data: stored(data), used_by: None, revision: None }
}

impl Rows {
    /// Connects to the tables of the stack.
    pub fn of(stack: &Stack) -> Self {
        let client = stack.client().expect("a client");
        let dynamo = Dynamo::new(&client, random());
        let jobs = dynamo.table(stack.table("WellnessJobs").expect("a table"));
        Self { table: dynamo.table(stack.table("Activities").expect("a table")), jobs, dynamo }
    }

    /// Puts the activities, each with a reference to the venue `of`.
    pub async fn put_uses(&self, activities: &[Activity], of: &str, data: &Value) {
        let references: Vec<_> = activities.iter().map(|activity| reference(activity, of, data)).collect();
        self.put(activities).await;
        self.put(&references).await;
    }

    /// Puts items into `Activities`.
    pub async fn put<T: table::Item>(&self, items: &[T]) {
        let mut batch = BatchWrite::default();
        for item in items {
            batch.put(&self.table, item).expect("writable");
        }
        self.dynamo.batch_write(batch).await.expect("written");
    }

    /// Reads the venue references of an activity.
    pub async fn venues(&self, activity: &ActivityId) -> Vec<Reference> {
        let query = ActivityPartition(activity.clone());
        self.table.query_all(&Query::new(&query, &Level::Venues.range())).await.expect("references").items
    }

    /// Reads the base row of an activity.
    pub async fn activity(&self, activity: &ActivityId) -> Activity {
        self.table.get(&Activity::key_of(activity)).await.expect("an answer").expect("an activity")
    }

    /// Reads the job with this id.
    pub async fn job(&self, company: &str, id: &str) -> Job {
        let key = job_key(&read(company), &read::<JobId>(id));
        self.jobs.get(&key).await.expect("an answer").expect("a job")
    }

    /// Changes the status and the end date of an activity. The same transaction updates the sort
    /// keys of the references, as in W16 (update-activity). Retries on conflict.
    pub async fn move_activity(&self, activity: &ActivityId, status: Status, end: PlanTime, also: &[Change]) {
        loop {
            let changes = self.moves(activity, status, end).await.into_iter().chain(also.iter().cloned());
            match self.dynamo.transact(changes.collect()).await {
                Ok(()) => return,
                Err(table::Error::Refused(_) | table::Error::Contended { .. }) => {}
                Err(error) => unreachable!("{error}"),
            }
        }
    }

    async fn moves(&self, activity: &ActivityId, status: Status, end: PlanTime) -> Vec<Change> {
        let (stored, references) = (self.activity(activity).await, self.venues(activity).await);
        let row = self.table.update(Activity::key_of(activity)).set(Activity::STATUS, &status);
        let row = row.set(Activity::END, &EndDateSort(end)).set(Activity::LIST_END, &EndDateSort(end));
        let row =
            row.set(Activity::VERSION, stored.version + 1).only_if(Condition::is(Activity::VERSION, stored.version));
        let moves = references.iter().map(|reference| {
            let update = self.table.update(Reference::key_of(activity, reference.of()));
            let update = update.set(Reference::PLACE, &reference.moved(status, end));
            update.only_if(Condition::is(Reference::PLACE, &reference.place))
        });
        [row].into_iter().chain(moves).collect()
    }
}

/// Returns an employee with the role `R` and without a name.
pub fn staff(company: &str, user: &str, department: &str) -> Employee {
    let key = employee_key(company, user);
    Employee {
        partition: read(key.partition()),
        sort: read(key.sort()),
        name: None,
        role: read("R"),
        department: read(department),
        attribute_map: AttributeMap::default(),
        last_change: LastChange::Other,
        version: 1,
    }
}

/// Returns a path below the references to a venue, file, course, tracker or notification.
pub fn path(company: &str, facet: &str, id: &str, rest: &str) -> String {
    format!("/wellness/companies/{company}/references/{facet}/{id}{rest}")
}

/// Returns the stream event for a step of the job.
pub fn step_of(company: &str, job: &str) -> Value {
    steps_of(&[(company, job)])
}

/// Returns the stream event for one step of each job.
pub fn steps_of(jobs: &[(&str, &str)]) -> Value {
    let record = |(number, (company, job)): (usize, &(&str, &str))| {
        json!({
            "eventID": number.to_string(),
            "eventName": "MODIFY",
            "eventSource": "aws:dynamodb",
            "dynamodb": {
                "Keys": {"PK": {"S": format!("CompanyId-{company}")}, "SK": {"S": format!("Job#{job}")}},
                "SequenceNumber": (number + 1).to_string(),
                "StreamViewType": "NEW_IMAGE",
            },
        })
    };
    json!({"Records": jobs.iter().enumerate().map(record).collect::<Vec<_>>()})
}

/// Parses a facet and an id in the form used in paths.
pub fn named(facet: &str, id: &str) -> FacetRef {
    FacetRef { facet: read(facet), id: read(id) }
}

/// Returns a stack without the event source mapping of the jobs. The test invokes the job function
/// itself.
pub fn without_jobs() -> Builder {
    let mapping = "        Jobs:\n          Type: DynamoDB\n          Properties:\n";
    changed("wellness", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}

/// Returns such a stack, whose requests arrive in 2020.
pub fn in_2020() -> Builder {
    without_jobs().clock("2020-01-01T00:00:00Z".parse().expect("a time"))
}

/// Starts a stack that does not run jobs, and a proxy. The test invokes the job function itself,
/// and the proxy forwards the function's calls to DynamoDB.
pub async fn by_hand() -> (Stack, Proxy) {
    let stack = without_jobs().start().await.expect("a stack");
    let proxy = Proxy::start(stack.dynamo_url()).await;
    (stack, proxy)
}
