//! The story of a failing case: the broken rule, the steps and faults that it needs, who did what,
//! and the items that the rule names.
use std::{collections::BTreeSet, fmt::Write as _};

use crate::{
    case::{Case, Outcome},
    faults::Fault,
};

/// Longest line of the summary.
const WIDTH: usize = 400;

/// A line of the trace: time, actor and text.
struct Line<'a> {
    time: &'a str,
    actor: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (time, rest) = line.trim_start().split_once(' ')?;
        let (actor, text) = rest.trim_start().split_once(' ')?;
        Some(Self { time, actor, text: text.trim_start() })
    }
}

/// Returns the summary of a case: everything except its trace.
#[must_use]
pub fn summary(case: &Case, outcome: &Outcome) -> String {
    let mut out = format!("The {} service with the seed {}\n\n", case.service, case.seed);
    for violation in &outcome.violations {
        let _ = writeln!(out, "BROKEN RULE {}", short(violation));
    }
    let lines = outcome.trace.lines();
    let lines: Vec<Line<'_>> = lines.iter().filter_map(|line| Line::of(line)).collect();
    let _ = writeln!(out, "\nSteps");
    for step in outcome.steps.iter().filter(|step| !case.dropped.contains(&step.id)) {
        let _ = writeln!(out, "  c{}.{} after {} ms: {}", step.client, step.id, step.pause, step.action);
    }
    let _ = writeln!(out, "\nFaults");
    for (label, fault) in &outcome.faults {
        let call = lines.iter().find(|line| line.actor == label).map_or("", |line| line.text);
        let _ = writeln!(out, "  {fault:?} at {label}: {}. {}", explained(*fault), short(call));
    }
    if outcome.faults.is_empty() {
        let _ = writeln!(out, "  none");
    }
    if !outcome.conditions.is_empty() {
        let _ = writeln!(out, "\nConditions\n  {}", outcome.conditions.join(", "));
    }
    let _ = writeln!(out, "\nRequests, events and runs, in their order");
    let faulty: BTreeSet<&str> = outcome.faults.iter().map(|(label, _)| label.as_str()).collect();
    for line in lines.iter().filter(|line| line.actor != "item") {
        if is_chapter(line.text) || faulty.contains(line.actor) {
            let _ = writeln!(out, "  {} {} {}", line.time, line.actor, short(line.text));
        }
    }
    let ids: BTreeSet<&str> = outcome.violations.iter().flat_map(|violation| ids(violation)).collect();
    let _ = writeln!(out, "\nStored items that the rule names");
    for line in lines.iter().filter(|line| line.actor == "item") {
        if ids.iter().any(|id| line.text.contains(id)) {
            let _ = writeln!(out, "  {}", line.text);
        }
    }
    out
}

/// Whether the line belongs to the summary. The trace also has all calls.
fn is_chapter(text: &str) -> bool {
    let starts = ["gets ", "fires ", "is not fired", "uploads ", "faults stop", "VIOLATION "];
    let holds = [" asks ", " receives ", " failed: ", " hours pass"];
    starts.iter().any(|start| text.starts_with(start)) || holds.iter().any(|part| text.contains(part))
}

fn explained(fault: Fault) -> &'static str {
    match fault {
        Fault::Unsent => "the connection broke before the call arrived",
        Fault::Lost => "the connection broke after the effect of the call",
        Fault::Throttled => "DynamoDB throttled the call",
        Fault::Failed => "DynamoDB answered 500, without an effect",
        Fault::FailedAfter => "DynamoDB answered 500, after the effect",
        Fault::Conflict => "another transaction used an item of the call",
        Fault::Late => "the call arrived after the timeout of its attempt",
        Fault::KilledBefore => "the function was killed before the call arrived",
        Fault::KilledAfter => "the function was killed after the effect of the call",
        Fault::Frozen => "the function stopped for seconds, and then continued",
        Fault::Unprocessed => "DynamoDB processed a part of the batch",
        Fault::RequestLost => "the request of the client did not arrive",
        Fault::AnswerLost => "the response did not arrive at the client",
        Fault::Repeated => "a batch of stream records was delivered twice",
    }
}

/// The ids in a text: long words with digits.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|one: char| !(one.is_ascii_alphanumeric() || one == '-' || one == '_'));
    words.filter(|word| word.len() >= 16 && word.contains(|one: char| one.is_ascii_digit()))
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(WIDTH).collect();
    if cut.len() < text.len() { cut + " …" } else { cut }
}
