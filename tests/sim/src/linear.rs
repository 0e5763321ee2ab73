//! Checks histories of single objects for linearizability, with the checker of `todc-utils`.
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Debug,
    hash::Hash,
    marker::PhantomData,
};

use todc_utils::{
    Specification,
    linearizability::{
        WGLChecker,
        history::{Action, History},
    },
};

use crate::world::{Exchange, World};

/// An object with operations that can have several results, or an unknown number of effects.
pub(crate) trait Choices {
    type State: Clone + Debug + Ord + Hash;
    type Operation: Clone + Debug + Ord + Hash;

    fn init() -> Self::State;

    /// The state after the operation. `None` if the operation is not possible in this state.
    fn after(operation: &Self::Operation, state: &Self::State) -> Option<Self::State>;
}

/// An operation of an object with [`Choices`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect<T> {
    /// The operation happens once.
    Certain(T),
    /// From now on, the operation can happen at any time and any number of times. Used for attempts
    /// without a response, and for work in the background.
    Possible(T),
}

/// All states that an object with [`Choices`] can have.
#[derive(Debug)]
struct Possible<C>(PhantomData<C>);

type States<C> = BTreeSet<<C as Choices>::State>;

/// Maximum number of states after which [`close`] stops. Two changes that increment a version and
/// can happen any number of times lead to infinitely many states.
const MAX_STATES: usize = 200;

/// Adds the states after the possible operations, those after few operations first.
fn close<C: Choices>(states: &mut States<C>, possible: &BTreeSet<C::Operation>) {
    let mut left: VecDeque<C::State> = states.iter().cloned().collect();
    while let Some(state) = left.pop_front().filter(|_| states.len() < MAX_STATES) {
        for next in possible.iter().filter_map(|operation| C::after(operation, &state)) {
            if states.insert(next.clone()) {
                left.push_back(next);
            }
        }
    }
}

impl<C: Choices> Specification for Possible<C> {
    type State = (States<C>, BTreeSet<C::Operation>);
    type Operation = Effect<C::Operation>;

    fn init() -> Self::State {
        ([C::init()].into(), BTreeSet::new())
    }

    fn apply(effect: &Self::Operation, (states, possible): &Self::State) -> (bool, Self::State) {
        let mut next = (states.clone(), possible.clone());
        match effect {
            Effect::Possible(operation) => drop(next.1.insert(operation.clone())),
            Effect::Certain(operation) => {
                next.0 = states.iter().filter_map(|state| C::after(operation, state)).collect();
            }
        }
        close::<C>(&mut next.0, &next.1);
        (!next.0.is_empty(), next)
    }
}

/// The operations on objects of one kind, by the name of the object. An operation has the positions
/// of its first attempt and of its final response.
pub(crate) struct Histories<C: Choices>(pub(crate) BTreeMap<String, Intervals<C>>);

type Intervals<C> = Vec<(u64, u64, Effect<<C as Choices>::Operation>)>;

