use crate::{
    DOMAIN, Leg, Posting, Purpose, Reversal, ReversedLeg,
    model::{
        hold::{CAPTURE, Capture},
        leg::LegBody,
        metadata::TransactionMetadata,
        posting::sum,
        purpose::Description,
        reversal::{Refund, original_leg},
    },
};
use function::{Caller, Error, Fingerprint};
use keys::{
    IdempotencyKey, Shard, TimestampMillis, TransactionId,
    ledger::{
        ByKeyPartition, ByKeySort, CreatedSort, LegId, MerchantId, Metadata, Reference, StatusPartition,
        TransactionPartition, TransactionStatus, TransactionType, UserId,
    },
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use table::{Attribute, Attributes, Item, Key};

/// The transaction type of reversals.
pub(crate) const REVERSAL: &str = "reversal";
/// The transaction type of the transfer that empties an account when it is closed.
pub(crate) const CLOSING: &str = "closing";
/// The transaction type of legs that are posted without a type.
pub(crate) const JOURNAL: &str = "journal";
/// The transaction types that only the ledger itself writes.
pub(crate) const RESERVED: [&str; 4] = [REVERSAL, CLOSING, JOURNAL, CAPTURE];

/// Whether the type is reserved, or looks like a reserved type.
pub(crate) fn is_reserved(kind: &TransactionType) -> bool {
    let shape = shape_of(kind.as_str());
    RESERVED.iter().any(|reserved| shape_of(reserved) == shape)
}

/// Returns the same text for words that look alike: without regard to case, hyphens and
/// underscores, and with one sign for those that look alike in many fonts.
fn shape_of(word: &str) -> String {
    let sign = |character: char| match character.to_ascii_lowercase() {
        '-' | '_' => None,
        'i' | '1' => Some('l'),
        '0' => Some('o'),
        '5' => Some('s'),
        other => Some(other),
    };
    word.chars().filter_map(sign).collect::<String>().replace("rn", "m")
}

/// The header of a transaction
/// ([requirement](../../../../docs/requirements/ledger.md#transactions)).
///
/// The id is derived from the caller and the idempotency key, so the header is also the idempotency
/// record. The header stores the fingerprint of the request. The header and its legs never change,
/// so a retry gets the same response
/// ([decision](../../../../docs/decisions/idempotency.md)).
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
    /// The transaction id.
    #[serde(rename = "ID")]
    pub id: TransactionId,
    /// The idempotency key. A reversal may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The type, such as `payment`.
    pub transaction_type: TransactionType,
    /// The status.
    pub status: TransactionStatus,
    /// The merchant that the transaction pays, if any.
    #[serde(rename = "MerchantID", skip_serializing_if = "Option::is_none")]
    pub merchant: Option<MerchantId>,
    /// The purpose of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The caller's reference. A caller uses a reference once for each type of transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Short texts of the caller. No leg copies them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TransactionMetadata>,
    /// The sum of the debits. `None` if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Decimal>,
    /// The currency. `None` if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// The posting of each leg, in order.
    #[serde(rename = "Legs")]
    pub postings: Vec<Posting>,
    /// The original transaction, if this transaction is a reversal.
    #[serde(rename = "ReversesID", skip_serializing_if = "Option::is_none")]
    pub reverses: Option<TransactionId>,
    /// The time at which API Gateway received the request. If the accounts have newer legs, the
    /// time is one millisecond after the newest leg.
    pub created_at: TimestampMillis,
    /// The caller that posted the transaction.
    pub created_by: UserId,
    /// Fingerprint of the request.
    pub request: Fingerprint,
}

impl Item for Transaction {
    const TYPE: &'static str = "Transaction";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT];
}

impl Transaction {
    /// Returns the id and the posting of each leg that the transaction must have.
    pub(crate) fn legs(&self) -> impl Iterator<Item = (LegId, &Posting)> {
        self.postings.iter().enumerate().map(|(index, posting)| (LegId::new(&self.id, index + 1), posting))
    }

