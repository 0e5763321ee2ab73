//! Explores the orders of the calls of concurrent functions.
//!
//! A function is deterministic: the responses that it has got determine its next call. Each task
//! therefore has a tree of the responses that were possible so far. A branch that is not known yet
//! runs the function again, with the responses of the branch. All other steps only look it up.
use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
};

use aws_sdk_dynamodb::config::{
    RuntimeComponents, SharedHttpClient,
    http::{HttpRequest, HttpResponse},
};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use function::{Diagnostic, Invocation};
use futures::future::BoxFuture;
use jiff::Timestamp;
use local::in_process::InProcess;
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use super::store::{Answer, Call, Store};

/// Number of items up to which the explorer remembers the steps.
const REMEMBERED: usize = 100;

thread_local! {
    static NOW: Cell<Timestamp> = const { Cell::new(Timestamp::UNIX_EPOCH) };
}

pub(super) fn now() -> Timestamp {
    NOW.get()
}

/// The connection of a running function to the explorer.
#[derive(Debug, Clone)]
struct Strings {
    calls: mpsc::UnboundedSender<(Call, oneshot::Sender<Answer>)>,
    killed: Arc<Notify>,
    /// Random ids of jobs, which the explorer replaces by numbered ones.
    ids: Arc<Mutex<Vec<String>>>,
    name: String,
}

impl Strings {
    /// Replaces random ids, so that equal runs have equal calls.
    fn named(&self, body: &Value) -> Value {
        let mut ids = self.ids.lock().expect("no panic");
        let mut text = body.to_string();
        for run in text.split("\"Run\":{\"S\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if !run.starts_with("run of ") && !ids.iter().any(|id| id == run) {
                ids.push(run.to_owned());
            }
        }
        for (number, id) in ids.iter().enumerate() {
            text = text.replace(id, &format!("run of {} {number}", self.name));
        }
        serde_json::from_str(&text).expect("JSON")
    }
}

tokio::task_local! {
    static STRINGS: Strings;
}

/// Runs an invocation so that the explorer can end it.
pub(super) fn on_strings(work: BoxFuture<'static, Invocation>) -> BoxFuture<'static, Invocation> {
    let strings = STRINGS.get();
    let killed = Arc::clone(&strings.killed);
    Box::pin(STRINGS.scope(strings, async move {
        tokio::select! {
            biased;
            () = killed.notified() => {
                let error = Diagnostic { error_type: "Killed".to_owned(), error_message: String::new() };
                Invocation { answer: Err(error), usage: table::Usage::default() }
            }
            done = work => done,
        }
    }))
}

#[derive(Debug, Clone)]
pub(super) struct Client;

impl HttpClient for Client {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Client {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let action = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut body: Value =
            serde_json::from_slice(request.body().bytes().unwrap_or_default()).expect("a call of DynamoDB");
        if let Some(body) = body.as_object_mut() {
            body.remove("ClientRequestToken");
        }
        let (send, receive) = oneshot::channel();
        let strings = STRINGS.get();
        let body = strings.named(&body);
        let _ = strings.calls.send((Call { action, body }, send));
        HttpConnectorFuture::new(async move {
            let Ok(Answer(status, body)) = receive.await else { return std::future::pending().await };
            let status = status.try_into().expect("a status");
            let mut response = HttpResponse::new(status, body.to_string().into());
            response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
            Ok(response)
        })
    }
}

pub(super) fn connect(_: SharedHttpClient) -> SharedHttpClient {
    SharedHttpClient::new(Client)
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) function: &'static str,
    pub(super) event: Value,
    pub(super) now: Timestamp,
    pub(super) is_mortal: bool,
    /// An equal task that begins before this one. Other orders differ only in names.
    pub(super) follows: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Next {
    Calls(Call),
    Returns(Value),
}

struct Puppet {
    calls: mpsc::UnboundedReceiver<(Call, oneshot::Sender<Answer>)>,
    answer: Option<oneshot::Sender<Answer>>,
    done: JoinHandle<Value>,
    killed: Arc<Notify>,
}

impl Puppet {
    fn start(stack: &Arc<InProcess>, task: &Task) -> Self {
        NOW.set(task.now);
        let (send, calls) = mpsc::unbounded_channel();
        let killed = Arc::new(Notify::new());
        let strings =
            Strings { calls: send, killed: Arc::clone(&killed), ids: Arc::default(), name: task.name.clone() };
        let (stack, function, event) = (Arc::clone(stack), task.function, task.event.clone());
        let run = STRINGS.scope(strings, async move {
            match stack.invoke(function, event).await.answer {
                Ok(answer) => answer,
                Err((kind, message)) => panic!("{function}: {kind} {message}"),
            }
        });
        Self { calls, answer: None, done: tokio::spawn(run), killed }
    }

    async fn next(&mut self) -> Next {
        if let Some((call, answer)) = self.calls.recv().await {
            self.answer = Some(answer);
            return Next::Calls(call);
        }
        Next::Returns((&mut self.done).await.expect("an answer"))
    }

    fn give(&mut self, answer: Answer) {
        let _ = self.answer.take().expect("a call").send(answer);
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        self.killed.notify_one();
        if self.answer.is_some() {
            self.done.abort();
        }
    }
}

/// A point between two calls of a task.
#[derive(Debug)]
struct Node {
    next: Next,
    /// The call with the defect.
    call: Option<Call>,
    parent: Option<(usize, Arc<Answer>)>,
    children: Vec<(Arc<Answer>, usize)>,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) store: Arc<Store>,
    nodes: Vec<usize>,
    last: usize,
    preemptions: u8,
    pub(super) killed: Option<usize>,
    /// The tasks that began after a change of the activity had ended.
    pub(super) late: Vec<usize>,
}

