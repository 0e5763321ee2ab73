//! W38: publishes the events of activities and registrations to EventBridge. The stream of
//! `Activities` invokes this function (docs/events/README.md, docs/decisions/events.md).

use crate::{Fact, Wellness, cost::Pattern};
use function::{Batch, Error, Trigger};
use std::{collections::BTreeSet, future::ready};

pub const PATTERN: Pattern = Pattern {
    id: "W38",
    name: "publish-wellness-events",
    trigger: Trigger::Streams(&["Activities"]),
    calls: &[],
    contract: |_| {},
    // The role of the function permits no call that could open a connection without an effect.
    function: || function::stream(publish_wellness_events, |_: Wellness| ready(())),
};

/// Publishes the events of a batch. Returns the sequence numbers of the records whose events the
/// bus did not accept.
async fn publish_wellness_events(wellness: Wellness, batch: Batch) -> Result<BTreeSet<String>, Error> {
    Ok(wellness.bus.publish(&batch.records, batch.deadline, Fact::of).await)
}
