//! Real binaries under AWS's Runtime Interface Emulator. As in Lambda, an environment processes one
//! event at a time.
#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop here")]

use crate::patterns;
use function::{Context, Diagnostic, Invocation};
use futures::future::BoxFuture;
use local::{Builder, Handler, Stack};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    net::{TcpListener, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use table::Usage;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};
use uuid::Uuid;

/// Maximum time to wait for a response. A function that crashed never responds.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The settings and limits of a function's environment.
#[derive(Debug, Clone)]
pub struct Place {
    /// The environment variables.
    pub settings: BTreeMap<String, String>,
    /// The memory limit in MB.
    pub memory: i32,
}

impl Place {
    /// The environment of a function in a stack. It uses the services of the stack.
    ///
    /// # Panics
    /// The stack has no such function.
    pub fn of(stack: &Stack, function: &str) -> Self {
        let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == function).expect("a known function");
        let own = [
            ("AWS_LAMBDA_FUNCTION_NAME", function),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", &lambda.memory.to_string()),
            ("AWS_LAMBDA_FUNCTION_TIMEOUT", &lambda.timeout.as_secs().to_string()),
            ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_ENDPOINT_URL_DYNAMODB", stack.dynamo_url()),
            ("AWS_ENDPOINT_URL_EVENTBRIDGE", stack.services_url()),
            ("AWS_ENDPOINT_URL_FIREHOSE", stack.services_url()),
            ("AWS_ENDPOINT_URL_S3", stack.services_url()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { settings: lambda.environment.clone().into_iter().chain(own).collect(), memory: lambda.memory }
    }

    /// Sets an environment variable.
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.insert(setting.to_owned(), value.to_owned());
        self
    }
}

/// The path of a function's binary: the output of `make build` in the folder `BINARIES` if it
/// exists, or else the dev build.
///
/// # Panics
/// `BINARIES` is not a folder.
pub fn binary(function: &str) -> PathBuf {
    let folder = std::env::var_os("BINARIES").map(PathBuf::from);
    assert!(folder.as_ref().is_none_or(|folder| folder.is_dir()), "{folder:?} is not a folder");
    let built = folder.map(|folder| folder.join(function).join("bootstrap")).filter(|path| path.exists());
    built.unwrap_or_else(|| std::env::current_exe().expect("a test").with_file_name("..").join(function))
}

/// A TCP port of 127.0.0.1 for a process that takes its port as an argument.
///
/// The number is below the range of ephemeral ports, so the system does not assign it to another
/// process. A `Port` also binds the UDP port with the same number, so that no other test gets the
/// number before the `Port` is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: UdpSocket,
}

impl Port {
    /// Finds a free port.
    ///
    /// # Panics
    /// No port is free.
    pub fn free() -> Self {
        let free = (10_000..30_000).find_map(|number| {
            let held = UdpSocket::bind(("127.0.0.1", number)).ok()?;
            TcpListener::bind(("127.0.0.1", number)).ok().map(|_| Self { number, _held: held })
        });
        free.expect("a port")
    }

