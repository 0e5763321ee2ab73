//! C7: exports the changes of cart items to the delivery stream
//! (docs/requirements/lake.md#access-pattern-4-offline-ad-hoc-queries, docs/decisions/export.md).

use crate::{
    Export,
    model::{
        change::{self, Change, Dropped},
        counts::Counts,
        pack::{self, Row},
    },
};
use function::{Batch, Error, Function, Pattern, Record, Trigger};
use futures::{StreamExt, stream};
use std::{collections::BTreeSet, time::Duration};

/// Maximum number of concurrent puts to the failure bucket.
const MAX_CONCURRENT_PUTS: usize = 8;

/// Time reserved for puts to the failure bucket. The reserve never exceeds a quarter of the
/// remaining time.
const TIME_TO_KEEP: Duration = Duration::from_secs(3);

/// Entry point of the Lambda.
///
/// The function opens no connection during the init phase. No caller waits for the first batch, and
/// Firehose bills the only call that the role of the function permits.
#[must_use]
pub fn function() -> Function {
    function::stream(export_cart_changes, |_: Export| std::future::ready(()))
}

/// Declares the access pattern's stream. There is no cost to declare, because the function does not
/// call DynamoDB.
pub const PATTERN: Pattern<()> =
    Pattern { id: "C7", name: "export-cart-changes", trigger: Trigger::Stream("Cart"), calls: &[], function };

/// Results of reading the stream records of a batch. Each result has the index of its record in the
/// batch.
#[derive(Default)]
struct Sorted {
    rows: Vec<Row>,
    dropped: Vec<(usize, Dropped)>,
    unsendable: Vec<(usize, String)>,
}

impl Sorted {
    fn read(export: &Export, records: &[Record]) -> Self {
        let mut sorted = Self::default();
        for (place, record) in records.iter().enumerate() {
            match change::read(record, export.tokens.as_deref()) {
                Change::Row(json) => sorted.rows.push(Row { place, json }),
                Change::Dropped(reason) => sorted.dropped.push((place, reason)),
                Change::Unsendable(reason) => sorted.unsendable.push((place, reason)),
            }
        }
        sorted
    }
}

/// Sends every change of a cart item to Firehose. Changes that can never be sent are stored in the
/// failure bucket. Returns the sequence numbers of the failed records.
async fn export_cart_changes(export: Export, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let Sorted { rows, dropped, mut unsendable } = Sorted::read(&export, &batch.records);
    let mut counts = Counts::default();
    let (records, too_large) = pack::records(rows);
    unsendable.extend(too_large.into_iter().map(|row| (row.place, "the row exceeds 1,000 KiB".to_owned())));

    let until = batch.deadline.with_reserve(TIME_TO_KEEP);
    let delivered = export.delivery.send(records, until, &mut counts).await;
    unsendable.extend(delivered.refused);

    // Lambda redelivers the first failed record and all later records. The next invocation stores
    // and counts these records.
    let redelivered_from = delivered.unsent.iter().min().copied().unwrap_or(usize::MAX);
    unsendable.retain(|(place, _)| *place < redelivered_from);
    let (kept, lost) = keep(&export, &batch, unsendable).await;
    let failed: BTreeSet<usize> = delivered.unsent.into_iter().chain(lost).collect();

    dropped.iter().filter(|(place, _)| *place < redelivered_from).for_each(|(_, reason)| counts.drop(*reason));
    counts.unsendable = kept;
    counts.failed = u64::try_from(failed.len()).unwrap_or(u64::MAX);
    counts.log();
    counts.measure();
    Ok(failed.into_iter().map(|place| batch.records[place].sequence_number().to_owned()).collect())
}

/// Puts the changes into the failure bucket. Returns the number of stored changes, and the indexes
/// of the changes that could not be stored.
async fn keep(export: &Export, batch: &Batch, unsendable: Vec<(usize, String)>) -> (u64, Vec<usize>) {
    let puts = unsendable.into_iter().map(|(place, reason)| async move {
        let record = &batch.records[place];
        tracing::error!(sequence_number = record.sequence_number(), "a change can never be sent");
        (place, export.failures.keep(record, &reason, batch.deadline).await)
    });
    let (mut kept, mut lost) = (0, Vec::new());
    let mut puts = stream::iter(puts).buffer_unordered(MAX_CONCURRENT_PUTS);
    while let Some((place, is_kept)) = puts.next().await {
        if is_kept { kept += 1 } else { lost.push(place) }
    }
    (kept, lost)
}
