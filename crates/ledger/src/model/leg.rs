use crate::{Account, ChainHash, DOMAIN, Posting, Purpose};
use function::Caller;
use keys::{
    AccountId, Shard, TimestampMillis, TransactionId,
    ledger::{
        AccountPartition, EntrySort, InboxPartition, LegId, LegSort, LegTimeSort, LegType, PostingSort,
        ReversedLegSort, TransactionPartition, UserId,
    },
};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use table::{Attribute, Attributes, Item, Key};

/// A debit or credit of one account
/// ([requirement](../../../../docs/requirements/ledger.md#transaction-legs)). A leg never changes
/// ([decision](../../../../docs/decisions/ledger-history.md)), and its hash shows a change
/// ([decision](../../../../docs/decisions/ledger-history.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Leg {
    #[serde(flatten)]
    of: OfTransaction,
    #[serde(rename = "SK")]
    sort: EntrySort,
    /// The leg id: the transaction id and the number of the leg.
    #[serde(rename = "ID")]
    pub id: LegId,
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
    /// The time of the transaction.
    pub created_at: TimestampMillis,
    /// What a statement shows of the transaction.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// How the leg reaches the balance of its account.
    #[serde(flatten, deserialize_with = "booking")]
    pub booking: Booking,
    /// The leg that this leg reverses, if its transaction is a reversal.
    #[serde(flatten)]
    pub reverses: Option<ReversedLeg>,
}

/// The transaction of a leg: `PK`, and a copy in `TransactionID`, which GSI1 does not project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Partition", into = "PartitionWithCopy")]
struct OfTransaction(TransactionId);

#[derive(Deserialize)]
struct Partition {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
}

#[derive(Serialize)]
struct PartitionWithCopy {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "TransactionID")]
    copy: TransactionId,
}

impl From<Partition> for OfTransaction {
    fn from(Partition { partition: TransactionPartition(id) }: Partition) -> Self {
        Self(id)
    }
}

impl From<OfTransaction> for PartitionWithCopy {
    fn from(OfTransaction(id): OfTransaction) -> Self {
        Self { partition: TransactionPartition(id.clone()), copy: id }
    }
}

/// A leg of a reversal in the list of an account's reversed legs, in GSI2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct ReversedLeg {
    #[serde(rename = "GSI2PK")]
    pub(crate) of_account: AccountPartition,
    #[serde(rename = "GSI2SK")]
    pub(crate) by_original: ReversedLegSort,
    /// The sum of this and all earlier reversals. `None` if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reversed_amount: Option<Decimal>,
}

/// The position of a new leg in its transaction, and the values that it copies from the
/// transaction.
#[derive(Debug)]
pub(crate) struct NewLeg<'a> {
    pub(crate) transaction: &'a TransactionId,
    /// The number of the leg. It starts at 1.
    pub(crate) number: usize,
    pub(crate) created: TimestampMillis,
    pub(crate) purpose: Purpose,
    pub(crate) reverses: Option<ReversedLeg>,
}

/// How a leg reaches the balance of its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Booking {
    /// The leg is an entry in the history of its account.
    Posted(Entry),
    /// The leg credits an account with grouped posting. Its posting is another item
    /// ([decision](../../../../docs/decisions/ledger-throughput.md)).
    Grouped(Grouped),
}

/// An entry in the history of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Entry {
    #[serde(rename = "GSI1PK")]
    of_account: AccountPartition,
    #[serde(rename = "GSI1SK")]
    by_time: LegTimeSort,
    /// The balance of the account after the entry.
    pub balance_after: Decimal,
    /// The hash of the contents and of the previous entry's hash.
    pub hash: ChainHash,
    /// The time at which a grouped credit was posted. The history of the account is in the order of
    /// these times. `None` if the transaction has posted the leg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posted_at: Option<TimestampMillis>,
}

/// The inbox item of a leg that credits an account with grouped posting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Grouped {
    /// The shard of the inbox.
    pub inbox_shard: Shard,
}

