//! C16: publishes the events of carts, orders and products to EventBridge. The streams of `Cart`
//! and `Products` invoke this function (docs/events/README.md, docs/decisions/events.md).

use crate::{Cart, Fact, cost::Pattern};
use function::{Batch, Error, Trigger};
use std::{collections::BTreeSet, future::ready};

pub const PATTERN: Pattern = Pattern {
    id: "C16",
    name: "publish-cart-events",
    trigger: Trigger::Streams(&["Cart", "Products"]),
    calls: &[],
    contract: |_| {},
    // The role of the function permits no call that could open a connection without an effect.
    function: || function::stream(publish_cart_events, |_: Cart| ready(())),
};

/// Publishes the events of a batch. Returns the sequence numbers of the records whose events the
/// bus did not accept.
async fn publish_cart_events(cart: Cart, batch: Batch) -> Result<BTreeSet<String>, Error> {
    Ok(cart.bus.publish(&batch.records, batch.deadline, Fact::of).await)
}
