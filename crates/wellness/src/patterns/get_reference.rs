//! W30: reads a company's record of a venue
//! (docs/requirements/wellness.md#manage-reference-records).

use crate::{
    DOMAIN, Record, Wellness,
    cost::{self, Calls, Pattern},
    model::{reference::VenuePath, upload::FileStatus},
    patterns::put_reference::RecordBody,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::{CompanyId, Facet, FacetRef};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::{Cost, read, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W30",
    name: "get-reference",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "Get a venue, file, course, tracker or notification",
        problems: &[Problem::NotFound],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.own))),
        Calls::new(", file", |case| Cost::default().read(cost::ACTIVITIES, read(case.own) + read(case.upload))),
    ],
    contract: function::contract(&get_reference),
    function: || function::http(get_reference, Wellness::warm_by_get),
};

/// A record in a path.
#[derive(Debug, Clone, Input)]
pub struct RecordInput {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(part, via = VenuePath)]
    pub(crate) of: FacetRef,
}

/// A record. For a file, also its status, and the URL of its content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReferenceWithFile")]
pub struct RecordWithFile {
    #[serde(flatten)]
    record: RecordBody,
    /// Status of an uploaded file.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<FileStatus>,
    /// Reason why the file was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// URL of the content of a file that is ready. It is valid for five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    download_url: Option<String>,
}

/// Reads a record. Employees may read records of their company. The URL of
/// a file is valid for five minutes.
///
/// # Errors
/// 404 if the company has no such record.
pub async fn get_reference(wellness: Wellness, request: Request<RecordInput>) -> Result<Json<RecordWithFile>, Error> {
    let RecordInput { company, of } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    // The check of a file puts the record and completes the upload together. In the other order, a
    // request during the check could find neither.
    let upload = if of.facet == Facet::Files { wellness.upload(company, &of.id).await? } else { None };
    let upload = upload.filter(|upload| upload.missing.is_none());
    let key = Record::key_of(company, of);
    let record = match of.facet {
        Facet::Files => wellness.table.get::<Record>(&key).await?,
        _ => wellness.table.look_up(&key).await?,
    };
    let (record, upload) = match (record, upload) {
        (Some(record), upload) => (record, upload),
        (None, Some(upload)) if upload.status != FileStatus::Ready => (upload.record()?, Some(upload)),
        _ => return Err(Error::NotFound("reference")),
    };
    let mut body = RecordWithFile { record: record.into(), status: None, reason: None, download_url: None };
    if let Some(upload) = upload {
        (body.status, body.reason) = (Some(upload.status), upload.reason.clone());
        if upload.status == FileStatus::Ready {
            let name = upload.name.as_str();
            body.download_url = Some(wellness.files.download(&upload.object(), name, request.now).await?);
        }
    }
    Ok(Json(body))
}
