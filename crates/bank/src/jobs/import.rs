//! The steps of an import (docs/decisions/intake.md).

use crate::{
    Bank, Payment,
    model::import::{Ahead, Counts, ImportProgress, ImportedFile, Phase},
    schedule::Scheduled,
};
use function::{Deadline, Error, Fields, Input};
use futures::{
    StreamExt,
    future::ready,
    stream::{self, FuturesOrdered},
};
use intake::{Expected, File, Invalid, Line, Opened, Range, Report, Row, Stop, Totals, described};
use jobs::{Job, JobRunner, Next, Step};
use keys::{AccountId, IdempotencyKey, Random, TimestampSeconds, bank::PaymentId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    ops,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use table::{Error as Store, JsonText};

/// Columns of a CSV file that are not members of `data`.
const COLUMNS: [&str; 3] = ["id", "accountId", "scheduledTime"];
/// Maximum duration of a step, so that the job reports its progress in the meantime.
const STEP: Duration = Duration::from_secs(5);
/// Size of the ranges that the workers read: for scheduling and for checking.
const SCHEDULED_RANGE: u64 = 128 * 1024;
const CHECKED_RANGE: u64 = 1024 * 1024;
/// Number of workers, each with its own range.
const WORKERS: usize = 4;
/// Number of payments that a worker schedules concurrently.
const SIDE_BY_SIDE: usize = 16;
/// Size of the rows after which a step ends. They are kept in memory.
const MAX_ROWS: usize = 4 * 1024 * 1024;

/// Executes the steps of an import.
pub(crate) struct Steps<'a> {
    bank: &'a Bank,
    random: Random,
    task: ImportedFile,
    file: File,
    report: Report,
    /// The start of the file, which each run reads once.
    opened: Option<Opened>,
}

/// One record of a file.
struct Record {
    id: IdempotencyKey,
    account: AccountId,
    scheduled_time: TimestampSeconds,
    data: JsonText,
}

impl Input for Record {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (id, account) = (fields.body("id"), fields.body("accountId"));
        let scheduled_time = fields.body("scheduledTime");
        let data = fields.body::<Box<RawValue>>("data").map(JsonText::from);
        Some(Self { id: id?, account: account?, scheduled_time: scheduled_time?, data: data? })
    }
}

/// Result of a line.
enum Outcome {
    Blank,
    Scheduled(JsonText),
    Duplicate(JsonText),
    Rejected { id: Option<String>, reason: String, data: Option<JsonText> },
}

/// Result of a range, or of its first lines.
#[derive(Default)]
struct Part {
    counts: Counts,
    scheduled: Totals,
    duplicates: Totals,
    rejected: Totals,
    lines: u64,
    /// Lines after the end of an incomplete part.
    ahead: Ahead,
    /// Rejected lines. Their numbers count from the start of the range.
    rows: Vec<(u64, Option<String>, String)>,
    end: u64,
    is_complete: bool,
}

impl Part {
    fn add(&mut self, outcome: Outcome) {
        self.lines += 1;
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
                self.rows.push((self.lines, id, reason));
            }
        }
    }

    /// Adds the part to the progress. Returns the rows with the numbers of their lines.
    fn apply(self, progress: &mut ImportProgress) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        for (line, id, reason) in &self.rows {
            let row = Row { line: progress.line + line, id: id.as_deref(), reason };
            serde_json::to_writer(&mut text, &row).map_err(|error| Error::Internal(error.to_string()))?;
            text.push(b'\n');
        }
        progress.line += self.lines;
        progress.position = self.end;
        progress.counts += self.counts;
        progress.scheduled.add_all(&self.scheduled);
        progress.duplicates.add_all(&self.duplicates);
        progress.rejected.add_all(&self.rejected);
        Ok(text)
    }
}

impl Ahead {
    fn add_line(&mut self, data: &str) {
        let is_payable = self.totals.add_data(data);
        self.add(&Self { scheduled: 1, without_amount: u64::from(!is_payable), ..Self::default() });
    }

