//! W31: starts the check of an uploaded file (docs/requirements/wellness.md#files).

use crate::{
    Wellness,
    cost::{self, Calls, Pattern},
    model::upload::receiving,
};
use function::{Error, Fault, Objects, Trigger};
use keys::{
    RequestId,
    wellness::{FacetId, UploadKey},
};
use serde::Serialize;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W31",
    name: "receive-file",
    trigger: Trigger::Objects("Files", UploadKey::PREFIX),
    calls: &[Calls::new("", |case| Cost::default().write(cost::JOBS, write(case.job)))],
    contract: |_| {},
    function: || function::objects(receive_file, Wellness::warm_by_job),
};

/// The files of an event.
#[derive(Debug, Default, Serialize)]
pub struct Received {
    received: Vec<FacetId>,
}

/// Starts the check of each object. It overwrites a running check, and takes over its work.
///
/// # Errors
/// An object whose key no presigned upload has. The other objects of the event are checked.
pub async fn receive_file(wellness: Wellness, event: Objects) -> Result<Received, Error> {
    let (mut received, mut faults) = (Received::default(), Vec::new());
    for (index, object) in event.created.iter().enumerate() {
        let Ok(UploadKey { company, file }) = object.key.parse() else {
            let pointer = format!("/Records/{index}/s3/object/key");
            faults.push(Fault { pointer, detail: "is not the key of an upload".to_owned() });
            continue;
        };
        let run = RequestId::new(event.now.instant(), &event.random);
        let job = receiving(&company, &file, run, event.now)?;
        table::for_tenant(&company, wellness.dynamo.write(wellness.jobs.table().put(&job)?)).await?;
        received.received.push(file);
    }
    if faults.is_empty() { Ok(received) } else { Err(Error::Invalid(faults)) }
}
