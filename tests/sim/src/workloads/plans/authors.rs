//! Rules of authors: an activity names the caller who changed it last.
use serde_json::Value;

use super::super::{after, attribute, of_type, text, wellness::stored::activity_of};
use crate::world::{Exchange, World};

/// The user id of the caller.
pub(super) fn of(exchange: &Exchange) -> &str {
    exchange.caller.split_once("-as-").map_or(&exchange.caller, |(user, _)| user)
}

/// The requests that may have changed the item, if it is an activity. If a response was lost, a
/// repetition can be refused.
pub(super) fn changes<'a>(history: &'a [Exchange], item: &'a Value) -> impl Iterator<Item = &'a Exchange> {
    let id = if item["Type"]["S"] == "Activity" { activity_of(item) } else { "none" };
    history.iter().filter(move |one| {
        let is_creation = one.ask.path.ends_with("/activities") && text(&one.reply.body, "activityId") == id;
        let is_own = is_creation || after(&one.ask.path, "/activities/") == Some(id);
        one.ask.method != "GET" && (matches!(one.reply.status, 200 | 201 | 204) || one.attempts > 1) && is_own
    })
}

/// The author of each activity is a caller whose change can be the last one. Only an erasure
/// removes an author.
pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    for item in of_type(items, "Activity") {
        let company = attribute(item, "CompanyId");
        let Some(author) = item["ChangedBy"]["M"]["sub"]["S"].as_str() else {
            let is_erasure = |one: &Exchange| {
                let path = &one.ask.path;
                one.ask.method == "POST" && path.ends_with("/erasure") && after(path, "/companies/") == Some(company)
            };
            if !history.iter().any(is_erasure) {
                world.violation(format!("{item} has no author"));
            }
            continue;
        };
        // A request with the status 200 may have changed nothing. A frozen attempt may continue
        // after the last response.
        let is_last = |one: &Exchange| {
            let is_sure = |other: &&Exchange| matches!(other.reply.status, 201 | 204) && of(other) != author;
            one.attempts > 1 || !changes(history, item).filter(is_sure).any(|other| other.begin > one.end)
        };
        if !changes(history, item).any(|one| of(one) == author && is_last(one)) {
            world.violation(format!("{author} did not make the last change of {item}"));
        }
    }
}
