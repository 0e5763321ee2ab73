//! Input: each path parameter, query parameter and member of a body with each value of a list.
//!
//! The schemas of docs/openapi.yaml say which values a field accepts. A request with another value
//! gets 400 with a pointer to the field, and writes nothing.

use crate::{
    odd::{BODIES, FINER, INSTEAD, JSON, LARGE, PARTNERS, RUST, TEXTS, TYPES, UNPLAYED, UNREADABLE},
    stage::{Ask, Stage},
};
use jsonschema::Validator;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::{collections::BTreeSet, ops::Range};
use system_tests::{Answer, stride};

const KB: usize = 1024;

pub(crate) async fn check(stage: &mut Stage) {
    let limits = Limits::of(&stage.document.0);
    for row in stage.rows.clone() {
        let Some(ask) = stage.ask(&row) else { continue };
        let schema = stage.operation(&ask).body().cloned();
        let validator = schema.map(|schema| stage.validator(&schema));
        // Fields that exclude each other are in different variants of an event.
        let base = row.event.split('.').next().filter(|base| **base != row.event);
        let base = base.and_then(|base| stage.rows.iter().find(|row| row.event == base)).and_then(|row| stage.ask(row));
        let variants = stage.rows.iter().filter(|variant| variant.event.starts_with(&format!("{}.", row.event)));
        let variants: Vec<Ask> = variants.filter_map(|variant| stage.ask(variant)).collect();
        let is_own = |name: &str| match &base {
            Some(base) => ask.has(name) && !base.has(name),
            None => ask.has(name) || !variants.iter().any(|variant| variant.has(name)),
        };
        queries(stage, &row.event, &ask, &limits, &is_own).await;
        if let Some(validator) = &validator {
            let takes_a_key = stage.operation(&ask).parameters("header").contains("Idempotency-Key");
            let ask = if takes_a_key { ask.header("idempotency-key", "contract") } else { ask.clone() };
            let ask = ask.header("content-type", "application/json");
            members(stage, &row.event, &ask, (validator, &limits), &is_own).await;
        }
        if base.is_none() {
            paths(stage, &row.event, &ask, &limits).await;
            if validator.is_some() {
                forms(stage, &row.event, &ask).await;
            }
        }
    }
}

/// The pointers of the errors in a problem.
pub(crate) fn pointers(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    let mut pointers: Vec<_> = errors.map(|error| error["pointer"].as_str().unwrap_or_default().to_owned()).collect();
    pointers.sort();
    pointers.dedup();
    pointers
}

/// Values around the limits of all fields.
struct Limits {
    texts: Vec<String>,
    numbers: Vec<String>,
    /// Lengths of arrays that exceed a limit.
    too_many: Vec<usize>,
}

impl Limits {
    fn of(document: &Value) -> Self {
        let all = |names: &[&str]| {
            let mut found = BTreeSet::new();
            collect(document, names, &mut found);
            found
        };
        let numbers = all(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
        let numbers: BTreeSet<i64> = numbers.into_iter().flat_map(|limit| [limit - 1, limit, limit + 1]).collect();
        let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
        let length = |length: i64| usize::try_from(length).unwrap_or_default();
        let lengths = all(&["minLength", "maxLength"]).into_iter().flat_map(|limit| [limit, limit + 1]);
        let lengths = lengths.map(length).collect::<BTreeSet<_>>().into_iter().map(|length| "x".repeat(length));
        let texts = TEXTS.iter().map(|text| (*text).to_owned()).chain(numbers.iter().cloned()).chain(lengths);
        let too_many = all(&["maxItems"]).into_iter().map(|limit| length(limit + 1)).collect();
        Self { texts: texts.collect(), numbers, too_many }
    }
}

fn collect(schema: &Value, names: &[&str], found: &mut BTreeSet<i64>) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                found.extend(value.as_i64().filter(|_| names.contains(&name.as_str())));
                collect(value, names, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, names, found)),
        _ => {}
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Whether the field refuses a value that its schema accepts.
fn is_finer(stage: &Stage, event: &str, pointer: &str, value: &str) -> bool {
    let of = [event, stage.service.name].map(|name| format!("{name} {pointer}"));
    let is_field = |field: &str| field == pointer || of.iter().any(|of| field == of);
    FINER.iter().any(|(field, values)| is_field(field) && values.contains(&value))
}

