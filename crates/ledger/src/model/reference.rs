use crate::Transaction;
use function::{Error, Problem};
use keys::{
    TransactionId,
    ledger::{Reference, ReferencePartition, ReferenceSort},
};
use serde::{Deserialize, Serialize};
use table::Item;

/// The guard of a reference: `REFERENCE#<reference>`, `TYPE#<type>#USER#<user>`. The transaction
/// with the reference puts it, if it is absent. It is never deleted
/// ([decision](../../../../docs/decisions/idempotency.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReferenceGuard {
    #[serde(rename = "PK")]
    partition: ReferencePartition,
    #[serde(rename = "SK")]
    sort: ReferenceSort,
    /// The transaction with the reference.
    #[serde(rename = "TransactionID")]
    pub transaction: TransactionId,
}

impl Item for ReferenceGuard {
    const TYPE: &'static str = "ReferenceGuard";
}

impl ReferenceGuard {
    /// Creates the guard of the transaction's reference, if it has one.
    pub(crate) fn of(header: &Transaction) -> Option<Self> {
        let sort = ReferenceSort { transaction_type: header.transaction_type.clone(), user: header.created_by.clone() };
        let partition = ReferencePartition(header.reference.clone()?);
        Some(Self { partition, sort, transaction: header.id.clone() })
    }
}

/// The error for a reference that another transaction of the same caller and type has.
pub(crate) fn used(reference: Option<&Reference>) -> Error {
    let reference = reference.map(Reference::as_str).unwrap_or_default();
    let detail = format!("Another transaction of this type has your reference {reference}.");
    Error::Conflict(Problem::ReferenceUsed, detail)
}
