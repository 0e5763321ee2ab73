//! The events that the services publish: their pages and schemas in docs/events, and the events of
//! the local stack.

use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
};
use system_tests::{Client, events, is_current, published::validator, root, stack};

/// The types of events of a service: detail type, description and schema of the data.
fn types(service: &Value) -> Vec<(String, String, Value)> {
    let inlined = inlined(service, &service["$defs"]);
    let alternatives = inlined["oneOf"].as_array().expect("a list of types");
    let each = alternatives.iter().map(|one| {
        let (name, data) = one["properties"].as_object().and_then(|members| members.iter().next()).expect("a type");
        let description = one["description"].as_str().expect("a description").replace('\n', " ");
        (name.clone(), description, without_description(data))
    });
    each.collect()
}

/// The description of a shared struct says nothing about the type of event.
fn without_description(data: &Value) -> Value {
    let mut data = data.clone();
    data.as_object_mut().expect("a schema").remove("description");
    data
}

/// The schema with the definitions in place of references to them. A description beside a reference
/// replaces that of the definition.
fn inlined(schema: &Value, definitions: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            let mut all = name.map_or(Value::Null, |name| inlined(&definitions[name], definitions));
            let all = all.as_object_mut().map(std::mem::take).unwrap_or_default();
            let own = members.iter().filter(|(name, _)| *name != "$ref" && *name != "$defs");
            all.into_iter().chain(own.map(|(name, value)| (name.clone(), inlined(value, definitions)))).collect()
        }
        Value::Array(values) => values.iter().map(|value| inlined(value, definitions)).collect(),
        other => other.clone(),
    }
}

/// The schema of the member `detail`.
fn schema(name: &str, description: &str, data: &Value) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": description,
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Id of the event. A repeat has the same id."},
            "time": {"type": "string", "format": "date-time", "description": "Time of the change in UTC."},
            "version": {"const": 1, "description": "Version of the schema."},
            "data": data,
        },
        "required": ["id", "time", "version", "data"],
    })
}