/// Whether a field cannot be combined with another one.
fn is_instead(name: &str, other: &str) -> bool {
    INSTEAD.iter().any(|(field, others)| *field == name && others.contains(&other))
}

/// One of this number of values is sent, except the values at the limits of the field.
const STEP: usize = 5;

/// Chooses the values to send to a field, and returns their positions: all values before `odd`,
/// a part of the others, and the values at the limits of the field. The values after `odd` are
/// sorted by size, so that a limit lies between a valid and an invalid neighbour.
fn part(stage: &Stage, field: &str, odd: &Range<usize>, are_valid: &[bool]) -> Vec<usize> {
    let step = if stage.is_selective() { 1 } else { stride(STEP) };
    let first = field.bytes().map(usize::from).sum::<usize>();
    let differs = |number: usize, other: usize| are_valid.get(other).is_some_and(|other| *other != are_valid[number]);
    let is_limit = |number: usize| {
        number > odd.end && differs(number, number - 1) || number >= odd.end && differs(number, number + 1)
    };
    let is_sent = |number: &usize| *number < odd.start || (number + first).is_multiple_of(step) || is_limit(*number);
    (0..are_valid.len()).filter(is_sent).collect()
}

fn short(text: &str) -> String {
    if text.chars().count() > 60 { format!("of {} characters", text.chars().count()) } else { format!("{text:?}") }
}

/// Sends a request whose field has another value. Compares the response with the schema.
async fn send(stage: &mut Stage, case: &str, ask: &Ask, is_valid: bool, pointer: &str) {
    if !stage.plays(case) {
        return;
    }
    let answer = stage.send(case, ask).await;
    verify(stage, case, &answer, is_valid, pointer);
    if answer.status >= 300 {
        stage.unchanged(case);
    }
    stage.renew();
}

fn verify(stage: &mut Stage, case: &str, answer: &Answer, is_valid: bool, pointer: &str) {
    let found = pointers(&answer.body);
    let is_at =
        |found: &String| found.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let got = || format!("{} {} {}", answer.status, found.join(" "), answer.body["detail"]);
    let details = answer.body["errors"].as_array().into_iter().flatten().filter_map(|error| error["detail"].as_str());
    // The words after this are about the syntax.
    let details = details.map(|detail| detail.split(" valid JSON: ").next().unwrap_or_default());
    let of_rust = |detail: &&str| {
        RUST.iter().any(|word| detail.split(|sign: char| !sign.is_alphanumeric()).any(|part| part == *word))
    };
    if let Some(detail) = details.clone().find(of_rust) {
        stage.fault(case, "words of JSON", detail);
    }
    let length = answer.body.to_string().len();
    if answer.status == 400 && length >= 16 * KB {
        stage.fault(case, "a problem of less than 16 KB", length.to_string());
    }
    if is_valid {
        if answer.status >= 500 || answer.status == 400 && found.iter().any(is_at) {
            stage.fault(case, "no error of the field", got());
        }
    } else if answer.status != 400 || found.is_empty() || !found.iter().all(is_at) {
        stage.fault(case, format!("400 {pointer}"), got());
    }
}

async fn paths(stage: &mut Stage, event: &str, ask: &Ask, limits: &Limits) {
    for name in ask.parameters.keys() {
        let schema = stage.operation(ask).parameter("path", name)["schema"].clone();
        let validator = stage.validator(&schema);
        let pointer = format!("/path/{name}");
        let is_valid =
            |text: &String| !is_finer(stage, event, &pointer, text) && validator.is_valid(&Value::from(text.as_str()));
        let are_valid: Vec<bool> = limits.texts.iter().map(is_valid).collect();
        for number in part(stage, &format!("{event} {name}"), &(0..TEXTS.len()), &are_valid) {
            let text = &limits.texts[number];
            // A path without the segment belongs to another route.
            if !["", ".", ".."].contains(&text.as_str()) {
                let case = format!("{event} path {name} {}", short(text));
                send(stage, &case, &ask.with(name, &escaped(text)), are_valid[number], &pointer).await;
            }
        }
    }
}

