//! Transactions and writes in progress, and the conflicts between them.
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::request::{Call, Kind, Target};

/// Number of executed transactions whose tokens are known.
const MAX_DONE: usize = 200;

/// The calls in progress.
#[derive(Debug, Default)]
pub(super) struct InProgress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    items: BTreeMap<Target, Holders>,
    tokens: BTreeSet<String>,
    /// Tokens of executed transactions, oldest first.
    done: VecDeque<String>,
}

/// Number of calls in progress that change or check an item.
#[derive(Debug, Default, Clone, Copy)]
struct Holders {
    transactions: usize,
    writes: usize,
}

/// The reason why a call cannot start.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// These items are part of another call.
    Items(Vec<bool>),
    /// A transaction with the same client request token is in progress.
    SameToken,
}

/// A call in progress. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct Held {
    owner: Arc<InProgress>,
    kind: Kind,
    targets: Vec<Target>,
    token: Option<String>,
}

impl InProgress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the call repeats a transaction that was executed. DynamoDB then responds without
    /// executing it again.
    pub(super) fn is_done(&self, call: &Call) -> bool {
        let token = call.body["ClientRequestToken"].as_str();
        token.is_some_and(|token| self.state().done.iter().any(|done| done == token))
    }

    /// Remembers the last executed transactions.
    pub(super) fn done(&self, call: &Call) {
        let Some(token) = call.body["ClientRequestToken"].as_str() else { return };
        let mut state = self.state();
        state.done.push_back(token.to_owned());
        if state.done.len() > MAX_DONE {
            state.done.pop_front();
        }
    }

    /// Starts a call, unless it conflicts with a call in progress. A write conflicts with a
    /// transaction of the same item, and a read transaction with any write of the same item.
    pub(super) fn start(self: &Arc<Self>, call: &Call, targets: Vec<Target>) -> Result<Held, Conflict> {
        let mut state = self.state();
        let token = match call.kind {
            Kind::TransactWrite => call.body["ClientRequestToken"].as_str().map(str::to_owned),
            _ => None,
        };
        if token.as_ref().is_some_and(|token| state.tokens.contains(token)) {
            return Err(Conflict::SameToken);
        }
        let is_hit = |target: &Target| {
            let holders = state.items.get(target).copied().unwrap_or_default();
            holders.transactions > 0 || (call.kind == Kind::TransactGet && holders.writes > 0)
        };
        let hit: Vec<bool> = targets.iter().map(is_hit).collect();
        let can_conflict = call.is_write() || call.kind == Kind::TransactGet;
        let is_done = token.as_ref().is_some_and(|token| state.done.contains(token));
        if can_conflict && !is_done && hit.contains(&true) {
            return Err(Conflict::Items(hit));
        }
        for target in &targets {
            change(&mut state, call.kind, target, |count| count + 1);
        }
        state.tokens.extend(token.clone());
        Ok(Held { owner: Arc::clone(self), kind: call.kind, targets, token })
    }
}

fn change(state: &mut State, kind: Kind, target: &Target, change: impl Fn(usize) -> usize) {
    let holders = state.items.entry(target.clone()).or_default();
    match kind {
        Kind::TransactWrite => holders.transactions = change(holders.transactions),
        Kind::Write | Kind::BatchWrite => holders.writes = change(holders.writes),
        _ => {}
    }
    if holders.transactions == 0 && holders.writes == 0 {
        state.items.remove(target);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.owner.state();
        for target in &self.targets {
            change(&mut state, self.kind, target, |count| count.saturating_sub(1));
        }
        if let Some(token) = &self.token {
            state.tokens.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(kind: Kind, token: &str) -> Call {
        let body = json!({"ClientRequestToken": token});
        Call { kind, action: String::new(), body, place: "T".to_owned() }
    }

    fn keys(keys: &[&str]) -> Vec<Target> {
        keys.iter().map(|key| Target { table: "T".to_owned(), key: (*key).to_owned() }).collect()
    }

    /// The scenarios of the DynamoDB Developer Guide, "Transaction conflict handling".
    #[test]
    fn conflicts_are_those_that_aws_documents() {
        use Kind::{BatchWrite, Get, TransactGet, TransactWrite, Write};
        for (first, second, conflicts) in [
            (TransactWrite, TransactWrite, true),
            (TransactWrite, Write, true),
            (TransactWrite, BatchWrite, true),
            (TransactWrite, TransactGet, true),
            (Write, TransactGet, true),
            (BatchWrite, TransactGet, true),
            (Write, TransactWrite, false),
            (Write, Write, false),
            (TransactGet, TransactGet, false),
            (TransactGet, TransactWrite, false),
            (TransactWrite, Get, false),
        ] {
            let progress = Arc::new(InProgress::default());
            let held = progress.start(&call(first, "1"), keys(&["a", "b"])).expect("the first call starts");
            let started = progress.start(&call(second, "2"), keys(&["x", "b"]));
            let expected = conflicts.then(|| Conflict::Items(vec![false, true]));
            assert_eq!(started.err(), expected, "{first:?} {second:?}");
            assert!(progress.start(&call(second, "3"), keys(&["x"])).is_ok(), "other items");
            drop(held);
            assert!(progress.start(&call(second, "2"), keys(&["b"])).is_ok(), "after the first call");
            assert!(progress.state().items.is_empty() && progress.state().tokens.is_empty());
        }
    }

    #[test]
    fn a_repeated_token_is_in_progress() {
        let progress = Arc::new(InProgress::default());
        let _held = progress.start(&call(Kind::TransactWrite, "1"), keys(&["a"])).expect("the first call starts");
        let again = progress.start(&call(Kind::TransactWrite, "1"), keys(&["a"]));
        assert_eq!(again.err(), Some(Conflict::SameToken));
    }
}
