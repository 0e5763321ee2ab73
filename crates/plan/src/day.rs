//! The bank's whole day: rates, shards, warm throughput, storage and cost.
//!
//! The units of each phase are the declared costs of the access patterns. A read is declared for a
//! query that returns one payment, so the planned reads are upper bounds.
use std::fmt::Write;

use super::rates::{Load, UNITS_A_SHARD, peak, shards, warm};
use bank::{
    Case, Pattern,
    patterns::{
        archive_settled_payments, dispatch_due_payments, execute_payment, list_transactions_by_date, schedule_payment,
    },
};
use clap::Args;
use ledger::patterns::process_payment;
use table::{
    Projection, Units,
    cost::{Cost, read, read_eventually},
};

use super::{
    MAX_PAYMENTS, PlanOptions,
    price::{Dollars, Prices},
};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Interval of the dispatch. The payments that arrive in an interval are claimed in the next one.
const WINDOW: u64 = 2 * MINUTE;
/// Start of the archive of the previous day, after B14 has started the close.
const ARCHIVE: u64 = 15 * MINUTE;
/// Start of the peak.
const INTAKE: u64 = HOUR;
/// The rest of the day's payments arrive in these hours.
const DAYTIME: (u64, u64) = (6 * HOUR, 18 * HOUR);

/// Size of an index entry, an idempotency record or a transaction guard in bytes.
const ENTRY: u64 = 300;
/// Bytes that DynamoDB bills for each item and each index entry in addition to its size.
const OVERHEAD: u64 = 100;
const GIBIBYTE: u64 = 1 << 30;
pub(super) const DAYS_A_MONTH: u64 = 30;

const PAYMENTS: &str = "PaymentScheduler";
const HISTORY: &str = "TransactionHistory";
/// Tables and indexes of the bank that hold payments, with the setting of the deployment.
const PLACES: [&str; 5] =
    [PAYMENTS, "PaymentScheduler/GSI1", HISTORY, "TransactionHistory/GSI1", "TransactionHistory/GSI2"];

/// Table and indexes of the ledger's transactions.
const LEDGER: [&str; 3] = ["FinancialTransactions", "FinancialTransactions/GSI1", "FinancialTransactions/GSI2"];
/// Size of an account, a header or a leg of the ledger in bytes. All sizes up to 1 KB consume the
/// same units.
const LEDGER_ITEM: usize = 500;

/// Warm throughput of a new on-demand table or index (DynamoDB Developer Guide, "Understanding
/// DynamoDB warm throughput").
const NEW_READS: u64 = 12_000;
const NEW_WRITES: u64 = 4_000;

/// The bank's day.
#[derive(Debug, Args)]
pub(super) struct DayOptions {
    /// Number of payments that arrive from 01:00
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(0..=MAX_PAYMENTS))]
    intake: u64,
    /// Time in which they arrive, in minutes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=300))]
    intake_minutes: u64,
    /// Number of payments that arrive from 06:00 to 18:00
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(0..=MAX_PAYMENTS))]
    daytime: u64,
    /// Time in which the close archives the previous day from 00:15, in minutes
    #[arg(long, default_value_t = 45, value_parser = clap::value_parser!(u64).range(1..=300))]
    archive_minutes: u64,
    /// Number of shards of the due index
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    shards: u64,
}

/// A part of the day with a constant rate.
struct Phase {
    name: &'static str,
    from: u64,
    until: u64,
    payments: u64,
    /// Cost of one payment.
    cost: Cost,
}

/// Read or write units of a cost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Read,
    Write,
}

/// The warm throughput of a table or an index. `None` is the value of a new table.
pub(super) struct Warm {
    place: &'static str,
    read: Option<u64>,
    write: Option<u64>,
}

/// The plan of a day with one projection of the due index.
pub(super) struct Day<'a> {
    options: &'a PlanOptions,
    case: Case,
    phases: Vec<Phase>,
    /// The phases in the ledger, if the ledger is the transaction service.
    ledger: Vec<Phase>,
}

impl Phase {
    fn load(&self, place: &str, kind: Kind) -> Load {
        let units = self.cost.places().filter(|(known, ..)| *known == place).map(|(_, read, write)| match kind {
            Kind::Read => read,
            Kind::Write => write,
        });
        let each = units.fold(Units::ZERO, |sum, units| sum + units);
        Load { from: self.from, until: self.until, units: each.times(self.payments).rounded_up() }
    }

    fn per_second(&self, place: &str, kind: Kind) -> u64 {
        self.load(place, kind).per_second()
    }
}

/// Declared cost of the first calls of an access pattern.
fn declared(pattern: &Pattern, case: &Case) -> Cost {
    pattern.calls[0].cost_of(case)
}

