//! Reports of rejected lines. Each step of a job stores the rows that it found as one object. At
//! the end, the rows become one report.

use crate::{Files, Stop, store};
use aws_sdk_s3::Client;
use function::Error;
use keys::Random;
use serde::{Deserialize, Serialize};

/// Bytes that are collected before they are uploaded. S3 requires at least 5 MB for each part
/// except the last one.
const PART: usize = 8 * 1024 * 1024;
/// Maximum number of parts. It bounds the size of the job item, which contains their entity tags.
const MAX_PARTS: usize = 1_000;
/// Maximum size of the rows of one step.
const MAX_ROWS: u64 = 1024 * 1024 * 1024;

/// A rejected line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row<'a> {
    /// Number of the line in the file, starting at 1.
    pub line: u64,
    /// The id of the record, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// The reason.
    pub reason: &'a str,
}

/// The report of one import.
#[derive(Clone)]
pub struct Report {
    client: Client,
    bucket: String,
    /// Name of the report without its ending, such as `orders/0055AED6`.
    name: String,
    /// Random id of the invocation that writes the rows.
    writer: String,
}

/// The objects with the rows of a report.
///
/// Each invocation writes its own objects, because an invocation that continues after its
/// successor has started repeats a step with other limits. Its rows would replace those of its
/// successor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RowObjects {
    /// Number of objects.
    count: u32,
    /// The invocations that wrote objects, each with the number of its first object.
    writers: Vec<(u32, String)>,
}

impl RowObjects {
    /// Adds the next object of a writer. Returns its number.
    fn add(&mut self, writer: &str) -> u32 {
        let number = self.count;
        if self.writers.last().is_none_or(|(_, last)| last != writer) {
            self.writers.push((number, writer.to_owned()));
        }
        self.count += 1;
        number
    }

    /// The writer of an object.
    fn writer(&self, number: u32) -> Option<&str> {
        self.writers.iter().rev().find(|(first, _)| *first <= number).map(|(_, writer)| writer.as_str())
    }
}

/// Progress of the composition of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Composition {
    /// Upload of a report that is larger than one part.
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<String>,
    /// Number of the next object with rows.
    next: u32,
    /// Entity tags of the uploaded parts.
    tags: Vec<String>,
}

impl Report {
    /// Returns the report with this name in a bucket, for one invocation.
    pub fn new(files: &Files, bucket: &str, name: String, random: &Random) -> Self {
        let writer = format!("{:032x}", random.bits());
        Self { client: files.client(), bucket: bucket.to_owned(), name, writer }
    }

    /// Key of the report.
    pub fn key(name: &str) -> String {
        format!("reports/{name}.jsonl")
    }

    fn rows_key(&self, number: u32, writer: &str) -> String {
        format!("parts/{}/{number:06}-{writer}.jsonl", self.name)
    }

    /// Stores the rows of one step, and adds their object to `objects`.
    pub async fn put_rows(&self, objects: &mut RowObjects, rows: Vec<u8>) -> Result<(), Error> {
        let key = self.rows_key(objects.add(&self.writer), &self.writer);
        store::put(&self.client, (&self.bucket, &key), rows).await
    }

    /// Composes the next part of the report from its rows. `summary` is the last line. Returns
    /// `None` when the report is complete.
    ///
    /// # Errors
    /// [`Stop::File`] if the report would be too large, or if its rows were deleted.
    pub async fn compose(
        &self,
        objects: &RowObjects,
        summary: &str,
        mut done: Composition,
    ) -> Result<Option<Composition>, Stop> {
        let key = Self::key(&self.name);
        let report = (self.bucket.as_str(), key.as_str());
        let mut part = Vec::new();
        while let Some(writer) = objects.writer(done.next).filter(|_| done.next < objects.count && part.len() < PART) {
            part.extend(self.rows(&self.rows_key(done.next, writer)).await?);
            done.next += 1;
        }
        let is_last = done.next >= objects.count && part.len() < PART;
        if is_last {
            part.extend_from_slice(summary.as_bytes());
            part.push(b'\n');
        }
        let Some(upload) = done.upload.clone() else {
            if is_last {
                store::put(&self.client, report, part).await?;
                return Ok(None);
            }
            let upload = store::start(&self.client, report).await?;
            return self.upload(report, upload, part, done).await.map(Some);
        };
        let done = self.upload(report, upload.clone(), part, done).await?;
        if is_last {
            store::complete(&self.client, report, &upload, &done.tags).await?;
            return Ok(None);
        }
        Ok(Some(done))
    }

    async fn upload(
        &self,
        report: (&str, &str),
        upload: String,
        part: Vec<u8>,
        mut done: Composition,
    ) -> Result<Composition, Stop> {
        if done.tags.len() >= MAX_PARTS {
            return Err(Stop::file("The report of rejected lines is larger than 8 GB."));
        }
        let number = i32::try_from(done.tags.len() + 1).unwrap_or(i32::MAX);
        match store::put_part(&self.client, report, &upload, number, part).await {
            Ok(tag) => done.tags.push(tag),
            // An earlier run has completed the upload.
            Err(Error::Internal(_)) if self.exists(report).await => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Composition { upload: Some(upload), ..done })
    }

    async fn exists(&self, report: (&str, &str)) -> bool {
        store::get(&self.client, report, None, 0..1).await.is_ok()
    }

    async fn rows(&self, key: &str) -> Result<Vec<u8>, Stop> {
        let part = store::get(&self.client, (&self.bucket, key), None, 0..MAX_ROWS).await;
        part.map(|part| part.bytes).map_err(|failure| match failure {
            store::Failure::Missing => Stop::file("The rows of the report no longer exist."),
            other => other.into(),
        })
    }
}
