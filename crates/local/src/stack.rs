//! Starts and stops a local stack: the tables, the functions, the gateway and the lake of a
//! template.
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use function::{Clients, Function};
use jiff::Timestamp;
use keys::Random;
use serde_json::{Value, json};
use table::Dynamo;
use tokio::{task::spawn_blocking, time::sleep};

use crate::{
    follower::{Context, EventSourcePoller, Follower, Positions},
    forwarder::Forwarder,
    gateway::{Gateway, Reset, Resets, Routes},
    lambda::{self, Bind, Handler, Lambda},
    notifier::Notifier,
    role::{Notes, PERMISSIONS_USED, Role},
    world::{self, PAUSE, Stage, WorldError},
};
use console::{Console, Recorder};
use engine::{
    Engine,
    server::{Near, PATIENCE, Port, Server, cors},
};
use events::{
    Events,
    auth::{self, Auth, Claims, TokenError, Tokens},
    functions,
};
use hostile::{Hostile, Rates};
use objects::{Lake, Services};
use template::{Authorizer, Mapping, Selection, Template, TemplateError};

// Default lifetime of a token. `--expires-in` or an `exp` claim overrides it.
const TOKEN_LIFE: Duration = Duration::from_hours(1);

/// Host name of the machine inside a Docker container.
pub(crate) const DOCKER_HOST: &str = "host.docker.internal";
/// Environment variable with the URL of a DynamoDB that replaces the embedded engine.
const DYNAMODB_LOCAL: &str = "DYNAMODB_LOCAL";

/// The error of a stack that could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The template file does not exist.
    #[error("there is no {path} here; run the command in the root folder of the repository, or set --template", path = .0.display())]
    NoTemplate(PathBuf),
    /// The template file can't be read.
    #[error("{path}: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    /// The template is invalid, or contains a construct that the local stack does not support.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// DynamoDB cannot start.
    #[error(transparent)]
    Engine(#[from] engine::StartError),
    /// A port is in use.
    #[error("port {0} is already in use: choose another with --{1} or {2}")]
    PortInUse(u16, &'static str, &'static str),
    /// The port can't be opened at the address of `--listen`.
    #[error("port {1} can't be opened at {0}: {2}")]
    Listen(IpAddr, u16, io::Error),
    /// A port can't be opened, for a reason other than being in use.
    #[error("port {0} can't be opened: {1}")]
    Port(u16, io::Error),
    /// The stream positions of the data file can't be read.
    #[error("the stream positions {path} can't be read: {1}; delete the file, and the functions receive all records again", path = .0.display())]
    Positions(PathBuf, String),
    /// The folder of the lake can't be created.
    #[error("the folder of the lake can't be created: {0}")]
    Lake(io::Error),
    /// The folder for the log of used permissions can't be created.
    #[error("{PERMISSIONS_USED}: {0}")]
    Notes(io::Error),
    /// The client that posts the events can't be created.
    #[error("--events-to: {0}")]
    Forwarder(String),
    /// The operating system provides no random bytes.
    #[error("the operating system provides no random bytes: {0}")]
    Random(io::Error),
    /// The template declares a function twice, or declares a function that no crate contains.
    #[error("{0}")]
    Functions(String),
    /// The replicas of the hostile mode can't be created.
    #[error("the hostile mode can't start: {0}")]
    Hostile(String),
    /// A function rejects its settings.
    #[error("function {0}: {1}")]
    Settings(String, String),
}

/// Options of a stack. Create a builder with [`Stack::builder`] or [`Stack::of_text`].
pub struct Builder {
    source: Source,
    name: String,
    parameters: BTreeMap<String, String>,
    selection: Selection,
    settings: Vec<(String, String)>,
    auth: Auth,
    port: u16,
    dynamodb_port: u16,
    listen: Option<IpAddr>,
    data: Option<PathBuf>,
    dynamo_endpoint: Option<String>,
    lake: Option<PathBuf>,
    firehose_endpoint: Option<String>,
    s3_endpoint: Option<String>,
    events_to: Option<String>,
    functions: Vec<(String, Bind)>,
    remote: Option<String>,
    clock: Option<Timestamp>,
    patience: Duration,
    waits: bool,
    console: bool,
    hostile: Option<(u64, Rates)>,
}

