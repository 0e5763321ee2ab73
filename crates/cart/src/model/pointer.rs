use crate::Line;
use keys::{
    AccountId, TimestampMillis,
    cart::{ItemSort, LineSort},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Pointer from the item id to the sort key of a cart item. A status change changes the sort key
/// but not the id. The same transaction updates the pointer. The pointer expires with the cart
/// item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Pointer {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: ItemSort,
    /// Sort key of the cart item.
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