    /// Whether the leg with this number and posting copies what it must of the transaction. The
    /// place of the leg among the reversed legs of its account is a copy as well.
    pub(crate) fn is_copied_by(&self, leg: &Leg, number: usize, posting: &Posting) -> bool {
        let (description, reference) = (self.description.as_ref(), self.reference.as_ref());
        let merchant = self.merchant.as_ref();
        let purpose = Purpose::new(&self.transaction_type, description, reference, merchant, &self.postings, posting);
        let is_placed = match (&self.reverses, &leg.reverses) {
            (Some(original), Some(ReversedLeg { of_account, by_original, .. })) => {
                of_account.0 == leg.account && by_original.leg == original_leg(original, self.postings.len(), number)
            }
            (reverses, place) => reverses.is_none() && place.is_none(),
        };
        leg.purpose == purpose && is_placed
    }

    /// The primary key of a header.
    pub(crate) fn key_of(id: &TransactionId) -> Key {
        Key::new(&TransactionPartition(id.clone()), &Metadata)
    }
}

/// A transaction that is not yet checked or written.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: TransactionId,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) transaction_type: TransactionType,
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) description: Option<Description>,
    pub(crate) reference: Option<Reference>,
    pub(crate) metadata: Option<TransactionMetadata>,
    pub(crate) postings: Vec<Posting>,
    /// The reversal that this transaction posts, if any.
    pub(crate) reverses: Option<Refund>,
    /// The capture of a hold that this transaction posts, if any.
    pub(crate) capture: Option<Capture>,
    pub(crate) by: UserId,
    pub(crate) request: Fingerprint,
}

impl Draft {
    /// Creates a draft without the optional attributes.
    pub(crate) fn new(
        id: TransactionId,
        transaction_type: TransactionType,
        postings: Vec<Posting>,
        by: UserId,
        request: Fingerprint,
    ) -> Self {
        Self {
            id,
            key: None,
            transaction_type,
            merchant: None,
            description: None,
            reference: None,
            metadata: None,
            postings,
            reverses: None,
            capture: None,
            by,
            request,
        }
    }

    /// Returns the draft with the postings that reverse what remains of its original transaction,
    /// or the requested amount of it. A draft that is not a reversal stays as it is.
    ///
    /// # Errors
    /// The errors of [`Refund::postings`].
    pub(crate) fn with_rest(&self) -> Result<Cow<'_, Self>, Error> {
        let Some(refund) = &self.reverses else { return Ok(Cow::Borrowed(self)) };
        Ok(Cow::Owned(Self { postings: refund.postings()?, ..self.clone() }))
    }

    /// Returns the reversal marker for the original transaction, if the draft is a reversal.
    ///
    /// # Errors
    /// The errors of [`Refund::marker`].
    pub(crate) fn undoes(&self, created_at: TimestampMillis) -> Result<Option<Reversal>, Error> {
        let marker = |refund: &Refund| refund.marker(self.id.clone(), &self.postings, self.request.clone(), created_at);
        self.reverses.as_ref().map(marker).transpose()
    }

    /// What the leg with this posting copies of the transaction.
    pub(crate) fn purpose(&self, posting: &Posting) -> Purpose {
        let (description, reference) = (self.description.as_ref(), self.reference.as_ref());
        let merchant = self.merchant.as_ref();
        Purpose::new(&self.transaction_type, description, reference, merchant, &self.postings, posting)
    }

    pub(crate) fn made(&self, created_at: TimestampMillis, shard: Shard) -> Transaction {
        let Self { id, key, transaction_type, merchant, description, reference, metadata, .. } = self.clone();
        let Self { postings, reverses, by, request, .. } = self.clone();
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
            reference,
            metadata,
            amount: sum.map(Money::amount),
            currency: sum.map(Money::currency),
            postings,
            reverses: reverses.map(|refund| refund.original.transaction.id),
            created_at,
            created_by: by,
            request,
        }
    }
}

/// A transaction with its legs and its reversal markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The header.
    pub transaction: Transaction,
    /// The legs, in the order of their ids.
    pub legs: Vec<Leg>,
    /// The postings of the grouped credits, in the order of their ids.
    pub postings: Vec<Leg>,
    /// The reversal markers, in the order of the reversals.
    pub reversals: Vec<Reversal>,
}

