use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// JSON text that is stored unchanged in one string attribute. Numbers keep all digits
/// (docs/decisions/payments.md).
#[derive(Debug, Clone)]
pub struct JsonText(Box<RawValue>);

impl schemars::JsonSchema for JsonText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({})
    }
}

impl JsonText {
    /// The JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Returns whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }
}

impl From<Box<RawValue>> for JsonText {
    fn from(json: Box<RawValue>) -> Self {
        Self(json)
    }
}

impl From<JsonText> for Box<RawValue> {
    fn from(json: JsonText) -> Self {
        json.0
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for JsonText {}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(input)?.into_owned();
        RawValue::from_string(text).map(Self).map_err(D::Error::custom)
    }
}

/// Serializes [`JsonText`] as embedded JSON. Request and response bodies use `#[serde(with =
/// "table::raw_json")]`.
pub mod raw_json {
    use super::{Deserialize, Deserializer, JsonText, RawValue, Serialize, Serializer};

    /// Writes the JSON unchanged.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(json: &JsonText, out: S) -> Result<S::Ok, S::Error> {
        json.0.serialize(out)
    }

    /// Reads the JSON unchanged.
    ///
    /// # Errors
    /// The input is not valid JSON.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<JsonText, D::Error> {
        Box::<RawValue>::deserialize(input).map(JsonText)
    }
}
