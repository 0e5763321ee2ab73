//! The local stack from the command line.
use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    local::cli::Cli::parse().execute().await
}
