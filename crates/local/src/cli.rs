//! Command line: commands, options and errors.
mod demo;
mod event;
mod invoke;
mod run;
mod sam_env;
mod token;

use std::{net::IpAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{Layer, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{Builder, Stack, StartError, client::ClientError, stack::DOCKER_HOST, world::WorldError};
use events::{Auth, EventError, Events, TokenError};
use hostile::Rates;

const EVENTS: &str = "events";

/// The local stack: API, functions and DynamoDB in one process.
#[derive(Debug, Parser)]
#[command(name = "local", about = "The local stack: API, functions and DynamoDB in one process")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the local stack with sample data until Ctrl-C
    Run(Box<RunOptions>),
    /// Call every access pattern on a temporary stack
    Demo(StackOptions),
    /// Invoke one function with an event
    Invoke(InvokeOptions),
    /// Print an event or a variant of an event; without a name, the names of all events
    Event(EventOptions),
    /// Print a token for a local stack
    Token(TokenOptions),
    /// Write files with the environment variables of the functions, for `sam local invoke`
    SamEnv(SamEnvOptions),
}

#[derive(Debug, Args)]
struct StackOptions {
    /// Template to run
    #[arg(long, default_value = "template.yaml")]
    template: PathBuf,
    /// Parameter of the template, such as ReadShards=7; repeatable
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = name_and_value)]
    parameters: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct RunOptions {
    #[command(flatten)]
    stack: StackOptions,
    /// Nested stack to run, such as bank; repeatable; by default all stacks
    #[arg(long = "stack", value_name = "NAME")]
    stacks: Vec<String>,
    /// Port of the API
    #[arg(long, env = "PORT", default_value_t = 3000, value_parser = port)]
    port: u16,
    /// Port of the DynamoDB endpoint
    #[arg(long, env = "DYNAMODB_PORT", default_value_t = 8000, value_parser = port)]
    dynamodb_port: u16,
    /// Further address of the DynamoDB port, such as that of the Docker bridge; every machine that
    /// reaches this address can read and write the tables
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<IpAddr>,
    /// File that stores the data; by default the data is in memory
    #[arg(long, env = "DATA")]
    data: Option<PathBuf>,
    /// Folder of the S3 buckets; by default a temporary folder
    #[arg(long, env = "LAKE")]
    lake: Option<PathBuf>,
    /// Firehose endpoint for the functions; by default the local lake
    #[arg(long)]
    firehose_endpoint: Option<String>,
    /// S3 endpoint for the functions; by default the local lake
    #[arg(long)]
    s3_endpoint: Option<String>,
    /// URL of a program that gets each published event as a POST request; by default none
    #[arg(long, value_name = "URL")]
    events_to: Option<String>,
    /// Whether requests require a token
    #[arg(long, value_enum, default_value_t)]
    auth: Auth,
    /// Serve no console at /_local/, and record no requests
    #[arg(long)]
    no_console: bool,
    /// Open the console in the browser
    #[arg(long, conflicts_with = "no_console")]
    open: bool,
    /// Inject the faults of AWS into the calls and events of the functions, from this seed, and log
    /// them (docs/hostile.md)
    #[arg(long, value_name = "SEED")]
    hostile: Option<u64>,
    /// Rates of the faults, such as stale=1,lost-after=0.1; a rate of 0 turns a fault off
    #[arg(long, value_name = "NAME=RATE,…", requires = "hostile", value_parser = rates)]
    hostile_rates: Option<Rates>,
}

#[derive(Debug, Args)]
struct InvokeOptions {
    /// Name of the function, such as list-due-payments
    function: String,
    /// File with the event in the format of the AWS service, or the name of an event, such as
    /// get-payment.no-payment-id
    event: PathBuf,
    /// URL of a running stack; by default the stack on --port, or else a temporary stack
    #[arg(long)]
    url: Option<String>,
    /// Port of a running stack
    #[arg(long, env = "PORT", default_value_t = 3000, value_parser = port)]
    port: u16,
    #[command(flatten)]
    stack: StackOptions,
}

