//! Generates docs/openapi.yaml from the patterns, the types of their inputs and responses, and the
//! sample events (docs/decisions/openapi.md).

use crate::events::{self, Event};
use ::events::Expected;
use function::{Contract, Declared, Problem, Route};
use regex_lite::Regex;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use serde_saphyr::{FlowMap, FlowSeq};
use std::collections::{BTreeMap, BTreeSet};

const HEAD: &str = "\
# Generated from the code by `make docs`: docs/decisions/openapi.md.
";

/// The responses of every route. Those of API Gateway have no problem type.
const OF_EVERY_ROUTE: [Problem; 5] =
    [Problem::InvalidRequest, Problem::Forbidden, Problem::Throttled, Problem::Internal, Problem::Unavailable];

/// The OpenAPI document of the patterns, as YAML.
pub fn document(patterns: &[Declared]) -> String {
    let events = events::all();
    let (mut paths, mut components) = (Vec::<(String, Vec<(String, Value)>)>::new(), Components::default());
    for (pattern, route) in
        patterns.iter().flat_map(|pattern| pattern.routes().iter().map(move |route| (pattern, route)))
    {
        let operation = components.operation(pattern, route, &events);
        let at = paths.iter().position(|(path, _)| path == route.path).unwrap_or_else(|| {
            paths.push((route.path.to_owned(), Vec::new()));
            paths.len() - 1
        });
        paths[at].1.push((route.method.to_lowercase(), operation));
    }
    components.join(&mut paths);
    components.add_links(&mut paths);
    let paths = paths.into_iter().map(|(path, item)| (path, Node::Map(item.into_iter().map(of_operation).collect())));
    let document = Node::Map(vec![
        ("openapi".to_owned(), Node::of("3.1.0".into())),
        ("info".to_owned(), Node::of(info())),
        ("servers".to_owned(), Node::of(json!([{"url": "http://127.0.0.1:3000", "description": "make run"}]))),
        ("tags".to_owned(), Node::of(tags())),
        ("paths".to_owned(), Node::Map(paths.collect())),
        ("components".to_owned(), Node::of(components.value())),
    ]);
    format!("{HEAD}{}", serde_saphyr::to_string(&document).expect("YAML"))
}

fn of_operation((method, operation): (String, Value)) -> (String, Node) {
    (method, Node::of(operation))
}

fn info() -> Value {
    json!({
        "title": "DynamoDB designs as AWS Lambda functions",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Scheduled payments, a retail cart, a wellness programme and a double-entry ledger. Each access \
            pattern is a Lambda function. docs/http.md describes rules that schemas cannot express, such as status \
            changes and retries.\n\nEvery route requires a token with one of its scopes. An account, company or user in \
            a path must belong to the caller, unless the token has the `operate` scope of the service.",
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    })
}

fn tags() -> Value {
    json!([
        {"name": "bank", "description": "Scheduled payments"},
        {"name": "cart", "description": "A retail cart"},
        {"name": "wellness", "description": "Activities of a wellness programme for many companies"},
        {"name": "ledger", "description": "Double-entry financial transactions"},
    ])
}

#[derive(Default)]
struct Components {
    /// The schemas of requests. The others are those of responses.
    requests: Map<String, Value>,
    schemas: Map<String, Value>,
    parameters: Map<String, Value>,
    responses: Map<String, Value>,
}

