//! W32: removes a template of a company, or a global template
//! (docs/requirements/wellness.md#manage-templates).

use crate::{
    Template, Wellness,
    cost::{self, Calls, Pattern},
    model::template::must_be_allowed,
    patterns::get_template::TemplateInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger};
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W32",
    name: "remove-template",
    trigger: Trigger::Http(&[
        Route {
            method: "DELETE",
            path: "/wellness/templates/{templateId}",
            scopes: &["wellness:operate"],
            summary: "Remove a global template",
            problems: &[Problem::NotFound],
        },
        Route {
            method: "DELETE",
            path: "/wellness/companies/{companyId}/templates/{templateId}",
            scopes: &["wellness:admin", "wellness:operate"],
            summary: "Remove a template of a company",
            problems: &[Problem::NotFound],
        },
    ]),
    calls: &[Calls::new("", |case| Cost::default().write(cost::ACTIVITIES, write(case.own).times(2)))],
    contract: function::contract(&remove_template),
    function: || function::http(remove_template, Wellness::warm_by_get),
};

/// Removes a template. Activities that were created from it remain.
///
/// # Errors
/// - 403 if the caller belongs to another company, or removes a global template without the
///   operator scope.
/// - 404 if the owner has no such template.
pub async fn remove_template(wellness: Wellness, request: Request<TemplateInput>) -> Result<NoContent, Error> {
    let TemplateInput { owner, id } = &request.input;
    must_be_allowed(&request.caller, owner)?;
    // The client token of the transaction makes the SDK's retry idempotent.
    let delete = wellness.table.delete(Template::key_of(owner, id));
    match wellness.dynamo.transact(vec![delete]).await {
        Err(table::Error::Refused(_)) => Err(Error::NotFound("template")),
        outcome => Ok(outcome.map(|()| NoContent)?),
    }
}
