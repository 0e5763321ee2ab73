use crate::Line;
use keys::{
    AccountId, TimestampMillis,
    cart::{ItemSort, LineSort},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Where a line is now: it lets the line's id stay while its key moves. Changed in one transaction with the line's key, and
/// gone with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Pointer {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: ItemSort,
    /// The line's sort key.
    pub(crate) line: LineSort,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Item for Pointer {
    const TYPE: &'static str = "CartPointer";
}

impl Pointer {
    pub(crate) fn to(line: &Line) -> Self {
        Self { account: line.account.clone(), sort: ItemSort(line.id()), line: line.sort, expires_at: line.expires_at }
    }

    pub(crate) fn line_key(&self) -> Key {
        Key::new(&self.account, &self.line)
    }

    pub(crate) fn is_live(&self, now: TimestampMillis) -> bool {
        self.expires_at.is_none_or(|at| at > now.second().instant().as_second())
    }
}
