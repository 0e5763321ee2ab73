//! The embedded `DynamoDB`: its tables are the template's, in memory or in a file.
use std::path::Path;

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, Credentials, Region,
        retry::{RetryPartition, TokenBucket},
    },
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode},
};
use dynoxide::{Database, errors::DynoxideError};
use serde_json::{Value, json};

use crate::{
    StartError,
    server::{Port, Server},
    template::{REGION, Table},
};

/// The engine and its HTTP endpoint.
pub(crate) struct Engine {
    pub(crate) url: String,
    server: Server,
}

impl Engine {
    /// Opens the data, makes the tables that are missing and serves.
    pub(crate) fn start(port: Port, data: Option<&Path>, tables: &[Table]) -> Result<Self, StartError> {
        let database = open(data)?;
        for table in tables {
            ensure(&database, table)?;
        }
        let url = format!("http://{}", port.address);
        let server = Server::start(|stopped| async move {
            let stopped = async {
                let _ = stopped.await;
            };
            if let Err(error) = dynoxide::server::serve_with_shutdown(port.listener, database, stopped).await {
                tracing::error!(error, "the DynamoDB endpoint stopped");
            }
        });
        Ok(Self { url, server })
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}

fn open(data: Option<&Path>) -> Result<Database, StartError> {
    let opened = match data {
        None => Database::memory(),
        Some(path) => match path.to_str() {
            Some(path) => Database::new(path),
            None => return Err(StartError::Data(path.to_owned(), "its name is not UTF-8".to_owned())),
        },
    };
    opened.map_err(|error| StartError::Data(data.unwrap_or(Path::new("memory")).to_owned(), error.to_string()))
}

/// Makes the table, or brings the indexes of one that is there in line, as a deployment would.
fn ensure(database: &Database, table: &Table) -> Result<(), StartError> {
    let fail = |error: String| StartError::Table(table.name.clone(), error);
    let description = match database.describe_table(request(&json!({"TableName": table.name})).map_err(fail)?) {
        Ok(described) => serde_json::to_value(described.table).map_err(|error| fail(error.to_string()))?,
        Err(DynoxideError::ResourceNotFoundException(_)) => {
            let create = request(&table.definition).map_err(fail)?;
            return database.create_table(create).map(drop).map_err(|error| fail(error.to_string()));
        }
        Err(error) => return Err(fail(error.to_string())),
    };
    if !same_key(&description, &table.definition) {
        return Err(fail("the data holds it with other keys; start with other data".to_owned()));
    }
    for update in index_updates(&description, &table.definition) {
        let update = json!({
            "TableName": table.name,
            "AttributeDefinitions": table.definition["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": [update],
        });
        database.update_table(request(&update).map_err(fail)?).map_err(|error| fail(error.to_string()))?;
    }
    Ok(())
}

fn request<T: serde::de::DeserializeOwned>(body: &Value) -> Result<T, String> {
    serde_json::from_value(body.clone()).map_err(|error| error.to_string())
}

fn same_key(left: &Value, right: &Value) -> bool {
    left["KeySchema"] == right["KeySchema"]
}

fn index_updates(is: &Value, should: &Value) -> Vec<Value> {
    let indexes = |table: &Value| table["GlobalSecondaryIndexes"].as_array().cloned().unwrap_or_default();
    let (is, should) = (indexes(is), indexes(should));
    let same = |a: &Value, b: &Value| {
        a["IndexName"] == b["IndexName"]
            && same_key(a, b)
            && a["Projection"]["ProjectionType"] == b["Projection"]["ProjectionType"]
    };
    let gone = is.iter().filter(|old| !should.iter().any(|new| same(old, new)));
    let new = should.iter().filter(|new| !is.iter().any(|old| same(old, new)));
    gone.map(|index| json!({"Delete": {"IndexName": index["IndexName"]}}))
        .chain(new.map(|index| json!({"Create": index})))
        .collect()
}

/// The one client that all functions share.
pub(crate) fn client(url: &str) -> Result<Client, StartError> {
    // The endpoint is plain HTTP: reading the machine's certificates would only slow the start down.
    let tls = TlsContext::builder().with_trust_store(TrustStore::empty()).build();
    let tls = tls.map_err(|error| StartError::Client(error.to_string()))?;
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).tls_context(tls).build_https();
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url(url)
        // What retries one stack has left is no concern of another in the same process.
        .retry_partition(RetryPartition::custom("stack").token_bucket(TokenBucket::default()).build())
        .http_client(http)
        .build();
    Ok(Client::from_conf(config))
}
