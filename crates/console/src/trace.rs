//! A recorded invocation: its cause, its calls, the items that they wrote, and their units.
use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use axum::body::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::tables::Tables;
use super::{
    heat::Heated,
    recorder::{Finished, RawCall},
    tables::entry_key,
};
use crate::{
    Query,
    calls::{is_read, replaced, text, units_of},
};
use engine::store::{Position, Store};
use hostile::Injected;

/// The trigger of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Trigger {
    Http,
    Stream,
    Schedule,
    Objects,
    Event,
    /// A call of another program to the DynamoDB port.
    Port,
}

/// The status of a function that failed.
const FAILED: &str = "failed";
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 200;

/// The trigger of an invocation, with the title of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    trigger: Trigger,
    title: String,
}

/// A recorded invocation.
pub(crate) struct Trace {
    pub(super) number: u64,
    function: String,
    cause: Cause,
    at: Timestamp,
    micros: u64,
    status: Option<u16>,
    error: Option<String>,
    retries: u64,
    event: Value,
    answer: Value,
    /// The event and the answer, if they were too large to be kept.
    omitted: Vec<&'static str>,
    /// The faults of the event.
    faults: Vec<Injected>,
    pub(super) calls: Vec<Call>,
    pub(super) bytes: usize,
    units: Heated,
    /// The seconds in which it wrote an item, by the hash of the item's key.
    wrote: HashMap<u64, Vec<[i64; 2]>>,
    /// The stream records that it received.
    received: Vec<Record>,
    /// The units of each partition key, until they are counted.
    pub(super) heat: Vec<(i64, String, String, Heated)>,
}

/// A line of the list of traces.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    number: u64,
    function: String,
    trigger: Trigger,
    title: String,
    at: i64,
    micros: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    calls: usize,
    read: f64,
    write: f64,
    retries: u64,
    /// Number of injected faults.
    #[serde(skip_serializing_if = "is_zero")]
    injected: usize,
}

/// A call of an invocation.
pub(super) struct Call {
    action: String,
    path: String,
    at: u64,
    micros: u64,
    status: Option<u16>,
    request: Bytes,
    response: Bytes,
    is_cut: bool,
    faults: Vec<Injected>,
}

/// An item that a call wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) table: String,
    pub(super) key: Value,
    /// The whole item, if the request contains it.
    pub(super) item: Option<Value>,
}

/// A write of an item.
pub(super) struct Write {
    pub(super) item: Written,
    /// The seconds in which the call began and ended.
    pub(super) seconds: [i64; 2],
    /// Number of earlier writes of the item by the same invocation in the same seconds.
    pub(super) earlier: usize,
    /// The number of its call.
    call: usize,
}

/// A stream record.
struct Record {
    /// Hash of the key of the item.
    item: u64,
    /// The second of the change.
    second: i64,
    /// Position in the stream.
    number: i64,
}

/// The traces that the page lists.
pub(super) struct Filter {
    text: String,
    functions: Vec<String>,
    method: String,
    status: String,
    units: f64,
}

impl Filter {
    pub(super) fn of(query: &Query) -> Self {
        Self {
            text: query.text("q"),
            functions: query.text("function").split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            method: query.text("method"),
            status: query.text("status"),
            units: query.text("units").parse().unwrap_or_default(),
        }
    }

    /// Whether the filter selects a trace. The search for a text takes the most time.
    pub(super) fn has(&self, trace: &Trace) -> bool {
        let status = trace.status.map(|status| status.to_string()).unwrap_or_default();
        (self.functions.is_empty() || self.functions.contains(&trace.function))
            && (self.method.is_empty() || trace.method() == self.method)
            && (if self.status == FAILED { trace.error.is_some() } else { status.starts_with(&self.status) })
            && trace.units.read + trace.units.write >= self.units
            && (self.text.is_empty() || trace.has(&self.text))
    }
}

