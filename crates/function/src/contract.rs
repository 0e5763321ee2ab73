use crate::{Problem, Version};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap};

/// What a function accepts and returns on a route, in the objects of OpenAPI 3.1.
///
/// Inputs and responses add themselves: [`Input::describe`], [`Reply::describe`]. Only the
/// documentation calls them, so that no function contains a schema
/// ([decision](../../../docs/decisions/openapi.md)).
#[derive(Debug)]
pub struct Contract {
    /// The route, such as `GET /accounts/{accountId}`.
    pub route: String,
    /// The parameter objects.
    pub parameters: Vec<Value>,
    /// The schema of the body. `None` if requests have no body.
    pub body: Option<Schema>,
    /// Whether requests need a body.
    pub needs_body: bool,
    /// The responses by status, without errors.
    pub answers: BTreeMap<u16, Value>,
    /// The further members of a problem: their type, in the form of an object.
    pub problem: Option<(Problem, Schema)>,
    /// Generates the schemas of requests.
    pub requests: SchemaGenerator,
    /// Generates the schemas of responses.
    pub responses: SchemaGenerator,
    pub(crate) name: String,
    pub(crate) has_own_name: bool,
}

impl Contract {
    /// Creates the description of a route without parameters and responses.
    pub fn new(route: String) -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            route,
            parameters: Vec::new(),
            body: None,
            needs_body: false,
            answers: BTreeMap::new(),
            problem: None,
            requests: settings().for_deserialize().into_generator(),
            responses: settings().for_serialize().into_generator(),
            name: String::new(),
            has_own_name: false,
        }
    }

    /// Adds a path parameter, if the route has it.
    pub fn path<T: JsonSchema>(&mut self, name: &str, about: &str) {
        if self.route.contains(&format!("{{{name}}}")) {
            self.parameter::<T>("path", name, about, None);
        }
    }

    /// Adds a query parameter, with its default if it has one.
    pub fn query<T: JsonSchema>(&mut self, name: &str, about: &str, default: Option<Value>) {
        self.parameter::<T>("query", name, about, default);
    }

    /// Adds a header. OpenAPI describes the header `Accept` by the media types of the responses.
    pub fn header<T: JsonSchema>(&mut self, name: &str, about: &str) {
        if name != "accept" {
            self.parameter::<T>("header", name, about, None);
        }
    }

    /// Adds a member of the body. An `about` replaces the description of the type.
    pub fn body<T: JsonSchema>(&mut self, name: &str, about: &str, is_required: bool) {
        self.member::<T>(name, about, is_required, None);
    }

    /// Adds an optional member of the body that has a default.
    pub fn body_or<T: JsonSchema>(&mut self, name: &str, about: &str, default: Option<Value>) {
        self.member::<T>(name, about, false, default);
    }

    fn member<T: JsonSchema>(&mut self, name: &str, about: &str, is_required: bool, default: Option<Value>) {
        let schema = described(self.requests.subschema_for::<T>(), about, default);
        let name = name.to_owned();
        self.adapt_body(|body| {
            if is_required {
                let required = body.entry("required").or_insert_with(|| json!([]));
                required.as_array_mut().into_iter().for_each(|list| list.push(name.as_str().into()));
            }
            let members = body.entry("properties").or_insert_with(|| json!({}));
            members.as_object_mut().into_iter().for_each(|members| {
                members.insert(name.clone(), schema.clone().to_value());
            });
        });
    }

    /// Changes the schema of the body, such as for rules between members.
    pub fn adapt_body(&mut self, adapt: impl FnOnce(&mut Map<String, Value>)) {
        let body = self.body.get_or_insert_with(|| json_schema!({"type": "object", "additionalProperties": false}));
        adapt(body.ensure_object());
    }

    /// Adds the header `Idempotency-Key`, unless it was added before.
    pub fn idempotency_key(&mut self, is_required: bool) {
        const NAME: &str = "Idempotency-Key";
        if self.parameters.iter().any(|parameter| parameter["name"] == NAME) {
            return;
        }
        self.parameter::<keys::IdempotencyKey>(
            "header",
            NAME,
            "A retry with the same key returns the first response. A different request with the same key gets 422.",
            None,
        );
        if let Some(parameter) = self.parameters.last_mut().filter(|_| is_required) {
            parameter["required"] = true.into();
        }
    }

    /// Names the schema of the body after the input, unless it has a name of its own.
    pub fn name(&mut self, name: &str) {
        if !self.has_own_name {
            name.trim_end_matches("Input").clone_into(&mut self.name);
        }
    }

    /// Gives the schema of the body a name of its own.
    pub fn name_body(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.has_own_name = true;
    }

    /// The name of the schema of the body.
    pub fn body_name(&self) -> &str {
        &self.name
    }

    /// Adds a response with a JSON body.
    pub fn answer<T: JsonSchema>(&mut self, status: u16, has_location: bool) {
        let schema = self.responses.subschema_for::<T>();
        let mut answer = json!({"content": {"application/json": {"schema": schema}}});
        if has_location {
            answer["headers"] = json!({"Location": {"$ref": "#/components/headers/Location"}});
        }
        self.answers.insert(status, answer);
    }

    /// Requires a member of the JSON responses that their type leaves optional, and names them.
    pub fn requires(&mut self, member: &str, name: &str) {
        for answer in self.answers.values_mut() {
            let schema = &mut answer["content"]["application/json"]["schema"];
            let whole = json!({"allOf": [schema.take(), {"required": [member]}]});
            self.responses.definitions_mut().insert(name.to_owned(), whole);
            *schema = Schema::new_ref(format!("#/components/schemas/{name}")).to_value();
        }
    }

    /// Adds a media type to a response.
    pub fn add_media_type(&mut self, status: u16, media_type: &str) {
        let answer = self.answers.entry(status).or_insert_with(|| json!({}));
        answer["content"][media_type] = json!({"schema": {"type": "string"}});
        let about = "The cursor of the next page of a CSV file.";
        let cursor = self.responses.subschema_for::<table::Cursor>();
        answer["headers"]["Next-Cursor"] = json!({"description": about, "schema": cursor});
    }

    /// Describes the members of a problem with [`Error::Differs`].
    pub fn problem<T: JsonSchema>(&mut self, problem: Problem) {
        self.problem = Some((problem, T::json_schema(&mut self.responses)));
    }

    fn parameter<T: JsonSchema>(&mut self, place: &str, name: &str, about: &str, default: Option<Value>) {
        let schema = described(self.requests.subschema_for::<T>(), "", default);
        let mut parameter = json!({"name": name, "in": place, "schema": schema});
        if place == "path" {
            parameter["required"] = true.into();
        }
        if !about.is_empty() {
            parameter["description"] = about.into();
        }
        // A list of values is separated by commas.
        if parameter.pointer("/schema/type").is_some_and(|kind| kind == "array") {
            parameter["style"] = "form".into();
            parameter["explode"] = false.into();
        }
        self.parameters.push(parameter);
    }
}