impl Components {
    fn operation(&mut self, pattern: &Declared, route: &Route, events: &[Event]) -> Value {
        let key = format!("{} {}", route.method, route.path);
        let mut contract = Contract::new(key.clone());
        (pattern.contract)(&mut contract);
        let keyed = route.problems.contains(&Problem::IdempotencyKeyReused);
        if keyed && route.method == "POST" {
            contract.idempotency_key(false);
        }
        add_all(&mut self.requests, &contract.requests.take_definitions(true));
        add_all(&mut self.schemas, &contract.responses.take_definitions(true));
        let mut event = events.iter().filter(|event| event.content["routeKey"] == key.as_str());
        let event = event.find(|event| event.is_base() || matches!(event.expected, Expected::Status(200..300)));
        let mut operation = json!({
            "operationId": operation_id(pattern, route),
            "x-pattern": pattern.id,
            "tags": [route.path.split('/').nth(1)],
            "summary": route.summary,
            "security": route.scopes.iter().map(|scope| json!({"token": [scope]})).collect::<Vec<_>>(),
        });
        let parameters = std::mem::take(&mut contract.parameters);
        let parameters: Vec<_> = parameters.into_iter().map(|parameter| self.parameter(parameter)).collect();
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if contract.body.is_some() {
            operation["requestBody"] = self.body(&mut contract, event);
        }
        operation["responses"] = self.answers(pattern, route, &contract);
        operation
    }

    /// Returns a reference to the parameter. The first parameter with a name is a component.
    fn parameter(&mut self, mut parameter: Value) -> Value {
        clean(&mut parameter["schema"]);
        let name = parameter["name"].as_str().unwrap_or_default().to_owned();
        let first = self.parameters.entry(name.clone()).or_insert_with(|| parameter.clone());
        if *first == parameter { reference("parameters", &name) } else { parameter }
    }

    fn body(&mut self, contract: &mut Contract, event: Option<&Event>) -> Value {
        let mut schema = contract.body.take().expect("a body").to_value();
        clean(&mut schema);
        add(&mut self.requests, contract.body_name(), &schema);
        let mut content = json!({"schema": reference("schemas", contract.body_name())});
        if let Some(body) = event.and_then(|event| event.content["body"].as_str()) {
            content["example"] = serde_json::from_str(body).expect("JSON");
        }
        let mut body = json!({"content": {"application/json": content}});
        if contract.needs_body {
            body["required"] = true.into();
        }
        body
    }

    fn answers(&mut self, pattern: &Declared, route: &Route, contract: &Contract) -> Value {
        let mut answers = Map::new();
        for (status, answer) in &contract.answers {
            let name = http::StatusCode::from_u16(*status).expect("a status");
            let mut answer = answer.clone();
            answer.get_mut("content").into_iter().for_each(clean);
            let reason = name.canonical_reason().unwrap_or_default();
            let about = answer.pointer("/content/application~1json/schema").and_then(|schema| self.about(schema));
            answer["description"] =
                about.map_or_else(|| reason.to_owned(), |about| format!("{reason}: {about}")).into();
            answers.insert(status.to_string(), answer);
        }
        let mut problems: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
        // A request that changes something may have a body, even if no member is read.
        let may_have_body = ["POST", "PUT", "PATCH"].contains(&route.method);
        let of_body = [Problem::TooLarge, Problem::UnsupportedMediaType].into_iter().filter(|_| may_have_body);
        for problem in OF_EVERY_ROUTE.into_iter().chain(of_body).chain(route.problems.iter().copied()) {
            let list = problems.entry(problem.status()).or_default();
            if !list.contains(&problem) {
                list.push(problem);
            }
        }
        answers.insert("401".to_owned(), reference("responses", "NoToken"));
        if route.path.contains('{') {
            answers.insert("404".to_owned(), reference("responses", "NoRoute"));
        }
        for (status, problems) in problems {
            let name = match problems[..] {
                [problem] => format!("{problem:?}"),
                _ => format!("{}{status}", pascal_case(&operation_id(pattern, route))),
            };
            self.add_problems(&name, status, &problems, contract);
            answers.insert(status.to_string(), reference("responses", &name));
        }
        answers.into()
    }

    /// The description of a schema, or of the one that it is based on.
    fn about(&self, schema: &Value) -> Option<String> {
        let name = schema["$ref"].as_str().and_then(|to| to.rsplit('/').next());
        let schema = name.map_or(Some(schema), |name| self.schemas.get(name))?;
        let own = schema["description"].as_str().map(str::to_owned);
        own.or_else(|| schema["allOf"].as_array()?.iter().find_map(|part| self.about(part)))
    }

