//! `local demo`: calls every access pattern, and prints the key conditions and consumed units.
mod bank;
mod cart;
mod ledger;
mod wellness;

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use function::Declared;
use http::StatusCode;
use itertools::Itertools;
use serde_json::Value;
use tokio::time::sleep;

use super::{CliError, StackOptions};
use crate::{
    Stack,
    client::{Call, Client, Consumed, Reply, summary},
    domains,
    events::Events,
    gateway::Routes,
    sample,
    template::Template,
};

const LONGEST_ANSWER: usize = 24;
const MAX_CONDITIONS: usize = 5;

const STREAMS: &str = "/_local/streams";
const FUNCTIONS: &str = "/_local/functions/";
const MAX_LOOKS: usize = 400;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn demo(options: &StackOptions) -> Result<(), CliError> {
    // Without a batching window, the export delivers records immediately.
    let stack =
        options.builder().parameter("ExportWindowSeconds", "0").parameter("ErasureQuietSeconds", "0").start().await?;
    let walked = walk(&stack, options.events()).await;
    stack.stop().await;
    walked
}

async fn walk(stack: &Stack, events: Events) -> Result<(), CliError> {
    let client = Client::new(stack.url())?.with_token(stack.operator_token()?);
    let loaded = sample::load(&client, stack).await.map_err(|error| CliError::Failed(error.to_string()))?;
    let inbox = stack.inbox().map(|bucket| format!("{}/{bucket}", stack.services_url()));
    let guide = Guide { inbox, ..Guide::new(client, stack.template(), events) };
    let books = loaded.books.as_ref();
    let books = books.ok_or_else(|| CliError::Failed("the demo needs the stack ledger".to_owned()))?;
    guide.bank(books).await?;
    guide.cart().await?;
    guide.wellness().await?;
    guide.ledger(books).await?;
    guide.remaining_reads().await?;
    let missing = guide.missing();
    check(missing.is_empty(), &format!("the demo must call {}", missing.join(", ")))?;
    println!("Every access pattern returned the expected response.");
    Ok(())
}

/// Call of the demo with its expected status.
struct Step {
    what: &'static str,
    call: Call,
    status: StatusCode,
}

struct Guide {
    client: Client,
    routes: Routes,
    patterns: Vec<Declared>,
    events: Events,
    /// URL of the bucket for files to import.
    inbox: Option<String>,
    /// The functions that were called.
    shown: Mutex<BTreeSet<&'static str>>,
}

impl Guide {
    fn new(client: Client, template: &Template, events: Events) -> Self {
        let patterns = domains().into_iter().flat_map(|domain| domain.patterns).collect();
        let routes = Routes::of(template);
        Self { client, routes, patterns, events, inbox: None, shown: Mutex::default() }
    }

