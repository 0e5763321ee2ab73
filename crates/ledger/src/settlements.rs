//! Starts the settlement of accounts with new inbox items
//! ([decision](../../../docs/decisions/ledger-throughput.md)).

use crate::Ledger;
use function::{Batch, Error};
use futures::future::join_all;
use keys::{AccountId, RequestId, ledger::InboxPartition};
use std::collections::{BTreeMap, BTreeSet};

impl Ledger {
    /// Starts or wakes the settlement of each account that has a new inbox item in the batch.
    /// Returns the sequence numbers of the records to retry.
    ///
    /// # Errors
    /// The time of the system is invalid.
    pub(crate) async fn start_settlements(&self, batch: &Batch) -> Result<BTreeSet<String>, Error> {
        let mut accounts = BTreeMap::<AccountId, Vec<String>>::new();
        for record in batch.records.iter().filter(|record| record.is_insertion()) {
            let inbox = record.partition_key().and_then(|key| key.parse::<InboxPartition>().ok());
            if let Some(inbox) = inbox {
                accounts.entry(inbox.account).or_default().push(record.sequence_number().to_owned());
            }
        }
        let now = batch.clock.now()?;
        let starts = accounts.into_iter().map(|(account, records)| async move {
            let by = RequestId::new(now.instant(), &batch.random);
            match self.start_settlement(&account, &by, now.second()).await {
                Ok(()) => Vec::new(),
                Err(error) => {
                    tracing::warn!(%account, %error, "the settlement of an account will be started again");
                    records
                }
            }
        });
        Ok(join_all(starts).await.into_iter().flatten().collect())
    }
}
