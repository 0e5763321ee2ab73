//! Executes a batch of dispatched payments (docs/decisions/execution.md).

use crate::{
    Bank, Payment, Transaction,
    model::{payment::Execution, transaction::TransactionGuard},
    service::{Order, Outcome, Reason, Service, TransactionService},
};
use function::{App, Batch, Clients, Deadline, Error, Record, SettingsReader};
use futures::{StreamExt, stream::FuturesUnordered};
use keys::{
    AccountId, RequestId, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentSort, Status},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    num::NonZeroUsize,
    time::Duration,
};
use table::{Change, Condition, Error as Store, Key, Value};

/// Time reserved to write the outcomes, after the service must have answered.
const TO_WRITE: Duration = Duration::from_secs(5);
/// Time reserved for a call to the service. No call starts later.
const TO_CALL: Duration = Duration::from_secs(15);
/// Number of consecutive attempts without an outcome after which a batch makes no further calls.
const BREAKER: usize = 5;
/// Pause before the rest of such a batch is retried.
const PAUSE: Duration = Duration::from_secs(5);
/// Time until the second attempt in seconds. It doubles with each attempt.
const FIRST_WAIT: i64 = 2 * 60;
/// Maximum time until the next attempt in seconds.
const LONGEST_WAIT: i64 = 60 * 60;

/// The bank with its transaction service.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    pub(crate) bank: Bank,
    pub(crate) service: Service,
    /// Maximum number of concurrent calls of an invocation to the service.
    pub(crate) concurrency: NonZeroUsize,
    /// Maximum number of attempts without an outcome, until an operator decides.
    pub(crate) max_attempts: u8,
}

/// Largest maximum of attempts. A payment has room for two digits.
const MOST_ATTEMPTS: u8 = 99;

impl App for Executor {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (bank, service) = (Bank::start(settings, clients), Service::start(settings, clients));
        let (concurrency, attempts) = (settings.get("EXECUTION_CONCURRENCY"), settings.get("MAX_ATTEMPTS"));
        let max_attempts = match attempts? {
            attempts @ 1..=MOST_ATTEMPTS => Some(attempts),
            _ => settings.fault(format!("MAX_ATTEMPTS must be between 1 and {MOST_ATTEMPTS}")),
        };
        Some(Self { bank: bank?, service: service?, concurrency: concurrency?, max_attempts: max_attempts? })
    }
}

impl Executor {
    pub(crate) async fn warm_up(self) {
        futures::join!(self.bank.warm_by_batch_get(), self.service.warm_up());
    }
}

/// The execution of one batch.
pub(crate) struct Run<'a> {
    executor: &'a Executor,
    batch: &'a Batch,
    /// Sequence numbers of the records of each payment. A batch can contain a payment twice.
    records: BTreeMap<(AccountId, PaymentSort), BTreeSet<String>>,
    retry: BTreeSet<String>,
    tally: Tally,
}

/// Numbers of a batch, for its log entry.
#[derive(Debug, Default)]
struct Tally {
    processed: u64,
    failed: u64,
    waiting: u64,
    contended: u64,
    /// Payments that an operator must review.
    review: u64,
    /// Payments that another run has settled or handed over again.
    overtaken: u64,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Processed,
    Failed,
    Waiting,
    /// Payments of other batches came first. The record is retried.
    Contended,
    Exhausted,
    /// The stored payment has another outcome, such as the decision of an operator.
    Contradicted,
    Overtaken,
}

impl<'a> Run<'a> {
    pub(crate) fn new(executor: &'a Executor, batch: &'a Batch) -> Self {
        let mut run =
            Self { executor, batch, records: BTreeMap::new(), retry: BTreeSet::new(), tally: Tally::default() };
        batch.records.iter().for_each(|record| run.read(record));
        run
    }

    /// Notes the payment of a record, unless the payment was not handed over. A record without a
    /// payment's key is logged and passed over.
    fn read(&mut self, record: &Record) {
        if record.new_type().is_some() && record.new_text(Payment::EXECUTION) != Some("due") {
            return;
        }
        let key = |part: Option<&str>| part.map(str::to_owned);
        let (partition, sort) = (key(record.partition_key()), key(record.sort_key()));
        let payment = partition.as_ref().zip(sort.as_ref()).and_then(|(partition, sort)| {
            Some((partition.parse::<AccountId>().ok()?, sort.parse::<PaymentSort>().ok()?))
        });
        let sequence_number = record.sequence_number();
        let Some(payment) = payment else {
            tracing::error!(sequence_number, partition, sort, "the stream record of a payment cannot be read");
            function::count("UnreadableItems", 1);
            return;
        };
        self.records.entry(payment).or_default().insert(sequence_number.to_owned());
    }