    /// Adds the response with these problem types, and the schema of its body.
    fn add_problems(&mut self, name: &str, status: u16, problems: &[Problem], contract: &Contract) {
        let types: Vec<_> = problems.iter().map(|problem| format!("/problems/{}", problem.name())).collect();
        let names = problems.iter().map(|problem| problem.name().replace('-', "_").to_uppercase());
        let mut own = json!({
            "type": {"type": "string", "enum": types, "x-enum-varnames": names.collect::<Vec<_>>()},
            "status": {"type": "integer", "enum": [status]},
        });
        let mut part = json!({"type": "object"});
        if problems.contains(&Problem::InvalidRequest) {
            own["errors"] = reference("schemas", "FaultList");
            part["required"] = json!(["errors"]);
        }
        if let Some((_, more)) = contract.problem.as_ref().filter(|(problem, _)| problems.contains(problem)) {
            let mut more = more.get("properties").cloned().unwrap_or_default();
            clean(&mut more);
            own.as_object_mut().expect("members").extend(more.as_object().cloned().unwrap_or_default());
        }
        part["properties"] = own;
        let schema = json!({"allOf": [reference("schemas", "Problem"), part], "unevaluatedProperties": false});
        let schema_name = format!("{name}Problem");
        add(&mut self.schemas, &schema_name, &schema);
        let when = problems.iter().zip(types).map(|(problem, kind)| format!("`{kind}`: {}.", problem.when()));
        let of_gateway = match status {
            403 => Some("API Gateway itself: the token has none of the scopes of the route."),
            404 => Some("API Gateway itself: the route does not exist."),
            413 => Some("API Gateway itself: the body is over 10 MB."),
            429 => Some("API Gateway itself: it throttled the request."),
            _ => None,
        };
        let when = when.chain(of_gateway.map(str::to_owned));
        let mut response = json!({
            "description": when.collect::<Vec<_>>().join(" "),
            "content": {"application/problem+json": {"schema": reference("schemas", &schema_name)}},
        });
        // API Gateway itself returns these as well.
        if [403, 404, 413, 429, 500, 503].contains(&status) {
            response["content"]["application/json"] = json!({"schema": reference("schemas", "Message")});
        }
        if [429, 503].contains(&status) {
            response["headers"] = json!({"Retry-After": reference("headers", "RetryAfter")});
        }
        self.responses.insert(name.to_owned(), response);
    }

    /// Joins the schemas of requests with those of responses. If both have one with the same name,
    /// the name of the request's begins with `New`.
    fn join(&mut self, paths: &mut [(String, Vec<(String, Value)>)]) {
        let is_other = |name: &String, schema: &Value| self.schemas.get(name).is_some_and(|other| other != schema);
        let mut renamed: BTreeSet<String> = BTreeSet::new();
        loop {
            let refers = |schema: &Value| renamed.iter().any(|name| refers_to(schema, name));
            let more = self
                .requests
                .iter()
                .filter(|(name, schema)| is_other(name, schema) || self.schemas.contains_key(*name) && refers(schema));
            let more: BTreeSet<_> = more.map(|(name, _)| name.clone()).collect();
            if more == renamed {
                break;
            }
            renamed = more;
        }
        for operation in paths.iter_mut().flat_map(|(_, item)| item).map(|(_, operation)| operation) {
            let parts = ["parameters", "requestBody"].into_iter();
            parts.filter_map(|part| operation.get_mut(part).map(|part| rename(part, &renamed))).for_each(drop);
        }
        self.parameters.values_mut().for_each(|parameter| rename(parameter, &renamed));
        for (name, mut schema) in std::mem::take(&mut self.requests) {
            rename(&mut schema, &renamed);
            let name = if renamed.contains(&name) { format!("New{name}") } else { name };
            add(&mut self.schemas, &name, &schema);
        }
    }

