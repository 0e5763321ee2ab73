use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A line for people to read: 1 to `MOST` characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Words<const MOST: usize>(String);

/// A text that is no such line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {most} characters, none of them a control character")]
pub struct NoWords {
    most: usize,
}

impl<const MOST: usize> FromStr for Words<MOST> {
    type Err = NoWords;

    fn from_str(text: &str) -> Result<Self, NoWords> {
        let length = text.chars().take(MOST + 1).count();
        if length == 0 || length > MOST || text.chars().any(char::is_control) {
            return Err(NoWords { most: MOST });
        }
        Ok(Self(text.to_owned()))
    }
}

impl<const MOST: usize> TryFrom<String> for Words<MOST> {
    type Error = NoWords;

    fn try_from(text: String) -> Result<Self, NoWords> {
        text.parse()
    }
}

impl<const MOST: usize> From<Words<MOST>> for String {
    fn from(words: Words<MOST>) -> Self {
        words.0
    }
}

impl<const MOST: usize> fmt::Display for Words<MOST> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_short_and_printable() {
        for good in ["a", "Ünï", "12345"] {
            assert_eq!(good.parse::<Words<5>>().map(|words| words.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", "123456", "a\nb", "\u{7f}"] {
            assert!(bad.parse::<Words<5>>().is_err(), "{bad:?}");
        }
        assert_eq!(NoWords { most: 5 }.to_string(), "must have 1 to 5 characters, none of them a control character");
    }
}
