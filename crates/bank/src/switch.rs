//! The dispatch switch, which operators use to stop dispatch and execution
//! (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::Bank;
use function::Error;
use keys::{
    TimestampSeconds,
    bank::{SwitchPartition, SwitchSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// Dispatch switch: one item of `PaymentScheduler`. Without the item, dispatching is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Attributes)]
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
}

impl Item for Switch {
    const TYPE: &'static str = "DispatchSwitch";
}

impl Switch {
    /// Creates the switch as changed at this time.
    pub fn new(enabled: bool, changed_at: TimestampSeconds) -> Self {
        Self { partition: SwitchPartition, sort: SwitchSort, enabled, changed_at }
    }

    pub(crate) fn key() -> Key {
        Key::new(&SwitchPartition, &SwitchSort)
    }
}

/// The switch of dispatch and execution.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DispatchSwitch")]
pub struct SwitchBody {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<TimestampSeconds>,
}

impl From<Option<Switch>> for SwitchBody {
    fn from(switch: Option<Switch>) -> Self {
        Self { enabled: switch.is_none_or(|switch| switch.enabled), changed_at: switch.map(|switch| switch.changed_at) }
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