async fn queries(stage: &mut Stage, event: &str, ask: &Ask, limits: &Limits, is_own: &impl Fn(&str) -> bool) {
    let names: Vec<String> = stage.operation(ask).parameters("query").into_iter().map(str::to_owned).collect();
    let pairs: Vec<&str> = ask.query.split('&').filter(|pair| !pair.is_empty()).collect();
    let is_period = names.iter().any(|name| name == "planId");
    let with = |name: &str, more: &str| {
        let is_kept = |other: &str| other != name && !(is_period && is_instead(name, other));
        let others = pairs.iter().filter(|pair| is_kept(pair.split('=').next().unwrap_or_default())).copied();
        let partner = PARTNERS.iter().find(|(field, _)| is_period && *field == name).map(|(_, partner)| *partner);
        ask.asking(others.chain([more]).chain(partner).collect::<Vec<_>>().join("&"))
    };
    for name in names.iter().filter(|name| *name != "cursor" && is_own(name)) {
        let schema = stage.operation(ask).parameter("query", name)["schema"].clone();
        let validator = stage.validator(&schema);
        let pointer = format!("/query/{name}");
        let is_valid = |text: &String| {
            !is_finer(stage, event, &pointer, text) && forms_of(text).iter().any(|value| validator.is_valid(value))
        };
        let are_valid: Vec<bool> = limits.texts.iter().map(is_valid).collect();
        for number in part(stage, &format!("{event} {name}"), &(0..TEXTS.len()), &are_valid) {
            let text = &limits.texts[number];
            let case = format!("{event} query {name} {}", short(text));
            send(stage, &case, &with(name, &format!("{name}={}", escaped(text))), are_valid[number], &pointer).await;
        }
        send(
            stage,
            &format!("{event} query {name} twice"),
            &with(name, &format!("{name}=1&{name}=1")),
            false,
            &pointer,
        )
        .await;
        let capital = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
        let unknown = with("", &format!("{capital}=5"));
        send(stage, &format!("{event} query {capital}"), &unknown, false, &format!("/query/{capital}")).await;
    }
    send(stage, &format!("{event} query page"), &with("", "page=2"), false, "/query/page").await;
}

/// The values that a text in a query can stand for.
fn forms_of(text: &str) -> Vec<Value> {
    let list: Value = text.split(',').collect::<Vec<_>>().into();
    // Numbers in queries may start with zeros.
    let digits = if text == "0" { text } else { text.trim_start_matches('0') };
    let scalar = serde_json::from_str::<Value>(digits).ok().filter(|value| value.is_number() || value.is_boolean());
    [Some(text.into()), Some(list), scalar].into_iter().flatten().collect()
}

/// The places of all members in a body, as pointers.
pub(crate) fn places(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                let at = format!("{at}/{name}");
                [vec![at.clone()], places(value, &at)].concat()
            })
            .collect(),
        Value::Array(values) => values.first().map(|first| places(first, &format!("{at}/0"))).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Stands for a value until the body is a text, because a number may not fit into JSON values.
const MARK: &str = "\u{1f}mark";

/// A member of a body.
struct Member<'a> {
    event: &'a str,
    ask: &'a Ask,
    body: &'a Value,
    pointer: &'a str,
    validator: &'a Validator,
}

impl Member<'_> {
    /// The pointer to the object or array with the member, and the name of the member.
    fn place(&self) -> (&str, &str) {
        self.pointer.rsplit_once('/').expect("a pointer")
    }

    /// The pointer in a problem.
    fn at(&self) -> String {
        format!("/body{}", self.pointer)
    }

    /// The body with another value of the member, as text.
    fn with(&self, value: &str) -> String {
        let (parent, name) = self.place();
        let mut body = self.body.clone();
        match body.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                members.retain(|other, _| !is_instead(name, other));
                members.insert(name.to_owned(), MARK.into());
            }
            Some(Value::Array(values)) => values[0] = MARK.into(),
            _ => {}
        }
        body.to_string().replace(&json!(MARK).to_string(), value)
    }

    fn accepts(&self, stage: &Stage, value: &str) -> bool {
        let body = serde_json::from_str::<Value>(&self.with(value));
        !is_finer(stage, self.event, &self.at(), value) && body.is_ok_and(|body| self.validator.is_valid(&body))
    }
}

