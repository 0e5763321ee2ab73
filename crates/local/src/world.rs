//! The world of a service: data in which every sample event of the service succeeds
//! (events/README.md, docs/decisions/worlds.md).
//!
//! `<service>/world.json` in the folder of the events has the steps that create the data. Random
//! ids contain a time and random bits. A step can fix both, so that every stack has the objects
//! whose ids are in the events.
use std::{collections::BTreeSet, fmt, time::Duration};

use aws_sdk_dynamodb::{Client, error::DisplayErrorContext};
use jiff::{Timestamp, tz::TimeZone};
use keys::Random;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{gateway::Gateway, lambda::Lambda};
use events::{EventError, Events, Fault, expand, is_accepted};
use template::Template;

/// Number of times that an answer is repeated while functions work.
const LOOKS: usize = 1_000;
/// Pause between two looks at a stack that runs by itself.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);
/// Order of the services: the bank pays with the ledger.
const ORDER: [&str; 4] = ["ledger", "cart", "wellness", "bank"];

/// The error of a world that cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A file of the world cannot be read.
    #[error(transparent)]
    Event(#[from] EventError),
    /// An event cannot be changed as the step says.
    #[error("the world of {0}: {1}: {2}")]
    Change(&'static str, String, Fault),
    /// A step is not of the form that is described in events/README.md.
    #[error("the world of {0}: {1}")]
    Form(&'static str, serde_json::Error),
    /// A step failed.
    #[error("the world of {0}: {1}: {2}")]
    Step(&'static str, String, String),
}

/// A stack that has a world.
pub(crate) trait Stage {
    fn template(&self) -> &Template;

    fn gateway(&self) -> &Gateway;

    /// A DynamoDB client without the role of a function.
    fn dynamodb(&self) -> Result<Client, String>;

    /// Binds a function of the stack with another source of randomness.
    fn seeded(&self, lambda: &Lambda, random: Random) -> Result<Lambda, String>;

    /// Puts an object into the bucket for files to import. Returns whether the stack has one.
    fn import(&self, key: &str, data: &[u8]) -> Result<bool, String>;

    /// Waits until functions have handled some more events of streams and objects.
    fn pass(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// An event of a world, and how it changes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Played {
    /// Name of an event or a variant.
    event: String,
    /// Changes of the event, as of a variant.
    with: Option<Value>,
    /// Members that the body of the response must have.
    #[serde(default)]
    has: Map<String, Value>,
}

/// A step: it sends an event, puts an object or an item, or only waits.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Step {
    /// Name of an event or a variant.
    event: Option<String>,
    /// Changes of the event, as of a variant.
    with: Option<Value>,
    /// Time of the request. Default: the present time.
    at: Option<Timestamp>,
    /// Seed of the random bits of new ids.
    seed: Option<u64>,
    /// Key of an object for the bucket of imports. Its lines are `lines`.
    object: Option<String>,
    lines: Vec<Value>,
    /// Table of an item that no request creates. Its attributes are `attributes`.
    item: Option<String>,
    attributes: Value,
    /// Waits for the response of this event. The step is skipped if this event has the response
    /// already.
    until: Option<Played>,
    /// Skips the step if this event has the response.
    unless: Option<Played>,
    /// Whether the step needs a service, or is left out beside it.
    beside: Option<String>,
    without: Option<String>,
    /// Number of repetitions. In every step, `{n}` is the number of the repetition, from 1, and
    /// `{year}` is the present year in UTC.
    times: Option<u32>,
}

/// Creates the worlds of the services of the stack, unless they exist. A service has its world if
/// the last event of the world succeeds. Each service plays at most its first `most` steps.
///
/// # Errors
///
/// [`WorldError`] if a file cannot be read, or a step fails.
pub(crate) async fn create(stage: &impl Stage, events: &Events, most: usize) -> Result<(), WorldError> {
    let services = stage.template().services();
    for service in ORDER.into_iter().filter(|service| services.contains(service)) {
        World { stage, events, service, services: &services }.create(most).await?;
    }
    Ok(())
}

struct World<'a, S> {
    stage: &'a S,
    events: &'a Events,
    service: &'static str,
    services: &'a BTreeSet<&'a str>,
}

impl<S: Stage> World<'_, S> {
    async fn create(&self, most: usize) -> Result<(), WorldError> {
        let (mut steps, year) = (Vec::new(), function::now().to_zoned(TimeZone::UTC).year().to_string());
        for step in self.events.world(self.service)? {
            for number in 1..=step["times"].as_u64().unwrap_or(1) {
                let step = step.to_string().replace("{n}", &number.to_string()).replace("{year}", &year);
                steps.push(serde_json::from_str(&step).map_err(|error| WorldError::Form(self.service, error))?);
            }
        }
        let does_nothing =
            |step: &Step| step.event.is_none() && step.object.is_none() && step.item.is_none() && step.until.is_none();
        if let Some(number) = steps.iter().position(does_nothing) {
            return Err(self.error(&format!("step {}", number + 1), "the step does nothing"));
        }
        steps.retain(|step| self.applies(step));
        let last = steps.iter().rev().find_map(|step: &Step| step.until.clone());
        if let Some(last) = last
            && self.holds(&last).await?
        {
            return Ok(());
        }
        for step in steps.iter().take(most) {
            self.play(step).await?;
        }
        Ok(())
    }

    fn error(&self, step: &str, reason: impl fmt::Display) -> WorldError {
        WorldError::Step(self.service, step.to_owned(), reason.to_string())
    }

    fn applies(&self, step: &Step) -> bool {
        let has = |service: &String| self.services.contains(service.as_str());
        step.beside.as_ref().is_none_or(has) && !step.without.as_ref().is_some_and(has)
    }

    async fn play(&self, step: &Step) -> Result<(), WorldError> {
        // An interrupted creation may have done the step.
        for done in step.unless.iter().chain(&step.until) {
            if self.holds(done).await? {
                return Ok(());
            }
        }
        if let Some(name) = &step.event {
            self.send(name, step).await?;
        }
        if let Some(key) = &step.object {
            let lines: Vec<_> = step.lines.iter().map(|line| format!("{line}\n")).collect();
            let is_put = self.stage.import(key, lines.concat().as_bytes());
            // A stack without the bucket cannot wait for the import either.
            if !is_put.map_err(|reason| self.error(key, reason))? {
                return Ok(());
            }
        }
        if let Some(end) = &step.item {
            self.put(end, &step.attributes).await.map_err(|reason| self.error(end, reason))?;
        }
        if let Some(wanted) = &step.until {
            for _ in 0..LOOKS {
                if self.holds(wanted).await? {
                    return Ok(());
                }
                self.pass(&wanted.event).await?;
            }
            let answer = self.invoke(&wanted.event, wanted.with.as_ref(), None, None).await?;
            return Err(self.error(&wanted.event, format!("has no {:?}: {answer}", wanted.has)));
        }
        Ok(())
    }

    /// Puts an item into the table whose name has this end.
    async fn put(&self, end: &str, attributes: &Value) -> Result<(), String> {
        let mut tables = self.stage.template().tables.iter();
        let table = tables.find(|table| table.name.rsplit('-').next() == Some(end)).ok_or("no such table")?;
        let item = serde_dynamo::to_item(attributes).map_err(|error| error.to_string())?;
        let put = self.stage.dynamodb()?.put_item().table_name(&table.name).set_item(Some(item));
        put.send().await.map(drop).map_err(|error| DisplayErrorContext(error).to_string())
    }

    async fn send(&self, name: &str, step: &Step) -> Result<(), WorldError> {
        for _ in 0..LOOKS {
            let answer = self.invoke(name, step.with.as_ref(), step.at, step.seed).await?;
            if is_accepted(&answer) {
                return Ok(());
            }
            // A company may run a limited number of jobs at the same time.
            if answer["statusCode"] != 429 {
                return Err(self.error(name, answer));
            }
            self.pass(name).await?;
        }
        Err(self.error(name, "the response is 429"))
    }

    async fn pass(&self, name: &str) -> Result<(), WorldError> {
        self.stage.pass().await.map_err(|reason| self.error(name, reason))
    }

    /// Whether an event has the wanted response.
    async fn holds(&self, wanted: &Played) -> Result<bool, WorldError> {
        let answer = self.invoke(&wanted.event, wanted.with.as_ref(), None, None).await?;
        let body: Value = answer["body"].as_str().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        Ok(answer["statusCode"] == 200 && wanted.has.iter().all(|(name, value)| body[name] == *value))
    }

    /// Invokes a function with an event.
    async fn invoke(
        &self,
        name: &str,
        with: Option<&Value>,
        at: Option<Timestamp>,
        seed: Option<u64>,
    ) -> Result<Value, WorldError> {
        let mut event = self.events.event(name)?;
        if let Some(with) = with {
            let changed = expand(event, with.clone());
            event = changed.map_err(|fault| WorldError::Change(self.service, name.to_owned(), fault))?;
        }
        if event["routeKey"].is_string() {
            let at = at.unwrap_or_else(function::now);
            event["requestContext"]["timeEpoch"] = at.as_millisecond().into();
        }
        let function = name.split('.').next().unwrap_or_default();
        let missing = || self.error(name, "the stack has no such function");
        let own = self.stage.gateway().lambdas.get(function).ok_or_else(missing)?;
        let outcome = match seed {
            None => own.invoke(event).await,
            Some(seed) => {
                let lambda = self.stage.seeded(own, Random::seeded(seed));
                lambda.map_err(|reason| self.error(name, reason))?.invoke(event).await
            }
        };
        outcome.answer.map_err(|failure| self.error(name, failure.message))
    }
}
