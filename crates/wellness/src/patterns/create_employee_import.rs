//! W35: creates an import of employees, and signs the upload of its file
//! (docs/requirements/wellness.md#import-employees).

use crate::{
    DOMAIN, Name, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        import::{MAX_IMPORT, Missing},
        upload::{ContentType, FileForm, FileSize, FileStatus, Sha256},
    },
    patterns::{create_file::UploadBody, get_employee_import},
};
use function::{Error, Input, Located, Problem, Request, Route, Trigger, Whole, optimistically};
use keys::wellness::{CompanyId, FacetId};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W35",
    name: "create-employee-import",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/employee-imports",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create an import of employees and sign the upload of its file",
        problems: &[Problem::IdempotencyKeyReused, Problem::JobLimit],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::JOBS, 1)
            .read(cost::ACTIVITIES, case.record_read())
            .write(cost::ACTIVITIES, case.created(write(case.upload)))
    })],
    contract: function::contract(&create_employee_import),
    function: || function::http(create_employee_import, Wellness::warm_by_get),
};

/// A request to create an import.
#[derive(Debug, Clone, Input)]
pub struct CreateEmployeeImportInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(body)]
    bytes: Whole<1, MAX_IMPORT>,
    #[input(body)]
    sha256: Sha256,
    /// Whether to remove the employees that the file does not contain.
    #[input(body, default)]
    end_missing: bool,
}

impl CreateEmployeeImportInput {
    fn form(&self) -> Result<FileForm, Error> {
        let (name, bytes) = ("employees.csv".parse::<Name>(), FileSize::try_from(i64::from(self.bytes)));
        Ok(FileForm {
            name: name.map_err(|error| Error::Internal(error.to_string()))?,
            content_type: ContentType::Csv,
            bytes: bytes.map_err(|error| Error::Internal(error.to_string()))?,
            sha256: self.sha256.clone(),
            missing: Some(if self.end_missing { Missing::End } else { Missing::Keep }),
        })
    }
}

/// An import, with the request that uploads its file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PendingEmployeeImport")]
pub struct NewImportBody {
    import_id: FacetId,
    status: FileStatus,
    /// The request that uploads the content. It is valid for 15 minutes.
    upload: UploadBody,
}

/// Creates an import. The upload in the response is valid for 15 minutes, and only for content of
/// this size and checksum. The import starts when the file is uploaded. A repeated request with the
/// same key signs the upload again.
///
/// # Errors
/// 429 if callers of the company have started too many jobs that are still running.
pub async fn create_employee_import(
    wellness: Wellness,
    request: Request<CreateEmployeeImportInput>,
) -> Result<Located<NewImportBody>, Error> {
    let company = &request.input.company;
    request.caller.must_belong_to(company, DOMAIN)?;
    let form = request.input.form()?;
    let upload = optimistically(|| wellness.new_upload(company, &form, &request)).await?;
    let signed = wellness.signed(&upload, request.now).await?;
    let import_id = upload.sort.0;
    let parameter = |name: &str| match name {
        "companyId" => Some(company.to_string()),
        _ => Some(import_id.to_string()),
    };
    let location = get_employee_import::PATTERN.location(parameter);
    Ok(Located { location, body: NewImportBody { import_id, status: upload.status, upload: signed } })
}
