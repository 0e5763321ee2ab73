use crate::{ChainHash, DOMAIN, Leg, Posting, model::access::IdempotentItem, model::posting_plan::too_large};
use function::{Caller, ChangedBy, Error, Fingerprint, Input};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{
        AccountPartition, AccountStatus, AccountType, AccountsPartition, FrozenBy, LegId, LegType, Metadata,
        PostingMode, UserId, UserPartition,
    },
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use table::{Attribute, Attributes, Change, Condition, Item, Key, Table, Value};

/// An account with its balance and its last leg, which determines the balance
/// ([requirement](../../../../docs/requirements/ledger.md#accounts)).
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
    /// The account id.
    #[serde(rename = "ID")]
    pub id: AccountId,
    /// The owner.
    #[serde(rename = "UserID")]
    pub user: UserId,
    /// The type, such as `checking`.
    pub account_type: AccountType,
    /// The balance, in the account's currency.
    pub balance: Decimal,
    /// The sum of the remaining amounts of the open holds. `None` means 0: the account never had a
    /// hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Decimal>,
    /// The currency. Legs in a different currency are rejected.
    pub currency: Currency,
    /// The status.
    pub status: AccountStatus,
    /// How credits reach the balance.
    #[serde(default, skip_serializing_if = "is_direct")]
    pub posting: PostingMode,
    /// The time until which payments can still arrive in the inbox, after the account was closed or
    /// its posting became direct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox_until: Option<TimestampMillis>,
    /// Whether the balance may be negative. All money in the ledger comes from accounts with a
    /// negative balance.
    pub allow_negative: bool,
    /// Version number, incremented by each change. A write fails if the version has changed since
    /// the account was read.
    pub version: i64,
    /// The last leg, which determines the balance. `None` before the first leg.
    #[serde(flatten, deserialize_with = "last_leg")]
    pub last: Option<LastLeg>,
    /// Time of the last status change, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_changed_at: Option<TimestampMillis>,
    /// The caller who last changed the status or the posting, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ChangedBy>,
    /// The role of the caller that froze the account, if the account is frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frozen_by: Option<FrozenBy>,
    /// Time at which the account was opened.
    pub created_at: TimestampMillis,
    /// Fingerprint of the request that opened the account.
    pub request: Fingerprint,
}

/// Whether an account has no attribute `Posting`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_direct(posting: &PostingMode) -> bool {
    *posting == PostingMode::Direct
}

/// The last leg of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
pub struct LastLeg {
    /// The transaction of the leg.
    #[serde(rename = "LastTransactionID")]
    pub transaction: TransactionId,
    /// The leg id.
    #[serde(rename = "LastLegID")]
    pub leg: LegId,
    /// The time of the leg, or the time at which it was posted. The next entry of the account has a
    /// later time.
    #[serde(rename = "LastLegAt")]
    pub created: TimestampMillis,
    /// The hash of the leg. The next leg of the account includes it in its own hash.
    #[serde(rename = "LastLegHash")]
    pub hash: ChainHash,
    /// Whether the leg is a grouped credit. Its entry is then its posting.
    #[serde(rename = "LastLegSettled", skip_serializing_if = "is_false")]
    pub settled: bool,
}

/// Whether an account has no attribute `LastLegSettled`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_false(settled: &bool) -> bool {
    !*settled
}

/// Reads the attributes of the last leg. An account has all of them or none. serde reads a
/// flattened `Option` as `None` if an attribute is missing or invalid.
fn last_leg<'de, D: Deserializer<'de>>(input: D) -> Result<Option<LastLeg>, D::Error> {
    #[derive(Deserialize)]
    struct Parts {
        #[serde(rename = "LastTransactionID")]
        transaction: Option<TransactionId>,
        #[serde(rename = "LastLegID")]
        leg: Option<LegId>,
        #[serde(rename = "LastLegAt")]
        created: Option<TimestampMillis>,
        #[serde(rename = "LastLegHash")]
        hash: Option<ChainHash>,
        #[serde(rename = "LastLegSettled", default)]
        settled: bool,
    }
    match Parts::deserialize(input)? {
        Parts { transaction: None, leg: None, created: None, hash: None, settled: false } => Ok(None),
        Parts { transaction: Some(transaction), leg: Some(leg), created: Some(created), hash: Some(hash), settled } => {
            Ok(Some(LastLeg { transaction, leg, created, hash, settled }))
        }
        _ => Err(de::Error::custom("the last leg lacks an attribute")),
    }
}

impl LastLeg {
    /// `None` if the leg is no entry of its account.
    pub(crate) fn of(leg: &Leg) -> Option<Self> {
        Some(Self {
            transaction: leg.transaction().clone(),
            leg: leg.id.clone(),
            created: leg.place().created,
            hash: leg.hash()?,
            settled: leg.is_settled(),
        })
    }
}

/// An account's entry in an index. Only the partition key is deserialized.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    #[serde(rename = "PK")]
    pub(crate) partition: AccountPartition,
}

/// The type of an account whose other attributes may be unreadable. It never changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Kind {
    pub(crate) account_type: AccountType,
}

