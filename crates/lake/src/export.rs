//! Exports of tables to S3 (DynamoDB Developer Guide, "DynamoDB table export output format").

use aws_config::SdkConfig;
use aws_sdk_s3::{
    Client, config::Builder, error::DisplayErrorContext, operation::get_object::GetObjectError, primitives::ByteStream,
};
use flate2::write::MultiGzDecoder;
use function::Error;
use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use std::{fmt, io::Write};

/// The bucket with the exports, which is the bucket of the lake.
#[derive(Clone)]
pub(crate) struct Exports {
    client: Client,
    bucket: String,
}

/// `manifest-summary.json` of an export.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    export_arn: String,
    table_arn: String,
    /// The table is exported as it was at this time.
    pub(crate) export_time: Timestamp,
    output_format: String,
}

/// A line of `manifest-files.json`: a data file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataFile {
    #[serde(rename = "dataFileS3Key")]
    pub(crate) key: String,
    pub(crate) item_count: u64,
}

impl Summary {
    /// Name of the exported table.
    pub(crate) fn table(&self) -> &str {
        last(&self.table_arn)
    }

    /// Id of the export, which is a part of the keys of its files.
    pub(crate) fn id(&self) -> &str {
        last(&self.export_arn)
    }
}

impl DataFile {
    /// Name of the file without its ending. `None` if the key is not the key of a data file.
    pub(crate) fn name(&self) -> Option<&str> {
        let (folder, name) = self.key.rsplit_once('/')?;
        let name = name.strip_suffix(".json.gz").filter(|name| !name.is_empty())?;
        folder.ends_with("/data").then_some(name)
    }
}

fn last(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}

impl Exports {
    pub(crate) fn new(config: &SdkConfig, by_path: bool, bucket: String) -> Self {
        let config = Builder::from(config).force_path_style(by_path).build();
        Self { client: Client::from_conf(config), bucket }
    }

    pub(crate) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Reads the summary of an export in DynamoDB JSON.
    pub(crate) async fn summary(&self, key: &str) -> Result<Summary, Error> {
        let summary: Summary = self.json(key).await?;
        if summary.output_format == "DYNAMODB_JSON" {
            return Ok(summary);
        }
        Err(Error::invalid("/body/summary", "is not an export in the format DYNAMODB_JSON"))
    }

    async fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        let body = self.body(key).await?.collect().await.map_err(|error| unavailable(&error))?;
        serde_json::from_slice(&body.into_bytes()).map_err(|_| Error::invalid("/body/summary", "is not a manifest"))
    }

    async fn body(&self, key: &str) -> Result<ByteStream, Error> {
        let call = self.client.get_object().bucket(&self.bucket).key(key);
        match Box::pin(call.send()).await {
            Ok(answer) => Ok(answer.body),
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => {
                Err(Error::NotFound("file of an export"))
            }
            Err(error) => Err(unavailable(&DisplayErrorContext(error))),
        }
    }

    /// Opens a data file, which contains one item per line.
    pub(crate) async fn open(&self, file: &DataFile) -> Result<Lines, Error> {
        let body = self.body(&file.key).await?;
        Ok(Lines { body: Some(body), decoder: MultiGzDecoder::new(Vec::new()), next: 0 })
    }

    /// Writes an object.
    pub(crate) async fn put(&self, key: &str, rows: String) -> Result<(), Error> {
        let body = ByteStream::from(rows.into_bytes());
        let call = self.client.put_object().bucket(&self.bucket).key(key).content_type("application/x-ndjson");
        Box::pin(call.body(body).send()).await.map(drop).map_err(|error| unavailable(&DisplayErrorContext(error)))
    }
}

/// The lines of a data file, which are decompressed as they arrive.
pub(crate) struct Lines {
    /// `None` at the end of the file.
    body: Option<ByteStream>,
    decoder: MultiGzDecoder<Vec<u8>>,
    /// Place of the next line in the decompressed bytes.
    next: usize,
}

impl Lines {
    /// Returns the next line that is not empty.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Error> {
        loop {
            let decoded = self.decoder.get_mut();
            if let Some(length) = decoded[self.next..].iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&decoded[self.next..self.next + length]).into_owned();
                self.next += length + 1;
                if !line.trim().is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            decoded.drain(..self.next);
            self.next = 0;
            let Some(body) = &mut self.body else { return Ok(None) };
            if let Some(chunk) = body.next().await {
                let chunk = chunk.map_err(|error| unavailable(&error))?;
                self.decoder.write_all(&chunk).map_err(|error| damaged(&error))?;
            } else {
                self.body = None;
                self.decoder.try_finish().map_err(|error| damaged(&error))?;
                // The last line may lack its line feed.
                self.decoder.get_mut().push(b'\n');
            }
        }
    }
}

fn damaged(error: &std::io::Error) -> Error {
    Error::Internal(format!("a data file is damaged: {error}"))
}

/// A failure that a retry may overcome.
fn unavailable(cause: &impl fmt::Display) -> Error {
    table::Error::Unavailable(format!("S3: {cause}")).into()
}
