//! Runs one benchmark, such as `measure warm`, and prints the result as JSON.
//!
//! The result contains the time of each call. The scripts in `bench/` compute medians and ratios
//! (docs/decisions/measuring.md).
#![expect(clippy::expect_used, clippy::panic, reason = "a measurement may stop here")]

mod calls;
mod claims;
mod days;
mod delay;
mod intake;
mod ledger;
mod memory;
mod packing;
mod pages;
mod processor;
mod slow;
mod sweeps;
mod warm;
mod workload;

use std::process::ExitCode;
use workload::Sizes;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match arguments[..] {
        ["warm"] => warm::measure().await,
        ["ledger"] => ledger::measure().await,
        ["pages", most, rounds] => pages::measure(number(most), number(rounds)).await,
        ["intake", rounds] => intake::measure(number(rounds)).await,
        ["claims", rounds] => claims::measure(number(rounds)).await,
        ["sweeps", payments, rounds] => sweeps::measure(number(payments), number(rounds), true).await,
        ["sweeps", payments, rounds, "entries"] => sweeps::measure(number(payments), number(rounds), false).await,
        ["workload", accounts, busy, keys] => {
            let sizes = Sizes { accounts: number(accounts), busy: number(busy), keys: number(keys) };
            workload::serve(sizes).await
        }
        ["packing"] => packing::measure(),
        ["memory", binary] => memory::measure(binary).await,
        _ => {
            eprintln!(
                "measure warm | ledger | pages PAYMENTS ROUNDS | intake ROUNDS | claims ROUNDS | \
                 sweeps PAYMENTS ROUNDS [entries] | workload ACCOUNTS BUSY KEYS | packing | memory BINARY"
            );
            return ExitCode::FAILURE;
        }
    };
    println!("{measured}");
    ExitCode::SUCCESS
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}
