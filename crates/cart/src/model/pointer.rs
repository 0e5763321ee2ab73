use crate::CartItem;
use keys::{
    AccountId, TimestampMillis,
    cart::{CartItemSort, ItemSort},
};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// Pointer from the id of a cart item to its sort key.
///
/// A status change changes the sort key but not the id. The same transaction updates the pointer.
/// The pointer expires together with the cart item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Pointer {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: ItemSort,
    /// Sort key of the cart item.
    pub(crate) cart_item: CartItemSort,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Item for Pointer {
    const TYPE: &'static str = "CartPointer";
}

impl Pointer {
    pub(crate) fn to(cart_item: &CartItem) -> Self {
        Self {
            account: cart_item.account.clone(),
            sort: ItemSort(cart_item.id()),
            cart_item: cart_item.sort,
            expires_at: cart_item.expires_at,
        }
    }

    pub(crate) fn cart_item_key(&self) -> Key {
        Key::new(&self.account, &self.cart_item)
    }

    pub(crate) fn is_live(&self, now: TimestampMillis) -> bool {
        self.expires_at.is_none_or(|at| at > now.second().instant().as_second())
    }
}
