//! Transfers for another service, which decides who may pay from an account
//! ([decision](../../../docs/decisions/ledger-transfers.md)).

use crate::{
    Posting, Reversal, Transaction,
    model::{
        refusal::{Header, Refusal, Rejection},
        transaction::Draft,
    },
    post::Payer,
    store::Books,
};
use function::{Clients, Error, Fingerprint, SettingsReader};
use keys::{
    AccountId, IdempotencyKey, Random, Shards, TimestampMillis, TransactionId,
    ledger::{LegType, TransactionType, UserId},
};
use money::Money;
use std::collections::HashMap;
use table::{Error as Store, Found, Key};

/// The ledger as another service uses it: its table, without the tables of the ledger's jobs.
#[derive(Debug, Clone)]
pub struct Transfers {
    books: Books,
    /// The author of the transactions.
    by: UserId,
}

/// A transfer from one account to another.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The key of the transfer. All attempts with this key post at most one transaction.
    pub key: IdempotencyKey,
    /// The account to debit. The caller has checked that it may be debited.
    pub debit: AccountId,
    /// The account to credit.
    pub credit: AccountId,
    /// The amount.
    pub amount: Money,
    /// The type of the transaction.
    pub transaction_type: TransactionType,
}

/// The outcome of a transfer.
#[derive(Debug)]
pub enum TransferOutcome {
    /// The transaction is posted.
    Completed(TransactionId),
    /// The transaction is not posted, and never will be.
    Rejected(Rejection),
    /// Other transactions changed the accounts during all attempts. Repeat the transfer with the
    /// same key.
    Contended,
    /// The outcome is unknown. Repeat the transfer with the same key.
    Unavailable(Error),
}

/// A transaction of the ledger, as another service compares it with its own records.
#[derive(Debug, Clone, Copy)]
pub struct PostedTransfer {
    /// The sum of the debits. `None` if the legs have several currencies.
    pub amount: Option<Money>,
    /// The time of the transaction.
    pub created_at: TimestampMillis,
    /// Whether other transactions reverse this one, in whole or in part.
    pub is_reversed: bool,
}

impl PostedTransfer {
    fn of(header: &Transaction, is_reversed: bool) -> Self {
        let amount =
            header.amount.zip(header.currency).and_then(|(amount, currency)| Money::new(amount, currency).ok());
        Self { amount, created_at: header.created_at, is_reversed }
    }
}

/// The posted transactions among some ids.
#[derive(Debug)]
pub struct PostedTransfers {
    /// The transactions by id.
    pub posted: HashMap<TransactionId, PostedTransfer>,
    /// Primary keys of the headers that cannot be deserialized.
    pub unreadable: Vec<Key>,
}

impl PostedTransfers {
    /// Returns the primary key of the transaction's header, if the header cannot be deserialized.
    pub fn unreadable(&self, id: &TransactionId) -> Option<Key> {
        Some(Transaction::key_of(id)).filter(|key| self.unreadable.contains(key))
    }
}

impl Transfers {
    /// Reads the settings `LEDGER_TABLE` and `STATUS_WRITE_SHARDS`. `service` is the name of the
    /// calling service, such as `bank`.
    pub fn start(settings: &mut SettingsReader<'_>, clients: &Clients, service: &str) -> Option<Self> {
        let (table, shards) = (settings.get::<String>("LEDGER_TABLE"), settings.get::<u16>("STATUS_WRITE_SHARDS"));
        // Only readers need the number of shards to read.
        let shards = shards.and_then(|write| match Shards::new(write, write) {
            Ok(shards) => Some(shards),
            Err(error) => settings.fault(format!("STATUS_WRITE_SHARDS: {error}")),
        });
        let by = format!("service:{service}").parse().ok();
        let dynamo = clients.dynamo();
        Some(Self { books: Books::new(dynamo, table?, shards?), by: by? })
    }

    /// Returns the id of the transaction that the transfer with this key posts. No request of a
    /// user can post a transaction with this id.
    pub fn transaction_id_of(&self, key: &IdempotencyKey) -> TransactionId {
        TransactionId::of_service(&self.by, key)
    }

