//! W32: removes a template of a company, or a global template
//! (docs/requirements/wellness.md#manage-templates).

use crate::{
    Template, Wellness,
    cost::{self, Calls, Pattern},
    model::template::must_be_allowed,
    patterns::get_template::TemplateInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger, optimistically};
use table::cost::{Cost, read, write};

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
    calls: &[Calls::new("", |case| {
        let (read, write) = (read(case.own), write(case.own).times(2));
        Cost::default().read(cost::ACTIVITIES, read).write(cost::ACTIVITIES, write)
    })],
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
    optimistically(async || {
        let delete = wellness.deletion(Template::key_of(owner, id), Template::is_unchanged).await?;
        // The client token of the transaction tells a repeated deletion from another request's.
        wellness.dynamo.transact(vec![delete.ok_or(Error::NotFound("template"))?]).await?;
        Ok(NoContent)
    })
    .await
}
