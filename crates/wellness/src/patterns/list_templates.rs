//! W13: lists the global templates, or the templates of a company
//! (docs/requirements/wellness.md#templates-and-custom-content).

use crate::{
    DOMAIN, Template, TemplateBody, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::wellness::{CompanyId, Owner, TemplateSort};
use table::{Query, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "W13",
    name: "list-templates",
    trigger: Trigger::Http(&[
        Route {
            method: "GET",
            path: "/wellness/templates",
            scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
            summary: "List the global templates",
            problems: &[],
        },
        Route {
            method: "GET",
            path: "/wellness/companies/{companyId}/templates",
            scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
            summary: "List the templates of a company",
            problems: &[],
        },
    ]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, case.listed(case.own)))],
    contract: function::contract(&list_templates),
    function: || function::http(list_templates, Wellness::warm_by_query),
};

/// The owner of the templates.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListTemplatesInput(#[input(path = "companyId", via = CompanyId, default = Owner::Global)] Owner);

/// Lists templates, from the oldest to the newest. Every caller may list the global templates.
pub async fn list_templates(
    wellness: Wellness,
    request: Request<ListTemplatesInput>,
) -> Result<List<TemplateBody>, Error> {
    let ListTemplatesInput(owner) = &request.input;
    if let Owner::Company(company) = owner {
        request.caller.must_belong_to(company, DOMAIN)?;
    }
    let listing = request.listing(TemplateSort::all(), "")?;
    let page = wellness.table.page::<Template>(&Query::new(owner, &listing.range), listing.limit).await?;
    Ok(listing.list(page.try_map(TemplateBody::try_from)))
}
