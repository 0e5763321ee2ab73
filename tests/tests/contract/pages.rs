//! Pages and cursors: the pages of a list have all its items once, and a cursor belongs to its
//! list, its query and its caller.

use crate::{
    input::pointers,
    stage::{Ask, Stage},
};
use serde_json::Value;
use system_tests::requests::changes_of;

/// Lists with fewer than two items in the worlds: no payment is overdue, one was executed, and
/// an activity has one participant.
const SHORT: [&str; 4] = ["list-overdue-payments", "list-transactions-by-date", "list-participants", "list-references"];

const PAGING: [&str; 2] = ["limit", "cursor"];

pub(crate) async fn check(stage: &mut Stage) {
    let lists: Vec<_> = stage
        .rows
        .clone()
        .into_iter()
        .filter_map(|row| Some((row.event.clone(), stage.ask(&row)?)))
        .filter(|(_, ask)| ask.is_get() && stage.operation(ask).parameters("query").contains("cursor"))
        .collect();
    let operator = stage.operator();
    for (event, own) in &lists {
        // An operator reads the lists of all owners, so a cursor differs only in the owner.
        let ask = &own.by(Some(operator.clone()));
        let case = format!("{event} pages");
        if !stage.plays(&case) {
            continue;
        }
        let whole = stage.send(&case, &ask.asking(with(&ask.query, "limit=100"))).await;
        let items = whole.body["items"].as_array().cloned().unwrap_or_default();
        if SHORT.contains(&event.as_str()) {
            continue;
        }
        if items.len() < 2 {
            stage.fault(&case, "at least two items in the world", items.len());
            continue;
        }
        let cursor = one_by_one(stage, &case, ask, &items).await;
        for (name, other, other_ask) in others(stage, event, (ask, own), &lists) {
            let case = format!("{event} cursor for {name} {other}");
            refused(stage, &case, &other_ask, &cursor).await;
        }
        let forged: Vec<String> = changes_of(&cursor).into_iter().collect();
        for forged in forged.iter().step_by(system_tests::stride(13)) {
            refused(stage, &format!("{event} cursor forged"), ask, forged).await;
        }
    }
}

/// The query with other paging.
fn with(query: &str, more: &str) -> String {
    let is_kept = |pair: &&str| !pair.is_empty() && !PAGING.contains(&pair.split('=').next().unwrap_or_default());
    query.split('&').filter(is_kept).chain([more]).collect::<Vec<_>>().join("&")
}

/// Reads the list with one item per page. Returns the first cursor.
async fn one_by_one(stage: &mut Stage, case: &str, ask: &Ask, items: &[Value]) -> String {
    let (mut found, mut first, mut cursor) = (Vec::new(), String::new(), String::new());
    for _ in 0..=items.len() + 1 {
        let page = if cursor.is_empty() { "limit=1".to_owned() } else { format!("limit=1&cursor={cursor}") };
        let answer = stage.send(case, &ask.asking(with(&ask.query, &page))).await;
        let page = answer.body["items"].as_array().cloned().unwrap_or_default();
        if page.len() > 1 {
            stage.fault(case, "at most one item", page.len());
        }
        found.extend(page);
        answer.body["nextCursor"].as_str().unwrap_or_default().clone_into(&mut cursor);
        if first.is_empty() {
            first.clone_from(&cursor);
        }
        if cursor.is_empty() {
            break;
        }
    }
    if found != items {
        stage.fault(case, Value::from(items.to_vec()), Value::from(found));
    }
    first
}

/// Requests that must not accept the cursor: other lists, another owner's list, another caller.
fn others(
    stage: &Stage,
    event: &str,
    (ask, own): (&Ask, &Ask),
    lists: &[(String, Ask)],
) -> Vec<(&'static str, String, Ask)> {
    let by_operator = |ask: &Ask| ask.by(Some(stage.operator()));
    let other = lists.iter().filter(|(other, _)| other != event);
    let mut others: Vec<_> = other.map(|(other, ask)| ("list", other.clone(), by_operator(ask))).collect();
    let operation = stage.operation(ask);
    for name in operation.parameters("query") {
        let schema = stage.document.follow(&operation.parameter("query", name)["schema"]);
        let has = |value: &str| ask.query.split('&').any(|pair| pair == format!("{name}={value}"));
        let mut values = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).rev();
        let is_text = !PAGING.contains(&name) && schema["enum"].is_null();
        let text = Some("another").filter(|text| is_text && stage.document.validator(schema).is_valid(&(*text).into()));
        if let Some(value) = values.find(|value| !has(value) && schema["default"] != **value).or(text) {
            let kept = ask.query.split('&').filter(|pair| pair.split('=').next() != Some(name));
            let query = kept.chain([format!("{name}={value}").as_str()]).collect::<Vec<_>>().join("&");
            others.push(("query", format!("{name}={value}"), ask.asking(query)));
        }
    }
    let another = stage.another(ask);
    let foreign = stage.owned(ask, another);
    if (&foreign.path, &foreign.query) != (&ask.path, &ask.query) {
        others.push(("owner", another.to_owned(), foreign));
        others.push(("caller", "customer".to_owned(), own.clone()));
    }
    others
}

async fn refused(stage: &mut Stage, case: &str, ask: &Ask, cursor: &str) {
    let answer = stage.send(case, &ask.asking(with(&ask.query, &format!("limit=1&cursor={cursor}")))).await;
    let found = pointers(&answer.body).join(" ");
    // The request may not combine the parameter with those of the event.
    let is_of_case = |name: &str| case.contains(&format!(" query {name}=another"));
    let is_alone = found.split(' ').any(|found| found.strip_prefix("/query/").is_some_and(is_of_case));
    let got = format!("{} {}", answer.status, if is_alone { "/query/cursor" } else { &found });
    // The other owner may have no such list.
    if answer.status != 404 || stage.send(case, ask).await.status != 404 {
        stage.same(case, &"400 /query/cursor".to_owned(), &got);
    }
}