    /// Posts the transfer exactly once, or refuses it for good.
    ///
    /// The debited account's owner counts as the caller. An account that the owner may not see is
    /// therefore not disclosed. A rule that rejects the transfer is recorded under the id of the
    /// transaction: an attempt that was delayed cannot post the transfer after its rejection.
    pub async fn transfer(&self, transfer: Transfer, now: TimestampMillis, random: &Random) -> TransferOutcome {
        if transfer.debit == transfer.credit {
            return TransferOutcome::Rejected(Rejection::SameAccount);
        }
        if transfer.amount.minor() <= 0 {
            return TransferOutcome::Rejected(Rejection::NotPositive);
        }
        let draft = self.draft(transfer);
        match Box::pin(self.books.post(&draft, Payer::Owner, now, random)).await {
            Ok(posted) => TransferOutcome::Completed(posted.transaction.id),
            Err(error) => match Rejection::of(&error) {
                Some(reason) => Box::pin(self.refuse(&draft, reason, now)).await,
                None if matches!(error, Error::Table(Store::Contended { throttled: false })) => {
                    Box::pin(self.contended(&draft, error)).await
                }
                None => TransferOutcome::Unavailable(error),
            },
        }
    }

    fn draft(&self, Transfer { key, debit, credit, amount, transaction_type }: Transfer) -> Draft {
        let posting = |leg_type, account| Posting { leg_type, amount, account };
        let postings = vec![posting(LegType::Debit, debit), posting(LegType::Credit, credit)];
        let texts: Vec<String> = postings.iter().map(ToString::to_string).collect();
        let head = ["transfer", self.by.as_str(), transaction_type.as_str()];
        let request = Fingerprint::of(&head.into_iter().chain(texts.iter().map(String::as_str)).collect::<Vec<_>>());
        let id = self.transaction_id_of(&key);
        Draft { key: Some(key), ..Draft::new(id, transaction_type, postings, self.by.clone(), request) }
    }

    /// Tells contention from a stored transaction that is incomplete. Only contention ends if the
    /// transfer is repeated.
    async fn contended(&self, draft: &Draft, error: Error) -> TransferOutcome {
        match self.books.collection(&draft.id).await {
            Ok(found) if found.is_empty() => TransferOutcome::Contended,
            Ok(_) => TransferOutcome::Unavailable(error),
            Err(error) => TransferOutcome::Unavailable(error),
        }
    }

    /// Records the refusal, unless another attempt has posted or refused the transfer. Returns the
    /// outcome that is stored.
    async fn refuse(&self, draft: &Draft, reason: Rejection, now: TimestampMillis) -> TransferOutcome {
        let refusal = Refusal::new(draft.id.clone(), reason, draft.request.clone(), now);
        let written = async { self.books.dynamo.write(self.books.table.put_new(&refusal)?).await };
        let found = match written.await {
            Ok(()) => return TransferOutcome::Rejected(reason),
            Err(Store::Refused(refused)) => refused.found::<Header>(0),
            Err(error) => Err(error),
        };
        match found {
            Ok(Some(Header::Transaction(found))) if found.request == draft.request => {
                TransferOutcome::Completed(found.id)
            }
            Ok(Some(Header::Refusal(found))) if found.request == draft.request => {
                TransferOutcome::Rejected(found.reason)
            }
            Ok(Some(_)) => TransferOutcome::Unavailable(Error::KeyReused),
            Ok(None) => TransferOutcome::Unavailable(Error::stale()),
            Err(error) => TransferOutcome::Unavailable(error.into()),
        }
    }

    /// Reads the posted transactions with strong consistency, and whether they are reversed. Omits
    /// ids without a transaction, also if their transfer was refused.
    pub async fn posted(&self, ids: &[TransactionId]) -> Result<PostedTransfers, Error> {
        let table = &self.books.table;
        let keys: Vec<Key> = ids.iter().map(Transaction::key_of).collect();
        let Found { mut items, unreadable } = table.get_all::<Header>(&keys, true).await?;
        let headers = ids.iter().filter_map(|id| match items.remove(&Transaction::key_of(id)) {
            Some(Header::Transaction(header)) => Some((id.clone(), *header)),
            Some(Header::Refusal(_)) | None => None,
        });
        let headers: HashMap<TransactionId, Transaction> = headers.collect();
        let markers: Vec<Key> = headers.keys().map(Reversal::first_key_of).collect();
        let reversals = table.get_all::<Reversal>(&markers, false).await?;
        // A marker that cannot be read is a marker.
        let is_reversed = |key: &Key| reversals.items.contains_key(key) || reversals.unreadable.contains(key);
        let posted = headers.into_iter().map(|(id, header)| {
            let is_reversed = is_reversed(&Reversal::first_key_of(&id));
            (id, PostedTransfer::of(&header, is_reversed))
        });
        Ok(PostedTransfers { posted: posted.collect(), unreadable })
    }

    /// Opens the connection before the first event. Errors are ignored.
    pub async fn warm_up(&self) {
        let _ = self.books.table.get_all::<Header>(&[Key::placeholder()], false).await;
    }
}
