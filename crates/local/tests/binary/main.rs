//! Tests of the command line `local` as its users run it, in processes of its own.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may stop here")]

mod data;
mod listeners;
mod mistakes;

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

const BINARY: &str = env!("CARGO_BIN_EXE_local");

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Temporary folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("local-test-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the command to its end. Of the variables of the local stack, its environment has only the
/// default ports. They are in use, as beside `make run`.
async fn run(folder: &Path, arguments: &[&str]) -> Output {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new(BINARY);
    for variable in ["DATA", "LAKE", "DYNAMODB_LOCAL"] {
        command.env_remove(variable);
    }
    for variable in ["PORT", "DYNAMODB_PORT"] {
        command.env(variable, taken.local_addr().unwrap().port().to_string());
    }
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.unwrap()
}

/// A running stack with its URLs. It is killed when dropped.
struct Running {
    child: Child,
    api: String,
    dynamodb: String,
    services: String,
}

impl Running {
    /// Starts `local run` on free ports, and waits until it serves.
    async fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(["run", "--port", "0", "--dynamodb-port", "0"]).args(arguments);
        command.env_remove("DATA").env_remove("LAKE").env_remove("DYNAMODB_LOCAL");
        let mut child =
            command.current_dir(root()).stdout(Stdio::piped()).stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = async || lines.next_line().await.unwrap().unwrap();
        let first = line().await;
        let first = if first.starts_with("The console") { line().await } else { first };
        let second = line().await;
        assert!(second.contains(" The buckets are local-"), "{second}");
        let urls: Vec<_> = [first.as_str(), second.as_str()]
            .into_iter()
            .flat_map(|line| line.split_ascii_whitespace())
            .filter(|word| word.starts_with("http://"))
            .map(|word| word.trim_end_matches(',').to_owned())
            .collect();
        let [api, dynamodb, services] = urls.try_into().unwrap();
        Self { child, api, dynamodb, services }
    }
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}