    /// Adds a link from each response with an id to the operations on the object with this id.
    fn add_links(&self, paths: &mut [(String, Vec<(String, Value)>)]) {
        let operations: Vec<_> = paths
            .iter()
            .flat_map(|(path, item)| item.iter().map(|(_, operation)| (path.clone(), operation["operationId"].clone())))
            .collect();
        for (path, item) in paths {
            for (_, operation) in item {
                for status in ["201", "202"] {
                    let schema = &operation["responses"][status]["content"]["application/json"]["schema"];
                    let members = self.members(schema);
                    let links =
                        operations.iter().filter_map(|(to, id)| link(path, to, id, &members)).collect::<Map<_, _>>();
                    if !links.is_empty() {
                        operation["responses"][status]["links"] = links.into();
                    }
                }
            }
        }
    }

    /// The members that the response always has.
    fn members(&self, schema: &Value) -> Vec<String> {
        let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let schema = name.map_or(schema, |name| &self.schemas[name]);
        let own =
            schema["required"].as_array().into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned()));
        let parts = schema["allOf"].as_array().into_iter().flatten();
        own.chain(parts.flat_map(|part| self.members(part))).collect()
    }

    fn value(mut self) -> Value {
        self.schemas.extend(errors_schemas().as_object().cloned().unwrap_or_default());
        self.responses.extend(gateway_responses().as_object().cloned().unwrap_or_default());
        json!({
            "securitySchemes": {"token": {
                "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                "description": "The claims `sub`, `scope`, `account_ids` and `company_id` identify the caller.",
            }},
            "headers": {
                "Location": {
                    "description": "Path of the created object or of the started job.",
                    "required": true,
                    "schema": {"type": "string", "pattern": "^/"},
                },
                "RetryAfter": {
                    "description": "Seconds to wait before a retry. Responses of API Gateway itself do not have this header.",
                    "schema": {"type": "integer", "minimum": 1},
                },
            },
            "parameters": self.parameters,
            "responses": self.responses,
            "schemas": self.schemas,
        })
    }
}

/// Adds the schemas of types. A body is named after what it contains: `Payment`, not `PaymentBody`.
fn add_all(schemas: &mut Map<String, Value>, definitions: &Map<String, Value>) {
    for (name, schema) in definitions {
        let mut schema = schema.clone();
        close(&mut schema, definitions);
        clean(&mut schema);
        add(schemas, &without_body(name), &schema);
    }
}

/// Adds a schema. Two types with one name must have the same schema.
fn add(schemas: &mut Map<String, Value>, name: &str, schema: &Value) {
    let before = schemas.entry(name).or_insert_with(|| schema.clone());
    assert_eq!(before, schema, "two schemas have the name {name}");
}

fn without_body(name: &str) -> String {
    name.strip_suffix("Body").unwrap_or(name).replace("BodyPage", "Page")
}

fn refers_to(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("$ref").and_then(Value::as_str).is_some_and(|to| to.rsplit('/').next() == Some(name))
                || members.values().any(|member| refers_to(member, name))
        }
        Value::Array(items) => items.iter().any(|item| refers_to(item, name)),
        _ => false,
    }
}

fn rename(schema: &mut Value, renamed: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some(name) = to.rsplit('/').next().filter(|name| renamed.contains(*name))
            {
                *to = format!("#/components/schemas/New{name}");
            }
            members.values_mut().for_each(|member| rename(member, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, renamed)),
        _ => {}
    }
}

