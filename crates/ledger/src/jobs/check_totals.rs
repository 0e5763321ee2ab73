//! Compares the daily totals with the transactions, for each day that lies in the window
//! ([decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    Ledger, Total, Transaction,
    model::{
        reconciliation::{Discrepancy, Fault, Kind, Reconciliation},
        total::{Counted, Sums, SumsById, TotalId, sums_of},
        totals_progress::{ExpectedTotal, TotalsProgress},
    },
};
use function::{Deadline, Error};
use keys::{
    Day,
    ledger::{CreatedSort, FindingSort, TransactionStatus},
    totals::{TotalPartition, TotalScope, TotalSort},
};
use std::{collections::BTreeSet, time::Duration};
use table::{Key, Query};
use tokio::time::sleep;

/// Maximum number of transactions that one call reads.
const PAGE: usize = 500;
/// Maximum number of pages that a step reads.
const PAGES: usize = 20;
/// Maximum size of the expected totals in the job, in bytes of text. A pass over the transactions
/// of a day checks as many totals as fit.
const MAX_EXPECTED: usize = 150_000;
/// Pauses before totals that lack a transaction are read again. The stream is usually processed
/// within a second.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(4),
];

/// The totals that a pass checks: from the first one, up to but not including the limit.
struct Pass {
    day: Day,
    first: Option<TotalId>,
    limit: Option<TotalId>,
    expected: SumsById,
    size: usize,
}

impl Pass {
    fn of(day: Day, at: &TotalsProgress) -> Self {
        let id = |total: &Option<ExpectedTotal>| total.as_ref().map(|total| total.id(day));
        let mut pass = Self { day, first: id(&at.first), limit: id(&at.limit), expected: SumsById::new(), size: 0 };
        for total in &at.expected {
            pass.size += total.size();
            pass.expected.extend(total.sums().map(|sums| (total.id(day), sums)));
        }
        pass
    }

    fn has(&self, id: &TotalId) -> bool {
        self.first.as_ref().is_none_or(|first| id >= first) && self.limit.as_ref().is_none_or(|limit| id < limit)
    }

    fn id(&self, scope: TotalScope, total: &Total) -> TotalId {
        TotalId { scope, day: self.day, dimensions: total.dimensions() }
    }

    /// Adds what a transaction adds to the totals of this pass. If they take too much space, the
    /// last totals are left to the next pass.
    fn add(&mut self, sums: SumsById) {
        for (id, more) in sums {
            if !self.has(&id) {
                continue;
            }
            if let Some(sum) = self.expected.get_mut(&id) {
                // A sum of more than 38 digits is not in the totals either.
                *sum = sum.plus(more).unwrap_or(*sum);
                continue;
            }
            self.size += ExpectedTotal::new(&id, &more).size();
            self.expected.insert(id, more);
            while self.size > MAX_EXPECTED && self.expected.len() > 1 {
                let Some((last, sums)) = self.expected.pop_last() else { break };
                self.size -= self.size.min(ExpectedTotal::new(&last, &sums).size());
                self.limit = Some(last);
            }
        }
    }

    fn store(self, at: &mut TotalsProgress) {
        let nothing = |id: &TotalId| ExpectedTotal::new(id, &Sums::nothing(id.dimensions.currency));
        at.limit = self.limit.as_ref().map(nothing);
        at.expected = self.expected.iter().map(|(id, sums)| ExpectedTotal::new(id, sums)).collect();
    }
}

impl Ledger {
    /// Checks the totals of the next days, or of a part of a busy day. Returns the discrepancies.
    pub(crate) async fn check_totals(
        &self,
        of: &Reconciliation,
        at: &mut TotalsProgress,
        stop: Deadline,
    ) -> Result<Vec<Fault>, Error> {
        for _ in 0..PAGES {
            let Some(day) = at.day(of.window) else { return Ok(Vec::new()) };
            if at.is_read {
                let faults = self.compare(of, day, at).await?;
                if !faults.is_empty() {
                    return Ok(faults);
                }
            } else {
                self.read_transactions(day, at).await?;
            }
            if stop.has_passed() {
                break;
            }
        }
        Ok(Vec::new())
    }

    /// Adds up the next page of the day's transactions.
    async fn read_transactions(&self, day: Day, at: &mut TotalsProgress) -> Result<(), Error> {
        let range = CreatedSort::between(day.first_milli(), Some(day.last_milli()));
        let page = self.transactions(TransactionStatus::Completed, &range, at.behind.take(), PAGE).await?;
        let accounts = page.items.iter().flat_map(|header| &header.postings).map(|posting| posting.account.clone());
        let types = self.books.account_types(accounts.collect()).await?;
        let mut pass = Pass::of(day, at);
        for header in &page.items {
            // A transaction that cannot be counted is not in the totals either.
            pass.add(sums_of(header, &types).unwrap_or_default());
        }
        pass.store(at);
        (at.is_read, at.behind) = (page.next.is_none(), page.next);
        Ok(())
    }

