//! L5: lists transactions by [status and
//! time](../../../../docs/requirements/ledger.md#list-transactions-by-status-and-time), by
//! [idempotency key](../../../../docs/requirements/ledger.md#check-an-idempotency-key) or by
//! [reference](../../../../docs/requirements/ledger.md#references-and-metadata).

use crate::{
    DOMAIN, Ledger, ReferenceGuard, Transaction,
    cost::{self, Calls, Pattern},
    model::transaction::HeaderBody,
    store::{Books, Summary},
};
use function::{Contract, Error, Fields, Input, List, Listing, Request, Route, Trigger};
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    Bound, IdempotencyKey, KeyRange, TimestampMillis, TransactionId,
    ledger::{
        ByKeyPartition, ByKeySort, CreatedPlace, CreatedSort, Reference, ReferencePartition, ReferenceSort,
        StatusPartition, TransactionPartition, TransactionStatus,
    },
};
use serde::{Deserialize, Serialize};
use table::{
    BadCursor, IndexPosition, Item, Key, MergedQuery, Page, Projection, Query,
    cost::{Cost, Term, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L5",
    name: "list-transactions",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/transactions",
        scopes: &["ledger:operate"],
        summary: "List the transactions of all accounts by status and time, oldest first, by idempotency key, or by reference",
        problems: &[],
    }]),
    calls: &[
        // A query of the headers, and one of their reversal markers.
        Calls::new("", |case| {
            Cost::default().read(cost::BY_TIME, case.listed(case.of_status) + read_eventually(case.reversals))
        }),
        Calls::new(", idempotencyKey", |case| {
            Cost::default().read(cost::BY_KEY, Term::halves(1)).read(cost::LEDGER, read_eventually(case.transaction))
        }),
        Calls::new(", reference", |case| {
            Cost::default().read(cost::LEDGER, Term::halves(1) + read_eventually(case.transaction))
        }),
    ],
    contract: function::contract(&list_transactions),
    function: || function::http(list_transactions, Ledger::warm_by_index),
};

/// The requested transactions.
#[derive(Debug, Clone)]
pub enum ListTransactionsInput {
    /// Transactions with a status in a time range, which includes both ends. The default start is
    /// 24 hours before now. If the end is before now, the default start is 24 hours before the end.
    ByTime(TransactionStatus, Option<TimestampMillis>, Option<TimestampMillis>),
    /// Transactions of all callers with an idempotency key.
    ByKey(IdempotencyKey),
    /// Transactions of all callers and types with a reference.
    ByReference(Reference),
}

/// Parameters that each replace the status and the time range.
const ALONE: [&str; 2] = ["idempotencyKey", "reference"];

impl Input for ListTransactionsInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(50);
        let (status, key, reference) = (fields.query("status"), fields.query(ALONE[0]), fields.query(ALONE[1]));
        let (since, until) = fields.bounds("since", "until").millis();
        for name in ALONE.into_iter().filter(|name| fields.has_query(name)).collect::<Vec<_>>() {
            let others = ["status", "since", "until"].into_iter().chain(ALONE).filter(|other| *other != name);
            let others: Vec<&str> = others.collect();
            if others.iter().any(|other| fields.has_query(other)) {
                let detail = format!("cannot be combined with {}", others.join(", "));
                fields.fault::<()>(&format!("/query/{name}"), detail);
            }
        }
        Some(match (key, reference) {
            (Some(key), _) => Self::ByKey(key),
            (None, Some(reference)) => Self::ByReference(reference),
            (None, None) => Self::ByTime(status.unwrap_or_default(), since, until),
        })
    }

    fn describe(contract: &mut Contract) {
        contract.paging(50);
        let status = serde_json::to_value(TransactionStatus::default()).ok();
        contract.query::<TransactionStatus>("status", "", status);
        let since = "Start of the period, inclusive. The default is 24 hours before `until`, or 24 hours ago if `until` is in the \
            future.";
        contract.query::<Bound>("since", since, None);
        contract.query::<Bound>("until", "End of the period, inclusive. The default is no limit.", None);
        let alone = "It cannot be combined with any other parameter except `limit` and `cursor`.";
        contract.query::<IdempotencyKey>(ALONE[0], alone, None);
        contract.query::<Reference>(ALONE[1], alone, None);
    }
}

