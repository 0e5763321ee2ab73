//! A thread with its own runtime, as an execution environment of Lambda has. The engine and the
//! proxies run on other threads, so the CPU time of this thread is the time of the measured code.

use crate::calls::{millis, timed};
use aws_sdk_dynamodb::Client;
use function::{Clients, Service};
use local::Stack;
use serde_json::{Value, json};
use std::{fs, time::Duration};
use table::{Dynamo, Usage};
use tokio::{runtime::Builder, task::spawn_blocking};

/// Runs the work on a separate thread.
pub(crate) async fn alone<T: Send + 'static, F: Future<Output = T>>(work: impl FnOnce() -> F + Send + 'static) -> T {
    let run = move || Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work());
    spawn_blocking(run).await.expect("the work does not panic")
}

/// Durations of the rounds of some work, and the CPU time of its thread, in milliseconds.
#[derive(Default)]
pub(crate) struct Times {
    millis: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    /// Adds a round.
    pub(crate) async fn take<T>(&mut self, work: impl Future<Output = T>) -> T {
        let before = cpu();
        let (done, millis_of_work) = timed(work).await;
        self.millis.push(millis_of_work);
        self.cpu.push(millis(cpu().saturating_sub(before)));
        done
    }

    /// Returns the times without the first round, which opens the connections.
    pub(crate) fn told(&self) -> Value {
        json!({"millis": self.millis[1..], "cpu": self.cpu[1..]})
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("the statistics of a thread");
    Duration::from_nanos(text.split(' ').next().and_then(|part| part.parse().ok()).expect("nanoseconds"))
}

/// The same client with its own connections, so that no other thread processes its responses.
pub(crate) fn connected(client: &Client, url: &str) -> Client {
    let http = aws_smithy_http_client::Builder::new().build_http();
    Client::from_conf(client.config().to_builder().endpoint_url(url).http_client(http).build())
}

/// A function of the stack with its own connections.
pub(crate) fn service(stack: &Stack, name: &str, function: &function::Function) -> Service {
    let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name).expect("a function");
    let client = connected(&stack.client_of(lambda), stack.dynamo_url());
    let clients: Clients = stack.clients_of(lambda).with_dynamo(Dynamo::new(&client, system_tests::random()));
    let clients = clients.at("s3", stack.services_url());
    function.bind(&lambda.environment.clone().into_iter().collect(), clients).expect("valid settings")
}

/// Consumed units by action, and by table or index.
pub(crate) fn units(usage: &Usage) -> Value {
    let row = |call: &table::Call| {
        let table = call.table.rsplit('-').next().expect("a name");
        let place = call.index.as_ref().map_or_else(|| table.to_owned(), |index| format!("{table}/{index}"));
        json!({"action": call.action, "place": place, "read": call.read.as_f64(), "write": call.write.as_f64()})
    };
    usage.calls.iter().map(row).collect()
}
