//! Measures one part and prints it as JSON: `measure warm`. The times are of single calls, in the order in which they were
//! made; `bench/` makes medians and ratios of them.
#![expect(clippy::expect_used, reason = "a measurement may stop here")]

mod calls;
mod warm;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let measured = match std::env::args().nth(1).as_deref() {
        Some("warm") => warm::measure().await,
        _ => {
            eprintln!("measure warm");
            return ExitCode::FAILURE;
        }
    };
    println!("{measured}");
    ExitCode::SUCCESS
}
