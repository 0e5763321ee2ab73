//! W32: changes a template of a company, or a global template
//! (docs/requirements/wellness.md#manage-templates).

use crate::{
    Template, TemplateBody, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        content::{Content, OPTIONAL},
        sizes::{MAX_TEMPLATE, must_fit},
        template::must_be_allowed,
    },
};
use function::{Contract, Error, Fields, Input, Json, Problem, Request, Route, Trigger, Version, optimistically};
use keys::wellness::{CompanyId, Owner, TemplateId};
use serde_json::json;
use std::collections::BTreeSet;
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "W32",
    name: "update-template",
    trigger: Trigger::Http(&[
        Route {
            method: "PATCH",
            path: "/wellness/templates/{templateId}",
            scopes: &["wellness:operate"],
            summary: "Change a global template",
            problems: &[Problem::NotFound, Problem::AnotherVersion],
        },
        Route {
            method: "PATCH",
            path: "/wellness/companies/{companyId}/templates/{templateId}",
            scopes: &["wellness:admin", "wellness:operate"],
            summary: "Change a template of a company",
            problems: &[Problem::NotFound, Problem::AnotherVersion],
        },
    ]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::ACTIVITIES, read(case.own)).write(cost::ACTIVITIES, write(case.own))
    })],
    contract: function::contract(&update_template),
    function: || function::http(update_template, Wellness::warm_by_get),
};

/// A request to change a template. Omitted fields keep their values.
#[derive(Debug, Clone)]
pub struct UpdateTemplateInput {
    owner: Owner,
    id: TemplateId,
    version: Option<i64>,
    content: Content,
    /// The fields to remove, which are `null` in the request.
    removed: BTreeSet<&'static str>,
}

impl Input for UpdateTemplateInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let owner = fields.path_if_any("companyId").map_or(Owner::Global, Owner::Company);
        let id = fields.path("templateId");
        let version = fields.body_if_any::<Version>("version").map(i64::from);
        let removed: BTreeSet<_> = OPTIONAL.into_iter().filter(|name| fields.take_null(name)).collect();
        let has_any = ["version", "name"].into_iter().chain(OPTIONAL).any(|name| fields.has_body(name));
        if removed.is_empty() && !has_any {
            fields.fault::<()>("/body", format!("must have at least one of name, {}", OPTIONAL.join(", ")));
        }
        let content = Content::read(fields);
        Some(Self { owner, id: id?, version, content: content?, removed })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<CompanyId>("companyId", "");
        contract.path::<TemplateId>("templateId", "");
        Content::describe(contract);
        contract.name_body("TemplatePatch");
        contract.body::<Version>("version", "", false);
        contract.adapt_body(|body| {
            let about = "Omitted fields keep their values. `null` removes a field.";
            body.insert("description".to_owned(), about.into());
            body.insert("minProperties".to_owned(), 1.into());
            for name in OPTIONAL {
                let member = body["properties"][name].take();
                body["properties"][name] = json!({"oneOf": [member, {"title": "None", "type": "null"}]});
            }
        });
    }
}

/// Changes a template. Activities that were created from it keep their content.
///
/// # Errors
/// - 403 if the caller belongs to another company, or changes a global template without the
///   operator scope.
/// - 404 if the owner has no such template.
/// - 412 if the template has a different version than the request names.
/// - 413 if the template exceeds 48 KB.
pub async fn update_template(
    wellness: Wellness,
    request: Request<UpdateTemplateInput>,
) -> Result<Json<TemplateBody>, Error> {
    must_be_allowed(&request.caller, &request.input.owner)?;
    let template = optimistically(|| wellness.change_template(&request.input)).await?;
    Ok(Json(template.try_into()?))
}

impl Wellness {
    async fn change_template(&self, patch: &UpdateTemplateInput) -> Result<Template, Error> {
        let UpdateTemplateInput { owner, id, version, content, removed } = patch;
        let old = self.table.get::<Template>(&Template::key_of(owner, id)).await?.ok_or(Error::NotFound("template"))?;
        if version.is_some_and(|version| version != old.version) {
            return Err(Error::AnotherVersion);
        }
        let content = content.clone().or(old.content()?).without(removed);
        content.must_agree()?;
        let new = old.with(&content)?;
        if new == old {
            return Ok(old);
        }
        let new = Template { version: old.version + 1, ..new };
        must_fit(&new, MAX_TEMPLATE)?;
        let change = self.table.replace(&new)?.only_if_all(old.is_unchanged());
        self.dynamo.write_once_as(change, &new).await?;
        Ok(new)
    }
}
