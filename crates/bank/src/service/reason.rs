use crate::MAX_REASON as MAX;

/// The reason of a service that gives none.
const UNKNOWN: &str = "The transaction service gave no reason.";

/// The reason of a failed payment, as the payment stores it: one line of at most 256 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Makes a reason of any text. Invisible characters become spaces, and a long text is cut.
    pub fn new(text: &str) -> Self {
        let mut reason = String::with_capacity(MAX);
        let words = text.split(|character: char| !is_visible(character)).filter(|word| !word.is_empty());
        for character in words.flat_map(|word| word.chars().chain([' '])) {
            if reason.len() + character.len_utf8() > MAX {
                break;
            }
            reason.push(character);
        }
        let reason = reason.trim_end();
        Self(if reason.is_empty() { UNKNOWN } else { reason }.to_owned())
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

fn is_visible(character: char) -> bool {
    character != ' ' && keys::is_plain_text(character.encode_utf8(&mut [0; 4]))
}
