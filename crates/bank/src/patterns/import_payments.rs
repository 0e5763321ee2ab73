//! B12: starts the import of a file (docs/requirements/bank.md#import-payments).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
    jobs::Task,
    model::import::{INBOX, ImportedFile},
};
use function::{Error, Fault, ObjectCreated, Objects, Trigger};
use intake::Format;
use keys::{
    RequestId,
    bank::{ImportId, ImportRun},
};
use serde::Serialize;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B12",
    name: "import-payments",
    trigger: Trigger::Objects("Inbox", INBOX),
    calls: &[Calls::new("", |_| Cost::default().write(cost::JOBS, 1).write(cost::IMPORTS, 1))],
    contract: |_| {},
    function: || function::objects(import_payments, Bank::warm_by_job),
};

/// Maximum number of objects whose names differ only in their endings, and with equal sequencers.
const MAX_EQUAL: usize = 16;

/// The imports of an event.
#[derive(Debug, Default, Serialize)]
pub struct Started {
    started: Vec<Run>,
}

/// Run of an import.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    import_id: ImportId,
    run: ImportRun,
}

/// Starts an import for each object. If the event is delivered again, the imports continue.
///
/// # Errors An object outside the inbox, or with a key that S3 does not allow. The other objects of
/// the event are imported.
pub async fn import_payments(bank: Bank, event: Objects) -> Result<Started, Error> {
    let (mut started, mut faults) = (Started::default(), Vec::new());
    for (index, object) in event.created.iter().enumerate() {
        // A console creates such objects as folders.
        if object.key.ends_with('/') && object.size == 0 {
            continue;
        }
        match imported(object) {
            Ok(file) => started.started.push(bank.start_import(file, &event).await?),
            Err((member, detail)) => {
                faults.push(Fault { pointer: format!("/Records/{index}/s3/object/{member}"), detail });
            }
        }
    }
    if faults.is_empty() { Ok(started) } else { Err(Error::Invalid(faults)) }
}

impl Bank {
    /// Starts the run of an object, or wakes it up.
    async fn start_import(&self, mut file: ImportedFile, event: &Objects) -> Result<Run, Error> {
        for _ in 0..MAX_EQUAL {
            let request = RequestId::new(event.now.instant(), &event.random);
            let found = self.jobs.start(file.job(&request, event.now)?, &request).await?;
            // `a.csv` and `a.jsonl` are runs of one import, and S3 compares sequencers of one key.
            if matches!(found.task()?, Task::Import(other) if other.key != file.key) {
                file.run = file.run.next();
                continue;
            }
            return Ok(Run { import_id: file.import, run: file.run });
        }
        Err(Error::Internal("too many objects have the same import and sequencer".to_owned()))
    }
}

fn imported(object: &ObjectCreated) -> Result<ImportedFile, (&'static str, String)> {
    let name = object.key.strip_prefix(INBOX).ok_or_else(|| ("key", format!("must start with {INBOX}")))?;
    let import = Format::stem(name).parse().map_err(|error| ("key", format!("is not the name of a file: {error}")))?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    if !(3..=63).contains(&object.bucket.len()) || !object.bucket.bytes().all(is_name) {
        return Err(("bucket", "is not the name of a bucket".to_owned()));
    }
    Ok(ImportedFile {
        import,
        run: object.sequencer.parse().map_err(|error| ("sequencer", format!("{error}")))?,
        bucket: object.bucket.clone(),
        key: object.key.clone(),
        tag: object.tag.clone(),
    })
}
