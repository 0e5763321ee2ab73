//! `local demo`: plays the event of every access pattern in its world, and prints the key
//! conditions and the consumed units.
use http::StatusCode;
use itertools::Itertools;
use serde_json::Value;

use super::{CliError, StackOptions};
use crate::{
    Stack,
    client::{Call, Client, Consumed, Reply, summary},
};
use events::{EventRequest, Events, domains, is_accepted};

const LONGEST_ANSWER: usize = 24;
const MAX_CONDITIONS: usize = 5;

pub(super) async fn demo(options: &StackOptions) -> Result<(), CliError> {
    // Without a batching window, the export delivers records immediately.
    let stack = options.builder().parameter("ExportWindowSeconds", "0").start().await?;
    let walked = walk(&stack, &options.events()).await;
    stack.stop().await;
    walked
}

async fn walk(stack: &Stack, events: &Events) -> Result<(), CliError> {
    stack.create_world(events).await?;
    for pattern in domains().into_iter().flat_map(|domain| domain.patterns) {
        let event = events.event(pattern.name)?;
        let request = EventRequest::of(&event);
        let token = match &request {
            Some(request) => stack.token(request.claims.clone()),
            None => stack.operator_token(),
        };
        let mut call = request.map_or_else(|| invocation(pattern.name, event), Call::of);
        // With the key of the event, a request that the world has sent would only be repeated.
        call.idempotency_key = call.idempotency_key.map(|_| format!("demo-{}", pattern.name));
        let reply = Client::new(stack.url())?.with_token(token?).send(&call).await?;
        print(&format!("{} {}", pattern.id, pattern.name), &call, &reply);
        let failed = reply.status >= StatusCode::MULTIPLE_CHOICES || reply.headers.contains_key("x-amz-function-error");
        if failed || !is_accepted(&reply.body) {
            return Err(CliError::Failed(format!("the demo failed: the event of {} does not succeed", pattern.name)));
        }
    }
    println!("Every access pattern returned the expected response.");
    Ok(())
}

/// Invokes a function with an event that API Gateway does not send.
fn invocation(function: &str, event: Value) -> Call {
    Call::post(format!("/_local/functions/{function}/invocations"), event)
}

fn print(pattern: &str, call: &Call, reply: &Reply) {
    println!("{pattern}");
    println!("  {} {}", call.method, call.path);
    if let Some(body) = &call.body {
        with_rest(format!("{body:#}").lines().map(str::to_owned).collect(), LONGEST_ANSWER).iter().for_each(indented);
    }
    conditions(&reply.consumed).iter().for_each(indented);
    println!("  {}", reply.status);
    if reply.status != StatusCode::NO_CONTENT {
        shortened(&reply.body).iter().for_each(indented);
    }
    summary(&reply.consumed).iter().for_each(indented);
    println!();
}

fn indented(line: &String) {
    println!("  {line}");
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
    with_rest(format!("{body:#}").lines().map(|line| format!("  {line}")).collect(), LONGEST_ANSWER)
}

fn with_rest(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let rest = lines.len().saturating_sub(most);
    if rest > 0 {
        lines.truncate(most);
        lines.push(format!("… {rest} more"));
    }
    lines
}
