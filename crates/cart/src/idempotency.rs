use crate::Line;
use keys::{Milli, OrderId};
use serde::{Deserialize, Serialize};

/// Enough of the first answer to give it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// The line that was made or grew, as it was then.
    Added { created: bool, line: Box<Line> },
    /// The order: its lines, which are final, all have its time.
    CheckedOut { order: OrderId, at: Milli },
}
