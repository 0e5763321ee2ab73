//! W7: lists the activities that refer to a venue
//! (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).

use crate::{
    DOMAIN, Reference, Wellness,
    cost::{self, Calls, Pattern},
    model::{access::sees, uses::Uses},
};
use function::{Error, Fields, Function, Input, List, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ShownStatus, UseSort},
};
use serde::Serialize;
use table::{
    JsonText, Page, Query,
    cost::{Cost, read_eventually},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_references, Wellness::warm_by_lists)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W7",
    name: "list-references",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}/activities",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "GSI2PK = CompanyId-<id>#VenueId-<id>, GSI2SK between status#from and status#to",
        formula: "½ ⌈Σ references⌉ R on GSI2",
        cost: |case| Cost::default().read(cost::LISTS, read_eventually(case.reference * case.references)),
    }],
    function,
};

/// Maximum number of calls for a page.
const MAX_CALLS: usize = 10;

/// The venue, the period and the status to list.
#[derive(Debug, Clone)]
pub struct Wanted {
    uses: Uses,
    status: ShownStatus,
}

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(50);
        let (uses, status) = (Uses::read(fields), fields.query("status"));
        Some(Self { uses: uses?, status: status.unwrap_or_default() })
    }
}

/// A reference in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceBody {
    activity_id: ActivityId,
    status: ShownStatus,
    end_date: TimestampSeconds,
    #[serde(with = "table::raw_json")]
    data: JsonText,
}

impl ReferenceBody {
    fn new(
        Reference { place: UseSort { end, activity, .. }, copied_data, .. }: Reference,
        status: ShownStatus,
    ) -> Self {
        Self { activity_id: activity, status, end_date: end.second(), data: copied_data }
    }
}

/// Lists the activities with the given status that refer to a venue, sorted by end date. By
/// default, the period starts today at 00:00 UTC. For employees, lists of drafts and cancelled
/// activities are empty.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
pub async fn list_references(wellness: Wellness, request: Request<Wanted>) -> Result<List<ReferenceBody>, Error> {
    let Wanted { uses, status } = &request.input;
    request.caller.must_belong_to(&uses.company, DOMAIN)?;
    let asked = uses.period(request.first_page)?;
    let period = status.within(asked, request.first_page);
    let listing = request.listing(UseSort::within(status.stored(), period.unwrap_or(asked)), "")?;
    if period.is_none() || !sees(&request.caller, status.stored()) {
        return Ok(listing.list(Page { items: Vec::new(), next: None, skipped: 0 }));
    }
    let now = request.first_page;
    let is_wanted = |Reference { place, .. }: &Reference| place.status.shown(place.end, now) == *status;
    let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
    let mut rest = listing.range.clone();
    // The range also has activities that end today, but have another status. A page reads on.
    for _ in 0..MAX_CALLS {
        let query = Query::new(&uses.partition(), &rest).on(&wellness.lists);
        let room = listing.limit - page.items.len();
        let more = wellness.table.page::<Reference>(&query, room).await?;
        page.items.extend(more.items.into_iter().filter(is_wanted));
        (page.next, page.skipped) = (more.next, page.skipped + more.skipped);
        let Some(position) = page.next.as_ref().filter(|_| page.items.len() < listing.limit) else { break };
        rest = rest.after(position);
    }
    Ok(listing.list(page.map(|reference| ReferenceBody::new(reference, *status))))
}
