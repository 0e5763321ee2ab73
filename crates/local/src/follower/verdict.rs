//! Interprets a function's response to a batch.
use serde_json::Value;

use super::batch::Record;

/// Outcome of an invocation with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All records succeeded.
    Done,
    /// The function reported failures. The record at this index and all later records must be
    /// retried.
    From(usize),
    /// The function failed. The whole batch must be retried.
    Failed,
}

/// Interprets a response as Lambda does. A response without batch item failures is a success.
pub(crate) fn read(answer: &Value, records: &[Record]) -> Verdict {
    match first(answer, records.len(), |index| records[index].number()) {
        None => Verdict::Done,
        Some(index) => Verdict::From(index),
    }
}

/// Index of the first record to retry, by the response to a batch. `None` if all succeeded.
pub(crate) fn first_failure(answer: &Value, records: &[Value]) -> Option<usize> {
    first(answer, records.len(), |index| records[index]["dynamodb"]["SequenceNumber"].as_str().unwrap_or_default())
}

fn first<'a>(answer: &Value, count: usize, number_at: impl Fn(usize) -> &'a str) -> Option<usize> {
    let failures = answer["batchItemFailures"].as_array().filter(|failures| !failures.is_empty())?;
    let index = |failure: &Value| {
        let number = failure["itemIdentifier"].as_str()?;
        (0..count).find(|index| number_at(*index) == number)
    };
    let indexes: Option<Vec<_>> = failures.iter().map(index).collect();
    // Lambda retries the whole batch if an identifier is empty or unknown.
    Some(indexes.and_then(|indexes| indexes.into_iter().min()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resumes_at_the_lowest_failure() {
        let number = |n: u8| format!("10000000000000000000{n}");
        let records: Vec<_> =
            (1..=4).filter_map(|n| Record::of(json!({"dynamodb": {"SequenceNumber": number(n)}}))).collect();
        let failures = |identifiers: &[Value]| {
            let failures: Vec<_> = identifiers.iter().map(|id| json!({"itemIdentifier": id})).collect();
            json!({"batchItemFailures": failures})
        };
        for (answer, verdict) in [
            (json!(null), Verdict::Done),
            (json!("fine"), Verdict::Done),
            (json!({}), Verdict::Done),
            (json!({"batchItemFailures": null}), Verdict::Done),
            (json!({"batchItemFailures": "x"}), Verdict::Done),
            (failures(&[]), Verdict::Done),
            (failures(&[json!(number(3))]), Verdict::From(2)),
            (failures(&[json!(number(4)), json!(number(2))]), Verdict::From(1)),
            (failures(&[json!("")]), Verdict::From(0)),
            (failures(&[json!(null)]), Verdict::From(0)),
            (failures(&[json!(number(4)), json!("999")]), Verdict::From(0)),
            (json!({"batchItemFailures": [{"sequenceNumber": number(3)}]}), Verdict::From(0)),
        ] {
            assert_eq!(read(&answer, &records), verdict, "{answer}");
        }
    }
}
