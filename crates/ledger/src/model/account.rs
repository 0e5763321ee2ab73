use crate::{Leg, store::IdempotentItem};
use function::{Error, Fingerprint};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{AccountPartition, AccountStatus, AccountType, AccountsPartition, LegId, Metadata, UserId, UserPartition},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Change, Condition, Item, Key, Table, Value};

/// An account: what it holds now, and the leg that made it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Account {
    #[serde(rename = "PK")]
    partition: AccountPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    #[serde(rename = "GSI1PK")]
    of_user: UserPartition,
    #[serde(rename = "GSI1SK")]
    by_user: AccountPartition,
    #[serde(rename = "GSI2PK")]
    of_all: AccountsPartition,
    #[serde(rename = "GSI2SK")]
    among_all: AccountPartition,
    /// Its id.
    #[serde(rename = "ID")]
    pub id: AccountId,
    /// Whose it is.
    #[serde(rename = "UserID")]
    pub user: UserId,
    /// What kind it is.
    pub account_type: AccountType,
    /// What it holds, in its currency.
    pub balance: Decimal,
    /// The one currency that it takes.
    pub currency: Currency,
    /// Where it stands.
    pub status: AccountStatus,
    /// Whether it may hold less than nothing: money enters the books from such accounts only.
    pub allow_negative: bool,
    /// Counts its changes: who wants to make the next must have seen the last.
    pub version: i64,
    /// The leg that its balance comes from; none before the first.
    #[serde(flatten)]
    pub last: Option<LastLeg>,
    /// When its status was changed last, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_changed_at: Option<TimestampMillis>,
    /// Who changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_changed_by: Option<UserId>,
    /// When it was opened.
    pub created_at: TimestampMillis,
    /// What was asked when it was opened.
    pub request: Fingerprint,
}

/// The last leg of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
pub struct LastLeg {
    /// Its transaction.
    #[serde(rename = "LastTransactionID")]
    pub transaction: TransactionId,
    /// Its id.
    #[serde(rename = "LastLegID")]
    pub leg: LegId,
    /// Its time: the next is later.
    #[serde(rename = "LastLegAt")]
    pub created: TimestampMillis,
}

/// An account in an index: which it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    #[serde(rename = "PK")]
    pub(crate) partition: AccountPartition,
}

impl Item for Listed {
    const TYPE: &'static str = "Account";
}

impl Item for Account {
    const TYPE: &'static str = "Account";
    const NUMBERS: &'static [Attribute] = &[Self::BALANCE];
}

impl IdempotentItem for Account {
    fn request(&self) -> &Fingerprint {
        &self.request
    }
}

/// What is asked of a new account.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) user: UserId,
    pub(crate) account_type: AccountType,
    pub(crate) currency: Currency,
    pub(crate) allow_negative: bool,
}

impl Account {
    /// A new one, empty.
    pub(crate) fn opened(id: AccountId, terms: Terms, request: Fingerprint, now: TimestampMillis) -> Self {
        let partition = AccountPartition(id.clone());
        Self {
            sort: Metadata,
            of_user: UserPartition(terms.user.clone()),
            by_user: partition.clone(),
            of_all: AccountsPartition,
            among_all: partition.clone(),
            partition,
            id,
            user: terms.user,
            account_type: terms.account_type,
            balance: Money::zero(terms.currency).amount(),
            currency: terms.currency,
            status: AccountStatus::Active,
            allow_negative: terms.allow_negative,
            version: 1,
            last: None,
            status_changed_at: None,
            status_changed_by: None,
            created_at: now,
            request,
        }
    }

    /// As it was when it was opened: what a request that opened it is answered, however late it comes again.
    pub(crate) fn when_opened(self) -> Self {
        let balance = Money::zero(self.currency).amount();
        let (status, status_changed_at, status_changed_by) = (AccountStatus::Active, None, None);
        Self { balance, status, status_changed_at, status_changed_by, version: 1, last: None, ..self }
    }

    /// Its key.
    #[must_use]
    pub fn key_of(id: &AccountId) -> Key {
        Key::new(&AccountPartition(id.clone()), &Metadata)
    }

    /// What it holds.
    ///
    /// # Errors
    /// What is stored is no amount of its currency.
    pub fn holds(&self) -> Result<Money, Error> {
        Money::new(self.balance, self.currency).map_err(|error| Error::Internal(format!("a stored balance {error}")))
    }

    /// What it holds, with all digits of its currency.
    pub(crate) fn shown_balance(&self) -> Decimal {
        self.holds().map_or(self.balance, Money::amount)
    }

    /// When its last leg was made.
    pub(crate) fn last_at(&self) -> Option<TimestampMillis> {
        self.last.as_ref().map(|last| last.created)
    }

    /// The key of its last leg.
    pub(crate) fn last_key(&self) -> Option<Key> {
        self.last.as_ref().map(|last| Leg::key_of(&last.transaction, &last.leg))
    }

    /// Its next version, where it is still this one.
    pub(crate) fn next(&self, table: &Table) -> Change {
        let next = table.update(Self::key_of(&self.id)).set(Self::VERSION, self.version + 1);
        next.only_if(Condition::is(Self::VERSION, self.version))
    }

    /// Its next version with what a transaction leaves it.
    pub(crate) fn after(&self, table: &Table, balance: Money, last: &LastLeg) -> Change {
        self.next(table)
            .set(Self::BALANCE, Value::number(&balance.amount()))
            .set(LastLeg::TRANSACTION, &last.transaction)
            .set(LastLeg::LEG, &last.leg)
            .set(LastLeg::CREATED, &last.created)
    }
}

/// An account as it is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountBody {
    account_id: AccountId,
    user_id: UserId,
    account_type: AccountType,
    currency: Currency,
    balance: Decimal,
    status: AccountStatus,
    allow_negative: bool,
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_changed_at: Option<TimestampMillis>,
    created_at: TimestampMillis,
}

impl TryFrom<Account> for AccountBody {
    type Error = Error;

    fn try_from(account: Account) -> Result<Self, Error> {
        Ok(Self {
            balance: account.holds()?.amount(),
            account_id: account.id,
            user_id: account.user,
            account_type: account.account_type,
            currency: account.currency,
            status: account.status,
            allow_negative: account.allow_negative,
            version: account.version,
            status_changed_at: account.status_changed_at,
            created_at: account.created_at,
        })
    }
}
