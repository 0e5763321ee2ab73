use crate::{Account, ChainHash, DOMAIN, Posting};
use function::Caller;
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{AccountPartition, LegId, LegSort, LegTimeSort, LegType, TransactionPartition, UserId},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Item, Key};

/// A debit or credit of one account, with the account's balance after it
/// ([requirement](../../../../docs/requirements/ledger.md#transaction-legs)). A leg never changes
/// ([decision](../../../../docs/decisions/ledger-history.md)), and its hash shows a change
/// ([decision](../../../../docs/decisions/ledger-chain.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Leg {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    sort: LegSort,
    #[serde(rename = "GSI1PK")]
    of_account: AccountPartition,
    #[serde(rename = "GSI1SK")]
    by_time: LegTimeSort,
    /// The leg id: the transaction id and the number of the leg.
    #[serde(rename = "ID")]
    pub id: LegId,
    /// The transaction.
    #[serde(rename = "TransactionID")]
    pub transaction: TransactionId,
    /// The account.
    #[serde(rename = "AccountID")]
    pub account: AccountId,
    /// The owner of the account.
    #[serde(rename = "UserID")]
    pub user: UserId,
    /// Debit or credit.
    pub leg_type: LegType,
    /// The amount, which is positive.
    pub amount: Decimal,
    /// The currency.
    pub currency: Currency,
    /// The balance of the account after the leg.
    pub balance_after: Decimal,
    /// The time of the transaction.
    pub created_at: TimestampMillis,
    /// The hash of the contents and of the previous leg's hash.
    pub hash: ChainHash,
}

impl Item for Leg {
    const TYPE: &'static str = "TransactionLeg";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT, Self::BALANCE_AFTER];
}

impl Leg {
    /// Creates a leg that follows the last leg of the account. `number` starts at 1, and `after` is
    /// the balance after the leg.
    pub(crate) fn new(
        transaction: &TransactionId,
        number: usize,
        posting: &Posting,
        account: &Account,
        after: Money,
        created: TimestampMillis,
    ) -> Self {
        let id = LegId::new(transaction, number);
        let mut leg = Self {
            partition: TransactionPartition(transaction.clone()),
            sort: LegSort(id.clone()),
            of_account: AccountPartition(posting.account.clone()),
            by_time: LegTimeSort { created, leg: id.clone() },
            id,
            transaction: transaction.clone(),
            account: posting.account.clone(),
            user: account.user.clone(),
            leg_type: posting.leg_type,
            amount: posting.amount.amount(),
            currency: posting.amount.currency(),
            balance_after: after.amount(),
            created_at: created,
            hash: ChainHash::START,
        };
        if let Some(contents) = leg.contents() {
            leg.hash = account.last_hash().then(contents);
        }
        leg
    }

    /// The primary key of a leg.
    #[must_use]
    pub fn key_of(transaction: &TransactionId, leg: &LegId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &LegSort(leg.clone()))
    }

    /// Whether this is the primary key of a leg of the transaction.
    pub(crate) fn is_key_in(key: &Key, transaction: &TransactionId) -> bool {
        let leg = key.sort().parse().map(|LegSort(leg)| leg);
        leg.is_ok_and(|leg| *key == Self::key_of(transaction, &leg))
    }

    /// The primary key of this leg.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// Returns the leg's position in the list of the account's legs.
    pub(crate) fn place(&self) -> &LegTimeSort {
        &self.by_time
    }

    /// Returns the posting that the header should list for this leg. `None` if the amount is not
    /// valid for the currency.
    pub(crate) fn posting(&self) -> Option<Posting> {
        let amount = Money::new(self.amount, self.currency).ok()?;
        Some(Posting { leg_type: self.leg_type, amount, account: self.account.clone() })
    }

    /// Returns the amount with all decimal places of the currency. An invalid amount is returned as
    /// stored.
    pub(crate) fn shown_amount(&self) -> Decimal {
        Money::new(self.amount, self.currency).map_or(self.amount, Money::amount)
    }

    /// Returns the balance after the leg, with all decimal places of the currency. An invalid
    /// balance is returned as stored.
    pub(crate) fn shown_after(&self) -> Decimal {
        self.after().map_or(self.balance_after, Money::amount)
    }

    /// Returns the balance after the leg. `None` if the stored balance is not valid for the
    /// currency.
    pub(crate) fn after(&self) -> Option<Money> {
        Money::new(self.balance_after, self.currency).ok()
    }

    /// Returns the balance before the leg, computed from the balance after it.
    pub(crate) fn before(&self) -> Option<Money> {
        self.after()?.checked_add(-self.posting()?.change())
    }

    /// Whether the caller may access the account of the leg, as its owner or as an operator.
    pub(crate) fn is_of(&self, caller: &Caller) -> bool {
        caller.must_be(&self.user, DOMAIN).is_ok()
    }
}

/// A leg in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LegBody {
    pub(crate) leg_id: LegId,
    pub(crate) transaction_id: TransactionId,
    account_id: AccountId,
    pub(crate) leg_type: LegType,
    pub(crate) amount: Decimal,
    pub(crate) currency: Currency,
    /// The balance after the leg. Returned only if the caller may access the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balance_after: Option<Decimal>,
    pub(crate) created_at: TimestampMillis,
}

impl LegBody {
    /// Creates the response body for the caller. Amounts have all decimal places of the currency.
    pub(crate) fn of(leg: Leg, caller: &Caller) -> Self {
        Self {
            balance_after: leg.is_of(caller).then(|| leg.shown_after()),
            amount: leg.shown_amount(),
            leg_id: leg.id,
            transaction_id: leg.transaction,
            account_id: leg.account,
            leg_type: leg.leg_type,
            currency: leg.currency,
            created_at: leg.created_at,
        }
    }
}
