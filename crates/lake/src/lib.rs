//! The analytics lake (docs/requirements/lake.md#pipeline). Each change in the stream of an
//! exported table becomes one row in a Firehose delivery stream. [`SCHEMAS`] declares the tables
//! (docs/decisions/lake.md), and docs/lake.md describes their rows.
#![deny(clippy::disallowed_methods)]

mod delivery;
mod export;
mod model;
pub mod patterns;
pub mod sql;
mod tables;

pub use model::{
    pack,
    schema::{Column, Kind, Presence, Schema},
};
pub use patterns::patterns;
pub use tables::SCHEMAS;

/// Access pattern of the lake. The pattern declares no cost, because the lake does not call
/// DynamoDB.
pub type Pattern = function::Pattern<()>;

use delivery::Delivery;
use export::Exports;
use function::{App, Clients, SettingsReader};
use model::token::TokenKey;
use publisher::FailureBucket;
use std::sync::Arc;

/// Destinations and settings of the lake.
#[derive(Clone)]
pub struct Lake {
    delivery: Delivery,
    failures: FailureBucket,
    exports: Exports,
    /// Key for account tokens. `None` if the rows contain the account ids themselves.
    tokens: Option<Arc<TokenKey>>,
}

impl App for Lake {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (prefix, bucket) = (settings.get::<String>("DELIVERY_PREFIX"), settings.get::<String>("FAILURE_BUCKET"));
        let lake = settings.get::<String>("LAKE_BUCKET");
        let tokens = settings.optional::<TokenKey>("ACCOUNT_TOKEN_KEY").map(Arc::new);
        let config = clients.config("s3");
        let by_path = settings.s3_by_path(&config);
        Some(Self {
            delivery: Delivery::new(&clients.config("firehose"), prefix?),
            failures: FailureBucket::new(config.clone(), by_path, bucket?),
            exports: Exports::new(&config, by_path, lake?),
            tokens,
        })
    }
}
