use crate::{
    Employee, Registration, Wellness,
    model::{
        option::ActivityOption,
        report::{Counts, PlanReport, ReportRow},
    },
};
use function::{Deadline, Error, is_zero};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    RequestId,
    wellness::{
        ActivityId, CompanyId, Department, EmployeeSort, EmployeesPartition, Period, PlanId, RegistrationSort,
        ReportRowSort, ReportSort, ReportsPartition, RowOf, Status, UserId,
    },
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use table::{BatchWrite, Key, Page, Query};

/// Number of registrations that a step reads.
const PAGE: usize = 1_000;

/// Writes the report of a plan (docs/decisions/wellness-plans.md).
///
/// Each step reads a page of the registrations of one activity. After the last page, it writes the
/// row of the activity. The last steps write the sums and the report, and delete the rows of the
/// previous report.
pub(crate) struct Report<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    plan: PlanId,
    /// The id of the report.
    id: RequestId,
    period: Period,
    /// Read once in each run.
    known: Option<Known>,
}

/// What the run knows about the company.
struct Known {
    activities: Vec<ActivityOption>,
    departments: HashMap<UserId, Department>,
    skipped: usize,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ReportProgress {
    /// The last activity with a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<ActivityId>,
    /// The position in the registrations of the next activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The counts of the pages before this position.
    counts: Counts,
    /// The counts of the rows.
    total: Counts,
    /// Whether the report is complete. The rows of earlier reports remain to be deleted.
    published: bool,
    /// Number of unreadable registrations, activities and employees.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

impl<'a> Report<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, plan: PlanId, id: RequestId, period: Period) -> Self {
        Self { wellness, company, plan, id, period, known: None }
    }

    /// Reads the activities of the plan except drafts, and the department of each employee.
    async fn read(&self) -> Result<Known, Error> {
        let Page { mut items, skipped, .. } = self.wellness.all_options(&self.company, self.period).await?;
        items.retain(|activity| activity.status != Status::Draft);
        items.sort_by(|one, other| one.partition.0.cmp(&other.partition.0));
        let mut known = Known { activities: items, departments: HashMap::new(), skipped };
        let range = EmployeeSort::all();
        for part in 0.. {
            let Some(partition) = EmployeesPartition::numbered(self.company.clone(), part) else { break };
            let query = Query::new(&partition, &range).large();
            let page = self.wellness.table.query_all::<Employee>(&query).await?;
            known.skipped += page.skipped;
            known.departments.extend(page.items.into_iter().map(|one| (one.user().clone(), one.department)));
        }
        Ok(known)
    }

    /// Adds a page of the registrations of an activity. After the last page, writes the row.
    async fn count(
        &self,
        activity: &ActivityOption,
        known: &Known,
        job: &Job,
        mut at: ReportProgress,
    ) -> Result<(ReportProgress, bool), Error> {
        let all = RegistrationSort::all();
        let rest = at.after.as_ref().map_or_else(|| all.clone(), |position| all.after(position));
        let query = Query::new(&activity.partition, &rest).consistent();
        let page = self.wellness.table.page::<Registration>(&query, PAGE).await?;
        let department = |one: &Registration| known.departments.get(&one.sort.0).cloned();
        let registrations = page.items.iter().map(|one| (department(one), one));
        at.counts = at.counts.with(registrations, job.started_at);
        at.skipped += page.skipped;
        at.after = page.next;
        if at.after.is_some() {
            return Ok((at, false));
        }
        let counts = std::mem::take(&mut at.counts);
        let row = ReportRow {
            name: Some(activity.name.clone()),
            activity_type: Some(activity.activity_type),
            end_date: Some(activity.end.0),
            counts: counts.clone(),
            ..self.row(RowOf::Activity(activity.partition.0.clone()))
        };
        self.wellness.dynamo.write(self.wellness.table.put(&row)?).await?;
        at.total = std::mem::take(&mut at.total).plus(counts);
        at.last = Some(activity.partition.0.clone());
        Ok((at, true))
    }

    /// Creates a row without counts.
    fn row(&self, of: RowOf) -> ReportRow {
        let sort = ReportRowSort { plan: self.plan.clone(), report: self.id, of };
        let partition = ReportsPartition(self.company.clone());
        ReportRow { partition, sort, name: None, activity_type: None, end_date: None, counts: Counts::default() }
    }

    /// Writes the sums, and replaces the previous report.
    async fn publish(&self, job: &Job, total: &Counts) -> Result<(), Error> {
        let (table, partition) = (&self.wellness.table, ReportsPartition(self.company.clone()));
        let sums = ReportRow { counts: total.clone(), ..self.row(RowOf::Total) };
        let sort = ReportSort(self.plan.clone());
        let head = PlanReport { partition, sort, report: self.id, as_of: job.started_at };
        Ok(self.wellness.dynamo.transact(vec![table.put(&sums)?, table.put(&head)?]).await?)
    }

    /// Deletes a page of rows of earlier reports. Returns whether there are no further ones.
    async fn delete_earlier(&self, at: &mut ReportProgress) -> Result<bool, Error> {
        let all = ReportRowSort::of_plan(&self.plan);
        let rest = at.after.as_ref().map_or_else(|| all.clone(), |position| all.after(position));
        let partition = ReportsPartition(self.company.clone());
        let page = self.wellness.table.page::<ReportRow>(&Query::new(&partition, &rest).consistent(), PAGE).await?;
        let earlier = page.items.iter().filter(|row| row.sort.report != self.id);
        let mut batch = BatchWrite::default();
        for row in earlier {
            batch.delete(&self.wellness.table, &Key::new(&row.partition, &row.sort))?;
        }
        self.wellness.dynamo.batch_write(batch).await.map_err(|left| left.why)?;
        at.after = page.next;
        Ok(at.after.is_none())
    }
}

impl JobRunner for Report<'_> {
    type Progress = ReportProgress;

    async fn step(&mut self, job: &Job, at: ReportProgress, _: Deadline) -> Result<Step<ReportProgress>, Error> {
        let (mut progress, mut done) = (at, job.done);
        if progress.published {
            let next = if self.delete_earlier(&mut progress).await? { Next::End } else { Next::Continue };
            return Ok(Step { progress, done, next });
        }
        let known = match self.known.take() {
            Some(known) => known,
            None => self.read().await?,
        };
        let is_next =
            |activity: &&ActivityOption| progress.last.as_ref().is_none_or(|last| activity.partition.0 > *last);
        if let Some(activity) = known.activities.iter().find(is_next) {
            let (counted, is_row) = self.count(activity, &known, job, progress).await?;
            (progress, done) = (counted, done + u64::from(is_row));
        } else {
            self.publish(job, &progress.total).await?;
            let skipped = progress.skipped + known.skipped;
            progress = ReportProgress { published: true, skipped, ..ReportProgress::default() };
        }
        self.known = Some(known);
        Ok(Step { progress, done, next: Next::Continue })
    }

    fn skipped(progress: &ReportProgress) -> u64 {
        u64::try_from(progress.skipped).unwrap_or(u64::MAX)
    }
}
