use crate::Stop;
use aws_config::SdkConfig;
use aws_sdk_s3::{
    Client,
    config::Builder,
    error::{DisplayErrorContext, SdkError},
    primitives::ByteStream,
    types::{CompletedMultipartUpload, CompletedPart},
};
use function::Error;
use std::{collections::HashMap, fmt, ops};

/// The S3 client of a service. It is created when it is first used, so that functions without files
/// start as fast as before.
#[derive(Debug, Clone)]
pub struct Files {
    config: SdkConfig,
    by_path: bool,
}

/// A part of an object.
pub struct Part {
    /// The bytes of the part.
    pub bytes: Vec<u8>,
    /// Size of the whole object.
    pub size: u64,
    pub(crate) metadata: HashMap<String, String>,
}

impl Files {
    /// Creates the files of a service from the configuration of S3. `by_path` selects path-style
    /// requests, which an endpoint on this machine requires.
    pub fn new(config: SdkConfig, by_path: bool) -> Self {
        Self { by_path: by_path || config.endpoint_url().is_some(), config }
    }

    /// Creates the client.
    pub fn client(&self) -> Client {
        Client::from_conf(Builder::from(&self.config).force_path_style(self.by_path).build())
    }

    /// Reads the range of an object. `None` if the object does not exist.
    ///
    /// # Errors
    /// The call failed, or the range is not within the object.
    pub async fn read(&self, object: (&str, &str), range: ops::Range<u64>) -> Result<Option<Part>, Error> {
        match get(&self.client(), object, None, range).await {
            Ok(part) => Ok(Some(part)),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => Err(failure.into_error("such range")),
        }
    }
}

/// A call that failed.
pub(crate) enum Failure {
    Missing,
    /// The object is no longer the one with the expected entity tag.
    Changed,
    /// The range is not within the object, for example because the object is empty.
    NoSuchRange,
    Other(Error),
}

impl<E, R> From<SdkError<E, R>> for Failure
where
    SdkError<E, R>: std::error::Error,
    R: Status,
{
    fn from(error: SdkError<E, R>) -> Self {
        if matches!(error, SdkError::ConstructionFailure(_)) {
            return Self::Missing;
        }
        match error.raw_response().map(Status::status) {
            // Without the permission to list the bucket, S3 answers 403 if the object is missing.
            Some(403 | 404) => Self::Missing,
            Some(412) => Self::Changed,
            Some(416) => Self::NoSuchRange,
            _ => Self::outage(&DisplayErrorContext(&error)),
        }
    }
}

/// HTTP status of a response.
pub(crate) trait Status {
    fn status(&self) -> u16;
}

impl Status for aws_sdk_s3::config::http::HttpResponse {
    fn status(&self) -> u16 {
        Self::status(self).as_u16()
    }
}

impl Failure {
    /// A failure that a retry may overcome.
    pub(crate) fn outage(cause: &impl fmt::Display) -> Self {
        Self::Other(table::Error::Unavailable(format!("S3: {cause}")).into())
    }

    pub(crate) fn into_error(self, what: &str) -> Error {
        match self {
            Self::Other(error) => error,
            Self::Missing | Self::Changed | Self::NoSuchRange => Error::Internal(format!("S3 has no {what}")),
        }
    }
}

/// Reads the range of an object. With a tag, the object must still have it.
pub(crate) async fn get(
    client: &Client,
    (bucket, key): (&str, &str),
    tag: Option<&str>,
    range: ops::Range<u64>,
) -> Result<Part, Failure> {
    let last = range.end.saturating_sub(1);
    let call = client.get_object().bucket(bucket).key(key).range(format!("bytes={}-{last}", range.start));
    let answer = Box::pin(call.set_if_match(tag.map(|tag| format!("\"{tag}\""))).send()).await?;
    let size = answer.content_range().and_then(|range| range.rsplit('/').next()?.parse().ok());
    let size = size.or_else(|| answer.content_length().and_then(|length| u64::try_from(length).ok()));
    let metadata = answer.metadata().cloned().unwrap_or_default();
    let bytes = answer.body.collect().await.map_err(|error| Failure::outage(&error))?.into_bytes();
    Ok(Part { bytes: bytes.into(), size: size.unwrap_or_default(), metadata })
}

/// Stores an object.
pub(crate) async fn put(client: &Client, (bucket, key): (&str, &str), body: Vec<u8>) -> Result<(), Error> {
    let call = client.put_object().bucket(bucket).key(key).content_type("application/x-ndjson");
    let sent = Box::pin(call.body(ByteStream::from(body)).send()).await;
    sent.map(drop).map_err(|error| Failure::from(error).into_error("bucket for reports"))
}

/// Starts an upload in parts.
pub(crate) async fn start(client: &Client, (bucket, key): (&str, &str)) -> Result<String, Error> {
    let call = client.create_multipart_upload().bucket(bucket).key(key).content_type("application/x-ndjson");
    let answer = Box::pin(call.send()).await.map_err(|error| Failure::from(error).into_error("bucket for reports"))?;
    answer.upload_id.ok_or_else(|| Error::Internal("S3 returned no upload id".to_owned()))
}

/// Stores a part of an upload. Returns its entity tag.
pub(crate) async fn put_part(
    client: &Client,
    (bucket, key): (&str, &str),
    upload: &str,
    number: i32,
    body: Vec<u8>,
) -> Result<String, Error> {
    let call = client.upload_part().bucket(bucket).key(key).upload_id(upload).part_number(number);
    let answer = Box::pin(call.body(ByteStream::from(body)).send()).await;
    let answer = answer.map_err(|error| Failure::from(error).into_error("such upload"))?;
    answer.e_tag.ok_or_else(|| Error::Internal("S3 returned no entity tag".to_owned()))
}

/// Completes an upload. A repeated call succeeds if the object exists.
pub(crate) async fn complete(
    client: &Client,
    (bucket, key): (&str, &str),
    upload: &str,
    tags: &[String],
) -> Result<(), Error> {
    let part = |(number, tag): (i32, &String)| CompletedPart::builder().part_number(number).e_tag(tag).build();
    let parts = (1..).zip(tags).map(part).collect();
    let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
    let call = client.complete_multipart_upload().bucket(bucket).key(key).upload_id(upload).multipart_upload(parts);
    match Box::pin(call.send()).await.map_err(Failure::from) {
        Ok(_) => Ok(()),
        Err(Failure::Missing) => match get(client, (bucket, key), None, 0..1).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.into_error("such upload")),
        },
        Err(failure) => Err(failure.into_error("such upload")),
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Missing => Self::file("The object does not exist, or the import may not read it."),
            Failure::Changed => {
                Self::file("The object was replaced during the import. The new object has its own import.")
            }
            Failure::NoSuchRange => Self::file("The file is empty."),
            Failure::Other(error) => Self::Error(error),
        }
    }
}