/// Declared cost of the ledger's transaction of a payment: a debit and a credit.
pub(super) fn transferred() -> Cost {
    process_payment::PATTERN.calls[0].cost_of(&with_items(0))
}

/// The ledger's case of a payment, or of a list with this number of items.
pub(super) fn with_items(items: usize) -> ledger::Case {
    let (account, of_user, transaction, of_status, leg) =
        (LEDGER_ITEM, LEDGER_ITEM, LEDGER_ITEM, LEDGER_ITEM, LEDGER_ITEM);
    ledger::Case {
        account,
        of_user,
        transaction,
        of_status,
        leg,
        of_account: leg,
        reversals: 0,
        inbox: 0,
        hold: 0,
        of_hold: 0,
        legs: 2,
        items,
        total: 0,
        totals: 0,
        shards: 0,
        merchant: false,
    }
}

/// Cost of the close's comparison of a payment with its transaction in the ledger (B19): the
/// header with strong consistency, and the missing reversal.
pub(super) fn compared() -> Cost {
    Cost::default().read(LEDGER[0], read(LEDGER_ITEM) + read_eventually(0))
}

/// Units of the phases on these tables and indexes.
fn sum(phases: &[Phase], places: &[&str], kind: Kind) -> u64 {
    let of = |place: &str| phases.iter().map(|phase| phase.load(place, kind).units).sum::<u64>();
    places.iter().map(|place| of(place)).sum()
}

fn clock(second: u64) -> String {
    format!("{:02}:{:02}", second / HOUR, second % HOUR / MINUTE)
}

/// A column for each utilisation.
fn joined(utilisations: &[u64], column: impl Fn(u64) -> String) -> String {
    utilisations.iter().map(|percent| column(*percent)).collect::<Vec<_>>().concat()
}

impl<'a> Day<'a> {
    pub(super) fn new(options: &'a PlanOptions, projection: Projection) -> Self {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (item, entry) = (bytes(options.kilobytes * 1_024), bytes(ENTRY));
        let case = Case { item, entry, projection, shards: 1, items: 1, keyed: true, run: 0 };
        let DayOptions { intake, intake_minutes, daytime, archive_minutes, .. } = options.day;
        let phase = |name, from, until, payments, cost| Phase { name, from, until, payments, cost };
        let archived = ARCHIVE + archive_minutes * MINUTE;
        // The import B12 writes each line as B1 with an Idempotency-Key. The close counts like B7.
        let mut phases = vec![
            phase("archive", ARCHIVE, archived, intake + daytime, declared(&archive_settled_payments::PATTERN, &case)),
            phase("close", ARCHIVE, archived, intake + daytime, declared(&list_transactions_by_date::PATTERN, &case)),
        ];
        let mut ledger = vec![phase("close", ARCHIVE, archived, intake + daytime, compared())];
        let end = INTAKE + intake_minutes * MINUTE;
        for (from, until, payments) in [(INTAKE, end, intake), (DAYTIME.0, DAYTIME.1, daytime)] {
            let (next, last) = (from + WINDOW, until + WINDOW);
            phases.push(phase("intake", from, until, payments, declared(&schedule_payment::PATTERN, &case)));
            phases.push(phase("dispatch", next, last, payments, declared(&dispatch_due_payments::PATTERN, &case)));
            phases.push(phase("execution", next, last, payments, declared(&execute_payment::PATTERN, &case)));
            ledger.push(phase("execution", next, last, payments, transferred()));
        }
        Self { options, case, phases, ledger }
    }

    /// The highest rate of a table or an index.
    fn peak(&self, place: &str, kind: Kind) -> u64 {
        let phases = self.phases.iter().chain(&self.ledger);
        let loads: Vec<_> = phases.map(|phase| phase.load(place, kind)).collect();
        peak(&loads)
    }

    /// Units of the whole day in the bank's tables.
    pub(super) fn units(&self, kind: Kind) -> u64 {
        sum(&self.phases, &PLACES, kind)
    }

    /// Units of the whole day in the ledger.
    pub(super) fn ledger_units(&self, kind: Kind) -> u64 {
        sum(&self.ledger, &LEDGER, kind)
    }

    /// The parameter `WarmWriteUnits` of the ledger's stack, which applies to its table and
    /// indexes. 0 is the value of a new table.
    pub(super) fn ledger_warm(&self, percent: u64) -> u64 {
        let peaks = LEDGER.iter().filter_map(|place| warm(self.peak(place, Kind::Write), percent, NEW_WRITES));
        peaks.max().unwrap_or_default()
    }

