use crate::{Deadline, Error, system};
use jiff::SignedDuration;
use lambda_runtime::Context;
use metrics_cloudwatch_embedded::Collector;
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};
use table::{Units, Usage, measured};
use tokio::time::Instant;
use tracing::{Instrument, Level, info_span};

static METRICS: OnceLock<&'static Collector> = OnceLock::new();
static WARM: AtomicBool = AtomicBool::new(false);

/// Starts the logs and metrics of a Lambda. The local stack configures its own logs instead.
pub(crate) fn start() {
    // The Lambda runtime's own subscriber would add a regular expression engine to the binary.
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    let subscriber = tracing_subscriber::fmt().json().with_target(false).without_time();
    subscriber.with_max_level(level.unwrap_or(Level::INFO)).init();
    // After a panic, the Lambda runtime responds and logs an error. Only a panic hook receives the
    // panic message.
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(why = info.payload_as_str().unwrap_or_default(), at, "panicked");
    }));
    let name = std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_default();
    // Each service has its own namespace, so that its dashboard shows only its own functions.
    let namespace = std::env::var("METRICS_NAMESPACE").unwrap_or_else(|_| "Functions".to_owned());
    let builder = metrics_cloudwatch_embedded::Builder::new().cloudwatch_namespace(namespace);
    match builder.with_dimension("Function", name).init() {
        Ok(collector) => {
            METRICS.get_or_init(|| collector);
        }
        Err(error) => tracing::warn!(%error, "metrics are disabled"),
    }
}

/// Runs the work with the invocation's deadline, and then writes the log entry and the metrics.
///
/// Logs and metrics contain request ids, numbers, error types and the keys of unreadable items, but
/// no other request data (docs/decisions/logs-and-metrics.md).
pub(crate) async fn invocation<T>(
    context: &Context,
    work: impl Future<Output = Result<T, Error>>,
) -> (Result<T, Error>, Usage) {
    let cold_start = !WARM.swap(true, Ordering::Relaxed);
    let function = context.env_config.function_name.as_str();
    let span = info_span!("invocation", request_id = %context.request_id, function, cold_start);
    let began = system::instant();
    let (answer, usage) = measured(Deadline::of(context).instant(), work).instrument(span.clone()).await;
    span.in_scope(|| log(answer.as_ref().err(), began, &usage));
    measure(answer.as_ref().err(), cold_start, began, &usage);
    (answer, usage)
}

/// Adds `number` to a metric of the service. The runtime sends it with the other metrics of the
/// invocation.
pub fn count(metric: &'static str, number: u64) {
    metrics::counter!(metric).increment(number);
}

/// Records the age of the oldest stream record in a batch. One alarm covers all streams of a
/// service.
pub(crate) fn stream_age(age: SignedDuration) {
    metrics::gauge!("StreamAgeMs").set(age.as_secs_f64() * 1_000.0);
}

/// The units are numbers, so that a query can add them up for each tenant.
fn log(error: Option<&Error>, began: Instant, usage: &Usage) {
    let latency_us = began.elapsed().as_micros();
    let read = usage.calls.iter().fold(Units::ZERO, |sum, call| sum + call.read).as_f64();
    let write = usage.calls.iter().fold(Units::ZERO, |sum, call| sum + call.write).as_f64();
    let (retries, conflicts, tenant) = (usage.retries, usage.conflicts, usage.tenant.as_deref());
    for (item_type, key) in &usage.unreadable_items {
        let (partition, sort) = key.as_ref().map_or(("", ""), |key| (key.partition(), key.sort()));
        tracing::error!(item_type, partition, sort, count = usage.unreadable, "an item cannot be read");
    }
    match error {
        Some(error) if error.is_defect() => {
            tracing::error!(%error, tenant, latency_us, read, write, retries, conflicts, "failed");
        }
        Some(error) if error.is_outage() => {
            tracing::warn!(%error, tenant, latency_us, read, write, retries, conflicts, "not available");
        }
        Some(error) => tracing::info!(kind = error.kind(), tenant, latency_us, read, write, conflicts, "refused"),
        None => tracing::info!(tenant, latency_us, read, write, retries, conflicts, "answered"),
    }
    for (tenant, (read, write)) in &usage.tenants {
        tracing::info!(tenant, read = read.as_f64(), write = write.as_f64(), "consumed");
    }
}

fn measure(error: Option<&Error>, cold_start: bool, began: Instant, usage: &Usage) {
    let Some(collector) = METRICS.get() else { return };
    metrics::histogram!("LatencyMs").record(began.elapsed().as_secs_f64() * 1_000.0);
    metrics::counter!("ColdStarts").increment(u64::from(cold_start));
    metrics::counter!("Defects").increment(u64::from(error.is_some_and(Error::is_defect)));
    metrics::counter!("Outages").increment(u64::from(error.is_some_and(Error::is_outage)));
    metrics::counter!("Conflicts").increment(usage.conflicts);
    metrics::counter!("Retries").increment(usage.retries);
    metrics::counter!("UnreadableItems").increment(usage.unreadable);
    for call in &usage.calls {
        let index = call.index.clone().unwrap_or_else(|| "none".to_owned());
        let labels = [("Table", call.table.clone()), ("Index", index)];
        if call.read == Units::ZERO {
            metrics::histogram!("WriteUnits", &labels).record(call.write.as_f64());
        } else {
            metrics::histogram!("ReadUnits", &labels).record(call.read.as_f64());
        }
    }
    if let Err(error) = collector.flush(std::io::stdout().lock()) {
        tracing::warn!(%error, "metrics cannot be written");
    }
}
