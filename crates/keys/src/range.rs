use std::fmt;

/// Maximum length of a position, in bytes. DynamoDB limits a sort key to 1,024 bytes, and the ends
/// of a range are up to 4 bytes longer than a position.
const MAX_POSITION: usize = 1_020;

/// A range of sort keys, for the key condition `SK BETWEEN from AND to`.
///
/// `BETWEEN` includes both ends. The upper end is either the last key of the range, or a text that
/// sorts after all keys with a prefix. No key equals such a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    from: String,
    to: String,
    backward: bool,
}

impl KeyRange {
    /// The range from the text `first` to the last key that starts with `last_prefix`. The range is
    /// empty if it would end before it starts.
    ///
    /// The prefix must end in a separator of the key format: `#`, or the `T` after a date. Without
    /// the separator, a prefix such as `2026-12-1` would also match `2026-12-10`.
    pub(crate) fn through(first: impl Into<String>, last_prefix: impl Into<String>) -> Self {
        Self::between(first, following(last_prefix.into()))
    }

    /// The range from one complete key to another, both included. The range is empty if it would
    /// end before it starts, because DynamoDB rejects such a condition.
    pub(crate) fn between(first: impl Into<String>, last: impl Into<String>) -> Self {
        let (from, to) = (first.into(), last.into());
        if to < from { Self::nothing_from(from) } else { Self { from, to, backward: false } }
    }

    /// All keys that start with the prefix.
    pub(crate) fn beginning_with(prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        Self::through(prefix.clone(), prefix)
    }

    /// The range of a single key.
    pub fn of_key(key: &impl fmt::Display) -> Self {
        Self::between(key.to_string(), key.to_string())
    }

    /// All keys of a partition.
    pub fn whole_partition() -> Self {
        Self::between("\u{0}", char::MAX)
    }

    /// An empty range. Both ends are the text with a control character, which no key equals.
    pub(crate) fn nothing_from(text: impl fmt::Display) -> Self {
        let from = format!("{text}\u{1}");
        Self { to: from.clone(), from, backward: false }
    }

    /// The range from the first key of one range to the last key of another.
    pub fn spanning(first: &Self, last: &Self) -> Self {
        Self::between(first.from.clone(), last.to.clone())
    }

    /// The part of the range whose keys continue its start with the text. Like the prefix of
    /// [`KeyRange::through`], the text must end in a separator.
    pub(crate) fn continuing(&self, text: impl fmt::Display) -> Self {
        Self::beginning_with(format!("{}{text}", self.from))
    }

    /// Reverses the read order: newest first, for keys that start with a time.
    pub fn newest_first(self) -> Self {
        Self { backward: true, ..self }
    }

    /// Returns whether the range is read in descending order.
    pub fn is_backward(&self) -> bool {
        self.backward
    }

    /// The part of the range after `position` in read order. `position` is a text in the range, and
    /// does not have to be a key. The result is empty if `position` is the last text of the range.
    pub fn after(&self, position: &str) -> Self {
        // Keys contain no control characters such as U+0001, so no key is between `position` and
        // this text.
        let prefix = &position[..position.floor_char_boundary(MAX_POSITION)];
        let next = if prefix == position { format!("{position}\u{1}") } else { following(prefix.to_owned()) };
        let rest = if self.backward {
            // No valid key is between a position that is too long and its prefix.
            let to = if prefix == position { preceding(position.to_owned()) } else { prefix.to_owned() };
            Self { to, ..self.clone() }
        } else {
            Self { from: next.clone(), ..self.clone() }
        };
        // DynamoDB rejects a range that ends before it starts.
        if rest.from <= rest.to { rest } else { Self { from: next.clone(), to: next, ..rest } }
    }

    /// The part of the range that starts at `position` in read order. `position` is a key in the
    /// range.
    pub fn starting_at(&self, position: &str) -> Self {
        if self.backward {
            return Self { to: position.to_owned(), ..self.clone() };
        }
        Self { from: position.to_owned(), ..self.clone() }
    }

    /// The part of an ascending range that starts at `position` or after it. `None` if the range
    /// ends before it.
    pub fn not_before(&self, position: &str) -> Option<Self> {
        let from = self.from.as_str().max(position).to_owned();
        (from <= self.to).then(|| Self { from, ..self.clone() })
    }

    /// The lower end.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The upper end.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// Returns whether the key is in the range.
    pub fn contains(&self, key: &str) -> bool {
        self.from.as_str() <= key && key <= self.to.as_str()
    }

    /// Returns whether a list can continue after `position`: a text in the range that consists of
    /// characters of keys, and is short enough for a key condition.
    pub fn has_position(&self, position: &str) -> bool {
        let is_of_key = |character: char| !character.is_control() && character != char::MAX;
        position.len() <= MAX_POSITION && position.chars().all(is_of_key) && self.contains(position)
    }

    /// The prefix that all keys in the range share. Cursors omit this prefix.
    pub fn shared_prefix(&self) -> &str {
        let same = self.from.char_indices().zip(self.to.chars()).find(|((_, from), to)| from != to);
        same.map_or(&self.from, |((at, _), _)| &self.from[..at])
    }
}

/// The first text that sorts after all keys with the prefix.
fn following(mut prefix: String) -> String {
    if let Some(last) = prefix.pop() {
        prefix.push(char::from_u32(u32::from(last) + 1).unwrap_or(char::MAX));
    }
    prefix
}

/// An upper bound of all keys before `position`. It decrements the last character of `position` and
/// appends the greatest character.
fn preceding(mut position: String) -> String {
    if let Some(last) = position.pop() {
        // U+D800 to U+DFFF are surrogates, so U+D7FF is the character before U+E000.
        let before = if last == '\u{e000}' {
            '\u{d7ff}'
        } else {
            char::from_u32(u32::from(last).saturating_sub(1)).unwrap_or_default()
        };
        position.extend([before, char::MAX]);
    }
    position
}