impl Written {
    pub(super) fn hash(&self) -> u64 {
        hash_of(&self.table, &self.key)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_zero(faults: &usize) -> bool {
    *faults == 0
}

fn hash_of(table: &str, key: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    (table, text(&key["PK"]), text(&key["SK"])).hash(&mut hasher);
    hasher.finish()
}

impl Trace {
    pub(super) fn digest(finished: Finished, store: &Store) -> Self {
        let Finished { function, event, cause, answer, at, micros, retries, calls, faults } = finished;
        let calls: Vec<Call> = calls.into_iter().map(RawCall::digest).collect();
        let parts = [("event", event.is_none()), ("answer", matches!(answer, Ok(None)))];
        let omitted = parts.into_iter().filter(|(_, is_omitted)| *is_omitted).map(|(part, _)| part).collect();
        let event = event.unwrap_or_default();
        let (answer, error) = match answer {
            Ok(answer) => (answer.unwrap_or_default(), None),
            Err(error) => (Value::Null, Some(error)),
        };
        let bodies = [&event, &answer].map(|body| 2 * crate::length(body)).into_iter().sum::<usize>();
        let mut trace = Self {
            number: 0,
            at,
            micros,
            status: match cause.trigger {
                Trigger::Port => calls.first().and_then(|call| call.status),
                _ => answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()),
            },
            error,
            retries,
            bytes: calls.iter().map(Call::size).sum::<usize>() + bodies,
            units: Heated::default(),
            wrote: HashMap::new(),
            received: received(&event),
            heat: Vec::new(),
            cause,
            function,
            event,
            answer,
            omitted,
            faults,
            calls,
        };
        for call in &trace.calls {
            let second = at.as_second() + i64::try_from(call.at / 1_000_000).unwrap_or_default();
            let (request, response) = (call.request(), call.response());
            let written = if call.is_done() { written(&call.action, &request) } else { Vec::new() };
            for item in &written {
                trace.wrote.entry(item.hash()).or_default().push(call.seconds(at));
            }
            for units in heat_of(&call.action, &response).values() {
                trace.units.add(*units);
            }
            let heat = heat(&call.action, &request, &response, &written, store);
            trace.heat.extend(heat.into_iter().map(|(place, key, units)| (second, place, key, units)));
        }
        trace
    }

    pub(super) fn summary(&self) -> Summary {
        Summary {
            number: self.number,
            function: self.function.clone(),
            trigger: self.cause.trigger,
            title: self.cause.title.clone(),
            at: self.at.as_millisecond(),
            micros: self.micros,
            status: self.status,
            error: self.error.clone(),
            calls: self.calls.len(),
            read: self.units.read,
            write: self.units.write,
            retries: self.retries,
            injected: self.faults.len() + self.calls.iter().map(|call| call.faults.len()).sum::<usize>(),
        }
    }

    /// Whether a text occurs in the event, the answer or a call.
    pub(super) fn has(&self, text: &str) -> bool {
        // The search for a text is linear, and that for a slice of bytes is not.
        let is_in = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
        self.cause.title.contains(text)
            || self.function.contains(text)
            || self.calls.iter().any(|call| is_in(&call.request) || is_in(&call.response) || call.path.contains(text))
            || self.event.to_string().contains(text)
            || self.answer.to_string().contains(text)
    }

    /// Whether this invocation received a stream record of an item, from a second in which the
    /// other one wrote the item. An invocation can end later than the function that its change has
    /// triggered.
    pub(super) fn follows(&self, other: &Self) -> bool {
        let is_of = |record: &Record, [from, to]: &[i64; 2]| (*from..=*to).contains(&record.second);
        let has_written =
            |record: &Record| other.wrote.get(&record.item).is_some_and(|all| all.iter().any(|one| is_of(record, one)));
        self.number != other.number && self.received.iter().any(has_written)
    }

    /// The positions of the received records of an item.
    pub(super) fn numbers(&self, item: &Written) -> Vec<i64> {
        let item = item.hash();
        self.received.iter().filter(|record| record.item == item).map(|record| record.number).collect()
    }

    /// The method of a request.
    fn method(&self) -> &str {
        let is_request = self.cause.trigger == Trigger::Http;
        self.cause.title.split(' ').next().filter(|_| is_request).unwrap_or_default()
    }

    /// The number of times that this invocation wrote the item of a write in the same seconds.
    pub(super) fn count(&self, Write { item, seconds: [from, to], .. }: &Write) -> usize {
        let of_item = self.wrote.get(&item.hash()).into_iter().flatten();
        of_item.filter(|[first, last]| first <= to && last >= from).count()
    }

    /// The writes of all successful calls.
    pub(super) fn writes(&self) -> Vec<Write> {
        let mut writes: Vec<Write> = Vec::new();
        for (number, call) in self.calls.iter().enumerate().filter(|(_, call)| call.is_done()) {
            let seconds = call.seconds(self.at);
            for item in written(&call.action, &call.request()) {
                let is_earlier = |other: &&Write| {
                    (&other.item.table, &other.item.key) == (&item.table, &item.key) && other.seconds[1] >= seconds[0]
                };
                let earlier = writes.iter().filter(is_earlier).count();
                writes.push(Write { item, seconds, earlier, call: number });
            }
        }
        writes
    }

    /// Returns all details. `change` returns the old and the new image of a written item.
    pub(super) fn detail(&self, change: impl Fn(&Write) -> Option<Value>) -> Value {
        let writes = self.writes();
        let shown = |write: &Write| {
            let Written { table, key, item } = &write.item;
            change(write).unwrap_or_else(|| json!({"table": table, "key": key, "new": item, "isKnown": false}))
        };
        let of_call =
            |number: usize| writes.iter().filter(move |write| write.call == number).map(shown).collect::<Vec<_>>();
        let calls: Vec<Value> =
            self.calls.iter().enumerate().map(|(number, call)| call.detail(&of_call(number))).collect();
        let mut detail = json!(self.summary());
        detail["calls"] = calls.into();
        detail["faults"] = json!(self.faults);
        detail["omitted"] = json!(self.omitted);
        detail["event"] = self.event.clone();
        detail["answer"] = self.answer.clone();
        detail
    }
}

impl Cause {
    /// A call of another program to the DynamoDB port.
    pub(super) fn of_port(action: &str) -> Self {
        Self { trigger: Trigger::Port, title: format!("{action} through the DynamoDB port") }
    }