impl Item for Kind {
    const TYPE: &'static str = "Account";
}

/// The owner of an account whose other attributes may be unreadable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Owner {
    #[serde(rename = "UserID")]
    pub(crate) user: UserId,
}

impl Item for Owner {
    const TYPE: &'static str = "Account";
}

impl Item for Listed {
    const TYPE: &'static str = "Account";
}

impl Item for Account {
    const TYPE: &'static str = "Account";
    const NUMBERS: &'static [Attribute] = &[Self::BALANCE, Self::HELD];
}

impl IdempotentItem for Account {
    fn request(&self) -> &Fingerprint {
        &self.request
    }
}

/// The requested properties of a new account.
#[derive(Debug, Clone, Input)]
pub(crate) struct Terms {
    #[input(body = "userId")]
    pub(crate) user: UserId,
    #[input(body)]
    pub(crate) account_type: AccountType,
    #[input(body)]
    pub(crate) currency: Currency,
    /// Requires the operator scope.
    #[input(body, default)]
    pub(crate) allow_negative: bool,
    /// The value `grouped` requires the operator scope.
    #[input(body, default)]
    pub(crate) posting: PostingMode,
}

impl Account {
    /// Creates an account with a balance of zero.
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
            held: None,
            currency: terms.currency,
            status: AccountStatus::Active,
            posting: terms.posting,
            inbox_until: None,
            allow_negative: terms.allow_negative,
            version: 1,
            last: None,
            status_changed_at: None,
            changed_by: None,
            frozen_by: None,
            created_at: now,
            request,
        }
    }

    /// Returns the account in its initial state. A retry of the request that opened the account
    /// gets this state as its response.
    pub(crate) fn when_opened(self, posting: PostingMode) -> Self {
        let balance = Money::zero(self.currency).amount();
        let (status, status_changed_at, changed_by) = (AccountStatus::Active, None, None);
        let (version, last, frozen_by) = (1, None, None);
        let (held, inbox_until) = (None, None);
        Self {
            balance,
            held,
            status,
            posting,
            inbox_until,
            version,
            last,
            status_changed_at,
            changed_by,
            frozen_by,
            ..self
        }
    }

    /// The primary key.
    pub fn key_of(id: &AccountId) -> Key {
        Key::new(&AccountPartition(id.clone()), &Metadata)
    }

    /// Whether the caller may access the account, as its owner or as an operator.
    pub(crate) fn is_of(&self, caller: &Caller) -> bool {
        caller.must_be(&self.user, DOMAIN).is_ok()
    }

    /// Returns the balance.
    ///
    /// # Errors
    /// Returns an internal error if the stored balance is not valid for the currency.
    pub fn holds(&self) -> Result<Money, Error> {
        Money::new(self.balance, self.currency).map_err(|error| Error::Internal(format!("a stored balance {error}")))
    }

    /// Returns the balance as [`Self::holds`] does. Counts an invalid balance as an unreadable
    /// item.
    pub(crate) fn readable_balance(&self) -> Result<Money, Error> {
        let unreadable = |error| table::Error::unreadable_part(Self::TYPE, Self::key_of(&self.id), &error);
        Money::new(self.balance, self.currency).map_err(|error| unreadable(error).into())
    }

    /// Returns the amount that the open holds reserve. Counts an invalid amount as an unreadable
    /// item.
    pub(crate) fn readable_held(&self) -> Result<Money, Error> {
        let unreadable = |error| table::Error::unreadable_part(Self::TYPE, Self::key_of(&self.id), &error);
        let Some(held) = self.held else { return Ok(Money::zero(self.currency)) };
        Money::new(held, self.currency).map_err(|error| unreadable(error).into())
    }

    /// Creates an update that increments the version, and adds `change` to the reserved amount.
    ///
    /// # Errors
    /// Returns 409 if the open holds would reserve more than 38 digits. A result below 0 counts as
    /// an unreadable item, because the account then lacks the reserve of a hold.
    pub(crate) fn reserving(&self, table: &Table, change: Money) -> Result<Change, Error> {
        Ok(self.next(table).set(Self::HELD, Value::number(&self.held_after(change)?.amount())))
    }

    /// Returns the reserved amount with all decimal places of the currency. An invalid amount is
    /// returned as stored.
    pub(crate) fn shown_held(&self) -> Option<Decimal> {
        self.held.map(|held| Money::new(held, self.currency).map_or(held, Money::amount))
    }

    /// Whether the account reserves at least this amount.
    pub(crate) fn reserves(&self, amount: Money) -> bool {
        let held = self.held.and_then(|held| Money::new(held, self.currency).ok());
        held.is_some_and(|held| held.minor() >= amount.minor())
    }

    /// Returns the reserved amount after a change.
    ///
    /// # Errors
    /// The errors of [`Self::reserving`].
    pub(crate) fn held_after(&self, change: Money) -> Result<Money, Error> {
        let held = self.readable_held()?.checked_add(change).ok_or_else(|| too_large(self))?;
        let lacking = || table::Error::unreadable_part(Self::TYPE, Self::key_of(&self.id), &"lacks a hold's reserve");
        if held.minor() < 0 { Err(lacking().into()) } else { Ok(held) }
    }

    /// Returns the balance with all decimal places of the currency. An invalid balance is returned
    /// as stored.
    pub(crate) fn shown_balance(&self) -> Decimal {
        self.holds().map_or(self.balance, Money::amount)
    }

    /// The time of the last leg.
    pub(crate) fn last_at(&self) -> Option<TimestampMillis> {
        self.last.as_ref().map(|last| last.created)
    }

    /// The hash of the last leg. Before the first leg, the start of the chain.
    pub(crate) fn last_hash(&self) -> ChainHash {
        self.last.as_ref().map_or(ChainHash::START, |last| last.hash)
    }

    /// Changes the account as the entry does. The version stays the same.
    pub(crate) fn take(&mut self, leg: &Leg) {
        if let Some(entry) = leg.entry() {
            (self.balance, self.last) = (entry.balance_after, LastLeg::of(leg));
        }
    }

    /// Whether a credit waits in the inbox instead of changing the account.
    pub(crate) fn groups(&self, posting: &Posting) -> bool {
        self.posting == PostingMode::Grouped && posting.leg_type == LegType::Credit
    }

    /// Whether the account can have inbox items.
    pub(crate) fn has_inbox(&self) -> bool {
        self.posting == PostingMode::Grouped || self.inbox_until.is_some()
    }

    /// The primary key of the last leg.
    pub(crate) fn last_key(&self) -> Option<Key> {
        self.last.as_ref().map(|last| {
            let of = if last.settled { Leg::posting_key_of } else { Leg::key_of };
            of(&last.transaction, &last.leg)
        })
    }

    /// Creates an update that increments the version. The update fails if the stored version has
    /// changed.
    pub(crate) fn next(&self, table: &Table) -> Change {
        let next = table.update(Self::key_of(&self.id)).set(Self::VERSION, self.version + 1);
        next.only_if(Condition::is(Self::VERSION, self.version))
    }

    /// Creates an update that increments the version, and stores the balance and the last leg.
    pub(crate) fn posted(&self, table: &Table) -> Result<Change, Error> {
        let update = self.next(table).set(Self::BALANCE, Value::number(&self.balance));
        let Some(last) = &self.last else { return Ok(update) };
        let update = if last.settled {
            update.set(LastLeg::SETTLED, Value::of(&true)?)
        } else {
            update.remove(LastLeg::SETTLED)
        };
        let update = update.set(LastLeg::TRANSACTION, &last.transaction).set(LastLeg::LEG, &last.leg);
        Ok(update.set(LastLeg::CREATED, &last.created).set(LastLeg::HASH, &last.hash))
    }
}

