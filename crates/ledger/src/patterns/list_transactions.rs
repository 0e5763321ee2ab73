//! L5: transactions by status and time, or by idempotency key (seed 004, entity 3).

use crate::{
    DOMAIN, Ledger, Transaction,
    cost::{self, Calls, Pattern},
    model::transaction::HeaderBody,
};
use function::{Error, Fields, Function, Input, List, Listing, Request, Route, Trigger};
use keys::{
    Bound, IdempotencyKey, Invalid, KeyRange, TimestampMillis,
    ledger::{
        ByKeyPartition, ByKeySort, CreatedPlace, CreatedSort, StatusPartition, TransactionPartition, TransactionStatus,
    },
};
use table::{
    BadCursor, IndexPosition, MergedQuery, Page, Projection, Units,
    cost::{Cost, read_eventually},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_transactions, Ledger::warm_by_index)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L5",
    name: "list-transactions",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/ledger/transactions", scopes: &["ledger:operate"] }]),
    calls: &[
        Calls {
            variant: "",
            condition: "GSI1PK = STATUS#<status>, GSI1SK between CREATED#since and CREATED#until; of several shards side by side, merged",
            formula: "½ ⌈Σ entries⌉ R on GSI1, for each shard and call",
            cost: |case| Cost::default().read(cost::BY_TIME, case.listed(case.of_status)),
        },
        Calls {
            variant: ", idempotencyKey",
            condition: "GSI2PK = IDEMPOTENCY#<key>, GSI2SK = TXN; then get PK = TXN#<id>, SK = METADATA",
            formula: "½ R on GSI2, and ½ ⌈header⌉ R; one for each caller who used the key",
            cost: |case| {
                Cost::default()
                    .read(cost::BY_KEY, Units::halves(1))
                    .read(cost::LEDGER, read_eventually(case.transaction))
            },
        },
    ],
    function,
};

/// Which transactions.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// By status and time, both ends included. Without a beginning those of the last 24 hours, or of the 24 before the end.
    ByTime(TransactionStatus, Option<TimestampMillis>, Option<TimestampMillis>),
    /// Those under a key, whoever used it.
    ByKey(IdempotencyKey),
}

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(50);
        let (status, key) = (fields.query("status"), fields.query("idempotencyKey"));
        let (since, until) = (fields.query::<Bound>("since"), fields.query::<Bound>("until"));
        if since.zip(until).is_some_and(|(since, until)| since > until) {
            fields.fault::<()>("/query/until", "must not be before since");
        }
        match key {
            Some(_) if ["status", "since", "until"].iter().any(|name| fields.has_query(name)) => {
                fields.fault("/query/idempotencyKey", "does not go with status, since and until")
            }
            Some(key) => Some(Self::ByKey(key)),
            None => {
                let (since, until) = (since.map(Bound::first_milli), until.map(Bound::last_milli));
                Some(Self::ByTime(status.unwrap_or_default(), since, until))
            }
        }
    }
}

/// Seconds that a list goes back where nothing else is asked for (the seed's "last 24 hours").
const DAY: i64 = 24 * 60 * 60;

/// Lists transactions over all accounts, oldest first.
///
/// # Errors
/// 400, or 403 for who is no operator.
pub async fn list_transactions(ledger: Ledger, request: Request<Wanted>) -> Result<List<HeaderBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (listing, page) = match &request.input {
        Wanted::ByTime(status, since, until) => {
            let now = TimestampMillis::containing(request.first_page.instant()).unwrap_or(request.milli);
            let since = since.unwrap_or_else(|| until.map_or(now, |until| now.min(until)).minus_seconds(DAY));
            let listing = request.listing(CreatedSort::between(since, *until), status.as_str())?;
            let page = ledger.list_by_time(&listing, *status).await?;
            (listing, page)
        }
        Wanted::ByKey(key) => {
            let listing = request.listing(ByKeySort::all(), key.as_str())?;
            let page = ledger.list_by_key(&listing, key).await?;
            (listing, page)
        }
    };
    Ok(listing.list(page.map(|transaction| HeaderBody::of(transaction, &request.caller))))
}

impl Ledger {
    async fn list_by_time(&self, listing: &Listing, status: TransactionStatus) -> Result<Page<Transaction>, Error> {
        let behind = position::<CreatedPlace>(listing)?;
        let (items, next) = self.transactions(status, &listing.whole, behind, listing.limit).await?;
        Ok(Page { items, next: next.map(|place| place.to_string()) })
    }

    /// The first transactions of the status in the range, or the first behind a place, oldest first over all shards; and the
    /// place behind which there may be more.
    pub(crate) async fn transactions(
        &self,
        status: TransactionStatus,
        range: &KeyRange,
        behind: Option<CreatedPlace>,
        limit: usize,
    ) -> Result<(Vec<Transaction>, Option<CreatedPlace>), Error> {
        let partition = |shard| StatusPartition { status, shard }.to_string();
        let behind = behind.map(|CreatedPlace { created, shard, transaction }| IndexPosition {
            partition: partition(shard),
            sort: CreatedSort(created).to_string(),
            key: Transaction::key_of(&transaction),
        });
        let list = MergedQuery {
            index: &self.by_time,
            projection: Projection::All,
            partitions: self.shards.read().map(partition).collect(),
            range,
            behind,
        };
        let (transactions, next) = self.table.merged_page::<Transaction>(&list, limit).await?;
        let next = next.map(|place| {
            let (CreatedSort(created), StatusPartition { shard, .. }) = (place.sort.parse()?, place.partition.parse()?);
            let TransactionPartition(transaction) = place.key.partition().parse()?;
            Ok(CreatedPlace { created, shard, transaction })
        });
        let next = next.transpose().map_err(|error: Invalid| Error::Internal(error.to_string()))?;
        Ok((transactions, next))
    }

    async fn list_by_key(&self, listing: &Listing, key: &IdempotencyKey) -> Result<Page<Transaction>, Error> {
        let partition = ByKeyPartition(key.clone()).to_string();
        let behind = |TransactionPartition(transaction)| IndexPosition {
            partition: partition.clone(),
            sort: ByKeySort.to_string(),
            key: Transaction::key_of(&transaction),
        };
        let list = MergedQuery {
            index: &self.by_key,
            projection: Projection::KeysOnly,
            range: &listing.whole,
            behind: position::<TransactionPartition>(listing)?.map(behind),
            partitions: vec![partition.clone()],
        };
        let (transactions, next) = self.table.merged_page::<Transaction>(&list, listing.limit).await?;
        Ok(Page { items: transactions, next: next.map(|place| place.key.partition().to_owned()) })
    }
}

/// Where the page before ended.
fn position<P: std::str::FromStr>(listing: &Listing) -> Result<Option<P>, Error> {
    let position = listing.position.as_ref().map(|position| position.parse());
    position.transpose().map_err(|_| Error::invalid("/query/cursor", BadCursor))
}
