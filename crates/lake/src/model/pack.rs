//! Packs rows into records, and records into calls. Firehose rounds the billed size of each record
//! up to a multiple of 5 KB. A record therefore contains as many rows as fit into 50 KB
//! (docs/decisions/export.md).

/// Maximum size of a record in bytes, before base64 (Firehose quotas: 1,000 KiB).
pub const MAX_RECORD_BYTES: usize = 1_000 * 1_024;

/// Firehose rounds the billed size of a record up to a multiple of this number of bytes (Firehose
/// pricing: 5 KB).
pub const BILLED_STEP: usize = 5 * 1_024;

/// Target size of a record in bytes.
///
/// On average, a record is half a row smaller than this size. For rows of 1 KB, this wastes 1 % of
/// the billed volume. Larger records would save less than 1 %, and a retry would repeat more rows.
pub const RECORD_BYTES: usize = 10 * BILLED_STEP;

/// Maximum number of records in a call (Firehose quotas).
pub const MAX_CALL_RECORDS: usize = 500;

/// Maximum size of the body of a call in bytes, with the data in base64.
///
/// The Firehose documentation states two limits: 4 MiB for a call, and "4 MB for the entire
/// request". This value satisfies both.
pub const MAX_CALL_BYTES: usize = 4_000_000;

/// Number of bytes that a record adds to the body in addition to its data: `{"Data":""},`.
const RECORD_FRAME: usize = 12;
/// Maximum size of the rest of the body in bytes: the JSON structure and the name of the delivery
/// stream.
const CALL_FRAME: usize = 128;

/// One change as a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Index of the stream record in the batch.
    pub place: usize,
    /// JSON, including the line break.
    pub json: String,
}

/// Rows that are sent, billed, and accepted or rejected together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    rows: Vec<Row>,
    bytes: usize,
}

impl Record {
    /// Rows in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Size of the data in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Billed size in bytes.
    pub fn billed(&self) -> usize {
        self.bytes.next_multiple_of(BILLED_STEP)
    }

    /// Data to send: the concatenated rows.
    pub fn data(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(self.bytes);
        self.rows.iter().for_each(|row| data.extend_from_slice(row.json.as_bytes()));
        data
    }

    fn body_bytes(&self) -> usize {
        self.bytes.div_ceil(3) * 4 + RECORD_FRAME
    }

    fn push(&mut self, row: Row) {
        self.bytes += row.json.len();
        self.rows.push(row);
    }

    fn of(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut record = Self::default();
        rows.into_iter().for_each(|row| record.push(row));
        record
    }
}

/// Packs the rows into records in order. Returns the records, and the rows that are too large for
/// any record.
pub fn records(rows: impl IntoIterator<Item = Row>) -> (Vec<Record>, Vec<Row>) {
    let (mut records, mut too_large) = (Vec::<Record>::new(), Vec::new());
    for row in rows {
        if row.json.len() > MAX_RECORD_BYTES {
            too_large.push(row);
            continue;
        }
        match records.last_mut() {
            Some(last) if last.bytes + row.json.len() <= RECORD_BYTES => last.push(row),
            _ => records.push(Record::of([row])),
        }
    }
    (records, too_large)
}

/// Groups the records into calls, in order.
pub fn calls(records: impl IntoIterator<Item = Record>) -> Vec<Vec<Record>> {
    let (mut calls, mut bytes) = (Vec::<Vec<Record>>::new(), 0);
    for record in records {
        let more = record.body_bytes();
        match calls.last_mut() {
            Some(last) if last.len() < MAX_CALL_RECORDS && bytes + more <= MAX_CALL_BYTES => {
                last.push(record);
                bytes += more;
            }
            _ => {
                calls.push(vec![record]);
                bytes = CALL_FRAME + more;
            }
        }
    }
    calls
}

/// Splits a call into two halves. A call with one record is split between the rows of the record.
///
/// # Errors
/// Returns the row if the call has only one row, or `None` if the call is empty.
pub fn halves(mut call: Vec<Record>) -> Result<[Vec<Record>; 2], Option<Row>> {
    if call.len() > 1 {
        let second = call.split_off(call.len() / 2);
        return Ok([call, second]);
    }
    let mut rows = call.pop().unwrap_or_default().rows;
    if rows.len() > 1 {
        let second = rows.split_off(rows.len() / 2);
        return Ok([vec![Record::of(rows)], vec![Record::of(second)]]);
    }
    Err(rows.pop())
}
