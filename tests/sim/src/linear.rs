//! Checks histories of single keys for linearizability, with the checker of `todc-utils`.
use std::{collections::BTreeSet, fmt::Debug, hash::Hash, marker::PhantomData};

use todc_utils::{
    Specification,
    linearizability::{
        WGLChecker,
        history::{Action, History},
    },
};

/// An operation with its interval: the positions of its first attempt and of its final response.
#[derive(Debug, Clone)]
pub(crate) struct Interval<T> {
    /// Position of the first attempt.
    pub(crate) begin: u64,
    /// Position of the final response.
    pub(crate) end: u64,
    /// The operation with its result.
    pub(crate) operation: T,
}

/// Whether a sequential order of the operations explains all results.
pub(crate) fn is_linearizable<S: Specification>(intervals: &[Interval<S::Operation>]) -> bool {
    if intervals.is_empty() {
        return true;
    }
    let mut actions = Vec::with_capacity(intervals.len() * 2);
    for (process, interval) in intervals.iter().enumerate() {
        actions.push((interval.begin, process, Action::Call(interval.operation.clone())));
        actions.push((interval.end, process, Action::Response(interval.operation.clone())));
    }
    actions.sort_by_key(|(at, process, _)| (*at, *process));
    let actions = actions.into_iter().map(|(_, process, action)| (process, action));
    WGLChecker::<S>::is_linearizable(History::from_actions(actions.collect()))
}

/// A number that operations change by a difference and read. Used for balances and counts.
#[derive(Debug)]
pub(crate) struct Number;

/// An operation on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberOperation {
    /// Adds a difference. The result is the new number, if it is known.
    Add(i128, Option<i128>),
    /// Reads the number.
    Read(i128),
}

impl Specification for Number {
    type State = i128;
    type Operation = NumberOperation;

    fn init() -> i128 {
        0
    }

    fn apply(operation: &NumberOperation, state: &i128) -> (bool, i128) {
        match operation {
            NumberOperation::Add(difference, after) => {
                let new = state + difference;
                let is_valid = after.is_none_or(|after| after == new);
                (is_valid, if is_valid { new } else { *state })
            }
            NumberOperation::Read(number) => (number == state, *state),
        }
    }
}

/// An object with operations that can have several results, or an unknown number of effects.
pub(crate) trait Choices {
    /// State of the object.
    type State: Clone + Debug + Ord + Hash;
    /// An operation with its result.
    type Operation: Clone + Debug + Ord + Hash;

    /// The first state.
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
pub(crate) struct Possible<C>(PhantomData<C>);

type States<C> = BTreeSet<<C as Choices>::State>;

/// Adds the states after the possible operations.
fn close<C: Choices>(states: &mut States<C>, possible: &BTreeSet<C::Operation>) {
    let mut left: Vec<C::State> = states.iter().cloned().collect();
    while let Some(state) = left.pop() {
        for next in possible.iter().filter_map(|operation| C::after(operation, &state)) {
            if states.insert(next.clone()) {
                left.push(next);
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
