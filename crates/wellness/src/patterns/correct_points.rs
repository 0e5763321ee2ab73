//! W25: corrects the points of an employee
//! (docs/requirements/wellness.md#points).

use crate::{
    DOMAIN, Employee, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        access::OfUser,
        award::{Correction, CorrectionBody, Difference, Reason},
    },
};
use function::{Error, Fingerprint, IdempotentRequest, Input, Problem, Put, Request, Route, Trigger, optimistically};
use futures::future::try_join;
use keys::wellness::{CompanyPartition, CorrectionId, CorrectionSort, EmployeeKey, PlanId, PointsPartition};
use table::{
    Key,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W25",
    name: "correct-points",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/users/{userId}/points",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Correct the points of a user in a plan",
        problems: &[Problem::NotFound, Problem::IdempotencyKeyReused],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, read(case.own) + read(case.employee) + case.record_read())
            .write(cost::ACTIVITIES, case.created(write(case.corrections)))
    })],
    contract: |contract| {
        function::contract(&correct_points)(contract);
        // A repeated request gets 201 as well.
        contract.answers.remove(&200);
    },
    function: || function::http(correct_points, Wellness::warm_by_get),
};

/// A request to correct points.
#[derive(Debug, Clone, Input)]
pub struct CorrectPointsInput {
    #[input(part)]
    of: OfUser,
    #[input(body = "planId")]
    plan: PlanId,
    /// The points to add. Negative to take points away.
    #[input(body = "amount")]
    difference: Difference,
    #[input(body)]
    reason: Reason,
}

/// Adds a correction to the points of an employee in a plan. The correction is dated now, or at the
/// nearest end of the plan if the plan is over or has not begun.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 404 if the plan or the employee does not exist.
pub async fn correct_points(
    wellness: Wellness,
    request: Request<CorrectPointsInput>,
) -> Result<Put<CorrectionBody>, Error> {
    if !request.caller.administers(DOMAIN) {
        return Err(Error::Forbidden);
    }
    let of = request.input.of.of(&request.caller)?;
    let correction = optimistically(|| wellness.correct(&of, &request)).await?;
    Ok(Put { is_new: true, body: correction.into() })
}

impl Wellness {
    async fn correct(&self, of: &EmployeeKey, request: &Request<CorrectPointsInput>) -> Result<Correction, Error> {
        let CorrectPointsInput { plan, difference, reason, .. } = &request.input;
        let points = i32::from(*difference);
        let partition = PointsPartition(of.company.clone());
        let asked = [of.user.as_str(), plan.as_str(), &points.to_string(), reason.as_str()];
        let fingerprint = Fingerprint::of(&["correct-points", asked[0], asked[1], asked[2], asked[3]]);
        let (owner, key) = (CompanyPartition(of.company.clone()), request.idempotency_key.as_ref());
        let once = IdempotentRequest::new(&self.table, &owner, key, fingerprint, request.milli);
        if let Some(sort) = once.before::<CorrectionSort>().await? {
            let found = self.table.get(&Key::new(&partition, &sort)).await?;
            return found.ok_or(Error::NotFound("correction"));
        }
        let employee = async { Ok(self.table.get::<Employee>(&Employee::key_of(of)).await?) };
        let (plans, employee) = try_join(self.plans(&of.company), employee).await?;
        employee.ok_or(Error::NotFound("employee"))?;
        let period = plans.named(plan).ok_or(Error::NotFound("plan"))?.period;
        let id = CorrectionId::new(request.now.instant(), &request.random);
        let sort = CorrectionSort { user: of.user.clone(), at: period.nearest(request.now.into()), id };
        let (corrected_by, corrected_at) = (request.caller.subject.clone(), request.now);
        let new = Correction { partition, sort, points, reason: reason.clone(), corrected_by, corrected_at };
        let mut changes = vec![self.table.put_new(&new)?];
        changes.extend(once.remember(&new.sort)?);
        self.put_new(changes, &new).await?;
        Ok(new)
    }
}
