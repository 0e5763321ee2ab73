//! Query parameters and queries that the payment lists and the transaction lists share.

use crate::{Bank, DOMAIN, Payment};
use function::{Caller, Error, Input, List, Request};
use keys::{
    AccountId, Bounds, Day, KeyRange, TimestampSeconds,
    bank::{DueSort, PaymentSort, Status},
};
use table::{Condition, Item, Query, Table};

/// Default page size.
const PAGE: usize = 50;

/// Query parameters of a list for one account: `from` and `to` (both inclusive), and `status`.
#[derive(Debug, Clone, Input)]
#[input(page = PAGE)]
pub struct OfAccount {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(part)]
    period: Bounds,
    #[input(query)]
    status: Option<Status>,
}

impl OfAccount {
    /// Returns the requested key range. `default` replaces a missing `from` or `to`.
    fn range(&self, default: (TimestampSeconds, TimestampSeconds)) -> Result<KeyRange, Error> {
        let (first, last) = self.period.seconds();
        let (from, to) = (first.unwrap_or(default.0), last.unwrap_or(default.1));
        // An explicit `from` and `to` are valid even if no whole second is between them. The list
        // is then empty.
        if from > to && (first.is_none() || last.is_none()) {
            return Err(if last.is_some() {
                Error::invalid("/query/to", format!("must not be before {from}, the default of from"))
            } else {
                Error::invalid("/query/from", format!("must not be after {to}, the default of to"))
            });
        }
        Ok(PaymentSort::between(from, to))
    }
}

/// Returns a page of the account's payments or transactions in order of scheduled time.
pub(crate) async fn of_account<T: Item, B>(
    table: &Table,
    request: &Request<OfAccount>,
    default: (TimestampSeconds, TimestampSeconds),
    body: impl Fn(T, &Caller) -> B,
) -> Result<List<B>, Error> {
    let OfAccount { account, status, .. } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let filter = status.map(|status| DueSort::with_status(&status).from().to_owned());
    let listing = request.listing(request.input.range(default)?, filter.as_deref().unwrap_or_default())?;
    let mut query = Query::new(account, &listing.range);
    if let Some(prefix) = filter {
        query = query.only_if(Condition::begins(Payment::DUE, prefix));
    }
    let page = table.page::<T>(&query, listing.limit).await?;
    Ok(listing.list(page.map(|item| body(item, &request.caller))))
}

/// Query parameters of a list for one date: `date` (default: today, UTC) and `status`.
#[derive(Debug, Clone, Input)]
#[input(page = PAGE)]
pub struct OfDate {
    /// A day in UTC. The default is today.
    #[input(query)]
    date: Option<Day>,
    #[input(query)]
    status: Option<Status>,
}

/// Returns a page of one date's payments or transactions across all accounts. The page is merged
/// from all shards, in order of scheduled time (docs/decisions/lists.md).
pub(crate) async fn of_date<T: Item, B>(
    bank: &Bank,
    table: &Table,
    request: &Request<OfDate>,
    default: Status,
    body: impl Fn(T, &Caller) -> B,
) -> Result<List<B>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let OfDate { date, status } = request.input;
    let range = DueSort::due_on(date.unwrap_or_else(|| request.first_page.day()), status.unwrap_or(default));
    let listing = request.listing(range, "")?;
    let page = table.sharded_page::<T>(&bank.due, &listing.range, listing.limit).await?;
    Ok(listing.list(page.map(|item| body(item, &request.caller))))
}
