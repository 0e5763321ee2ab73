//! Sample data of each service, loaded through the API. The data includes the examples in
//! docs/requirements.
mod bank;
mod cart;
mod events;
pub(crate) mod ledger;
pub(crate) mod wellness;

use http::StatusCode;
use serde_json::Value;

pub(crate) use bank::{TRANSACTION, tomorrow};

use crate::{
    Stack,
    client::{Call, Client, ClientError, Reply},
};

/// The error of sample data that could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SampleError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("loading the sample data: {path} returned {status} {body}")]
    Refused { path: String, status: StatusCode, body: Value },
    /// An event did not get the expected response.
    #[error("loading the sample data: the event of {0}: {1}")]
    Event(&'static str, String),
}

/// Sample data of each running service, including data that an earlier start has loaded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loaded {
    pub(crate) payments: Option<usize>,
    pub(crate) cart_items: Option<usize>,
    pub(crate) activities: Option<usize>,
    pub(crate) books: Option<ledger::Books>,
}

/// Loads the sample data that is missing in each service of the stack.
pub(crate) async fn load(client: &Client, stack: &Stack) -> Result<Loaded, SampleError> {
    stack.set_calm(true);
    let loaded = load_services(client, stack).await;
    stack.set_calm(false);
    loaded
}

/// Creates the objects that the GET events of `events` read.
pub(crate) async fn load_events(stack: &Stack) -> Result<(), SampleError> {
    stack.set_calm(true);
    let loaded = events::load(stack).await;
    stack.set_calm(false);
    loaded
}

async fn load_services(client: &Client, stack: &Stack) -> Result<Loaded, SampleError> {
    let mut loaded = Loaded::default();
    for service in stack.template().services() {
        match service {
            "bank" => loaded.payments = Some(bank::load(client, stack.now()).await?),
            "cart" => loaded.cart_items = Some(cart::load(client).await?),
            "wellness" => loaded.activities = Some(wellness::load(client, stack.now()).await?),
            "ledger" => loaded.books = Some(ledger::load(client).await?),
            _ => {}
        }
    }
    Ok(loaded)
}

fn expect(call: &Call, reply: Reply, statuses: &[StatusCode]) -> Result<Reply, SampleError> {
    if statuses.contains(&reply.status) {
        return Ok(reply);
    }
    Err(SampleError::Refused { path: call.path.clone(), status: reply.status, body: reply.body })
}