/// The link to an operation whose path ends with a member of the response, at most one more name
/// behind it. The response to a retry may have another id than its path.
fn link(from: &str, to: &str, id: &Value, members: &[String]) -> Option<(String, Value)> {
    let names = |path: &str| -> Vec<String> {
        path.split('/').filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned())).collect()
    };
    let (known, wanted) = (names(from), names(to));
    let is_new = |last: &&String| {
        if from.ends_with("/retry") { known.last() == Some(*last) } else { !known.contains(*last) }
    };
    let last = wanted.last().filter(|last| members.contains(last)).filter(is_new)?;
    let service = |path: &str| path.split('/').nth(1).map(str::to_owned);
    let behind = to.split(&format!("{{{last}}}")).nth(1)?.matches('/').count();
    // What belongs to a company is not found without the company.
    let leaves_company = known.iter().any(|name| name == "companyId") && !wanted.iter().any(|name| name == "companyId");
    if service(from) != service(to) || behind > 1 || leaves_company {
        return None;
    }
    let of = |name: &String| match (known.contains(name) && name != last, members.contains(name)) {
        (true, _) => Some(format!("$request.path.{name}")),
        (_, true) => Some(format!("$response.body#/{name}")),
        _ => None,
    };
    let parameters = wanted.iter().map(|name| Some((name.clone(), of(name)?.into()))).collect::<Option<Map<_, _>>>()?;
    Some((id.as_str()?.to_owned(), json!({"operationId": id, "parameters": parameters})))
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}

/// The operation id: the name of the function, with a suffix if the function has several routes.
fn operation_id(pattern: &Declared, route: &Route) -> String {
    let last = route.path.rsplit('/').next().unwrap_or_default();
    let suffix = match pattern.routes() {
        [_, _] if route.path.contains("/employees/") => "-of-employee".to_owned(),
        [_, _] if route.path.contains("/companies/") => "-of-company".to_owned(),
        [_] | [_, _] => String::new(),
        _ if last.starts_with('{') => {
            let one = route.path.rsplit('/').nth(1).unwrap_or_default();
            format!("-{}", one.trim_end_matches('s'))
        }
        _ => format!("-{last}"),
    };
    format!("{}{suffix}", pattern.name)
}

fn pascal_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(word).collect()
}

/// Closes objects to unknown members. An optional member is absent, and never null.
fn close(schema: &mut Value, all: &Map<String, Value>) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") {
            absorb(object, all);
        }
        let required = object.get("required").cloned().unwrap_or_default();
        if let Some(Value::Object(members)) = object.get_mut("properties") {
            let is_required = |name: &str| required.as_array().is_some_and(|list| list.iter().any(|one| one == name));
            members.iter_mut().filter(|(name, _)| !is_required(name)).for_each(|(_, member)| without_null(member));
            members.values_mut().filter_map(Value::as_object_mut).for_each(|member| {
                member.remove("default");
            });
            object.entry("additionalProperties").or_insert(false.into());
        }
        // `allOf` has conditions on an object, and no objects.
        object.iter_mut().filter(|(name, _)| *name != "allOf").for_each(|(_, part)| close(part, all));
    } else if let Some(items) = schema.as_array_mut() {
        for item in items {
            close(item, all);
        }
    }
}

/// Adds the members of a referenced object, and those of alternatives as optional members.
/// Generated clients replace an object that has alternatives by a union.
fn absorb(object: &mut Map<String, Value>, all: &Map<String, Value>) {
    let name = object.remove("$ref").and_then(|to| Some(to.as_str()?.rsplit('/').next()?.to_owned()));
    if let Some(Value::Object(mut referenced)) = name.and_then(|name| all.get(&name).cloned()) {
        absorb(&mut referenced, all);
        add_members(object, &referenced);
        let required = referenced["required"].as_array().cloned().unwrap_or_default();
        let own = object.entry("required").or_insert_with(|| json!([]));
        own.as_array_mut().expect("names").extend(required);
    }
    for kind in ["anyOf", "oneOf"] {
        for mut part in object.remove(kind).unwrap_or_default().as_array().cloned().unwrap_or_default() {
            let Some(part) = part.as_object_mut() else { continue };
            absorb(part, all);
            add_members(object, part);
        }
    }
}