/// An account.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountBody {
    account_id: AccountId,
    user_id: UserId,
    account_type: AccountType,
    currency: Currency,
    balance: Decimal,
    /// The sum that open holds reserve.
    held: Decimal,
    /// The balance minus `held`. A debit must not exceed it.
    available: Decimal,
    /// The sum of the credits that are not posted yet. Only for accounts with grouped posting, and
    /// not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Decimal>,
    status: AccountStatus,
    /// Credits of an account with grouped posting wait until a job posts many of them together.
    posting: PostingMode,
    /// The time from which an account with the status `closing` can be closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_at: Option<TimestampMillis>,
    allow_negative: bool,
    #[schemars(range(min = 1))]
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_changed_at: Option<TimestampMillis>,
    /// The role of the caller that froze the account. Present if the account is frozen.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_by: Option<FrozenBy>,
    /// The caller who last changed the status or the posting. Only for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
    created_at: TimestampMillis,
}

impl AccountBody {
    /// Creates the account as the caller sees it.
    ///
    /// # Errors
    /// Returns an internal error if an amount is not valid for the currency.
    pub(crate) fn of(account: Account, caller: &Caller) -> Result<Self, Error> {
        let (balance, held) = (account.holds()?, account.readable_held()?);
        let too_much = || Error::Internal("the available amount has more than 38 digits".to_owned());
        Ok(Self {
            balance: balance.amount(),
            held: held.amount(),
            available: balance.checked_add(-held).ok_or_else(too_much)?.amount(),
            pending: None,
            posting: account.posting,
            closes_at: account.inbox_until.filter(|_| account.status == AccountStatus::Closing),
            account_id: account.id,
            user_id: account.user,
            account_type: account.account_type,
            currency: account.currency,
            status: account.status,
            allow_negative: account.allow_negative,
            version: account.version,
            status_changed_at: account.status_changed_at,
            frozen_by: account.frozen_by,
            changed_by: account.changed_by.and_then(|author| author.seen_by(caller, DOMAIN)),
            created_at: account.created_at,
        })
    }

    /// Adds the sum of the credits in the inbox.
    pub(crate) fn with_pending(self, pending: Option<Money>) -> Self {
        Self { pending: pending.map(Money::amount), ..self }
    }
}