    /// Returns the cause of an invocation. An event can be any JSON.
    pub(super) fn of(event: &Value) -> Self {
        let (trigger, title) = cause(event);
        Self { trigger, title: title.chars().take(MAX_TITLE).collect() }
    }
}

fn cause(event: &Value) -> (Trigger, String) {
    let http = &event["requestContext"]["http"];
    if let (Some(method), Some(path)) = (http["method"].as_str(), event["rawPath"].as_str()) {
        let query = event["rawQueryString"].as_str().filter(|query| !query.is_empty());
        return (
            Trigger::Http,
            format!("{method} {path}{}", query.map(|query| format!("?{query}")).unwrap_or_default()),
        );
    }
    if let Some(records) = event["Records"].as_array() {
        let first = records.first().unwrap_or(&Value::Null);
        let count = records.len();
        let plural = if count == 1 { "" } else { "s" };
        if let Some(table) = table_of(first) {
            return (Trigger::Stream, format!("{count} record{plural} of {table}"));
        }
        if let Some(key) = first["s3"]["object"]["key"].as_str() {
            return (Trigger::Objects, format!("object {key}"));
        }
        return (Trigger::Event, format!("{count} record{plural}"));
    }
    match event["detail-type"].as_str() {
        Some(_) => (Trigger::Schedule, format!("schedule, {}", event["time"].as_str().unwrap_or_default())),
        None => (Trigger::Event, "event".to_owned()),
    }
}

/// The table of a stream record.
fn table_of(record: &Value) -> Option<&str> {
    record["eventSourceARN"].as_str()?.split(":table/").nth(1)?.split('/').next()
}

fn received(event: &Value) -> Vec<Record> {
    let records = event["Records"].as_array().into_iter().flatten();
    let read = |record: &Value| {
        let change = &record["dynamodb"];
        Some(Record {
            item: hash_of(table_of(record)?, &change["Keys"]),
            second: change["ApproximateCreationDateTime"].as_i64()?,
            number: Position::of(record)?.into(),
        })
    };
    records.filter_map(read).collect()
}

/// Returns the items that a successful call wrote.
fn written(action: &str, request: &Value) -> Vec<Written> {
    let one = |table: &str, call: &Value| {
        let item = call.get("Item").cloned();
        let source = item.as_ref().unwrap_or(&call["Key"]);
        let key = json!({"PK": source["PK"], "SK": source["SK"]});
        Written { table: table.to_owned(), key, item }
    };
    let table = |call: &Value| call["TableName"].as_str().unwrap_or_default().to_owned();
    match action {
        "PutItem" | "UpdateItem" | "DeleteItem" => vec![one(&table(request), request)],
        "TransactWriteItems" => {
            let parts = request["TransactItems"].as_array().into_iter().flatten();
            let parts = parts.filter_map(Value::as_object).flatten();
            parts.filter(|(kind, _)| *kind != "ConditionCheck").map(|(_, call)| one(&table(call), call)).collect()
        }
        "BatchWriteItem" => {
            let tables = request["RequestItems"].as_object().into_iter().flatten();
            let calls = tables.flat_map(|(table, calls)| {
                let calls = calls.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
                calls.map(move |(_, call)| one(table, call))
            });
            calls.collect()
        }
        "ExecuteStatement" => by_statement(request).into_iter().collect(),
        "BatchExecuteStatement" | "ExecuteTransaction" => {
            let statements = request["Statements"].as_array().or(request["TransactStatements"].as_array());
            statements.into_iter().flatten().filter_map(by_statement).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the item that a `PartiQL` statement writes, if it names the keys by texts or parameters.
fn by_statement(call: &Value) -> Option<Written> {
    let statement = call["Statement"].as_str()?;
    let is_any = |word: &str, of: [&str; 3]| of.iter().any(|one| word.eq_ignore_ascii_case(one));
    let mut words = statement.split_whitespace();
    let _ = words.next().filter(|word| is_any(word, ["INSERT", "UPDATE", "DELETE"]))?;
    let table = words.find(|word| !is_any(word, ["INTO", "FROM", ""]))?.trim_matches('"').to_owned();
    let value = |name: &str| {
        let is_name = |(at, _): &(usize, &str)| !statement[..*at].ends_with(char::is_alphanumeric);
        let (at, _) = statement.match_indices(name).find(is_name)?;
        let (before, after) = statement.split_at(at);
        let value = after[name.len()..].trim_start_matches(['"', '\'', ' ', '=', ':']);
        if value.starts_with('?') {
            return call["Parameters"].get(before.matches('?').count()).cloned();
        }
        Some(json!({"S": value.split('\'').next()?}))
    };
    let key = json!({"PK": value("PK")?, "SK": value("SK")?});
    Some(Written { table, key, item: None })
}

/// Returns the units of each partition key. A transaction reports its units for each table, so they
/// are divided equally among its items.
fn heat(
    action: &str,
    request: &Value,
    response: &Value,
    written: &[Written],
    store: &Store,
) -> Vec<(String, String, Heated)> {
    let mut heat = Vec::new();
    for (place, units) in heat_of(action, response) {
        let (table, index) =
            place.split_once('/').map_or((place.as_str(), None), |(table, index)| (table, Some(index)));
        let keys = if written.is_empty() {
            read_keys(request, table)
        } else {
            let of_table = written.iter().filter(|written| written.table == table);
            of_table.filter_map(|written| key_in(written, index, store)).collect()
        };
        let share = f64::from(u32::try_from(keys.len().max(1)).unwrap_or(u32::MAX));
        let units = Heated { read: units.read / share, write: units.write / share };
        heat.extend(keys.into_iter().map(|key| (place.clone(), key, units)));
    }
    heat
}

/// The partition key of a written item in the table or in an index.
fn key_in(written: &Written, index: Option<&str>, store: &Store) -> Option<String> {
    let Some(index) = index else { return Some(text(&written.key["PK"])) };
    let attribute = entry_key(store, &written.table, index)?.0;
    let of_item = written.item.as_ref().map(|item| item[&attribute].clone());
    let stored =
        || Tables(store).item(&written.table, &text(&written.key["PK"]), &text(&written.key["SK"])).ok().flatten();
    let value = of_item.or_else(|| stored().map(|item| item[&attribute].clone()))?;
    value["S"].as_str().map(str::to_owned)
}

/// The partition keys that a call reads.
fn read_keys(request: &Value, table: &str) -> Vec<String> {
    if let Some(condition) = request["KeyConditionExpression"].as_str() {
        let value = condition.split_whitespace().find(|word| word.starts_with(':'));
        let value = value.map(|name| text(&request["ExpressionAttributeValues"][name]));
        return value.into_iter().collect();
    }
    if let Some(keys) = request["RequestItems"][table]["Keys"].as_array() {
        return keys.iter().map(|key| text(&key["PK"])).collect();
    }
    request.get("Key").map(|key| text(&key["PK"])).into_iter().collect()
}

/// Returns the consumed units of each table and index.
fn heat_of(action: &str, response: &Value) -> BTreeMap<String, Heated> {
    let (read, write) = if is_read(action) { (1.0, 0.0) } else { (0.0, 1.0) };
    let heated = |units| Heated { read: units * read, write: units * write };
    units_of(response).into_iter().map(|(place, units)| (place, heated(units))).collect()
}

impl Call {
    pub(super) fn of(raw: RawCall) -> Self {
        let RawCall { target, path, at, micros, status, request, response, is_cut, faults } = raw;
        let action = target.split_once('.').map_or("", |(_, action)| action).to_owned();
        Self { action, path, at, micros, status, request, response, is_cut, faults }
    }

    fn size(&self) -> usize {
        self.request.len() + self.response.len()
    }

    fn is_done(&self) -> bool {
        self.status == Some(200)
    }

    fn request(&self) -> Value {
        serde_json::from_slice(&self.request).unwrap_or_default()
    }

    fn response(&self) -> Value {
        serde_json::from_slice(&self.response).unwrap_or_default()
    }

    fn units(&self) -> BTreeMap<String, Heated> {
        heat_of(&self.action, &self.response())
    }

    /// The seconds in which the call of an invocation began and ended.
    fn seconds(&self, start: Timestamp) -> [i64; 2] {
        [self.at, self.at + self.micros].map(|micros| (start + Duration::from_micros(micros)).as_second())
    }

    fn detail(&self, changes: &[Value]) -> Value {
        let (request, response) = (self.request(), self.response());
        let units: Vec<Value> = self
            .units()
            .into_iter()
            .map(|(place, units)| json!({"place": place, "read": units.read, "write": units.write}))
            .collect();
        json!({
            "action": if self.action.is_empty() { self.path.clone() } else { self.action.clone() },
            "at": self.at,
            "micros": self.micros,
            "status": self.status,
            "error": error(&response),
            "table": tables(&request),
            "index": request["IndexName"],
            "condition": condition(&request),
            "returned": returned(&response),
            "isCut": self.is_cut,
            "scanned": response["ScannedCount"],
            "units": units,
            "changes": changes,
            "faults": self.faults,
            "request": request,
            "response": response,
        })
    }
}

fn tables(request: &Value) -> String {
    let mut tables: Vec<&str> = request["TableName"].as_str().into_iter().collect();
    tables.extend(request["RequestItems"].as_object().into_iter().flatten().map(|(table, _)| table.as_str()));
    for part in request["TransactItems"].as_array().into_iter().flatten().filter_map(Value::as_object).flatten() {
        tables.extend(part.1["TableName"].as_str());
    }
    tables.sort_unstable();
    tables.dedup();
    tables.join(", ")
}

/// The error type, and the codes of a cancelled transaction.
fn error(response: &Value) -> Value {
    let Some(kind) = response["__type"].as_str() else { return Value::Null };
    let kind = kind.rsplit('#').next().unwrap_or(kind);
    let reasons = response["CancellationReasons"].as_array().into_iter().flatten();
    let codes: Vec<&str> = reasons.filter_map(|reason| reason["Code"].as_str()).collect();
    if codes.is_empty() { json!(kind) } else { json!(format!("{kind}: {}", codes.join(", "))) }
}

/// The number of items in a response.
fn returned(response: &Value) -> Value {
    if let Some(items) = response["Items"].as_array() {
        return json!(items.len());
    }
    if let Some(tables) = response["Responses"].as_object() {
        return json!(tables.values().filter_map(Value::as_array).map(Vec::len).sum::<usize>());
    }
    response.get("Item").map_or(Value::Null, |_| json!(1))
}

/// The key condition with its names and values, or the key.
fn condition(request: &Value) -> Value {
    if let Some(condition) = request["KeyConditionExpression"].as_str() {
        return json!(replaced(condition, request, '\''));
    }
    let key_of = |key: &Value| format!("PK = {}, SK = {}", text(&key["PK"]), text(&key["SK"]));
    let batches = request["RequestItems"].as_object().into_iter().flatten();
    let keys: Vec<String> =
        batches.flat_map(|(_, batch)| batch["Keys"].as_array().into_iter().flatten()).map(key_of).collect();
    if !keys.is_empty() {
        return json!(keys.join("\n"));
    }
    match (request.get("Key"), request.get("Item")) {
        (Some(key), _) | (None, Some(key)) => json!(key_of(key)),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_shows_its_names_and_values() {
        let request = json!({
            "KeyConditionExpression": "#1 = :1 AND begins_with(#10, :10)",
            "ExpressionAttributeNames": {"#1": "PK", "#10": "SK"},
            "ExpressionAttributeValues": {":1": {"S": "A:10"}, ":10": {"S": "B#1"}},
        });
        assert_eq!(condition(&request), json!("PK = 'A:10' AND begins_with(SK, 'B#1')"));
    }

    #[test]
    fn finds_the_items_of_every_kind_of_write() {
        let key = json!({"PK": {"S": "A"}, "SK": {"S": "B"}});
        let put = json!({"TableName": "T", "Item": {"PK": {"S": "A"}, "SK": {"S": "B"}, "X": {"N": "1"}}});
        let update = json!({"TableName": "T", "Key": key});
        let transaction = json!({"TransactItems": [{"Put": put}, {"ConditionCheck": update}, {"Update": update}]});
        let batch =
            json!({"RequestItems": {"T": [{"PutRequest": {"Item": put["Item"]}}, {"DeleteRequest": {"Key": key}}]}});
        let statement = json!({"Statement": "UPDATE \"T\" SET X = ? WHERE PK = ? AND SK = 'B'", "Parameters": [{"N": "1"}, {"S": "A"}]});
        let insert =
            json!({"Statement": "INSERT INTO T VALUE {'GSI1PK': 'X', 'PK': 'A', 'SK': ?}", "Parameters": [{"S": "B"}]});
        let statements = json!({"Statements": [insert, {"Statement": "SELECT * FROM T WHERE PK = 'A'"}]});
        for (action, request, count) in [
            ("ExecuteStatement", &statement, 1),
            ("BatchExecuteStatement", &statements, 1),
            ("PutItem", &put, 1),
            ("UpdateItem", &update, 1),
            ("TransactWriteItems", &transaction, 2),
            ("BatchWriteItem", &batch, 2),
            ("Query", &update, 0),
        ] {
            let written = written(action, request);
            assert_eq!(written.len(), count, "{action}");
            assert!(written.iter().all(|written| written.table == "T" && written.key == key), "{action}");
        }
    }

    #[test]
    fn units_are_those_of_each_table_and_index() {
        let response = json!({"ConsumedCapacity": {
            "TableName": "T", "CapacityUnits": 3.0, "Table": {"CapacityUnits": 1.0},
            "GlobalSecondaryIndexes": {"GSI1": {"CapacityUnits": 2.0}},
        }});
        let units = heat_of("PutItem", &response);
        assert_eq!(units["T"], Heated { read: 0.0, write: 1.0 });
        assert_eq!(units["T/GSI1"], Heated { read: 0.0, write: 2.0 });
    }
}
