use crate::{Account, DOMAIN, Posting};
use function::Caller;
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{AccountPartition, LegId, LegSort, LegTimeSort, LegType, TransactionPartition, UserId},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Item, Key};

/// A leg of a transaction: what it did to one account, and what it left. It never changes.
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
    /// Its id.
    #[serde(rename = "ID")]
    pub id: LegId,
    /// Its transaction.
    #[serde(rename = "TransactionID")]
    pub transaction: TransactionId,
    /// Its account.
    #[serde(rename = "AccountID")]
    pub account: AccountId,
    /// Whose account that is.
    #[serde(rename = "UserID")]
    pub user: UserId,
    /// Takes or adds.
    pub leg_type: LegType,
    /// How much.
    pub amount: Decimal,
    /// In which currency.
    pub currency: Currency,
    /// What the account holds after it.
    pub balance_after: Decimal,
    /// When its transaction was made.
    pub created_at: TimestampMillis,
}

impl Item for Leg {
    const TYPE: &'static str = "TransactionLeg";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT, Self::BALANCE_AFTER];
}

impl Leg {
    /// The leg of that number, from 1, that leaves its account so much.
    pub(crate) fn new(
        transaction: &TransactionId,
        number: usize,
        posting: &Posting,
        account: &Account,
        after: Money,
        created: TimestampMillis,
    ) -> Self {
        let id = LegId::new(transaction, number);
        Self {
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
        }
    }

    /// Its key.
    #[must_use]
    pub fn key_of(transaction: &TransactionId, leg: &LegId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &LegSort(leg.clone()))
    }

    /// Its own key.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// Where it stands among its account's.
    pub(crate) fn place(&self) -> &LegTimeSort {
        &self.by_time
    }

    /// What it did, as its header should say it; none where the amount is none of its currency.
    pub(crate) fn posting(&self) -> Option<Posting> {
        let amount = Money::new(self.amount, self.currency).ok()?;
        Some(Posting { leg_type: self.leg_type, amount, account: self.account.clone() })
    }

    /// How much it is, with all digits of its currency.
    pub(crate) fn shown_amount(&self) -> Decimal {
        Money::new(self.amount, self.currency).map_or(self.amount, Money::amount)
    }

    /// What it left, with all digits of its currency.
    pub(crate) fn shown_after(&self) -> Decimal {
        self.after().map_or(self.balance_after, Money::amount)
    }

    /// What it left; none where that is no amount of its currency.
    pub(crate) fn after(&self) -> Option<Money> {
        Money::new(self.balance_after, self.currency).ok()
    }

    /// What there must have been before it.
    pub(crate) fn before(&self) -> Option<Money> {
        self.after()?.checked_add(-self.posting()?.change())
    }

    /// Whether it is on an account of the caller, as every leg is to operators.
    pub(crate) fn is_of(&self, caller: &Caller) -> bool {
        caller.must_be(&self.user, DOMAIN).is_ok()
    }
}

/// A leg as it is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LegBody {
    leg_id: LegId,
    transaction_id: TransactionId,
    account_id: AccountId,
    leg_type: LegType,
    amount: Decimal,
    currency: Currency,
    /// Nobody's but the account's owner's business.
    #[serde(skip_serializing_if = "Option::is_none")]
    balance_after: Option<Decimal>,
    created_at: TimestampMillis,
}

impl LegBody {
    /// With what it left where the caller may know that. What is stored is shown with all digits of its currency.
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
