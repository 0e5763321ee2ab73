//! `local run`: runs the stack until a signal stops it.
use std::{
    io::{self, Write},
    net::IpAddr,
    time::Duration,
};

use itertools::Itertools as _;
use serde_json::json;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::sleep,
};

use super::{CliError, RunOptions};
use crate::{
    Stack,
    client::{Call, Client},
};
use events::{Auth, EventRequest, Events};
use hostile::Rates;

const SWEEP: Duration = Duration::from_mins(1);

pub(super) async fn run(options: RunOptions) -> Result<(), CliError> {
    let mut signals = Signals::watch()?;
    let mut builder = options.stack.builder().port(options.port).dynamodb_port(options.dynamodb_port);
    builder = builder.waits().auth(options.auth).stacks(&options.stacks).listen(options.listen);
    builder = builder.console(!options.no_console);
    if let Some(data) = &options.data {
        builder = builder.data(data);
    }
    if let Some(lake) = &options.lake {
        builder = builder.lake(lake);
    }
    if let Some(url) = &options.firehose_endpoint {
        builder = builder.firehose_endpoint(url);
    }
    if let Some(url) = &options.s3_endpoint {
        builder = builder.s3_endpoint(url);
    }
    if let Some(url) = &options.events_to {
        builder = builder.events_to(url);
    }
    if let Some(seed) = options.hostile {
        builder = builder.hostile(seed, options.hostile_rates.unwrap_or(Rates::usual()));
    }
    let stack = builder.start().await?;
    let done = tokio::select! {
        served = serve(&stack, &options) => served,
        () = signals.next() => Ok(()),
    };
    stack.stop().await;
    done
}

async fn serve(stack: &Stack, options: &RunOptions) -> Result<(), CliError> {
    let client = Client::new(stack.url())?.with_token(stack.operator_token()?);
    let events = options.stack.events();
    stack.create_world(&events).await?;
    stack.ready();
    let welcome = welcome(stack, options, &events)?;
    // The stack continues without a reader of its output.
    let _ = writeln!(io::stdout(), "{welcome}");
    if options.open {
        open(&format!("{}/_local/", stack.url()));
    }
    if let Some(address) = options.listen {
        let _ = writeln!(io::stderr(), "{}", warning(stack, address));
    }
    // DynamoDB may delete expired items days later. The local stack deletes them within a minute.
    loop {
        tokio::select! {
            () = sleep(SWEEP) => drop(client.send(&Call::post("/_local/ttl", json!({}))).await?),
            request = stack.reset_requested() => stack.reset(request, &events).await,
        }
    }
}

/// Opens a page in the browser, if the machine has a command for that.
fn open(url: &str) {
    let command = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if let Err(error) = std::process::Command::new(command).arg(url).spawn() {
        let _ = writeln!(io::stderr(), "{url} can't be opened with {command}: {error}");
    }
}

/// Returns the warning of `--listen`.
fn warning(stack: &Stack, address: IpAddr) -> String {
    let port = stack.dynamo_url().rsplit(':').next().unwrap_or_default();
    format!(
        "warning: port {port} is open at {address}; every container and every machine that reaches this address \
         can read and write the tables and the lake"
    )
}

/// Events of each service that the welcome shows.
const SHOWN: [(&str, [&str; 2]); 4] = [
    ("bank", ["schedule-payment", "list-account-payments"]),
    ("cart", ["add-cart-item", "list-cart-items"]),
    ("wellness", ["record-progress", "list-registrations"]),
    ("ledger", ["process-payment", "get-statement"]),
];

/// Returns the welcome text, with the endpoints and example calls of each service.
pub(super) fn welcome(stack: &Stack, options: &RunOptions, events: &Events) -> Result<String, CliError> {
    let (url, tables, buckets) = (stack.url(), stack.tables().join(", "), stack.buckets().join(", "));
    let curl = match options.auth {
        Auth::Open => "curl -s".to_owned(),
        Auth::Required => "curl -s -H \"authorization: Bearer $TOKEN\"".to_owned(),
    };
    let data = options.data.as_ref().map_or("in memory".to_owned(), |path| format!("in {}", path.display()));
    let (dynamo, services, lake) = (stack.dynamo_url(), stack.services_url(), stack.lake().display());
    let scopes: Vec<_> = stack.template().scopes().iter().map(|scope| format!("--scope {scope}")).collect();
    let console = if options.no_console { String::new() } else { format!("The console runs at {url}/_local/.\n") };
    let own = stack.template().services();
    let own = SHOWN.into_iter().filter(|(service, _)| own.contains(service));
    let (names, calls): (Vec<_>, Vec<_>) = own.unzip();
    let mut lines = Vec::new();
    for name in calls.iter().flatten() {
        let request = EventRequest::of(&events.event(name)?);
        lines.extend(request.map(|request| format!("  {}", as_curl(&curl, url, name, &request))));
    }
    Ok([
        format!(
            "{console}The API runs at {url}, and DynamoDB at {dynamo} with the tables {tables}.
Firehose and S3 run at {services} and write to {lake}. The buckets are {buckets}.
The data is {data}. It contains the sample data of {}. Press Ctrl-C to stop.",
            names.join(", ")
        ),
        format!(
            "Without a token, a request acts as the operator, unless --auth required is set. To create a token for another caller:
  TOKEN=$(cargo run -q -p local -- token --account Account1 --account Sue {})",
            scopes.join(" ")
        ),
        format!("Some requests. `make event` lists the events of all access patterns:\n{}", lines.join("\n")),
        format!(
            "The response header x-local-consumed (curl -i) contains the consumed read and write request units. To delete
expired items, and to show the state of the stack, its streams and the published events:
  {curl} -X POST {url}/_local/ttl
  {curl} {url}/_local/health
  {curl} {url}/_local/streams
  {curl} {url}/_local/events"
        ),
    ]
    .join("\n\n"))
}

/// The command with which the operator sends the request of an event. The idempotency key differs
/// from that of the event, because the world has used that key for the caller of the event.
fn as_curl(curl: &str, url: &str, name: &str, request: &EventRequest) -> String {
    let mark = if request.path.contains('?') { '&' } else { '?' };
    let company = request.company().map(|company| format!("{mark}companyId={company}")).unwrap_or_default();
    let header = |(header, value): &(&str, String)| match *header {
        "idempotency-key" => Some(format!(" -H 'idempotency-key: my-{name}'")),
        "content-type" => Some(format!(" -H 'content-type: {value}'")),
        _ => None,
    };
    let headers = request.headers.iter().filter_map(header).join("");
    let body = request.body.as_ref().map(|body| format!(" -d '{}'", body.replace('\'', r"'\''"))).unwrap_or_default();
    format!("{curl} -X {} '{url}{}{company}'{headers}{body}", request.method, request.path)
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn watch() -> Result<Self, CliError> {
        let watch = |kind| signal(kind).map_err(CliError::Signals);
        Ok(Self { interrupt: watch(SignalKind::interrupt())?, terminate: watch(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
