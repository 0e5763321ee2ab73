//! L1: lists the merchants
//! ([requirement](../../../../docs/requirements/ledger.md#list-the-merchants)).

use crate::{
    Ledger, Merchant, MerchantBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::ledger::{MerchantPartition, MerchantsPartition};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L1",
    name: "list-merchants",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/merchants",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "List the merchants by id",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::BY_KEY, case.listed(KEYS))
            .read(cost::LEDGER, read_eventually(case.account).times(case.items))
    })],
    contract: function::contract(&list_merchants),
    function: || function::http(list_merchants, Ledger::warm_by_key_index),
};

/// Size in bytes of a merchant's entry in GSI2, which contains only keys.
const KEYS: usize = 150;

/// The list has no parameters except those of its pages.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListMerchantsInput;

/// Lists the merchants, sorted by id. Every caller may read every merchant.
///
/// # Errors
/// Returns 400 for an invalid request.
pub async fn list_merchants(ledger: Ledger, request: Request<ListMerchantsInput>) -> Result<List<MerchantBody>, Error> {
    let listing = request.listing(MerchantPartition::all(), "")?;
    let query = Query::new(&MerchantsPartition, &listing.range).on(&ledger.by_key);
    let merchants = ledger.books.table.page_by_key::<Merchant>(&query, listing.limit, false).await?;
    Ok(listing.list(merchants.map(MerchantBody::from)))
}
