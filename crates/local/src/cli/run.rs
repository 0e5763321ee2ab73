//! `local run`: the stack until somebody stops it.
use std::time::Duration;

use serde_json::json;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::sleep,
};

use super::{CliError, RunOptions};
use crate::{
    Auth, Stack,
    client::{Call, Client},
    sample,
};

const SWEEP: Duration = Duration::from_mins(1);

pub(super) async fn run(options: RunOptions) -> Result<(), CliError> {
    let mut signals = Signals::watch()?;
    let mut builder = options.stack.builder().port(options.port).dynamodb_port(options.dynamodb_port);
    builder = builder.auth(options.auth);
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
    let loaded = sample::load(&client).await.map_err(|error| CliError::Failed(error.to_string()))?;
    println!("{}", welcome(stack, options, loaded));
    // The TTL service takes up to days; here what has expired is gone within a minute.
    loop {
        sleep(SWEEP).await;
        client.send(&Call::post("/_local/ttl", json!({}))).await?;
    }
}

fn welcome(stack: &Stack, options: &RunOptions, loaded: sample::Loaded) -> String {
    let (url, day) = (stack.url(), sample::tomorrow());
    let identity = match options.auth {
        Auth::Open => "",
        Auth::Required => " -H \"authorization: Bearer $TOKEN\"",
    };
    let data = options.data.as_ref().map_or("in memory".to_owned(), |path| format!("in {}", path.display()));
    let sample = match loaded.payments {
        0 => "the sample payments were there already".to_owned(),
        payments => format!("{payments} sample payments"),
    };
    let sample::Loaded { lines, activities, books, .. } = loaded;
    let sample::ledger::Books { ann, shop, .. } = books;
    let year = sample::wellness::year();
    let tables = stack.tables().join(", ");
    let (dynamo, services, lake) = (stack.dynamo_url(), stack.services_url(), stack.lake().display());
    format!(
        "The API is at {url}, DynamoDB at {dynamo}: {tables}.
Firehose and S3 are at {services}; what they get lands in {lake}.
The data is {data}; {sample}, {lines} sample cart lines, {activities} sample activities, and Ann's account. Ctrl-C stops it all.

A caller's token, where you want one; without it you are the operator, unless tokens are required:
  TOKEN=$(cargo run -q -p local -- token --scope bank:read --scope bank:write --scope bank:operate \\
    --scope cart:read --scope cart:write --scope wellness:operate --scope ledger:operate --account Account1 --account Sue)

Schedule a payment for tomorrow:
  curl -s{identity} {url}/bank/accounts/Account1/payments -H 'content-type: application/json' \\
    -d '{{\"scheduledTime\": \"{day}T09:30:00Z\", \"data\": {{\"amount\": \"12.50\"}}}}'

See what comes due:
  curl -s{identity} '{url}/bank/payments/due?date={day}'

An account's next 90 days:
  curl -s{identity} {url}/bank/accounts/Account1/payments

Put something into a cart, look at it, and buy it:
  curl -s{identity} {url}/cart/accounts/Sue/items -H 'content-type: application/json' \\
    -d '{{\"sku\": \"shoes-42\", \"quantity\": 1, \"price\": \"89.90\", \"currency\": \"USD\"}}'
  curl -s{identity} {url}/cart/accounts/Sue/items
  curl -s{identity} -X POST {url}/cart/accounts/Sue/checkout

See a company's plan year, let somebody start in Sales, and see what that is to take part in:
  curl -s{identity} '{url}/wellness/companies/123/activities?year={year}'
  curl -s{identity} -X PUT {url}/wellness/companies/123/employees/456 -H 'content-type: application/json' \\
    -d '{{\"role\": \"EmployeeOnPlan\", \"department\": \"Sales\"}}'
  curl -s{identity} {url}/wellness/users/456/registrations

Buy Ann a coffee, once however often you send it, and see her statement:
  curl -s{identity} {url}/ledger/transactions -H 'content-type: application/json' -H 'idempotency-key: coffee-1' \\
    -d '{{\"transactionType\": \"payment\", \"debitAccountId\": \"{ann}\", \\
         \"creditAccountId\": \"{shop}\", \"amount\": \"5.50\", \"currency\": \"USD\"}}'
  curl -s{identity} {url}/ledger/accounts/{ann}/statement

What a call consumed is in the header x-local-consumed (curl -i). Run the day-end archive, delete what has expired,
and ask for health and for how far the streams' functions are:
  curl -s -X POST {url}/_local/schedules/archive-processed-payments
  curl -s -X POST {url}/_local/ttl
  curl -s {url}/_local/health
  curl -s {url}/_local/streams"
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
