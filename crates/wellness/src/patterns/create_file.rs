//! W31: creates a file, and signs its upload (docs/requirements/wellness.md#files).

use crate::{
    DOMAIN, Name, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        import::Missing,
        upload::{ContentType, FileForm, FileSize, FileStatus, Sha256, Upload},
    },
    patterns::get_reference,
};
use function::{
    Error, Fingerprint, IdempotentRequest, Input, Located, Problem, Request, Route, Trigger, optimistically,
};
use keys::{
    TimestampSeconds,
    wellness::{CompanyId, FacetId, Owner},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W31",
    name: "create-file",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/files",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create a file and sign its upload",
        problems: &[Problem::IdempotencyKeyReused],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, case.record_read())
            .write(cost::ACTIVITIES, case.created(write(case.upload)))
    })],
    contract: function::contract(&create_file),
    function: || function::http(create_file, Wellness::warm_by_get),
};

/// A request to create a file.
#[derive(Debug, Clone, Input)]
pub struct CreateFileInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(body)]
    name: Name,
    #[input(body)]
    content_type: ContentType,
    #[input(body)]
    bytes: FileSize,
    #[input(body)]
    sha256: Sha256,
}

/// A file, with the request that uploads its content.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PendingFile")]
pub struct FileBody {
    file_id: FacetId,
    status: FileStatus,
    /// The request that uploads the content. It is valid for 15 minutes.
    upload: UploadBody,
}

/// The request that uploads the content of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UploadBody {
    #[schemars(extend("enum" = ["PUT"]))]
    method: &'static str,
    url: String,
    headers: BTreeMap<String, String>,
}

/// Creates a file. The upload in the response is valid for 15 minutes, and only for content of this
/// type, size and checksum. A repeated request with the same key signs the upload again.
pub async fn create_file(wellness: Wellness, request: Request<CreateFileInput>) -> Result<Located<FileBody>, Error> {
    let CreateFileInput { company, name, content_type, bytes, sha256 } = request.input.clone();
    request.caller.must_belong_to(&company, DOMAIN)?;
    let form = FileForm { name, content_type, bytes, sha256, missing: None };
    let upload = optimistically(|| wellness.new_upload(&company, &form, &request)).await?;
    let signed = wellness.signed(&upload, request.now).await?;
    let (file_id, status) = (upload.sort.0, upload.status);
    let parameter = |name: &str| match name {
        "companyId" => Some(upload.partition.0.to_string()),
        "facet" => Some("files".to_owned()),
        _ => Some(file_id.to_string()),
    };
    let location = get_reference::PATTERN.location(parameter);
    Ok(Located { location, body: FileBody { file_id, status, upload: signed } })
}

impl Wellness {
    /// Signs the upload of the content.
    pub(crate) async fn signed(&self, upload: &Upload, now: TimestampSeconds) -> Result<UploadBody, Error> {
        let form = (upload.content_type.as_str(), i64::from(upload.bytes), &*upload.sha256.base64());
        let signed = self.files.upload(&upload.object(), form, now).await?;
        Ok(UploadBody { method: "PUT", url: signed.url, headers: signed.headers })
    }

    /// Creates the upload, or returns the one of the same request.
    pub(crate) async fn new_upload<I>(
        &self,
        company: &CompanyId,
        form: &FileForm,
        request: &Request<I>,
    ) -> Result<Upload, Error> {
        let (name, content_type, size) =
            (form.name.as_str(), form.content_type.as_str(), u32::from(form.bytes).to_string());
        let purpose = match form.missing {
            None => "file",
            Some(Missing::Keep) => "import",
            Some(Missing::End) => "whole import",
        };
        let fingerprint = Fingerprint::of(&["create-file", name, content_type, form.sha256.as_str(), &size, purpose]);
        let (owner, key) = (Owner::Company(company.clone()), request.idempotency_key.as_ref());
        let once = IdempotentRequest::new(&self.table, &owner, key, fingerprint, request.milli);
        if let Some(id) = once.before().await? {
            if let Some(upload) = self.upload(company, &id).await? {
                return Ok(upload);
            }
            // The upload has expired without a file.
            let upload = Upload::new(company.clone(), id, form.clone(), request.now);
            self.dynamo.write(self.table.put_new(&upload)?).await?;
            return Ok(upload);
        }
        if form.missing.is_some() {
            self.must_have_room(company).await?;
        }
        let id = FacetId::new(request.now.instant(), &request.random);
        let upload = Upload::new(company.clone(), id.clone(), form.clone(), request.now);
        let mut changes = vec![self.table.put_new(&upload)?];
        changes.extend(once.remember(&id)?);
        self.put_new(changes, &upload).await?;
        Ok(upload)
    }
}