#[derive(Debug, Args)]
struct EventOptions {
    /// Name of the event, such as get-payment or get-payment.no-payment-id
    name: Option<String>,
    /// Folder of the events
    #[arg(long, default_value = EVENTS)]
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct TokenOptions {
    /// Scope of the token; repeatable
    #[arg(long = "scope", required = true)]
    scopes: Vec<String>,
    /// Account that the caller owns; repeatable
    #[arg(long = "account")]
    accounts: Vec<String>,
    /// Company of the caller
    #[arg(long)]
    company: Option<String>,
    /// User id of the caller
    #[arg(long, default_value = "local-user")]
    sub: String,
    /// Lifetime of the token, such as 30m or 8h
    #[arg(long, default_value = "1h", value_parser = duration)]
    expires_in: std::time::Duration,
    #[command(flatten)]
    stack: StackOptions,
}

#[derive(Debug, Args)]
struct SamEnvOptions {
    /// Folder of the files
    #[arg(long, default_value = "target/sam-env")]
    folder: PathBuf,
    /// Host of the local stack, as the functions reach it
    #[arg(long, default_value = DOCKER_HOST)]
    host: String,
    /// Port of the DynamoDB endpoint
    #[arg(long, env = "DYNAMODB_PORT", default_value_t = 8000, value_parser = port)]
    dynamodb_port: u16,
    #[command(flatten)]
    stack: StackOptions,
}

/// The error of a failed command. The message is one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, String),
    #[error(transparent)]
    Event(#[from] EventError),
    #[error(transparent)]
    World(#[from] WorldError),
    #[error("{path}: {1}", path = .0.display())]
    Write(PathBuf, std::io::Error),
    #[error("no stack is running at {0}")]
    NoStack(String),
    #[error("{0}")]
    Failed(String),
    #[error("the signal handlers can't be installed: {0}")]
    Signals(#[source] std::io::Error),
}

impl Cli {
    /// Runs the command. If it fails, prints a message of one line to standard error and returns
    /// exit code 1.
    pub async fn execute(self) -> ExitCode {
        // The engine logs a warning for each failed condition, although failed conditions are
        // normal.
        let mut levels = Targets::new().with_default(LevelFilter::WARN).with_target("dynoxide", LevelFilter::ERROR);
        if matches!(&self.command, Command::Run(options) if options.hostile.is_some()) {
            levels = levels.with_target("hostile", LevelFilter::DEBUG);
        }
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        let done = match self.command {
            Command::Run(options) => run::run(*options).await,
            Command::Demo(options) => demo::demo(&options).await,
            Command::Invoke(options) => invoke::invoke(options).await,
            Command::Event(options) => event::print(options),
            Command::Token(options) => token::token(options),
            Command::SamEnv(options) => sam_env::write(&options),
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
    /// Returns the events beside the template.
    fn events(&self) -> Events {
        Events::of(self.template.with_file_name(EVENTS))
    }

    fn builder(&self) -> Builder {
        let builder = Stack::builder(&self.template);
        // A deployed erasure waits for late writes. Here, its runs would fill the trace.
        let is_set = self.parameters.iter().any(|(name, _)| name == "ErasureQuietSeconds");
        let builder = if is_set { builder } else { builder.setting("ERASURE_QUIET_SECONDS", "1") };
        self.parameters.iter().fold(builder, |builder, (name, value)| builder.parameter(name, value))
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "a port is a number from 1 to 65535, or 0 for any free port".to_owned())
}

fn rates(text: &str) -> Result<Rates, String> {
    Rates::usual().with(text)
}

fn address(text: &str) -> Result<IpAddr, String> {
    match text.parse::<IpAddr>() {
        Ok(address) if !address.is_unspecified() => Ok(address),
        _ => Err("expected the address of one interface, such as 172.17.0.1".to_owned()),
    }
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    let unit = |_: jiff::Error| "expected a number with a unit, such as 30m or 8h".to_owned();
    let parsed: jiff::SignedDuration = text.parse().map_err(unit)?;
    parsed.try_into().map_err(|_| "the lifetime must not be negative".to_owned())
}

#[cfg(test)]
mod tests;
