use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A text of 1 to `MAX` characters: visible characters of any script, joiners between them, and
/// plain spaces (docs/decisions/input.md).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BoundedText<const MAX: usize>(String);

/// The error for a text with an invalid length or an invalid character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {max} visible characters or spaces")]
pub struct InvalidText {
    max: usize,
}

impl<const MAX: usize> BoundedText<MAX> {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> FromStr for BoundedText<MAX> {
    type Err = InvalidText;

    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let length = text.chars().take(MAX + 1).count();
        if length == 0 || length > MAX || !keys::is_plain_text(text) {
            return Err(InvalidText { max: MAX });
        }
        Ok(Self(text.to_owned()))
    }
}

impl<const MAX: usize> TryFrom<String> for BoundedText<MAX> {
    type Error = InvalidText;

    fn try_from(text: String) -> Result<Self, InvalidText> {
        text.parse()
    }
}

impl<const MAX: usize> From<BoundedText<MAX>> for String {
    fn from(words: BoundedText<MAX>) -> Self {
        words.0
    }
}

impl<const MAX: usize> fmt::Display for BoundedText<MAX> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_empty_long_and_invisible_texts() {
        // A person with a laptop, a heart on fire, and words in Persian, Hindi and Sinhala.
        let joined = ["👩\u{200d}💻", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}رو", "क्\u{200d}ष", "ක්\u{200d}ර"];
        for good in ["a", "Ünï", "12345", "a  b", "日本 語", "\u{2764}\u{fe0f}"].into_iter().chain(joined) {
            assert_eq!(good.parse::<BoundedText<5>>().map(|words| words.to_string()).as_deref(), Ok(good));
        }
        let unjoined = ["\u{200d}", "a\u{200d}", "\u{200c}a", "a\u{200d} b", "a \u{200c}b", "a\u{200d}\u{200d}b"];
        for bad in ["", " ", "123456", "a\nb", "\u{7f}", "a\u{a0}b", "a\u{202e}b", "a\u{200b}b", "\u{2028}", "\u{fe0f}"]
            .into_iter()
            .chain(unjoined)
        {
            assert!(bad.parse::<BoundedText<5>>().is_err(), "{bad:?}");
        }
        assert_eq!(InvalidText { max: 5 }.to_string(), "must have 1 to 5 visible characters or spaces");
    }
}
