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
/// (docs/decisions/input.md).
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

/// U+200C separates letters that would otherwise be joined, as in Persian. U+200D joins letters, as
/// in Hindi, and emoji, as in a family.
const JOINERS: std::ops::RangeInclusive<char> = '\u{200c}'..='\u{200d}';

/// Returns whether the text contains only visible characters, plain spaces, emoji selectors and
/// joiners, and at least one visible character. A joiner must be between two visible characters.
/// The alphabet of names and descriptions.
pub fn is_plain_text(text: &str) -> bool {
    // A joiner may also follow the emoji selector of a visible character.
    let is_joinable = |c: char| is_visible(c) || EMOJI_SELECTORS.contains(&c);
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_plain = if JOINERS.contains(&character) {
            before.is_some_and(is_joinable) && characters.peek().copied().is_some_and(is_visible)
        } else {
            character == ' ' || is_joinable(character)
        };
        if !is_plain {
            return false;
        }
        before = Some(character);
    }
    text.chars().any(is_visible)
}