    /// The port number.
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Waits until a process listens on each of the ports. Returns `false` if the process exits first.
pub async fn listening(ports: &[&Port], process: &mut Child) -> bool {
    let listens = async {
        for port in ports {
            while TcpStream::connect(("127.0.0.1", port.number)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    };
    tokio::select! {
        listens = timeout(PATIENCE, listens) => listens.is_ok(),
        _ = process.wait() => false,
    }
}

/// An execution environment of a function. The emulator starts the function's process for the first
/// event, and again after a crash.
#[derive(Debug)]
pub struct Environment {
    emulator: Child,
    url: String,
    folder: PathBuf,
    http: reqwest::Client,
    _ports: [Port; 2],
}

impl Environment {
    /// Starts an environment that waits for its first event.
    ///
    /// # Panics
    /// The emulator, whose path is in `EMULATOR`, does not start.
    pub async fn start(binary: &Path, place: &Place) -> Self {
        let folder = std::env::temp_dir().join(format!("lambda-{}", Uuid::now_v7()));
        fs::create_dir(&folder).expect("a folder");
        let bootstrap = folder.join("bootstrap");
        // Lambda limits the memory in use. `ulimit` limits the allocated memory, which is stricter.
        let script =
            format!("#!/bin/sh\nulimit -v {}\nulimit -c 0\nexec '{}'\n", place.memory * 1024, binary.display());
        fs::write(&bootstrap, script).expect("a script");
        fs::set_permissions(&bootstrap, Permissions::from_mode(0o700)).expect("an executable");
        // Another process may take a free port before the emulator does, so several attempts are
        // made.
        for _ in 0..10 {
            // The emulator opens the port for events shortly before the port of the Runtime API. It
            // exits if a port is taken.
            let (port, api) = (Port::free(), Port::free());
            let mut emulator = emulator(&port, &api, &bootstrap, place, &folder);
            if listening(&[&port, &api], &mut emulator).await {
                let url = format!("http://127.0.0.1:{}/2015-03-31/functions/function/invocations", port.number);
                let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
                return Self { emulator, url, folder, http, _ports: [port, api] };
            }
        }
        panic!("the emulator does not start: {}", emulators_log(&folder));
    }

    /// Sends an event to the function. Returns its response, or its error as Lambda reports it.
    ///
    /// # Panics
    /// The emulator does not respond.
    pub async fn invoke(&self, event: impl Into<reqwest::Body>) -> Result<Value, Diagnostic> {
        let sent = self.http.post(&self.url).body(event).send().await;
        let answer = sent.unwrap_or_else(|error| panic!("{error:?}: {}", emulators_log(&self.folder)));
        let text = answer.text().await.expect("text");
        if text.is_empty() {
            // The emulator's response if the function exited before it requested its first event.
            return Err(Diagnostic { error_type: "Runtime.ExitError".to_owned(), error_message: text });
        }
        let error = serde_json::from_str(&text);
        error.map_or_else(|_| Ok(serde_json::from_str(&text).expect("JSON")), Err)
    }

    /// The lines of the function's log as JSON. A line that is not JSON becomes `{"not JSON":
    /// line}`.
    ///
    /// # Panics
    /// The log cannot be read.
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join("log")).expect("a log");
        let platform = |line: &&str| ["START ", "END ", "REPORT "].iter().any(|start| line.starts_with(start));
        let lines = text.lines().filter(|line| !line.is_empty() && !platform(line));
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!({"not JSON": line}))).collect()
    }

    /// Stops the emulator. The function then exits by itself, because the Runtime API is gone.
    ///
    /// # Panics
    /// The emulator cannot be stopped.
    pub async fn stop(mut self) {
        self.emulator.kill().await.expect("an emulator");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn emulators_log(folder: &Path) -> String {
    fs::read_to_string(folder.join("emulator")).unwrap_or_default()
}

fn emulator(port: &Port, api: &Port, bootstrap: &Path, place: &Place, folder: &Path) -> Child {
    let path = std::env::var_os("EMULATOR").expect("EMULATOR, which `make test-lambda` sets");
    let file = |name| File::create(folder.join(name)).expect("a file");
    Command::new(path)
        .args(["--log-level", "error", "--runtime-interface-emulator-address", &format!("127.0.0.1:{}", port.number)])
        .args(["--runtime-api-address", &format!("127.0.0.1:{}", api.number)])
        .arg(bootstrap)
        .env_clear()
        .envs(&place.settings)
        .stdout(file("log"))
        .stderr(file("emulator"))
        .kill_on_drop(true)
        .spawn()
        .expect("the emulator")
}

/// All functions as real binaries. Each function has one environment per concurrent caller.
#[derive(Debug, Default)]
pub struct Lambdas {
    places: OnceLock<BTreeMap<String, Place>>,
    idle: Mutex<BTreeMap<&'static str, Vec<Environment>>>,
}

impl Lambdas {
    /// Starts a stack that runs these binaries, with its routes, streams and schedules.
    ///
    /// # Panics
    /// The stack does not start.
    pub async fn stack() -> (Stack, Arc<Self>) {
        Self::of(crate::stack()).await
    }

    /// Starts a stack with this configuration whose functions run under the emulator.
    pub async fn of(stack: Builder) -> (Stack, Arc<Self>) {
        let lambdas = Arc::new(Self::default());
        let handlers = patterns::all().into_iter().map(|pattern| (pattern.name, Self::handler(&lambdas, pattern.name)));
        let stack = stack.handlers(handlers).start().await.expect("a stack");
        let names = stack.template().lambdas.iter().map(|lambda| lambda.name.clone());
        let places = names.map(|name| (name.clone(), Place::of(&stack, &name)));
        lambdas.places.set(places.collect()).expect("the environments are set only once");
        (stack, lambdas)
    }

    fn handler(lambdas: &Arc<Self>, name: &'static str) -> Handler {
        let lambdas = Arc::clone(lambdas);
        Arc::new(move |event, _: Context| -> BoxFuture<'static, Invocation> {
            let lambdas = Arc::clone(&lambdas);
            Box::pin(async move {
                let free = lambdas.idle().entry(name).or_default().pop();
                let environment = match free {
                    Some(environment) => environment,
                    None => Environment::start(&binary(name), &lambdas.places.get().expect("a stack")[name]).await,
                };
                let answer = environment.invoke(event.to_string()).await;
                lambdas.idle().entry(name).or_default().push(environment);
                Invocation { answer, usage: Usage::default() }
            })
        })
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<&'static str, Vec<Environment>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The logs of a function, one per environment.
    pub fn logs(&self, function: &str) -> Vec<Vec<Value>> {
        self.idle().get(function).into_iter().flatten().map(Environment::log).collect()
    }

    /// Stops all environments.
    pub async fn stop(&self) {
        let all = std::mem::take(&mut *self.idle());
        for environment in all.into_values().flatten() {
            environment.stop().await;
        }
    }
}
