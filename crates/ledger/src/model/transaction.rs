use crate::{
    DOMAIN, Leg, Posting, Reversal,
    model::{leg::LegBody, posting::sum},
};
use function::{BoundedText, Caller, Fingerprint};
use keys::{
    IdempotencyKey, Shard, TimestampMillis, TransactionId,
    ledger::{
        ByKeyPartition, ByKeySort, CreatedSort, LegId, MerchantId, Metadata, StatusPartition, TransactionPartition,
        TransactionStatus, TransactionType, UserId,
    },
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Item, Key};

/// What a transaction is for.
pub(crate) type Description = BoundedText<256>;

/// The header of a transaction. Its id is made of who posted it and their key, so it is the record that decides: whoever comes
/// again finds it, and what was asked, and with its legs what was answered. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Transaction {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    #[serde(rename = "GSI1PK")]
    pub(crate) by_status: StatusPartition,
    #[serde(rename = "GSI1SK")]
    pub(crate) by_time: CreatedSort,
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    pub(crate) by_key: Option<ByKeyPartition>,
    #[serde(rename = "GSI2SK", skip_serializing_if = "Option::is_none")]
    pub(crate) by_key_sort: Option<ByKeySort>,
    /// Its id.
    #[serde(rename = "ID")]
    pub id: TransactionId,
    /// The key that it was posted under; a reversal may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// What kind it is.
    pub transaction_type: TransactionType,
    /// Where it stands.
    pub status: TransactionStatus,
    /// Who is paid.
    #[serde(rename = "MerchantID", skip_serializing_if = "Option::is_none")]
    pub merchant: Option<MerchantId>,
    /// What for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The sum of its debits, where it is of one currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Decimal>,
    /// Its currency, where it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// What each of its legs does, in their order.
    #[serde(rename = "Legs")]
    pub postings: Vec<Posting>,
    /// What it undoes.
    #[serde(rename = "ReversesID", skip_serializing_if = "Option::is_none")]
    pub reverses: Option<TransactionId>,
    /// When it was made, by API Gateway's clock and later than all that its accounts had.
    pub created_at: TimestampMillis,
    /// Who posted it.
    pub created_by: UserId,
    /// What was asked.
    pub request: Fingerprint,
}

impl Item for Transaction {
    const TYPE: &'static str = "Transaction";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT];
}

impl Transaction {
    /// Its legs as they should be: the id of each, and what it does.
    pub(crate) fn legs(&self) -> impl Iterator<Item = (LegId, &Posting)> {
        self.postings.iter().enumerate().map(|(index, posting)| (LegId::new(&self.id, index + 1), posting))
    }

    /// The key of the header.
    pub(crate) fn key_of(id: &TransactionId) -> Key {
        Key::new(&TransactionPartition(id.clone()), &Metadata)
    }
}

/// A transaction that is to be.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: TransactionId,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) transaction_type: TransactionType,
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) description: Option<Description>,
    pub(crate) postings: Vec<Posting>,
    pub(crate) reverses: Option<TransactionId>,
    pub(crate) by: UserId,
    pub(crate) request: Fingerprint,
}

impl Draft {
    /// What says of another that this one reverses it, where it does.
    pub(crate) fn undoes(&self, created_at: TimestampMillis) -> Option<Reversal> {
        let original = self.reverses.clone()?;
        Some(Reversal::new(original, self.id.clone(), self.request.clone(), created_at))
    }

    pub(crate) fn made(&self, created_at: TimestampMillis, shard: Shard) -> Transaction {
        let Self { id, key, transaction_type, merchant, description, postings, reverses, by, request } = self.clone();
        let sum = sum(&postings);
        Transaction {
            partition: TransactionPartition(id.clone()),
            sort: Metadata,
            by_status: StatusPartition { status: TransactionStatus::Completed, shard },
            by_time: CreatedSort(created_at),
            by_key: key.clone().map(ByKeyPartition),
            by_key_sort: key.as_ref().map(|_| ByKeySort),
            id,
            idempotency_key: key,
            transaction_type,
            status: TransactionStatus::Completed,
            merchant,
            description,
            amount: sum.map(Money::amount),
            currency: sum.map(Money::currency),
            postings,
            reverses,
            created_at,
            created_by: by,
            request,
        }
    }
}

/// A transaction and its legs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The header.
    pub transaction: Transaction,
    /// The legs, in the order in which they were applied.
    pub legs: Vec<Leg>,
    /// What says that it was reversed, if it was.
    pub reversal: Option<Reversal>,
}

impl Posted {
    /// Whether it has all the legs that its header tells of.
    pub(crate) fn is_whole(&self) -> bool {
        self.legs.len() == self.transaction.postings.len()
    }

    /// Whether one of the legs is on an account of the caller.
    pub(crate) fn concerns(&self, caller: &Caller) -> bool {
        self.legs.iter().any(|leg| leg.is_of(caller))
    }

    /// As it is answered to the caller, and as it was when it was posted: nobody had reversed it.
    pub(crate) fn body(self, caller: &Caller) -> TransactionBody {
        let legs = self.legs.into_iter().map(|leg| LegBody::of(leg, caller)).collect();
        TransactionBody { header: HeaderBody::of(self.transaction, caller), reversed_by: None, legs }
    }

    /// As it is answered to the caller, with what has become of it.
    pub(crate) fn body_now(mut self, caller: &Caller) -> TransactionBody {
        let reversed_by = self.reversal.take().map(|reversal| reversal.id);
        TransactionBody { reversed_by, ..self.body(caller) }
    }
}

/// A transaction as it is answered, with its legs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionBody {
    #[serde(flatten)]
    header: HeaderBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    reversed_by: Option<TransactionId>,
    legs: Vec<LegBody>,
}

/// A transaction as it is listed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeaderBody {
    transaction_id: TransactionId,
    status: TransactionStatus,
    transaction_type: TransactionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<MerchantId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    /// For who posted it, and for operators: others could say what else was made under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<IdempotencyKey>,
    /// For operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverses: Option<TransactionId>,
    created_at: TimestampMillis,
}

impl HeaderBody {
    pub(crate) fn of(transaction: Transaction, caller: &Caller) -> Self {
        let posted_it = caller.must_be(&transaction.created_by, DOMAIN).is_ok();
        let whole = |(amount, currency)| Money::new(amount, currency).ok();
        let money = transaction.amount.zip(transaction.currency).and_then(whole);
        Self {
            transaction_id: transaction.id,
            status: transaction.status,
            transaction_type: transaction.transaction_type,
            amount: money.map(Money::amount),
            currency: transaction.currency,
            merchant_id: transaction.merchant,
            description: transaction.description,
            idempotency_key: transaction.idempotency_key.filter(|_| posted_it),
            created_by: caller.operates(DOMAIN).then_some(transaction.created_by),
            reverses: transaction.reverses,
            created_at: transaction.created_at,
        }
    }
}
