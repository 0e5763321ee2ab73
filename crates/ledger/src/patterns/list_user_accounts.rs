//! L2: lists the accounts of a user
//! ([requirement](../../../../docs/requirements/ledger.md#list-the-accounts-of-a-user)).

use crate::{
    Account, AccountBody, DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::account::Listed,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::ledger::{AccountPartition, UserId, UserPartition};
use table::{
    Page, Query,
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
    let page = ledger.books.table.page::<Listed>(&query, listing.limit).await?;
    let keys: Vec<_> = page.items.iter().map(|entry| Account::key_of(&entry.partition.0)).collect();
    let mut accounts = ledger.books.table.get_all::<Account>(&keys, true).await?;
    let items = keys.iter().filter_map(|key| accounts.items.remove(key)).collect();
    let found = Page { items, next: page.next, skipped: page.skipped + accounts.unreadable.len() };
    Ok(listing.list(found.try_map(|account| AccountBody::of(account, &request.caller))))
}