/// Requires members that a flattened type leaves optional:
/// `#[schemars(transform = function::requires(["name"]))]`.
pub fn requires<const N: usize>(members: [&'static str; N]) -> impl FnMut(&mut Schema) {
    move |schema| {
        let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
        required.as_array_mut().into_iter().for_each(|names| names.extend(members.map(Value::from)));
    }
}

/// Adds a description and a default. A reference stands alone or in `allOf`.
fn described(schema: Schema, about: &str, default: Option<Value>) -> Schema {
    if about.is_empty() && default.is_none() {
        return schema;
    }
    let mut schema = if schema.get("$ref").is_some() { json_schema!({"allOf": [schema]}) } else { schema };
    if !about.is_empty() {
        schema.insert("description".to_owned(), about.into());
    }
    if let Some(default) = default {
        schema.insert("default".to_owned(), default);
    }
    schema
}

/// The number of items that a response leaves out.
#[derive(Debug)]
pub struct Skipped;
keys::schema!(Skipped as "Skipped": {
    "description": "Number of unreadable items that were left out. Absent if there are none.",
    "type": "integer",
    "minimum": 1
});

impl<const MIN: i64, const MAX: i64> JsonSchema for crate::Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX});
        if Self::schema_name() == Version::schema_name() {
            let about = "Version of the item that the change is based on. If the current version differs, the response \
                is 412.";
            schema.insert("description".to_owned(), about.into());
        }
        if MAX > i64::from(i32::MAX) {
            schema.insert("format".to_owned(), "int64".into());
        }
        schema
    }
}

impl<const MAX: usize> JsonSchema for crate::BoundedText<MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Visible characters and spaces, with at least one visible character. U+200C and U+200D are \
                also allowed between two visible characters. The pattern does not list them.",
            "type": "string",
            "minLength": 1,
            "maxLength": MAX,
            "pattern": keys::schema::plain_text(),
        })
    }
}
