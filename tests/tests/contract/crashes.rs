//! Every crash, in order: each write with a fault at its first, second, … last call, also those of
//! the functions that its stream records invoke. The caller repeats. The final items are those of
//! an undisturbed run.

use crate::{
    net::{FAULTS, Fault, LATE},
    rows::Row,
    shape::{self, Before},
    stage::{Ask, Stage, worst},
};
use serde_json::Value;
use system_tests::stride;
use tokio::time::sleep;

const MAX_CALLS: usize = 200;
/// Number of calls of a request. Later calls are those of the functions that follow it.
const FIRST_CALLS: usize = 6;
const MAX_REPEATS: usize = 8;

/// Faults of every call, and the status of the response.
const LASTING: [(Fault, u16); 4] =
    [(Fault::Throttled, 429), (Fault::Conflict, 503), (Fault::Lost, 503), (Fault::Late, 503)];

pub(crate) async fn check(stage: &mut Stage) {
    let before = Before::of(&stage.items_and_lines());
    for (place, row) in stage.rows.clone().into_iter().enumerate() {
        let Some(act) = Act::of(stage, &row) else { continue };
        if !stage.plays(&row.event) {
            continue;
        }
        let allowed = undisturbed(stage, &row.event, &act, &before).await;
        if let Act::Request(ask) = &act {
            let writes = allowed.iter().any(|(_, shape)| !shape.is_empty());
            for (fault, status) in LASTING.into_iter().filter(|(fault, _)| writes || *fault != Fault::Conflict) {
                outage(stage, &row.event, ask, fault, status).await;
            }
        }
        for (first, fault) in FAULTS.into_iter().enumerate() {
            for number in 1..MAX_CALLS {
                let case = format!("{} {fault:?} {number}", row.event);
                // Each event plays another part of the calls.
                let step = stride(if number > FIRST_CALLS { 11 } else { 3 });
                if (number + first + place) % step != 0 || !stage.plays(&case) {
                    continue;
                }
                stage.net.plan(number, fault);
                disturbed(stage, &case, &act, &before, &allowed).await;
                let is_met = stage.net.met().is_some();
                stage.restore();
                if !is_met {
                    break;
                }
            }
        }
    }
}

/// A write that is repeated until it succeeds.
enum Act {
    Request(Ask),
    /// An event of a function that is not called over HTTP.
    Event(Row, Value),
}

impl Act {
    fn of(stage: &Stage, row: &Row) -> Option<Self> {
        match stage.ask(row) {
            Some(_) => stage.write(row).map(Self::Request),
            None => Some(Self::Event(row.clone(), stage.event(row))),
        }
    }

    /// Plays the write once. Returns the status and the body of the response. If an outcome of
    /// a batch asks for a repetition, the status is that of the outcome.
    async fn play(&self, stage: &Stage) -> (u16, String) {
        match self {
            Self::Request(ask) => {
                let answer = stage.send_quietly(ask).await;
                let worst = worst(&answer);
                (if worst == 429 || worst >= 500 { worst } else { answer.status }, answer.body.to_string())
            }
            Self::Event(row, event) => match stage.invoke(row, event.clone()).await.answer {
                Ok(answer) if answer["batchItemFailures"][0].is_null() => (200, answer.to_string()),
                failed => (500, format!("{failed:?}")),
            },
        }
    }

    /// How often the write may take effect. Without an idempotency key, a repetition is another
    /// write.
    fn most(&self) -> usize {
        match self {
            Self::Request(ask) if !ask.headers.contains_key("idempotency-key") => 2,
            _ => 1,
        }
    }
}

/// The outcomes without a fault: the status, and the items.
async fn undisturbed(stage: &mut Stage, event: &str, act: &Act, before: &Before) -> Vec<(u16, Vec<String>)> {
    let mut allowed = Vec::new();
    for times in 1..=act.most() {
        let mut last = 0;
        for _ in 0..times {
            (last, _) = act.play(stage).await;
            stage.settle(event).await;
        }
        // A second request without a key may be refused.
        if last >= 300 && times == 1 {
            stage.fault(event, "success without a fault", last);
        }
        allowed.push((last, shape::of(before, &stage.items_and_lines())));
        stage.restore();
    }
    allowed
}

/// Plays the write with the planned fault, and compares the outcome.
async fn disturbed(stage: &mut Stage, case: &str, act: &Act, before: &Before, allowed: &[(u16, Vec<String>)]) {
    let (mut status, mut body) = act.play(stage).await;
    for _ in 0..MAX_REPEATS {
        stage.net.revive();
        if status != 429 && status < 500 {
            break;
        }
        (status, body) = act.play(stage).await;
    }
    stage.settle(case).await;
    sleep(LATE).await;
    stage.settle(case).await;
    let met = stage.net.met();
    let statuses: Vec<_> = allowed.iter().map(|(status, _)| *status).collect();
    if !statuses.contains(&status) {
        stage.fault(case, format!("{statuses:?}"), format!("{status} {body} after {met:?}"));
    }
    let got = shape::of(before, &stage.items_and_lines());
    let differences: Option<Vec<_>> = allowed.iter().map(|(_, shape)| shape::difference(shape, &got)).collect();
    if let Some((expected, got)) = differences.and_then(|differences| differences.into_iter().next()) {
        stage.fault(case, expected, format!("{got} after {met:?}"));
    }
}

/// While every call meets the fault, the caller is told to repeat the request.
async fn outage(stage: &mut Stage, event: &str, ask: &Ask, fault: Fault, status: u16) {
    let case = format!("{event} always {fault:?}");
    if !stage.plays(&case) {
        return;
    }
    stage.net.plan_always(fault);
    let answer = stage.send(&case, ask).await;
    // The outcomes of a batch have no headers, and their status does not depend on the fault.
    let is_batch = answer.body["results"].is_array() && matches!(worst(&answer), 429 | 503);
    if !is_batch {
        stage.same(&case, &status, &answer.status);
    }
    if answer.status == status && answer.headers.get("retry-after").is_none_or(|after| after != "1") {
        stage.fault(&case, "retry-after: 1", format!("{:?}", answer.headers));
    }
    sleep(LATE).await;
    stage.restore();
}