/// Reads the attributes of the booking. serde would read an untagged enum with a missing attribute
/// as another variant.
fn booking<'de, D: Deserializer<'de>>(input: D) -> Result<Booking, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Parts {
        #[serde(rename = "GSI1PK")]
        of_account: Option<AccountPartition>,
        #[serde(rename = "GSI1SK")]
        by_time: Option<LegTimeSort>,
        balance_after: Option<Decimal>,
        hash: Option<ChainHash>,
        posted_at: Option<TimestampMillis>,
        inbox_shard: Option<Shard>,
    }
    let Parts { of_account, by_time, balance_after, hash, posted_at, inbox_shard } = Parts::deserialize(input)?;
    match (of_account, by_time, balance_after, hash, inbox_shard) {
        (Some(of_account), Some(by_time), Some(balance_after), Some(hash), None) => {
            Ok(Booking::Posted(Entry { of_account, by_time, balance_after, hash, posted_at }))
        }
        (None, None, None, None, Some(inbox_shard)) if posted_at.is_none() => {
            Ok(Booking::Grouped(Grouped { inbox_shard }))
        }
        _ => Err(de::Error::custom("the attributes of the posting do not fit together")),
    }
}

impl Item for Leg {
    const TYPE: &'static str = "TransactionLeg";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT, Entry::BALANCE_AFTER, ReversedLeg::REVERSED_AMOUNT];
}

/// The posting of a grouped credit: the entry of the leg in the history of its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SettledLeg(pub Leg);

impl Item for SettledLeg {
    const TYPE: &'static str = "Posting";
    const NUMBERS: &'static [Attribute] = Leg::NUMBERS;
}

impl Leg {
    /// Creates a leg that follows the last entry of the account. `after` is the balance after the
    /// leg.
    pub(crate) fn new(new: NewLeg<'_>, posting: &Posting, account: &Account, after: Money) -> Self {
        Self::grouped(new, posting, account).posted(account, after, None)
    }

    /// Creates a leg that credits an account with grouped posting.
    pub(crate) fn grouped(new: NewLeg<'_>, posting: &Posting, account: &Account) -> Self {
        let NewLeg { transaction, number, created, purpose, reverses } = new;
        let id = LegId::new(transaction, number);
        let booking = Booking::Grouped(Grouped { inbox_shard: InboxPartition::shard_of(&id) });
        Self {
            of: OfTransaction(transaction.clone()),
            sort: EntrySort::Leg(LegSort(id.clone())),
            id,
            account: posting.account.clone(),
            user: account.user.clone(),
            leg_type: posting.leg_type,
            amount: posting.amount.amount(),
            currency: posting.amount.currency(),
            created_at: created,
            purpose,
            booking,
            reverses,
        }
    }

    /// The transaction.
    pub fn transaction(&self) -> &TransactionId {
        &self.of.0
    }

    /// Returns the leg as the next entry of the account.
    fn posted(mut self, account: &Account, after: Money, posted_at: Option<TimestampMillis>) -> Self {
        let (balance_after, previous) = (after.amount(), account.last_hash());
        let by_time = LegTimeSort { created: posted_at.unwrap_or(self.created_at), leg: self.id.clone() };
        let of_account = AccountPartition(self.account.clone());
        let entry = Entry { of_account, by_time, balance_after, hash: previous, posted_at };
        self.booking = Booking::Posted(entry);
        if let (Some(contents), Booking::Posted(entry)) = (self.contents(), &mut self.booking) {
            entry.hash = previous.then(contents);
        }
        self
    }

    /// Returns the posting of a grouped credit, as the next entry of the account.
    pub(crate) fn settled(self, account: &Account, after: Money, at: TimestampMillis) -> SettledLeg {
        let mut posting = Self { reverses: None, ..self.posted(account, after, Some(at)) };
        posting.sort = EntrySort::Posting(PostingSort(posting.id.clone()));
        SettledLeg(posting)
    }