    fn add_part(&mut self, part: &Part) {
        let Counts { scheduled, without_amount, .. } = part.counts;
        let totals = part.scheduled.clone();
        self.add(&Self { scheduled, without_amount: without_amount.min(scheduled), totals });
        self.add(&part.ahead);
    }
}

/// Ranges of this size from a position to the end of the file.
fn ranges(from: u64, size: u64, step: u64) -> impl Iterator<Item = ops::Range<u64>> {
    let next = move |start: u64| (start < size).then(|| start..start.saturating_add(step).min(size));
    std::iter::successors(next(from), move |range| next(range.end))
}

impl<'a> Steps<'a> {
    pub(crate) fn new(bank: &'a Bank, random: Random, task: ImportedFile) -> Self {
        let file = File::new(&bank.files, &task.bucket, &task.key, &task.tag);
        let report = Report::new(&bank.files, &task.bucket, task.report(), &random);
        Self { bank, random, task, file, report, opened: None }
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
            None => self.file.open(&COLUMNS, "data").await?,
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
        let ranges = ranges(progress.position, opened.size, CHECKED_RANGE).take_while(|_| !soon.has_passed());
        let mut parts = stream::iter(ranges).map(|range| self.check_range(opened, range)).buffered(WORKERS);
        while let Some(part) = parts.next().await {
            part?.apply(progress)?;
        }
        if progress.position >= opened.size {
            if let Some(difference) = opened.expected.difference(progress.counts.read, &progress.scheduled) {
                return Err(Stop::File(difference));
            }
            go_to(progress, Phase::Schedule, opened);
        }
        Ok(())
    }

    async fn check_range(&self, opened: &Opened, range: ops::Range<u64>) -> Result<Part, Stop> {
        let range = self.file.read(opened, range).await?;
        let mut part = Part { end: range.end(), is_complete: true, ..Part::default() };
        for line in range.lines() {
            part.add(counted(opened, &line));
            // A range of short lines has up to half a million rows, and only counts are needed.
            part.rows.clear();
        }
        part.end = part.end.max(range.end());
        Ok(part)
    }