enum Source {
    File(PathBuf),
    Text(String),
}

impl Builder {
    fn new(source: Source) -> Self {
        let functions = functions().map(|(name, function)| (name.to_owned(), lambda::bind(function)));
        Self {
            source,
            name: "local".to_owned(),
            parameters: BTreeMap::new(),
            selection: Selection::default(),
            settings: Vec::new(),
            auth: Auth::Open,
            port: 0,
            dynamodb_port: 0,
            listen: None,
            data: None,
            dynamo_endpoint: None,
            lake: None,
            firehose_endpoint: None,
            s3_endpoint: None,
            events_to: None,
            functions: functions.collect(),
            remote: std::env::var(DYNAMODB_LOCAL).ok(),
            clock: None,
            patience: PATIENCE,
            waits: false,
            console: false,
            hostile: None,
        }
    }

    /// Sets the stack name, which is the prefix of the table names. Default: `local`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets a parameter of the template.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Selects the nested applications to run, such as `bank`. Default: all.
    pub fn stacks(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.selection = Selection::of(names);
        self
    }

    /// Sets an environment variable of every function. The value overrides the template.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Sets whether requests need a token. Default: [`Auth::Open`].
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// Sets the port of the gateway. Default: any free port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the port of the DynamoDB endpoint. Default: any free port.
    pub fn dynamodb_port(mut self, port: u16) -> Self {
        self.dynamodb_port = port;
        self
    }

    /// Opens the DynamoDB port at this address too, such as at the address of the Docker bridge.
    /// The port then also accepts requests with the host `host.docker.internal`. Default: only
    /// the loopback interface.
    pub fn listen(mut self, address: Option<IpAddr>) -> Self {
        self.listen = address;
        self
    }

