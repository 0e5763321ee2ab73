use std::fmt;

/// The name of an item attribute (docs/decisions/attribute-names.md).
///
/// [`Attributes`] derives a constant for each field of an item struct, with the name that serde
/// writes:
///
/// ```
/// use table::{Attributes, Condition};
///
/// #[derive(serde::Serialize, Attributes)]
/// #[serde(rename_all = "PascalCase")]
/// struct CartItem {
///     version: i64,
/// }
/// assert_eq!(CartItem::VERSION.as_str(), "Version");
/// let unchanged = Condition::is(CartItem::VERSION, 1);
/// ```
///
/// A misspelled name does not compile:
///
/// ```compile_fail,E0599
/// # use table::{Attributes, Condition};
/// # #[derive(serde::Serialize, Attributes)]
/// # struct CartItem {
/// #     version: i64,
/// # }
/// let unchanged = Condition::is(CartItem::VERSOIN, 1);
/// ```
///
/// A string literal does not compile either:
///
/// ```compile_fail,E0308
/// # use table::Condition;
/// let unchanged = Condition::is("Version", 1);
/// ```
///
/// [`Attributes`]: crate::Attributes
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attribute(pub(crate) &'static str);

impl Attribute {
    /// `Type`: the kind of the item. Every item has this attribute, but no item struct has a field
    /// for it.
    pub const TYPE: Self = Self("Type");

    /// Creates a name. Only the code that [`Attributes`](crate::Attributes) generates may call this
    /// function; Clippy denies other calls.
    #[doc(hidden)]
    #[must_use]
    pub const fn of_field(name: &'static str) -> Self {
        Self(name)
    }

    /// The name as it is stored in DynamoDB.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The size of the name in bytes, which counts towards the item size.
    #[must_use]
    pub const fn size(self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Attribute, Attributes};
    use serde::Serialize;
    use std::collections::BTreeSet;

    #[derive(Default, Serialize, Attributes)]
    #[serde(rename_all = "PascalCase", default)]
    struct Example {
        #[serde(rename = "PK")]
        partition: u8,
        #[serde(default, rename = "UserID", skip_serializing_if = "Option::is_some")]
        user: Option<u8>,
        earned_points: u8,
        gsi1_name: u8,
        r#type: u8,
        #[serde(flatten)]
        rest: Rest,
        #[serde(skip)]
        _cached: u8,
    }

    #[derive(Default, Serialize, Attributes)]
    struct Rest {
        plain_name: u8,
        #[serde(rename = "LastLegAt")]
        other: u8,
    }

    #[test]
    fn names_equal_the_names_that_serde_writes() {
        let written = serde_json::to_value(Example::default()).expect("JSON");
        let written: BTreeSet<_> = written.as_object().expect("an object").keys().map(String::as_str).collect();
        let own = [Example::PARTITION, Example::USER, Example::EARNED_POINTS, Example::GSI1_NAME, Example::TYPE];
        let names = own.into_iter().chain([Rest::PLAIN_NAME, Rest::OTHER]).map(Attribute::as_str);
        assert_eq!(names.collect::<BTreeSet<_>>(), written);
    }
}
