use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use table::JsonText;

/// An arbitrary JSON object. Its text is stored and returned unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct JsonObject(#[serde(with = "table::raw_json")] pub(crate) JsonText);

impl From<JsonObject> for JsonText {
    fn from(JsonObject(json): JsonObject) -> Self {
        json
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let json = table::raw_json::deserialize(input)?;
        if json.is_object() { Ok(Self(json)) } else { Err(D::Error::custom("must be a JSON object")) }
    }
}

keys::schema!(JsonObject as "JsonObject": {"description": "Any JSON object, returned unchanged.", "type": "object"});