    /// Compares the totals of a pass, and moves on to the next pass. Totals that lack a transaction
    /// are compared again, because their stream records may not be processed yet.
    async fn compare(&self, of: &Reconciliation, day: Day, at: &mut TotalsProgress) -> Result<Vec<Fault>, Error> {
        let pass = Pass::of(day, at);
        let (actual, unreadable) = self.stored_totals(&pass).await?;
        let nothing = |id: &TotalId| Sums::nothing(id.dimensions.currency);
        let pair = |id: &TotalId| {
            let of = |sums: &SumsById| sums.get(id).copied().unwrap_or_else(|| nothing(id));
            (of(&pass.expected), of(&actual))
        };
        let ids: BTreeSet<&TotalId> = pass.expected.keys().chain(actual.keys()).collect();
        let wrong: Vec<_> = ids.into_iter().map(|id| (id, pair(id))).filter(|(_, (one, other))| one != other).collect();
        let is_late = wrong.iter().any(|(_, (expected, actual))| actual.transactions < expected.transactions);
        if let Some(pause) = PAUSES.get(at.looks).filter(|_| is_late && unreadable.is_empty()) {
            sleep(*pause).await;
            at.looks += 1;
            return Ok(Vec::new());
        }
        let mut faults: Vec<Fault> = unreadable.iter().map(Fault::unreadable).collect();
        // The sum of an unreadable total is unknown.
        if !wrong.is_empty() && unreadable.is_empty() && !self.explained(of, day).await? {
            faults.extend(wrong.into_iter().map(|(id, (expected, actual))| Fault::total(id, &expected, &actual)));
        }
        at.next_pass(day);
        Ok(faults)
    }

    /// Reads the totals of a pass from all shards, and the keys of the unreadable ones. Keeps only
    /// the totals of the pass, because a day can have any number of totals.
    async fn stored_totals(&self, pass: &Pass) -> Result<(SumsById, Vec<Key>), Error> {
        let (mut sums, mut unreadable) = (SumsById::new(), Vec::new());
        let of_merchants = pass.expected.keys().filter(|id| id.scope != TotalScope::All);
        let keys: Vec<_> =
            of_merchants.flat_map(|id| self.totals.shards.read().map(move |shard| id.key_in(shard))).collect();
        let found = self.totals.table.get_all::<Total>(&keys, true).await?;
        unreadable.extend(found.unreadable);
        let mut totals: Vec<(TotalScope, Total)> = Vec::new();
        for id in pass.expected.keys().filter(|id| id.scope != TotalScope::All) {
            let of = self.totals.shards.read().filter_map(|shard| found.items.get(&id.key_in(shard)));
            totals.extend(of.map(|total| (id.scope.clone(), total.clone())));
        }
        for shard in self.totals.shards.read() {
            let partition = TotalPartition { scope: TotalScope::All, shard };
            let mut rest = TotalSort::between(pass.day, pass.day);
            loop {
                let query = Query::new(&partition, &rest).consistent();
                let (page, bad) = self.totals.table.page_with_unreadable::<Total>(&query, PAGE).await?;
                let of_pass = page.items.into_iter().filter(|total| pass.has(&pass.id(TotalScope::All, total)));
                totals.extend(of_pass.map(|total| (TotalScope::All, total)));
                unreadable.extend(bad);
                let Some(position) = page.next else { break };
                rest = rest.after(&position);
            }
        }
        for (scope, total) in totals {
            let id = pass.id(scope, &total);
            let Some(more) = total.sums().ok().filter(|_| !total.incomplete) else {
                unreadable.push(total.key());
                continue;
            };
            let sum = sums.entry(id).or_insert(Sums::nothing(total.currency));
            *sum = sum.plus(more).unwrap_or(*sum);
        }
        Ok((sums, unreadable))
    }

    /// Whether another finding explains wrong totals of the day: a counted transaction whose header
    /// is missing or unreadable now, or an unreadable account.
    async fn explained(&self, of: &Reconciliation, day: Day) -> Result<bool, Error> {
        let findings = self.findings(&of.id, &FindingSort::all()).await?;
        let is_suspect = |what: &Discrepancy| match what.kind {
            Kind::OrphanLeg => what.created_at.is_some_and(|created| created.day() == day),
            Kind::UnreadableItem => true,
            _ => false,
        };
        let suspects: Vec<_> =
            findings.items.into_iter().map(|finding| finding.what).filter(|what| is_suspect(what)).collect();
        let is_account = |what: &Discrepancy| what.kind == Kind::UnreadableItem && what.account.is_some();
        if suspects.iter().any(is_account) {
            return Ok(true);
        }
        let transactions: BTreeSet<_> = suspects.into_iter().filter_map(|what| what.transaction).collect();
        let markers: Vec<Key> = transactions.iter().map(Counted::key_of).collect();
        let counted = self.totals.table.get_all::<Counted>(&markers, true).await?;
        let headers: Vec<Key> = transactions.iter().map(Transaction::key_of).collect();
        let headers = self.books.table.get_all::<Transaction>(&headers, true).await?;
        let is_gone = |id| !headers.items.contains_key(&Transaction::key_of(id));
        Ok(transactions.iter().any(|id| is_gone(id) && counted.items.contains_key(&Counted::key_of(id))))
    }
}
