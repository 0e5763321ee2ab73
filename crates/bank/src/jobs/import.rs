//! The steps of an import (docs/decisions/intake.md).

use crate::{
    Bank, Payment,
    model::import::{Ahead, Counts, ImportProgress, ImportedFile, Phase},
    schedule::Scheduled,
    service::MEMBERS,
};
use function::{Clock, Deadline, Error, Input};
use futures::StreamExt;
use intake::{Expected, File, Invalid, Opened, Place, RawRecord, Report, Row, Schema, Stop, Totals, described};
use jobs::{Job, JobRunner, Next, Step};
use keys::{AccountId, IdempotencyKey, Random, TimestampSeconds, bank::PaymentId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    future::ready,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use table::{Error as Store, JsonText};

/// Columns of a CSV file.
const SCHEMA: Schema<'_> =
    Schema { own: &["id", "accountId", "scheduledTime"], rest: "data", known: &MEMBERS, has_cases: false };
/// Maximum duration of a step, so that the job reports its progress in the meantime.
const STEP: Duration = Duration::from_secs(5);
/// Number of payments that are scheduled concurrently.
const SIDE_BY_SIDE: usize = 64;
/// Size of the rows after which a step ends. They are kept in memory.
const MAX_ROWS: usize = 4 * 1024 * 1024;

/// Executes the steps of an import.
pub(crate) struct Steps<'a> {
    bank: &'a Bank,
    random: Random,
    clock: Clock,
    task: ImportedFile,
    file: File,
    report: Report,
    /// The start of the file, which each run reads once.
    opened: Option<Opened>,
}

/// One record of a file.
#[derive(Input)]
struct Record {
    #[input(body)]
    id: IdempotencyKey,
    #[input(body = "accountId")]
    account: AccountId,
    #[input(body)]
    scheduled_time: TimestampSeconds,
    #[input(body, via = Box<RawValue>)]
    data: JsonText,
}

/// Result of a record.
enum Outcome {
    Blank,
    Scheduled(JsonText),
    Duplicate(JsonText),
    Rejected { id: Option<String>, reason: String, data: Option<JsonText> },
}

/// Result of the records of a step.
#[derive(Default)]
struct Part {
    counts: Counts,
    scheduled: Totals,
    duplicates: Totals,
    rejected: Totals,
    /// Rows of the report.
    rows: Vec<u8>,
    /// The place after the records. `None` if there are none.
    end: Option<Place>,
}

impl Part {
    fn add(&mut self, record: &RawRecord, outcome: Outcome) -> Result<(), Error> {
        self.end = Some(record.next);
        if !matches!(outcome, Outcome::Blank) {
            self.counts.read += 1;
        }
        match outcome {
            Outcome::Blank => {}
            Outcome::Scheduled(data) => {
                self.counts.scheduled += 1;
                self.counts.without_amount += u64::from(!self.scheduled.add_data(data.text()));
            }
            Outcome::Duplicate(data) => {
                self.counts.duplicates += 1;
                self.counts.without_amount += u64::from(!self.duplicates.add_data(data.text()));
            }
            Outcome::Rejected { id, reason, data } => {
                self.counts.rejected += 1;
                if let Some(data) = data {
                    self.rejected.add_data(data.text());
                }
                let row = Row { line: record.line, id: id.as_deref(), reason: &reason };
                serde_json::to_writer(&mut self.rows, &row).map_err(|error| Error::Internal(error.to_string()))?;
                self.rows.push(b'\n');
            }
        }
        Ok(())
    }

    /// Adds the part to the progress. Returns the rows of the report.
    fn apply(self, progress: &mut ImportProgress) -> Vec<u8> {
        progress.place = self.end.unwrap_or(progress.place);
        progress.counts += self.counts;
        progress.scheduled.add_all(&self.scheduled);
        progress.duplicates.add_all(&self.duplicates);
        progress.rejected.add_all(&self.rejected);
        self.rows
    }
}

impl Ahead {
    fn add_record(&mut self, data: &str) {
        self.scheduled += 1;
        self.without_amount += u64::from(!self.totals.add_data(data));
    }
}

impl<'a> Steps<'a> {
    pub(crate) fn new(bank: &'a Bank, random: Random, clock: Clock, task: ImportedFile) -> Self {
        let file = File::new(&bank.files, &task.bucket, &task.key, &task.tag);
        let report = Report::new(&bank.files, &task.bucket, task.report(), &random);
        Self { bank, random, clock, task, file, report, opened: None }
    }

