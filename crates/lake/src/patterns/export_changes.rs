//! C7: exports the changes of the exported tables to their delivery streams
//! (docs/requirements/lake.md#pipeline, docs/decisions/export.md).

use crate::{
    Lake, SCHEMAS,
    model::{
        change::{Dropped, Reading},
        counts::Counts,
        pack::{self, Row},
    },
    tables::{self, Unknown},
};
use function::{Batch, Error, Pattern, Record, Trigger};
use futures::{StreamExt, stream};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Maximum number of concurrent puts to the failure bucket.
const MAX_CONCURRENT_PUTS: usize = 8;

/// Time reserved for puts to the failure bucket. The reserve never exceeds a quarter of the
/// remaining time.
const TIME_TO_KEEP: Duration = Duration::from_secs(3);

/// Declares the streams of the access pattern. There is no cost to declare, because the function
/// does not call DynamoDB.
pub const PATTERN: Pattern<()> = Pattern {
    id: "C7",
    name: "export-changes",
    trigger: Trigger::Streams(&["Cart", "PaymentScheduler", "TransactionHistory", "FinancialTransactions"]),
    calls: &[],
    contract: |_| {},
    // The function opens no connection during the init phase. No caller waits for the first batch,
    // and Firehose bills the only call that the role of the function permits.
    function: || function::stream(export_changes, |_: Lake| std::future::ready(())),
};

/// Results of reading the stream records of a batch. Each result has the index of its record in the
/// batch.
#[derive(Default)]
struct Sorted {
    /// Rows by the name of the Glue table. A batch contains the records of one stream.
    rows: BTreeMap<&'static str, Vec<Row>>,
    dropped: Vec<(usize, Dropped)>,
    unsendable: Vec<(usize, String)>,
}

impl Sorted {
    fn read(lake: &Lake, records: &[Record]) -> Self {
        let mut sorted = Self::default();
        for (place, record) in records.iter().enumerate() {
            let reading = match tables::schema_of(record) {
                Ok(schema) => match schema.row(record, lake.tokens.as_deref()) {
                    Reading::Row(json) => {
                        sorted.rows.entry(schema.changes).or_default().push(Row { place, json });
                        continue;
                    }
                    reading => reading,
                },
                Err(Unknown::Dropped(dropped)) => Reading::Dropped(dropped),
                Err(Unknown::Table) => Reading::Unsendable("not a record of an exported table".to_owned()),
                Err(Unknown::Type) => Reading::Unsendable("an item without a type or a known key".to_owned()),
            };
            match reading {
                Reading::Row(_) => {}
                Reading::Dropped(reason) => sorted.dropped.push((place, reason)),
                Reading::Unsendable(reason) => sorted.unsendable.push((place, reason)),
            }
        }
        sorted
    }
}

/// Sends every exported change to Firehose. Changes that can never be sent are stored in the
/// failure bucket. Returns the sequence numbers of the failed records.
async fn export_changes(lake: Lake, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let Sorted { mut rows, dropped, mut unsendable } = Sorted::read(&lake, &batch.records);
    let (mut counts, mut unsent) = (Counts::default(), Vec::new());
    let until = batch.deadline.with_reserve(TIME_TO_KEEP);
    for schema in &SCHEMAS {
        let (records, too_large) = pack::records(rows.remove(schema.changes).unwrap_or_default());
        unsendable.extend(too_large.into_iter().map(|row| (row.place, "the row exceeds 1,000 KiB".to_owned())));
        let delivered = lake.delivery.send(schema, records, until, &mut counts).await;
        unsendable.extend(delivered.refused);
        unsent.extend(delivered.unsent);
    }

    // Lambda redelivers the first failed record and all later records. The next invocation stores
    // and counts these records.
    let redelivered_from = unsent.iter().min().copied().unwrap_or(usize::MAX);
    unsendable.retain(|(place, _)| *place < redelivered_from);
    let (kept, lost) = keep(&lake, &batch, unsendable).await;
    let failed: BTreeSet<usize> = unsent.into_iter().chain(lost).collect();

    dropped.iter().filter(|(place, _)| *place < redelivered_from).for_each(|(_, reason)| counts.drop(*reason));
    counts.unsendable = kept;
    counts.failed = u64::try_from(failed.len()).unwrap_or(u64::MAX);
    counts.log();
    counts.measure();
    Ok(failed.into_iter().map(|place| batch.records[place].sequence_number().to_owned()).collect())
}

/// Puts the changes into the failure bucket. Returns the number of stored changes, and the indexes
/// of the changes that could not be stored.
async fn keep(lake: &Lake, batch: &Batch, unsendable: Vec<(usize, String)>) -> (u64, Vec<usize>) {
    let puts = unsendable.into_iter().map(|(place, reason)| async move {
        let record = &batch.records[place];
        tracing::error!(sequence_number = record.sequence_number(), "a change can never be sent");
        (place, lake.failures.keep(record, &reason, batch.deadline).await)
    });
    let (mut kept, mut lost) = (0, Vec::new());
    let mut puts = stream::iter(puts).buffer_unordered(MAX_CONCURRENT_PUTS);
    while let Some((place, is_kept)) = puts.next().await {
        if is_kept { kept += 1 } else { lost.push(place) }
    }
    (kept, lost)
}
