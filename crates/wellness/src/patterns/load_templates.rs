//! W32: loads the global templates that ship with the service
//! (docs/requirements/wellness.md#manage-templates).
//!
//! docs/decisions/wellness-jobs.md explains why a schedule loads them.

use crate::{
    Wellness,
    cost::{self, Calls, Pattern},
    model::shipped::{TemplateSet, added_after},
};
use function::{Error, Scheduled, Trigger, optimistically};
use serde::Serialize;
use table::{
    Condition,
    cost::{Cost, read, read_eventually, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W32",
    name: "load-templates",
    trigger: Trigger::Schedule("rate(1 hour)"),
    calls: &[
        Calls::new("", |_| Cost::default().read(cost::ACTIVITIES, read_eventually(0))),
        Calls::new(", after the first deployment", |case| {
            let templates = write(case.own).times(case.items);
            let reads = read_eventually(0) + read(0);
            Cost::default().read(cost::ACTIVITIES, reads).write(cost::ACTIVITIES, (templates + 1).times(2))
        }),
    ],
    contract: |_| {},
    function: || function::scheduled(load_templates, Wellness::warm_by_get),
};

/// The result of a run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LoadedTemplates {
    /// Version of the loaded set.
    version: i64,
    /// Number of templates that this run has loaded.
    loaded: usize,
}

/// Loads each shipped template once. Templates that operators have changed or removed since remain
/// as they are.
///
/// # Errors
/// 400 for an invalid event. Any other error means that DynamoDB was unreachable or rejected a
/// call.
pub async fn load_templates(wellness: Wellness, run: Scheduled<()>) -> Result<LoadedTemplates, Error> {
    optimistically(|| wellness.load_set(&run)).await
}

impl Wellness {
    async fn load_set(&self, run: &Scheduled<()>) -> Result<LoadedTemplates, Error> {
        let set = self.table.look_up::<TemplateSet>(&TemplateSet::key()).await?;
        let before = set.as_ref().map_or(0, |set| set.version);
        let (version, templates) = added_after(before, run.now)?;
        if templates.is_empty() {
            return Ok(LoadedTemplates { version: before, loaded: 0 });
        }
        let unchanged = match set {
            Some(set) => Condition::is(TemplateSet::VERSION, set.version),
            None => Condition::missing(TemplateSet::VERSION),
        };
        let mut changes = vec![self.table.put(&TemplateSet::of(version))?.only_if(unchanged)];
        for template in &templates {
            changes.push(self.table.put(template)?);
        }
        self.dynamo.transact(changes).await?;
        Ok(LoadedTemplates { version, loaded: templates.len() })
    }
}
