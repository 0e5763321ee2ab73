//! The units that an invocation consumes.
use std::collections::BTreeMap;

use table::{Units, Usage};

/// Read and write units by table or index.
pub(crate) type Places = BTreeMap<String, (Units, Units)>;

#[derive(Debug)]
pub(crate) struct Spent {
    pub(crate) label: String,
    pub(crate) function: String,
    pub(crate) places: Places,
    /// Number of times that calls or attempts may have been repeated.
    pub(crate) repeats: u64,
}

impl Spent {
    pub(crate) fn of(label: &str, function: &str, usage: &Usage) -> Self {
        let mut places = Places::new();
        for call in &usage.calls {
            let table = call.table.rsplit('-').next().unwrap_or_default();
            let place = match call.index.as_deref() {
                Some("GSI1All") => format!("{table}/GSI1"),
                Some(index) => format!("{table}/{index}"),
                None => table.to_owned(),
            };
            let sum = places.entry(place).or_default();
            *sum = (sum.0 + call.read, sum.1 + call.write);
        }
        let (label, function) = (label.to_owned(), function.to_owned());
        Self { label, function, places, repeats: usage.retries + usage.conflicts }
    }
}
