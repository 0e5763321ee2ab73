//! The private bucket of files (docs/decisions/wellness-files.md).

use aws_config::SdkConfig;
use aws_sdk_s3::{
    Client,
    config::{Builder, http::HttpResponse},
    error::{DisplayErrorContext, SdkError},
    presigning::{PresignedRequest, PresigningConfig},
};
use function::Error;
use keys::{TimestampSeconds, wellness::UploadKey};
use std::{collections::BTreeMap, error, fmt, time::Duration};

/// Validity of a presigned upload.
const UPLOAD: Duration = Duration::from_mins(15);
/// Validity of a presigned download.
const DOWNLOAD: Duration = Duration::from_mins(5);
/// Number of bytes that tell the type of a file.
const HEAD: usize = 4096;

/// The bucket of files. Its client is created when it is first used, so that functions without
/// files start as fast as before.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    config: SdkConfig,
    by_path: bool,
    /// `None` in functions without the setting `FILES_BUCKET`.
    bucket: Option<String>,
}

/// The start of an object.
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    /// Size of the whole object.
    pub(crate) size: u64,
}

/// A presigned request.
pub(crate) struct Presigned {
    pub(crate) url: String,
    /// The headers that the request must have.
    pub(crate) headers: BTreeMap<String, String>,
}

impl FileStore {
    pub(crate) fn new(config: SdkConfig, by_path: bool, bucket: Option<String>) -> Self {
        Self { by_path: by_path || config.endpoint_url().is_some(), config, bucket }
    }

    fn client(&self) -> Result<(Client, &str), Error> {
        let bucket = self.bucket.as_deref();
        let bucket = bucket.ok_or_else(|| Error::Internal("the setting FILES_BUCKET is missing".to_owned()))?;
        Ok((Client::from_conf(Builder::from(&self.config).force_path_style(self.by_path).build()), bucket))
    }

    /// Signs an upload of exactly this type, size and checksum.
    pub(crate) async fn upload(
        &self,
        key: &UploadKey,
        (content_type, bytes, sha256): (&str, i64, &str),
        now: TimestampSeconds,
    ) -> Result<Presigned, Error> {
        let (client, bucket) = self.client()?;
        let put = client.put_object().bucket(bucket).key(key.to_string());
        let put = put.content_type(content_type).content_length(bytes).checksum_sha256(sha256);
        Ok(presigned(&Box::pin(put.presigned(validity(now, UPLOAD)?)).await.map_err(|error| unsigned(&error))?))
    }

    /// Signs a download. The browser saves the file under the name.
    pub(crate) async fn download(&self, key: &UploadKey, name: &str, now: TimestampSeconds) -> Result<String, Error> {
        let (client, bucket) = self.client()?;
        let encoded = name.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let get = client.get_object().bucket(bucket).key(key.to_string());
        let get = get.response_content_disposition(format!("attachment; filename*=UTF-8''{encoded}"));
        let signed = Box::pin(get.presigned(validity(now, DOWNLOAD)?)).await.map_err(|error| unsigned(&error))?;
        Ok(presigned(&signed).url)
    }

    /// Reads the start of an object. `None` if there is none.
    pub(crate) async fn head(&self, key: &UploadKey) -> Result<Option<Head>, Error> {
        let (client, bucket) = self.client()?;
        let get = client.get_object().bucket(bucket).key(key.to_string()).range(format!("bytes=0-{}", HEAD - 1));
        let answer = match Box::pin(get.send()).await {
            // Without the permission to list the bucket, S3 answers 403 if the object is missing.
            Err(error) if matches!(status(&error), Some(403 | 404)) => return Ok(None),
            answer => answer.map_err(|error| outage(&DisplayErrorContext(&error)))?,
        };
        let size = answer.content_range().and_then(|range| range.rsplit('/').next()?.parse().ok());
        let size = size.or_else(|| answer.content_length().and_then(|length| u64::try_from(length).ok()));
        let bytes = answer.body.collect().await.map_err(|error| outage(&error))?.to_vec();
        Ok(Some(Head { bytes, size: size.unwrap_or_default() }))
    }

    /// Deletes an object, if it exists.
    pub(crate) async fn delete(&self, key: &UploadKey) -> Result<(), Error> {
        let (client, bucket) = self.client()?;
        let delete = client.delete_object().bucket(bucket).key(key.to_string());
        Box::pin(delete.send()).await.map(drop).map_err(|error| outage(&DisplayErrorContext(&error)))
    }
}

fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

fn validity(now: TimestampSeconds, length: Duration) -> Result<PresigningConfig, Error> {
    let config = PresigningConfig::builder().start_time(now.instant().into()).expires_in(length).build();
    config.map_err(|error| Error::Internal(error.to_string()))
}

fn presigned(request: &PresignedRequest) -> Presigned {
    let headers = request.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Presigned { url: request.uri().to_owned(), headers: headers.collect() }
}

fn unsigned(error: &(impl error::Error + 'static)) -> Error {
    Error::Internal(format!("a request to S3 cannot be signed: {}", DisplayErrorContext(error)))
}

/// An error that a retry may overcome.
fn outage(cause: &impl fmt::Display) -> Error {
    table::Error::Unavailable(format!("S3: {cause}")).into()
}
