//! The world of a service, on which a driver plays its cases.

use crate::{
    answers,
    net::Net,
    peer::Peer,
    rows::{Row, Service},
};
use events::{Claims, EventRequest, Events, Expected};
use jsonschema::Validator;
use local::in_process::{InProcess, Invoked, Saved, clock};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env, mem,
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use system_tests::{
    Answer,
    events::folder,
    openapi::{Document, Operation},
    world::{NOW, connected, send_as, settle},
};
use tokio::time::sleep;

/// Maximum number of batches of a stream after a request.
const ROUNDS: usize = 500;

/// Time between two attempts of a function.
const LEASE: Duration = Duration::from_secs(30);

/// The world of a service and the failures of a driver.
pub(crate) struct Stage {
    pub(crate) service: &'static Service,
    pub(crate) stack: InProcess,
    pub(crate) net: Arc<Net>,
    pub(crate) rows: Vec<Row>,
    pub(crate) document: Document,
    driver: &'static str,
    events: Events,
    saved: Saved,
    version: i64,
    validators: HashMap<String, Rc<Validator>>,
    selected: Vec<String>,
    ran: usize,
    faults: Vec<String>,
}

/// A request, with the claims of its caller.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<Vec<u8>>,
    /// `None` if the request has no token.
    pub(crate) claims: Option<Claims>,
    /// The route in the template.
    pub(crate) route: String,
    /// The values of the path parameters.
    pub(crate) parameters: BTreeMap<String, String>,
    /// The query, without `?`.
    pub(crate) query: String,
}

impl Ask {
    /// Whether the caller may see who changed an item.
    pub(crate) fn sees_authors(&self) -> bool {
        let scope = self.claims.as_ref().and_then(|claims| claims.get("scope")?.as_str()).unwrap_or_default();
        scope.split(' ').any(|scope| scope.ends_with(":operate") || scope.ends_with(":admin"))
    }

    /// The request of an event.
    pub(crate) fn of(event: &Value) -> Option<Self> {
        let EventRequest { method, path, headers, body, claims } = EventRequest::of(event)?;
        let parameters = event["pathParameters"].as_object().into_iter().flatten();
        let parameters = parameters.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        Some(Self {
            method,
            path: path.to_owned(),
            headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            body: body.map(String::into_bytes),
            claims: Some(claims),
            route: event["routeKey"].as_str()?.to_owned(),
            parameters: parameters.collect(),
            query: query.to_owned(),
        })
    }

    /// The same request with another value of a path parameter, which is already escaped.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut parameters = self.parameters.clone();
        parameters.insert(name.to_owned(), value.to_owned());
        let (_, path) = self.route.split_once(' ').expect("a route");
        let part = |part: &str| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => parameters[name].clone(),
            None => part.to_owned(),
        };
        let path = path.split('/').map(part).collect::<Vec<_>>().join("/");
        Self { path, parameters, ..self.clone() }
    }

    /// The same request of another caller.
    pub(crate) fn by(&self, claims: Option<Claims>) -> Self {
        Self { claims, ..self.clone() }
    }

    /// The same request with another query.
    pub(crate) fn asking(&self, query: impl Into<String>) -> Self {
        Self { query: query.into(), ..self.clone() }
    }

    /// The same request with another header.
    pub(crate) fn header(&self, name: &str, value: &str) -> Self {
        let mut headers = self.headers.clone();
        headers.insert(name.to_owned(), value.to_owned());
        Self { headers, ..self.clone() }
    }

    /// The same request without a header.
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut headers = self.headers.clone();
        headers.remove(name);
        Self { headers, ..self.clone() }
    }

    /// The same request with another body.
    pub(crate) fn saying(&self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..self.clone() }
    }

    /// The body as JSON, or null.
    pub(crate) fn json(&self) -> Value {
        self.body.as_deref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
    }

    /// Whether the query or the body has this member.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.query.split('&').any(|pair| pair.split('=').next() == Some(name)) || !self.json()[name].is_null()
    }

    /// The names of the path parameters.
    pub(crate) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.route.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    pub(crate) fn is_get(&self) -> bool {
        self.method == "GET"
    }
}

