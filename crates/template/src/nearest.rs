//! Suggestions for misspelled names.

/// Minimum similarity of a suggestion. 1 means equal.
const SIMILAR: f64 = 0.5;
/// Maximum length of a compared text in bytes. A comparison takes time in proportion to the product
/// of both lengths, and anybody may send a misspelled name, also without a token
/// (docs/decisions/local-security.md).
pub(crate) const MAX_COMPARED: usize = 100;

/// Returns the candidate that is most similar to the text, if any is similar.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = candidates.into_iter().map(|candidate| (similarity(text, candidate), candidate));
    let best = rated.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(similarity, _)| *similarity >= SIMILAR).map(|(_, candidate)| candidate)
}

/// Similarity of two texts, ignoring case: 0 to 1. A text longer than [`MAX_COMPARED`] is like no
/// other.
pub fn similarity(one: &str, other: &str) -> f64 {
    if one.len().max(other.len()) > MAX_COMPARED {
        return 0.0;
    }
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let length = one.chars().count().max(other.chars().count()).max(1);
    let number = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    1.0 - number(strsim::osa_distance(&one, &other)) / number(length)
}

/// Appends the suggestion to a message, if there is one.
pub fn suggest(message: String, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("{message}; did you mean {suggestion}?"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_only_short_texts() {
        let (short, long) = ("x".repeat(MAX_COMPARED), "x".repeat(MAX_COMPARED + 1));
        assert_eq!(nearest(&short, [&short[1..]]), Some(&short[1..]));
        for (text, candidate) in [(&long, &short), (&short, &long), (&long, &long)] {
            assert_eq!(nearest(text, [candidate.as_str()]), None);
        }
    }
}
