//! L10: releases expired holds ([requirement](../../../../docs/requirements/ledger.md#holds),
//! [decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    Hold, Ledger,
    cost::{self, Calls, Named, Pattern},
    holds::MAX_RELEASED,
    model::hold::OpenHold,
    patterns::create_hold::open_entries,
    post::is_stale,
};
use function::{Deadline, Error, Scheduled, Trigger, is_zero};
use futures::future::try_join_all;
use keys::{
    AccountId, Shard, TimestampMillis,
    ledger::{ExpiryPartition, HoldExpirySort},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};
use table::{
    Key, Query,
    cost::{Cost, read, read_eventually, write},
};

/// Time reserved before the deadline, to finish the current transactions.
const RESERVE: Duration = Duration::from_secs(5);
/// Maximum number of index entries that one query returns.
const PAGE: usize = 100;

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "release-expired-holds",
    trigger: Trigger::Schedule("rate(1 minute)"),
    calls: &[Calls::new("", |case: &Named| {
        let reads = read(case.hold).times(2) + read(case.account);
        let writes = (write(case.hold) + write(case.account)).times(2);
        let entries = open_entries(Cost::default(), case).read(cost::BY_KEY, read_eventually(0));
        entries.read(cost::LEDGER, reads).write(cost::LEDGER, writes)
    })],
    contract: |_| {},
    function: || function::scheduled(release_expired_holds, Ledger::warm_by_batch_get),
};

/// The result of a run.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseRun {
    released: usize,
    /// Number of holds that were not released, because an item is unreadable, or because the
    /// account lacks their reserve.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
    /// Whether expired holds may remain. The next run continues.
    left: bool,
}

/// Releases all expired holds.
///
/// # Errors
/// DynamoDB was unavailable. The next run continues.
pub async fn release_expired_holds(ledger: Ledger, run: Scheduled<()>) -> Result<ReleaseRun, Error> {
    let now = TimestampMillis::containing(run.now.instant()).map_err(|error| Error::invalid("/time", error))?;
    let deadline = run.deadline.with_reserve(RESERVE);
    let shards = ledger.books.shards.read().map(|shard| ledger.release_shard(shard, now, deadline));
    let mut all = ReleaseRun::default();
    for shard in Box::pin(try_join_all(shards)).await? {
        all.released += shard.released;
        all.skipped += shard.skipped;
        all.left |= shard.left;
    }
    Ok(all)
}

impl Ledger {
    async fn release_shard(&self, shard: Shard, now: TimestampMillis, deadline: Deadline) -> Result<ReleaseRun, Error> {
        let (partition, mut rest) = (ExpiryPartition(shard), HoldExpirySort::expired(now));
        let mut all = ReleaseRun::default();
        loop {
            if deadline.has_passed() {
                return Ok(ReleaseRun { left: true, ..all });
            }
            let expired = Query::new(&partition, &rest).on(&self.by_key);
            let (page, unreadable) = self.books.table.page_with_unreadable::<OpenHold>(&expired, PAGE).await?;
            all.skipped += unreadable.len();
            let keys: Vec<Key> = page.items.iter().map(|hold| Hold::key_of(&hold.partition.0)).collect();
            self.release_page(&keys, now, &mut all).await?;
            let Some(position) = page.next else { return Ok(all) };
            rest = rest.after(&position);
        }
    }

    /// Releases the holds, one account after another.
    async fn release_page(&self, keys: &[Key], now: TimestampMillis, all: &mut ReleaseRun) -> Result<(), Error> {
        let found = self.books.table.get_all::<Hold>(keys, true).await?;
        all.skipped += found.unreadable.len();
        let mut by_account: BTreeMap<AccountId, Vec<Key>> = BTreeMap::new();
        for (key, hold) in found.items {
            if hold.uncaptured().is_err() {
                all.skipped += 1;
                continue;
            }
            by_account.entry(hold.debit).or_default().push(key);
        }
        for (account, holds) in by_account {
            for some in holds.chunks(MAX_RELEASED) {
                match self.books.release(&account, some, now).await {
                    Ok(released) => all.released += released,
                    Err(Error::Table(table::Error::Unreadable(..))) => all.skipped += some.len(),
                    // A busy account does not stop the others.
                    Err(error) if is_stale(&error) => all.left = true,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
