//! The cart's changes for the BI team (seed 003, access pattern four): from the stream of `Cart` to a delivery stream, a row a
//! change. The rows are described in `docs/cart-changes.md`.
#![deny(clippy::disallowed_methods)]

mod delivery;
mod failure_bucket;
mod model;
pub mod patterns;

pub use model::{columns::COLUMNS, pack};
pub use patterns::patterns;

/// An access pattern of the lake. Its cost does not depend on the sizes of items.
pub type Pattern = function::Pattern<()>;

use delivery::Delivery;
use failure_bucket::FailureBucket;
use function::{App, Clients, SettingsReader};
use model::token::TokenKey;
use std::sync::Arc;

/// What the function works with.
#[derive(Clone)]
pub struct Export {
    delivery: Delivery,
    failures: FailureBucket,
    /// Account ids go out as they are where there is none.
    tokens: Option<Arc<TokenKey>>,
}

impl App for Export {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (stream, bucket) = (settings.get::<String>("DELIVERY_STREAM"), settings.get::<String>("FAILURE_BUCKET"));
        let tokens = settings.optional::<TokenKey>("ACCOUNT_TOKEN_KEY").map(Arc::new);
        let config = clients.config("s3");
        // A stand-in for S3 has no host name a bucket.
        let by_path = config.endpoint_url().is_some() || settings.optional::<String>("AWS_ENDPOINT_URL_S3").is_some();
        Some(Self {
            delivery: Delivery::new(&clients.config("firehose"), stream?),
            failures: FailureBucket::new(&config, by_path, bucket?),
            tokens,
        })
    }
}
