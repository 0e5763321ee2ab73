use crate::{
    Account, Entry, InboxItem, Ledger, Leg, Posted, Reversal, Transaction,
    model::{
        access::{IdempotentItem, missing},
        account::Owner,
        account_count::AccountCount,
        refusal::Refusal,
    },
};
use function::{Caller, Error, Problem};
use futures::future::try_join_all;
use keys::{
    AccountId, Shards, TransactionId,
    ledger::{InboxPartition, InboxSort, TransactionPartition},
};
use money::{Currency, Money};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use table::{Attribute, Dynamo, Index, Item, Key, Query, Refused, Table};
use tokio::time::sleep;

/// Pauses before an incomplete transaction is read again. The missing items become visible within
/// milliseconds.
const PAUSES: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(20), Duration::from_millis(40)];

/// Maximum number of inbox items that one call reads, to compute the pending amount.
const INBOX_PAGE: usize = 1_000;

/// The table of merchants, accounts, transactions and legs. Only inbox items are ever deleted from
/// this table.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    pub(crate) dynamo: Dynamo,
    pub(crate) table: Table,
    /// `GSI1`: transactions by status and time, legs by account and time, open holds by account and
    /// expiry, and accounts by user.
    pub(crate) by_time: Index,
    /// Shards of the status index and of the expiry index.
    pub(crate) shards: Shards,
}

pub(crate) fn index(name: &str, partition: Attribute, sort: Attribute) -> Index {
    Index { name: name.into(), partition, sort }
}

/// An item in a transaction's item collection. The `Type` attribute selects the variant. Only reads
/// use this enum; writes use the item types directly.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "Type")]
enum Row {
    Transaction(Box<Transaction>),
    TransactionLeg(Box<Leg>),
    Posting(Box<Leg>),
    Reversal(Reversal),
    Refusal(Refusal),
}

impl Item for Row {
    const TYPE: &'static str = "item of a transaction";
    const NUMBERS: &'static [Attribute] = &[Leg::AMOUNT, Entry::BALANCE_AFTER, Reversal::REVERSED_AMOUNT];
}

