//! Makes a failing case shorter: leaves out steps, faults and conditions, as long as the same rule
//! is broken.
use std::collections::BTreeSet;

use crate::case::{Case, Outcome, run};

const MAX_RUNS: usize = 200;

/// Returns the shortest failing case that was found, with its outcome.
pub(crate) fn shrink(case: &Case, outcome: Outcome) -> (Case, Outcome) {
    let mut best = (case.clone(), outcome);
    let mut runs = 0;
    let rule = rule(&best.1);
    let mut fails = |case: &Case| {
        runs += 1;
        if runs > MAX_RUNS {
            return None;
        }
        run(case).ok().filter(|outcome| self::rule(outcome) == rule)
    };
    for _ in 0..2 {
        let steps: Vec<u32> =
            best.1.steps.iter().map(|step| step.id).filter(|id| !best.0.dropped.contains(id)).collect();
        reduce(&steps, &mut best, |case, part| case.dropped.extend(part), &mut fails);
        let faults: BTreeSet<String> = best.1.faults.iter().map(|(label, _)| label.clone()).collect();
        let faults: Vec<String> = faults.into_iter().collect();
        reduce(&faults, &mut best, |case, part| case.muted.extend(part.iter().cloned()), &mut fails);
        let conditions: Vec<String> = best.1.conditions.iter().map(|name| (*name).to_owned()).collect();
        reduce(&conditions, &mut best, |case, part| case.without.extend(part.iter().cloned()), &mut fails);
    }
    best
}

/// The first words of the first violation, without ids and numbers. Empty if no rule is broken.
fn rule(outcome: &Outcome) -> Vec<String> {
    let words = outcome.violations.first().into_iter().flat_map(|violation| violation.split_whitespace());
    words.filter(|word| !word.contains(|one: char| one.is_ascii_digit())).take(4).map(str::to_owned).collect()
}

/// Removes parts of the list: halves first, and single elements last.
fn reduce<T: Clone>(
    all: &[T],
    best: &mut (Case, Outcome),
    remove: impl Fn(&mut Case, &[T]),
    fails: &mut impl FnMut(&Case) -> Option<Outcome>,
) {
    let mut left = all.to_vec();
    let mut size = left.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < left.len() {
            let end = (at + size).min(left.len());
            let mut candidate = best.0.clone();
            remove(&mut candidate, &left[at..end]);
            if let Some(outcome) = fails(&candidate) {
                *best = (candidate, outcome);
                left.drain(at..end);
            } else {
                at = end;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
}
