//! Every crash, in order: each write with a fault at its first, second, … last call, also those of
//! the functions that its stream records invoke. The caller repeats. The final items are those of
//! an undisturbed run.

use crate::{
    net::{FAULTS, LATE},
    shape,
    stage::Stage,
};
use system_tests::stride;
use tokio::time::sleep;

const MAX_CALLS: usize = 200;
const MAX_REPEATS: usize = 8;

pub(crate) async fn check(stage: &mut Stage) {
    for row in stage.rows.clone() {
        let Some(ask) = stage.ask(&row).filter(|ask| !ask.is_get()) else { continue };
        let has_key = ask.headers.contains_key("idempotency-key");
        let before = stage.items();
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
        let step = stride(3);
        for (first, fault) in FAULTS.into_iter().enumerate() {
            for number in (1 + first % step..MAX_CALLS).step_by(step) {
                let case = format!("{} {fault:?} {number}", row.event);
                if !stage.plays(&case) {
                    continue;
                }
                stage.net.plan(number, fault);
                let mut answer = stage.send_quietly(&ask).await;
                let mut repeats = 0;
                while (answer.status == 429 || answer.status >= 500) && repeats < MAX_REPEATS {
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
