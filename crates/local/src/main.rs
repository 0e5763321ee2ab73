//! Command line of the local stack.
use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    local::cli::Cli::parse().execute().await
}
