//! W14: creates or replaces a section of a company's program
//! (docs/requirements/wellness.md#sections).

use crate::{
    DOMAIN, Name, Section, Wellness,
    cost::{self, Calls, Pattern},
    patterns::create_activity::must_be_in_order,
};
use function::{Error, Input, Put, Request, Route, Trigger, optimistically};
use keys::{
    TimestampSeconds,
    wellness::{CompanyId, CompanyPartition, EndDateSort, PlanTime, ProgramPartition, SectionId, SectionSort},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Condition,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W14",
    name: "put-section",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/sections/{sectionId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create or replace a section",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, read(case.own))
            .write(cost::ACTIVITIES, write(case.own))
            .write(cost::PROGRAM, write(case.own))
    })],
    contract: function::contract(&put_section),
    function: || function::http(put_section, Wellness::warm_by_get),
};

/// A request to put a section.
#[derive(Debug, Clone, Input)]
#[input(check = must_be_in_order(start, end))]
pub struct PutSectionInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "sectionId")]
    section: SectionId,
    #[input(body)]
    name: Name,
    #[input(body = "startDate")]
    start: PlanTime,
    /// Must not end before `startDate`. A date, or a time of 00:00:00 in UTC, includes that whole
    /// day.
    #[input(body = "endDate")]
    end: PlanTime,
}

/// A section.
#[derive(Debug, Clone, Serialize, JsonSchema)]
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
pub async fn put_section(wellness: Wellness, request: Request<PutSectionInput>) -> Result<Put<SectionBody>, Error> {
    let PutSectionInput { company, section, name, start, end } = request.input;
    request.caller.must_belong_to(&company, DOMAIN)?;
    let section = Section {
        partition: CompanyPartition(company.clone()),
        sort: SectionSort(section),
        program: ProgramPartition(company),
        end: EndDateSort(end),
        name,
        start_date: start,
        revision: Some(request.id),
    };
    let is_new = optimistically(|| wellness.put_section(&section)).await?;
    Ok(Put { is_new, body: section.into() })
}

impl Wellness {
    /// Puts the section. Returns whether it is new. An unreadable section is replaced as well.
    async fn put_section(&self, section: &Section) -> Result<bool, Error> {
        let key = Section::key_of(&section.partition.0, section.id());
        let old = match self.table.get::<Section>(&key).await {
            // Its revision is not known. Only the client token of a transaction makes a late
            // attempt of the SDK harmless.
            Err(table::Error::Unreadable(..)) => {
                self.dynamo.transact(vec![self.table.replace(section)?]).await?;
                return Ok(false);
            }
            old => old?,
        };
        let put = match &old {
            None => self.table.put_new(section)?,
            Some(old) => {
                self.table.replace(section)?.only_if(Condition::unchanged(Section::REVISION, old.revision.as_ref()))
            }
        };
        self.dynamo.write_once_as(put, section).await?;
        Ok(old.is_none())
    }
}
