//! Each kind of stored item damaged, for each reader. A list leaves out the item and counts it as
//! skipped. Everything else fails without the item, or does not need it. The log has its key.

use crate::{rows::Row, stage::Stage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Damage to attributes.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Missing,
    Mistyped,
    Unparsable,
}

const DAMAGES: [Damage; 3] = [Damage::Missing, Damage::Mistyped, Damage::Unparsable];

/// Items of a type that a driver damages one by one.
const SOME: usize = 6;

pub(crate) async fn check(stage: &mut Stage) {
    let mut types = BTreeMap::<String, Vec<(String, Value)>>::new();
    for (table, item) in stage.items() {
        types.entry(item["Type"]["S"].as_str().unwrap_or("?").to_owned()).or_default().push((table, item));
    }
    let mut readers = Vec::new();
    for row in stage.rows.clone() {
        let is_list = stage.ask(&row).is_some_and(|ask| stage.operation(&ask).parameters("query").contains("cursor"));
        readers.push(Reader { healthy: read(stage, &row).await, row, is_list, needs: BTreeSet::new() });
        stage.renew();
    }
    for (kind, items) in &types {
        for how in DAMAGES {
            all_of_a_type(stage, &mut readers, kind, items, how).await;
        }
        for (number, item) in items.iter().enumerate().take(SOME) {
            one_of_a_list(stage, &readers, kind, item, number).await;
        }
    }
    for Reader { row, needs, .. } in readers {
        if stage.plays(&row.event) && needs != row.needs {
            let shown = |types: &BTreeSet<String>| types.iter().cloned().collect::<Vec<_>>().join(" ");
            stage.fault(&row.event, format!("needs {}", shown(&row.needs)), shown(&needs));
        }
    }
}

/// A function that reads items.
struct Reader {
    row: Row,
    is_list: bool,
    /// The response without damage.
    healthy: Reading,
    /// The types of the items without which it fails.
    needs: BTreeSet<String>,
}

async fn all_of_a_type(stage: &mut Stage, readers: &mut [Reader], kind: &str, items: &[(String, Value)], how: Damage) {
    for (table, item) in items {
        stage.put(table, &damaged(stage, item, how));
    }
    let undamaged = stage.keep();
    for Reader { row, is_list, healthy, needs } in readers {
        let case = format!("{} {kind} {how:?}", row.event);
        if stage.plays(&case) {
            let reading = read(stage, row).await;
            compare(stage, &case, healthy, &reading, *is_list);
            if reading.status >= 500 || reading.logged > 0 && reading.status == 409 {
                needs.insert(kind.to_owned());
            }
            stage.renew();
        }
    }
    stage.return_to(undamaged);
}

/// One bad item of a list stops nobody else.
async fn one_of_a_list(
    stage: &mut Stage,
    readers: &[Reader],
    kind: &str,
    (table, item): &(String, Value),
    number: usize,
) {
    stage.put(table, &damaged(stage, item, Damage::Mistyped));
    for Reader { row, healthy, .. } in readers.iter().filter(|reader| reader.is_list) {
        let case = format!("{} {kind} {number}", row.event);
        if stage.plays(&case) {
            let reading = read(stage, row).await;
            compare(stage, &case, healthy, &reading, true);
            if reading.status >= 500 && !row.needs.contains(kind) {
                stage.fault(&case, "a list without the item", format!("{} {}", reading.status, reading.body));
            }
        }
    }
    stage.restore();
}

/// The response of a function, and the keys of the items that it could not read.
struct Reading {
    status: u64,
    body: Value,
    logged: usize,
}

impl Reading {
    fn items(&self) -> Option<usize> {
        self.body["items"].as_array().map(Vec::len)
    }
}

async fn read(stage: &Stage, row: &Row) -> Reading {
    let mut event = stage.event(row);
    // An operator learns whether an item exists. The events of companies keep their callers.
    if event["routeKey"].is_string() && stage.service.employee.is_none() {
        let scope = format!("{}:operate", stage.service.name);
        event["requestContext"]["authorizer"]["jwt"]["claims"]["scope"] = scope.into();
    }
    let invoked = stage.invoke(row, event).await;
    let logged = usize::try_from(invoked.usage.unreadable).unwrap_or(usize::MAX);
    let (status, body) = match invoked.answer {
        Err(_) => (500, Value::Null),
        Ok(answer) => match answer["statusCode"].as_u64() {
            Some(status) => {
                (status, answer["body"].as_str().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default())
            }
            None => (200, answer),
        },
    };
    Reading { status, body, logged }
}

/// The item with damage to all of its attributes except the keys, the type, and the attributes of
/// filters: a query leaves out an item whose filtered attribute is damaged.
fn damaged(stage: &Stage, item: &Value, how: Damage) -> Value {
    let is_key = |name: &str| {
        ["PK", "SK", "Type"].contains(&name) || name.starts_with("GSI") || stage.service.filters.contains(&name)
    };
    let members = item.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let damaged = match how {
            _ if is_key(name) => value.clone(),
            Damage::Missing => return None,
            Damage::Mistyped => json!({"L": []}),
            Damage::Unparsable => json!({"S": "damaged"}),
        };
        Some((name.clone(), damaged))
    });
    members.collect()
}

/// Either the response is that without the damage, or the item is reported.
fn compare(stage: &mut Stage, case: &str, healthy: &Reading, reading: &Reading, is_list: bool) {
    let shown = |reading: &Reading| format!("{} {:?} {}", reading.status, reading.items(), reading.body["skipped"]);
    match (reading.logged > 0, reading.status) {
        (false, _) => stage.same(case, &shown(healthy), &shown(reading)),
        (true, 200..300) if is_list => {
            let skipped = reading.body["skipped"].as_u64().unwrap_or_default();
            let expected = healthy.items().unwrap_or_default();
            let got = reading.items().unwrap_or_default() + usize::try_from(skipped).unwrap_or_default();
            stage.same(case, &expected, &got);
        }
        (true, 200..300 | 500..) => {}
        // An account is not closed while its last leg is unreadable.
        (true, 409) if case.starts_with("update-account.closing ") => {}
        (true, _) => stage.fault(case, "500 or a success", shown(reading)),
    }
}
