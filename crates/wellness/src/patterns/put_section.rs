//! W14: creates or replaces a section of a company's program
//! (docs/requirements/wellness.md#sections).

use crate::{
    DOMAIN, Name, Section, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Put, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{CompanyId, CompanyPartition, EndDateSort, PlanTime, ProgramPartition, SectionId, SectionSort},
};
use serde::Serialize;
use table::cost::{Cost, write};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(put_section, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W14",
    name: "put-section",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/sections/{sectionId}",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "put: PK = CompanyId-…, SK = Section#SectionId-…",
        formula: "⌈section⌉ W; GSI1 ⌈section⌉ W, or 2 ⌈section⌉ W if the end date changes",
        cost: |case| Cost::default().write(cost::ACTIVITIES, write(case.own)).write(cost::PROGRAM, write(case.own)),
    }],
    function,
};

/// A request to put a section.
#[derive(Debug, Clone)]
pub struct NewSection(Section);

impl Input for NewSection {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, section) = (fields.path::<CompanyId>("companyId"), fields.path("sectionId"));
        let name = fields.body("name");
        let (start, end) = (fields.body("startDate"), fields.body("endDate"));
        if start.zip(end).is_some_and(|(start, end): (PlanTime, PlanTime)| end < start) {
            fields.fault::<()>("/body/endDate", "must not be before startDate");
        }
        let company = company?;
        Some(Self(Section {
            partition: CompanyPartition(company.clone()),
            sort: SectionSort(section?),
            program: ProgramPartition(company),
            end: EndDateSort(end?),
            name: name?,
            start_date: start?,
        }))
    }
}

/// A section in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionBody {
    section_id: SectionId,
    company_id: CompanyId,
    name: Name,
    start_date: TimestampSeconds,
    end_date: TimestampSeconds,
}

impl From<Section> for SectionBody {
    fn from(section: Section) -> Self {
        Self {
            section_id: section.sort.0,
            company_id: section.partition.0,
            name: section.name,
            start_date: section.start_date.second(),
            end_date: section.end.0.second(),
        }
    }
}

/// Creates or replaces a section.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
pub async fn put_section(wellness: Wellness, request: Request<NewSection>) -> Result<Put<SectionBody>, Error> {
    let NewSection(section) = request.input;
    request.caller.must_belong_to(&section.partition.0, DOMAIN)?;
    // An unreadable section is replaced as well.
    let is_new = !wellness.dynamo.put_or_replace(wellness.table.put(&section)?).await?;
    Ok(Put { is_new, body: section.into() })
}
