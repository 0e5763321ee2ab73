//! Idempotency: a repeated request with the same key has the first response and no effect. Another
//! request with the key is refused.

use crate::{
    input::places,
    shape::MARK,
    stage::{Ask, Stage},
};
use serde_json::Value;

const KEY: &str = "idempotency-key";

pub(crate) async fn check(stage: &mut Stage) {
    for row in stage.rows.clone() {
        let Some(ask) = stage.ask(&row) else { continue };
        if ask.is_get() || row.event.contains('.') {
            continue;
        }
        let operation = stage.operation(&ask);
        let takes_a_key = operation.parameters("header").contains("Idempotency-Key");
        let is_needed = takes_a_key && operation.parameter("header", "Idempotency-Key")["required"] == true;
        if takes_a_key {
            let ask = ask.header(KEY, "contract").by(Some(stage.operator()));
            repeated(stage, &row.event, &ask).await;
            other_owner(stage, &row.event, &ask).await;
            invalid_keys(stage, &row.event, &ask).await;
        }
        let case = format!("{} without a key", row.event);
        if stage.plays(&case) {
            let answer = stage.send(&case, &ask.without(KEY)).await;
            if is_needed {
                stage.same(&case, &400, &answer.status);
                stage.unchanged(&case);
            } else if answer.status >= 300 {
                stage.fault(&case, "success", format!("{} {}", answer.status, answer.body));
            }
            stage.renew();
        }
    }
}

async fn repeated(stage: &mut Stage, event: &str, ask: &Ask) {
    let case = format!("{event} again");
    if !stage.plays(&case) {
        return;
    }
    let first = stage.send(&case, ask).await;
    let items = stage.items();
    let again = stage.send(&case, ask).await;
    let shown = |status: u16, body: &Value| format!("{status} {body}");
    stage.same(&case, &shown(first.status, &first.body), &shown(again.status, &again.body));
    if woken(stage.items()) != woken(items.clone()) {
        stage.fault(&case, "no write", "a write");
    }
    // Another request: its body, or another resource below the same owner.
    for (name, other) in others(stage, ask) {
        let case = format!("{event} with the key of another {name}");
        let answer = stage.send(&case, &other).await;
        if answer.status != 422 {
            stage.fault(&case, "422", format!("{} {}", answer.status, answer.body));
        }
        if woken(stage.items()) != woken(items.clone()) {
            stage.fault(&case, "no write", "a write");
        }
    }
    stage.restore();
}

/// The items without the mark of a job that a repeated start wakes up.
fn woken(mut items: Vec<(String, Value)>) -> Vec<(String, Value)> {
    for (_, item) in &mut items {
        item.as_object_mut().and_then(|item| item.remove(MARK));
    }
    items
}

/// Requests that differ from this one in one value of the body. The schema allows each of them.
fn others(stage: &Stage, ask: &Ask) -> Vec<(String, Ask)> {
    let body = ask.json();
    let operation = stage.operation(ask);
    let changed = places(&body, "").into_iter().filter_map(|pointer| {
        let mut other = body.clone();
        let value = other.pointer_mut(&pointer)?;
        *value = match &*value {
            Value::Number(number) => (number.as_i64()? + 1).into(),
            Value::String(text) => format!("{text}x").into(),
            Value::Bool(value) => (!value).into(),
            _ => return None,
        };
        let text = other.to_string();
        operation.faults_of_request(Some(&text)).is_empty().then(|| (pointer, ask.saying(text)))
    });
    changed.collect()
}

/// The key belongs to its owner: the same key of another caller is another request.
async fn other_owner(stage: &mut Stage, event: &str, ask: &Ask) {
    let case = format!("{event} with the key of another owner");
    if ask.names().ne([stage.service.owner]) || !stage.plays(&case) {
        return;
    }
    let first = stage.send(&case, ask).await;
    let other = stage.owned(ask, stage.another(ask));
    let answer = stage.send(&case, &other).await;
    if answer.status == 422 || answer.body == first.body {
        stage.fault(&case, "another response", format!("{} {}", answer.status, answer.body));
    }
    stage.restore();
}

async fn invalid_keys(stage: &mut Stage, event: &str, ask: &Ask) {
    let long = "x".repeat(129);
    for key in ["", "a,b", "a#b", "a  b", "[a]", ".", "..", long.as_str()] {
        let case = format!("{event} with the key {key:?}");
        if stage.plays(&case) {
            let answer = stage.send(&case, &ask.header(KEY, key)).await;
            let expected = format!("400 {}", "/header/idempotency-key");
            let got = format!("{} {}", answer.status, crate::input::pointers(&answer.body).join(" "));
            stage.same(&case, &expected, &got.to_lowercase());
            stage.unchanged(&case);
        }
    }
}
