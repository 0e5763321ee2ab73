//! Measures one part and prints it as JSON: `measure warm`. The times are of single calls, in the order in which they were
//! made; `bench/` makes medians and ratios of them.
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement may stop here")]

mod calls;
mod delay;
mod ledger;
mod warm;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let measured = match std::env::args().nth(1).as_deref() {
        Some("warm") => warm::measure().await,
        Some("ledger") => ledger::measure().await,
        _ => {
            eprintln!("measure warm | ledger");
            return ExitCode::FAILURE;
        }
    };
    println!("{measured}");
    ExitCode::SUCCESS
}
