use crate::{
    Record, Wellness,
    model::upload::{FileStatus, Upload},
};
use function::{Deadline, Error};
use jobs::{Job, JobRunner, Next, Step};
use keys::wellness::{CompanyId, Facet, FacetId, FacetRef, UploadKey};
use serde::{Deserialize, Serialize};
use table::{Condition, Value};

/// Makes the stored state of a file match its object (docs/decisions/wellness-files.md).
///
/// The job runs when the object is created, and when the record of the file is removed.
pub(crate) struct Receive<'a> {
    wellness: &'a Wellness,
    object: UploadKey,
    /// As read at the start of the run.
    upload: Option<Upload>,
}

/// The job has a single step.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReceiveProgress {}

impl<'a> Receive<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, file: FacetId, upload: Option<Upload>) -> Self {
        Self { wellness, object: UploadKey { company, file }, upload }
    }

    async fn receive(&self) -> Result<(), Error> {
        let files = &self.wellness.files;
        match &self.upload {
            Some(upload) if upload.status == FileStatus::Pending => self.check(upload).await,
            Some(upload) if upload.status == FileStatus::Ready && upload.missing.is_none() => {
                self.remove_if_unused(upload).await
            }
            // The upload was rejected or has expired, the file was removed, or the import has
            // ended.
            _ => files.delete(&self.object).await,
        }
    }

    /// Checks the object of a pending upload, and creates the record of the file.
    async fn check(&self, upload: &Upload) -> Result<(), Error> {
        let Some(head) = self.wellness.files.head(&self.object).await? else { return Ok(()) };
        let reason = if head.size != u64::from(u32::from(upload.bytes)) {
            Some("The file has another size.")
        } else if !upload.content_type.is_start(&head.bytes) {
            Some("The content is not of the declared type.")
        } else {
            None
        };
        let table = &self.wellness.table;
        let pending = Condition::is(Upload::STATUS, Value::of(&FileStatus::Pending)?);
        let update = table.update(Upload::key_of(&self.object.company, &self.object.file)).only_if(pending);
        let changes = if let Some(reason) = reason {
            let rejected = update.set(Upload::STATUS, Value::of(&FileStatus::Rejected)?);
            vec![rejected.set(Upload::REASON, Value::of(&reason)?)]
        } else {
            let ready = update.set(Upload::STATUS, Value::of(&FileStatus::Ready)?).remove(Upload::EXPIRES_AT);
            vec![ready, table.put(&upload.record()?)?]
        };
        match self.wellness.dynamo.apply(changes).await {
            Ok(()) if reason.is_some() => self.wellness.files.delete(&self.object).await,
            Ok(()) => Ok(()),
            // Another run has done it, or the upload has expired.
            Err(table::Error::Refused(_)) if reason.is_none() => Ok(()),
            // If it was an attempt of this run, the object remains. The next run deletes it.
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the object and then the upload, if the record of the file was removed.
    async fn remove_if_unused(&self, upload: &Upload) -> Result<(), Error> {
        let of = FacetRef { facet: Facet::Files, id: self.object.file.clone() };
        let key = Record::key_of(&self.object.company, &of);
        match self.wellness.table.get::<Record>(&key).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(table::Error::Unreadable(..)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.wellness.files.delete(&upload.object()).await?;
        let delete = self.wellness.table.delete(Upload::key_of(&self.object.company, &self.object.file));
        match self.wellness.dynamo.write(delete).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl JobRunner for Receive<'_> {
    type Progress = ReceiveProgress;

    async fn step(
        &mut self,
        job: &Job,
        progress: ReceiveProgress,
        _: Deadline,
    ) -> Result<Step<ReceiveProgress>, Error> {
        self.receive().await?;
        Ok(Step { progress, done: job.done, next: Next::End })
    }
}
