//! Files of a company (docs/decisions/wellness-files.md).

use crate::{
    Name, Record, Wellness,
    model::{
        import::{Missing, Outcome},
        job::{Task, job_key},
    },
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use function::{Error, Whole};
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{CompanyId, CompanyPartition, Facet, FacetId, FacetRef, JobId, RecordSort, UploadKey, UploadSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Maximum size of a file in bytes.
pub(crate) const MAX_FILE: i64 = 25 * 1024 * 1024;
/// Time in days after which an upload without a file expires.
const DAYS_KEPT: i64 = 1;
/// Time in days after which an import of employees expires. Its job is kept for 30 days.
const DAYS_OF_IMPORT: i64 = 31;

/// The upload of a file. It stays as long as the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Upload {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub(crate) partition: CompanyPartition,
    /// Sort key: `Upload#FileId-<id>`.
    #[serde(rename = "SK")]
    pub(crate) sort: UploadSort,
    pub(crate) name: Name,
    pub(crate) content_type: ContentType,
    pub(crate) bytes: FileSize,
    pub(crate) sha256: Sha256,
    pub(crate) status: FileStatus,
    /// Present for an import of employees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<Missing>,
    /// Present for an import of employees that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
    /// Why the file was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// TTL attribute: a Unix time in seconds. Absent if the file is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<i64>,
}

impl Item for Upload {
    const TYPE: &'static str = "Upload";
}

/// The form of a file, which the presigned upload fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileForm {
    pub(crate) name: Name,
    pub(crate) content_type: ContentType,
    pub(crate) bytes: FileSize,
    pub(crate) sha256: Sha256,
    /// Present for an import of employees.
    pub(crate) missing: Option<Missing>,
}

impl Upload {
    pub(crate) fn new(company: CompanyId, file: FacetId, form: FileForm, now: TimestampSeconds) -> Self {
        let FileForm { name, content_type, bytes, sha256, missing } = form;
        let days = if missing.is_some() { DAYS_OF_IMPORT } else { DAYS_KEPT };
        Self {
            partition: CompanyPartition(company),
            sort: UploadSort(file),
            name,
            content_type,
            bytes,
            sha256,
            status: FileStatus::Pending,
            missing,
            outcome: None,
            reason: None,
            expires_at: Some(now.plus_days(days).instant().as_second()),
        }
    }

    /// Primary key of the upload of a file.
    pub(crate) fn key_of(company: &CompanyId, file: &FacetId) -> Key {
        Key::new(&CompanyPartition(company.clone()), &UploadSort(file.clone()))
    }

    /// The key of the object.
    pub(crate) fn object(&self) -> UploadKey {
        UploadKey { company: self.partition.0.clone(), file: self.sort.0.clone() }
    }

    /// Returns the record of the file. Activities copy its data.
    pub(crate) fn record(&self) -> Result<Record, Error> {
        let Self { name, content_type, bytes, sha256, .. } = self;
        let data = serde_json::json!({"name": name, "contentType": content_type, "bytes": bytes, "sha256": sha256});
        let data = serde_json::from_value(data.to_string().into());
        Ok(Record {
            partition: self.partition.clone(),
            sort: RecordSort(FacetRef { facet: Facet::Files, id: self.sort.0.clone() }),
            name: name.clone(),
            data: data.map_err(|error| Error::Internal(error.to_string()))?,
            used_by: None,
            revision: None,
        })
    }
}

/// The status of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileStatus {
    /// The object does not exist, or was not checked yet.
    Pending,
    /// The file can be downloaded.
    Ready,
    /// The content is not of the declared type. The object was deleted.
    Rejected,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub(crate) enum ContentType {
    Pdf,
    Jpeg,
    Png,
    Webp,
    Csv,
    Text,
    Mp4,
}

keys::schema!(ContentType as "FileType": {
    "type": "string",
    "enum": ["application/pdf", "image/jpeg", "image/png", "image/webp", "text/csv", "text/plain", "video/mp4"]
});

impl TryFrom<String> for ContentType {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let all = [Self::Pdf, Self::Jpeg, Self::Png, Self::Webp, Self::Csv, Self::Text, Self::Mp4];
        all.into_iter().find(|one| one.as_str() == text).ok_or("must be one of the documented types")
    }
}

impl From<ContentType> for &'static str {
    fn from(content_type: ContentType) -> Self {
        content_type.as_str()
    }
}

impl ContentType {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
            Self::Mp4 => "video/mp4",
        }
    }

    /// Whether a file of this type can start with these bytes.
    pub(crate) fn is_start(self, bytes: &[u8]) -> bool {
        let has = |at: usize, part: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(part));
        match self {
            Self::Pdf => has(0, b"%PDF-"),
            Self::Jpeg => has(0, b"\xff\xd8\xff"),
            Self::Png => has(0, b"\x89PNG\r\n\x1a\n"),
            Self::Webp => has(0, b"RIFF") && has(8, b"WEBP"),
            Self::Csv | Self::Text => is_text(bytes),
            Self::Mp4 => has(4, b"ftyp"),
        }
    }
}

/// Whether the bytes are UTF-8 text without control characters. The last character may be cut off.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_some() => return false,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    text.chars().all(|character| !character.is_control() || "\t\r\n".contains(character))
}

/// The size of a file in bytes.
pub(crate) type FileSize = Whole<1, MAX_FILE>;

/// A SHA-256 checksum: 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Sha256(String);

keys::schema!(Sha256 as "Sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"});

impl TryFrom<String> for Sha256 {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_valid = text.len() == 64 && text.bytes().all(is_digit);
        is_valid.then_some(Self(text)).ok_or("must have 64 hexadecimal digits in lower case")
    }
}

impl From<Sha256> for String {
    fn from(Sha256(text): Sha256) -> Self {
        text
    }
}

impl Sha256 {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The checksum in the form of S3.
    pub(crate) fn base64(&self) -> String {
        let byte = |at: usize| self.0.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        STANDARD.encode((0..64).step_by(2).filter_map(byte).collect::<Vec<_>>())
    }
}

/// Creates the job that checks a file, or deletes the object of a removed one.
pub(crate) fn receiving(
    company: &CompanyId,
    file: &FacetId,
    run: RequestId,
    now: TimestampSeconds,
) -> Result<Job, Error> {
    let id = JobId::Upload(file.clone());
    Job::new(&job_key(company, &id), &id, &run, &Task::Receive, now)
}

impl Wellness {
    /// Reads the upload of a file or of an import.
    pub(crate) async fn upload(&self, company: &CompanyId, file: &FacetId) -> Result<Option<Upload>, Error> {
        Ok(self.table.get::<Upload>(&Upload::key_of(company, file)).await?)
    }
}