    async fn run_phase(&mut self, job: &Job, progress: &mut ImportProgress, stop: Deadline) -> Result<Next, Stop> {
        // The report of a run whose object was replaced can still be composed.
        match progress.phase {
            Phase::Report => return self.compose(progress).await,
            Phase::End => return Ok(Next::End),
            Phase::Start | Phase::Check | Phase::Schedule => {}
        }
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => self.file.open(&SCHEMA).await?,
        };
        let done = match progress.phase {
            Phase::Check => self.check(progress, &opened, stop).await.map(|()| Next::Continue),
            Phase::Schedule => self.schedule(job, progress, &opened, stop).await,
            _ => {
                let phase = if opened.expected.is_empty() { Phase::Schedule } else { Phase::Check };
                go_to(progress, phase, &opened);
                Ok(Next::Continue)
            }
        };
        self.opened = Some(opened);
        done
    }

    /// Reads the file and counts its records and amounts. Nothing is written before this phase has
    /// ended.
    async fn check(&self, progress: &mut ImportProgress, opened: &Opened, stop: Deadline) -> Result<(), Stop> {
        let soon = stop.at_most(STEP);
        let mut records = pin!(self.file.records(opened, progress.place));
        let mut part = Part::default();
        while !soon.has_passed()
            && let Some(record) = records.next().await
        {
            let record = record?;
            part.add(&record, counted(opened, &record))?;
            // Only counts are needed.
            part.rows.clear();
        }
        part.apply(progress);
        if progress.place.position >= opened.size {
            if let Some(difference) = opened.expected.difference(progress.counts.read, &progress.scheduled) {
                return Err(Stop::File(difference));
            }
            go_to(progress, Phase::Schedule, opened);
        }
        Ok(())
    }

    /// Schedules the payments of the next records. Their order and their ends come from one stream,
    /// and only their payments are scheduled concurrently.
    async fn schedule(
        &self,
        job: &Job,
        progress: &mut ImportProgress,
        opened: &Opened,
        stop: Deadline,
    ) -> Result<Next, Stop> {
        let soon = stop.at_most(STEP);
        // After a record that cannot be scheduled, no other is started.
        let (closed, mut ahead) = (AtomicBool::new(false), Ahead::default());
        let is_open = || !closed.load(Ordering::Relaxed);
        // The first record is scheduled even if reading it took the time of a step.
        let in_time = |number| !soon.has_passed() || number == 0 && !stop.has_passed();
        let records = self.file.records(opened, progress.place).enumerate();
        let records = records.take_while(|(number, _)| ready(is_open() && in_time(*number)));
        let outcomes = records.map(|(_, record)| self.schedule_record(opened, record, job.started_at));
        let mut outcomes = pin!(outcomes.buffered(SIDE_BY_SIDE));
        let (mut part, mut next) = (Part::default(), Ok(Next::Continue));
        while let Some(outcome) = outcomes.next().await {
            match outcome {
                Ok((record, outcome)) if is_open() => {
                    part.add(&record, outcome)?;
                    closed.store(part.rows.len() >= MAX_ROWS, Ordering::Relaxed);
                }
                Ok((_, Outcome::Scheduled(data))) => ahead.add_record(data.text()),
                Err(error) if is_open() => {
                    closed.store(true, Ordering::Relaxed);
                    next = match error {
                        // What is done is written. The next step meets the error again, or not.
                        Stop::Error(error) if part.end.is_some() => {
                            tracing::warn!(%error, "an import pauses");
                            Ok(Next::Wait)
                        }
                        error => Err(error),
                    };
                }
                Ok(_) | Err(_) => {}
            }
        }
        progress.ahead = ahead;
        if next.is_ok() && part.end.is_none() && progress.place.position < opened.size {
            let reason = "no time was left for a record".to_owned();
            return Err(Error::from(Store::Unavailable(reason)).into());
        }
        let rows = part.apply(progress);
        if !rows.is_empty() {
            self.report.put_rows(&mut progress.rows, rows).await?;
        }
        if progress.place.position >= opened.size {
            progress.phase = Phase::Report;
        }
        next
    }

    async fn schedule_record(
        &self,
        opened: &Opened,
        record: Result<RawRecord, Stop>,
        now: TimestampSeconds,
    ) -> Result<(RawRecord, Outcome), Stop> {
        let record = record?;
        let outcome = self.outcome(opened, &record, now).await?;
        Ok((record, outcome))
    }

    /// Schedules the payment of a record, as the same request of an operator would.
    async fn outcome(&self, opened: &Opened, raw: &RawRecord, now: TimestampSeconds) -> Result<Outcome, Error> {
        let record = match opened.record(raw, id_of) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Outcome::Blank),
            Err(Invalid { id, reason }) => return Ok(Outcome::Rejected { id, reason, data: None }),
        };
        let Record { id, account, scheduled_time, data } = record;
        let payment = PaymentId::imported(scheduled_time, &self.task.import, &self.task.run, raw.start);
        let shard = self.bank.due.shards.pick(&self.random);
        let created_at = self.clock.now()?.second();
        let mut payment = Payment::scheduled(account, payment, shard, data.clone(), created_at);
        payment.by_operator = true;
        let scheduled = match payment.must_fit().and_then(|()| self.bank.payer.check_line(&payment)) {
            Ok(()) => self.bank.schedule_once(&mut payment, &id, now, true).await,
            Err(error) => Err(error),
        };
        let reason = match scheduled {
            Ok(Scheduled::New) => return Ok(Outcome::Scheduled(data)),
            Ok(Scheduled::Before) => return Ok(Outcome::Duplicate(data)),
            Err(Error::Invalid(faults)) => described(&faults),
            Err(Error::TooLarge(reason)) => reason,
            Err(Error::KeyReused) => {
                "The account has another payment with this id: its scheduledTime or its data differs, or its customer scheduled it.".to_owned()
            }
            Err(Error::Table(Store::Unreadable(..))) => {
                "A stored item with this id cannot be read. The log contains its key.".to_owned()
            }
            Err(error) => return Err(error),
        };
        Ok(Outcome::Rejected { id: Some(id.to_string()), reason, data: Some(data) })
    }

    async fn compose(&self, progress: &mut ImportProgress) -> Result<Next, Stop> {
        let summary =
            serde_json::to_string(&progress.last_line()).map_err(|error| Error::Internal(error.to_string()))?;
        let done = std::mem::take(&mut progress.composition);
        if let Some(composition) = self.report.compose(&progress.rows, &summary, done).await? {
            progress.composition = composition;
            return Ok(Next::Continue);
        }
        progress.phase = Phase::End;
        Ok(Next::End)
    }
}

