use function::{Error, is_zero};
use intake::{Composition, Place, Report, RowObjects, Totals};
use jobs::{Job, JobBody};
use keys::{
    TimestampSeconds,
    bank::{ImportId, ImportPartition, ImportRun, ImportSort},
};
use money::{Currency, Decimal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::Key;

/// Maximum number of runs in a response. Each is a job item, usually of 1 KB.
pub(crate) const MAX_RUNS: usize = 20;

/// Prefix of the objects that are imported.
pub(crate) const INBOX: &str = "inbox/";

/// The task of an import: one version of an object in the inbox (docs/decisions/intake.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ImportedFile {
    /// Id of the import: the name of the file without its ending.
    pub import: ImportId,
    /// Run of the import.
    pub run: ImportRun,
    /// Bucket of the object.
    pub bucket: String,
    /// Key of the object.
    pub key: String,
    /// Entity tag of the object.
    pub tag: String,
}

impl ImportedFile {
    /// Primary key of the job.
    pub fn job_key(&self) -> Key {
        Key::new(&ImportPartition(self.import.clone()), &ImportSort(self.run.clone()))
    }

    /// Name of the report of rejected lines.
    pub(crate) fn report(&self) -> String {
        format!("{}/{}", self.import, self.run)
    }
}

/// Phase of an import. Each phase reads the whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    /// The file has not been opened.
    #[default]
    Start,
    /// Compares the file with the totals that its sender expects. Writes nothing.
    Check,
    /// Schedules the payments.
    Schedule,
    /// Composes the report.
    Report,
    /// Nothing is left to do.
    End,
}

/// Progress of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ImportProgress {
    pub(crate) phase: Phase,
    /// Place in the file. All records that start before it are done.
    pub(crate) place: Place,
    pub(crate) counts: Counts,
    pub(crate) scheduled: Totals,
    pub(crate) duplicates: Totals,
    pub(crate) rejected: Totals,
    pub(crate) ahead: Ahead,
    /// The objects with rows of the report.
    pub(crate) rows: RowObjects,
    pub(crate) composition: Composition,
    /// Reason for which the file cannot be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<String>,
}

/// Payments after the position that the last step has scheduled. The next step reads their lines
/// again and counts them, unless the object was replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Ahead {
    pub(crate) scheduled: u64,
    pub(crate) without_amount: u64,
    pub(crate) totals: Totals,
}

/// Numbers of records. Blank lines and the header are not records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Counts {
    /// Number of records that were read.
    pub read: u64,
    /// Number of payments that this run scheduled.
    pub scheduled: u64,
    /// Number of records that had been scheduled before, with the same content.
    pub duplicates: u64,
    /// Number of records that are not valid, or whose id was used for another payment.
    pub rejected: u64,
    /// Number of scheduled records and duplicates that no transaction service can pay.
    pub without_amount: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.scheduled += other.scheduled;
        self.duplicates += other.duplicates;
        self.rejected += other.rejected;
        self.without_amount += other.without_amount;
    }
}

/// Sum of the amounts of records in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ImportTotal")]
pub(crate) struct Total {
    #[schemars(extend("enum" = ["scheduled", "duplicate", "rejected"]))]
    outcome: &'static str,
    currency: Currency,
    amount: Decimal,
}

/// Last line of a report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastLine<'a> {
    #[serde(flatten)]
    counts: Counts,
    totals: Vec<Total>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl ImportProgress {
    /// Counts what no further step will read.
    pub(crate) fn count_ahead(&mut self) {
        let Ahead { scheduled, without_amount, totals } = std::mem::take(&mut self.ahead);
        self.counts += Counts { read: scheduled, scheduled, without_amount, ..Counts::default() };
        self.scheduled.add_all(&totals);
    }

    pub(crate) fn last_line(&self) -> LastLine<'_> {
        LastLine { counts: self.counts, totals: self.totals(), reason: self.fault.as_deref() }
    }

    fn totals(&self) -> Vec<Total> {
        let of = |outcome, totals: &Totals| -> Vec<Total> {
            totals.sums().map(|sum| Total { outcome, currency: sum.currency(), amount: sum.amount() }).collect()
        };
        let kinds = [("scheduled", &self.scheduled), ("duplicate", &self.duplicates), ("rejected", &self.rejected)];
        kinds.into_iter().flat_map(|(outcome, totals)| of(outcome, totals)).collect()
    }
}

/// An import: one of its runs, and the runs before it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportBody {
    #[serde(flatten)]
    pub(crate) run: RunBody,
    /// This run and the runs before it, newest first.
    #[schemars(length(max = MAX_RUNS))]
    pub(crate) runs: Vec<RunBody>,
    /// The run before the last one of `runs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) earlier_run: Option<ImportRun>,
    /// Number of runs that cannot be read.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    pub(crate) skipped: usize,
}

/// A run of an import.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportRun")]
pub struct RunBody {
    #[serde(flatten)]
    job: JobBody,
    import_id: ImportId,
    run: ImportRun,
    started_at: TimestampSeconds,
    #[serde(flatten)]
    counts: Counts,
    totals: Vec<Total>,
    /// Number of lines that the import has worked through, with the header and blank lines.
    lines: u64,
    /// Location of the report of rejected lines, such as
    /// `s3://inbox/reports/morning/0055AED6.jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
}

impl RunBody {
    /// Describes the job of a run.
    ///
    /// # Errors
    /// The progress cannot be deserialized.
    pub(crate) fn of(job: Job, file: ImportedFile) -> Result<Self, Error> {
        // What the check counts was neither scheduled nor rejected.
        let progress: ImportProgress = job.progress()?;
        let progress = if progress.phase == Phase::Check { ImportProgress::default() } else { progress };
        let report =
            (progress.phase == Phase::End).then(|| format!("s3://{}/{}", file.bucket, Report::key(&file.report())));
        Ok(Self {
            started_at: job.started_at,
            totals: progress.totals(),
            counts: progress.counts,
            lines: progress.place.line,
            report,
            import_id: file.import,
            run: file.run,
            job: job.into(),
        })
    }
}
