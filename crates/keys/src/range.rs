/// A range of sort keys: a key condition `SK BETWEEN from AND to`.
///
/// It is exact although `BETWEEN` takes both ends in: the upper end is a whole key that is to be in, or the text that follows
/// a prefix, which no key equals.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    from: String,
    to: String,
    backward: bool,
}

impl KeyRange {
    /// From the text `first` to the last key that begins with `last_prefix`.
    ///
    /// A prefix ends in a separator of the key's own form (`#`, or the `T` after a day): without it
    /// `2026-12-1` would take `2026-12-10` along.
    pub(crate) fn through(first: impl Into<String>, last_prefix: impl Into<String>) -> Self {
        Self { from: first.into(), to: following(last_prefix.into()), backward: false }
    }

    /// From the one whole key to the other, both included.
    pub(crate) fn between(first: impl Into<String>, last: impl Into<String>) -> Self {
        Self { from: first.into(), to: last.into(), backward: false }
    }

    /// Every key that begins with the prefix.
    pub(crate) fn beginning_with(prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        Self::through(prefix.clone(), prefix)
    }

    /// No key: none equals a text that others begin with.
    pub(crate) fn nothing_from(prefix: impl Into<String>) -> Self {
        let from = prefix.into();
        Self { to: from.clone(), from, backward: false }
    }

    /// The same range, read from its end: newest first, where the key begins with a time.
    #[must_use]
    pub fn newest_first(self) -> Self {
        Self { backward: true, ..self }
    }

    /// Whether it is read from its end.
    #[must_use]
    pub fn is_backward(&self) -> bool {
        self.backward
    }

    /// The same range without the position, a whole key of the range, and all that is read before it.
    #[must_use]
    pub fn after(&self, position: &str) -> Self {
        if self.backward {
            return Self { to: preceding(position.to_owned()), ..self.clone() };
        }
        // The least text that extends the position; a key has no control characters, so none lies in between.
        Self { from: format!("{position}\u{1}"), ..self.clone() }
    }

    /// The same range without what is read before the position, a whole key of the range.
    #[must_use]
    pub fn starting_at(&self, position: &str) -> Self {
        if self.backward {
            return Self { to: position.to_owned(), ..self.clone() };
        }
        Self { from: position.to_owned(), ..self.clone() }
    }

    /// The lower end.
    #[must_use]
    pub fn from(&self) -> &str {
        &self.from
    }

    /// The upper end.
    #[must_use]
    pub fn to(&self) -> &str {
        &self.to
    }

    /// Whether the key lies in the range.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.from.as_str() <= key && key <= self.to.as_str()
    }

    /// What every key of the range begins with: a cursor need not carry it.
    #[must_use]
    pub fn shared_prefix(&self) -> &str {
        let same = self.from.char_indices().zip(self.to.chars()).find(|((_, from), to)| from != to);
        same.map_or(&self.from, |((at, _), _)| &self.from[..at])
    }
}

/// The first text after all that begin with the prefix.
fn following(mut prefix: String) -> String {
    if let Some(last) = prefix.pop() {
        prefix.push(char::from_u32(u32::from(last) + 1).unwrap_or(char::MAX));
    }
    prefix
}

/// The last text before the position that a key can be: the position with a lesser end, and the greatest there is behind it.
fn preceding(mut position: String) -> String {
    if let Some(last) = position.pop() {
        // The surrogates' gap is the one place where the number before a character is none.
        let before = if last == '\u{e000}' {
            '\u{d7ff}'
        } else {
            char::from_u32(u32::from(last).saturating_sub(1)).unwrap_or_default()
        };
        position.extend([before, char::MAX]);
    }
    position
}
