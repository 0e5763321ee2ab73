//! W19: creates or changes a plan (docs/requirements/wellness.md#named-plans).

use crate::{
    DOMAIN, Name, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        period::{between, is_too_long},
        plan::{Plan, PlanBody, Plans},
    },
};
use function::{Contract, Error, Fields, Input, Problem, Put, Request, Route, Trigger, optimistically};
use keys::wellness::{CompanyId, Period, PlanBound, PlanId, Year};
use table::{
    Condition,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W19",
    name: "put-plan",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/plans/{planId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create or change a plan",
        problems: &[Problem::PlanOverlap],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::ACTIVITIES, read(case.own)).write(cost::ACTIVITIES, write(case.own))
    })],
    contract: function::contract(&put_plan),
    function: || function::http(put_plan, Wellness::warm_by_get),
};

/// A request to put a plan.
#[derive(Debug, Clone)]
pub struct PutPlanInput {
    company: CompanyId,
    plan: Plan,
}

impl Input for PutPlanInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, plan_id) = (fields.path("companyId"), fields.path::<PlanId>("planId"));
        let name = fields.body("name");
        let (start, end) = (fields.body::<PlanBound>("startDate"), fields.body::<PlanBound>("endDate"));
        let period =
            start.zip(end).and_then(|(start, end)| between(fields, ["/body/endDate", "startDate"], start, end));
        if period.is_some_and(Period::is_empty) {
            fields.fault::<()>("/body/endDate", "must be at least a second after startDate");
        }
        if period.is_some_and(is_too_long) {
            fields.fault::<()>("/body/endDate", "must be at most two years after startDate");
        }
        let year = plan_id.as_ref().and_then(|id| id.as_str().parse::<Year>().ok()).map(Period::of_year);
        let is_within =
            |year: Period| period.is_none_or(|period| year.contains(period.first()) && year.contains(period.last()));
        if !year.is_none_or(is_within) {
            fields.fault::<()>("/path/planId", "is a year, so the plan must lie within this year");
        }
        Some(Self { company: company?, plan: Plan { plan_id: plan_id?, name: name?, period: period? } })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<CompanyId>("companyId", "");
        contract.path::<PlanId>("planId", "");
        contract.name_body("NewPlan");
        contract.body::<Name>("name", "", true);
        contract.body::<PlanBound>("startDate", "", true);
        let end = "Must not be before `startDate`, and at most two years after it. A date includes the whole day.";
        contract.body::<PlanBound>("endDate", end, true);
    }
}

/// Creates or changes a plan. If the plan is unchanged, nothing is written.
///
/// Unreadable plans are not replaced, because one item has all plans of the company.
///
/// # Errors
/// - 409 if the plan overlaps another plan.
/// - 413 if the company has too many plans.
pub async fn put_plan(wellness: Wellness, request: Request<PutPlanInput>) -> Result<Put<PlanBody>, Error> {
    let PutPlanInput { company, plan } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let is_new = optimistically(|| wellness.put_plan(company, plan)).await?;
    Ok(Put { is_new, body: plan.clone().into() })
}

impl Wellness {
    /// Puts the plan. Returns whether it is new.
    async fn put_plan(&self, company: &CompanyId, plan: &Plan) -> Result<bool, Error> {
        let old = self.plans(company).await?;
        let stored = old.plans.iter().find(|stored| stored.plan_id == plan.plan_id);
        if stored == Some(plan) {
            return Ok(false);
        }
        let new = old.with(plan.clone())?;
        let change = match old.version {
            0 => self.table.put_new(&new)?,
            version => self.table.replace(&new)?.only_if(Condition::is(Plans::VERSION, version)),
        };
        self.dynamo.write_once_as(change, &new).await?;
        Ok(stored.is_none())
    }
}
