use crate::{Account, Leg, Posted, Reversal, Transaction};
use function::{App, Caller, Clients, Error, Fingerprint, SettingsReader};
use jobs::Jobs;
use keys::{
    AccountId, Shards, TransactionId,
    ledger::{CreatedSort, TransactionPartition, UserId},
};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::Duration};
use table::{Attribute, Dynamo, Index, Item, Key, Query, Table};
use tokio::time::sleep;

/// Before a transaction of which a part was seen is read again: all of it is there within milliseconds.
const PAUSES: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(20), Duration::from_millis(40)];

/// What every function of the domain works with.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) dynamo: Dynamo,
    /// What is on the books; nothing is ever deleted from it.
    pub(crate) table: Table,
    /// Reconciliations, each with its findings beside it.
    pub(crate) jobs: Jobs,
    /// `GSI1`: transactions by status and time, legs by account and time, accounts by user.
    pub(crate) by_time: Index,
    /// `GSI2`: transactions by idempotency key, and all accounts.
    pub(crate) by_key: Index,
    /// Shards of the status index.
    pub(crate) shards: Shards,
}

impl App for Ledger {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("LEDGER_TABLE");
        let jobs = settings.get::<String>("LEDGER_JOBS_TABLE");
        let shards = settings.shards("STATUS_WRITE_SHARDS", "STATUS_READ_SHARDS");
        let index = |name: &str, partition, sort| Index { name: name.into(), partition, sort };
        let dynamo = clients.dynamo();
        Some(Self {
            dynamo: dynamo.clone(),
            table: dynamo.table(table?),
            jobs: Jobs::new(dynamo, jobs?),
            by_time: index("GSI1", Transaction::BY_STATUS, Transaction::BY_TIME),
            by_key: index("GSI2", Transaction::BY_KEY, Transaction::BY_KEY_SORT),
            shards: shards?,
        })
    }
}

/// Calls that open the connection before the first event. What they answer does not matter, and a
/// failure shows again, with its reason, at the first event.
impl Ledger {
    pub(crate) async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<Account>(&Key::placeholder()).await;
    }

    pub(crate) async fn warm_by_batch_get(self) {
        let _ = self.table.get_all::<Account>(&[Key::placeholder()], false).await;
    }

    pub(crate) async fn warm_by_query(self) {
        let _ = self.table.page::<Leg>(&Query::new(&"#", &CreatedSort::nothing()), 1).await;
    }

    pub(crate) async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    pub(crate) async fn warm_by_index(self) {
        let range = CreatedSort::nothing();
        let _ = self.table.page::<Leg>(&Query::new(&"#", &range).on(&self.by_time), 1).await;
    }
}

/// Who asks, by the name that their accounts have.
///
/// # Errors
/// 403 for who has no name.
pub(crate) fn user(caller: &Caller) -> Result<UserId, Error> {
    caller.subject.parse().map_err(|_| Error::Forbidden)
}

/// What a request makes, under an id that its caller and its key make: the same request finds what it made before.
pub(crate) trait IdempotentItem: Item {
    /// What was asked.
    fn request(&self) -> &Fingerprint;
}

/// An item of a transaction's collection, told apart by its `Type`. Only read; each is written as what it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "Type")]
enum Row {
    Transaction(Box<Transaction>),
    TransactionLeg(Box<Leg>),
    Reversal(Reversal),
}

impl Item for Row {
    const TYPE: &'static str = "item of a transaction";
    const NUMBERS: &'static [Attribute] = &[Leg::AMOUNT, Leg::BALANCE_AFTER];
}

impl Ledger {
    /// Puts the thing if there is none of its id, and answers it, or what the same request made before.
    ///
    /// # Errors
    /// 422 where another request made it.
    pub(crate) async fn make<T: IdempotentItem>(&self, thing: T) -> Result<T, Error> {
        match self.dynamo.write(self.table.put_new(&thing)?).await {
            Ok(()) => Ok(thing),
            Err(table::Error::Refused(refused)) => {
                let found = refused.found::<T>(0)?.ok_or_else(Error::stale)?;
                if found.request() == thing.request() { Ok(found) } else { Err(Error::KeyReused) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The account, strongly consistent.
    ///
    /// # Errors
    /// 404 where there is none; 403 where it is another's, or there is none and the caller is no operator, who alone may learn
    /// which ids there are.
    pub(crate) async fn account(&self, id: &AccountId, caller: &Caller) -> Result<Account, Error> {
        let account = self.table.get::<Account>(&Account::key_of(id)).await?;
        let account = account.ok_or_else(|| missing("account", caller))?;
        caller.must_be(&account.user, crate::DOMAIN)?;
        Ok(account)
    }

    /// The accounts, strongly consistent, as far as they exist.
    pub(crate) async fn accounts<'a>(
        &self,
        ids: impl Iterator<Item = &'a AccountId>,
    ) -> Result<HashMap<AccountId, Account>, Error> {
        let keys: Vec<Key> = ids.map(Account::key_of).collect();
        let found = self.table.get_all::<Account>(&keys, true).await?;
        Ok(found.into_values().map(|account| (account.id.clone(), account)).collect())
    }

    /// A transaction with its legs, strongly consistent: one query of its collection. While it is being written a query may show
    /// a part of it, and is asked again, a few times: if legs are missing by then, so they are in the answer.
    pub(crate) async fn transaction(&self, id: &TransactionId) -> Result<Option<Posted>, Error> {
        let mut posted = self.collection(id).await?;
        for pause in PAUSES {
            if posted.as_ref().is_none_or(Posted::is_whole) {
                break;
            }
            sleep(pause).await;
            posted = self.collection(id).await?;
        }
        Ok(posted)
    }

    async fn collection(&self, id: &TransactionId) -> Result<Option<Posted>, Error> {
        let range = TransactionPartition::collection();
        let rows = self.table.query_all::<Row>(&Query::new(&TransactionPartition(id.clone()), &range)).await?;
        let (mut transaction, mut legs, mut reversal) = (None, Vec::new(), None);
        for row in rows {
            match row {
                Row::Transaction(header) => transaction = Some(*header),
                Row::TransactionLeg(leg) => legs.push(*leg),
                Row::Reversal(found) => reversal = Some(found),
            }
        }
        Ok(transaction.map(|transaction| Posted { transaction, legs, reversal }))
    }
}

/// What is said of what is not there: only operators learn that it is not.
pub(crate) fn missing(what: &'static str, caller: &Caller) -> Error {
    if caller.operates(crate::DOMAIN) { Error::NotFound(what) } else { Error::Forbidden }
}
