//! C7: the changes of the cart's lines, packed, to the delivery stream.

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

/// Objects that are put at once.
const PUTS_AT_ONCE: usize = 8;

/// Time that is kept for the failure bucket; a quarter of what there is where that is less.
const TIME_TO_KEEP: Duration = Duration::from_secs(3);

/// The function. Nothing is called before the first batch: nobody waits for it, and Firehose has no call that costs nothing and
/// needs no permission beside the one to send.
#[must_use]
pub fn function() -> Function {
    function::stream(export_cart_changes, |_: Export| std::future::ready(()))
}

/// The access pattern. It calls no table; Firehose bills the rows in steps of 5 KB.
pub const PATTERN: Pattern<()> =
    Pattern { id: "C7", name: "export-cart-changes", trigger: Trigger::Stream("Cart"), calls: &[], function };

/// The records of a batch, each by its place in it.
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

/// Sends every change of a line and keeps those that can never be sent; answers those that must come again.
async fn export_cart_changes(export: Export, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let Sorted { rows, dropped, mut unsendable } = Sorted::read(&export, &batch.records);
    let mut counts = Counts::default();
    let (records, too_large) = pack::records(rows);
    unsendable.extend(too_large.into_iter().map(|row| (row.place, "a row of more than 1,000 KiB".to_owned())));

    let until = batch.deadline.with_reserve(TIME_TO_KEEP);
    let delivered = export.delivery.send(records, until, &mut counts).await;
    unsendable.extend(delivered.refused);

    // What comes after the lowest failure comes again, and is kept and counted then.
    let comes_again = delivered.unsent.iter().min().copied().unwrap_or(usize::MAX);
    unsendable.retain(|(place, _)| *place < comes_again);
    let (kept, lost) = keep(&export, &batch, unsendable).await;
    let failed: BTreeSet<usize> = delivered.unsent.into_iter().chain(lost).collect();

    dropped.iter().filter(|(place, _)| *place < comes_again).for_each(|(_, reason)| counts.drop(*reason));
    counts.unsendable = kept;
    counts.failed = u64::try_from(failed.len()).unwrap_or(u64::MAX);
    counts.log();
    counts.measure();
    Ok(failed.into_iter().map(|place| batch.records[place].sequence_number().to_owned()).collect())
}

/// Puts the changes into the failure bucket: how many are there, and the places of those that are not.
async fn keep(export: &Export, batch: &Batch, unsendable: Vec<(usize, String)>) -> (u64, Vec<usize>) {
    let puts = unsendable.into_iter().map(|(place, reason)| async move {
        let record = &batch.records[place];
        tracing::error!(sequence_number = record.sequence_number(), "a change can never be sent");
        (place, export.failures.keep(record, &reason, batch.deadline).await)
    });
    let (mut kept, mut lost) = (0, Vec::new());
    let mut puts = stream::iter(puts).buffer_unordered(PUTS_AT_ONCE);
    while let Some((place, is_kept)) = puts.next().await {
        if is_kept { kept += 1 } else { lost.push(place) }
    }
    (kept, lost)
}
