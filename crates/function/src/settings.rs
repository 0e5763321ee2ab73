use aws_config::SdkConfig;
use keys::Shards;
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

/// The settings of a function, from its environment variables.
#[derive(Debug, Clone, Default)]
pub struct Settings(BTreeMap<String, String>);

impl FromIterator<(String, String)> for Settings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// The missing and invalid settings of a function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct SettingsError(Vec<String>);

impl Settings {
    /// A setting, or an empty text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Calls `read` to read settings.
    ///
    /// # Errors
    /// [`SettingsError`] lists all missing and invalid settings.
    pub fn read<T>(&self, read: impl FnOnce(&mut SettingsReader<'_>) -> Option<T>) -> Result<T, SettingsError> {
        let mut reader = SettingsReader { settings: self, faults: Vec::new() };
        let value = read(&mut reader);
        value.filter(|_| reader.faults.is_empty()).ok_or(SettingsError(reader.faults))
    }
}

/// Reads settings and records faults.
#[derive(Debug)]
pub struct SettingsReader<'a> {
    settings: &'a Settings,
    faults: Vec<String>,
}

impl SettingsReader<'_> {
    /// Reads a required setting. Records a fault and returns `None` if the setting is missing or
    /// invalid.
    pub fn get<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        match self.settings.0.get(name).filter(|text| !text.is_empty()).map(|text| text.parse()) {
            Some(Ok(value)) => Some(value),
            Some(Err(error)) => self.fault(format!("{name}: {error}")),
            None => self.fault(format!("{name} is missing")),
        }
    }

    /// Reads an optional setting. Records a fault if the setting is invalid.
    pub fn optional<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        let is_set = self.settings.0.get(name).is_some_and(|text| !text.is_empty());
        if is_set { self.get(name) } else { None }
    }

    /// Reads the number of shards of an index for writes and for reads. `write` and `read` are the
    /// names of the settings.
    pub fn shards(&mut self, write: &str, read: &str) -> Option<Shards> {
        let (shards, of) = (self.get(write), self.get(read));
        Shards::new(shards?, of?)
            .map_or_else(|_| self.fault(format!("required: 1 ≤ {write} ≤ {read} ≤ {}", Shards::MAX)), Some)
    }

    /// Whether a request to S3 has the bucket in its path. An S3 emulator has no host name per
    /// bucket.
    pub fn s3_by_path(&mut self, s3: &SdkConfig) -> bool {
        let mut is_set = |name| self.optional::<String>(name).is_some();
        s3.endpoint_url().is_some() || is_set("AWS_ENDPOINT_URL_S3") || is_set("AWS_ENDPOINT_URL")
    }

    /// Records a fault and returns `None`. Use it if settings are valid separately but contradict
    /// each other.
    pub fn fault<T>(&mut self, fault: impl Display) -> Option<T> {
        self.faults.push(fault.to_string());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_every_fault() {
        let settings: Settings =
            [("A".to_owned(), "x".to_owned()), ("C".to_owned(), "1".to_owned())].into_iter().collect();
        let read = settings.read(|reader| {
            let (a, b, c) = (reader.get::<u8>("A"), reader.get::<u8>("B"), reader.get::<u8>("C"));
            Some((a?, b?, c?))
        });
        assert_eq!(read.unwrap_err().to_string(), "A: invalid digit found in string; B is missing");
        assert_eq!(settings.read(|reader| reader.get::<u8>("C")), Ok(1));
        assert_eq!(
            settings.read(|reader| Some((reader.optional::<u8>("B"), reader.optional("C")))),
            Ok((None, Some(1)))
        );
        assert!(settings.read(|reader| Some(reader.optional::<u8>("A"))).is_err());
    }
}