    /// Rate of the reads while the transaction service is down: each dispatch reads every `PENDING`
    /// payment.
    fn retry_reads(&self) -> u64 {
        let each = table::cost::read_eventually(self.case.item);
        each.units().times(self.options.day.intake).rounded_up().div_ceil(WINDOW)
    }

    /// The warm throughput of each table and index.
    pub(super) fn warm(&self, percent: u64) -> Vec<Warm> {
        let of = |place| {
            let retries = if place == PAYMENTS { self.retry_reads() } else { 0 };
            Warm {
                place,
                read: warm(self.peak(place, Kind::Read).max(retries), percent, NEW_READS),
                write: warm(self.peak(place, Kind::Write), percent, NEW_WRITES),
            }
        };
        PLACES.into_iter().map(of).collect()
    }

    /// The parameters `WarmReadUnits` and `WarmWriteUnits` of the stack, which apply to every table
    /// and index. 0 is the value of a new table.
    pub(super) fn parameters(&self, percent: u64) -> (u64, u64) {
        let warm = self.warm(percent);
        let most = |of: fn(&Warm) -> Option<u64>| warm.iter().filter_map(of).max().unwrap_or_default();
        (most(|warm| warm.read), most(|warm| warm.write))
    }

    /// The number of shards of the due index.
    pub(super) fn shards(&self, percent: u64) -> u64 {
        shards(self.peak(PLACES[1], Kind::Write).max(self.peak(PLACES[3], Kind::Write)), percent)
    }

    /// One-off price of the parameters.
    fn fee(&self, percent: u64, prices: &Prices) -> Dollars {
        let (read, write) = self.parameters(percent);
        let more = prices.warm_write.times(write.saturating_sub(NEW_WRITES));
        let more = more.plus(prices.warm_read.times(read.saturating_sub(NEW_READS)));
        PLACES.iter().fold(Dollars::ZERO, |sum, _| sum.plus(more))
    }

    /// Bytes that a payment adds: the item, its entries of GSI1 and GSI2, the idempotency record
    /// and the guard of the transaction id.
    fn bytes(&self) -> u64 {
        let item = self.options.kilobytes * 1_024;
        let entry = match self.case.projection {
            Projection::All => item,
            Projection::KeysOnly | Projection::Narrow => ENTRY,
        };
        item + entry + 3 * ENTRY + 5 * OVERHEAD
    }

    fn rates(&self, text: &mut String, utilisations: &[u64]) {
        let columns = joined(utilisations, |percent| format!("{:>14}", format!("shards {percent} %")));
        let _ = writeln!(
            text,
            "phase      UTC          table               payments/s  table W/s  GSI1 W/s  per shard{columns}  table R/s  GSI1 R/s"
        );
        for phase in &self.phases {
            for table in [PAYMENTS, HISTORY] {
                let index = format!("{table}/GSI1");
                let rate = |place: &str, kind| phase.per_second(place, kind);
                let both = [Kind::Read, Kind::Write].map(|kind| (rate(table, kind), rate(&index, kind)));
                if both != [(0, 0); 2] {
                    let time = format!("{}-{}", clock(phase.from), clock(phase.until));
                    let payments = phase.payments.div_ceil(phase.until - phase.from);
                    self.row(text, utilisations, &format!("{:9}  {time}  {table:18}  {payments:10}", phase.name), both);
                }
            }
        }
        for table in [PAYMENTS, HISTORY] {
            let index = format!("{table}/GSI1");
            let both = [Kind::Read, Kind::Write].map(|kind| (self.peak(table, kind), self.peak(&index, kind)));
            self.row(text, utilisations, &format!("peak                    {table:18}            "), both);
        }
    }

    fn row(&self, text: &mut String, utilisations: &[u64], start: &str, [reads, writes]: [(u64, u64); 2]) {
        let needed = joined(utilisations, |percent| format!("{:14}", shards(writes.1, percent)));
        let shard = writes.1.div_ceil(self.options.day.shards);
        let _ =
            writeln!(text, "{start}  {:9}  {:8}  {shard:9}{needed}  {:9}  {:8}", writes.0, writes.1, reads.0, reads.1);
    }

    fn backlog(&self, text: &mut String) {
        let (payments, each) = (self.options.day.intake, declared(&dispatch_due_payments::PATTERN, &self.case));
        let claim = Phase { name: "claim", from: 0, until: WINDOW, payments, cost: each };
        let (table, index) = (claim.per_second(PLACES[0], Kind::Write), claim.per_second(PLACES[1], Kind::Write));
        let limit = UNITS_A_SHARD.saturating_mul(self.options.day.shards);
        let seconds = claim.load(PLACES[1], Kind::Write).units.div_ceil(limit);
        let _ = writeln!(
            text,
            "\nIf {payments} payments are due at the same time: to claim all of them in one window of {WINDOW} s, the table needs \
             {table} W/s, the index {index} W/s and {} shards. {} shards accept the claims in {seconds} s.",
            shards(index, 100),
            self.options.day.shards
        );
    }

