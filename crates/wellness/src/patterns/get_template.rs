//! W32: reads a template of a company, or a global template
//! (docs/requirements/wellness.md#manage-templates).

use crate::{
    DOMAIN, Template, TemplateBody, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::{CompanyId, Owner, TemplateId};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W32",
    name: "get-template",
    trigger: Trigger::Http(&[
        Route {
            method: "GET",
            path: "/wellness/templates/{templateId}",
            scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
            summary: "Get a global template",
            problems: &[Problem::NotFound],
        },
        Route {
            method: "GET",
            path: "/wellness/companies/{companyId}/templates/{templateId}",
            scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
            summary: "Get a template of a company",
            problems: &[Problem::NotFound],
        },
    ]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.own)))],
    contract: function::contract(&get_template),
    function: || function::http(get_template, Wellness::warm_by_get),
};

/// A template in a path.
#[derive(Debug, Clone, Input)]
pub struct TemplateInput {
    #[input(path = "companyId", via = CompanyId, default = Owner::Global)]
    pub(crate) owner: Owner,
    #[input(path = "templateId")]
    pub(crate) id: TemplateId,
}

/// Reads a template. Every caller may read the global templates.
///
/// # Errors
/// 404 if the owner has no such template.
pub async fn get_template(wellness: Wellness, request: Request<TemplateInput>) -> Result<Json<TemplateBody>, Error> {
    let TemplateInput { owner, id } = &request.input;
    if let Owner::Company(company) = owner {
        request.caller.must_belong_to(company, DOMAIN)?;
    }
    let template = wellness.table.look_up::<Template>(&Template::key_of(owner, id)).await?;
    Ok(Json(template.ok_or(Error::NotFound("template"))?.try_into()?))
}
