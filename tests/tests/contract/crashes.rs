//! Every crash, in order: each write with a fault at its first, second, … last call, also those of
//! the functions that its stream records invoke. The caller repeats. The final items are those of
//! an undisturbed run.

use crate::{
    net::{FAULTS, Fault, LATE},
    shape::{self, Before},
    stage::{Ask, Stage},
};
use system_tests::{Answer, stride};
use tokio::time::sleep;

const MAX_CALLS: usize = 200;
/// Number of calls of a request. Later calls are those of the functions that follow it.
const FIRST_CALLS: usize = 6;
const MAX_REPEATS: usize = 8;

/// Faults of every call, and the status of the response.
const LASTING: [(Fault, u16); 3] = [(Fault::Throttled, 429), (Fault::Lost, 503), (Fault::Late, 503)];

pub(crate) async fn check(stage: &mut Stage) {
    let before = Before::of(&stage.items());
    for (place, row) in stage.rows.clone().into_iter().enumerate() {
        let Some(ask) = stage.write(&row) else { continue };
        let has_key = ask.headers.contains_key("idempotency-key");
        if !stage.plays(&row.event) {
            continue;
        }
        // A request without a key may act once more.
        let mut allowed = Vec::new();
        for times in 1..=if has_key { 1 } else { 2 } {
            let mut last = 0;
            for _ in 0..times {
                last = stage.send_quietly(&ask).await.status;
                stage.settle(&row.event).await;
            }
            allowed.push((last, shape::of(&before, &stage.items())));
            stage.restore();
        }
        for (fault, status) in LASTING {
            outage(stage, &row.event, &ask, fault, status).await;
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
                let mut answer = stage.send_quietly(&ask).await;
                let mut repeats = 0;
                while matches!(worst(&answer), 429 | 500..) && repeats < MAX_REPEATS {
                    stage.net.revive();
                    answer = stage.send_quietly(&ask).await;
                    repeats += 1;
                }
                stage.net.revive();
                stage.settle(&case).await;
                sleep(LATE).await;
                stage.settle(&case).await;
                let met = stage.net.met();
                let got = shape::of(&before, &stage.items());
                let statuses: Vec<_> = allowed.iter().map(|(status, _)| *status).collect();
                if !statuses.contains(&answer.status) {
                    stage.fault(
                        &case,
                        format!("{statuses:?}"),
                        format!("{} {} after {met:?}", answer.status, answer.body),
                    );
                }
                let differences: Option<Vec<_>> =
                    allowed.iter().map(|(_, shape)| shape::difference(shape, &got)).collect();
                if let Some((expected, got)) = differences.and_then(|differences| differences.into_iter().next()) {
                    stage.fault(&case, expected, format!("{got} after {met:?}"));
                }
                stage.restore();
                if met.is_none() {
                    break;
                }
            }
        }
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

/// The status of a response, or the highest status of the outcomes of a batch.
fn worst(answer: &Answer) -> u16 {
    let outcomes = answer.body["results"].as_array().into_iter().flatten();
    let outcomes = outcomes.filter_map(|outcome| outcome["status"].as_u64()?.try_into().ok());
    outcomes.chain([answer.status]).max().unwrap_or_default()
}