/// A rule of the items that must hold after each call. Receives the items before and after it.
pub(super) type StepRule = dyn Fn(&Store, &Store) -> Result<(), String>;
/// A defect: changes a call before the store executes it.
pub(super) type Defect = dyn Fn(&mut Call);

pub(super) struct Explorer<'a> {
    stack: Arc<InProcess>,
    tasks: Vec<Task>,
    trees: Vec<Vec<Node>>,
    alive: Option<(usize, usize, Puppet)>,
    /// Whether no task ever changes what the call reads, so its order does not matter.
    is_private: &'a dyn Fn(&Call) -> bool,
    defect: &'a Defect,
    /// The nodes at which all tasks begin.
    first: Vec<usize>,
    /// The known steps: the hash of the items, the task and its node before the step, and the
    /// items and the node after it.
    steps: HashMap<(u64, usize, usize), (Arc<Store>, usize)>,
    /// All known states of the items, by their hash.
    stores: HashMap<u64, Arc<Store>>,
}

pub(super) async fn run(stack: &Arc<InProcess>, store: &mut Store, task: &Task, defect: &Defect) -> Value {
    let mut puppet = Puppet::start(stack, task);
    loop {
        match puppet.next().await {
            Next::Returns(answer) => return answer,
            Next::Calls(mut call) => {
                defect(&mut call);
                puppet.give(store.execute(&call));
            }
        }
    }
}

impl<'a> Explorer<'a> {
    pub(super) async fn new(
        stack: &Arc<InProcess>,
        tasks: Vec<Task>,
        is_private: &'a dyn Fn(&Call) -> bool,
        defect: &'a Defect,
    ) -> Self {
        let (stack, first) = (Arc::clone(stack), vec![0; tasks.len()]);
        let mut explorer = Self {
            stack,
            tasks,
            trees: Vec::new(),
            alive: None,
            is_private,
            defect,
            first,
            steps: HashMap::new(),
            stores: HashMap::new(),
        };
        for task in 0..explorer.tasks.len() {
            let next = Puppet::start(&explorer.stack, &explorer.tasks[task]).next().await;
            explorer.trees.push(vec![explorer.node(next, None)]);
        }
        explorer
    }

    fn node(&self, next: Next, parent: Option<(usize, Arc<Answer>)>) -> Node {
        let mut call = match &next {
            Next::Calls(call) => Some(call.clone()),
            Next::Returns(_) => None,
        };
        call.iter_mut().for_each(|call| (self.defect)(call));
        Node { next, call, parent, children: Vec::new() }
    }

    fn next(&self, state: &State, task: usize) -> Option<&Call> {
        let waits = self.tasks[task].follows.is_some_and(|other| state.nodes[other] == self.first[other]);
        let call = self.trees[task][state.nodes[task]].call.as_ref();
        call.filter(|_| state.killed != Some(task) && (!waits || state.killed == self.tasks[task].follows))
    }

    /// What the tasks have returned. A killed one returns nothing.
    pub(super) fn answers(&self, state: &State) -> Vec<Option<&Value>> {
        let answer = |task: usize| match &self.trees[task][state.nodes[task]].next {
            Next::Returns(answer) => Some(answer),
            Next::Calls(_) => None,
        };
        (0..self.tasks.len()).map(answer).collect()
    }

    /// Returns the node of the task after the answer.
    async fn child(&mut self, task: usize, node: usize, answer: Answer) -> usize {
        if let Some((_, child)) = self.trees[task][node].children.iter().find(|(known, _)| **known == answer) {
            return *child;
        }
        let mut puppet = match self.alive.take() {
            Some((of, at, puppet)) if (of, at) == (task, node) => puppet,
            _ => self.replay(task, node).await,
        };
        let answer = Arc::new(answer);
        puppet.give((*answer).clone());
        let next = puppet.next().await;
        let made = self.node(next, Some((node, Arc::clone(&answer))));
        let tree = &mut self.trees[task];
        tree.push(made);
        let child = tree.len() - 1;
        tree[node].children.push((answer, child));
        self.alive = Some((task, child, puppet));
        child
    }

