//! The rows of the models, the seed's company and the seed's ledger, loaded through the API.
mod bank;
mod cart;
pub(crate) mod ledger;
pub(crate) mod wellness;

use http::StatusCode;
use serde_json::Value;

pub(crate) use bank::{TRANSACTION, tomorrow};

use crate::client::{Call, Client, ClientError, Reply};

/// Why the sample was not loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SampleError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the sample data: {path} answered {status} {body}")]
    Refused { path: String, status: StatusCode, body: Value },
}

/// What of the sample is there, loaded now or before.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) payments: usize,
    pub(crate) lines: usize,
    pub(crate) activities: usize,
    pub(crate) books: ledger::Books,
}

/// Loads what is not there yet.
pub(crate) async fn load(client: &Client) -> Result<Loaded, SampleError> {
    let (payments, lines) = (bank::load(client).await?, cart::load(client).await?);
    let (activities, books) = (wellness::load(client).await?, ledger::load(client).await?);
    Ok(Loaded { payments, lines, activities, books })
}

fn expect(call: &Call, reply: Reply, statuses: &[StatusCode]) -> Result<Reply, SampleError> {
    if statuses.contains(&reply.status) {
        return Ok(reply);
    }
    Err(SampleError::Refused { path: call.path.clone(), status: reply.status, body: reply.body })
}
