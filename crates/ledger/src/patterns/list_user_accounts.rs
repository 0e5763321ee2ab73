//! L2: lists the accounts of a user
//! ([requirement](../../../../docs/requirements/ledger.md#list-the-accounts-of-a-user)).

use crate::{
    Account, AccountBody, DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::ledger::{AccountPartition, UserId, UserPartition};
use table::{
    Query,
    cost::{Cost, read},
};

pub const PATTERN: Pattern = Pattern {
    id: "L2",
    name: "list-user-accounts",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/users/{userId}/accounts",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "List the accounts of a user",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::BY_TIME, case.listed(case.of_user))
            .read(cost::LEDGER, read(case.account).times(case.items))
    })],
    contract: function::contract(&list_user_accounts),
    function: || function::http(list_user_accounts, Ledger::warm_by_index),
};

/// The requested user.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListUserAccountsInput(#[input(path = "userId")] UserId);

/// Lists a user's accounts, sorted by id, with their current balances. The balances are read from
/// the table by key, because the index does not contain them
/// ([decision](../../../../docs/decisions/models.md)).
///
/// # Errors
/// Returns 400 for an invalid request, and 403 if a caller without the operator scope names another
/// user.
pub async fn list_user_accounts(
    ledger: Ledger,
    request: Request<ListUserAccountsInput>,
) -> Result<List<AccountBody>, Error> {
    let ListUserAccountsInput(user) = &request.input;
    request.caller.must_be(user, DOMAIN)?;
    let listing = request.listing(AccountPartition::all(), "")?;
    let partition = UserPartition(user.clone());
    let query = Query::new(&partition, &listing.range).on(&ledger.books.by_time);
    let accounts = ledger.books.table.page_by_key::<Account>(&query, listing.limit, true).await?;
    Ok(listing.list(accounts.try_map(|account| AccountBody::of(account, &request.caller))))
}