    /// Sets the file that stores the data. Default: in memory.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        self.data = Some(path.into());
        self
    }

    /// Sets the DynamoDB endpoint that the functions call, such as a proxy that injects faults.
    /// Default: the engine of this stack. The engine also serves its own endpoint in either case.
    pub fn dynamo_endpoint(mut self, url: impl Into<String>) -> Self {
        self.dynamo_endpoint = Some(url.into());
        self
    }

    /// Replaces the embedded engine with a running DynamoDB, such as DynamoDB Local, at this URL.
    /// The stack creates its tables there.
    pub fn dynamodb(mut self, url: impl Into<String>) -> Self {
        self.remote = Some(url.into());
        self
    }

    /// Sets the time of every request to the API. Default: the current time.
    pub fn clock(mut self, now: Timestamp) -> Self {
        self.clock = Some(now);
        self
    }

    /// Sets the folder of the S3 buckets. Default: a temporary folder, which is removed when the
    /// stack stops.
    pub fn lake(mut self, path: impl Into<PathBuf>) -> Self {
        self.lake = Some(path.into());
        self
    }

    /// Sets the Firehose endpoint that the functions call. Default: the local lake.
    pub fn firehose_endpoint(mut self, url: impl Into<String>) -> Self {
        self.firehose_endpoint = Some(url.into());
        self
    }

    /// Sets the S3 endpoint that the functions call. Default: the local lake. Failure destinations
    /// of event source mappings always use the local lake.
    pub fn s3_endpoint(mut self, url: impl Into<String>) -> Self {
        self.s3_endpoint = Some(url.into());
        self
    }

    /// Sets the URL of a program that gets each published event as a POST request. Default: none.
    pub fn events_to(mut self, url: impl Into<String>) -> Self {
        self.events_to = Some(url.into());
        self
    }

    /// Replaces the functions of the service crates.
    pub fn functions(mut self, functions: impl IntoIterator<Item = (&'static str, Function)>) -> Self {
        let bound = functions.into_iter().map(|(name, function)| (name.to_owned(), lambda::bind(function)));
        self.functions = bound.collect();
        self
    }

    /// Replaces the functions of the service crates with handlers, such as binaries in a Lambda
    /// emulator. The stack does not pass settings or clients to handlers.
    pub fn handlers(mut self, handlers: impl IntoIterator<Item = (&'static str, Handler)>) -> Self {
        let bound = handlers.into_iter().map(|(name, handler)| -> (String, Bind) {
            (name.to_owned(), Box::new(move |_, _| Ok(Arc::clone(&handler))))
        });
        self.functions = bound.collect();
        self
    }

    #[cfg(test)]
    pub(crate) fn bound(mut self, functions: Vec<(String, Bind)>) -> Self {
        self.functions = functions;
        self
    }

    /// Reports `starting` as the health of the stack until [`Stack::ready`] is called, such as when
    /// the sample data is loaded.
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Serves the console, and records every invocation for it. Default: no console.
    pub fn console(mut self, console: bool) -> Self {
        self.console = console;
        self
    }

    /// Injects faults into the calls and the events of the functions, from the seed
    /// (docs/hostile.md). Default: no faults.
    ///
    /// Reads are never stale if the functions use another DynamoDB than the embedded engine.
    pub fn hostile(mut self, seed: u64, rates: Rates) -> Self {
        self.hostile = Some((seed, rates));
        self
    }

    /// Returns all scopes of the routes.
    ///
    /// # Errors
    /// [`StartError`] if the template can't be read.
    pub fn scopes(&self) -> Result<Vec<String>, StartError> {
        Ok(self.template()?.scopes())
    }

    /// Sets the time after which a half-sent request is ended. Default: 30 seconds.
    #[cfg(test)]
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts the stack. All endpoints accept requests when this method returns.
    ///
    /// # Errors
    /// [`StartError`] with a message of one line.
    pub async fn start(self) -> Result<Stack, StartError> {
        let template = self.template()?;
        check_functions(&template, &self.functions)?;
        let dynamodb = self.dynamodb_ports().await?;
        let port = bind(self.port, "port", "PORT").await?;
        let services = bind(0, "port", "PORT").await?;
        let lake = Arc::new(Lake::new(self.lake.as_deref(), &template).map_err(StartError::Lake)?);
        let (data, remote) = (self.data.as_deref(), self.remote.as_deref());
        let others = Arc::new(Services(Arc::clone(&lake)));
        let engine = Engine::start(dynamodb, data, remote, &template.tables, &others, self.patience).await?;
        let services_url = format!("http://{}", services.address);
        let hostile = self.faults(&template, &engine)?;
        let access = Access::new(&self, &engine, &services_url, hostile.as_ref())?;
        lake.set_roles(
            template.lambdas.iter().map(|lambda| (lambda.name.clone(), access.role(lambda).allows_s3())).collect(),
        );
        let tokens = Tokens::new(template.authorizer.clone().unwrap_or_else(Authorizer::local));
        let console = self.console.then(|| {
            let root = self.root();
            Arc::new(Console::new(engine.store.clone(), &template, tokens.clone(), root, lake.folder().to_owned()))
        });
        let recorder = console.as_ref().map(|console| Arc::clone(&console.recorder));
        if let Some(recorder) = recorder.clone() {
            engine.observe(Box::new(move |seen| recorder.observe(seen)));
        }
        let lambdas = self.lambdas(&template, &access, recorder.as_ref())?;
        let context = self.context(&engine, &lake)?;
        let gateway = Arc::new(Gateway { console, ..self.gateway(&template, lambdas, &context, tokens, hostile)? });
        let stack = Stack {
            url: format!("http://{}", port.address),
            services_url,
            server: Server::start(port, Arc::clone(&gateway), self.patience),
            gateway: Arc::clone(&gateway),
            services: Server::start(services, others, self.patience),
            notifier: Notifier::start(&lake, &gateway.lambdas, gateway.hostile.as_ref()),
            follower: Follower::start(&gateway.pollers),
            _forwarder: self.forwarder(&gateway)?,
            engine,
            lake,
            tokens: gateway.tokens.clone(),
            access,
            template,
        };
        if !self.waits {
            stack.ready();
        }
        Ok(stack)
    }

    fn forwarder(&self, gateway: &Gateway) -> Result<Option<Forwarder>, StartError> {
        let start = |url: &String| Forwarder::start(url, Arc::clone(&gateway.lake), gateway.hostile.clone());
        self.events_to.as_ref().map(start).transpose().map_err(|error| StartError::Forwarder(error.to_string()))
    }

    /// Binds the DynamoDB port of the loopback interface and of the address of `--listen`.
    async fn dynamodb_ports(&self) -> Result<Vec<Port>, StartError> {
        let own = bind(self.dynamodb_port, "dynamodb-port", "DYNAMODB_PORT").await?;
        let Some(address) = self.listen else { return Ok(vec![own]) };
        let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        let hosts = vec![host, DOCKER_HOST.to_owned()];
        // Docker Desktop forwards host.docker.internal to the loopback interface.
        if address == Ipv4Addr::LOCALHOST {
            return Ok(vec![own.with_hosts(hosts)]);
        }
        let number = own.address.port();
        let further = Port::bind_at(address, number).await;
        let further = further.map_err(|error| StartError::Listen(address, number, error))?;
        Ok(vec![own, further.with_hosts(hosts)])
    }

    fn context(&self, engine: &Engine, lake: &Arc<Lake>) -> Result<Context, StartError> {
        let file = || self.data.as_deref().map(Positions::file).unwrap_or_default();
        let fail = |error: io::Error| StartError::Positions(file(), error.to_string());
        Context::new(engine.store.clone(), Arc::clone(lake), self.data.as_deref()).map_err(fail)
    }

    fn faults(&self, template: &Template, engine: &Engine) -> Result<Option<Arc<Hostile>>, StartError> {
        let Some((seed, rates)) = self.hostile else { return Ok(None) };
        let is_own = self.remote.is_none() && self.dynamo_endpoint.is_none();
        let hostile = Hostile::new(seed, rates, &template.tables, is_own.then_some(&engine.store));
        hostile.map(Some).map_err(StartError::Hostile)
    }

    pub(crate) fn template(&self) -> Result<Template, StartError> {
        let (text, file) = match &self.source {
            Source::Text(text) => (text.clone(), Path::new("template.yaml")),
            Source::File(path) => {
                let text = fs::read_to_string(path).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => StartError::NoTemplate(path.clone()),
                    _ => StartError::Read(path.clone(), error),
                })?;
                (text, path.as_path())
            }
        };
        Ok(Template::read_some(&text, file, &self.name, &self.parameters, &self.selection)?)
    }

    /// Folder of the template.
    fn root(&self) -> PathBuf {
        match &self.source {
            Source::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
            Source::Text(_) => PathBuf::new(),
        }
    }

    fn gateway(
        &self,
        template: &Template,
        lambdas: Lambdas,
        context: &Context,
        tokens: Tokens,
        hostile: Option<Arc<Hostile>>,
    ) -> Result<Gateway, StartError> {
        Ok(Gateway {
            routes: Routes::of(template),
            pollers: pollers(&lambdas, context, hostile.as_ref())?,
            hostile,
            store: context.store.clone(),
            lake: Arc::clone(&context.lake),
            lambdas,
            tokens,
            auth: self.auth,
            scopes: template.scopes(),
            pages: template.api_pages.as_ref().map(cors),
            stack: self.name.clone(),
            clock: self.clock,
            health: OnceLock::new(),
            console: None,
            resets: Resets::default(),
        })
    }

    fn lambdas(
        &self,
        template: &Template,
        access: &Access,
        recorder: Option<&Arc<Recorder>>,
    ) -> Result<Lambdas, StartError> {
        let mut lambdas = BTreeMap::new();
        for spec in &template.lambdas {
            let Some((_, bind)) = self.functions.iter().find(|(name, _)| *name == spec.name) else { continue };
            let template = spec.environment.clone().into_iter();
            let settings = template.chain(self.settings.iter().cloned()).collect();
            let bound = bind(&settings, access.clients(spec));
            let handler = bound.map_err(|error| StartError::Settings(spec.name.clone(), error))?;
            let lambda = Lambda::new(spec.clone(), handler, recorder.cloned()).can_fail(self.hostile.is_some());
            lambdas.insert(spec.name.clone(), Arc::new(lambda));
        }
        Ok(lambdas)
    }
}

