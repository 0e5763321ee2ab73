use super::places::{Partition, partitions};
use crate::Wellness;
use function::{Deadline, Error, is_zero};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    RequestId,
    wellness::{ActivityId, CompanyId, ExportKey, UploadKey},
};
use serde::{Deserialize, Serialize};

/// Number of items that a query reads.
const PAGE: usize = 1_000;
/// Size in bytes after which an object takes no further items.
const FULL: usize = 4 * 1024 * 1024;
/// Number of uploaded files that a step copies.
const FILES: usize = 10;
/// Highest number of objects. The job item contains their names.
const MAX_OBJECTS: usize = 3_000;

/// Exports the data of a company (docs/decisions/wellness-tenants.md).
///
/// Each step writes the items of one or several partitions of the same group as one object, or
/// copies some of the uploaded files.
pub(crate) struct Export<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    /// The id of the export.
    id: RequestId,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ExportProgress {
    /// The activities of the company at the start of the job.
    activities: Option<Vec<ActivityId>>,
    /// Number of completed partitions.
    partition: usize,
    /// The position in the current partition, or in the list of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The objects of the export.
    pub(crate) objects: Vec<ExportObject>,
    /// Whether the job failed because the export has too many objects.
    is_too_large: bool,
    /// Number of items with an attribute that JSON cannot express.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) skipped: usize,
}

/// An object of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExportObject {
    pub(crate) name: String,
    /// Number of lines. Absent for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<u64>,
    pub(crate) bytes: usize,
}

impl<'a> Export<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, id: RequestId) -> Self {
        Self { wellness, company, id }
    }

    async fn put(&self, name: String, items: Option<u64>, content: Vec<u8>) -> Result<ExportObject, Error> {
        let object = ExportObject { name: name.clone(), items, bytes: content.len() };
        let key = ExportKey { company: self.company.clone(), export: self.id, name };
        self.wellness.files.put(&key, content).await.map(|()| object)
    }

    /// Exports items of the next partitions, until the object is full.
    ///
    /// The name of the object contains a random number. A run that continues after its successor
    /// has started therefore never replaces an object.
    async fn items(&self, all: &[Partition], at: &mut ExportProgress, stop: Deadline) -> Result<u64, Error> {
        let (mut lines, mut count) = (Vec::new(), 0);
        let group = all.get(at.partition).map_or("", |partition| partition.group);
        while let Some(partition) = all.get(at.partition).filter(|next| next.group == group) {
            let page = partition.page(&self.wellness.table, at.after.as_deref(), PAGE).await?;
            for item in &page.items {
                item.write_to(&mut lines).map_err(|error| Error::Internal(error.to_string()))?;
            }
            count += u64::try_from(page.items.len()).unwrap_or_default();
            at.skipped += page.unreadable.len();
            at.partition += usize::from(page.next.is_none());
            at.after = page.next;
            if lines.len() >= FULL || stop.has_passed() {
                break;
            }
        }
        if count > 0 {
            let number = at.objects.len() + 1;
            let name = format!("{group}-{number:04}-{:032x}.jsonl", self.wellness.dynamo.random().bits());
            at.objects.push(self.put(name, Some(count), lines).await?);
        }
        Ok(count)
    }

    /// Copies the next uploaded files, until the time is up. Returns whether there are no further
    /// ones.
    async fn files(&self, at: &mut ExportProgress, stop: Deadline) -> Result<bool, Error> {
        let prefix = UploadKey::of_company(&self.company);
        let page = self.wellness.files.list(&prefix, at.after.as_deref(), FILES).await?;
        for key in page.keys {
            // The file may have been removed in the meantime.
            if let Some(content) = self.wellness.files.read(&key).await? {
                let name = key.strip_prefix(&prefix).unwrap_or(&key).to_owned();
                at.objects.push(self.put(name, None, content).await?);
            }
            if stop.has_passed() {
                at.after = Some(key);
                return Ok(false);
            }
        }
        at.after = page.next;
        Ok(at.after.is_none())
    }
}

impl JobRunner for Export<'_> {
    type Progress = ExportProgress;

    async fn step(&mut self, job: &Job, at: ExportProgress, stop: Deadline) -> Result<Step<ExportProgress>, Error> {
        let (mut progress, mut done) = (at, job.done);
        let Some(activities) = &progress.activities else {
            progress.activities = Some(self.wellness.activities_of(&self.company).await?);
            return Ok(Step { progress, done, next: Next::Continue });
        };
        let all = partitions(&self.company, activities);
        let mut is_last = false;
        if progress.partition < all.len() {
            done += self.items(&all, &mut progress, stop).await?;
        } else {
            is_last = self.files(&mut progress, stop).await?;
        }
        progress.is_too_large = progress.objects.len() > MAX_OBJECTS;
        let next = if is_last || progress.is_too_large { Next::End } else { Next::Continue };
        Ok(Step { progress, done, next })
    }

    fn skipped(progress: &ExportProgress) -> u64 {
        u64::try_from(progress.skipped).unwrap_or(u64::MAX)
    }

    fn failure(progress: &ExportProgress) -> Option<String> {
        progress.is_too_large.then(|| format!("The export has more than {MAX_OBJECTS} objects."))
    }
}
