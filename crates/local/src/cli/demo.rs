//! `local demo`: plays the event of every access pattern in its world, and prints the key
//! conditions and the consumed units.
use http::StatusCode;
use itertools::Itertools;
use serde_json::Value;

use super::{CliError, StackOptions};
use crate::{
    Claims, Stack,
    client::{Call, Client, Consumed, Reply, summary},
    domains,
    events::Events,
};

const LONGEST_ANSWER: usize = 24;
const MAX_CONDITIONS: usize = 5;

pub(super) async fn demo(options: &StackOptions) -> Result<(), CliError> {
    // Without a batching window, the export delivers records immediately.
    let stack =
        options.builder().parameter("ExportWindowSeconds", "0").parameter("ErasureQuietSeconds", "0").start().await?;
    let walked = walk(&stack, &options.events()).await;
    stack.stop().await;
    walked
}

async fn walk(stack: &Stack, events: &Events) -> Result<(), CliError> {
    stack.create_world(events).await?;
    for pattern in domains().into_iter().flat_map(|domain| domain.patterns) {
        let event = events.event(pattern.name)?;
        let call = call(pattern.name, &event);
        let claims = event["requestContext"]["authorizer"]["jwt"]["claims"].as_object();
        let token = claims.map_or_else(|| stack.operator_token(), |claims| stack.token(of_caller(claims)))?;
        let reply = Client::new(stack.url())?.with_token(token).send(&call).await?;
        print(&format!("{} {}", pattern.id, pattern.name), &call, &reply);
        let failed = reply.status >= StatusCode::MULTIPLE_CHOICES || reply.headers.contains_key("x-amz-function-error");
        if failed {
            return Err(CliError::Failed(format!("the demo failed: the event of {} does not succeed", pattern.name)));
        }
    }
    println!("Every access pattern returned the expected response.");
    Ok(())
}

/// The claims of a caller, without those that [`Stack::token`] adds.
fn of_caller(claims: &Claims) -> Claims {
    let is_added = |name: &str| ["iss", "aud", "iat", "exp"].contains(&name);
    claims.iter().filter(|(name, _)| !is_added(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The request of an event. An event of another service than API Gateway invokes its function.
fn call(function: &str, event: &Value) -> Call {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let method = text("/requestContext/http/method").parse();
    let Some(method) = method.ok().filter(|_| event["routeKey"].is_string()) else {
        return Call::post(format!("/_local/functions/{function}/invocations"), event.clone());
    };
    let query = text("/rawQueryString");
    let mark = if query.is_empty() { "" } else { "?" };
    Call {
        method,
        path: format!("{}{mark}{query}", text("/rawPath")),
        body: serde_json::from_str(text("/body")).ok(),
        idempotency_key: event["headers"]["idempotency-key"].as_str().map(str::to_owned),
    }
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
