//! `local demo`: calls every access pattern once, and prints its key condition and consumed units.
mod bank;
mod cart;
mod ledger;
mod wellness;

use std::time::Duration;

use http::StatusCode;
use itertools::Itertools;
use serde_json::Value;
use tokio::time::sleep;

use super::{CliError, StackOptions};
use crate::{
    Stack,
    client::{Call, Client, Consumed, Reply, summary},
    sample,
};

const LONGEST_ANSWER: usize = 24;
const MAX_CONDITIONS: usize = 5;

const STREAMS: &str = "/_local/streams";
const MAX_LOOKS: usize = 400;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn demo(options: &StackOptions) -> Result<(), CliError> {
    // The demo does not wait for the batching window.
    let stack = options.builder().parameter("ExportWindowSeconds", "0").start().await?;
    let walked = walk(&stack).await;
    stack.stop().await;
    walked
}

async fn walk(stack: &Stack) -> Result<(), CliError> {
    let client = Client::new(stack.url())?.with_token(stack.operator_token()?);
    let loaded = sample::load(&client, stack).await.map_err(|error| CliError::Failed(error.to_string()))?;
    let guide = Guide { client };
    guide.bank().await?;
    guide.cart().await?;
    guide.wellness().await?;
    if let Some(books) = &loaded.books {
        guide.ledger(books).await?;
    }
    println!("Every access pattern returned the expected response.");
    Ok(())
}

/// Call of the demo with its expected status.
struct Step {
    pattern: &'static str,
    what: &'static str,
    call: Call,
    status: StatusCode,
}

struct Guide {
    client: Client,
}

impl Guide {
    async fn get(&self, pattern: &'static str, what: &'static str, path: &str) -> Result<Reply, CliError> {
        self.step(Step { pattern, what, call: Call::get(path), status: StatusCode::OK }).await
    }

    async fn post(
        &self,
        pattern: &'static str,
        what: &'static str,
        path: &str,
        body: Value,
    ) -> Result<Reply, CliError> {
        self.step(Step { pattern, what, call: Call::post(path, body), status: StatusCode::CREATED }).await
    }

    async fn patch(
        &self,
        pattern: &'static str,
        what: &'static str,
        path: &str,
        body: Value,
    ) -> Result<Reply, CliError> {
        self.step(Step { pattern, what, call: Call::patch(path, body), status: StatusCode::OK }).await
    }

    async fn put(&self, pattern: &'static str, what: &'static str, path: &str, body: Value) -> Result<Reply, CliError> {
        self.step(Step { pattern, what, call: Call::put(path, body), status: StatusCode::CREATED }).await
    }

    async fn step(&self, step: Step) -> Result<Reply, CliError> {
        let reply = self.client.send(&step.call).await?;
        print(&step, &reply);
        check(reply.status == step.status, &format!("{} must return {}", step.pattern, step.status))?;
        Ok(reply)
    }

    /// Polls without output until the response satisfies the condition, for at most 20 seconds.
    async fn wait(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Result<(), CliError> {
        for _ in 0..MAX_LOOKS {
            if is_so(&self.client.send(&Call::get(path)).await?.body) {
                break;
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Waits until the function has no pending stream records, and prints its progress.
    async fn handed_on(
        &self,
        pattern: &'static str,
        what: &'static str,
        function: &'static str,
    ) -> Result<(), CliError> {
        self.wait(STREAMS, |streams| mapping(streams, function)["pending"] == 0).await?;
        let step = Step { pattern, what, call: Call::get(STREAMS), status: StatusCode::OK };
        let mut reply = self.client.send(&step.call).await?;
        reply.body = mapping(&reply.body, function);
        print(&step, &reply);
        check(
            reply.body["pending"] == 0 && reply.body["failedBatches"] == 0,
            "no record is pending and no batch failed",
        )
    }
}

fn print(step: &Step, reply: &Reply) {
    println!("{} {}", step.pattern, step.what);
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

/// DynamoDB calls with their key conditions, without duplicates.
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

/// Progress of a function's mapping; null if it has none.
fn mapping(streams: &Value, function: &str) -> Value {
    let mut mappings = streams["mappings"].as_array().into_iter().flatten();
    mappings.find(|mapping| mapping["function"] == function).cloned().unwrap_or_default()
}

fn check(holds: bool, what: &str) -> Result<(), CliError> {
    if holds { Ok(()) } else { Err(CliError::Failed(format!("unexpected response: {what}"))) }
}

/// Text member of the response; empty if there is none.
fn text(json: &Value, member: &str) -> String {
    json[member].as_str().unwrap_or_default().to_owned()
}
