//! W36: lists the sections of a company's program.

use crate::{
    DOMAIN, Section, Wellness,
    cost::{self, Calls, Pattern},
    patterns::put_section::SectionBody,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::wellness::{CompanyId, CompanyPartition, SectionSort};
use table::{Query, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "W36",
    name: "list-sections",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/sections",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the sections of a company",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, case.listed(case.own)))],
    contract: function::contract(&list_sections),
    function: || function::http(list_sections, Wellness::warm_by_query),
};

/// The company whose sections are listed.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListSectionsInput(#[input(path = "companyId")] CompanyId);

/// Lists the sections of a company, sorted by id.
///
/// # Errors
/// 400 if the input is invalid. 403 if the caller belongs to another company.
pub async fn list_sections(
    wellness: Wellness,
    request: Request<ListSectionsInput>,
) -> Result<List<SectionBody>, Error> {
    let ListSectionsInput(company) = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let listing = request.listing(SectionSort::all(), "")?;
    let query = Query::new(&CompanyPartition(company.clone()), &listing.range);
    let page = wellness.table.page::<Section>(&query, listing.limit).await?;
    Ok(listing.list(page.map(SectionBody::from)))
}
