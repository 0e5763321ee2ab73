//! The dispatch switch, which operators use to stop dispatch and execution
//! (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::Bank;
use function::{ChangedBy, Error};
use keys::{
    TimestampSeconds,
    bank::{SwitchPartition, SwitchSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Dispatch switch: one item of `PaymentScheduler`. Without the item, dispatching is enabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Switch {
    #[serde(rename = "PK")]
    partition: SwitchPartition,
    #[serde(rename = "SK")]
    sort: SwitchSort,
    /// Whether payments are dispatched and executed.
    pub enabled: bool,
    /// Time of the last change.
    pub changed_at: TimestampSeconds,
    /// The operator who made the last change.
    pub changed_by: ChangedBy,
}

impl Item for Switch {
    const TYPE: &'static str = "DispatchSwitch";
}

impl Switch {
    /// Creates the switch as changed at this time.
    pub fn new(enabled: bool, changed_at: TimestampSeconds, changed_by: ChangedBy) -> Self {
        Self { partition: SwitchPartition, sort: SwitchSort, enabled, changed_at, changed_by }
    }

    pub(crate) fn key() -> Key {
        Key::new(&SwitchPartition, &SwitchSort)
    }
}

/// The switch of dispatch and execution.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DispatchSwitch")]
pub struct SwitchBody {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<TimestampSeconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
}

impl From<Option<Switch>> for SwitchBody {
    fn from(switch: Option<Switch>) -> Self {
        match switch {
            None => Self { enabled: true, changed_at: None, changed_by: None },
            Some(Switch { enabled, changed_at, changed_by, .. }) => {
                Self { enabled, changed_at: Some(changed_at), changed_by: Some(changed_by) }
            }
        }
    }
}

impl Bank {
    /// Reads the switch with strong consistency. Returns `None` if nobody has ever changed it.
    pub(crate) async fn switch(&self) -> Result<Option<Switch>, Error> {
        Ok(self.payments.get(&Switch::key()).await?)
    }

    /// Returns whether payments are dispatched and executed.
    pub(crate) async fn is_dispatching(&self) -> Result<bool, Error> {
        Ok(self.switch().await?.is_none_or(|switch| switch.enabled))
    }
}
