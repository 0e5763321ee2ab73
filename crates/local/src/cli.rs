//! The commands.
mod demo;
mod invoke;
mod plan;
mod run;
mod token;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{Auth, Builder, Stack, StartError, TokenError, client::ClientError};

/// The whole stack on this machine: API, functions and `DynamoDB` in one process.
#[derive(Debug, Parser)]
#[command(name = "local", about = "The whole stack on this machine: API, functions and DynamoDB in one process")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until Ctrl-C, with a small data set
    Run(RunOptions),
    /// Walk through every access pattern on a stack of its own
    Demo(StackOptions),
    /// Run one function once with an event from a file
    Invoke(InvokeOptions),
    /// Print a token for a local stack
    Token(TokenOptions),
    /// Print how many shards an index needs for its writes
    Plan(plan::PlanOptions),
}

#[derive(Debug, Args)]
struct StackOptions {
    /// The template to run
    #[arg(long, default_value = "template.yaml")]
    template: PathBuf,
    /// A value for a parameter of the template, such as ReadShards=7
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = name_and_value)]
    parameters: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct RunOptions {
    #[command(flatten)]
    stack: StackOptions,
    /// A nested stack to run, such as bank; more than one may be given, and without one all run
    #[arg(long = "stack", value_name = "NAME")]
    stacks: Vec<String>,
    /// Port of the API
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    /// Port where the tables are served
    #[arg(long, env = "DYNAMODB_PORT", default_value_t = 8000)]
    dynamodb_port: u16,
    /// File that keeps the data; without it the data is gone at the end
    #[arg(long, env = "DATA")]
    data: Option<PathBuf>,
    /// Folder of the buckets, where the delivery streams land; without it they are gone at the end
    #[arg(long, env = "LAKE")]
    lake: Option<PathBuf>,
    /// Where functions find Firehose in place of the folder: another stand-in
    #[arg(long)]
    firehose_endpoint: Option<String>,
    /// Where functions find S3 in place of the folder
    #[arg(long)]
    s3_endpoint: Option<String>,
    /// Whether requests need a token
    #[arg(long, value_enum, default_value_t)]
    auth: Auth,
}

#[derive(Debug, Args)]
struct InvokeOptions {
    /// Name of the function, such as list-due-payments
    function: String,
    /// File with the event as the service sends it
    event: PathBuf,
    /// A running stack, in place of one of its own
    #[arg(long)]
    url: Option<String>,
    /// Port where a stack may be running already
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    #[command(flatten)]
    stack: StackOptions,
}

#[derive(Debug, Args)]
struct TokenOptions {
    /// A scope; more than one may be given
    #[arg(long = "scope", required = true)]
    scopes: Vec<String>,
    /// An account of the caller's; more than one may be given
    #[arg(long = "account")]
    accounts: Vec<String>,
    /// The caller's company
    #[arg(long)]
    company: Option<String>,
    /// The caller
    #[arg(long, default_value = "local-user")]
    sub: String,
    /// How long the token lives, such as 30m or 8h
    #[arg(long, default_value = "1h", value_parser = duration)]
    expires_in: std::time::Duration,
}

/// Why a command failed, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{path}: {1}", path = .0.display())]
    Event(PathBuf, String),
    #[error("no stack answers at {0}")]
    NoStack(String),
    #[error("{0}")]
    Failed(String),
    #[error("the signals can't be watched: {0}")]
    Signals(#[source] std::io::Error),
}

impl Cli {
    /// Runs the command; what went wrong is one line on standard error and exit code 1.
    pub async fn execute(self) -> ExitCode {
        // The engine warns of every condition that fails, and here they are meant to.
        let levels = Targets::new().with_default(LevelFilter::WARN).with_target("dynoxide", LevelFilter::ERROR);
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        let done = match self.command {
            Command::Run(options) => run::run(options).await,
            Command::Demo(options) => demo::demo(&options).await,
            Command::Invoke(options) => invoke::invoke(options).await,
            Command::Token(options) => token::token(options),
            Command::Plan(options) => {
                plan::print(&options);
                Ok(())
            }
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("local: {error}");
                ExitCode::FAILURE
            }
        }
    }
}

impl StackOptions {
    fn builder(&self) -> Builder {
        let builder = Stack::builder(&self.template);
        self.parameters.iter().fold(builder, |builder, (name, value)| builder.parameter(name, value))
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    let parsed: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    parsed.try_into().map_err(|_| "a token lives for some time".to_owned())
}

#[cfg(test)]
mod tests;