/// Endpoints and client configuration of the functions.
struct Access {
    config: SdkConfig,
    dynamodb: String,
    firehose: String,
    s3: String,
    services: String,
    random: Random,
    notes: Option<Arc<Notes>>,
}

impl Access {
    fn new(
        builder: &Builder,
        engine: &Engine,
        services: &str,
        hostile: Option<&Arc<Hostile>>,
    ) -> Result<Self, StartError> {
        let endpoint = |given: &Option<String>, own: &str| given.clone().unwrap_or_else(|| own.to_owned());
        Ok(Self {
            config: match hostile {
                Some(hostile) => hostile.configure(engine.config()?),
                None => engine.config()?,
            },
            dynamodb: endpoint(&builder.dynamo_endpoint, &engine.url),
            firehose: endpoint(&builder.firehose_endpoint, services),
            s3: endpoint(&builder.s3_endpoint, services),
            services: services.to_owned(),
            random: function::system_random().map_err(StartError::Random)?,
            notes: Notes::of_environment().map_err(StartError::Notes)?,
        })
    }

    /// Client configuration of a function. Calls that the function's policy does not allow are
    /// denied.
    fn config(&self, lambda: &template::Lambda) -> SdkConfig {
        self.role(lambda).assume(&self.config)
    }

    fn role(&self, lambda: &template::Lambda) -> Role {
        Role::new(lambda, self.notes.clone())
    }

