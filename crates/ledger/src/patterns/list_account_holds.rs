//! L10: lists the open holds of an account
//! ([requirement](../../../../docs/requirements/ledger.md#holds),
//! [decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    HoldBody, Ledger,
    cost::{self, Calls, Pattern},
    model::hold::ListedHold,
};
use function::{Error, Input, List, Problem, Request, Route, Trigger};
use futures::future::try_join;
use keys::{
    AccountId, TimestampMillis,
    ledger::{AccountPartition, HoldExpirySort},
};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "list-account-holds",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}/holds",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "List the open holds on an account, the next to expire first",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::BY_TIME, case.listed(case.of_hold)).read(cost::LEDGER, read_eventually(case.account))
    })],
    contract: function::contract(&list_account_holds),
    function: || function::http(list_account_holds, Ledger::warm_by_index),
};

/// The account whose money is reserved.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListAccountHoldsInput(#[input(path = "accountId")] AccountId);

/// Lists the open holds on an account: those that are neither captured, voided nor expired. The
/// list needs only their index entries.
///
/// # Errors
/// Returns 400 for an invalid request, and 403 if the account belongs to another user. If the
/// account does not exist, operators get 404, and other callers get 403.
pub async fn list_account_holds(
    ledger: Ledger,
    request: Request<ListAccountHoldsInput>,
) -> Result<List<HoldBody>, Error> {
    let ListAccountHoldsInput(id) = &request.input;
    let first_page = TimestampMillis::containing(request.first_page.instant()).unwrap_or(request.milli);
    let listing = request.listing(HoldExpirySort::open(first_page), "")?;
    let partition = AccountPartition(id.clone());
    let query = Query::new(&partition, &listing.range).on(&ledger.books.by_time);
    let holds = async { Ok(ledger.books.table.page::<ListedHold>(&query, listing.limit).await?) };
    let reads = try_join(ledger.books.account_shown(id, &request.caller), holds);
    let (_, mut page) = Box::pin(reads).await?;
    // A hold can expire after the request for the first page.
    page.items.retain(|hold| hold.is_open_at(request.milli));
    Ok(listing.list(page.try_map(HoldBody::of_listed)))
}