async fn members(
    stage: &mut Stage,
    event: &str,
    ask: &Ask,
    (validator, limits): (&Validator, &Limits),
    is_own: &impl Fn(&str) -> bool,
) {
    let body = &if ask.body.is_some() { ask.json() } else { json!({}) };
    let mut pointers = places(body, "");
    let operation = stage.operation(ask);
    let optional = operation.members().into_iter().filter(|name| body[*name].is_null() && is_own(name));
    pointers.extend(optional.map(|name| format!("/{name}")));
    for pointer in pointers.iter().filter(|pointer| is_own(pointer.split('/').nth(1).unwrap_or_default())) {
        let member = Member { event, ask, body, pointer, validator };
        values(stage, &member, limits).await;
        missing_and_twice(stage, &member).await;
    }
    for (name, at) in [("unknown", "unknown"), ("a/b~c", "a~1b~0c"), ("", ""), ("PK", "PK"), ("version ", "version ")] {
        let mut more = body.clone();
        more[name] = 1.into();
        let case = format!("{event} body with {name:?}");
        send(stage, &case, &ask.saying(more.to_string()), false, &format!("/body/{at}")).await;
    }
}

/// Values of a member: of each type, odd ones, and those at its limits.
async fn values(stage: &mut Stage, member: &Member<'_>, limits: &Limits) {
    let Member { event, pointer, .. } = member;
    let texts = limits.texts.iter().map(|text| json!(text).to_string());
    let values = JSON.iter().map(|value| (*value).to_owned());
    let values: Vec<String> = values.chain(texts).chain(limits.numbers.iter().cloned()).collect();
    let are_valid: Vec<bool> = values.iter().map(|value| member.accepts(stage, value)).collect();
    let odd = JSON.len()..JSON.len() + TEXTS.len();
    let played = part(stage, &format!("{event} {pointer}"), &odd, &are_valid).into_iter();
    let played = played.map(|number| (values[number].clone(), are_valid[number]));
    // A short array of equal elements may be refused for another reason.
    let first = member.body.pointer(pointer).and_then(Value::as_array).and_then(|values| values.first());
    let arrays = first.into_iter().flat_map(|first| limits.too_many.iter().map(|many| vec![first.clone(); *many]));
    let arrays = arrays.map(|array| Value::from(array).to_string()).filter(|array| !member.accepts(stage, array));
    // A derived implementation accepts an array of the values of the fields.
    let object = member.body.pointer(pointer).and_then(Value::as_object).filter(|object| !object.is_empty());
    let fields = object.map(|object| Value::Array(object.values().cloned().collect()).to_string());
    let fields = fields.into_iter().filter(|fields| !member.accepts(stage, fields));
    let deeper = format!("{}1{}", "{\"a\":".repeat(3_600), "}".repeat(3_600));
    let unreadable = UNREADABLE.iter().map(|value| (*value).to_owned()).chain([deeper]);
    let invalid = arrays.chain(fields).chain(unreadable).map(|value| (value, false));
    for (value, is_valid) in played.chain(invalid).collect::<Vec<_>>() {
        if !(is_valid && UNPLAYED.contains(&(event, member.place().1))) {
            let case = format!("{event} body {pointer} {}", short(&value));
            send(stage, &case, &member.ask.saying(member.with(&value)), is_valid, &member.at()).await;
        }
    }
}

async fn missing_and_twice(stage: &mut Stage, member: &Member<'_>) {
    let Member { event, ask, body, pointer, validator } = member;
    let ((parent, name), at) = (member.place(), member.at());
    let mut without = (*body).clone();
    if let Some(Value::Object(members)) = without.pointer_mut(parent) {
        members.remove(name);
        let case = format!("{event} body {pointer} missing");
        let is_valid = validator.is_valid(&without);
        let schema = stage.operation(ask).body().expect("a schema");
        let fewest = stage.document.follow(schema)["minProperties"].as_u64().unwrap_or(1);
        let is_empty = without.as_object().is_some_and(|members| (members.len() as u64) < fewest);
        // Without its own member, a variant is another request.
        let is_other = event.contains('.') || is_empty && !is_valid;
        let at = if is_other && parent.is_empty() { "/body" } else { &at };
        send(stage, &case, &ask.saying(without.to_string()), is_valid, at).await;
    }
    if parent.is_empty() {
        let value = body[name].to_string();
        let twice = format!("{{{}:{value},{}", json!(name), &member.with(&value)[1..]);
        send(stage, &format!("{event} body {pointer} twice"), &ask.saying(twice), false, &at).await;
    }
}