    fn clients(&self, lambda: &template::Lambda) -> Clients {
        self.clients_with(lambda, self.random.clone())
    }

    fn clients_with(&self, lambda: &template::Lambda, random: Random) -> Clients {
        let config = self.config(lambda);
        let dynamo = Dynamo::new(&engine::client(&config, &self.dynamodb), random);
        let clients = Clients::new(dynamo, config).at("firehose", &self.firehose).at("s3", &self.s3);
        clients.at("secretsmanager", &self.services).at("events", &self.services)
    }
}

type Lambdas = BTreeMap<String, Arc<Lambda>>;

fn pollers(
    lambdas: &Lambdas,
    context: &Context,
    hostile: Option<&Arc<Hostile>>,
) -> Result<Vec<Arc<EventSourcePoller>>, StartError> {
    let mappings =
        lambdas.values().flat_map(|lambda| lambda.spec.mappings.iter().map(move |mapping| (lambda, mapping)));
    let poller = |(lambda, mapping): (_, &Mapping)| {
        let fail = |error| StartError::Engine(engine::StartError::Table(mapping.table.clone(), error));
        context.pollers(lambda, mapping, hostile).map_err(fail)
    };
    Ok(mappings.map(poller).collect::<Result<Vec<_>, _>>()?.concat())
}

async fn bind(port: u16, option: &'static str, variable: &'static str) -> Result<Port, StartError> {
    Port::bind(port).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse(port, option, variable),
        _ => StartError::Port(port, error),
    })
}

/// Checks that a crate contains each function of the template, and that the template declares no
/// function twice.
fn check_functions(template: &Template, functions: &[(String, Bind)]) -> Result<(), StartError> {
    let built: BTreeSet<_> = functions.iter().map(|(name, _)| name.as_str()).collect();
    let mut described = BTreeSet::new();
    let mut faults = Vec::new();
    for lambda in &template.lambdas {
        if !described.insert(lambda.name.as_str()) {
            faults.push(format!("the template declares the function {} twice", lambda.name));
        }
    }
    faults.extend(described.difference(&built).map(|name| format!("no crate contains the template's function {name}")));
    if faults.is_empty() { Ok(()) } else { Err(StartError::Functions(faults.join("; "))) }
}