impl<C: Choices> Histories<C> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn push(&mut self, name: &str, (begin, end): (u64, u64), operation: C::Operation) {
        self.0.entry(name.to_owned()).or_default().push((begin, end, Effect::Certain(operation)));
    }

    /// Adds a request. A GET is eventually consistent, so it may show a state of a few seconds ago.
    /// An item that does not exist is read again with strong consistency
    /// ([decision](../../../docs/decisions/consistency.md)).
    pub(crate) fn add(&mut self, name: &str, exchange: &Exchange, operation: C::Operation) {
        let may_be_old = exchange.ask.method == "GET" && exchange.reply.status != 404;
        let begin = if may_be_old { exchange.oldest } else { exchange.begin };
        self.push(name, (begin, exchange.end), operation);
    }

    /// From this position on, the operation can happen at any time.
    pub(crate) fn possible(&mut self, name: &str, begin: u64, operation: C::Operation) {
        self.0.entry(name.to_owned()).or_default().push((begin, begin, Effect::Possible(operation)));
    }

    /// Adds a request with its outcome, and its effect in attempts without a known outcome.
    pub(crate) fn write(
        &mut self,
        name: &str,
        exchange: &Exchange,
        outcome: Option<C::Operation>,
        attempt: Option<C::Operation>,
    ) {
        if let Some(operation) = outcome {
            self.add(name, exchange, operation);
        }
        if let Some(attempt) = attempt.filter(|_| exchange.attempts > 1) {
            self.possible(name, exchange.begin, attempt);
        }
    }

    /// Adds an operation after all others, such as the look at the stored item.
    pub(crate) fn end(&mut self, name: &str, operation: C::Operation) {
        let last = self.0.get(name).into_iter().flatten().map(|(_, end, _)| *end).max().unwrap_or_default() + 1;
        self.push(name, (last, last), operation);
    }

    /// The history of each object is linearizable: a sequential order of the operations explains
    /// all results.
    pub(crate) fn check(&self, world: &World) {
        for (name, intervals) in &self.0 {
            let mut actions = Vec::with_capacity(intervals.len() * 2);
            for (process, (begin, end, effect)) in intervals.iter().enumerate() {
                actions.push((*begin, process, Action::Call(effect.clone())));
                actions.push((*end, process, Action::Response(effect.clone())));
            }
            actions.sort_by_key(|(at, process, _)| (*at, *process));
            let actions: Vec<_> = actions.into_iter().map(|(_, process, action)| (process, action)).collect();
            if !actions.is_empty() && !WGLChecker::<Possible<C>>::is_linearizable(History::from_actions(actions)) {
                world.violation(format!("the {name} is not linearizable: {intervals:?}"));
            }
        }
    }
}

/// A value that requests set, show and delete as one text: an item, or an attribute of an item.
#[derive(Debug)]
pub(crate) struct Register;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Access {
    Set(String),
    /// Deletes an item that exists.
    Remove,
    /// Deletes the item if it exists.
    Clear,
    Show(Option<String>),
    /// Replaces the text after the last `|`, if the item exists.
    Change(String),
}

impl Choices for Register {
    type State = Option<String>;
    type Operation = Access;

    fn init() -> Self::State {
        None
    }

    fn after(operation: &Access, state: &Self::State) -> Option<Self::State> {
        match operation {
            Access::Set(new) => Some(Some(new.clone())),
            Access::Remove => state.is_some().then_some(None),
            Access::Clear => Some(None),
            Access::Show(shown) => (shown == state).then(|| state.clone()),
            Access::Change(new) => state.as_ref().map(|old| {
                let kept = old.rfind('|').map_or("", |at| &old[..=at]);
                Some(format!("{kept}{new}"))
            }),
        }
    }
}

impl Histories<Register> {
    /// Adds a request that sets the whole value.
    pub(crate) fn put(&mut self, name: &str, exchange: &Exchange, value: String) {
        let set = Access::Set(value);
        let is_set = matches!(exchange.reply.status, 200 | 201);
        self.write(name, exchange, is_set.then(|| set.clone()), Some(set));
    }

    /// Adds a request that deletes an item, with the status of its success.
    pub(crate) fn delete(&mut self, name: &str, exchange: &Exchange, success: u64, deletion: Access) {
        let outcome = match exchange.reply.status {
            404 => Some(Access::Show(None)),
            status => (status == success).then(|| deletion.clone()),
        };
        self.write(name, exchange, outcome, Some(deletion));
    }

    pub(crate) fn get(&mut self, name: &str, exchange: &Exchange, value: impl Fn(&serde_json::Value) -> String) {
        if matches!(exchange.reply.status, 200 | 404) {
            let shown = (exchange.reply.status == 200).then(|| value(&exchange.reply.body));
            self.add(name, exchange, Access::Show(shown));
        }
    }
}