    /// The primary key of a leg.
    pub fn key_of(transaction: &TransactionId, leg: &LegId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &LegSort(leg.clone()))
    }

    /// The primary key of the posting of a grouped credit.
    pub fn posting_key_of(transaction: &TransactionId, leg: &LegId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &PostingSort(leg.clone()))
    }

    /// Whether this is the primary key of a leg of the transaction, or of its posting.
    pub(crate) fn is_key_in(key: &Key, transaction: &TransactionId) -> bool {
        let sort = key.sort().parse::<EntrySort>();
        sort.is_ok_and(|sort| *key == Key::new(&TransactionPartition(transaction.clone()), &sort))
    }

    /// The primary key of this item.
    pub(crate) fn key(&self) -> Key {
        Key::new(&TransactionPartition(self.of.0.clone()), &self.sort)
    }

    /// Whether this is the posting of a grouped credit.
    pub fn is_settled(&self) -> bool {
        matches!(self.sort, EntrySort::Posting(_))
    }

    /// The entry in the history of the account. `None` if the leg is a grouped credit.
    pub fn entry(&self) -> Option<&Entry> {
        match &self.booking {
            Booking::Posted(entry) => Some(entry),
            Booking::Grouped(_) => None,
        }
    }

    /// The partition of the inbox item, if the leg is a grouped credit.
    pub(crate) fn inbox(&self) -> Option<InboxPartition> {
        match &self.booking {
            Booking::Posted(_) => None,
            Booking::Grouped(Grouped { inbox_shard }) => {
                Some(InboxPartition { account: self.account.clone(), shard: *inbox_shard })
            }
        }
    }

    /// The hash of the entry.
    pub(crate) fn hash(&self) -> Option<ChainHash> {
        self.entry().map(|entry| entry.hash)
    }

    /// Returns the entry's position in the history of the account.
    pub fn place(&self) -> LegTimeSort {
        let computed = || LegTimeSort { created: self.created_at, leg: self.id.clone() };
        self.entry().map_or_else(computed, |entry| entry.by_time.clone())
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

    /// Returns the balance after the entry, with all decimal places of the currency. An invalid
    /// balance is returned as stored.
    pub(crate) fn shown_after(&self) -> Option<Decimal> {
        let stored = self.entry().map(|entry| entry.balance_after);
        self.after().map(Money::amount).or(stored)
    }

    /// Returns the balance after the entry. `None` if the stored balance is not valid for the
    /// currency.
    pub(crate) fn after(&self) -> Option<Money> {
        Money::new(self.entry()?.balance_after, self.currency).ok()
    }

    /// Returns the balance before the entry, computed from the balance after it.
    pub(crate) fn before(&self) -> Option<Money> {
        self.after()?.checked_add(-self.posting()?.change())
    }

    /// Whether the caller may access the account of the leg, as its owner or as an operator.
    pub(crate) fn is_of(&self, caller: &Caller) -> bool {
        caller.must_be(&self.user, DOMAIN).is_ok()
    }
}

/// A leg.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LegBody {
    pub(crate) leg_id: LegId,
    pub(crate) transaction_id: TransactionId,
    account_id: AccountId,
    pub(crate) leg_type: LegType,
    pub(crate) amount: Decimal,
    pub(crate) currency: Currency,
    /// The balance after the leg. Present for posted legs on the caller's own accounts. Operators
    /// see it for all posted legs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balance_after: Option<Decimal>,
    pub(crate) created_at: TimestampMillis,
    /// The time at which a credit of an account with grouped posting was posted. Present only with
    /// `balanceAfter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) posted_at: Option<TimestampMillis>,
}

impl LegBody {
    /// Creates the response body for the caller. Amounts have all decimal places of the currency.
    pub(crate) fn of(leg: Leg, caller: &Caller) -> Self {
        let is_accessible = leg.is_of(caller);
        Self {
            balance_after: leg.shown_after().filter(|_| is_accessible),
            posted_at: leg.entry().and_then(|entry| entry.posted_at).filter(|_| is_accessible),
            amount: leg.shown_amount(),
            leg_id: leg.id,
            transaction_id: leg.of.0,
            account_id: leg.account,
            leg_type: leg.leg_type,
            currency: leg.currency,
            created_at: leg.created_at,
        }
    }
}