/// Whether every event with the new schema also has the old one: no member is removed, changed or
/// optional that was required.
fn is_compatible(old: &Value, new: &Value) -> bool {
    let Some(members) = old["properties"].as_object() else { return described(old) == described(new) };
    let names = |schema: &Value| -> BTreeSet<String> {
        let names = schema["required"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    names(old).is_subset(&names(new))
        && members.iter().all(|(name, old)| new["properties"].get(name).is_some_and(|new| is_compatible(old, new)))
}

/// The schema without its descriptions, which may change.
fn described(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != "description");
            members.map(|(name, value)| (name.clone(), described(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(values) => values.iter().map(described).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_schema_may_only_get_more_members() {
    let of = |data: Value| schema("OrderPlaced", "An order.", &data);
    let old = of(json!({"properties": {"a": {"type": "string", "description": "A."}}, "required": ["a"]}));
    let more = json!({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
    assert!(is_compatible(&old, &old) && is_compatible(&old, &of(more)));
    for bad in [
        json!({"properties": {"b": {"type": "string"}}, "required": ["a"]}),
        json!({"properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        json!({"properties": {"a": {"type": "string"}}, "required": []}),
    ] {
        assert!(!is_compatible(&old, &of(bad.clone())), "{bad}");
    }
}

/// The events that the functions publish for the sample events, by detail type. The first one of
/// each type is its example.
async fn examples() -> BTreeMap<String, Value> {
    let stack = stack().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    for event in events::all().into_iter().filter(|event| event.content["Records"][0]["eventSource"] == "aws:dynamodb")
    {
        operator.post(&format!("/_local/functions/{}/invocations", event.function()), &event.content).await;
    }
    let published = operator.get("/_local/events").await.body;
    stack.stop().await;
    let mut examples = BTreeMap::new();
    for mut event in published["items"].as_array().expect("events").clone() {
        for (name, value) in [("id", "5c7bbf0a-6a0c-4b8b-9d0b-2f8a3f1c9e77"), ("account", "123456789012")] {
            event[name] = value.into();
        }
        event.as_object_mut().expect("an event").remove("sequence");
        examples.entry(event["detail-type"].as_str().expect("a type").to_owned()).or_insert(event);
    }
    examples
}

#[tokio::test]
async fn pages_and_schemas_are_current() {
    let examples = examples().await;
    for (source, service) in ::events::published() {
        let mut page = format!(
            "# Events: {source}\n\n`make docs` writes this page from the type `Fact` of the service. \
             [Events](README.md) explains\nthe members that all events have.\n"
        );
        for (name, description, data) in types(&service) {
            let example = examples.get(&name).unwrap_or_else(|| panic!("no sample event publishes {name}"));
            let file = format!("docs/events/{source}/{name}.json");
            let schema = schema(&name, &description, &data);
            if let Ok(released) = fs::read_to_string(root().join(&file)) {
                let released = serde_json::from_str(&released).expect("a schema");
                assert!(is_compatible(&released, &schema), "{file}: add a new type instead of an incompatible change");
            }
            is_current(&file, &format!("{}\n", printed(&schema, 0)));
            assert!(validator(&schema).is_valid(&example["detail"]), "{name}");
            let example = serde_json::to_string_pretty(&example["detail"]).expect("JSON");
            let data = &schema["properties"]["data"];
            write!(page, "\n## {name}\n\n{}\n", wrapped(&description)).expect("text");
            write!(page, "\n[Schema of `detail`]({source}/{name}.json)\n\n{}", members(data)).expect("text");
            write!(page, "\n```json\n{example}\n```\n").expect("text");
        }
        is_current(&format!("docs/events/{source}.md"), &page);
    }
}

/// The text of a schema, with a line for each member and for each property.
fn printed(schema: &Value, depth: usize) -> String {
    let (Some(properties), Some(members)) = (schema["properties"].as_object(), schema.as_object()) else {
        return schema.to_string();
    };
    let block = |depth: usize, lines: Vec<String>| {
        let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        format!("{{\n{inner}{}\n{outer}}}", lines.join(&format!(",\n{inner}")))
    };
    let property = |(name, one): (&String, &Value)| format!("{}: {}", json!(name), printed(one, depth + 2));
    let member = |(name, value): (&String, &Value)| match name.as_str() {
        "properties" => format!("{}: {}", json!(name), block(depth + 1, properties.iter().map(property).collect())),
        _ => format!("{}: {value}", json!(name)),
    };
    block(depth, members.iter().map(member).collect())
}

/// The table of the members of the data.
fn members(data: &Value) -> String {
    let mut table = "| member of `data` | type | meaning |\n| --- | --- | --- |\n".to_owned();
    for (name, member) in data["properties"].as_object().expect("members") {
        let kind = member["type"].as_str().unwrap_or("any");
        let required = data["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
        let optional = if required { "" } else { ", optional" };
        let text = member["description"].as_str().unwrap_or_default().replace('\n', " ");
        writeln!(table, "| `{name}` | {kind}{optional} | {text} |").expect("text");
    }
    table
}

/// A paragraph in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            word.clone_into(line);
        } else if line.len() + word.len() < 100 {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

/// The local stack rejects what EventBridge rejects.
#[tokio::test]
async fn the_local_bus_rejects_invalid_entries() {
    let stack = stack().start().await.expect("a stack");
    let put = async |entries: Value| {
        let request = reqwest::Client::new().post(stack.services_url()).header("x-amz-target", "AWSEvents.PutEvents");
        request.body(json!({"Entries": entries}).to_string()).send().await.expect("a response")
    };
    let entry = json!({"EventBusName": "local", "Source": "s", "DetailType": "T", "Detail": "{}"});
    let with = |name: &str, value: &str| {
        let mut entry = entry.clone();
        entry[name] = value.into();
        entry
    };
    let entries = json!([entry, with("Detail", "{"), with("Source", ""), with("EventBusName", "other")]);
    let answer: Value = put(entries).await.json().await.expect("JSON");
    let codes: Vec<_> = answer["Entries"].as_array().expect("results").iter().map(|one| &one["ErrorCode"]).collect();
    assert_eq!(
        codes,
        [&Value::Null, &"MalformedDetail".into(), &"InvalidArgument".into(), &"ResourceNotFoundException".into()]
    );
    assert_eq!(answer["FailedEntryCount"], 3);
    let large = with("Detail", &json!({"text": "x".repeat(30_000)}).to_string());
    for entries in [json!([]), json!(vec![&entry; 11]), json!(vec![&large; 9])] {
        assert_eq!(put(entries).await.status(), 400);
    }
    let operator = Client::operator(&stack);
    let published = operator.get("/_local/events?limit=1").await.body;
    assert_eq!((&published["next"], &published["items"][0]["detail-type"]), (&json!(1), &json!("T")));
    assert_eq!(operator.get("/_local/events?after=1").await.body, json!({"items": [], "next": 1}));
    for bad in ["after=x", "limit=0", "limit=1001", "before=1"] {
        assert_eq!(operator.get(&format!("/_local/events?{bad}")).await.status, 400, "{bad}");
    }
    stack.stop().await;
}

/// A program gets each event, and again if it did not accept it.
#[tokio::test]
async fn events_are_posted_to_a_program() {
    use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
    use std::sync::{Arc, Mutex};
    type Received = Arc<Mutex<Vec<Value>>>;
    async fn receive(State(seen): State<Received>, event: Bytes) -> StatusCode {
        let mut seen = seen.lock().expect("no panic");
        seen.push(serde_json::from_slice(&event).expect("JSON"));
        if seen.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }
    }
    let seen = Received::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/events", listener.local_addr().expect("an address"));
    let program = Router::new().route("/events", post(receive)).with_state(Arc::clone(&seen));
    let server = tokio::spawn(async move { axum::serve(listener, program).await });
    let stack = stack().events_to(url).start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let product = |price: &str| json!({"name": "Chair", "price": price, "currency": "USD"});
    for price in ["12.49", "14.99"] {
        operator.put("/cart/products/72f49", &product(price)).await;
    }
    let received = || seen.lock().expect("no panic").clone();
    while received().len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let events = received();
    assert_eq!(events[0], events[1]);
    assert_eq!(events[0]["detail"]["data"]["previousPrice"], "12.49");
    assert_eq!(events[0].get("sequence"), None);
    stack.stop().await;
    server.abort();
}
