//! Events of created objects.
use super::node::{Node, Result, fault};

const WHAT: &str = "an S3 event";
const CREATED: &str = "s3:ObjectCreated:";

/// Objects whose creation invokes a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectTrigger {
    /// Physical name of the bucket.
    pub bucket: String,
    /// Event names after `s3:ObjectCreated:`. `*` includes all.
    pub events: Vec<String>,
    /// Prefix of the keys.
    pub prefix: String,
    /// Suffix of the keys.
    pub suffix: String,
    /// Line in the template.
    pub line: usize,
}

impl ObjectTrigger {
    pub(crate) fn read(event: &Node) -> Result<Self> {
        event.only(WHAT, &["Bucket", "Events", "Filter"], &[])?;
        let events = event.need(WHAT, "Events")?;
        let names = if events.text().is_ok() { vec![events.text()?.to_owned()] } else { events.texts()? };
        let created = names.iter().map(|name| {
            let created = name.strip_prefix(CREATED).map(str::to_owned);
            created.map_or_else(|| fault(events.line, "the local stack supports only events s3:ObjectCreated:*"), Ok)
        });
        let mut trigger = Self {
            bucket: event.need(WHAT, "Bucket")?.text()?.to_owned(),
            events: created.collect::<Result<_>>()?,
            prefix: String::new(),
            suffix: String::new(),
            line: event.line,
        };
        if let Some(filter) = event.get("Filter") {
            trigger.add_filter(filter)?;
        }
        Ok(trigger)
    }

    fn add_filter(&mut self, filter: &Node) -> Result<()> {
        let key = filter.only("Filter", &["S3Key"], &[])?.need("Filter", "S3Key")?;
        let rules = key.only("S3Key", &["Rules"], &[])?.need("S3Key", "Rules")?;
        for rule in rules.list()? {
            rule.only("a rule", &["Name", "Value"], &[])?;
            let (name, value) = (rule.need("a rule", "Name")?, rule.need("a rule", "Value")?.text()?);
            match name.text()? {
                "prefix" => value.clone_into(&mut self.prefix),
                "suffix" => value.clone_into(&mut self.suffix),
                _ => return fault(name.line, "the name of a rule must be prefix or suffix"),
            }
        }
        Ok(())
    }

    /// Whether the creation of an object invokes the function.
    pub fn wants(&self, bucket: &str, key: &str, event: &str) -> bool {
        self.bucket == bucket
            && self.events.iter().any(|name| name == "*" || name == event)
            && key.strip_prefix(&self.prefix).is_some_and(|rest| rest.ends_with(&self.suffix))
    }
}