impl Stage {
    /// Creates the world of a service.
    pub(crate) async fn open(service: &str, driver: &'static str) -> Self {
        let (service, net) = (Service::named(service), Net::new());
        let around = Arc::clone(&net);
        let stack = connected(NOW, &[service.name], &move |inner| around.around(inner));
        stack.create_world(&folder()).await.expect("the world");
        settle(&stack).await;
        let rows = service.rows();
        let saved = stack.save().expect("a copy");
        let version = stack.version().expect("a number");
        let selected = env::var("ROW").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let (document, events, faults) = (Document::read(), folder(), Vec::new());
        let stage = Self {
            service,
            stack,
            net,
            rows,
            document,
            driver,
            events,
            saved,
            version,
            validators: HashMap::new(),
            selected,
            ran: 0,
            faults,
        };
        if let Ok(url) = env::var("DYNAMODB_LOCAL") {
            let peer = Peer::start(&url, &stage.stack.template().tables, &stage.items());
            stage.net.peer.set(peer).expect("the only peer");
        }
        stage
    }

    /// Fails if a case failed, or no case ran.
    pub(crate) fn close(mut self) {
        for difference in self.net.peer.get().map(Peer::differences).unwrap_or_default() {
            self.fault("the peer", "equal responses and items", difference);
        }
        let (service, driver) = (self.service.name, self.driver);
        println!("contract: {service} {driver} played {} cases", self.ran);
        assert!(self.ran > 0 || !self.selected.is_empty(), "{service} {driver}: no case ran");
        assert!(self.faults.is_empty(), "{} failures\n{}", self.faults.len(), self.faults.join("\n"));
    }

    /// The event of a row. Its idempotency key is not that of a request of the world.
    pub(crate) fn event(&self, row: &Row) -> Value {
        let mut event = self.events.event(&row.event).expect("an event");
        if let Some(key) = event.pointer_mut("/headers/idempotency-key") {
            *key = "contract".into();
        }
        event
    }

    /// Invokes the function of a row with an event. A request has the present time.
    pub(crate) async fn invoke(&self, row: &Row, mut event: Value) -> Invoked {
        if event["routeKey"].is_string() {
            event["requestContext"]["timeEpoch"] = clock::now().as_millisecond().into();
        }
        self.stack.invoke(row.function(), event).await
    }

    /// The request of a row, if it is a write that the service accepts.
    pub(crate) fn write(&self, row: &Row) -> Option<Ask> {
        let is_accepted = self.events.expected(&row.event).expect("an event") == Expected::Succeeds(true);
        self.ask(row).filter(|ask| is_accepted && !ask.is_get())
    }

    /// The request of a row. `None` for a function that is not called over HTTP.
    pub(crate) fn ask(&self, row: &Row) -> Option<Ask> {
        let ask = Ask::of(&self.event(row))?;
        let is_named = ask.parameters.contains_key(self.service.owner);
        Some(if is_named { ask } else { self.owned(&ask, self.service.own) })
    }

