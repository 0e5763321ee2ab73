//! The story of a failing case: the broken rule, the steps and faults that it needs, who did what,
//! and the items that the rule names.
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;

use crate::case::{Case, Outcome};

const WIDTH: usize = 320;

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

    /// Label of the invocation or the request.
    fn run(&self) -> &'a str {
        self.actor.split('/').next().unwrap_or_default()
    }
}

/// Returns the summary of a case: everything except its trace.
pub(crate) fn summary(case: &Case, outcome: &Outcome) -> String {
    let lines = outcome.trace.lines();
    let lines: Vec<Line<'_>> = lines.iter().filter_map(|line| Line::of(line)).collect();
    let names = Names::of(outcome);
    let mut out = format!("Seed {} of the service {}\n\n", case.seed, case.service);
    for violation in &outcome.violations {
        let _ = writeln!(out, "BROKEN RULE: {}", names.short(violation));
    }
    let steps = outcome.steps.iter().filter(|step| !case.dropped.contains(&step.id));
    let steps: Vec<_> =
        steps.map(|one| format!("c{}.{} {}", one.client, one.id, one.action["do"].as_str().unwrap_or("?"))).collect();
    let _ = writeln!(out, "\nSteps: {}", steps.join(", "));
    if !outcome.conditions.is_empty() {
        let _ = writeln!(out, "\nConditions: {}", outcome.conditions.join(", "));
    }
    let _ = writeln!(out, "\nFaults:{}", if outcome.faults.is_empty() { " none" } else { "" });
    for (label, fault) in &outcome.faults {
        let _ = writeln!(out, "  {label}: {fault:?}");
    }
    let mentioned = named(outcome, &lines);
    let is_named = |line: &Line<'_>| mentioned.is_some_and(|id| line.text.contains(id));
    let faulty: BTreeSet<&str> = outcome.faults.iter().map(|(label, _)| label.as_str()).collect();
    let is_key = |line: &&Line<'_>| line.actor != "item" && (faulty.contains(line.actor) || is_named(line));
    let runs: BTreeSet<&str> = lines.iter().filter(is_key).map(Line::run).collect();
    let _ = writeln!(out, "\nWhat happened, with the calls that the rule or a fault names:");
    for line in lines.iter().filter(|line| !matches!(line.actor, "item" | "check")) {
        let (is_call, mut of_client) = (line.actor.contains('/'), line.actor.chars());
        let is_step = of_client.next() == Some('c') && of_client.next().is_some_and(|one| one.is_ascii_digit());
        let is_run = is_step || line.actor == "case" || runs.contains(line.run());
        let (is_told, indent) = if is_call { (is_key(&line), "    ") } else { (is_run, "") };
        if is_told {
            let _ = writeln!(out, "  {:>9} {indent}{} {}", line.time, line.actor, names.short(line.text));
        }
    }
    let _ = writeln!(out, "\nStored items that the rule names:");
    for line in lines.iter().filter(|line| line.actor == "item" && is_named(line)) {
        let _ = writeln!(out, "  {}", names.shown(line.text));
    }
    names.legend(&mut out);
    out
}

/// The id in the first violation that the fewest lines contain.
fn named<'a>(outcome: &'a Outcome, lines: &[Line<'_>]) -> Option<&'a str> {
    let words = outcome.violations.first()?.split(|one: char| !(one.is_ascii_alphanumeric() || "-_".contains(one)));
    let ids = words.filter(|word| word.len() >= 16 && word.contains(|one: char| one.is_ascii_digit()));
    let counted = ids.map(|id| (lines.iter().filter(|line| line.text.contains(id)).count(), id));
    counted.filter(|(count, _)| *count > 1).min().map(|(_, id)| id)
}

/// Short names of the ids in the responses, such as `payment-1`.
struct Names(Vec<(String, String)>);

impl Names {
    fn of(outcome: &Outcome) -> Self {
        let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for exchange in &outcome.history {
            collect(&exchange.reply.body, &mut names, &mut counts);
        }
        let mut names: Vec<_> = names.into_iter().collect();
        // An id can contain another one.
        names.sort_by_key(|(id, _)| Reverse(id.len()));
        Self(names)
    }

    fn shown(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
    }

    fn short(&self, text: &str) -> String {
        let shown = self.shown(text);
        let cut: String = shown.chars().take(WIDTH).collect();
        if cut.len() < shown.len() { cut + " …" } else { cut }
    }

    fn legend(&self, text: &mut String) {
        let mut used: Vec<_> = self.0.iter().filter(|(_, name)| text.contains(name.as_str())).collect();
        used.sort_by_key(|(_, name)| name.rsplit_once('-').map(|(kind, number)| (kind, number.parse::<u32>().ok())));
        let _ = writeln!(text, "\nNames:");
        for (id, name) in used {
            let _ = writeln!(text, "  {name} is {id}");
        }
    }
}

/// Names the values of the members `…Id`.
fn collect(body: &Value, names: &mut BTreeMap<String, String>, counts: &mut BTreeMap<String, u32>) {
    match body {
        Value::Object(members) => {
            for (member, value) in members {
                let kind = member.strip_suffix("Id").zip(value.as_str()).filter(|(_, id)| id.len() >= 16);
                if let Some((kind, id)) = kind {
                    let last = kind.rfind(|one: char| one.is_ascii_uppercase()).unwrap_or_default();
                    let kind = kind[last..].to_lowercase();
                    names.entry(id.to_owned()).or_insert_with(|| {
                        let count = counts.entry(kind.clone()).or_default();
                        *count += 1;
                        format!("{kind}-{count}")
                    });
                }
                collect(value, names, counts);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, names, counts)),
        _ => {}
    }
}
