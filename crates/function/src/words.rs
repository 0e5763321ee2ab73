use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A text of 1 to `MOST` characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BoundedText<const MOST: usize>(String);

/// A text of invalid length, or with a control character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {most} characters, none of them a control character")]
pub struct InvalidText {
    most: usize,
}

impl<const MOST: usize> FromStr for BoundedText<MOST> {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let length = text.chars().take(MOST + 1).count();
        if length == 0 || length > MOST || text.chars().any(char::is_control) {
            return Err(InvalidText { most: MOST });
        }
        Ok(Self(text.to_owned()))
    }
}

impl<const MOST: usize> TryFrom<String> for BoundedText<MOST> {
    type Error = InvalidText;

    fn try_from(text: String) -> Result<Self, InvalidText> {
        text.parse()
    }
}

impl<const MOST: usize> From<BoundedText<MOST>> for String {
    fn from(words: BoundedText<MOST>) -> Self {
        words.0
    }
}

impl<const MOST: usize> fmt::Display for BoundedText<MOST> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_short_and_printable() {
        for good in ["a", "Ünï", "12345"] {
            assert_eq!(good.parse::<BoundedText<5>>().map(|words| words.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", "123456", "a\nb", "\u{7f}"] {
            assert!(bad.parse::<BoundedText<5>>().is_err(), "{bad:?}");
        }
        assert_eq!(
            InvalidText { most: 5 }.to_string(),
            "must have 1 to 5 characters, none of them a control character"
        );
    }
}
