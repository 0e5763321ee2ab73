//! W36: gets a section of a company's program.

use crate::{
    DOMAIN, Section, Wellness,
    cost::{self, Calls, Pattern},
    patterns::put_section::SectionBody,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::{CompanyId, SectionId};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W36",
    name: "get-section",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/sections/{sectionId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "Get a section",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.own)))],
    contract: function::contract(&get_section),
    function: || function::http(get_section, Wellness::warm_by_get),
};

/// A section in a path.
#[derive(Debug, Clone, Input)]
pub struct GetSectionInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "sectionId")]
    section: SectionId,
}

/// Reads a section.
///
/// # Errors
/// 404 if the company has no such section.
pub async fn get_section(wellness: Wellness, request: Request<GetSectionInput>) -> Result<Json<SectionBody>, Error> {
    let GetSectionInput { company, section } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let section = wellness.table.look_up::<Section>(&Section::key_of(company, section)).await?;
    Ok(Json(section.ok_or(Error::NotFound("section"))?.into()))
}