/// A request to reset the data of a stack.
pub struct ResetRequest(Option<Reset>);

/// A running stack. Dropping the stack stops it without waiting for running requests.
pub struct Stack {
    url: String,
    services_url: String,
    server: Server,
    gateway: Arc<Gateway>,
    services: Server,
    notifier: Notifier,
    follower: Follower,
    _forwarder: Option<Forwarder>,
    engine: Engine,
    lake: Arc<Lake>,
    tokens: Tokens,
    access: Access,
    template: Template,
}

impl fmt::Debug for Stack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stack").field("url", &self.url).field("dynamo_url", &self.engine.url).finish_non_exhaustive()
    }
}

impl Stack {
    /// Returns a builder for the stack of a template file.
    pub fn builder(template: impl Into<PathBuf>) -> Builder {
        Builder::new(Source::File(template.into()))
    }

    /// Returns a builder for the stack of a template text.
    pub fn of_text(template: impl Into<String>) -> Builder {
        Builder::new(Source::Text(template.into()))
    }

    /// URL of the gateway, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// URL of the DynamoDB endpoint.
    pub fn dynamo_url(&self) -> &str {
        &self.engine.url
    }

    /// URL of the endpoint for Firehose and S3.
    pub fn services_url(&self) -> &str {
        &self.services_url
    }

    /// Calls the gateway without a connection.
    pub fn near(&self) -> &Near {
        &self.server.near
    }

    /// Name and URL of every listener.
    #[cfg(test)]
    pub(crate) fn listeners(&self) -> [(&'static str, &str); 3] {
        [("api", self.url()), ("dynamodb", self.dynamo_url()), ("services", self.services_url())]
    }

    /// Folder of the lake. It contains a folder for each bucket.
    pub fn lake(&self) -> &Path {
        self.lake.folder()
    }

    /// Template of the stack.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Creates the world of each service of the stack: data in which every event of `events`
    /// succeeds. A second call changes nothing.
    ///
    /// # Errors
    /// [`WorldError`] if a file cannot be read, or a step fails.
    pub async fn create_world(&self, events: &Events) -> Result<(), WorldError> {
        self.set_calm(true);
        let created = world::create(self, events, usize::MAX).await;
        self.set_calm(false);
        created
    }

    /// Waits until somebody asks to reset the data.
    pub async fn reset_requested(&self) -> ResetRequest {
        ResetRequest(self.gateway.resets.next().await)
    }

    /// Resets the data: deletes all items of all tables, and creates the worlds again. The streams
    /// pass on the deletions, so that the lake follows.
    pub async fn reset(&self, request: ResetRequest, events: &Events) {
        let done = self.create_again(events).await;
        // The caller may have gone.
        let _ = request.0.map(|request| request.send(done));
    }

    async fn create_again(&self, events: &Events) -> Result<usize, String> {
        let store = self.engine.store.clone();
        let deleted = spawn_blocking(move || store.clear()).await.map_err(|error| error.to_string())??;
        self.create_world(events).await.map_err(|error| error.to_string())?;
        Ok(deleted)
    }

    /// Physical names of the tables.
    pub fn tables(&self) -> Vec<&str> {
        self.template.tables.iter().map(|table| table.name.as_str()).collect()
    }

    /// Physical names of the S3 buckets.
    pub fn buckets(&self) -> &[String] {
        &self.template.buckets
    }

    /// Physical name of the table whose name has this suffix.
    pub fn table(&self, end: &str) -> Option<&str> {
        self.tables().into_iter().find(|name| name.ends_with(end))
    }

    /// Signs a token with these claims. Adds defaults for missing claims `iss`, `aud`, `iat` and
    /// `exp`. By default, the token expires in one hour.
    ///
    /// # Errors
    /// [`TokenError`] if signing fails.
    pub fn token(&self, claims: Claims) -> Result<String, TokenError> {
        self.tokens.sign(claims, TOKEN_LIFE)
    }

    /// Signs a token for the local operator, who has every scope.
    ///
    /// # Errors
    /// [`TokenError`] if signing fails.
    pub fn operator_token(&self) -> Result<String, TokenError> {
        self.token(auth::operator(&self.template.scopes()))
    }

    /// DynamoDB client of the stack, without a function's role.
    ///
    /// # Errors
    /// [`StartError::Client`] if the client can't be created.
    pub fn client(&self) -> Result<Client, StartError> {
        Ok(engine::client(&self.engine.config()?, self.dynamo_url()))
    }

    /// Clients of the function. Calls that the function's policy does not allow are denied.
    pub fn clients_of(&self, lambda: &template::Lambda) -> Clients {
        self.access.clients(lambda)
    }

    /// DynamoDB client of the function. Calls that the function's policy does not allow are denied.
    pub fn client_of(&self, lambda: &template::Lambda) -> Client {
        engine::client(&self.access.config(lambda), self.dynamo_url())
    }

    /// Whether the stack is in the hostile mode.
    pub fn is_hostile(&self) -> bool {
        self.gateway.hostile.is_some()
    }

    /// Stops or resumes the faults of a stack in the hostile mode.
    pub fn set_calm(&self, is_calm: bool) {
        if let Some(hostile) = &self.gateway.hostile {
            hostile.set_calm(is_calm);
        }
    }

    /// Lets the replicas of the hostile mode receive all changes so far.
    pub fn catch_up(&self) {
        if let Some(hostile) = &self.gateway.hostile {
            hostile.catch_up();
        }
    }

    /// The number of injected faults of each rate.
    pub fn injected(&self) -> BTreeMap<&'static str, u64> {
        self.gateway.hostile.as_ref().map(|hostile| hostile.counts()).unwrap_or_default()
    }