/// Default length of a list's time range, in seconds: the 24 hours of the
/// [requirement](../../../../docs/requirements/ledger.md#list-transactions-by-status-and-time).
const DAY: i64 = 24 * 60 * 60;

/// Lists the transactions of all accounts: those of a status by time, oldest first, those with an
/// idempotency key, or those with a reference.
///
/// # Errors
/// Returns 400 for an invalid request, and 403 for a caller without the operator scope.
pub async fn list_transactions(
    ledger: Ledger,
    request: Request<ListTransactionsInput>,
) -> Result<List<HeaderBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    match &request.input {
        ListTransactionsInput::ByTime(status, since, until) => {
            let now = TimestampMillis::containing(request.first_page.instant()).unwrap_or(request.milli);
            let since = since.unwrap_or_else(|| until.map_or(now, |until| now.min(until)).minus_seconds(DAY));
            let listing = request.listing(CreatedSort::between(since, *until), status.as_str())?;
            let mut page = ledger.list_by_time(&listing, *status).await?;
            let reversals = ledger.books.reversals(&page.items).await?;
            page.skipped += reversals.unreadable.len();
            Ok(listing.list(page.map(|transaction| {
                let last = reversals.last.get(&transaction.id);
                HeaderBody::of(transaction, last, &request.caller)
            })))
        }
        ListTransactionsInput::ByKey(key) => {
            let listing = request.listing(ByKeySort::all(), key.as_str())?;
            let page = ledger.list_by_key(&listing, key).await?;
            Ok(listing.list(page.map(|(header, last)| HeaderBody::of(header, last.as_ref(), &request.caller))))
        }
        ListTransactionsInput::ByReference(reference) => {
            let listing = request.listing(ReferenceSort::all(), reference.as_str())?;
            let page = ledger.books.list_by_reference(&listing, reference).await?;
            Ok(listing.list(page.map(|(header, last)| HeaderBody::of(header, last.as_ref(), &request.caller))))
        }
    }
}

/// The entry of a transaction in GSI2.
#[derive(Debug, Serialize, Deserialize)]
struct Keyed {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
}

impl Item for Keyed {
    const TYPE: &'static str = Transaction::TYPE;
}

/// Maximum number of transactions that are read at the same time.
const AT_ONCE: usize = 8;

/// A page of transactions in order of creation.
pub(crate) struct TransactionPage {
    pub(crate) items: Vec<Transaction>,
    /// The position to continue from, unless the list has ended.
    pub(crate) next: Option<CreatedPlace>,
    /// The keys of the unreadable headers, which were left out.
    pub(crate) unreadable: Vec<Key>,
}

impl Ledger {
    async fn list_by_time(&self, listing: &Listing, status: TransactionStatus) -> Result<Page<Transaction>, Error> {
        let behind = position::<CreatedPlace>(listing)?;
        let page = self.transactions(status, &listing.whole, behind, listing.limit).await?;
        let (next, skipped) = (page.next.map(|place| place.to_string()), page.unreadable.len());
        Ok(Page { items: page.items, next, skipped })
    }

    /// Lists transactions by status and time range, oldest first. Merges the transactions of all
    /// shards. The list starts after the position `behind`, if one is given. Also returns the
    /// position to continue from, unless the list has ended.
    pub(crate) async fn transactions(
        &self,
        status: TransactionStatus,
        range: &KeyRange,
        behind: Option<CreatedPlace>,
        limit: usize,
    ) -> Result<TransactionPage, Error> {
        let partition = |shard| StatusPartition { status, shard }.to_string();
        let behind = behind.map(|CreatedPlace { created, shard, transaction }| IndexPosition {
            partition: partition(shard),
            sort: CreatedSort(created).to_string(),
            key: Transaction::key_of(&transaction),
        });
        let list = MergedQuery {
            index: &self.books.by_time,
            projection: Projection::All,
            partitions: self.books.shards.read().map(partition).collect(),
            range,
            behind,
        };
        let is_usable = |position: &IndexPosition| created_place(position).is_some();
        let (page, unreadable) = self.books.table.merged_page::<Transaction>(list, limit, is_usable).await?;
        Ok(TransactionPage { items: page.items, next: page.next.as_ref().and_then(created_place), unreadable })
    }

