use function::BoundedText;
use keys::ledger::MetadataName;
use schemars::json_schema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// Maximum number of texts.
const MAX_TEXTS: usize = 10;

/// A text: at most 100 characters.
type MetadataText = BoundedText<100>;

/// Short texts by name that a caller attaches to a transaction, at most ten
/// ([decision](../../../../docs/decisions/idempotency.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<MetadataName, MetadataText>", into = "BTreeMap<MetadataName, MetadataText>")]
pub struct TransactionMetadata(BTreeMap<MetadataName, MetadataText>);

/// The error for too many texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have at most {MAX_TEXTS} texts")]
pub struct TooManyTexts;

impl TransactionMetadata {
    /// Whether there is no text. Such metadata is not stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names and texts, for the fingerprint of a request.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&MetadataName, &MetadataText)> {
        self.0.iter()
    }
}

impl TryFrom<BTreeMap<MetadataName, MetadataText>> for TransactionMetadata {
    type Error = TooManyTexts;

    fn try_from(texts: BTreeMap<MetadataName, MetadataText>) -> Result<Self, TooManyTexts> {
        if texts.len() > MAX_TEXTS { Err(TooManyTexts) } else { Ok(Self(texts)) }
    }
}

impl From<TransactionMetadata> for BTreeMap<MetadataName, MetadataText> {
    fn from(metadata: TransactionMetadata) -> Self {
        metadata.0
    }
}

/// The texts as JSON, sorted by name.
impl fmt::Display for TransactionMetadata {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

keys::schema!(TransactionMetadata as "TransactionMetadata", |generator| json_schema!({
    "description": "Texts by name. A name has ASCII letters, digits, `-` and `_`.",
    "type": "object",
    "maxProperties": MAX_TEXTS,
    "propertyNames": {"pattern": MetadataName::PATTERN},
    "additionalProperties": generator.subschema_for::<MetadataText>()
}));