    pub(crate) fn retry_all(&mut self) {
        self.retry.extend(self.records.values().flatten().cloned());
    }

    /// Logs the numbers of the batch, and returns the sequence numbers of the records to retry.
    pub(crate) fn report(self) -> BTreeSet<String> {
        let Tally { processed, failed, waiting, contended, review, overtaken } = self.tally;
        let retried = self.retry.len();
        tracing::info!(processed, failed, waiting, contended, review, overtaken, retried, "executed payments");
        function::count("PaymentsToReview", review);
        self.retry
    }

    /// Executes the payments that are still `PENDING` and due.
    ///
    /// # Errors
    /// The switch or the payments cannot be read.
    pub(crate) async fn execute(&mut self) -> Result<(), Error> {
        // Without a service, nobody hands payments over. They come from an earlier setting.
        let is_off = self.records.is_empty() || matches!(self.executor.service, Service::None);
        if is_off || !self.executor.bank.is_dispatching().await? {
            return Ok(());
        }
        let keys: Vec<Key> = self.records.keys().map(|(account, sort)| Key::new(account, sort)).collect();
        // Unreadable payments are logged and passed over. The dispatch hands them over again.
        let found = self.executor.bank.payments.get_all::<Payment>(&keys, true).await?;
        // A function was killed after it had recorded the last attempt. The alarm fires again.
        for payment in found.items.values().filter(|payment| payment.is_exhausted()) {
            self.note(payment, Ok(Attempt::Exhausted));
        }
        // Payments with the earliest scheduled time come first.
        let mut waiting: Vec<Payment> = found.items.into_values().filter(Payment::is_due_for_execution).collect();
        waiting.sort_by(|one, other| (one.sort, &one.account).cmp(&(other.sort, &other.account)));
        let stopped = self.attempt_all(Queue::new(&self.executor.service, waiting)).await;
        if stopped {
            let pause = self.batch.deadline.with_reserve(TO_WRITE).at_most(PAUSE);
            pause.bound(std::future::pending::<()>()).await;
        }
        Ok(())
    }

    /// Attempts the payments of different accounts side by side. Returns whether the service seems
    /// unavailable. Payments that were not attempted are retried.
    async fn attempt_all(&mut self, mut queue: Queue) -> bool {
        let (executor, batch) = (self.executor, self.batch);
        let start_by = batch.deadline.with_reserve(TO_CALL + TO_WRITE);
        let until = batch.deadline.with_reserve(TO_WRITE);
        let (mut under_way, mut in_vain) = (FuturesUnordered::new(), 0);
        loop {
            while under_way.len() < executor.concurrency.get() && in_vain < BREAKER && !start_by.has_passed() {
                let Some(next) = queue.start() else { break };
                under_way.push(async move {
                    let done = executor.attempt(&next.payment, batch, until).await;
                    (next, done)
                });
            }
            let Some((queued, done)) = under_way.next().await else { break };
            queue.end(&queued);
            match &done {
                Ok(Attempt::Waiting | Attempt::Exhausted) => in_vain += 1,
                _ => in_vain = 0,
            }
            self.note(&queued.payment, done);
        }
        drop(under_way);
        for queued in queue.waiting {
            self.retry(&queued.payment);
        }
        in_vain >= BREAKER
    }

    fn retry(&mut self, payment: &Payment) {
        let numbers = self.records.get(&(payment.account.clone(), payment.sort));
        self.retry.extend(numbers.into_iter().flatten().cloned());
    }

