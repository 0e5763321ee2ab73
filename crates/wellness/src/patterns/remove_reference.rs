//! W29: removes a reference from an activity
//! (docs/requirements/wellness.md#edit-all-parts-of-an-activity).

use crate::{
    DOMAIN, Reference, Wellness,
    cost::{self, Calls, Pattern},
    model::reference::VenuePath,
};
use function::{Error, Input, NoContent, Problem, Request, Route, Trigger, Version, optimistically};
use keys::wellness::{ActivityId, CompanyId, FacetRef};
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W29",
    name: "remove-reference",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/wellness/companies/{companyId}/activities/{activityId}/references/{facet}/{facetId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Remove a reference from an activity",
        problems: &[Problem::NotFound, Problem::AnotherVersion],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, case.activity_read())
            .write(cost::ACTIVITIES, (write(case.activity) + write(case.reference)).times(2))
            .write(cost::PROGRAM, write(case.program))
            .write(cost::LISTS, write(case.reference))
    })],
    contract: function::contract(&remove_reference),
    function: || function::http(remove_reference, Wellness::warm_by_get),
};

/// A request to remove a reference.
#[derive(Debug, Clone, Input)]
pub struct RemoveReferenceInput {
    #[input(query, via = Version)]
    version: Option<i64>,
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(part, via = VenuePath)]
    of: FacetRef,
}

/// Removes a reference from an activity. The record remains.
///
/// # Errors
/// - 404 if the activity does not exist, or has no such reference.
/// - 412 if the activity has a different version than the request names.
pub async fn remove_reference(wellness: Wellness, request: Request<RemoveReferenceInput>) -> Result<NoContent, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    optimistically(|| wellness.unrefer(&request)).await
}

const REFERENCE: usize = 1;

impl Wellness {
    async fn unrefer(&self, request: &Request<RemoveReferenceInput>) -> Result<NoContent, Error> {
        let wanted = &request.input;
        let activity = self.activity_at(&wanted.company, &wanted.activity, wanted.version).await?;
        let reference = self.table.delete(Reference::key_of(&wanted.activity, &wanted.of));
        match self.dynamo.transact(vec![self.next_version(&activity, &request.caller)?, reference]).await {
            Err(table::Error::Refused(refused)) if refused.at(REFERENCE) => Err(Error::NotFound("reference")),
            outcome => Ok(outcome.map(|()| NoContent)?),
        }
    }
}