    /// Schedules the payments of the next ranges.
    async fn schedule(
        &self,
        job: &Job,
        progress: &mut ImportProgress,
        opened: &Opened,
        stop: Deadline,
    ) -> Result<Next, Stop> {
        let soon = stop.at_most(STEP);
        // After a range that cannot be scheduled to its end, no other is started.
        let (closed, mut ahead) = (AtomicBool::new(false), Ahead::default());
        let is_open = || !closed.load(Ordering::Relaxed);
        let ranges =
            ranges(progress.position, opened.size, SCHEDULED_RANGE).take_while(|_| is_open() && !soon.has_passed());
        let read = |range: ops::Range<u64>| async move { (range.start, self.file.read(opened, range).await) };
        // After a range that cannot be read, no other is scheduled: its payments would not be
        // counted if the object was replaced.
        let mut failed = false;
        let is_wanted =
            |(_, read): &(u64, Result<Range, Stop>)| ready(is_open() && !std::mem::replace(&mut failed, read.is_err()));
        let run = |(start, range): (u64, Result<Range, Stop>)| async move {
            self.schedule_range(opened, (start, range?), job.started_at, stop).await
        };
        let read = stream::iter(ranges).map(read).buffered(WORKERS).take_while(is_wanted);
        let mut parts = pin!(read.map(run).buffered(WORKERS));
        let (mut rows, mut next) = (Vec::new(), Next::Continue);
        let first = progress.position;
        while let Some(part) = parts.next().await {
            match part {
                Ok(part) if is_open() => {
                    ahead.add(&part.ahead);
                    let is_complete = part.is_complete;
                    rows.extend(part.apply(progress)?);
                    closed.store(!is_complete || rows.len() >= MAX_ROWS, Ordering::Relaxed);
                }
                Ok(part) => ahead.add_part(&part),
                // What is done is written. The next step meets the error again, or not.
                Err(error) if progress.position > first => {
                    tracing::warn!(%error, "an import pauses");
                    next = if matches!(error, Stop::File(_)) { Next::Continue } else { Next::Wait };
                    closed.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        progress.ahead = ahead;
        if progress.position == first && first < opened.size {
            let reason = "no time was left for a line".to_owned();
            return Err(Error::from(Store::Unavailable(reason)).into());
        }
        if !rows.is_empty() {
            self.report.put_rows(&mut progress.rows, rows).await?;
        }
        if progress.position >= opened.size {
            progress.phase = Phase::Report;
        }
        Ok(next)
    }

    async fn schedule_range(
        &self,
        opened: &Opened,
        (first, range): (u64, Range),
        now: TimestampSeconds,
        stop: Deadline,
    ) -> Result<Part, Stop> {
        let mut part = Part { end: range.end(), is_complete: true, ..Part::default() };
        let (mut waiting, mut under_way) = (range.lines().peekable(), FuturesOrdered::new());
        let mut end = None;
        loop {
            while under_way.len() < SIDE_BY_SIDE && !stop.has_passed() {
                let Some(line) = waiting.next() else { break };
                under_way.push_back(self.schedule_line(opened, line, now));
            }
            let Some((line_end, outcome)) = under_way.next().await else { break };
            match outcome {
                Ok(outcome) => part.add(outcome),
                // The lines before this one are done.
                Err(error) if end.is_some() => {
                    tracing::warn!(%error, "an import pauses");
                    part.is_complete = false;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            end = Some(line_end);
        }
        while let Some((_, outcome)) = under_way.next().await {
            if let Ok(Outcome::Scheduled(data)) = outcome {
                part.ahead.add_line(data.text());
            }
        }
        if !part.is_complete || waiting.peek().is_some() {
            part.is_complete = false;
            part.end = end.unwrap_or(first);
        }
        Ok(part)
    }

    /// Schedules the payment of a line. Returns the outcome with the position after the line.
    async fn schedule_line(
        &self,
        opened: &Opened,
        line: Line<'_>,
        now: TimestampSeconds,
    ) -> (u64, Result<Outcome, Error>) {
        (line.end, self.outcome(opened, &line, now).await)
    }

    /// Schedules the payment of a line, as the same request of an operator would.
    async fn outcome(&self, opened: &Opened, line: &Line<'_>, now: TimestampSeconds) -> Result<Outcome, Error> {
        let record = match opened.record(line, id_of) {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Outcome::Blank),
            Err(Invalid { id, reason }) => return Ok(Outcome::Rejected { id, reason, data: None }),
        };
        let Record { id, account, scheduled_time, data } = record;
        let payment = PaymentId::imported(scheduled_time, &self.task.import, &self.task.run, line.start);
        let shard = self.bank.due.shards.pick(&self.random);
        let mut payment = Payment::scheduled(account, payment, shard, data.clone(), now);
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

/// Starts a phase at the first line of the file.
fn go_to(progress: &mut ImportProgress, phase: Phase, opened: &Opened) {
    *progress = ImportProgress { phase, position: opened.start, line: opened.lines, ..ImportProgress::default() };
}

/// Returns the id of a record that is not valid otherwise.
fn id_of(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: IdempotencyKey,
    }
    serde_json::from_str::<Named>(json).ok().map(|named| named.id.to_string())
}

/// Counts a line for the control totals. A line that is not valid has no amount.
fn counted(opened: &Opened, line: &Line<'_>) -> Outcome {
    let is_blank = line.text.is_ok_and(|text| text.trim().is_empty());
    if is_blank {
        return Outcome::Blank;
    }
    let rejected = |reason| Outcome::Rejected { id: None, reason, data: None };
    if !Expected::has_sum(&opened.expected) {
        return rejected(String::new());
    }
    match opened.record::<Record>(line, id_of) {
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
