//! L7: lists the legs of an account
//! ([requirement](../../../../docs/requirements/ledger.md#account-statement)).

use crate::{
    Ledger, Leg,
    cost::{self, Calls, Pattern},
    model::{leg::LegBody, reconciliation::DiscrepancyBody},
};
use function::{Error, Fields, Function, Input, Json, List, Request, Route, Trigger};
use futures::future::try_join;
use keys::{
    AccountId,
    ledger::{AccountPartition, LegTimeSort},
};
use serde::Serialize;
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

/// A page of an account's legs.
#[derive(Debug, Serialize)]
pub struct Statement {
    #[serde(flatten)]
    legs: List<LegBody>,
    /// The unreadable legs of the page. They may hide money.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<DiscrepancyBody>,
}

/// Lists the legs of an account, newest first, each with the balance after it. Reports each
/// unreadable leg as a finding
/// ([decision](../../../../docs/decisions/ledger-unreadable-items.md)).
///
/// # Errors
/// Returns 400 for an invalid request, and 403 if the account belongs to another user. If the
/// account does not exist, operators get 404, and other callers get 403.
pub async fn get_statement(ledger: Ledger, request: Request<OfAccount>) -> Result<Json<Statement>, Error> {
    let OfAccount(id) = &request.input;
    let listing = request.listing(LegTimeSort::all().newest_first(), "")?;
    let partition = AccountPartition(id.clone());
    let query = Query::new(&partition, &listing.range).on(&ledger.by_time);
    let legs = async { Ok(ledger.books.table.page_with_unreadable::<Leg>(&query, listing.limit).await?) };
    let (_, (page, unreadable)) = Box::pin(try_join(ledger.books.account(id, &request.caller), legs)).await?;
    let finding = |key| DiscrepancyBody::of_statement(id, key, &request.caller);
    let findings = unreadable.iter().map(finding).collect();
    Ok(Json(Statement { legs: listing.list(page.map(|leg| LegBody::of(leg, &request.caller))), findings }))
}