    /// Stops the stack and closes its connections and its data file.
    pub async fn stop(self) {
        self.server.stop().await;
        self.notifier.stop().await;
        self.follower.stop().await;
        self.services.stop().await;
        self.engine.stop().await;
    }

    /// Reports `ok` as the health of the stack from now on.
    pub fn ready(&self) {
        // A second call changes nothing.
        let _ = self.gateway.health.set(self.health());
    }

    fn health(&self) -> Value {
        let functions: Vec<_> = self.template.lambdas.iter().map(|lambda| &lambda.name).collect();
        let mut health = json!({
            "status": "ok",
            "services": self.template.services(),
            "functions": functions,
            "tables": self.tables(),
            "dynamodb": self.dynamo_url(),
            "firehose": self.services_url,
            "s3": self.services_url,
            "lake": self.lake.folder(),
        });
        if let Some(inbox) = self.inbox() {
            health["inbox"] = inbox.into();
        }
        health
    }

    /// Physical name of the bucket for files to import, if the stack has one.
    pub fn inbox(&self) -> Option<&str> {
        self.template.inbox()
    }
}

impl Stage for Stack {
    fn template(&self) -> &Template {
        &self.template
    }

    fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    fn dynamodb(&self) -> Result<Client, String> {
        self.client().map_err(|error| error.to_string())
    }

    fn seeded(&self, lambda: &Lambda, random: Random) -> Result<Lambda, String> {
        lambda.bound(self.access.clients_with(&lambda.spec, random))
    }

    fn import(&self, key: &str, data: &[u8]) -> Result<bool, String> {
        let inbox = self.inbox().filter(|_| self.access.s3 == self.services_url);
        inbox
            .map(|inbox| self.lake.put(inbox, key, data))
            .transpose()
            .map(|put| put.is_some())
            .map_err(|error| format!("{error:?}"))
    }

    async fn pass(&self) -> Result<(), String> {
        sleep(PAUSE).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
