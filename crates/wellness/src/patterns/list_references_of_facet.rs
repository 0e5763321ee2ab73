//! W30: lists a company's records of one kind
//! (docs/requirements/wellness.md#manage-reference-records).

use crate::{
    DOMAIN, Record, Wellness,
    cost::{self, Calls, Pattern},
    patterns::put_reference::RecordBody,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::wellness::{CompanyId, CompanyPartition, Facet, RecordSort};
use table::{Query, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "W30",
    name: "list-references-of-facet",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/references/{facet}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "List the venues, files, courses, trackers or notifications",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, case.listed(case.own)))],
    contract: function::contract(&list_references_of_facet),
    function: || function::http(list_references_of_facet, Wellness::warm_by_query),
};

/// The kind of the records to list.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListReferencesOfFacetInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path)]
    facet: Facet,
}

/// Lists the company's venues, files, courses, trackers or notifications, sorted by id.
pub async fn list_references_of_facet(
    wellness: Wellness,
    request: Request<ListReferencesOfFacetInput>,
) -> Result<List<RecordBody>, Error> {
    let ListReferencesOfFacetInput { company, facet } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let listing = request.listing(RecordSort::of_facet(*facet), "")?;
    let query = Query::new(&CompanyPartition(company.clone()), &listing.range);
    let page = wellness.table.page::<Record>(&query, listing.limit).await?;
    Ok(listing.list(page.map(RecordBody::from)))
}