    fn note(&mut self, payment: &Payment, done: Result<Attempt, Error>) {
        let key = payment.key();
        let (partition, sort) = (key.partition(), key.sort());
        match done {
            Ok(Attempt::Processed) => self.tally.processed += 1,
            Ok(Attempt::Failed) => self.tally.failed += 1,
            Ok(Attempt::Waiting) => self.tally.waiting += 1,
            Ok(Attempt::Contended) => {
                self.tally.contended += 1;
                self.retry(payment);
            }
            Ok(Attempt::Overtaken) => self.tally.overtaken += 1,
            Ok(Attempt::Exhausted) => {
                self.tally.review += 1;
                tracing::error!(partition, sort, "the execution of a payment has no outcome: an operator must decide");
            }
            Ok(Attempt::Contradicted) => {
                self.tally.review += 1;
                tracing::error!(
                    partition,
                    sort,
                    "the transaction service reports another outcome than the payment has"
                );
            }
            // A retry cannot help, and must not hold up the other payments.
            Err(Error::Table(Store::Unreadable(..))) => {}
            Err(error) => {
                tracing::warn!(%error, partition, sort, "the outcome of a payment could not be written");
                self.retry(payment);
            }
        }
    }
}

/// The payments of a batch that wait for their attempt, in their order. Payments that share an
/// account are attempted one after another, because they would conflict.
#[derive(Debug)]
struct Queue {
    waiting: VecDeque<Queued>,
    /// Accounts of the payments under way.
    busy: BTreeSet<AccountId>,
}

#[derive(Debug)]
struct Queued {
    payment: Payment,
    accounts: BTreeSet<AccountId>,
}

impl Queue {
    fn new(service: &Service, payments: Vec<Payment>) -> Self {
        let queued = |payment| Queued { accounts: service.accounts(&payment), payment };
        Self { waiting: payments.into_iter().map(queued).collect(), busy: BTreeSet::new() }
    }

    /// Removes the first payment that shares no account with a payment under way or before it.
    fn start(&mut self) -> Option<Queued> {
        let mut taken = self.busy.clone();
        let free = self.waiting.iter().position(|queued| {
            let is_free = queued.accounts.is_disjoint(&taken);
            taken.extend(queued.accounts.iter().cloned());
            is_free
        })?;
        let next = self.waiting.remove(free)?;
        self.busy.extend(next.accounts.iter().cloned());
        Some(next)
    }

    fn end(&mut self, ended: &Queued) {
        self.busy.retain(|account| !ended.accounts.contains(account));
    }
}

impl Payment {
    /// Whether the executor must attempt the payment now.
    fn is_due_for_execution(&self) -> bool {
        self.due.status == Status::Pending && self.execution == Some(Execution::Due)
    }
}

impl Executor {
    /// Calls the service and records the outcome.
    async fn attempt(&self, payment: &Payment, batch: &Batch, until: Deadline) -> Result<Attempt, Error> {
        let order =
            Order { payment, by_operator: payment.by_operator, now: batch.clock.now()?, until, random: &batch.random };
        let outcome = self.service.execute(&order).await;
        let by = RequestId::new(order.now.instant(), &batch.random);
        let now = batch.clock.now()?.second();
        match outcome {
            Outcome::Completed(id) => self.complete(payment, &id, by, now).await,
            Outcome::Rejected(reason) => {
                let update = self.settle(payment, Status::Failed, by, now).set(Payment::FAILURE_REASON, &reason.text());
                self.write(payment, (update, by), |found| found.due.status == Status::Failed, Attempt::Failed).await
            }
            Outcome::Contended => Ok(Attempt::Contended),
            Outcome::Unavailable(reason) => self.postpone(payment, &reason, by, now).await,
        }
    }

    /// The change to a final status. The outcome of the service is final, so the update needs only
    /// the condition that nobody has settled the payment.
    fn settle(&self, payment: &Payment, to: Status, by: RequestId, now: TimestampSeconds) -> Change {
        let due = |status| DueSort { status, payment: payment.id() };
        let update = Payment::update(&self.bank.payments, payment.key()).set(Payment::DUE, &due(to));
        let update = update.set(Payment::MOVED_BY, &by).set(Payment::SETTLED_AT, &now);
        let update = update.remove(Payment::EXECUTION).remove(Payment::NEXT_ATTEMPT_AT);
        update.only_if(Condition::is(Payment::DUE, &due(Status::Pending)))
    }