    /// Returns the number of the access pattern of a call, and marks the pattern as called.
    fn show(&self, call: &Call) -> Result<&'static str, CliError> {
        let path = call.path.split('?').next().unwrap_or_default();
        let invoked = path.strip_prefix(FUNCTIONS).and_then(|rest| rest.strip_suffix("/invocations"));
        let routed = || self.routes.find(call.method.as_str(), path).map(|found| found.target.function.as_str());
        self.show_function(invoked.or_else(routed).unwrap_or(path))
    }

    fn show_function(&self, function: &str) -> Result<&'static str, CliError> {
        let pattern = self.patterns.iter().find(|pattern| pattern.name == function);
        let pattern = pattern.ok_or_else(|| CliError::Failed(format!("{function} has no access pattern")))?;
        self.shown().insert(pattern.name);
        Ok(pattern.id)
    }

    /// Calls the remaining access patterns with GET routes. The requests come from the sample
    /// events in `events/`.
    async fn remaining_reads(&self) -> Result<(), CliError> {
        for name in self.missing() {
            let is_read = |pattern: &&Declared| pattern.routes().iter().any(|route| route.method == "GET");
            if !self.patterns.iter().filter(is_read).any(|pattern| pattern.name == name) {
                continue;
            }
            let event = self.events.event(name)?;
            let query = event["rawQueryString"].as_str().filter(|query| !query.is_empty());
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            let path = format!("{}{query}", event["rawPath"].as_str().unwrap_or_default());
            self.get("Request from the sample event", &path).await?;
        }
        Ok(())
    }

    /// Returns the functions that have not been called.
    fn missing(&self) -> Vec<&'static str> {
        let shown = self.shown();
        self.patterns.iter().map(|pattern| pattern.name).filter(|name| !shown.contains(name)).collect()
    }

    fn shown(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn get(&self, what: &'static str, path: &str) -> Result<Reply, CliError> {
        self.step(Step { what, call: Call::get(path), status: StatusCode::OK }).await
    }

    async fn post(&self, what: &'static str, path: &str, body: Value) -> Result<Reply, CliError> {
        self.step(Step { what, call: Call::post(path, body), status: StatusCode::CREATED }).await
    }

    async fn patch(&self, what: &'static str, path: &str, body: Value) -> Result<Reply, CliError> {
        self.step(Step { what, call: Call::patch(path, body), status: StatusCode::OK }).await
    }

    async fn put(&self, what: &'static str, path: &str, body: Value) -> Result<Reply, CliError> {
        self.step(Step { what, call: Call::put(path, body), status: StatusCode::CREATED }).await
    }

    async fn step(&self, step: Step) -> Result<Reply, CliError> {
        let pattern = self.show(&step.call)?;
        let reply = self.client.send(&step.call).await?;
        print(pattern, &step, &reply);
        check(reply.status == step.status, &format!("{pattern} must return {}", step.status))?;
        Ok(reply)
    }

    /// Stores an object in the inbox. Its event invokes the function.
    async fn upload(&self, key: &str, content: String, function: &str) -> Result<(), CliError> {
        let failed = |reason: String| CliError::Failed(format!("PUT {key}: {reason}"));
        let inbox = self.inbox.as_ref().ok_or_else(|| failed("the stack has no inbox".to_owned()))?;
        let http = reqwest::Client::builder().no_proxy().build().map_err(|error| failed(error.to_string()))?;
        let sent = http.put(format!("{inbox}/{key}")).body(content).send().await;
        let status = sent.map_err(|error| failed(error.to_string()))?.status();
        println!("{} Upload a file to the inbox bucket\n  PUT {key}\n  {status}\n", self.show_function(function)?);
        check(status == StatusCode::OK, "the object must be stored")
    }

    /// Uploads the content as a presigned request says. The event of the object invokes the
    /// function.
    async fn send_upload(&self, upload: &Value, content: &'static str, function: &str) -> Result<(), CliError> {
        let failed = |reason: String| CliError::Failed(format!("PUT a file: {reason}"));
        let http = reqwest::Client::builder().no_proxy().build().map_err(|error| failed(error.to_string()))?;
        let mut put = http.put(text(upload, "url"));
        for (name, value) in upload["headers"].as_object().into_iter().flatten() {
            put = put.header(name, value.as_str().unwrap_or_default());
        }
        let sent = put.body(content).send().await;
        let status = sent.map_err(|error| failed(error.to_string()))?.status();
        println!("{} Upload the file by its presigned URL\n  PUT\n  {status}\n", self.show_function(function)?);
        check(status == StatusCode::OK, "the file must be stored")
    }

    /// Polls until the response satisfies the condition, for at most 20 seconds. Prints nothing.
    async fn wait(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Result<(), CliError> {
        for _ in 0..MAX_LOOKS {
            if is_so(&self.client.send(&Call::get(path)).await?.body) {
                break;
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Waits until no stream records of the function are pending. Then prints the state of the
    /// function's event source mapping, and checks that no batch has failed.
    async fn handed_on(&self, what: &'static str, function: &'static str) -> Result<(), CliError> {
        self.wait(STREAMS, |streams| mapping(streams, function)["pending"] == 0).await?;
        let pattern = self.show_function(function)?;
        let step = Step { what, call: Call::get(STREAMS), status: StatusCode::OK };
        let mut reply = self.client.send(&step.call).await?;
        reply.body = mapping(&reply.body, function);
        print(pattern, &step, &reply);
        check(
            reply.body["pending"] == 0 && reply.body["failedBatches"] == 0,
            "no record must be pending, and no batch must have failed",
        )
    }
}

fn print(pattern: &str, step: &Step, reply: &Reply) {
    println!("{pattern} {}", step.what);
    println!("  {} {}", step.call.method, step.call.path);
    if let Some(body) = &step.call.body {
        println!("  {body}");
    }
    for line in conditions(&reply.consumed) {
        println!("  {line}");
    }
    println!("  {}", reply.status);
    if reply.status != StatusCode::NO_CONTENT {
        for line in shortened(&reply.body) {
            println!("    {line}");
        }
    }
    for line in summary(&reply.consumed) {
        println!("  {line}");
    }
    println!();
}

/// Returns the DynamoDB calls with their key conditions, without duplicates.
fn conditions(consumed: &[Consumed]) -> Vec<String> {
    let calls = consumed.iter().map(|row| {
        let index = row.index.as_ref().map(|index| format!(" {index}")).unwrap_or_default();
        let condition = row.condition.as_ref().map(|condition| format!(": {condition}")).unwrap_or_default();
        format!("{} {}{index}{condition}", row.action, row.table)
    });
    let lines: Vec<_> = calls.unique().collect();
    with_rest(lines, MAX_CONDITIONS)
}

fn shortened(body: &Value) -> Vec<String> {
    with_rest(format!("{body:#}").lines().map(str::to_owned).collect(), LONGEST_ANSWER)
}

fn with_rest(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let rest = lines.len().saturating_sub(most);
    if rest > 0 {
        lines.truncate(most);
        lines.push(format!("… {rest} more"));
    }
    lines
}

/// Returns the progress of a function's mapping, or null if the function has no mapping.
fn mapping(streams: &Value, function: &str) -> Value {
    let mut mappings = streams["mappings"].as_array().into_iter().flatten();
    mappings.find(|mapping| mapping["function"] == function).cloned().unwrap_or_default()
}

fn check(holds: bool, what: &str) -> Result<(), CliError> {
    if holds { Ok(()) } else { Err(CliError::Failed(format!("the demo failed: {what}"))) }
}

/// Returns a text field of the response, or an empty text if the field is missing.
fn text(json: &Value, member: &str) -> String {
    json[member].as_str().unwrap_or_default().to_owned()
}
