//! W19: reads a plan (docs/requirements/wellness.md#named-plans).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::plan::{PlanBody, Plans},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::{CompanyId, PlanId};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W19",
    name: "get-plan",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/plans/{planId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "Get a plan",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.own)))],
    contract: function::contract(&get_plan),
    function: || function::http(get_plan, Wellness::warm_by_get),
};

/// The plan to read.
#[derive(Debug, Clone, Input)]
pub struct PlanInput {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(path = "planId")]
    pub(crate) plan: PlanId,
}

/// Reads a plan. A calendar year is a plan if no other plan covers it.
///
/// # Errors
/// 404 if the plan does not exist.
pub async fn get_plan(wellness: Wellness, request: Request<PlanInput>) -> Result<Json<PlanBody>, Error> {
    let PlanInput { company, plan } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let plans = wellness.table.get_eventually::<Plans>(&Plans::key_of(company)).await?;
    let found = match plans.and_then(|plans| plans.named(plan)) {
        Some(found) => Some(found),
        None => wellness.plans(company).await?.named(plan),
    };
    Ok(Json(found.ok_or(Error::NotFound("plan"))?.into()))
}
