use unicode_general_category::{GeneralCategory, get_general_category};

/// Visible categories do not exclude these characters, which are drawn as nothing: fillers,
/// joiners and variation selectors.
const DRAWN_AS_NOTHING: [std::ops::RangeInclusive<char>; 10] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fffc}'..='\u{fffc}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Selects the text or the emoji form of the character before it, as in a red heart.
const EMOJI_SELECTORS: std::ops::RangeInclusive<char> = '\u{fe0e}'..='\u{fe0f}';

/// Returns whether the character is a visible letter, mark, number, punctuation mark or symbol.
///
/// Controls, format characters, white space, surrogates, private and unassigned characters are not
/// (docs/decisions/identifiers.md).
#[must_use]
pub(crate) fn is_visible(character: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate, Unassigned,
    };
    if character.is_ascii() {
        return character.is_ascii_graphic();
    }
    let category = get_general_category(character);
    let is_hidden = matches!(
        category,
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse | SpaceSeparator | Surrogate | Unassigned
    );
    !is_hidden && !DRAWN_AS_NOTHING.iter().any(|range| range.contains(&character))
}

/// Returns whether the text contains only visible characters, plain spaces and emoji selectors, and
/// at least one visible character. The alphabet of names and descriptions.
#[must_use]
pub fn is_plain_text(text: &str) -> bool {
    let is_plain = |c: char| c == ' ' || is_visible(c) || EMOJI_SELECTORS.contains(&c);
    text.chars().all(is_plain) && text.chars().any(is_visible)
}
