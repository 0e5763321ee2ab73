use crate::model::change::Dropped;

/// Counts of one invocation. Records that Lambda redelivers are counted again.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of rows that Firehose accepted.
    pub(crate) exported: u64,
    /// Number of records dropped as [`Dropped::NotExported`].
    pub(crate) not_exported: u64,
    /// Number of records dropped as [`Dropped::MovedAway`].
    pub(crate) moved_away: u64,
    /// Number of records dropped as [`Dropped::Ended`].
    pub(crate) ended: u64,
    /// Number of records dropped as [`Dropped::Unchanged`].
    pub(crate) unchanged: u64,
    /// Number of changes that were stored in the failure bucket.
    pub(crate) unsendable: u64,
    /// Number of failed changes. Lambda redelivers these changes.
    pub(crate) failed: u64,
    /// Number of bytes that Firehose accepted.
    pub(crate) bytes: u64,
    /// Number of bytes that Firehose bills for the accepted records.
    pub(crate) billed: u64,
    /// Number of calls to Firehose, including retries.
    pub(crate) calls: u64,
    /// Number of retries of calls to Firehose.
    pub(crate) retries: u64,
}

impl Counts {
    pub(crate) fn drop(&mut self, dropped: Dropped) {
        let count = match dropped {
            Dropped::NotExported => &mut self.not_exported,
            Dropped::MovedAway => &mut self.moved_away,
            Dropped::Ended => &mut self.ended,
            Dropped::Unchanged => &mut self.unchanged,
        };
        *count += 1;
    }

    pub(crate) fn log(&self) {
        let Self { exported, not_exported, moved_away, ended, unchanged, unsendable, failed, .. } = self;
        let Self { bytes, billed, calls, retries, .. } = self;
        tracing::info!(
            exported,
            not_exported,
            moved_away,
            ended,
            unchanged,
            unsendable,
            failed,
            bytes,
            billed,
            calls,
            retries,
            "exported"
        );
    }

    /// Records the counts as metrics of the invocation.
    pub(crate) fn measure(&self) {
        let drops = [
            ("NotExported", self.not_exported),
            ("MovedAway", self.moved_away),
            ("Ended", self.ended),
            ("Unchanged", self.unchanged),
        ];
        for (reason, count) in drops.into_iter().filter(|(_, count)| *count > 0) {
            metrics::counter!("ChangesDropped", "Reason" => reason).increment(count);
        }
        metrics::counter!("ChangesExported").increment(self.exported);
        metrics::counter!("ChangesUnsendable").increment(self.unsendable);
        // The alarm of this metric covers all services.
        metrics::counter!("UnreadableItems").increment(self.unsendable);
        metrics::counter!("ChangesFailed").increment(self.failed);
        metrics::counter!("DeliveredBytes").increment(self.bytes);
        metrics::counter!("BilledBytes").increment(self.billed);
        metrics::counter!("DeliveryCalls").increment(self.calls);
        metrics::counter!("DeliveryRetries").increment(self.retries);
    }
}
