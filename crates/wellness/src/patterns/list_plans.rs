//! W19: lists the plans of a company (docs/requirements/wellness.md#named-plans).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::plan::PlanBody,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::wellness::CompanyId;
use table::{
    Page,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W19",
    name: "list-plans",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/plans",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the plans of a company",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.own)))],
    contract: function::contract(&list_plans),
    function: || function::http(list_plans, Wellness::warm_by_get),
};

/// The company whose plans are listed.
#[derive(Debug, Clone, Input)]
pub struct CompanyInput(#[input(path = "companyId")] pub(crate) CompanyId);

/// Lists the plans of a company, sorted by start date. The list has at most 100 plans, so it has no
/// pages. It does not contain calendar years that nobody has put as a plan.
pub async fn list_plans(wellness: Wellness, request: Request<CompanyInput>) -> Result<List<PlanBody>, Error> {
    let CompanyInput(company) = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let (plans, skipped) = wellness.listed_plans(company).await?;
    let items = plans.plans.into_iter().map(PlanBody::from).collect();
    Ok(List::whole(Page { items, next: None, skipped }))
}
