//! Sends requests to the functions, and makes their calls to DynamoDB fail.

use super::operations::{Request, Response, is_settled};
use fastrand::Rng;
use function::Service;
use futures::future::join_all;
use local::Stack;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};
use system_tests::{
    faults::{Call, Fault, MOMENTS, Moment, Process, Proxy, service, within},
    patterns::function_named,
};

/// The functions that change the ledger or its totals.
const FUNCTIONS: [&str; 9] = [
    "process-payment",
    "process-batch",
    "create-hold",
    "capture-hold",
    "void-hold",
    "reverse-transaction",
    "release-expired-holds",
    "settle-account",
    "react-to-transactions",
];
const MINUTE: Duration = Duration::from_mins(1);
/// The timeout of a request that gets no response.
const SHORT: Duration = Duration::from_millis(300);
/// Highest number of a call that fails.
const MAX_CALL: usize = 5;

/// A fault that occurs during a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    None,
    /// The request is sent twice concurrently.
    Twice,
    /// The first n calls are throttled.
    Throttled(usize),
    /// The first n transactions are cancelled with a conflict.
    Conflicts(usize),
    /// The connection closes before or after the n-th call, and the function continues.
    Lost(usize, bool),
    /// The function crashes before or after the n-th call.
    Death(usize, bool),
    /// The transaction gets no response in time. `true` means that it was applied.
    Timeout(bool),
    /// The transaction reaches DynamoDB after the request has timed out.
    Late,
}

impl Trouble {
    pub(super) fn random(rng: &mut Rng) -> Self {
        let (call, after) = (rng.usize(1..=MAX_CALL), rng.bool());
        match rng.u8(..100) {
            0..=4 => Self::Twice,
            5..=6 => Self::Throttled(call),
            7..=9 => Self::Conflicts(call),
            10..=12 => Self::Lost(call, after),
            13..=18 => Self::crash(rng),
            19 => Self::Timeout(after),
            20 => Self::Late,
            _ => Self::None,
        }
    }

    /// Returns a crash at a random call.
    pub(super) fn crash(rng: &mut Rng) -> Self {
        Self::Death(rng.usize(1..=MAX_CALL), rng.bool())
    }

    /// Returns the name of the fault in the statistics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "without faults",
            Self::Twice => "twice",
            Self::Throttled(_) => "throttled",
            Self::Conflicts(_) => "conflicts",
            Self::Lost(..) => "lost",
            Self::Death(..) => "crashed",
            Self::Timeout(_) => "timed out",
            Self::Late => "late",
        }
    }

    fn time(self) -> Duration {
        if matches!(self, Self::Timeout(_) | Self::Late) { SHORT } else { MINUTE }
    }

    fn of(self, call: &Call) -> Fault {
        let is_transaction = call.action == "TransactWriteItems";
        let moment = |after| MOMENTS[usize::from(after)];
        match self {
            Self::Throttled(calls) if call.number <= calls => Fault::throttled(),
            Self::Conflicts(calls) if is_transaction && call.nth <= calls => {
                Fault::cancelled(&["None", "TransactionConflict"])
            }
            Self::Lost(number, after) if call.number == number => Fault::Lost(moment(after)),
            Self::Death(number, after) if call.number == number => Fault::Death(moment(after)),
            Self::Timeout(true) if is_transaction && call.nth == 1 => Fault::Lost(Moment::After),
            Self::Timeout(_) if is_transaction => Fault::Silence,
            Self::Late if is_transaction => Fault::Held,
            _ => Fault::None,
        }
    }
}

/// A crash that happened: the function, the number of the call, and whether DynamoDB executed the
/// call.
pub(super) type Crash = (&'static str, usize, bool);

/// The crashes of all senders.
pub(super) type Crashes = Arc<Mutex<BTreeSet<Crash>>>;

/// Invokes the functions, which call DynamoDB directly or through a proxy.
pub(super) struct Sender {
    healthy: BTreeMap<&'static str, Service>,
    troubled: BTreeMap<&'static str, Service>,
    proxy: Proxy,
    crashes: Crashes,
}

impl Sender {
    pub(super) async fn start(stack: &Stack, crashes: &Crashes) -> Self {
        let at = |url: &str| {
            let start = |name| (name, service(stack, url, name, &function_named(name)));
            FUNCTIONS.into_iter().map(start).collect()
        };
        let proxy = Proxy::start(stack.dynamo_url()).await;
        Self { healthy: at(stack.dynamo_url()), troubled: at(proxy.url()), proxy, crashes: Arc::clone(crashes) }
    }

    /// Sends the request once, or twice for [`Trouble::Twice`]. Returns one response for each
    /// request.
    async fn send(&self, request: &Request) -> Vec<Response> {
        let (event, function) = (request.event(), request.function());
        let well = async || request.response(self.healthy[function].call(event.clone(), within(MINUTE)).await);
        match request.trouble {
            Trouble::None => vec![well().await],
            Trouble::Twice => join_all([well(), well()]).await,
            trouble => {
                let crashes = Arc::clone(&self.crashes);
                self.proxy.rule(move |call| {
                    let fault = trouble.of(call);
                    if let Fault::Death(moment) = fault {
                        let crash = (function, call.number, moment == Moment::After);
                        crashes.lock().expect("no sender panics").insert(crash);
                    }
                    fault
                });
                let process = Process::of(self.troubled[function].clone(), &self.proxy);
                let invocation = process.run(&event, trouble.time()).await;
                vec![invocation.and_then(|invocation| request.response(invocation))]
            }
        }
    }

    /// Repeats the request until the outcome of each operation is known. Adds the responses.
    async fn settle(&self, request: &Request, responses: &mut Vec<Response>) {
        let request = Request { trouble: Trouble::None, ..request.clone() };
        for _ in 0..100 {
            let response = self.send(&request).await;
            let is_known = is_settled(&request, &response);
            responses.extend(response);
            if is_known {
                return;
            }
        }
        unreachable!("{request:?} never gets an outcome")
    }

    /// Lets the delayed calls reach DynamoDB.
    pub(super) async fn arrive(&self) {
        self.proxy.arrive().await;
    }
}

/// A request with the responses so far.
pub(super) type Sent = (Request, Vec<Response>);

/// Distributes the requests among the senders, which work concurrently.
pub(super) async fn each<T, F>(senders: &[Arc<Sender>], work: Vec<T>, run: fn(Arc<Sender>, T) -> F) -> Vec<Sent>
where
    T: Send + 'static,
    F: Future<Output = Sent> + Send + 'static,
{
    let queue = Arc::new(Mutex::new(work.into_iter()));
    let shares = senders.iter().map(|sender| {
        let (sender, queue) = (Arc::clone(sender), Arc::clone(&queue));
        tokio::spawn(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().expect("the lock is not poisoned").next();
                let Some(next) = next else { return done };
                done.push(run(Arc::clone(&sender), next).await);
            }
        })
    });
    join_all(shares).await.into_iter().flat_map(|share| share.expect("no sender panics")).collect()
}

/// Sends the request with its fault.
pub(super) async fn sent(sender: Arc<Sender>, request: Request) -> Sent {
    let responses = sender.send(&request).await;
    (request, responses)
}

/// Repeats a request whose outcome is unknown.
pub(super) async fn settled(sender: Arc<Sender>, (request, mut responses): Sent) -> Sent {
    sender.settle(&request, &mut responses).await;
    (request, responses)
}