    /// Reserves the transaction id, and records it. If the function crashes in between, the next
    /// attempt gets the same id and finds its own guard.
    async fn complete(
        &self,
        payment: &Payment,
        id: &TransactionId,
        by: RequestId,
        now: TimestampSeconds,
    ) -> Result<Attempt, Error> {
        let guard = TransactionGuard::of(payment, id);
        match self.bank.dynamo.write(self.bank.payments.put_new(&guard)?).await {
            Ok(()) => {}
            Err(Store::Refused(refused)) => {
                if refused.found::<TransactionGuard>(0)?.is_some_and(|found| found != guard) {
                    let reason = Reason::new("The transaction service returned the transaction id of another payment.");
                    return self.exhaust(payment, &reason, by).await;
                }
            }
            Err(error) => return Err(error.into()),
        }
        let update = self.settle(payment, Status::Processed, by, now).set(Payment::TRANSACTION_ID, id);
        let is_done = |found: &Payment| found.transaction_id.as_ref() == Some(id);
        self.write(payment, (update.remove(Payment::FAILURE_REASON), by), is_done, Attempt::Processed).await
    }

    /// Records an attempt without an outcome. The dispatch hands the payment over again after a
    /// pause, which doubles with each attempt, or never if no attempts are left.
    async fn postpone(
        &self,
        payment: &Payment,
        reason: &Reason,
        by: RequestId,
        now: TimestampSeconds,
    ) -> Result<Attempt, Error> {
        let attempts = payment.attempts.saturating_add(1);
        if attempts >= self.max_attempts {
            return self.exhaust(payment, reason, by).await;
        }
        let update = self.held(payment, Execution::Waiting, reason, by)?;
        let update = update.set(Payment::NEXT_ATTEMPT_AT, &now.plus_seconds(wait(attempts)));
        self.write(payment, (update, by), |_| false, Attempt::Waiting).await
    }

    async fn exhaust(&self, payment: &Payment, reason: &Reason, by: RequestId) -> Result<Attempt, Error> {
        let update = self.held(payment, Execution::Exhausted, reason, by)?.remove(Payment::NEXT_ATTEMPT_AT);
        self.write(payment, (update, by), |_| false, Attempt::Exhausted).await
    }

    /// The record of an attempt that leaves the payment `PENDING`. It requires that the payment is
    /// unchanged since it was read, so that it cannot overwrite a later attempt.
    fn held(&self, payment: &Payment, to: Execution, reason: &Reason, by: RequestId) -> Result<Change, Error> {
        let update = Payment::update(&self.bank.payments, payment.key()).set(Payment::EXECUTION, Value::of(&to)?);
        let update = update.set(Payment::ATTEMPTS, i64::from(payment.attempts.saturating_add(1)));
        let update = update.set(Payment::FAILURE_REASON, &reason.text()).set(Payment::MOVED_BY, &by);
        let update = update.only_if(Condition::is(Payment::DUE, &payment.due));
        let update = update.only_if(Condition::is(Payment::EXECUTION, Value::of(&Execution::Due)?));
        Ok(match &payment.next_attempt_at {
            Some(at) => update.only_if(Condition::is(Payment::NEXT_ATTEMPT_AT, at)),
            None => update.only_if(Condition::missing(Payment::NEXT_ATTEMPT_AT)),
        })
    }

    /// Executes the update. If it is refused, `is_done` tells whether the stored payment has this
    /// outcome.
    async fn write(
        &self,
        payment: &Payment,
        (update, by): (Change, RequestId),
        is_done: impl Fn(&Payment) -> bool,
        attempt: Attempt,
    ) -> Result<Attempt, Error> {
        match self.bank.dynamo.write(update).await {
            Ok(()) => Ok(attempt),
            Err(Store::Refused(refused)) => {
                let found = match refused.found::<Payment>(0)? {
                    Some(found) => found,
                    // The archive has moved the settled payment.
                    None => match self.bank.transactions.get::<Transaction>(&payment.key()).await? {
                        Some(archived) => archived.payment(),
                        None => return Ok(Attempt::Overtaken),
                    },
                };
                // The response to the SDK's first attempt was lost.
                if found.moved_by == Some(by) {
                    return Ok(attempt);
                }
                let is_final = matches!(attempt, Attempt::Processed | Attempt::Failed);
                let is_settled = found.due.status != payment.due.status;
                Ok(if is_final && is_settled && !is_done(&found) { Attempt::Contradicted } else { Attempt::Overtaken })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the time in seconds until the next attempt: 2 minutes after the first, up to one hour.
fn wait(attempts: u8) -> i64 {
    let doublings = u32::from(attempts.saturating_sub(1)).min(10);
    FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
}
