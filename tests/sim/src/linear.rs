//! Checks histories of single keys for linearizability, with the checker of `todc-utils`.
use todc_utils::{
    Specification,
    linearizability::{
        WGLChecker,
        history::{Action, History},
    },
};

/// An operation with its interval: the positions of its first attempt and of its final response.
#[derive(Debug, Clone)]
pub struct Interval<T> {
    /// Position of the first attempt.
    pub begin: u64,
    /// Position of the final response.
    pub end: u64,
    /// The operation with its result.
    pub operation: T,
}

/// Whether a sequential order of the operations explains all results.
#[must_use]
pub fn is_linearizable<S: Specification>(intervals: &[Interval<S::Operation>]) -> bool {
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
pub struct Number;

/// An operation on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberOperation {
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
