//! The same request several times at once, with drawn latencies: the outcome is that of as many
//! requests one after the other as succeeded.

use crate::{
    shape::{self, Before},
    stage::Stage,
};
use futures::future::join_all;
use std::time::Duration;
use tokio::time::sleep;

const COPIES: usize = 4;
const SEEDS: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 0x1234_5678_9abc_def1];

pub(crate) async fn check(stage: &mut Stage) {
    let before = Before::of(&stage.items());
    // No request has the time at which the world was created.
    sleep(Duration::from_secs(1)).await;
    for row in stage.rows.clone() {
        let Some(ask) = stage.write(&row) else { continue };
        for (seed, key) in SEEDS.into_iter().flat_map(|seed| [true, false].map(|key| (seed, key))) {
            let has_key = ask.headers.contains_key("idempotency-key");
            let case = format!("{} seed {seed:x}{}", row.event, if key { " with one key" } else { "" });
            if key && !has_key || !stage.plays(&case) {
                continue;
            }
            let asks: Vec<_> = (0..COPIES)
                .map(
                    |copy| {
                        if key || !has_key { ask.clone() } else { ask.header("idempotency-key", &format!("{copy}")) }
                    },
                )
                .collect();
            stage.net.slow(seed);
            let answers = join_all(asks.iter().map(|ask| stage.send_quietly(ask))).await;
            stage.net.heal();
            stage.settle(&case).await;
            let got = shape::of(&before, &stage.items());
            let done: Vec<_> = asks.iter().zip(&answers).filter(|(_, answer)| answer.status < 300).collect();
            for answer in answers.iter().filter(|answer| answer.status >= 500 && answer.status != 503) {
                stage.fault(&case, "no error", format!("{} {}", answer.status, answer.body));
            }
            if done.is_empty() {
                stage.fault(&case, "a success", "none");
            }
            stage.restore();
            for (ask, _) in done {
                stage.send_quietly(ask).await;
            }
            stage.settle(&case).await;
            let expected = shape::of(&before, &stage.items());
            if let Some((expected, got)) = shape::difference(&expected, &got) {
                stage.fault(&case, expected, got);
            }
            stage.restore();
        }
    }
}
