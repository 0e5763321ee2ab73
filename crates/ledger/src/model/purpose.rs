use crate::Posting;
use function::BoundedText;
use keys::{
    AccountId,
    ledger::{MerchantId, Reference, TransactionType},
};
use serde::{Deserialize, Serialize};

/// The description of a transaction: at most 256 characters.
pub(crate) type Description = BoundedText<256>;

/// Attributes of a transaction that its legs copy. A statement then needs no header. They never
/// change, and the hash of the leg covers them
/// ([decision](../../../../docs/decisions/ledger-costs.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Purpose {
    /// The type of the transaction.
    pub transaction_type: TransactionType,
    /// The purpose of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The caller's reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// The merchant that the transaction pays, if any.
    #[serde(rename = "MerchantID", skip_serializing_if = "Option::is_none")]
    pub merchant: Option<MerchantId>,
    /// The other account, if the transaction has two legs.
    #[serde(rename = "CounterpartyID", skip_serializing_if = "Option::is_none")]
    pub counterparty: Option<AccountId>,
}

impl Purpose {
    /// What the leg with this posting copies of a transaction with these attributes.
    pub(crate) fn new(
        transaction_type: &TransactionType,
        description: Option<&Description>,
        reference: Option<&Reference>,
        merchant: Option<&MerchantId>,
        postings: &[Posting],
        posting: &Posting,
    ) -> Self {
        let counterparty = match postings {
            [one, other] if one.account == posting.account => Some(&other.account),
            [other, one] if one.account == posting.account => Some(&other.account),
            _ => None,
        };
        Self {
            transaction_type: transaction_type.clone(),
            description: description.cloned(),
            reference: reference.cloned(),
            merchant: merchant.cloned(),
            counterparty: counterparty.cloned(),
        }
    }
}
