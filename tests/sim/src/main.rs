//! A deterministic simulation of all services: it runs cases, and replays or shrinks a failing one
//! (docs/simulation.md).
//!
//! A case has a seed. It runs clients, functions, stream pollers, schedules and jobs on one thread
//! with a virtual clock. The seed chooses all latencies and faults, and with them the interleaving
//! (docs/decisions/simulation.md).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]
#![allow(clippy::expect_used, reason = "a case may stop here")]
mod case;
mod costs;
mod draw;
mod faults;
mod linear;
mod published;
mod shrink;
mod spent;
mod story;
mod trace;
mod workloads;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    process::ExitCode,
};

use local::in_process::clock;
use serde::Deserialize;

use crate::{
    case::{Case, Outcome, run},
    shrink::shrink,
    story::summary,
    workloads::ALL,
};

const USAGE: &str = "sim [--seed N] [--cases N] [--service NAME] [--also FILE,…] [--replay FILE] [--trace] [--digest] [--keep-going] [--out FOLDER] [--no-shrink]";

fn main() -> ExitCode {
    let mut options = BTreeMap::new();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let Some(name) = argument.strip_prefix("--") else { return usage() };
        let value = match name {
            "trace" | "digest" | "keep-going" | "no-shrink" => String::new(),
            "seed" | "cases" | "service" | "also" | "replay" | "out" => match arguments.next() {
                Some(value) => value,
                None => return usage(),
            },
            _ => return usage(),
        };
        options.insert(name.to_owned(), value);
    }
    match options.get("replay") {
        Some(file) => replay(file, &options),
        None => many(&options),
    }
}

fn usage() -> ExitCode {
    fail(USAGE)
}

fn fail(error: &str) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(2)
}

fn replay(file: &str, options: &BTreeMap<String, String>) -> ExitCode {
    let read = fs::read_to_string(file).map_err(|error| error.to_string());
    let case = read.and_then(|text| serde_json::from_str::<Case>(&text).map_err(|error| error.to_string()));
    match case.and_then(|case| run(&case).map(|outcome| (case, outcome))) {
        Ok((case, outcome)) => {
            tell(&case, &outcome, options.contains_key("trace"));
            if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => fail(&format!("{file}: {error}")),
    }
}

/// A seed that found a bug (tests/sim/found.json), or finds a planted one
/// (tests/sim/mutants/seeds.json).
#[derive(Deserialize)]
struct Found {
    service: String,
    seed: Option<u64>,
}

fn recorded(files: &str) -> Result<BTreeSet<(String, u64)>, String> {
    let mut cases = BTreeSet::new();
    for file in files.split(',') {
        let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let found: BTreeMap<String, Found> = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        cases.extend(found.into_values().filter_map(|one| Some((one.service, one.seed?))));
    }
    Ok(cases)
}

/// Runs the recorded cases, and then the cases of consecutive seeds, for each service in turn.
fn many(options: &BTreeMap<String, String>) -> ExitCode {
    let number = |name: &str, default: u64| options.get(name).map_or(Some(default), |text| text.parse().ok());
    let (Some(first), Some(count)) = (number("seed", 1), number("cases", 100)) else { return usage() };
    let services: Vec<&str> = match options.get("service") {
        Some(service) => service.split(',').collect(),
        None => ALL.to_vec(),
    };
    let also = match options.get("also").map(|files| recorded(files)).transpose() {
        Ok(also) => also.unwrap_or_default(),
        Err(error) => return fail(&error),
    };
    let count = count + u64::try_from(also.len()).unwrap_or_default();
    let also = also.into_iter().map(|(service, seed)| Case::new(&service, seed));
    let turns = services.iter().cycle().zip(first..).map(|(service, seed)| Case::new(service, seed));
    let (mut calls, mut faults, mut failures) = (0_u64, 0, 0);
    for case in also.chain(turns).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let outcome = match run(&case) {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        };
        calls += u64::from(outcome.calls);
        faults += outcome.faults.len();
        if options.contains_key("digest") {
            println!("{} {} {} {}", case.service, case.seed, outcome.trace.digest(), outcome.trace.lines().len());
        }
        if options.contains_key("trace") {
            tell(&case, &outcome, true);
        }
        if !outcome.violations.is_empty() {
            failures += 1;
            report(&case, outcome, options);
            if !options.contains_key("keep-going") {
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{count} cases, {calls} calls, {faults} faults, {failures} failures");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a failing case, shortened, and writes its replay file.
fn report(case: &Case, outcome: Outcome, options: &BTreeMap<String, String>) {
    println!("seed {} of {} fails: {}", case.seed, case.service, outcome.violations[0]);
    let (case, outcome) =
        if options.contains_key("no-shrink") { (case.clone(), outcome) } else { shrink(case, outcome) };
    println!("{}", summary(&case, &outcome));
    let Some(folder) = options.get("out") else { return };
    let file = format!("{folder}/{}-{}", case.service, case.seed);
    let text = serde_json::to_string_pretty(&case).unwrap_or_default();
    let story = format!("{}\nTrace\n{}", summary(&case, &outcome), outcome.trace.lines().join("\n"));
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(format!("{file}.json"), text + "\n"))
        .and_then(|()| fs::write(format!("{file}.txt"), story + "\n"));
    match written {
        Ok(()) => println!("replay with: make sim REPLAY={file}.json; the story is in {file}.txt"),
        Err(error) => eprintln!("{file}: {error}"),
    }
}

fn tell(case: &Case, outcome: &Outcome, with_trace: bool) {
    println!("{}", summary(case, outcome));
    if with_trace {
        for line in outcome.trace.lines() {
            println!("{line}");
        }
    }
    let kept = outcome.steps.iter().filter(|step| !case.dropped.contains(&step.id)).count();
    println!(
        "{} seed {}: {kept} steps, {} faults, {} calls",
        case.service,
        case.seed,
        outcome.faults.len(),
        outcome.calls
    );
}
