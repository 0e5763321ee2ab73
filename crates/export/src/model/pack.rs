//! How rows are packed into records, and records into calls, so that Firehose bills little more than their bytes.

/// Bytes that a record may have, before base64 (Firehose quotas: 1,000 KiB).
pub const MAX_RECORD_BYTES: usize = 1_000 * 1_024;

/// Firehose bills a record in steps of so many bytes (Firehose pricing: 5 KB).
pub const BILLED_STEP: usize = 5 * 1_024;

/// Bytes that a record is filled to: ten steps. What a row leaves empty at the end, half of its size on average, is then 1 % for
/// a row of 1 KB; a larger record would save less than that and be sent whole again when Firehose refuses it.
pub const RECORD_BYTES: usize = 10 * BILLED_STEP;

/// Records that a call may have (Firehose quotas).
pub const MAX_CALL_RECORDS: usize = 500;

/// Bytes that the body of a call may have. The quota, 4 MiB, is told once for "a call" and once as "4 MB for the entire request";
/// the smaller number and the larger body, in base64, hold both.
pub const MAX_CALL_BYTES: usize = 4_000_000;

/// What a record takes in the body beside its data, `{"Data":""},`, and the body beside its records, with the longest name of a
/// delivery stream.
const RECORD_FRAME: usize = 12;
const CALL_FRAME: usize = 128;

/// One change, as text with its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which record of the batch it is.
    pub place: usize,
    /// JSON and a line end.
    pub json: String,
}

/// Rows that are sent, billed, accepted or refused together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    rows: Vec<Row>,
    bytes: usize,
}

impl Record {
    /// Its rows, in order.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many bytes of it are billed.
    #[must_use]
    pub fn billed(&self) -> usize {
        self.bytes.next_multiple_of(BILLED_STEP)
    }

    /// What is sent.
    #[must_use]
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

/// The rows packed in their order, and those that no record can take.
#[must_use]
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

/// The records divided into calls in their order.
#[must_use]
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

/// A call in two that hold what it held; the row where it holds only one, nothing where it holds none.
///
/// # Errors
/// The row.
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