    /// Runs a task up to the node.
    async fn replay(&self, task: usize, node: usize) -> Puppet {
        let tree = &self.trees[task];
        let up = |node: &usize| tree[*node].parent.as_ref().map(|(parent, _)| *parent);
        let path: Vec<usize> = std::iter::successors(Some(node), up).collect();
        let mut puppet = Puppet::start(&self.stack, &self.tasks[task]);
        for node in path.into_iter().rev() {
            if let Some((_, answer)) = &tree[node].parent {
                puppet.give((**answer).clone());
            }
            assert_eq!(puppet.next().await, tree[node].next, "a function is not deterministic");
        }
        puppet
    }

    /// Executes the next call of a task, and all following ones whose order does not matter.
    async fn step(&mut self, state: &mut State, task: usize) {
        let key = (state.store.hash, task, state.nodes[task]);
        if let Some((store, node)) = self.steps.get(&key) {
            (state.store, state.nodes[task]) = (Arc::clone(store), *node);
        } else {
            let mut store = (*state.store).clone();
            while let Some(call) = self.next(state, task) {
                let answer = store.execute(call);
                state.nodes[task] = self.child(task, state.nodes[task], answer).await;
                if !self.next(state, task).is_some_and(self.is_private) {
                    break;
                }
            }
            if store.items().count() > REMEMBERED {
                state.store = Arc::new(store);
            } else {
                state.store = Arc::clone(self.stores.entry(store.hash).or_insert_with(|| Arc::new(store)));
                self.steps.insert(key, (Arc::clone(&state.store), state.nodes[task]));
            }
        }
        state.last = task;
        if self.tasks[task].function == "update-activity" && self.next(state, task).is_none() {
            state.late = (0..self.tasks.len()).filter(|other| state.nodes[*other] == self.first[*other]).collect();
        }
    }

    pub(super) async fn start(&mut self, store: Store) -> State {
        let nodes = vec![0; self.tasks.len()];
        let mut state =
            State { store: Arc::new(store), nodes, last: usize::MAX, preemptions: 0, killed: None, late: Vec::new() };
        for task in 0..self.tasks.len() {
            if self.next(&state, task).is_some_and(self.is_private) {
                self.step(&mut state, task).await;
            }
        }
        state.last = usize::MAX;
        self.first.clone_from(&state.nodes);
        state
    }

    fn enabled(&self, state: &State) -> Vec<usize> {
        (0..self.tasks.len()).filter(|task| self.next(state, *task).is_some()).collect()
    }

    /// Visits all states that are possible with this number of preemptions. A preemption is a step
    /// of another task while the last one could go on. Returns the final states.
    pub(super) async fn explore(
        &mut self,
        start: State,
        preemptions: u8,
        rule: &StepRule,
    ) -> Result<Vec<State>, String> {
        let (mut ends, mut known_ends) = (Vec::new(), HashSet::new());
        let mut seen = HashMap::<u64, u8>::new();
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            let enabled = self.enabled(&state);
            if enabled.is_empty() && known_ends.insert((state.store.hash, state.nodes.clone(), state.late.clone())) {
                ends.push(state.clone());
            }
            let mut following = Vec::new();
            for task in &enabled {
                let mut next = state.clone();
                next.preemptions += u8::from(*task != state.last && enabled.contains(&state.last));
                if next.preemptions <= preemptions {
                    self.step(&mut next, *task).await;
                    rule(&state.store, &next.store)?;
                    following.push(next);
                }
                if state.killed.is_none() && self.tasks[*task].is_mortal {
                    following.push(State { killed: Some(*task), ..state.clone() });
                }
            }
            for next in following {
                let mut hasher = DefaultHasher::new();
                (next.store.hash, &next.nodes, next.last, next.killed, &next.late).hash(&mut hasher);
                let key = hasher.finish();
                if seen.get(&key).is_none_or(|before| *before > next.preemptions) {
                    seen.insert(key, next.preemptions);
                    open.push(next);
                }
            }
        }
        Ok(ends)
    }

    /// Takes random steps until all tasks have ended, this number of times. Returns the final
    /// states.
    pub(super) async fn wander(
        &mut self,
        start: &State,
        orders: usize,
        random: &mut fastrand::Rng,
        rule: &StepRule,
    ) -> Result<Vec<State>, String> {
        let mut ends = Vec::new();
        while ends.len() < orders {
            let mut state = start.clone();
            while let Some(task) = random.choice(&self.enabled(&state)).copied() {
                let before = Arc::clone(&state.store);
                if state.killed.is_none() && self.tasks[task].is_mortal && random.u8(..20) == 0 {
                    state.killed = Some(task);
                    continue;
                }
                self.step(&mut state, task).await;
                rule(&before, &state.store)?;
            }
            ends.push(state);
        }
        Ok(ends)
    }
}
