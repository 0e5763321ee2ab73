//! `local plan`: prints the number of shards that an index needs.
use clap::Args;
use keys::plan::{Plan, Writes, plan};

/// Expected workload. The defaults are the requirements in
/// docs/requirements/bank.md#volume-and-write-rate.
#[derive(Debug, Args)]
pub(super) struct PlanOptions {
    /// Number of payments that are scheduled in the time span
    #[arg(long, default_value_t = 1_000_000)]
    payments: u64,
    /// Time span in minutes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Size of a payment in KB
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    kilobytes: u64,
    /// Number of status changes of a payment in the time span. By default, plans are printed for 0,
    /// 1 and 2 changes
    #[arg(long)]
    moves: Option<u64>,
    /// Maximum utilisation of a shard in percent; by default 100 and 70
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    utilisation: Option<u64>,
}

/// Prints a row for each combination of projection, number of status changes and utilisation.
pub(super) fn print(options: &PlanOptions) {
    let PlanOptions { payments, minutes, kilobytes, .. } = *options;
    println!("{payments} payments of {kilobytes} KB in {minutes} minutes\n");
    println!("index      moves  utilisation  payments/s  write units/s  shards");
    let moves = options.moves.map_or(vec![0, 1, 2], |moves| vec![moves]);
    let utilisations = options.utilisation.map_or(vec![100, 70], |percent| vec![percent]);
    for (index, units_each) in [("KEYS_ONLY", 1), ("ALL", kilobytes)] {
        for &moves in &moves {
            for &percent in &utilisations {
                let put = Writes { count: payments, units_each };
                // A status change deletes the index entry and puts a new one.
                let again = Writes { count: payments.saturating_mul(moves), units_each: units_each.saturating_mul(2) };
                let all = plan(&[put, again], minutes.saturating_mul(60), percent);
                let Plan { units_per_second, shards, .. } = all;
                let payments_per_second = plan(&[put], minutes.saturating_mul(60), percent).writes_per_second;
                println!(
                    "{index:9} {moves:6} {percent:11} % {payments_per_second:11} {units_per_second:14} {shards:7}"
                );
            }
        }
    }
}
