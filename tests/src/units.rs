//! Capacity units: the consumed and the declared units of a call, and the size of an item.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::Answer;
use aws_sdk_dynamodb::types::AttributeValue;
use local::CONSUMED;
use serde_json::Value;
use std::collections::BTreeMap;
use table::{Units, cost::Cost};

/// Read and write request units by table or index, such as `PaymentScheduler/GSI1`.
pub type Consumed = BTreeMap<String, (Units, Units)>;

/// The consumed units in the response header. Units of the index `GSI1All` count as units of
/// `GSI1`.
pub fn consumed(answer: &Answer) -> Consumed {
    let header = answer.headers.get(CONSUMED).expect("the header of the local gateway");
    let rows: Vec<Value> = serde_json::from_slice(header.as_bytes()).expect("JSON");
    let mut sums = Consumed::new();
    for row in &rows {
        let table = row["table"].as_str().expect("a table");
        let table = table.rsplit('-').next().unwrap_or(table);
        let place = match row["index"].as_str() {
            Some("GSI1All") => format!("{table}/GSI1"),
            Some(index) => format!("{table}/{index}"),
            None => table.to_owned(),
        };
        let sum = sums.entry(place).or_default();
        *sum = (sum.0 + units(&row["read"]), sum.1 + units(&row["write"]));
    }
    sums
}

/// The declared units, in the same form as the result of [`consumed`].
pub fn declared(cost: &Cost) -> Consumed {
    let places = cost.places().filter(|(_, read, write)| *read + *write != Units::ZERO);
    places.map(|(place, read, write)| (place.to_owned(), (read, write))).collect()
}

fn units(value: &Value) -> Units {
    let text = value.to_string();
    let (whole, half) = text.split_once('.').unwrap_or((&text, "0"));
    Units::whole(whole.parse().expect("a number")) + Units::halves(u64::from(half.starts_with('5')))
}

/// The size of an item, as DynamoDB calculates it.
pub fn bytes<'a>(item: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>) -> usize {
    fn of(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::N(number) => number.len().div_ceil(2) + 1,
            AttributeValue::Bool(_) => 1,
            AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + of(value)).sum::<usize>(),
            AttributeValue::M(map) => 3 + map.len() + bytes(map),
            other => unreachable!("no item has {other:?}"),
        }
    }
    item.into_iter().map(|(name, value)| name.len() + of(value)).sum()
}
