//! L7: lists the legs of an account
//! ([requirement](../../../../docs/requirements/ledger.md#account-statement)).

use crate::{
    Ledger, Leg,
    cost::{self, Calls, Pattern},
    model::leg::LegBody,
};
use function::{Error, Fields, Function, Input, List, Request, Route, Trigger};
use futures::future::try_join;
use keys::{
    AccountId,
    ledger::{AccountPartition, LegTimeSort},
};
use table::{
    Query,
    cost::{Cost, read},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_statement, Ledger::warm_by_index)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L7",
    name: "get-statement",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}/statement",
        scopes: &["ledger:read", "ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "GSI1PK = ACCOUNT#<id>, GSI1SK begins with LEG#, newest first; and get PK = ACCOUNT#<id>, SK = METADATA, to check its owner",
        formula: "½ ⌈Σ legs⌉ R on GSI1, and ⌈account⌉ R",
        cost: |case| Cost::default().read(cost::BY_TIME, case.listed(case.leg)).read(cost::LEDGER, read(case.account)),
    }],
    function,
};

/// The requested account.
#[derive(Debug, Clone)]
pub struct OfAccount(AccountId);

impl Input for OfAccount {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(100);
        fields.path("accountId").map(Self)
    }
}

/// Lists the legs of an account, newest first, each with the balance after it.
///
/// # Errors
/// Returns 400 for an invalid request, and 403 if the account belongs to another user. If the
/// account does not exist, operators get 404, and other callers get 403.
pub async fn get_statement(ledger: Ledger, request: Request<OfAccount>) -> Result<List<LegBody>, Error> {
    let OfAccount(id) = &request.input;
    let listing = request.listing(LegTimeSort::all().newest_first(), "")?;
    let partition = AccountPartition(id.clone());
    let query = Query::new(&partition, &listing.range).on(&ledger.by_time);
    let legs = async { Ok(ledger.books.table.page::<Leg>(&query, listing.limit).await?) };
    let (_, page) = Box::pin(try_join(ledger.account(id, &request.caller), legs)).await?;
    Ok(listing.list(page.map(|leg| LegBody::of(leg, &request.caller))))
}
