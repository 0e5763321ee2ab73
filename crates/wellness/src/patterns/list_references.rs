//! W7: lists the activities that refer to a venue
//! (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).

use crate::{
    DOMAIN, Reference, Wellness,
    cost::{self, Calls, Pattern},
    model::{activity::Statuses, object::JsonObject, uses::Uses},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::{
    KeyRange, TimestampSeconds,
    wellness::{ActivityId, ShownStatus, Status, UseSort},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::VecDeque;
use table::{
    Page, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W7",
    name: "list-references",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}/activities",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the activities that use a reference, by end date",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::LISTS, read_eventually(case.reference * case.references))
    })],
    contract: function::contract(&list_references),
    function: || function::http(list_references, Wellness::warm_by_lists),
};

/// Maximum number of calls for a page.
const MAX_CALLS: usize = 10;

/// The venue, the period and the status to list.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListReferencesInput {
    #[input(part)]
    uses: Uses,
    #[input(query = "status", default)]
    statuses: Statuses,
}

/// A reference.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReferenceUse")]
pub struct ReferenceBody {
    activity_id: ActivityId,
    status: ShownStatus,
    end_date: TimestampSeconds,
    data: JsonObject,
}

impl ReferenceBody {
    fn new(
        Reference { place: UseSort { status, end, activity }, copied_data, .. }: Reference,
        now: TimestampSeconds,
    ) -> Self {
        Self {
            activity_id: activity,
            status: status.shown(end, now),
            end_date: end.second(),
            data: JsonObject(copied_data),
        }
    }
}

/// Lists the activities with the given statuses that refer to a venue: first the active and the
/// completed ones, then the cancelled ones, then the drafts, each sorted by end date. By default,
/// the period starts today at 00:00 UTC. Employees get only active and completed activities.
pub async fn list_references(
    wellness: Wellness,
    request: Request<ListReferencesInput>,
) -> Result<List<ReferenceBody>, Error> {
    let ListReferencesInput { uses, statuses } = &request.input;
    request.caller.must_belong_to(&uses.company, DOMAIN)?;
    let (asked, now) = (uses.period(request.first_page)?, request.first_page);
    let visible = statuses.visible_to(&request.caller);
    let ranges = visible.ranges(asked, now);
    let whole = ranges.first().zip(ranges.last()).map(|(first, last)| KeyRange::spanning(first, last));
    let listing =
        request.listing(whole.unwrap_or_else(|| UseSort::within(Status::Active, asked)), &statuses.to_string())?;
    // A range also has activities that end today, but have another status. A page reads on.
    let is_wanted = |Reference { place, .. }: &Reference| visible.have(place.status.shown(place.end, now));
    let mut rest: VecDeque<_> = ranges.iter().filter_map(|range| range.not_before(listing.range.from())).collect();
    let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
    for _ in 0..MAX_CALLS {
        let room = listing.limit.saturating_sub(page.items.len() + page.skipped);
        let Some(range) = rest.pop_front().filter(|_| room > 0) else { break };
        let query = Query::new(&uses.partition(), &range).on(&wellness.lists);
        let part = wellness.table.page::<Reference>(&query, room).await?;
        page.items.extend(part.items.into_iter().filter(is_wanted));
        page.skipped += part.skipped;
        if let Some(position) = &part.next {
            rest.push_front(range.after(position));
        }
        // No key equals the start of a range, so the next page can start with a status.
        page.next = part.next.or_else(|| rest.front().map(|next| next.from().to_owned()));
    }
    Ok(listing.list(page.map(|reference| ReferenceBody::new(reference, now))))
}
