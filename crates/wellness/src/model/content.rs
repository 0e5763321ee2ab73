use crate::{
    FiltersBody, Name,
    model::{
        groups::{GroupsBody, MAX_GROUPS},
        object::JsonObject,
        parts::{GoalBody, MAX_REFERENCES, MAX_REWARDS, ReferenceBody, RewardBody},
    },
};
use function::{Contract, Error, Fault, Fields, Input};
use keys::wellness::{ActivityType, SubType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;

/// The fields that activities and templates share, in requests, responses and stored templates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    name: Option<Name>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    activity_type: Option<ActivityType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_type: Option<SubType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filters: Option<FiltersBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<GoalBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REWARDS))]
    pub(crate) rewards: Option<Vec<RewardBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) groups: Option<GroupsBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REFERENCES))]
    pub(crate) references: Option<Vec<ReferenceBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<JsonObject>,
}

/// The optional fields of a template.
pub(crate) const OPTIONAL: [&str; 9] =
    ["type", "subType", "filters", "detail", "goal", "rewards", "groups", "references", "data"];

/// The mandatory fields of an activity.
pub(crate) struct Essentials {
    pub(crate) name: Name,
    pub(crate) activity_type: ActivityType,
    pub(crate) sub_type: SubType,
}

impl Input for Content {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            name: fields.body_if_any("name"),
            activity_type: fields.body_if_any("type"),
            sub_type: fields.body_if_any("subType"),
            filters: fields.body_if_any("filters"),
            detail: fields.body_if_any("detail"),
            goal: fields.body_if_any("goal"),
            rewards: list(fields, "rewards", MAX_REWARDS, "kind", |reward: &RewardBody| reward.kind.clone()),
            groups: read_groups(fields),
            references: list(fields, "references", MAX_REFERENCES, "facet and id", ReferenceBody::of),
            data: fields.body_if_any("data"),
        })
    }

    fn describe(contract: &mut Contract) {
        contract.body::<Name>("name", "", false);
        contract.body::<ActivityType>("type", "", false);
        contract.body::<SubType>("subType", "", false);
        contract.body::<FiltersBody>("filters", "", false);
        contract.body::<JsonObject>("detail", "", false);
        contract.body::<GoalBody>("goal", "", false);
        contract.body::<Vec<RewardBody>>("rewards", "", false);
        contract.body::<GroupsBody>("groups", "", false);
        contract.body::<Vec<ReferenceBody>>("references", "The references must be distinct.", false);
        contract.body::<JsonObject>("data", "", false);
        contract.adapt_body(|body| {
            body["properties"]["rewards"]["maxItems"] = MAX_REWARDS.into();
            body["properties"]["references"]["maxItems"] = MAX_REFERENCES.into();
        });
    }
}

impl Content {
    /// Fills each missing field from the template.
    ///
    /// The filters of the template may state its type. They do not, if the type is another one.
    pub(crate) fn or(self, template: Self) -> Self {
        let has_type = self.activity_type.is_some() || self.sub_type.is_some();
        let of_any = |FiltersBody(filters)| FiltersBody(filters.without_type());
        let filters = if has_type { template.filters.map(of_any) } else { template.filters };
        Self {
            name: self.name.or(template.name),
            activity_type: self.activity_type.or(template.activity_type),
            sub_type: self.sub_type.or(template.sub_type),
            filters: self.filters.or(filters),
            detail: self.detail.or(template.detail),
            goal: self.goal.or(template.goal),
            rewards: self.rewards.or(template.rewards),
            groups: self.groups.or(template.groups),
            references: self.references.or(template.references),
            data: self.data.or(template.data),
        }
    }

    /// Removes optional fields.
    pub(crate) fn without(self, removed: &BTreeSet<&str>) -> Self {
        fn kept<T>(value: Option<T>, is_kept: bool) -> Option<T> {
            value.filter(|_| is_kept)
        }
        let keeps = |name: &str| !removed.contains(name);
        Self {
            name: self.name,
            activity_type: kept(self.activity_type, keeps("type")),
            sub_type: kept(self.sub_type, keeps("subType")),
            filters: kept(self.filters, keeps("filters")),
            detail: kept(self.detail, keeps("detail")),
            goal: kept(self.goal, keeps("goal")),
            rewards: kept(self.rewards, keeps("rewards")),
            groups: kept(self.groups, keeps("groups")),
            references: kept(self.references, keeps("references")),
            data: kept(self.data, keeps("data")),
        }
    }

    /// Checks that the filters state no other type or subtype than the activity has.
    ///
    /// # Errors
    /// 400 if they do.
    pub(crate) fn must_agree(&self) -> Result<(), Error> {
        let Some(FiltersBody(filters)) = &self.filters else { return Ok(()) };
        filters.must_be_of(self.activity_type, self.sub_type.as_ref())
    }

    /// Returns the mandatory fields.
    ///
    /// # Errors
    /// 400, with one fault for each missing field, or if the filters state another type.
    pub(crate) fn essentials(&self) -> Result<Essentials, Error> {
        let Self { name, activity_type, sub_type, .. } = self.clone();
        let there = [("name", name.is_some()), ("type", activity_type.is_some()), ("subType", sub_type.is_some())];
        if let (Some(name), Some(activity_type), Some(sub_type)) = (name, activity_type, sub_type) {
            self.must_agree()?;
            return Ok(Essentials { name, activity_type, sub_type });
        }
        let missing = there.into_iter().filter(|(_, is_there)| !is_there);
        Err(Error::Invalid(missing.map(|(member, _)| is_missing(member)).collect()))
    }
}

fn is_missing(member: &str) -> Fault {
    Fault { pointer: format!("/body/{member}"), detail: "is missing".to_owned() }
}

/// Reports a fault for each of the `members` that the body does not contain. `Content::read` treats
/// every field as optional.
pub(crate) fn require(fields: &mut Fields, members: &[&str]) {
    for member in members {
        if !fields.has_body(member) {
            let Fault { pointer, detail } = is_missing(member);
            fields.fault::<()>(&pointer, detail);
        }
    }
}

/// Reads an optional list of at most `most` JSON objects. No two objects may have the same `key`.
/// `unique` is the name of the key in the error message.
pub(crate) fn list<T: DeserializeOwned, K: Ord>(
    fields: &mut Fields,
    name: &str,
    most: usize,
    unique: &str,
    key: impl Fn(&T) -> K,
) -> Option<Vec<T>> {
    let items: Vec<T> = fields.body_if_any(name)?;
    let pointer = format!("/body/{name}");
    if items.len() > most {
        return fields.fault(&pointer, format!("must have at most {most} items"));
    }
    let keys: BTreeSet<K> = items.iter().map(key).collect();
    if keys.len() < items.len() {
        fields.fault(&pointer, format!("must not contain two items with the same {unique}"))
    } else {
        Some(items)
    }
}

fn read_groups(fields: &mut Fields) -> Option<GroupsBody> {
    let groups: GroupsBody = fields.body_if_any("groups")?;
    if groups.items.len() > MAX_GROUPS {
        return fields.fault("/body/groups/items", format!("must have at most {MAX_GROUPS} items"));
    }
    groups.checked(fields, "/body/groups")
}