    /// The request for the resource of another owner. A query names the owner if the path does not.
    pub(crate) fn owned(&self, ask: &Ask, owner: &str) -> Ask {
        let name = self.service.owner;
        if ask.parameters.contains_key(name) {
            return ask.with(name, owner);
        }
        if !self.operation(ask).parameters("query").contains(name) {
            return ask.clone();
        }
        let pairs = ask.query.split('&').filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(name));
        ask.asking(pairs.chain([format!("{name}={owner}").as_str()]).collect::<Vec<_>>().join("&"))
    }

    /// The operation of a request in the document.
    pub(crate) fn operation(&self, ask: &Ask) -> Operation<'_> {
        let (method, path) = ask.route.split_once(' ').expect("a route");
        let mut operations = self.document.operations().into_iter();
        operations.find(|one| one.method == method && one.path == path).expect("an operation")
    }

    /// Whether `ROW` selects cases.
    pub(crate) fn is_selective(&self) -> bool {
        !self.selected.is_empty()
    }

    /// Whether the case is selected: its name has all words of `ROW`. Counts it.
    pub(crate) fn plays(&mut self, case: &str) -> bool {
        let name = format!("{} {} {case}", self.service.name, self.driver);
        let is_selected = self.selected.iter().all(|word| name.split_whitespace().any(|part| part == word));
        self.ran += usize::from(is_selected);
        is_selected
    }

    /// Reports a failure in one line.
    pub(crate) fn fault(&mut self, case: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) {
        let line = format!("{} {} {case}: expected {expected}, got {got}", self.service.name, self.driver);
        self.faults.push(line.chars().take(2_000).collect());
    }

    /// Reports a failure unless both are equal.
    pub(crate) fn same<T: PartialEq + std::fmt::Display>(&mut self, case: &str, expected: &T, got: &T) {
        if expected != got {
            self.fault(case, expected, got);
        }
    }

    /// Sends a request, and compares the response with docs/openapi.yaml.
    pub(crate) async fn send(&mut self, case: &str, ask: &Ask) -> Answer {
        let answer = self.send_quietly(ask).await;
        for fault in answers::faults(ask, &answer) {
            self.fault(case, "a response of docs/openapi.yaml", format!("{} {}: {fault}", answer.status, answer.body));
        }
        answer
    }

    /// Sends a request.
    pub(crate) async fn send_quietly(&self, ask: &Ask) -> Answer {
        let path = if ask.query.is_empty() { ask.path.clone() } else { format!("{}?{}", ask.path, ask.query) };
        let headers = ask.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let body = ask.body.clone().unwrap_or_default();
        send_as(&self.stack, ask.claims.clone(), &ask.method, &path, headers, body).await
    }

    /// Whether something was written since the world was restored.
    pub(crate) fn has_changed(&self) -> bool {
        self.stack.version().expect("a number") != self.version
    }

    /// Reports a failure if something was written since the world was restored.
    pub(crate) fn unchanged(&mut self, case: &str) {
        if self.has_changed() {
            self.fault(case, "no write", "a write");
            self.restore();
        }
    }

    /// Restores the world.
    pub(crate) fn restore(&mut self) {
        self.net.heal();
        let present = self.net.peer.get().map(|_| self.items());
        self.stack.restore(&self.saved).expect("the copy");
        if let (Some(peer), Some(present)) = (self.net.peer.get(), present) {
            peer.replace(&present, &self.items());
        }
        self.version = self.stack.version().expect("a number");
    }

    /// Saves the present items as the world that cases restore. Returns the previous copy.
    pub(crate) fn keep(&mut self) -> Saved {
        self.version = self.stack.version().expect("a number");
        mem::replace(&mut self.saved, self.stack.save().expect("a copy"))
    }

    /// Makes a copy the world.
    pub(crate) fn return_to(&mut self, saved: Saved) {
        self.saved = saved;
        self.restore();
    }

    /// The validator of a schema of the document.
    pub(crate) fn validator(&mut self, schema: &Value) -> Rc<Validator> {
        let compile = || Rc::new(self.document.validator(schema));
        Rc::clone(self.validators.entry(schema.to_string()).or_insert_with(compile))
    }

    /// Restores the world if something was written.
    pub(crate) fn renew(&mut self) {
        if self.has_changed() {
            self.restore();
        }
    }

    /// The claims of the event's caller with the scopes of a customer, who owns the resource.
    pub(crate) fn owner(&self, ask: &Ask) -> Claims {
        let mut claims = ask.claims.clone().unwrap_or_default();
        claims.insert("scope".to_owned(), self.service.customer.into());
        let given = claims.get(self.service.claim).and_then(Value::as_str).unwrap_or_default();
        // An operator has no accounts, and the id of an operator owns nothing.
        if self.service.claim == "sub" || given.trim_matches(['[', ']']).is_empty() {
            let own = ask.parameters.get(self.service.owner).map_or(self.service.own, String::as_str);
            claims.insert(self.service.claim.to_owned(), self.named(own));
        }
        claims
    }

    /// The claim of an owner.
    fn named(&self, owner: &str) -> Value {
        if self.service.claim == "account_ids" { format!("[{owner}]").into() } else { owner.into() }
    }

    /// An owner of other resources.
    pub(crate) fn another(&self, ask: &Ask) -> &'static str {
        let is_own = ask.parameters.get(self.service.owner).is_some_and(|own| own == self.service.other);
        if is_own { self.service.own } else { self.service.other }
    }

    /// The claims of another customer.
    pub(crate) fn other(&self, ask: &Ask) -> Claims {
        let mut claims = self.owner(ask);
        claims.insert(self.service.claim.to_owned(), self.named(self.another(ask)));
        claims
    }

    /// Claims with a name that only looks like that of the owner or the employee, or without it.
    pub(crate) fn alike(&self, owner: &Claims, claim: &str) -> Vec<Claims> {
        let name = owner.get(claim).and_then(Value::as_str).unwrap_or_default().trim_matches(['[', ']']);
        let shorter: String = name.chars().skip(1).collect();
        let alike = [format!("{name}x"), format!("{name}#1"), shorter, "*".to_owned(), String::new()];
        let mut all = vec![owner.clone(); alike.len() + 1];
        for (claims, name) in all.iter_mut().zip(alike) {
            claims.insert(claim.to_owned(), self.named(&name));
        }
        if let Some(last) = all.last_mut() {
            last.remove(claim);
        }
        all
    }

    /// The claims of an employee of the owner: of the user whom the path names, or of a colleague.
    pub(crate) fn employee(&self, ask: &Ask, is_colleague: bool) -> Option<Claims> {
        let mut claims = self.owner(ask);
        let user = if is_colleague { "colleague" } else { ask.parameters.get("userId").map_or("123", String::as_str) };
        claims.extend(
            [("scope", self.service.employee?), ("sub", user)].map(|(name, value)| (name.into(), value.into())),
        );
        Some(claims)
    }

    /// The claims of an operator.
    pub(crate) fn operator(&self) -> Claims {
        let claims = json!({"sub": "operator", "scope": format!("{}:operate", self.service.name)});
        serde_json::from_value(claims).expect("an object")
    }

    /// The same request for an id that nobody has. Without another id, that of an unknown owner.
    pub(crate) fn for_nobody(&self, ask: &Ask) -> Ask {
        let unknown = |name| self.service.unknown.iter().find(|(known, _)| *known == name);
        match ask.names().rev().find_map(unknown) {
            Some((name, value)) => ask.with(name, value),
            None => self.owned(ask, self.service.nobody),
        }
    }

    /// Delivers all events. A function whose invocation a fault kills is invoked again.
    pub(crate) async fn settle(&mut self, case: &str) {
        for _ in 0..ROUNDS {
            let before = self.stack.version();
            let delivered = self.stack.deliver().await;
            // The invocation that a fault killed has ended.
            self.net.revive();
            match delivered {
                Ok(false) => return,
                // A record may wait for the lease of a killed function.
                Ok(true) => sleep(if self.stack.version() == before { LEASE } else { Duration::from_millis(20) }).await,
                Err(_) => sleep(LEASE).await,
            }
        }
        self.fault(case, "an end of the events", format!("more than {ROUNDS} batches"));
    }

    /// All items, with the names of their tables.
    pub(crate) fn items(&self) -> Vec<(String, Value)> {
        let of = |table: &str| {
            let items = self.stack.items(table).expect("items");
            items.into_iter().map(|item| (table.to_owned(), item)).collect::<Vec<_>>()
        };
        self.stack.template().tables.iter().flat_map(|table| of(&table.name)).collect()
    }

    /// All items, and each line of the lake once, with the name of its bucket. A record may arrive
    /// in the lake more than once. A killed sign-up loses its ticket, which is given away later. A
    /// killed departure does not count what it has ended before.
    pub(crate) fn items_and_lines(&self) -> Vec<(String, Value)> {
        let mut lines = BTreeSet::new();
        for bucket in &self.stack.template().buckets {
            for data in self.stack.objects(bucket, "").expect("objects").into_values() {
                lines.extend(String::from_utf8_lossy(&data).lines().map(|line| (bucket.clone(), line.to_owned())));
            }
        }
        let lines = lines.into_iter().map(|(bucket, line)| (bucket, json!({"PK": "", "SK": line})));
        let mut items = self.items();
        for (_, item) in &mut items {
            let lost: &[&str] = match (item["SK"]["S"].as_str(), item["Kind"]["S"].as_str()) {
                (Some("Tickets"), _) => &["Drawn", "Issued"],
                (_, Some("departure")) => &["Done"],
                _ => &[],
            };
            if let Some(members) = item.as_object_mut() {
                members.retain(|name, _| !lost.contains(&name.as_str()));
            }
        }
        items.into_iter().chain(lines).collect()
    }

    /// Replaces an item.
    pub(crate) fn put(&self, table: &str, item: &Value) {
        let put = json!({"TableName": table, "Item": item});
        self.stack.dynamodb("PutItem", &put).expect("written");
        if let Some(peer) = self.net.peer.get() {
            peer.put(&(table.to_owned(), item.clone()));
        }
    }
}

/// The status of a response, or the highest status of the outcomes of a batch.
pub(crate) fn worst(answer: &Answer) -> u16 {
    let outcomes = answer.body["results"].as_array().into_iter().flatten();
    let outcomes = outcomes.filter_map(|outcome| outcome["status"].as_u64()?.try_into().ok());
    outcomes.chain([answer.status]).max().unwrap_or_default()
}
