use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use table::JsonText;

/// An arbitrary JSON object. Its text is stored and returned unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct JsonObject(#[serde(with = "table::raw_json")] pub(crate) JsonText);

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let json = table::raw_json::deserialize(input)?;
        if json.is_object() { Ok(Self(json)) } else { Err(D::Error::custom("must be a JSON object")) }
    }
}

/// A JSON object with known fields. Serde alone would also accept an array of the field values.
#[derive(Debug, Clone)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let JsonObject(json) = JsonObject::deserialize(input)?;
        serde_json::from_str(json.text()).map(Self).map_err(D::Error::custom)
    }
}

/// Deserialises a list of [`Object`]s.
pub(crate) fn objects<'de, T: DeserializeOwned, D: Deserializer<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    Ok(Vec::<Object<T>>::deserialize(input)?.into_iter().map(|Object(one)| one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        one: u8,
        two: u8,
    }

    #[test]
    fn accepts_only_objects_with_exactly_the_known_fields() {
        let read = |json: &str| serde_json::from_str::<Object<Pair>>(json).map(|Object(Pair { one, two })| (one, two));
        assert_eq!(read(r#" {"two": 2, "one": 1}"#).ok(), Some((1, 2)));
        for (bad, why) in [
            ("[1, 2]", "must be a JSON object"),
            ("null", "must be a JSON object"),
            (r#"{"one": 1}"#, "missing field `two`"),
            (r#"{"one": 1, "two": 2, "three": 3}"#, "unknown field `three`, expected `one` or `two`"),
            (r#"{"one": 1, "one": 1, "two": 2}"#, "duplicate field `one`"),
        ] {
            let error = read(bad).expect_err(bad).to_string();
            assert!(error.starts_with(why) && error.matches(" at line ").count() <= 1, "{error}");
        }
    }

    #[test]
    fn keeps_the_text_of_an_arbitrary_object() {
        let text = r#"{"b": 0.10, "a": {"b": [1e999]}, "a": null}"#;
        let json: JsonObject = serde_json::from_str(&format!(" {text}")).expect("an object");
        assert_eq!(serde_json::to_string(&json).expect("JSON"), text);
    }
}
