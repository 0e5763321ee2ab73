//! W15: creates or replaces a company's record of a venue
//! (docs/requirements/wellness.md#pattern-5-find-and-update-the-activities-of-a-venue).

use crate::{
    DOMAIN, Name, Record, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        object::JsonObject,
        reference::{LastUse, VenuePath},
        sizes::{MAX_REFERENCE, must_fit},
    },
};
use function::{Error, Input, Put, Request, Route, Trigger, optimistically};
use keys::{
    RequestId,
    wellness::{CompanyId, CompanyPartition, Facet, FacetId, FacetRef, RecordSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{
    Condition, Item, JsonText,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W15",
    name: "put-reference",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create or replace a venue, file, course, tracker or notification",
        problems: &[],
    }]),
    calls: &[
        Calls::new("", |case| put(case).write(cost::ACTIVITIES, write(case.own))),
        Calls::new(", a new one", |case| put(case).write(cost::ACTIVITIES, write(case.own).times(2))),
    ],
    contract: function::contract(&put_reference),
    function: || function::http(put_reference, Wellness::warm_by_get),
};

/// What a put keeps of the stored record, and what must not change meanwhile.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Old {
    #[serde(flatten)]
    last: LastUse,
    revision: Option<RequestId>,
}

impl Item for Old {
    const TYPE: &'static str = Record::TYPE;
}

fn put(case: &Named) -> Cost {
    Cost::default().read(cost::ACTIVITIES, read(case.own))
}

/// A request to put a record.
#[derive(Debug, Clone, Input)]
pub struct PutReferenceInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(part, via = VenuePath)]
    of: FacetRef,
    #[input(body)]
    name: Name,
    #[input(body, via = JsonObject)]
    data: JsonText,
}

/// A record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Reference")]
pub struct RecordBody {
    facet: Facet,
    id: FacetId,
    company_id: CompanyId,
    name: Name,
    data: JsonObject,
}

impl From<Record> for RecordBody {
    fn from(Record { partition, sort: RecordSort(of), name, data, .. }: Record) -> Self {
        Self { facet: of.facet, id: of.id, company_id: partition.0, name, data: JsonObject(data) }
    }
}

/// Creates or replaces the company's record of a venue. Activities keep their copies of the old
/// data. W9 (update-reference) also updates the copies.
///
/// # Errors
/// 413 if the record exceeds 4 KB.
pub async fn put_reference(wellness: Wellness, request: Request<PutReferenceInput>) -> Result<Put<RecordBody>, Error> {
    let PutReferenceInput { company, of, name, data } = request.input;
    request.caller.must_belong_to(&company, DOMAIN)?;
    let (partition, sort, revision) = (CompanyPartition(company), RecordSort(of), Some(request.id));
    let record = Record { partition, sort, name, data, used_by: None, revision };
    must_fit(&record, MAX_REFERENCE)?;
    let is_new = optimistically(|| wellness.put_record(&record)).await?;
    Ok(Put { is_new, body: record.into() })
}

impl Wellness {
    /// Puts the record. Returns whether it is new. The record keeps the activity whose reference
    /// was added last. An unreadable record is replaced as well.
    async fn put_record(&self, record: &Record) -> Result<bool, Error> {
        let RecordSort(of) = &record.sort;
        let (is_new, put) = match self.table.get::<Old>(&Record::key_of(&record.partition.0, of)).await {
            Ok(None) => (true, self.table.put_new(record)?),
            Ok(Some(Old { last, revision })) => {
                let unchanged = [last.is_unchanged(), Condition::unchanged(Record::REVISION, revision.as_ref())];
                let record = Record { used_by: last.used_by, ..record.clone() };
                let put = self.table.replace(&record)?.only_if_all(unchanged);
                self.dynamo.write_once_as(put, &record).await?;
                return Ok(false);
            }
            Err(table::Error::Unreadable(..)) => (false, self.table.replace(record)?),
            Err(error) => return Err(error.into()),
        };
        // Only the client token of a transaction makes a late attempt of the SDK harmless: it could
        // bring back a record that was removed, or replace an unreadable one again.
        self.dynamo.transact(vec![put]).await?;
        Ok(is_new)
    }
}