fn add_members(object: &mut Map<String, Value>, part: &Map<String, Value>) {
    let own = object.entry("properties").or_insert_with(|| json!({})).as_object_mut().expect("members");
    let more = part.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    more.into_iter().for_each(|(name, member)| {
        own.entry(name).or_insert(member);
    });
}

fn without_null(member: &mut Value) {
    let kinds = member.get("type").and_then(Value::as_array).cloned();
    if let Some(mut kinds) = kinds {
        kinds.retain(|kind| kind != "null");
        member["type"] = if let [kind] = &kinds[..] { kind.clone() } else { kinds.into() };
    }
    let Some(parts) = member.get_mut("anyOf").and_then(Value::as_array_mut) else { return };
    parts.retain(|part| part["type"] != "null");
    if let [part] = &parts[..] {
        let part = part.clone();
        let object = member.as_object_mut().expect("a schema");
        object.remove("anyOf");
        if object.is_empty() {
            *member = part;
        } else {
            object.insert("allOf".to_owned(), json!([part]));
        }
    }
}

/// Makes a schema of a Rust type one for readers of the API. It removes the formats of numbers that
/// only Rust has, and the links of the documentation. It puts a reference with a description into
/// `allOf`.
fn clean(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object
            .get("format")
            .and_then(Value::as_str)
            .is_some_and(|format| format.starts_with("uint") || format == "int32")
        {
            object.remove("format");
        }
        object.remove("readOnly");
        // Some generators of clients do not read the schemas `true` and `false`.
        for member in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            match member.1.as_bool() {
                Some(true) => *member.1 = json!({}),
                Some(false) => *member.1 = json!({"not": {}}),
                None => {}
            }
        }
        if let Some(text) = object.get_mut("description").filter(|text| text.is_string()) {
            *text = plain(text.as_str().unwrap_or_default()).into();
        }
        if let Some(Value::String(to)) = object.get_mut("$ref") {
            *to = without_body(to);
        }
        if object.contains_key("$ref") && object.len() > 1 {
            let reference = object.remove("$ref").unwrap_or_default();
            object.insert("allOf".to_owned(), json!([{"$ref": reference}]));
        }
        let values = object.get("oneOf").and_then(Value::as_array).map(|parts| {
            let values = parts.iter().map(|part| match part.get("enum").and_then(Value::as_array) {
                Some(values) => Some(values.clone()),
                None => Some(vec![part.get("const")?.clone()]),
            });
            values.collect::<Option<Vec<_>>>().map(|values| values.concat())
        });
        if let Some(Some(values)) = values {
            object.remove("oneOf");
            object.insert("type".to_owned(), "string".into());
            object.insert("enum".to_owned(), values.into());
        }
        object.values_mut().for_each(clean);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(clean);
    }
}

/// The text without links of rustdoc and Markdown, and without line breaks.
fn plain(text: &str) -> String {
    let replace = |text: String, pattern: &str, by: &str| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, by).into_owned()
    };
    let text = replace(text.to_owned(), r"\s*\(\[[^\]]*\]\([^)]*\)\)", "");
    let text = replace(text, r"\[([^\]]*)\]\([^)]*\)", "$1");
    let text = replace(text, r"\[(`[A-Za-z_:()]+`)\]", "$1");
    let text = replace(text, r"\s*\(docs/[^)]*\)", "");
    replace(text, r"\s+", " ").trim().to_owned()
}

/// The responses of API Gateway.
fn gateway_responses() -> Value {
    let message = |description: &str| json!({"description": description, "content": {"application/json": {"schema": reference("schemas", "Message")}}});
    json!({
        "NoToken": message("The token is missing or invalid."),
        "NoRoute": message("The route does not exist."),
    })
}