/// Starts a phase at the first record of the file.
fn go_to(progress: &mut ImportProgress, phase: Phase, opened: &Opened) {
    *progress = ImportProgress { phase, place: opened.start, ..ImportProgress::default() };
}

/// Returns the id of a record that is not valid otherwise.
fn id_of(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: IdempotencyKey,
    }
    serde_json::from_str::<Named>(json).ok().map(|named| named.id.to_string())
}

/// Counts a record for the control totals. A record that is not valid has no amount.
fn counted(opened: &Opened, raw: &RawRecord) -> Outcome {
    let rejected = |reason| Outcome::Rejected { id: None, reason, data: None };
    if raw.values == Ok(None) {
        return Outcome::Blank;
    }
    if !Expected::has_sum(&opened.expected) {
        return rejected(String::new());
    }
    match opened.record::<Record>(raw, id_of) {
        Ok(Some(record)) => Outcome::Scheduled(record.data),
        Ok(None) => Outcome::Blank,
        Err(Invalid { reason, .. }) => rejected(reason),
    }
}

impl JobRunner for Steps<'_> {
    type Progress = ImportProgress;

    async fn step(
        &mut self,
        job: &Job,
        mut progress: ImportProgress,
        stop: Deadline,
    ) -> Result<Step<ImportProgress>, Error> {
        let next = match self.run_phase(job, &mut progress, stop).await {
            Ok(next) => next,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::File(reason)) => {
                tracing::warn!(import = %self.task.import, run = %self.task.run, reason, "a file was rejected");
                function::count("RejectedFiles", 1);
                let next = match progress.phase {
                    Phase::Check => {
                        progress = ImportProgress::default();
                        Next::End
                    }
                    // The payments of the lines before are scheduled. The report shows the others.
                    Phase::Schedule => {
                        progress.count_ahead();
                        progress.phase = Phase::Report;
                        Next::Continue
                    }
                    Phase::Start | Phase::Report | Phase::End => Next::End,
                };
                progress.fault.get_or_insert(reason);
                next
            }
        };
        let done = if progress.phase == Phase::Check { 0 } else { progress.counts.read };
        Ok(Step { progress, done, next })
    }

    fn failure(progress: &ImportProgress) -> Option<String> {
        progress.fault.clone()
    }
}
