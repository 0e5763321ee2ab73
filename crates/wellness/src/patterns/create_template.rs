//! W13: creates a template, either for all companies or for one company
//! (docs/requirements/wellness.md#templates-and-custom-content).

use crate::{
    Template, TemplateBody, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        content::{Content, require},
        sizes::{MAX_TEMPLATE, must_fit},
        template::must_be_allowed,
    },
};
use function::{
    Created, Error, Fields, Fingerprint, IdempotentRequest, Input, Problem, Request, Route, Trigger, optimistically,
};
use keys::wellness::{CompanyId, Owner, TemplateId};
use serde_json::{Map, Value, json};
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W13",
    name: "create-template",
    trigger: Trigger::Http(&[
        Route {
            method: "POST",
            path: "/wellness/templates",
            scopes: &["wellness:operate"],
            summary: "Create a global template",
            problems: &[Problem::NotFound, Problem::IdempotencyKeyReused],
        },
        Route {
            method: "POST",
            path: "/wellness/companies/{companyId}/templates",
            scopes: &["wellness:admin", "wellness:operate"],
            summary: "Create a template for a company",
            problems: &[Problem::NotFound, Problem::IdempotencyKeyReused],
        },
    ]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, case.record_read())
            .write(cost::ACTIVITIES, (write(case.own) + case.record_write()).times(2))
    })],
    contract: function::contract(&create_template),
    function: || function::http(create_template, Wellness::warm_by_get),
};

/// A request to create a template.
#[derive(Debug, Clone, Input)]
#[input(body, check = must_have_name(), schema = needs_name)]
pub struct CreateTemplateInput {
    #[input(path = "companyId", via = CompanyId, default = Owner::Global)]
    owner: Owner,
    #[input(part)]
    content: Content,
}

fn must_have_name(fields: &mut Fields) {
    require(fields, &["name"]);
}

fn needs_name(body: &mut Map<String, Value>) {
    body.insert("required".to_owned(), json!(["name"]));
}

impl CreateTemplateInput {
    fn fingerprint(&self) -> Result<Fingerprint, Error> {
        let asked = serde_json::to_string(&self.content).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Fingerprint::of(&["create-template", &asked]))
    }
}

/// Creates a template.
///
/// # Errors
/// - 403 if the caller belongs to another company, or requests a global template without the
///   operator scope.
pub async fn create_template(
    wellness: Wellness,
    request: Request<CreateTemplateInput>,
) -> Result<Created<TemplateBody>, Error> {
    must_be_allowed(&request.caller, &request.input.owner)?;
    let template = optimistically(|| wellness.make_template(&request)).await?;
    Ok(Created { id: template.sort.0.to_string(), body: template.try_into()? })
}

impl Wellness {
    async fn make_template(&self, request: &Request<CreateTemplateInput>) -> Result<Template, Error> {
        let (CreateTemplateInput { owner, content }, now) = (&request.input, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, owner, key, request.input.fingerprint()?, now);
        if let Some(id) = once.before().await? {
            return self.made_template(owner, &id).await;
        }
        let id = TemplateId::new(now.instant(), &request.random);
        content.must_agree()?;
        let template = Template::new(owner.clone(), id.clone(), content, now.second())?;
        must_fit(&template, MAX_TEMPLATE)?;
        let mut changes = vec![self.table.put_new(&template)?];
        changes.extend(once.remember(&id)?);
        // A single change is also sent as a transaction. If the response is lost, the client token
        // of the transaction makes the SDK's retry idempotent.
        self.dynamo.transact(changes).await?;
        Ok(template)
    }

    async fn made_template(&self, owner: &Owner, id: &TemplateId) -> Result<Template, Error> {
        self.table.get(&Template::key_of(owner, id)).await?.ok_or(Error::NotFound("template"))
    }
}