impl Ledger {
    /// Puts the account as [`Books::make`] does, and increments the number of accounts that its
    /// user has opened.
    ///
    /// # Errors
    /// Returns 422 if a different request created the existing account, and 409 if the user has
    /// already opened the maximum number of accounts.
    pub(crate) async fn make_counted(&self, account: Account) -> Result<Account, Error> {
        let limit = self.accounts_per_user;
        let count = AccountCount::another(&self.books.table, &account.user, limit.get().into());
        match self.books.dynamo.transact(vec![self.books.table.put_new(&account)?, count]).await {
            Ok(()) => Ok(account),
            // A retry gets the account, even if the user can open no further account.
            Err(table::Error::Refused(refused)) if refused.at(0) => existing(&account, &refused),
            Err(table::Error::Refused(_)) => {
                let why = format!("A user can open at most {limit} accounts. Closed accounts count as well.");
                Err(Error::Conflict(Problem::AccountLimit, why))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Books {
    pub(crate) fn new(dynamo: &Dynamo, table: String, shards: Shards) -> Self {
        let by_time = index("GSI1", Transaction::BY_STATUS, Transaction::BY_TIME);
        Self { dynamo: dynamo.clone(), table: dynamo.table(table), by_time, shards }
    }

    /// Puts the item, unless an item with the same id exists. Returns the item, or the existing
    /// item if the same request created it.
    ///
    /// # Errors
    /// Returns 422 if a different request created the existing item.
    pub(crate) async fn make<T: IdempotentItem>(&self, thing: T) -> Result<T, Error> {
        match self.dynamo.write(self.table.put_new(&thing)?).await {
            Ok(()) => Ok(thing),
            Err(table::Error::Refused(refused)) => existing(&thing, &refused),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads an account with strong consistency.
    ///
    /// # Errors
    /// Returns 403 if the account belongs to another user. For a missing account, operators get
    /// 404, and other callers get 403. Only operators may find out whether an id exists. An
    /// unreadable account is an internal error for its owner and for operators.
    pub(crate) async fn account(&self, id: &AccountId, caller: &Caller) -> Result<Account, Error> {
        let account = self.account_if_any(id, caller).await?.ok_or_else(|| missing("account", caller))?;
        caller.must_be(&account.user, crate::DOMAIN)?;
        Ok(account)
    }

    /// Reads an account with eventual consistency, for what never changes: its owner and its
    /// currency. If this read does not give the account, it is read again as [`Self::account`]
    /// does.
    ///
    /// # Errors
    /// The errors of [`Self::account`].
    pub(crate) async fn account_shown(&self, id: &AccountId, caller: &Caller) -> Result<Account, Error> {
        match self.table.get_eventually::<Account>(&Account::key_of(id)).await {
            Ok(Some(account)) if caller.must_be(&account.user, crate::DOMAIN).is_ok() => Ok(account),
            Ok(_) | Err(table::Error::Unreadable(..)) => self.account(id, caller).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Reads an account with strong consistency. For a caller who may not access the account, an
    /// unreadable account is the same as a missing one.
    pub(crate) async fn account_if_any(&self, id: &AccountId, caller: &Caller) -> Result<Option<Account>, Error> {
        match self.table.get::<Account>(&Account::key_of(id)).await {
            Err(error @ table::Error::Unreadable(..)) => {
                if self.may_learn_of(&[Account::key_of(id)], caller).await? {
                    Err(error.into())
                } else {
                    Ok(None)
                }
            }
            read => Ok(read?),
        }
    }

    /// Reads accounts with strong consistency. Omits missing accounts, and unreadable accounts that
    /// the caller may not access.
    pub(crate) async fn accounts<'a>(
        &self,
        ids: impl Iterator<Item = &'a AccountId>,
        caller: &Caller,
    ) -> Result<BTreeMap<AccountId, Account>, Error> {
        let keys: Vec<Key> = ids.map(Account::key_of).collect();
        let mut found = self.table.get_all::<Account>(&keys, true).await?;
        if !found.unreadable.is_empty() && !self.may_learn_of(&found.unreadable, caller).await? {
            found.unreadable.clear();
        }
        Ok(found.complete()?.into_values().map(|account| (account.id.clone(), account)).collect())
    }

    /// Returns the sum of the credits in the account's inbox, with one strongly consistent query
    /// for each shard and page. `None` if the account has no inbox, or if an inbox item is
    /// unreadable.
    pub(crate) async fn pending(&self, account: &Account) -> Result<Option<Money>, Error> {
        if !account.has_inbox() {
            return Ok(None);
        }
        let shards: Vec<InboxPartition> = InboxPartition::all(&account.id).collect();
        let sums = try_join_all(shards.iter().map(|shard| self.pending_in(shard, account.currency))).await?;
        let nothing = Some(Money::zero(account.currency));
        Ok(sums.into_iter().fold(nothing, |sum, shard| sum?.checked_add(shard?)))
    }

    async fn pending_in(&self, shard: &InboxPartition, currency: Currency) -> Result<Option<Money>, Error> {
        let (mut rest, mut sum) = (InboxSort::all(), Some(Money::zero(currency)));
        loop {
            let page = self.table.page::<InboxItem>(&Query::new(shard, &rest).consistent(), INBOX_PAGE).await?;
            sum = sum.filter(|_| page.skipped == 0);
            for item in &page.items {
                sum = sum.zip(item.money()).and_then(|(sum, amount)| sum.checked_add(amount));
            }
            let Some(position) = page.next else { return Ok(sum) };
            rest = rest.after(&position);
        }
    }

    /// Whether the account has no inbox item.
    pub(crate) async fn is_inbox_empty(&self, account: &AccountId) -> Result<bool, Error> {
        let (shards, all) = (InboxPartition::all(account).collect::<Vec<_>>(), InboxSort::all());
        let is_empty = async |shard: &InboxPartition| {
            let page = self.table.page::<InboxItem>(&Query::new(shard, &all).consistent(), 1).await?;
            Ok::<_, Error>(page.items.is_empty() && page.skipped == 0)
        };
        Ok(try_join_all(shards.iter().map(is_empty)).await?.into_iter().all(|is_empty| is_empty))
    }

    /// Whether the caller may learn that these accounts exist but are unreadable. An operator may.
    /// Other callers must own one of the accounts, and its owner must be readable
    /// ([decision](../../../docs/decisions/unreadable-items.md)).
    async fn may_learn_of(&self, accounts: &[Key], caller: &Caller) -> Result<bool, Error> {
        if caller.operates(crate::DOMAIN) {
            return Ok(true);
        }
        for key in accounts {
            match self.table.get::<Owner>(key).await {
                Ok(Some(owner)) if caller.must_be(&owner.user, crate::DOMAIN).is_ok() => return Ok(true),
                Ok(_) | Err(table::Error::Unreadable(..)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Reads a transaction for a caller, as [`Self::transaction`] does.
    ///
    /// # Errors
    /// Returns 403 if the caller is not an operator and has no leg in the transaction. If the
    /// transaction does not exist, operators get 404, and other callers get 403. An unreadable item
    /// is an internal error for callers who may access the transaction.
    pub(crate) async fn transaction_of(&self, id: &TransactionId, caller: &Caller) -> Result<Posted, Error> {
        self.collection(id).await?.for_caller(caller)
    }

    /// Reads a transaction with eventual consistency. If this read does not give a whole
    /// transaction that concerns the caller, it is read again as [`Self::transaction_of`] does.
    ///
    /// # Errors
    /// The errors of [`Self::transaction_of`].
    pub(crate) async fn transaction_shown(&self, id: &TransactionId, caller: &Caller) -> Result<Posted, Error> {
        let found = self.collection_once(id, true).await?;
        let is_enough = found.posted.is_some() && found.is_whole() && found.unreadable.is_empty();
        if is_enough && found.concerns(caller) {
            return found.for_caller(caller);
        }
        self.transaction_of(id, caller).await
    }

    /// Reads a transaction with its legs in one strongly consistent query, which is repeated as for
    /// [`Self::collection`].
    ///
    /// # Errors
    /// An item of the transaction cannot be read.
    pub(crate) async fn transaction(&self, id: &TransactionId) -> Result<Option<Posted>, Error> {
        self.collection(id).await?.readable()
    }

    /// Reads the items of a transaction in one strongly consistent query.
    ///
    /// A query during the write may return only some of the legs. An incomplete query is therefore
    /// repeated a few times. The result of the last query may still be incomplete.
    pub(crate) async fn collection(&self, id: &TransactionId) -> Result<Collection, Error> {
        let mut found = self.collection_once(id, false).await?;
        for pause in PAUSES {
            if found.is_whole() {
                break;
            }
            sleep(pause).await;
            found = self.collection_once(id, false).await?;
        }
        Ok(found)
    }

    /// Reads a transaction without its legs, and its last reversal marker. The read is eventually
    /// consistent, and is repeated with strong consistency if it finds nothing. `None` if the
    /// header is missing or unreadable. Also returns the number of unreadable items.
    pub(crate) async fn summary(&self, id: &TransactionId) -> Result<(Option<Summary>, usize), Error> {
        let (partition, range) = (TransactionPartition(id.clone()), TransactionPartition::without_legs());
        let rows = self.table.look_up_all::<Row>(Query::new(&partition, &range)).await?;
        let (mut header, mut last) = (None, None);
        for row in rows.items {
            match row {
                Row::Transaction(found) => header = Some(*found),
                Row::Reversal(found) => last = Some(found),
                Row::TransactionLeg(_) | Row::Posting(_) | Row::Refusal(_) => {}
            }
        }
        Ok((header.map(|header| (header, last)), rows.skipped))
    }

    async fn collection_once(&self, id: &TransactionId, eventually: bool) -> Result<Collection, Error> {
        let (partition, range) = (TransactionPartition(id.clone()), TransactionPartition::collection());
        let query = Query::new(&partition, &range);
        let query = if eventually { query.eventually() } else { query };
        let (rows, unreadable) = self.table.query_all_with_unreadable::<Row>(&query).await?;
        let (mut transaction, mut legs, mut postings) = (None, Vec::new(), Vec::new());
        let (mut reversals, mut refusal) = (Vec::new(), None);
        for row in rows.items {
            match row {
                Row::Transaction(header) => transaction = Some(*header),
                Row::TransactionLeg(leg) => legs.push(*leg),
                Row::Posting(posting) => postings.push(*posting),
                Row::Reversal(found) => reversals.push(found),
                Row::Refusal(found) => refusal = Some(found),
            }
        }
        let (posted, headless) = match transaction {
            Some(transaction) => (Some(Posted { transaction, legs, postings, reversals }), Vec::new()),
            None => (None, legs),
        };
        Ok(Collection { posted, headless, refusal, unreadable })
    }
}

/// A header, and the last reversal marker of the transaction.
pub(crate) type Summary = (Transaction, Option<Reversal>);

/// The stored items of a transaction.
#[derive(Debug)]
pub(crate) struct Collection {
    /// The readable items. `None` if the header is missing or unreadable.
    pub(crate) posted: Option<Posted>,
    /// The readable legs, if the header is missing or unreadable.
    headless: Vec<Leg>,
    /// The final refusal of a transfer with this id.
    pub(crate) refusal: Option<Refusal>,
    /// The keys of the unreadable items.
    pub(crate) unreadable: Vec<Key>,
}

impl Collection {
    /// Returns the transaction.
    ///
    /// # Errors
    /// An item of the transaction cannot be read.
    pub(crate) fn readable(self) -> Result<Option<Posted>, Error> {
        match self.unreadable.len() {
            0 => Ok(self.posted),
            count => Err(table::Error::unreadable(Row::TYPE, &format!("{count} items")).into()),
        }
    }

    /// Returns the transaction, if the caller may access it.
    ///
    /// # Errors
    /// The errors of [`Books::transaction_of`].
    fn for_caller(self, caller: &Caller) -> Result<Posted, Error> {
        if !self.concerns(caller) {
            return Err(missing("transaction", caller));
        }
        self.readable()?.ok_or_else(|| missing("transaction", caller))
    }

    /// Whether the caller may access the account of at least one readable leg, as its owner or as
    /// an operator. If a leg is unreadable, it is enough that the caller has posted the
    /// transaction.
    fn concerns(&self, caller: &Caller) -> bool {
        let of_posted = |posted: &Posted| {
            let created_by = &posted.transaction.created_by;
            posted.legs.iter().any(|leg| leg.is_of(caller))
                || (!self.unreadable.is_empty() && caller.must_be(created_by, crate::DOMAIN).is_ok())
        };
        caller.operates(crate::DOMAIN)
            || self.headless.iter().any(|leg| leg.is_of(caller))
            || self.posted.as_ref().is_some_and(of_posted)
    }

    /// Whether nothing is stored under the transaction id.
    pub(crate) fn is_empty(&self) -> bool {
        self.posted.is_none() && self.headless.is_empty() && self.refusal.is_none() && self.unreadable.is_empty()
    }

    fn is_whole(&self) -> bool {
        let is_whole = |posted: &Posted| posted.legs.len() + self.unreadable.len() >= posted.transaction.postings.len();
        self.posted.as_ref().is_none_or(is_whole)
    }
}

/// Returns the stored item of a refused put, if the same request created it.
fn existing<T: IdempotentItem>(thing: &T, refused: &Refused) -> Result<T, Error> {
    let found = refused.found::<T>(0)?.ok_or_else(Error::stale)?;
    if found.request() == thing.request() { Ok(found) } else { Err(Error::KeyReused) }
}
