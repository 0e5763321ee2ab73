//! The network between the functions and the AWS services: one fault at a chosen call, and drawn
//! latencies.

use crate::{calls::Recorded, peer::Peer};
use aws_sdk_dynamodb::config::{SharedHttpClient, http::HttpResponse};
use hostile::{Call, Plan, Planner, Watch, planned};
pub(crate) use hostile::{Fault, LATE};
use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

pub(crate) const FAULTS: [Fault; 7] = [
    Fault::KilledBefore,
    Fault::KilledAfter,
    Fault::Lost,
    Fault::Throttled,
    Fault::Conflict,
    Fault::Late,
    Fault::InProgress,
];

/// Number of repetitions that meet a transaction in progress.
const IN_PROGRESS: usize = 2;

#[derive(Debug, Default)]
struct State {
    /// Number of calls since the last [`Net::heal`].
    calls: usize,
    /// The number of the call that meets a fault, from 1.
    planned: Option<(usize, Fault)>,
    /// The call that met the fault.
    met: Option<String>,
    /// Whether the function was killed, so that its other calls do not arrive either.
    is_dead: bool,
    /// Number of calls that meet a transaction in progress.
    in_progress: usize,
    /// The fault of every call.
    lasting: Option<Fault>,
    is_recording: bool,
    /// State of the generator of latencies. 0 if there are none.
    latency: u64,
}

/// The state of the network.
#[derive(Debug, Default)]
pub(crate) struct Net {
    state: Mutex<State>,
    /// The recorded calls of DynamoDB.
    record: Mutex<Vec<Recorded>>,
    /// Another DynamoDB, which receives the same calls.
    pub(crate) peer: OnceLock<Peer>,
}

impl Net {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The client with this network.
    pub(crate) fn around(self: &Arc<Self>, inner: SharedHttpClient) -> SharedHttpClient {
        planned(inner, Arc::clone(self))
    }

    /// Plans a fault of the call with this number, counted from now.
    pub(crate) fn plan(&self, number: usize, fault: Fault) {
        *self.state() = State { planned: Some((number, fault)), ..State::default() };
    }

    /// Plans a fault of every call from now on.
    pub(crate) fn plan_always(&self, fault: Fault) {
        *self.state() = State { lasting: Some(fault), ..State::default() };
    }

    /// Draws a latency for each call from now on.
    pub(crate) fn slow(&self, seed: u64) {
        *self.state() = State { latency: seed, ..State::default() };
    }

    /// Ends all faults and latencies.
    pub(crate) fn heal(&self) {
        *self.state() = State::default();
    }

    /// Starts the killed function again. The planned fault does not happen twice.
    pub(crate) fn revive(&self) {
        self.state().is_dead = false;
    }

    /// The call that met the fault.
    pub(crate) fn met(&self) -> Option<String> {
        self.state().met.clone()
    }

    /// Records the calls of DynamoDB from now on.
    pub(crate) fn record(&self) {
        self.state().is_recording = true;
    }

    /// Takes the recorded calls.
    pub(crate) fn recorded(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call. Returns its fault, and its latencies before and after its effect.
    fn begin(&self, call: &Call) -> (Option<Fault>, [Duration; 2]) {
        let mut state = self.state();
        if state.is_dead {
            return (Some(Fault::KilledBefore), [Duration::ZERO; 2]);
        }
        state.calls += 1;
        let calls = state.calls;
        if is_transaction(call) && state.in_progress > 0 {
            state.in_progress -= 1;
            return (Some(Fault::InProgress), [Duration::ZERO; 2]);
        }
        let planned = state.planned.filter(|(number, _)| *number == calls).map(|(_, fault)| fault);
        let fault = match planned.or(state.lasting) {
            // The effect of the call is that of a lost response.
            Some(Fault::InProgress) => {
                state.in_progress = if is_transaction(call) { IN_PROGRESS } else { 0 };
                Some(Fault::Lost)
            }
            fault => fault,
        };
        if let Some(fault) = fault {
            state.met = Some(call.action.clone());
            state.is_dead = matches!(fault, Fault::KilledBefore | Fault::KilledAfter);
        }
        let mut draw = || {
            // Xorshift (https://www.jstatsoft.org/article/view/v008i14).
            state.latency ^= state.latency << 13;
            state.latency ^= state.latency >> 7;
            state.latency ^= state.latency << 17;
            Duration::from_millis(state.latency % 40)
        };
        (fault, [draw(), draw()])
    }
}

fn is_transaction(call: &Call) -> bool {
    call.body["TransactItems"].is_array()
}

impl Planner for Net {
    fn plan(self: &Arc<Self>, call: &Call) -> Option<Plan> {
        let (fault, [before, after]) = self.begin(call);
        Some(Plan { fault, before, after, watch: Box::new(Answers(Arc::clone(self))) })
    }
}

/// Compares answers of DynamoDB with those of the other DynamoDB, and records them.
#[derive(Debug)]
struct Answers(Arc<Net>);

impl Watch for Answers {
    fn answered(&self, call: &Call, request: &[u8], answer: &HttpResponse) {
        if !call.is_dynamodb() {
            return;
        }
        let bytes = answer.body().bytes().unwrap_or_default();
        if let Some(peer) = self.0.peer.get() {
            peer.compare(&format!("DynamoDB_20120810.{}", call.action), request, answer.status().as_u16(), bytes);
        }
        if self.0.state().is_recording {
            let [request, response] = [request, bytes].map(|json| serde_json::from_slice(json).unwrap_or_default());
            let recorded = Recorded { action: call.action.clone(), request, response };
            self.0.record.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
        }
    }
}