    /// Lists the transactions with an idempotency key.
    async fn list_by_key(&self, listing: &Listing, key: &IdempotencyKey) -> Result<Page<Summary>, Error> {
        let partition = ByKeyPartition(key.clone()).to_string();
        let behind = |TransactionPartition(transaction)| IndexPosition {
            partition: partition.clone(),
            sort: ByKeySort.to_string(),
            key: Transaction::key_of(&transaction),
        };
        let list = MergedQuery {
            index: &self.by_key,
            projection: Projection::All,
            range: &listing.whole,
            behind: position::<TransactionPartition>(listing)?.map(behind),
            partitions: vec![partition.clone()],
        };
        let is_usable = |position: &IndexPosition| transaction_at(position).is_some();
        let (page, _) = self.books.table.merged_page::<Keyed>(list, listing.limit, is_usable).await?;
        let next = page.next.as_ref().and_then(transaction_at).map(|id| TransactionPartition(id).to_string());
        let ids = page.items.into_iter().map(|keyed| keyed.partition.0).collect();
        self.books.summaries(Page { items: ids, next, skipped: page.skipped }).await
    }
}

impl Books {
    /// Lists the transactions with a reference, by type and caller. If none is found, looks again
    /// with strong consistency.
    async fn list_by_reference(&self, listing: &Listing, reference: &Reference) -> Result<Page<Summary>, Error> {
        let partition = ReferencePartition(reference.clone());
        let query = Query::new(&partition, &listing.range);
        let mut page = self.table.page::<ReferenceGuard>(&query, listing.limit).await?;
        if page.items.is_empty() && page.skipped == 0 {
            page = self.table.page(&query.consistent(), listing.limit).await?;
        }
        self.summaries(page.map(|guard| guard.transaction)).await
    }

    /// Reads the header and the reversal markers of each transaction with one query.
    async fn summaries(&self, page: Page<TransactionId>) -> Result<Page<Summary>, Error> {
        let reads = page.items.into_iter().map(|id| async move {
            let found = self.summary(&id).await?;
            if let (None, 0) = &found {
                // The entry names a transaction that does not exist. The error counts and logs it.
                drop(table::Error::unreadable_part(Transaction::TYPE, Transaction::key_of(&id), &"it does not exist"));
            }
            Ok::<_, Error>(found)
        });
        let found: Vec<_> = Box::pin(stream::iter(reads).buffered(AT_ONCE).try_collect()).await?;
        let uncounted = |(found, unreadable): &(Option<_>, usize)| if found.is_some() { *unreadable } else { 1 };
        let skipped = page.skipped + found.iter().map(uncounted).sum::<usize>();
        Ok(Page { items: found.into_iter().filter_map(|(found, _)| found).collect(), next: page.next, skipped })
    }
}

/// Returns the position of a header in the list by time. `None` if the item is not a header, or has
/// an invalid key.
fn created_place(position: &IndexPosition) -> Option<CreatedPlace> {
    let CreatedSort(created) = position.sort.parse().ok()?;
    let StatusPartition { shard, .. } = position.partition.parse().ok()?;
    Some(CreatedPlace { created, shard, transaction: transaction_at(position)? })
}

/// Returns the transaction whose header is at the position.
fn transaction_at(position: &IndexPosition) -> Option<TransactionId> {
    let TransactionPartition(transaction) = position.key.partition().parse().ok()?;
    (position.key == Transaction::key_of(&transaction)).then_some(transaction)
}

/// Returns the position at which the previous page ended, if any.
fn position<P: std::str::FromStr>(listing: &Listing) -> Result<Option<P>, Error> {
    let position = listing.position.as_ref().map(|position| position.parse());
    position.transpose().map_err(|_| Error::invalid("/query/cursor", BadCursor))
}
