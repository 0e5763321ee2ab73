//! W30: reads a company's record of a venue
//! (docs/requirements/wellness.md#manage-reference-records).

use crate::{
    DOMAIN, Record, Wellness,
    cost::{self, Calls, Pattern},
    patterns::put_reference::RecordBody,
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::wellness::{CompanyId, FacetRef};
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_reference, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W30",
    name: "get-reference",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get: PK = CompanyId-…, SK = Venue#VenueId-… or the corresponding key of a file, course, tracker or notification, strongly consistent",
        formula: "⌈record⌉ R, strongly consistent",
        cost: |case| Cost::default().read(cost::ACTIVITIES, read(case.own)),
    }],
    function,
};

/// A record in a path.
#[derive(Debug, Clone)]
pub struct OfRecord {
    pub(crate) company: CompanyId,
    pub(crate) of: FacetRef,
}

impl Input for OfRecord {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, facet, id) = (fields.path("companyId"), fields.path("facet"), fields.path("facetId"));
        Some(Self { company: company?, of: FacetRef { facet: facet?, id: id? } })
    }
}

/// Reads a record with strong consistency. Employees may read records of their company.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 404 if the company has no such record.
pub async fn get_reference(wellness: Wellness, request: Request<OfRecord>) -> Result<Json<RecordBody>, Error> {
    let OfRecord { company, of } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let record = wellness.table.get::<Record>(&Record::key_of(company, of)).await?;
    Ok(Json(record.ok_or(Error::NotFound("reference"))?.into()))
}