fn errors_schemas() -> Value {
    json!({
        "Message": {
            "description": "Error response of API Gateway itself. It has only `message`, and on the local stack `detail`. \
                The other members of a `Problem` are declared, so that a client can read them from every error without a \
                check of the type. They are absent.",
            "type": "object",
            "required": ["message"],
            "propertyNames": {"enum": ["message", "detail"]},
            "additionalProperties": false,
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "instance": {"type": "string"},
                "errors": reference("schemas", "FaultList"),
            },
        },
        "FaultList": {"type": "array", "minItems": 1, "items": reference("schemas", "Fault")},
        "Fault": {
            "type": "object",
            "required": ["pointer", "detail"],
            "additionalProperties": false,
            "properties": {
                "pointer": {"type": "string", "pattern": "^/(body|query|path|header)(/|$)"},
                "detail": {"type": "string", "minLength": 1},
            },
        },
        "Problem": {
            "description": "Problem details (RFC 9457). `instance` is the request id. Only `/problems/invalid-request` has \
                `errors`. They are declared here, so that a client can read them without a check of the type.",
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string", "pattern": "^/problems/[a-z-]+$"},
                "title": {"type": "string", "minLength": 1},
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": {"type": "string", "minLength": 1},
                "instance": {"type": "string", "minLength": 1},
                "errors": reference("schemas", "FaultList"),
            },
            "if": {"properties": {"type": {"type": "string", "enum": ["/problems/invalid-request"]}}},
            "else": {"not": {"required": ["errors"]}},
        },
    })
}

/// Maximum width of a map or a list that takes one line.
const MAX_LINE: usize = 84;

/// A value whose members have an order.
enum Node {
    Map(Vec<(String, Node)>),
    List(Vec<Node>),
    Leaf(Value),
}

/// The order of the members that come first. The others follow in alphabetical order. Some
/// generators read only the first media type of a response.
const ORDER: [&str; 25] = [
    "application/problem+json",
    "operationId",
    "x-pattern",
    "tags",
    "summary",
    "security",
    "title",
    "name",
    "in",
    "description",
    "parameters",
    "requestBody",
    "responses",
    "allOf",
    "oneOf",
    "anyOf",
    "type",
    "required",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
    "additionalProperties",
    "properties",
];

impl Node {
    fn of(value: Value) -> Self {
        match value {
            Value::Object(members) => {
                let rank = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
                let mut members: Vec<_> = members.into_iter().map(|(name, value)| (name, Self::of(value))).collect();
                members.sort_by_key(|(name, _)| rank(name));
                Self::Map(members)
            }
            Value::Array(items) => Self::List(items.into_iter().map(Self::of).collect()),
            leaf => Self::Leaf(leaf),
        }
    }

    /// About the number of characters of the value on one line. A text of several lines is long.
    fn width(&self) -> usize {
        match self {
            Self::Map(members) => 2 + members.iter().map(|(name, value)| name.len() + 4 + value.width()).sum::<usize>(),
            Self::List(items) => 2 + items.iter().map(|item| 2 + item.width()).sum::<usize>(),
            Self::Leaf(Value::String(text)) if text.contains('\n') => MAX_LINE + 1,
            Self::Leaf(value) => value.to_string().len(),
        }
    }
}

/// A value without wrappers, as the parts of a value on one line must be.
struct Plain<'a>(&'a Node);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Node::Map(members) => out.collect_map(members.iter().map(|(name, value)| (name, Plain(value)))),
            Node::List(items) => out.collect_seq(items.iter().map(Plain)),
            Node::Leaf(value) => value.serialize(out),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            // A short value takes one line.
            Self::Map(_) if self.width() <= MAX_LINE => FlowMap(Plain(self)).serialize(out),
            Self::List(_) if self.width() <= MAX_LINE => FlowSeq(Plain(self)).serialize(out),
            Self::Map(members) => out.collect_map(members.iter().map(|(name, value)| (name, value))),
            Self::List(items) => items.serialize(out),
            Self::Leaf(value) => value.serialize(out),
        }
    }
}
