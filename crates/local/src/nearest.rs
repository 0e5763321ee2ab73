//! Suggestions for misspelled names.

/// Minimum similarity of a suggestion. 1 means equal.
const SIMILAR: f64 = 0.5;

/// Returns the candidate that is most similar to the text, if any is similar.
pub(crate) fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = candidates.into_iter().map(|candidate| (similarity(text, candidate), candidate));
    let best = rated.max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(similarity, _)| *similarity >= SIMILAR).map(|(_, candidate)| candidate)
}

/// Similarity of two texts, ignoring case: 0 to 1.
pub(crate) fn similarity(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(&one.to_lowercase(), &other.to_lowercase())
}

/// Appends the suggestion to a message, if there is one.
pub(crate) fn suggest(message: String, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(suggestion) => format!("{message}; did you mean {suggestion}?"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_similar_names() {
        let scopes = ["bank:read", "bank:write", "cart:read"];
        assert_eq!(nearest("bank:raed", scopes), Some("bank:read"));
        assert_eq!(nearest("BANK:WRITE", scopes), Some("bank:write"));
        assert_eq!(nearest("everything", scopes), None);
        assert_eq!(nearest("", scopes), None);
    }
}
