//! The global templates that ship with the service (docs/decisions/wellness-jobs.md).

use crate::{Template, model::content::Content};
use function::Error;
use keys::{
    TimestampSeconds,
    wellness::{Owner, TemplateId, TemplateSetSort},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// A template that ships with the service.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    /// The first version of the set that contains the template.
    since: i64,
    id: TemplateId,
    content: Content,
}

const SHIPPED: &str = include_str!("templates.json");

/// The version of the set that was loaded last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct TemplateSet {
    /// Partition key: `Global`.
    #[serde(rename = "PK")]
    pub owner: Owner,
    /// Sort key: `TemplateSet`.
    #[serde(rename = "SK")]
    pub sort: TemplateSetSort,
    /// Version of the set.
    pub version: i64,
}

impl Item for TemplateSet {
    const TYPE: &'static str = "TemplateSet";
}

impl TemplateSet {
    /// The set of this version.
    pub(crate) fn of(version: i64) -> Self {
        Self { owner: Owner::Global, sort: TemplateSetSort, version }
    }

    /// Primary key of the item.
    pub(crate) fn key() -> Key {
        Key::new(&Owner::Global, &TemplateSetSort)
    }
}

/// Returns the version of the set, and its templates that were added after the version `loaded`.
///
/// # Errors
/// 500 if the file is invalid. A test loads it.
pub(crate) fn added_after(loaded: i64, now: TimestampSeconds) -> Result<(i64, Vec<Template>), Error> {
    let shipped: Vec<Shipped> =
        serde_json::from_str(SHIPPED).map_err(|error| Error::Internal(format!("templates.json: {error}")))?;
    let version = shipped.iter().map(|one| one.since).max().unwrap_or_default();
    let new = shipped.into_iter().filter(|one| one.since > loaded);
    let new = new.map(|Shipped { id, content, .. }| Template::new(Owner::Global, id, &content, now));
    Ok((version, new.collect::<Result<_, _>>()?))
}