impl Posted {
    /// Whether all legs that the header lists are present.
    pub(crate) fn is_whole(&self) -> bool {
        self.legs.len() == self.transaction.postings.len()
    }

    /// Returns the response to the request that posted the transaction. The response omits a later
    /// reversal, so a retry gets the same response.
    pub(crate) fn body(self, caller: &Caller) -> TransactionBody {
        let legs = self.legs.into_iter().map(|leg| LegBody::of(leg, caller)).collect();
        TransactionBody { header: HeaderBody::of(self.transaction, None, caller), legs }
    }

    /// Returns the response with the current state of the transaction, which says whether it was
    /// reversed. A posting replaces its grouped credit.
    pub(crate) fn body_now(mut self, caller: &Caller) -> TransactionBody {
        let reversed = self.reversals.pop().map(|last| ReversedBody::of(&last, self.transaction.currency));
        for posting in std::mem::take(&mut self.postings) {
            let leg = self.legs.iter_mut().find(|leg| leg.id == posting.id && leg.posting() == posting.posting());
            if let Some(leg) = leg {
                *leg = posting;
            }
        }
        let body = self.body(caller);
        TransactionBody { header: HeaderBody { reversed, ..body.header }, ..body }
    }
}

/// The reversals of a transaction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReversedBody {
    /// The last reversal, if the transaction is reversed in whole or in part.
    reversed_by: TransactionId,
    /// The sum of all reversals. Absent if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    reversed_amount: Option<Decimal>,
}

impl ReversedBody {
    /// Creates the response from the last reversal marker, and the currency of the transaction.
    pub(crate) fn of(last: &Reversal, currency: Option<Currency>) -> Self {
        Self::new(last.id.clone(), last.reversed_amount.zip(currency))
    }

    /// Creates the response from the last reversal, and the sum of all reversals.
    pub(crate) fn new(reversed_by: TransactionId, sum: Option<(Decimal, Currency)>) -> Self {
        let shown = |(amount, currency)| Money::new(amount, currency).map_or(amount, Money::amount);
        Self { reversed_by, reversed_amount: sum.map(shown) }
    }

    /// The cell of a CSV file: the sum, or the id of the reversal if the legs have several
    /// currencies.
    pub(crate) fn shown(&self) -> String {
        self.reversed_amount.map_or_else(|| self.reversed_by.to_string(), |amount| amount.to_string())
    }
}

/// A transaction with its legs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionBody {
    #[serde(flatten)]
    header: HeaderBody,
    #[schemars(length(min = 2))]
    legs: Vec<LegBody>,
}

/// A transaction without its legs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TransactionSummary")]
pub struct HeaderBody {
    transaction_id: TransactionId,
    status: TransactionStatus,
    transaction_type: TransactionType,
    /// Sum of the debits, if all legs have the same currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Decimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<MerchantId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Reference>,
    /// Present if the caller posted the transaction or is an operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<TransactionMetadata>,
    /// Present if the caller posted the transaction or is an operator.
    // Anyone who knows a key can derive the ids of the items that were created with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<IdempotencyKey>,
    /// Present if the caller is an operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverses: Option<TransactionId>,
    #[serde(flatten)]
    reversed: Option<ReversedBody>,
    created_at: TimestampMillis,
}

impl HeaderBody {
    /// Creates the response. `last` is the last reversal marker of the transaction, if any.
    pub(crate) fn of(transaction: Transaction, last: Option<&Reversal>, caller: &Caller) -> Self {
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
            reference: transaction.reference,
            metadata: transaction.metadata.filter(|_| posted_it),
            idempotency_key: transaction.idempotency_key.filter(|_| posted_it),
            created_by: caller.operates(DOMAIN).then_some(transaction.created_by),
            reverses: transaction.reverses,
            reversed: last.map(|last| ReversedBody::of(last, transaction.currency)),
            created_at: transaction.created_at,
        }
    }
}
