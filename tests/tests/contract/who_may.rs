//! Who may: every caller sends every request for every target.
//!
//! A refused request writes nothing, and its response says nothing about the target.

use crate::{
    rows::Row,
    stage::{Ask, Stage, worst},
};
use events::Claims;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use system_tests::{Answer, patterns};

/// Headers that could name another caller.
const HEADERS: [&str; 6] = ["sub", "account-ids", "company-id", "x-company-id", "x-user-id", "x-amzn-oidc-data"];

pub(crate) async fn check(stage: &mut Stage) {
    each_route_has_a_row(stage);
    let world = stage.items();
    for row in stage.rows.clone() {
        let Some(ask) = stage.ask(&row) else { continue };
        let (owner, other, operator) = (stage.owner(&ask), stage.other(&ask), stage.operator());
        strangers(stage, &row, &ask, &owner).await;
        single_scopes(stage, &row, &ask).await;
        similar_names(stage, &row, &ask).await;
        let stray = stage.owned(&ask, stage.another(&ask));
        if ask.is_get() && (&stray.path, &stray.query) != (&ask.path, &ask.query) {
            shows_nothing(stage, &row.event, [&ask, &stray]).await;
        }
        let nobody = stage.for_nobody(&ask);
        let mut targets = vec![
            ("own", ask.by(Some(owner.clone())), row.own),
            ("other", ask.by(Some(other.clone())), row.other),
            ("stray", stray.by(Some(other)), row.stray),
            ("nobody", nobody.by(Some(owner)), row.nobody),
            ("operator", ask.by(Some(operator.clone())), row.operator),
            ("operator nobody", nobody.by(Some(operator)), row.operator_nobody),
        ];
        if let (Some(employee), Some(colleague)) = (stage.employee(&ask, false), stage.employee(&ask, true)) {
            let [own, of_colleague, of_other, of_nobody] = row.employee;
            targets.extend([
                ("employee", ask.by(Some(employee.clone())), own),
                ("colleague", ask.by(Some(colleague)), of_colleague),
                ("employee other", stray.by(Some(employee.clone())), of_other),
                ("employee nobody", nobody.by(Some(employee)), of_nobody),
            ]);
        }
        let stray_of = ask.parameters.get(stage.service.owner).map_or(stage.service.own, String::as_str);
        for (target, ask, status) in targets {
            outcome(stage, &format!("{} {target}", row.event), &ask, status).await;
            if target == "stray" && !ask.is_get() && status < 300 && status > 0 {
                changes_nothing_of(stage, &row.event, stray_of, &ask, &world).await;
            }
        }
    }
}

/// The owner and the employee with each of their scopes alone.
async fn single_scopes(stage: &mut Stage, row: &Row, ask: &Ask) {
    let employee = stage.employee(ask, false).zip(stage.service.employee);
    let employee = employee.map(|(claims, scopes)| (claims, scopes, row.employee[0]));
    let owner = (stage.owner(ask), stage.service.customer, row.own);
    for (claims, scopes, status) in [owner].into_iter().chain(employee) {
        for scope in scopes.split(' ') {
            let status = if row.scopes.contains(scope) { status } else { 0 };
            let ask = ask.by(Some(scoped(&claims, scope)));
            outcome(stage, &format!("{} own with {scope}", row.event), &ask, status).await;
        }
    }
}

/// Callers whose name only looks like that of the owner or the employee, who have no name, or who
/// send the name in a header.
async fn similar_names(stage: &mut Stage, row: &Row, ask: &Ask) {
    let (claim, owner) = (stage.service.claim, stage.owner(ask));
    let of_owner = stage.alike(&owner, claim).into_iter().filter(|_| row.other == 403).map(|claims| (claim, claims));
    let employee = stage.employee(ask, false).filter(|_| row.employee[1] == 403);
    let of_employee = employee.map(|employee| stage.alike(&employee, "sub")).unwrap_or_default();
    for (claim, claims) in of_owner.chain(of_employee.into_iter().map(|claims| ("sub", claims))).collect::<Vec<_>>() {
        let case = format!("{} with {claim} {}", row.event, Value::from(claims.get(claim).cloned()));
        outcome(stage, &case, &ask.by(Some(claims)), 403).await;
    }
    if row.other == 403 {
        let name = owner.get(claim).and_then(Value::as_str).unwrap_or_default();
        let other = ask.by(Some(stage.other(ask)));
        let other = HEADERS.iter().fold(other, |ask, header| ask.header(header, name));
        outcome(stage, &format!("{} other with headers", row.event), &other, 403).await;
    }
}

fn each_route_has_a_row(stage: &mut Stage) {
    let prefix = format!("/{}/", stage.service.name);
    let routes = patterns::all().into_iter().flat_map(|pattern| pattern.routes());
    let routes = routes.filter(|route| route.path.starts_with(&prefix));
    let declared: BTreeSet<String> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
    let rows: BTreeSet<String> = stage.rows.iter().filter_map(|row| Some(stage.ask(row)?.route)).collect();
    for route in declared.symmetric_difference(&rows) {
        stage.fault(route, "a row and a route", "only one of them");
    }
}

