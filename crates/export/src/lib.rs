//! The cart's changes for the BI team (seed 003, access pattern four): from the stream of `Cart` to a delivery stream, a row a
//! change. The rows are described in `docs/cart-changes.md`.

mod change;
mod columns;
mod counts;
mod delivery;
pub mod export_cart_changes;
mod failure_bucket;
pub mod pack;
mod token;

pub use columns::COLUMNS;

use delivery::Delivery;
use failure_bucket::FailureBucket;
use function::{App, Clients, Function, SettingsReader};
use std::sync::Arc;
use token::TokenKey;

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

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![("export-cart-changes", export_cart_changes::function())]
}
