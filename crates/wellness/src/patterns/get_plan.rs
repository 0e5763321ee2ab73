//! W19: reads a plan (docs/requirements/wellness.md#named-plans).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::plan::PlanBody,
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::wellness::{CompanyId, PlanId};
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_plan, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W19",
    name: "get-plan",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/plans/{planId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read(case.own)))],
    function,
};

/// The plan to read.
#[derive(Debug, Clone)]
pub struct PlanInput {
    pub(crate) company: CompanyId,
    pub(crate) plan: PlanId,
}

impl Input for PlanInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, plan) = (fields.path("companyId"), fields.path("planId"));
        Some(Self { company: company?, plan: plan? })
    }
}

/// Reads a plan with strong consistency. A calendar year is a plan if no other plan covers it.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 404 if the plan does not exist.
pub async fn get_plan(wellness: Wellness, request: Request<PlanInput>) -> Result<Json<PlanBody>, Error> {
    let PlanInput { company, plan } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let plan = wellness.plans(company).await?.named(plan).ok_or(Error::NotFound("plan"))?;
    Ok(Json(plan.into()))
}