fn scoped(claims: &Claims, scope: &str) -> Claims {
    let mut claims = claims.clone();
    claims.insert("scope".to_owned(), scope.into());
    claims
}

/// Callers whom the gateway refuses: without a token, without a scope, with scopes that only look
/// like those of the service, and with all scopes of the other services.
async fn strangers(stage: &mut Stage, row: &Row, ask: &Ask, owner: &Claims) {
    let case = format!("{} without a token", row.event);
    if stage.plays(&case) {
        let answer = stage.send(&case, &ask.by(None)).await;
        stage.same(&case, &401, &answer.status);
        stage.unchanged(&case);
    }
    let own = stage.service.name;
    let others = ["bank", "cart", "wellness", "ledger"].into_iter().filter(|name| *name != own);
    let others: Vec<_> = others.map(|name| format!("{name}:read {name}:write {name}:operate {name}:admin")).collect();
    let alike = format!("{own}:operator x{own}:operate {} {own}", own.to_uppercase() + ":OPERATE");
    for (name, scope) in [("no scope", String::new()), ("similar scopes", alike), ("other scopes", others.join(" "))] {
        outcome(stage, &format!("{} {name}", row.event), &ask.by(Some(scoped(owner, &scope))), 0).await;
    }
}

/// Compares the outcome of a request. 0 stands for a refusal of the gateway.
async fn outcome(stage: &mut Stage, case: &str, ask: &Ask, status: u16) {
    if !stage.plays(case) {
        return;
    }
    let answer = stage.send(case, ask).await;
    let refused = |name: &str| format!("403 of the {name}");
    let shown = |status: u16, is_of_function: bool| match status {
        403 if is_of_function => refused("function"),
        0 | 403 => refused("gateway"),
        status => status.to_string(),
    };
    let of_batch = answer.body["results"].is_array();
    let got = shown(worst(&answer), of_batch || answer.body["type"].is_string());
    if shown(status, true) != got {
        stage.fault(case, shown(status, true), format!("{got}: {}", answer.body));
    }
    if worst(&answer) >= 300 {
        stage.unchanged(case);
    }
    if answer.status == 403 && answer.body["type"].is_string() {
        reveals_nothing(stage, case, &answer);
    }
    if !ask.sees_authors() && answer.body.to_string().contains(r#""changedBy""#) {
        stage.fault(case, "no author of a change", &answer.body);
    }
    stage.renew();
}

/// A request on the own path with the id of somebody else's resource changes none of the items of
/// that owner.
async fn changes_nothing_of(stage: &mut Stage, event: &str, owner: &str, ask: &Ask, world: &[(String, Value)]) {
    let case = format!("{event} stray changes nothing");
    if !stage.plays(&case) {
        return;
    }
    stage.send(&case, ask).await;
    stage.settle(&case).await;
    let keys = |item: &Value| format!("{} {}", item["PK"]["S"], item["CompanyId"]["S"]);
    let is_theirs = |item: &Value| keys(item).split(['"', '#', ' ', '-']).any(|part| part == owner);
    let theirs = |items: &[(String, Value)]| -> HashSet<String> {
        items.iter().filter(|(_, item)| is_theirs(item)).map(|(_, item)| item.to_string()).collect()
    };
    let (before, after) = (theirs(world), theirs(&stage.items()));
    if before.is_empty() {
        stage.fault(&case, "items of the other owner", "none");
    }
    if let Some(item) = before.symmetric_difference(&after).next() {
        stage.fault(&case, "no change", item);
    }
    stage.restore();
}

/// The list of another owner has none of the items of this one.
async fn shows_nothing(stage: &mut Stage, event: &str, asks: [&Ask; 2]) {
    let case = format!("{event} of both owners");
    let operator = stage.operator();
    let [own, other] = asks.map(|ask| ask.by(Some(operator.clone())));
    let [own, other] = [stage.send(&case, &own).await, stage.send(&case, &other).await];
    let items = |answer: &Answer| answer.body["items"].as_array().cloned().unwrap_or_default();
    let (own, other) = (items(&own), items(&other));
    if own.is_empty() || other.is_empty() || !stage.plays(&case) {
        return;
    }
    if let Some(item) = own.into_iter().find(|item| other.contains(item)) {
        stage.fault(&case, "no common item", item);
    }
}

/// A refusal has the same fields for every target.
fn reveals_nothing(stage: &mut Stage, case: &str, answer: &Answer) {
    let expected = json!({"type": "/problems/forbidden", "status": 403, "title": "Not allowed",
        "detail": answer.body["detail"], "instance": answer.body["instance"]});
    stage.same(case, &expected, &answer.body);
    let detail = answer.body["detail"].to_string();
    if detail.contains(stage.service.other) || detail.contains(stage.service.own) {
        stage.fault(case, "no name of an owner", detail);
    }
}
