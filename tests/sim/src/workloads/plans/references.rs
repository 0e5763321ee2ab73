//! References agree with the requests that changed their records: an update reaches every copy, a
//! replacement leaves none behind, and a record stays as long as an activity refers to it.
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    super::{after, attribute, each, of_type, text, wellness::stored::activity_of},
    COMPANIES, COURSES, VENUES, histories,
    stored::{activity, facet_of, tag},
};
use crate::world::{Exchange, World};

/// Longest delay of an index entry.
const LAG: SignedDuration = SignedDuration::from_secs(10);

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    let venues = VENUES.map(|id| ("venues", id));
    let all = venues.into_iter().chain(COURSES.map(|id| ("courses", id)));
    for (facet, id) in all {
        for company in COMPANIES {
            let of = Of { company, facet, id };
            of.check_update(world, history, items);
            of.check_replacement(world, history, items);
            of.check_record(world, history, items);
        }
    }
}

struct Of<'a> {
    company: &'a str,
    facet: &'a str,
    id: &'a str,
}

impl Of<'_> {
    fn path(&self) -> String {
        format!("/wellness/companies/{}/references/{}/{}", self.company, self.facet, self.id)
    }

    /// References to the record from activities that were never cancelled. A job passes over
    /// cancelled activities.
    fn open<'a>(&self, history: &[Exchange], items: &'a [Value]) -> Vec<&'a Value> {
        self.references(items)
            .into_iter()
            .filter(|one| {
                let id = activity_of(one);
                let is_open = activity(items, id).is_some_and(|one| attribute(one, "Status") != "cancelled");
                is_open && !was_cancelled(history, id)
            })
            .collect()
    }

    fn references<'a>(&self, items: &'a [Value]) -> Vec<&'a Value> {
        let own = of_type(items, "Reference").filter(|one| {
            let of = activity(items, activity_of(one)).map(|one| attribute(one, "CompanyId"));
            of == Some(self.company) && facet_of(attribute(one, "SK")) == Some((self.facet, self.id))
        });
        own.collect()
    }

    /// Whether the request gives data to a reference, other than that of the record.
    fn gives_data(&self, one: &Exchange, company: &str) -> bool {
        let body = &one.ask.body;
        let is_creation = one.ask.method == "POST" && one.ask.path.ends_with("/activities");
        let is_replacement = one.ask.path.ends_with("/replacement") && body["replacementId"] == self.id;
        let is_given = each(body, "references").any(|one| one["id"] == self.id && one["facet"] == self.facet);
        let is_own = after(&one.ask.path, "/companies/") == Some(company);
        is_own && (is_creation && is_given || is_replacement && self.facet == "venues")
    }

    /// After the last update of the record, every copy has its data.
    fn check_update(&self, world: &World, history: &[Exchange], items: &[Value]) {
        let path = self.path();
        let is_write = |one: &&Exchange| {
            let is_record = one.ask.path == path && matches!(one.ask.method, "PUT" | "PATCH");
            one.reply.status != 403 && (is_record || self.gives_data(one, self.company))
        };
        let writes: Vec<&Exchange> = history.iter().filter(is_write).collect();
        let updates = writes.iter().filter(|one| one.ask.method == "PATCH" && one.reply.status == 202);
        let Some(last) = updates.max_by_key(|one| one.begin) else { return };
        if writes.iter().any(|one| one.label != last.label && one.end > last.begin) {
            return;
        }
        let wanted = text(&last.ask.body["data"], "tag");
        for reference in self.open(history, items) {
            if tag(reference, "CopiedData") != wanted {
                world.violation(format!("{}: the update {wanted:?} has not reached {reference}", last.label));
            }
        }
    }

    /// After the last replacement, no activity refers to the old venue.
    fn check_replacement(&self, world: &World, history: &[Exchange], items: &[Value]) {
        let path = format!("{}/replacement", self.path());
        let done = history.iter().filter(|one| one.ask.path == path && one.reply.status == 202);
        let Some(last) = done.max_by_key(|one| one.begin) else { return };
        let suffix = format!("/references/{}/{}", self.facet, self.id);
        let adds = |one: &Exchange| {
            let is_addition = one.ask.method == "PUT" && one.ask.path.ends_with(&suffix);
            let is_addition = is_addition && one.ask.path.contains("/activities/");
            is_addition && after(&one.ask.path, "/companies/") == Some(self.company)
                || self.gives_data(one, self.company)
        };
        // The replacement itself could be delayed by its first attempt, and then repeated.
        if history.iter().any(|one| one.reply.status != 403 && adds(one) && one.end > last.begin) {
            return;
        }
        for reference in self.open(history, items) {
            world.violation(format!("{}: the replacement has left {reference}", last.label));
        }
    }

    /// An activity that has got a reference by a request of its own has the record of the
    /// reference.
    fn check_record(&self, world: &World, history: &[Exchange], items: &[Value]) {
        if self.facet != "courses" {
            return;
        }
        let is_record = |one: &&Value| {
            attribute(one, "PK") == format!("CompanyId-{}", self.company)
                && facet_of(attribute(one, "SK")) == Some((self.facet, self.id))
        };
        let references = self.references(items);
        if references.is_empty() || of_type(items, "ReferenceRecord").any(|one| is_record(&one)) {
            return;
        }
        // The index may miss a reference if a later one was removed within its delay
        // (docs/decisions/wellness-references.md).
        let suffix = format!("/references/{}/{}", self.facet, self.id);
        let of_company = |one: &&Exchange| after(&one.ask.path, "/companies/") == Some(self.company);
        let deletes = || history.iter().filter(of_company).filter(|one| one.ask.method == "DELETE");
        let removals: Vec<&Exchange> = deletes().filter(|one| one.ask.path == self.path()).collect();
        let close = |at: Timestamp| removals.iter().any(|one| at + LAG > one.began && at < one.ended + LAG);
        let mut detached = deletes().filter(|one| one.ask.path.contains("/activities/"));
        if detached
            .any(|one| one.ask.path.split('?').next().is_some_and(|path| path.ends_with(&suffix)) && close(one.ended))
        {
            return;
        }
        world.violation(format!("the record {} was removed, but {references:?} refer to it", self.path()));
    }
}

/// Whether a request has cancelled the activity, or has changed its end. Its references may then
/// have moved during a job.
fn was_cancelled(history: &[Exchange], id: &str) -> bool {
    let suffix = format!("/activities/{id}");
    let mut changes = history.iter().filter(|one| one.ask.method == "PATCH" && one.ask.path.ends_with(&suffix));
    let created = histories::owners(history).contains_key(id);
    !created || changes.any(|one| one.ask.body["status"] == "cancelled")
}
