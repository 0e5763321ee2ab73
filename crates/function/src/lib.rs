//! How a Lambda starts.
use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc};

pub use lambda_runtime::Context;
use table::{Dynamo, Usage};

/// The settings of a function: its environment variables.
#[derive(Debug, Clone, Default)]
pub struct Settings(#[allow(dead_code)] BTreeMap<String, String>);

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// Settings that a function can't start with: every fault, one a line.
#[derive(Debug)]
pub struct SettingsError(Vec<String>);

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for SettingsError {}

type Answer = Pin<Box<dyn Future<Output = Invocation> + Send>>;

/// A function bound to its settings and its client, ready to be invoked: what the Lambda runtime
/// and the local stack both call.
#[derive(Clone)]
pub struct Service(Arc<dyn Fn(serde_json::Value, Context) -> Answer + Send + Sync>);

impl Service {
    /// Invokes the function with the event as the Lambda service would send it.
    pub async fn call(&self, event: serde_json::Value, context: Context) -> Invocation {
        (self.0)(event, context).await
    }
}

/// What came of an invocation.
#[derive(Debug)]
pub struct Invocation {
    /// The answer, or the message of the error that Lambda would report.
    pub answer: Result<serde_json::Value, String>,
    /// What it did to DynamoDB.
    pub usage: Usage,
}

/// One Lambda function: its handler and how to start it.
pub struct Function {
    bind: Box<dyn Fn(&Settings, Dynamo) -> Result<Service, SettingsError> + Send + Sync>,
}

impl Function {
    /// Checks the settings and gives the function its client.
    ///
    /// # Errors
    /// All that is wrong with the settings.
    pub fn bind(&self, settings: &Settings, dynamo: Dynamo) -> Result<Service, SettingsError> {
        (self.bind)(settings, dynamo)
    }
}
