use crate::model::access::IdempotentItem;
use function::{BoundedText, Fingerprint};
use keys::{
    TimestampMillis,
    ledger::{MerchantId, MerchantPartition, MerchantsPartition, Metadata},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// The name or the category of a merchant: at most 128 characters.
pub(crate) type Name = BoundedText<128>;

/// A merchant, the payee of payments
/// ([requirement](../../../../docs/requirements/ledger.md#merchants)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Merchant {
    #[serde(rename = "PK")]
    partition: MerchantPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    #[serde(rename = "GSI2PK")]
    of_all: MerchantsPartition,
    #[serde(rename = "GSI2SK")]
    among_all: MerchantPartition,
    #[serde(rename = "ID")]
    pub(crate) id: MerchantId,
    name: Name,
    category: Name,
    created_at: TimestampMillis,
    request: Fingerprint,
}

impl Item for Merchant {
    const TYPE: &'static str = "Merchant";
}

impl IdempotentItem for Merchant {
    fn request(&self) -> &Fingerprint {
        &self.request
    }
}

impl Merchant {
    pub(crate) fn new(id: MerchantId, name: Name, category: Name, request: Fingerprint, now: TimestampMillis) -> Self {
        let partition = MerchantPartition(id.clone());
        let (of_all, among_all) = (MerchantsPartition, partition.clone());
        Self { partition, sort: Metadata, of_all, among_all, id, name, category, created_at: now, request }
    }

    /// The primary key of a merchant.
    pub fn key_of(id: &MerchantId) -> Key {
        Key::new(&MerchantPartition(id.clone()), &Metadata)
    }
}

/// A merchant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MerchantBody {
    merchant_id: MerchantId,
    name: Name,
    category: Name,
    created_at: TimestampMillis,
}

impl From<Merchant> for MerchantBody {
    fn from(merchant: Merchant) -> Self {
        let Merchant { id, name, category, created_at, .. } = merchant;
        Self { merchant_id: id, name, category, created_at }
    }
}