    fn capacity(&self, text: &mut String, percent: u64) {
        let _ = writeln!(
            text,
            "\nWarm throughput at {percent} % utilisation; - means that a new table or index has enough ({NEW_WRITES} W/s, {NEW_READS} R/s)"
        );
        for Warm { place, read, write } in self.warm(percent) {
            let [write, read] = [write, read].map(|units| units.map_or("-".to_owned(), |units| units.to_string()));
            let _ = writeln!(text, "{place:24}  {write:>6} W/s  {read:>6} R/s");
        }
        let (read, write) = self.parameters(percent);
        let fee = self.fee(percent, &self.options.prices).cents();
        let _ = writeln!(
            text,
            "Parameters, at least: WriteShards={0} ReadShards={0} WarmWriteUnits={write} WarmReadUnits={read}. Warm throughput applies to all {1} tables and indexes, for {fee} dollars once.",
            self.shards(percent),
            PLACES.len()
        );
        let _ = writeln!(
            text,
            "The reads include {} R/s of the dispatch while the transaction service is down.",
            self.retry_reads()
        );
    }

    fn cost(&self, text: &mut String) {
        let prices = &self.options.prices;
        let (written, read) = (self.units(Kind::Write), self.units(Kind::Read));
        let day = prices.write.per_million(written).plus(prices.read.per_million(read));
        let bytes = self.bytes().saturating_mul(self.options.day.intake + self.options.day.daytime);
        let [gigabytes, month] = [1, DAYS_A_MONTH].map(|days| bytes.saturating_mul(days).div_ceil(GIBIBYTE));
        let stored = prices.storage.plus(prices.recovery).times(month);
        let _ = writeln!(
            text,
            "\nUnits: {written} W and {read} R a day, {} dollars a day, {} dollars a month of {DAYS_A_MONTH} days.\n\
             Storage: {gigabytes} GB more each day, {month} GB more each month. What a month adds costs {} dollars in each later month, with point-in-time recovery.",
            day.cents(),
            day.times(DAYS_A_MONTH).cents(),
            stored.cents()
        );
    }

    /// The load and the cost of the ledger, in addition to those of the bank.
    fn ledger(&self, text: &mut String, percent: u64) {
        let prices = &self.options.prices;
        let (written, read) = (self.ledger_units(Kind::Write), self.ledger_units(Kind::Read));
        let day = prices.write.per_million(written).plus(prices.read.per_million(read));
        let [table, by_time, by_key] = LEDGER.map(|place| self.peak(place, Kind::Write));
        let _ = writeln!(
            text,
            "With TransactionService=ledger, FinancialTransactions needs in addition {table} W/s, GSI1 {by_time} W/s and GSI2 {by_key} W/s, \
             and {} R/s. At {percent} % utilisation: WarmWriteUnits={} of the ledger.\n\
             Units: {written} W and {read} R a day, {} dollars a day, {} dollars a month. This excludes the storage of the ledger. With TransactionService=http, the cost is that of the bank alone.",
            self.peak(LEDGER[0], Kind::Read),
            self.ledger_warm(percent),
            day.cents(),
            day.times(DAYS_A_MONTH).cents(),
        );
    }
}

/// Returns the plan of the day for both projections.
pub(super) fn text(options: &PlanOptions, utilisations: &[u64]) -> String {
    let DayOptions { intake, intake_minutes, daytime, shards, .. } = options.day;
    let mut text = format!(
        "{intake} payments of {} KB in {intake_minutes} minutes from {}, {daytime} more from {} to {}; {shards} shards.\n\
         R and W are read and write request units. Each payment is dispatched in the window after its arrival, and executed at once.\n\
         Execution has the cost of B11 in batches of one payment. The archive and the close process the payments of the previous day.\n",
        options.kilobytes,
        clock(INTAKE),
        clock(DAYTIME.0),
        clock(DAYTIME.1),
    );
    let lowest = utilisations.iter().copied().min().unwrap_or(100);
    for (name, projection) in [("KEYS_ONLY", Projection::KeysOnly), ("ALL", Projection::All)] {
        let day = Day::new(options, projection);
        let _ = writeln!(text, "\nIndex projection {name}\n");
        day.rates(&mut text, utilisations);
        day.backlog(&mut text);
        day.capacity(&mut text, lowest);
        day.cost(&mut text);
        day.ledger(&mut text, lowest);
    }
    text
}
