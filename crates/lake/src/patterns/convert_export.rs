//! K1: converts a file of a table's export to rows (docs/requirements/lake.md#backfill,
//! docs/decisions/lake-refresh.md).

use crate::{
    Lake, SCHEMAS,
    export::{DataFile, Summary},
    model::{change::Reading, token::TokenKey},
    tables::{self, Unknown},
};
use function::{Error, Fields, Input, Pattern, Scheduled, Trigger};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Size of an object with rows. The function holds the rows of at most one object per table.
const OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// Declares the workflow that invokes the function. There is no cost to declare, because the
/// function does not call DynamoDB.
pub const PATTERN: Pattern<()> = Pattern {
    id: "K1",
    name: "convert-export",
    trigger: Trigger::Workflow("RefreshLake"),
    calls: &[],
    contract: |_| {},
    function: || function::scheduled(convert_export, |_: Lake| std::future::ready(())),
};

/// A file of an export, as the workflow reads it from the manifest of the export.
#[derive(Debug)]
pub struct ConvertExportInput {
    /// Key of `manifest-summary.json`.
    summary: String,
    /// The line of `manifest-files.json`.
    file: DataFile,
}

impl Input for ConvertExportInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (summary, file) = (fields.body("summary"), fields.body("file"));
        Some(Self { summary: summary?, file: file? })
    }

    fn describe(_: &mut function::Contract) {}
}

/// Numbers of a converted file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// Number of items in the file.
    items: u64,
    /// Number of rows.
    rows: u64,
    /// Number of items that cannot be read. They remain in the export.
    skipped: u64,
}

/// Converts the items of one file, and writes the rows as objects below `snapshots/`. A repeated
/// invocation writes the same objects.
///
/// # Errors
/// The export has no such file, or the file has another number of items than the manifest.
async fn convert_export(lake: Lake, run: Scheduled<ConvertExportInput>) -> Result<Converted, Error> {
    let ConvertExportInput { summary, file } = run.input;
    if file.item_count == 0 {
        return Ok(Converted::default());
    }
    let summary: Summary = lake.exports.summary(&summary).await?;
    let mut rows = Rows::of(&lake, &summary, &file)?;
    let mut lines = lake.exports.open(&file).await?;
    while let Some(line) = lines.next().await? {
        rows.add(&line, lake.tokens.as_deref());
        rows.write(OBJECT_BYTES).await?;
    }
    rows.write(1).await?;
    let converted = rows.converted;
    if converted.items != file.item_count {
        return Err(Error::Internal(format!("{} has {} items, not {}", file.key, converted.items, file.item_count)));
    }
    tracing::info!(items = converted.items, rows = converted.rows, skipped = converted.skipped, "converted");
    metrics::counter!("UnreadableItems").increment(converted.skipped);
    Ok(converted)
}

/// Rows that are not written yet, by the folder of their table.
struct Rows<'a> {
    lake: &'a Lake,
    summary: &'a Summary,
    /// Name of the file without its ending.
    name: &'a str,
    waiting: BTreeMap<String, (u32, String)>,
    converted: Converted,
}

impl<'a> Rows<'a> {
    fn of(lake: &'a Lake, summary: &'a Summary, file: &'a DataFile) -> Result<Self, Error> {
        let name = file.name().ok_or_else(|| Error::invalid("/body/file", "is not a data file of an export"))?;
        Ok(Self { lake, summary, name, waiting: BTreeMap::new(), converted: Converted::default() })
    }

    fn add(&mut self, line: &str, tokens: Option<&TokenKey>) {
        self.converted.items += 1;
        let item: Value = serde_json::from_str::<Value>(line).map(|mut line| line["Item"].take()).unwrap_or_default();
        let reading = match tables::schema_of_item(self.summary.table(), &item) {
            Ok(schema) => (schema.folder(), schema.snapshot(&item, self.summary.export_time, tokens)),
            Err(Unknown::Dropped(reason)) => (String::new(), Reading::Dropped(reason)),
            Err(Unknown::Table | Unknown::Type) => (String::new(), Reading::Unsendable(String::new())),
        };
        match reading {
            (folder, Reading::Row(row)) => {
                self.converted.rows += 1;
                self.waiting.entry(folder).or_default().1.push_str(&row);
            }
            (_, Reading::Dropped(_)) => {}
            (_, Reading::Unsendable(_)) => self.converted.skipped += 1,
        }
    }

    /// Writes the rows of each table that has at least this number of bytes.
    async fn write(&mut self, least: usize) -> Result<(), Error> {
        let folders = SCHEMAS.iter().map(crate::Schema::folder);
        for folder in folders {
            let Some((number, rows)) = self.waiting.get_mut(&folder).filter(|(_, rows)| rows.len() >= least) else {
                continue;
            };
            let key = format!("snapshots/{folder}/export={}/{}-{number}.json", self.summary.id(), self.name);
            *number += 1;
            let rows = std::mem::take(rows);
            self.lake.exports.put(&key, rows).await?;
        }
        Ok(())
    }
}
