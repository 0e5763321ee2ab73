//! `local invoke`: invokes one function with one event.
use std::{fs, io, time::Duration};

use http::StatusCode;
use serde_json::Value;

use super::{CliError, InvokeOptions};
use crate::{
    Stack,
    client::{Call, Client, Reply, summary},
};
use events::{Events, Tokens, auth};
use template::Authorizer;

const TOKEN_LIFE: Duration = Duration::from_mins(15);

pub(super) async fn invoke(options: InvokeOptions) -> Result<(), CliError> {
    let event = read(&options)?;
    let call = Call::post(format!("/_local/functions/{}/invocations", options.function), event);
    if let Some(client) = running(&options).await? {
        return print(&client.send(&call).await?);
    }
    let stack = options.stack.builder().start().await?;
    let done = on_fresh(&stack, &options.stack.events(), &call).await;
    stack.stop().await;
    done
}

async fn on_fresh(stack: &Stack, events: &Events, call: &Call) -> Result<(), CliError> {
    stack.create_world(events).await?;
    print(&Client::new(stack.url())?.send(call).await?)
}

/// Returns a client for the running stack at `--url` or at `--port`. Returns `None` if no stack is
/// running at `--port`.
async fn running(options: &InvokeOptions) -> Result<Option<Client>, CliError> {
    let usual = format!("http://127.0.0.1:{}", options.port);
    let client = Client::new(options.url.as_ref().unwrap_or(&usual))?;
    // A stack with --auth required rejects requests without a token.
    let scopes = options.stack.builder().scopes()?;
    let token = Tokens::new(Authorizer::local()).sign(auth::operator(&scopes), TOKEN_LIFE)?;
    let client = client.with_token(token);
    match (client.is_healthy().await, &options.url) {
        (true, _) => Ok(Some(client)),
        (false, Some(url)) => Err(CliError::NoStack(url.clone())),
        (false, None) => Ok(None),
    }
}

fn read(options: &InvokeOptions) -> Result<Value, CliError> {
    let path = &options.event;
    let name = path.to_str().filter(|_| path.extension().is_none_or(|end| end != "json") && !path.exists());
    if let Some(name) = name {
        return Ok(options.stack.events().event(name)?);
    }
    let fail = |error: String| CliError::File(path.clone(), error);
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => fail("the event file does not exist".to_owned()),
        _ => fail(error.to_string()),
    })?;
    serde_json::from_str(&text).map_err(|error| fail(error.to_string()))
}

// Standard output contains only the response, so that it can be piped.
fn print(reply: &Reply) -> Result<(), CliError> {
    if reply.status != StatusCode::OK {
        let detail = reply.body["detail"].as_str().map_or_else(|| reply.body.to_string(), str::to_owned);
        return Err(CliError::Failed(detail));
    }
    println!("{:#}", reply.body);
    for line in summary(&reply.consumed) {
        eprintln!("consumed {line}");
    }
    if reply.headers.contains_key("x-amz-function-error") {
        return Err(CliError::Failed("the function failed".to_owned()));
    }
    Ok(())
}
