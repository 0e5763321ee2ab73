//! W35: creates an import of employees, and signs the upload of its file
//! (docs/requirements/wellness.md#import-employees).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        import::{MAX_IMPORT, Missing},
        upload::{ContentType, FileForm, FileSize, FileStatus},
    },
    patterns::{
        create_file::{CreateFileInput, UploadBody},
        get_employee_import,
    },
};
use function::{Error, Fields, Function, Input, Located, Request, Route, Trigger, Whole, optimistically};
use keys::wellness::FacetId;
use serde::Serialize;
use table::cost::{Cost, write};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(create_employee_import, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W35",
    name: "create-employee-import",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/employee-imports",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::JOBS, 1)
            .read(cost::ACTIVITIES, case.record_read())
            .write(cost::ACTIVITIES, (write(case.upload) + case.record_write()).times(2))
    })],
    function,
};

/// A request to create an import.
#[derive(Debug, Clone)]
pub struct CreateEmployeeImportInput(CreateFileInput);

impl Input for CreateEmployeeImportInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let company = fields.path("companyId");
        let (bytes, sha256) = (fields.body::<Whole<1, MAX_IMPORT>>("bytes"), fields.body("sha256"));
        let end_missing = fields.body_if_any::<bool>("endMissing").unwrap_or_default();
        let bytes = bytes.and_then(|bytes| FileSize::try_from(i64::from(bytes)).ok());
        let name = "employees.csv".parse().ok();
        let missing = Some(if end_missing { Missing::End } else { Missing::Keep });
        let content_type = ContentType::Csv;
        let form = FileForm { name: name?, content_type, bytes: bytes?, sha256: sha256?, missing };
        Some(Self(CreateFileInput { company: company?, form }))
    }
}

/// An import in the response, with the request that uploads its file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewImportBody {
    import_id: FacetId,
    status: FileStatus,
    upload: UploadBody,
}

/// Creates an import. The upload in the response is valid for 15 minutes, and only for content of
/// this size and checksum. The import starts when the file is uploaded. A repeated request with the
/// same key signs the upload again.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 422 if the idempotency key was used for a different request.
/// - 429 if callers of the company have started too many jobs that are still running.
pub async fn create_employee_import(
    wellness: Wellness,
    request: Request<CreateEmployeeImportInput>,
) -> Result<Located<NewImportBody>, Error> {
    let CreateEmployeeImportInput(new) = &request.input;
    request.caller.must_belong_to(&new.company, DOMAIN)?;
    let upload = optimistically(|| wellness.new_upload(new, &request)).await?;
    let signed = wellness.signed(&upload, request.now).await?;
    let import_id = upload.sort.0;
    let parameter = |name: &str| match name {
        "companyId" => Some(new.company.to_string()),
        _ => Some(import_id.to_string()),
    };
    let location = get_employee_import::PATTERN.location(parameter);
    Ok(Located { location, body: NewImportBody { import_id, status: upload.status, upload: signed } })
}
