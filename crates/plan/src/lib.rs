//! `make plan`: the capacity that the bank needs for its day, or for a single rate of payments, and
//! what a month of the other services costs.
mod day;
mod month;
mod price;
mod rates;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use clap::Parser;
use rates::{Plan, Writes, plan};

/// Maximum number of payments in an option. Sums of units then fit into 64 bits.
const MAX_PAYMENTS: u64 = 1_000_000_000_000;
/// Payments of a single rate, and minutes of the peak, in
/// docs/requirements/bank.md#volume-and-write-rate.
const PEAK: (u64, u64) = (1_000_000, 30);

/// Expected workload. The defaults are the requirements in
/// docs/requirements/bank.md#volume-and-write-rate.
#[derive(Debug, Parser)]
#[command(name = "plan")]
struct PlanOptions {
    /// Plans a single rate instead of the day: number of payments in the time span; by default
    /// 1000000
    #[arg(long)]
    payments: Option<u64>,
    /// Plans a single rate instead of the day: time span in minutes; by default 30
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: Option<u64>,
    /// Plans a single rate instead of the day: number of status changes of a payment in the time
    /// span; by default 0, 1 and 2
    #[arg(long)]
    moves: Option<u64>,
    /// Size of a payment in KB
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=400))]
    kilobytes: u64,
    /// Maximum utilisation of a shard in percent; by default 100 and 70
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    utilisation: Option<u64>,
    #[command(flatten)]
    day: day::DayOptions,
    #[command(flatten)]
    prices: price::Prices,
}

/// Returns the plan for the options of the command line.
pub fn of_command_line() -> String {
    text(&PlanOptions::parse())
}

fn text(options: &PlanOptions) -> String {
    let utilisations = options.utilisation.map_or(vec![100, 70], |percent| vec![percent]);
    let is_single = options.payments.is_some() || options.minutes.is_some() || options.moves.is_some();
    if is_single {
        single(options, &utilisations)
    } else {
        day::text(options, &utilisations) + &month::text(&options.prices)
    }
}

/// Returns a row for each combination of projection, number of status changes and utilisation.
fn single(options: &PlanOptions, utilisations: &[u64]) -> String {
    let (payments, minutes) = (options.payments.unwrap_or(PEAK.0), options.minutes.unwrap_or(PEAK.1));
    let kilobytes = options.kilobytes;
    let mut text = format!(
        "{payments} payments of {kilobytes} KB in {minutes} minutes\n\n\
         index      moves  utilisation  payments/s  write units/s  shards\n"
    );
    let moves = options.moves.map_or(vec![0, 1, 2], |moves| vec![moves]);
    for (index, units_each) in [("KEYS_ONLY", 1), ("ALL", kilobytes)] {
        for &moves in &moves {
            for &percent in utilisations {
                let put = Writes { count: payments, units_each };
                // A status change deletes the index entry and puts a new one.
                let again = Writes { count: payments.saturating_mul(moves), units_each: units_each.saturating_mul(2) };
                let all = plan(&[put, again], minutes.saturating_mul(60), percent);
                let Plan { units_per_second, shards, .. } = all;
                let payments_per_second = plan(&[put], minutes.saturating_mul(60), percent).writes_per_second;
                let _ = writeln!(
                    text,
                    "{index:9} {moves:6} {percent:11} % {payments_per_second:11} {units_per_second:14} {shards:7}"
                );
            }
        }
    }
    text
}