/// Bodies that cannot be parsed, bodies that are too large, and other media types.
async fn forms(stage: &mut Stage, event: &str, ask: &Ask) {
    let good = if ask.body.is_some() { ask.json().to_string() } else { "{}".to_owned() };
    let unclosed = good.trim_end_matches('}').to_owned();
    let more = if good == "{}" { unclosed.clone() } else { format!("{unclosed},") };
    let ask = ask.header("content-type", "application/json").saying(good.clone());
    let is_needed = stage.operation(&ask).needs_body();
    let derived = [
        format!("{good}}}"),
        format!("{unclosed},}}"),
        format!("\u{feff}{good}"),
        format!("{more}\"more\": 01}}"),
        format!("{more}\"more\": NaN}}"),
        format!("{more}\"\\ud800\": 1}}"),
        format!("[{good}]"),
        "{'a': 1}".to_owned(),
        format!("[{}]", vec!["{}"; 20_000].join(",")),
    ];
    for body in BODIES.iter().map(|body| (*body).to_owned()).chain(derived) {
        let is_valid = body.is_empty() && !is_needed;
        send(stage, &format!("{event} body {}", short(&body)), &ask.saying(body), is_valid, "/body").await;
    }
    let unknown: Vec<String> = (0..4_000).map(|number| format!("\"unknown{number}\":1")).collect();
    for members in [unknown.join(","), format!("\"{}\":1", "x".repeat(60_000))] {
        let body = format!("{more}{members}}}");
        send(stage, &format!("{event} body {}", short(&body)), &ask.saying(body), false, "/body").await;
    }
    let mut bytes = good.clone().into_bytes();
    bytes.splice(1..1, *b"\"\xff\xfe\":1");
    send(stage, &format!("{event} body not UTF-8"), &ask.saying(bytes), false, "/body").await;
    send(stage, &format!("{event} body binary"), &ask.saying(vec![0; 100]), false, "/body").await;
    let bare = Ask { body: None, ..ask.clone() };
    send(stage, &format!("{event} without a body"), &bare, !is_needed, "/body").await;
    send(stage, &format!("{event} without a body and a type"), &bare.without("content-type"), !is_needed, "/body")
        .await;
    let spaces = |length: usize| format!("{good}{}", " ".repeat(length - good.len()));
    let most = LARGE.iter().find(|(large, _)| *large == event).map_or(64, |(_, kilobytes)| *kilobytes);
    let mut refusals = vec![
        ("the longest body".to_owned(), ask.saying(spaces(most * KB)), 0),
        ("a byte too many".to_owned(), ask.saying(spaces(most * KB + 1)), 413),
        ("1 MB".to_owned(), ask.saying("x".repeat(KB * KB)), 413),
        ("over 10 MB".to_owned(), ask.saying(" ".repeat(10 * KB * KB + 1)), 413),
        ("no type".to_owned(), ask.without("content-type"), 415),
        ("a charset".to_owned(), ask.header("content-type", "application/json; charset=utf-8"), 0),
    ];
    refusals.extend(TYPES.iter().map(|kind| (format!("type {kind:?}"), ask.header("content-type", kind), 415)));
    for (name, ask, status) in refusals {
        let case = format!("{event} with {name}");
        if stage.plays(&case) {
            let answer = stage.send(&case, &ask).await;
            let is_right = if status == 0 { answer.status < 300 } else { answer.status == status };
            if !is_right {
                stage.fault(
                    &case,
                    if status == 0 { "success".to_owned() } else { status.to_string() },
                    format!("{} {}", answer.status, answer.body),
                );
            }
            if status != 0 {
                stage.unchanged(&case);
            }
            stage.renew();
        }
    }
}
