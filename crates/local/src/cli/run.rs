//! `local run`: runs the stack until a signal stops it.
use std::{
    io::{self, Write},
    net::IpAddr,
    time::Duration,
};

use serde_json::json;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::sleep,
};

use super::{CliError, RunOptions};
use crate::{
    Auth, Rates, Stack,
    client::{Call, Client},
    sample,
};

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
    let loaded = sample::load(&client, stack).await.map_err(|error| CliError::Failed(error.to_string()))?;
    sample::load_events(stack).await.map_err(|error| CliError::Failed(error.to_string()))?;
    stack.ready();
    // The stack continues without a reader of its output.
    let _ = writeln!(io::stdout(), "{}", welcome(stack, options, &loaded));
    if options.open {
        open(&format!("{}/_local/", stack.url()));
    }
    if let Some(address) = options.listen {
        let _ = writeln!(io::stderr(), "{}", warning(stack, address));
    }
    // DynamoDB may delete expired items days later. The local stack deletes them within a minute.
    loop {
        sleep(SWEEP).await;
        client.send(&Call::post("/_local/ttl", json!({}))).await?;
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

/// Returns the welcome text, with the endpoints and example calls of each service.
fn welcome(stack: &Stack, options: &RunOptions, loaded: &sample::Loaded) -> String {
    let (url, tables) = (stack.url(), stack.tables().join(", "));
    let curl = match options.auth {
        Auth::Open => "curl -s".to_owned(),
        Auth::Required => "curl -s -H \"authorization: Bearer $TOKEN\"".to_owned(),
    };
    let data = options.data.as_ref().map_or("in memory".to_owned(), |path| format!("in {}", path.display()));
    let (dynamo, services, lake) = (stack.dynamo_url(), stack.services_url(), stack.lake().display());
    let scopes: Vec<_> = stack.template().scopes().iter().map(|scope| format!("--scope {scope}")).collect();
    let console = if options.no_console { String::new() } else { format!("The console runs at {url}/_local/.\n") };
    let mut parts = vec![
        format!(
            "{console}The API runs at {url}, and DynamoDB at {dynamo} with the tables {tables}.
Firehose and S3 run at {services} and write to {lake}.
The data is {data}: {}. Press Ctrl-C to stop.",
            sampled(loaded)
        ),
        format!(
            "Without a token, a request acts as the operator, unless --auth required is set. To create a token for another caller:
  TOKEN=$(cargo run -q -p local -- token --account Account1 --account Sue {})",
            scopes.join(" ")
        ),
    ];
    parts.extend(loaded.payments.map(|_| bank(&curl, url)));
    parts.extend(loaded.cart_items.map(|_| cart(&curl, url)));
    parts.extend(loaded.activities.map(|_| wellness(&curl, url)));
    parts.extend(loaded.books.as_ref().map(|books| ledger(&curl, url, books)));
    parts.push(format!(
        "The response header x-local-consumed (curl -i) contains the consumed read and write request units. To delete
expired items, and to show the state of the stack and of its streams:
  {curl} -X POST {url}/_local/ttl
  {curl} {url}/_local/health
  {curl} {url}/_local/streams"
    ));
    parts.join("\n\n")
}

fn sampled(loaded: &sample::Loaded) -> String {
    let counts = [(loaded.payments, "payments"), (loaded.cart_items, "cart items"), (loaded.activities, "activities")];
    let mut parts: Vec<_> =
        counts.into_iter().filter_map(|(count, of)| Some(format!("{} sample {of}", count?))).collect();
    parts.extend(loaded.books.as_ref().map(|_| "two sample ledger accounts".to_owned()));
    parts.join(", ")
}

fn bank(curl: &str, url: &str) -> String {
    let day = sample::tomorrow();
    format!(
        "Schedule a payment for tomorrow:
  {curl} {url}/bank/accounts/Account1/payments -H 'content-type: application/json' \\
    -d '{{\"scheduledTime\": \"{day}T09:30:00Z\", \"data\": {{\"amount\": \"12.50\"}}}}'

List the due payments, list an account's payments of the next 90 days, and archive settled payments:
  {curl} '{url}/bank/payments/due?date={day}'
  {curl} {url}/bank/accounts/Account1/payments
  {curl} -X POST {url}/_local/schedules/archive-settled-payments"
    )
}

fn cart(curl: &str, url: &str) -> String {
    format!(
        "Put a product into a cart, list the cart, and buy it:
  {curl} {url}/cart/accounts/Sue/items -H 'content-type: application/json' \\
    -d '{{\"sku\": \"72f49\"}}'
  {curl} {url}/cart/accounts/Sue/items
  {curl} -X POST {url}/cart/accounts/Sue/checkout"
    )
}

fn wellness(curl: &str, url: &str) -> String {
    let year = sample::wellness::year();
    format!(
        "List the activities of a plan year, add an employee in Sales, and list her registrations:
  {curl} '{url}/wellness/companies/123/activities?year={year}'
  {curl} -X PUT {url}/wellness/companies/123/employees/456 -H 'content-type: application/json' \\
    -d '{{\"role\": \"EmployeeOnPlan\", \"department\": \"Sales\"}}'
  {curl} '{url}/wellness/users/456/registrations?companyId=123'"
    )
}

fn ledger(curl: &str, url: &str, books: &sample::ledger::Books) -> String {
    let sample::ledger::Books { ann, shop, .. } = books;
    format!(
        "Pay for Ann's coffee and list her statement. With the idempotency key, a retry does not pay twice:
  {curl} {url}/ledger/transactions -H 'content-type: application/json' -H 'idempotency-key: coffee-1' \\
    -d '{{\"transactionType\": \"payment\", \"debitAccountId\": \"{ann}\", \"creditAccountId\": \"{shop}\", \"amount\": \"5.50\", \"currency\": \"USD\"}}'
  {curl} {url}/ledger/accounts/{ann}/statement"
    )
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
