use crate::{DOMAIN, Wellness, model::content::Content};
use function::{Caller, Error};
use futures::future::try_join;
use keys::{
    TimestampSeconds,
    wellness::{CompanyId, Owner, TemplateId, TemplateSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Condition, Item, JsonText, Key};

/// A template for activities. It is either global or owned by one company.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Template {
    /// Partition key: `Global` or `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub owner: Owner,
    /// Sort key: `Template#TemplateId-<id>`.
    #[serde(rename = "SK")]
    pub sort: TemplateSort,
    /// The fields that an activity inherits. They are one JSON text, because they are always read
    /// together.
    pub content: JsonText,
    /// Version number, starting at 1.
    pub version: i64,
    /// Time of creation.
    pub created_at: TimestampSeconds,
}

impl Item for Template {
    const TYPE: &'static str = "Template";
}

impl Template {
    pub(crate) fn new(owner: Owner, id: TemplateId, content: &Content, now: TimestampSeconds) -> Result<Self, Error> {
        Ok(Self { owner, sort: TemplateSort(id), content: stored(content)?, version: 1, created_at: now })
    }

    /// Returns the template with other content.
    pub(crate) fn with(&self, content: &Content) -> Result<Self, Error> {
        Ok(Self { content: stored(content)?, ..self.clone() })
    }

    pub(crate) fn key_of(owner: &Owner, id: &TemplateId) -> Key {
        Key::new(owner, &TemplateSort(id.clone()))
    }

    /// The condition that the template has not changed. Its version alone could be that of a
    /// template of the same id that was loaded later.
    pub(crate) fn is_unchanged(&self) -> [Condition; 2] {
        [Condition::is(Self::VERSION, self.version), Condition::is(Self::CREATED_AT, &self.created_at)]
    }

    pub(crate) fn content(&self) -> Result<Content, Error> {
        serde_json::from_str(self.content.text()).map_err(|error| Error::Internal(error.to_string()))
    }
}

/// Returns the content in the form that the table stores.
fn stored(content: &Content) -> Result<JsonText, Error> {
    let content = serde_json::value::to_raw_value(content).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(content.into())
}

/// Checks that the caller may write templates of the owner.
///
/// # Errors
/// 403 if the caller belongs to another company, or is no operator and the template is global.
pub(crate) fn must_be_allowed(caller: &Caller, owner: &Owner) -> Result<(), Error> {
    match owner {
        Owner::Global => caller.must_operate(DOMAIN),
        Owner::Company(company) => caller.must_belong_to(company, DOMAIN),
    }
}

impl Wellness {
    /// Reads a template by id. A template of the company takes precedence over a global template.
    ///
    /// # Errors
    /// 404 if neither exists.
    pub(crate) async fn template(&self, company: &CompanyId, id: &TemplateId) -> Result<Template, Error> {
        let own = Template::key_of(&Owner::Company(company.clone()), id);
        let global = Template::key_of(&Owner::Global, id);
        let (own, global) = Box::pin(try_join(self.table.get(&own), self.table.get(&global))).await?;
        own.or(global).ok_or(Error::NotFound("template"))
    }
}

/// A template.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = function::requires(["name"]))]
pub struct TemplateBody {
    template_id: TemplateId,
    #[schemars(extend("enum" = ["global", "company"]))]
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    company_id: Option<CompanyId>,
    #[serde(flatten)]
    content: Content,
    #[schemars(range(min = 1))]
    version: i64,
    created_at: TimestampSeconds,
}

impl TryFrom<Template> for TemplateBody {
    type Error = Error;

    fn try_from(template: Template) -> Result<Self, Error> {
        let content = template.content()?;
        let (scope, company_id) = match &template.owner {
            Owner::Global => ("global", None),
            Owner::Company(company) => ("company", Some(company.clone())),
        };
        let Template { sort: TemplateSort(template_id), version, created_at, .. } = template;
        Ok(Self { template_id, scope, company_id, content, version, created_at })
    }
}
