//! Counts the transactions of a batch of stream records in the daily totals
//! ([decision](../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    Account, Ledger, Transaction,
    model::{account::Kind, total::sums_of},
    store::Books,
    totals::{ToCount, grouped},
};
use function::{Batch, Error, Record};
use keys::{AccountId, Random, TimestampMillis, TransactionId, ledger::AccountType};
use std::collections::{BTreeMap, BTreeSet};
use table::{Error as Store, Item, Key};

/// A posted transaction, and the stream records that contain it.
struct Posted {
    header: Transaction,
    written_at: TimestampMillis,
    sequence_numbers: Vec<String>,
}

/// The transactions of a batch.
#[derive(Default)]
struct Posts(BTreeMap<TransactionId, Posted>);

impl Posts {
    /// Adds the transaction of a record. Records of other items are ignored. A record that cannot
    /// be processed is reported, because a retry would not change it, and would stop the others.
    fn read(&mut self, ledger: &Ledger, record: &Record, now: TimestampMillis) {
        if !record.is_insertion() || record.new_type() != Some(Transaction::TYPE) {
            return;
        }
        let Ok(header) = record.new_image::<Transaction>() else {
            return report(record.partition_key(), "its header cannot be read");
        };
        let written_at = record.created_at().and_then(|time| TimestampMillis::containing(time).ok());
        let Some(written_at) = written_at else {
            function::count("UnreadableItems", 1);
            return report(record.partition_key(), "the stream record has no time");
        };
        if ledger.totals.is_too_old(written_at, now) {
            function::count("Defects", 1);
            return report(record.partition_key(), "its stream record is too old: the marker may have expired");
        }
        let posted = self.0.entry(header.id.clone());
        let posted = posted.or_insert(Posted { header, written_at, sequence_numbers: Vec::new() });
        posted.sequence_numbers.push(record.sequence_number().to_owned());
    }

    /// Returns the sequence numbers of all records of the transactions.
    fn sequence_numbers<'a>(&'a self, ids: impl IntoIterator<Item = &'a TransactionId>) -> BTreeSet<String> {
        ids.into_iter().filter_map(|id| self.0.get(id)).flat_map(|posted| posted.sequence_numbers.clone()).collect()
    }

    /// Returns the transactions with their sums. Reports those that cannot be counted.
    fn entries(&self, types: &BTreeMap<AccountId, AccountType>) -> Vec<ToCount> {
        let entry = |posted: &Posted| match sums_of(&posted.header, types) {
            Ok(sums) => Some(ToCount { transaction: posted.header.id.clone(), written_at: posted.written_at, sums }),
            Err(reason) => {
                function::count("UnreadableItems", 1);
                report(Some(Transaction::key_of(&posted.header.id).partition()), &reason.to_string());
                None
            }
        };
        self.0.values().filter_map(entry).collect()
    }
}

fn report(partition: Option<&str>, reason: &str) {
    tracing::error!(partition, reason, "a transaction is not in the totals");
}

impl Ledger {
    /// Adds the transactions of the batch to the daily totals. Returns the sequence numbers of the
    /// records to retry.
    pub(crate) async fn count_transactions(&self, batch: &Batch) -> Result<BTreeSet<String>, Error> {
        let (now, mut posts) = (batch.clock.now()?, Posts::default());
        batch.records.iter().for_each(|record| posts.read(self, record, now));
        let accounts = posts.0.values().flat_map(|posted| &posted.header.postings).map(|posting| &posting.account);
        let types = match self.books.account_types(accounts.cloned().collect()).await {
            Ok(types) => types,
            Err(error) => {
                tracing::warn!(%error, "the accounts of a batch cannot be read");
                return Ok(posts.sequence_numbers(posts.0.keys()));
            }
        };
        let mut failed = BTreeSet::new();
        for group in grouped(posts.entries(&types)) {
            let left = self.count_group(group, &batch.random).await;
            failed.extend(posts.sequence_numbers(&left));
        }
        Ok(failed)
    }

    /// Counts a group of transactions. Returns the transactions to retry.
    async fn count_group(&self, group: Vec<ToCount>, random: &Random) -> Vec<TransactionId> {
        match self.totals.count(group.clone(), random).await {
            Ok(()) => Vec::new(),
            // One of the totals may be unreadable. The others must be written.
            Err(Store::Rejected(_)) => {
                let mut left = Vec::new();
                for entry in group {
                    left.extend(self.count_alone(entry, random).await);
                }
                left
            }
            Err(error) => {
                tracing::warn!(%error, "transactions are counted later");
                group.into_iter().map(|entry| entry.transaction).collect()
            }
        }
    }

    /// Counts a transaction of a rejected group. Returns the transaction if it must be retried.
    async fn count_alone(&self, entry: ToCount, random: &Random) -> Option<TransactionId> {
        let counted = match self.totals.count(vec![entry.clone()], random).await {
            Err(Store::Rejected(_)) => self.totals.count_elsewhere(&entry).await,
            counted => counted.map(|()| true),
        };
        match counted {
            Ok(true) => None,
            Ok(false) => {
                report(Some(Transaction::key_of(&entry.transaction).partition()), "no shard has readable totals");
                function::count("Defects", 1);
                match self.totals.leave_out(&entry).await {
                    Ok(_) => None,
                    Err(error) => {
                        tracing::warn!(%error, "the totals do not show yet that they lack a transaction");
                        Some(entry.transaction)
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a transaction is counted later");
                Some(entry.transaction)
            }
        }
    }
}

impl Books {
    /// Reads the types of the accounts. Omits missing and unreadable accounts.
    ///
    /// An account never changes its type, so an eventually consistent read is enough.
    pub(crate) async fn account_types(
        &self,
        accounts: BTreeSet<AccountId>,
    ) -> Result<BTreeMap<AccountId, AccountType>, Error> {
        const TYPE: [table::Attribute; 3] = [Key::PARTITION, Key::SORT, Account::ACCOUNT_TYPE];
        let key = |id: &AccountId| Account::key_of(id);
        let keys: Vec<Key> = accounts.iter().map(key).collect();
        let found = self.table.get_existing::<Kind>(&keys, &TYPE).await?;
        let of = |id: AccountId| found.items.get(&key(&id)).map(|kind| (id, kind.account_type.clone()));
        Ok(accounts.into_iter().filter_map(of).collect())
    }
}
