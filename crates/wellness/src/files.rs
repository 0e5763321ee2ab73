//! The buckets: files and exports (docs/decisions/wellness-files.md), and failed events.

use aws_sdk_s3::{
    error::DisplayErrorContext,
    presigning::{PresignedRequest, PresigningConfig},
};
use function::{Error, percent_encoded};
use futures::{StreamExt, TryStreamExt, stream};
use intake::{File, Files, Part};
use keys::{TimestampSeconds, wellness::UploadKey};
use std::{collections::BTreeMap, error, fmt::Display, time::Duration};

/// Validity of a presigned upload.
const UPLOAD: Duration = Duration::from_mins(15);
/// Validity of a presigned download.
const DOWNLOAD: Duration = Duration::from_mins(5);
/// Number of bytes that tell the type of a file.
const HEAD: u64 = 4096;
/// Maximum size of an object that is read as a whole: a file of 25 MB, or a failed event.
const WHOLE: u64 = 32 * 1024 * 1024;
/// Maximum number of concurrent deletions.
const SIDE_BY_SIDE: usize = 16;

/// A bucket.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    files: Files,
    /// `None` in functions without the setting of the bucket.
    bucket: Option<String>,
}

/// A page of a list of objects.
pub(crate) struct ObjectPage {
    pub(crate) keys: Vec<String>,
    /// The key after which the next page starts.
    pub(crate) next: Option<String>,
}

/// A presigned request.
pub(crate) struct Presigned {
    pub(crate) url: String,
    /// The headers that the request must have.
    pub(crate) headers: BTreeMap<String, String>,
}

impl FileStore {
    pub(crate) fn new(files: Files, bucket: Option<String>) -> Self {
        Self { files, bucket }
    }

    fn bucket(&self) -> Result<&str, Error> {
        let bucket = self.bucket.as_deref();
        bucket.ok_or_else(|| Error::Internal("the setting of a bucket is missing".to_owned()))
    }

    /// Signs an upload of exactly this type, size and checksum.
    pub(crate) async fn upload(
        &self,
        key: &UploadKey,
        (content_type, bytes, sha256): (&str, i64, &str),
        now: TimestampSeconds,
    ) -> Result<Presigned, Error> {
        let put = self.files.client().put_object().bucket(self.bucket()?).key(key.to_string());
        let put = put.content_type(content_type).content_length(bytes).checksum_sha256(sha256);
        let signed = Box::pin(put.presigned(validity(now, UPLOAD)?)).await.map_err(|error| unsigned(&error))?;
        Ok(presigned(&signed))
    }

    /// Signs a download. The browser saves the file under the name.
    pub(crate) async fn download(
        &self,
        key: &impl Display,
        name: &str,
        now: TimestampSeconds,
    ) -> Result<String, Error> {
        let encoded = percent_encoded(name);
        let get = self.files.client().get_object().bucket(self.bucket()?).key(key.to_string());
        let get = get.response_content_disposition(format!("attachment; filename*=UTF-8''{encoded}"));
        let signed = Box::pin(get.presigned(validity(now, DOWNLOAD)?)).await.map_err(|error| unsigned(&error))?;
        Ok(presigned(&signed).url)
    }

    /// Reads the start of an object. `None` if there is none.
    pub(crate) async fn head(&self, key: &UploadKey) -> Result<Option<Part>, Error> {
        Box::pin(self.files.read((self.bucket()?, &key.to_string()), 0..HEAD)).await
    }

    /// Returns the CSV file in an object. The upload has fixed its content.
    pub(crate) fn csv(&self, key: &UploadKey) -> Result<File, Error> {
        Ok(File::fixed_csv(&self.files, self.bucket()?, &key.to_string()))
    }

    /// Deletes an object, if it exists.
    pub(crate) async fn delete(&self, key: &impl Display) -> Result<(), Error> {
        let delete = self.files.client().delete_object().bucket(self.bucket()?).key(key.to_string());
        Box::pin(delete.send()).await.map(drop).map_err(outage)
    }

    /// Deletes objects, if they exist.
    pub(crate) async fn delete_all(&self, keys: &[String]) -> Result<(), Error> {
        let deletes: Vec<_> = keys.iter().map(|key| self.delete(key)).collect();
        let deletes = stream::iter(deletes);
        deletes.buffer_unordered(SIDE_BY_SIDE).try_collect().await
    }

    /// Lists the objects with a prefix, after the key `after`.
    pub(crate) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<ObjectPage, Error> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let list = self.files.client().list_objects_v2().bucket(self.bucket()?).prefix(prefix).max_keys(limit);
        let page = Box::pin(list.set_start_after(after.map(str::to_owned)).send()).await.map_err(outage)?;
        let has_more = page.is_truncated == Some(true);
        let keys: Vec<String> = page.contents.into_iter().flatten().filter_map(|object| object.key).collect();
        let next = keys.last().filter(|_| has_more).cloned();
        Ok(ObjectPage { keys, next })
    }

    /// Reads a whole object. `None` if there is none.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let part = Box::pin(self.files.read((self.bucket()?, key), 0..WHOLE)).await?;
        Ok(part.map(|part| part.bytes))
    }

    /// Stores an object.
    pub(crate) async fn put(&self, key: &impl Display, content: Vec<u8>) -> Result<(), Error> {
        let put = self.files.client().put_object().bucket(self.bucket()?).key(key.to_string());
        Box::pin(put.body(content.into()).send()).await.map(drop).map_err(outage)
    }
}

fn outage(error: impl error::Error + 'static) -> Error {
    table::Error::Unavailable(format!("S3: {}", DisplayErrorContext(error))).into()
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
