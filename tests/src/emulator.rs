//! Real binaries under AWS's Runtime Interface Emulator: environments as Lambda keeps them, with one event at a time.
#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop here")]

use crate::patterns;
use function::{Context, Diagnostic, Invocation};
use futures::future::BoxFuture;
use local::{Handler, Stack};
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

/// A function that died never answers.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// What a function finds where it runs.
#[derive(Debug, Clone)]
pub struct Place {
    /// The environment variables.
    pub settings: BTreeMap<String, String>,
    /// The memory that it may take, in MB.
    pub memory: i32,
}

impl Place {
    /// The function's place in a stack, with the stack's DynamoDB, Firehose and S3.
    ///
    /// # Panics
    /// Where the stack has no such function.
    #[must_use]
    pub fn of(stack: &Stack, function: &str) -> Self {
        let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == function).expect("a function");
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
            ("AWS_ENDPOINT_URL_FIREHOSE", stack.services_url()),
            ("AWS_ENDPOINT_URL_S3", stack.services_url()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { settings: lambda.environment.clone().into_iter().chain(own).collect(), memory: lambda.memory }
    }

    /// With this setting.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.insert(setting.to_owned(), value.to_owned());
        self
    }
}

/// The binary of the function: of the folder `BINARIES`, as far as `make build` filled it, else of the dev build.
///
/// # Panics
/// Where `BINARIES` is no folder.
#[must_use]
pub fn binary(function: &str) -> PathBuf {
    let folder = std::env::var_os("BINARIES").map(PathBuf::from);
    assert!(folder.as_ref().is_none_or(|folder| folder.is_dir()), "{folder:?} is no folder");
    let built = folder.map(|folder| folder.join(function).join("bootstrap")).filter(|path| path.exists());
    built.unwrap_or_else(|| std::env::current_exe().expect("a test").with_file_name("..").join(function))
}

/// A TCP port of 127.0.0.1 for a process that wants to be told its port.
///
/// Nobody gets it who asks the system for a free one, because it is below those that the system gives away; nor another test
/// as long as this one lives, in this process or another, because it holds UDP's port of the same number.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: UdpSocket,
}

impl Port {
    /// A port on which nobody listens.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn free() -> Self {
        let free = (10_000..30_000).find_map(|number| {
            let held = UdpSocket::bind(("127.0.0.1", number)).ok()?;
            TcpListener::bind(("127.0.0.1", number)).ok().map(|_| Self { number, _held: held })
        });
        free.expect("a port")
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Waits until somebody listens on each of these ports; not where the process ends before.
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

/// One environment of a function: its process, which the emulator starts with the first event, and again when it died.
#[derive(Debug)]
pub struct Environment {
    emulator: Child,
    url: String,
    folder: PathBuf,
    http: reqwest::Client,
    _ports: [Port; 2],
}

impl Environment {
    /// An environment that waits for its first event.
    ///
    /// # Panics
    /// Where the emulator, whose path is in `EMULATOR`, does not start.
    pub async fn start(binary: &Path, place: &Place) -> Self {
        let folder = std::env::temp_dir().join(format!("lambda-{}", Uuid::now_v7()));
        fs::create_dir(&folder).expect("a folder");
        let bootstrap = folder.join("bootstrap");
        // Lambda's limit is of what is used; this one is of what is asked for, and so the stricter one.
        let script =
            format!("#!/bin/sh\nulimit -v {}\nulimit -c 0\nexec '{}'\n", place.memory * 1024, binary.display());
        fs::write(&bootstrap, script).expect("a script");
        fs::set_permissions(&bootstrap, Permissions::from_mode(0o700)).expect("an executable");
        // Somebody else may take a port that was free.
        for _ in 0..10 {
            // It listens to events a moment before it does to the function, and ends where it can't.
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

    /// Gives the function an event: its answer, or its error as Lambda reports it.
    ///
    /// # Panics
    /// Where the emulator does not answer.
    pub async fn invoke(&self, event: impl Into<reqwest::Body>) -> Result<Value, Diagnostic> {
        let sent = self.http.post(&self.url).body(event).send().await;
        let answer = sent.unwrap_or_else(|error| panic!("{error:?}: {}", emulators_log(&self.folder)));
        let text = answer.text().await.expect("text");
        if text.is_empty() {
            // What the emulator says when the function ended before it asked for its first event.
            return Err(Diagnostic { error_type: "Runtime.ExitError".to_owned(), error_message: text });
        }
        let error = serde_json::from_str(&text);
        error.map_or_else(|_| Ok(serde_json::from_str(&text).expect("JSON")), Err)
    }

    /// What the function has written so far: each line is JSON, or `{"not JSON": line}`.
    ///
    /// # Panics
    /// Where the log can't be read.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join("log")).expect("a log");
        let platform = |line: &&str| ["START ", "END ", "REPORT "].iter().any(|start| line.starts_with(start));
        let lines = text.lines().filter(|line| !line.is_empty() && !platform(line));
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!({"not JSON": line}))).collect()
    }

    /// Ends it. The function ends by itself then, because nobody has events for it any more.
    ///
    /// # Panics
    /// Where the emulator can't be ended.
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

/// All functions as real binaries: as many environments of each as it has callers at once.
#[derive(Debug, Default)]
pub struct Lambdas {
    places: OnceLock<BTreeMap<String, Place>>,
    idle: Mutex<BTreeMap<&'static str, Vec<Environment>>>,
}

impl Lambdas {
    /// A stack whose functions these are, for its routes, streams and schedules.
    ///
    /// # Panics
    /// Where the stack does not start.
    pub async fn stack() -> (Stack, Arc<Self>) {
        let lambdas = Arc::new(Self::default());
        let handlers = patterns::all().into_iter().map(|pattern| (pattern.name, Self::handler(&lambdas, pattern.name)));
        let stack = crate::stack().handlers(handlers).start().await.expect("a stack");
        let names = stack.template().lambdas.iter().map(|lambda| lambda.name.clone());
        let places = names.map(|name| (name.clone(), Place::of(&stack, &name)));
        lambdas.places.set(places.collect()).expect("it is set once");
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

    /// What the environments of the function have written, each by itself.
    #[must_use]
    pub fn logs(&self, function: &str) -> Vec<Vec<Value>> {
        self.idle().get(function).into_iter().flatten().map(Environment::log).collect()
    }

    /// Ends them all.
    pub async fn stop(&self) {
        let all = std::mem::take(&mut *self.idle());
        for environment in all.into_values().flatten() {
            environment.stop().await;
        }
    }
}
