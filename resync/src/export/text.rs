//! Texts for formats that take UTF-8 of bounded length.

pub(crate) use logdef_fuchsia::json::harmless_json;
use std::borrow::Cow;

/// Put where text was cut.
pub(crate) const CUT: &str = "…";

/// Bytes as text: as they are where they are UTF-8.
#[inline]
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// At most `most` bytes of a text, whole characters, with a mark if it was cut.
#[inline]
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = boundary(text, most - CUT.len());
    Cow::Owned([&text[..end], CUT].concat())
}

/// Does the same for a text that may be owned.
#[inline]
pub(crate) fn whole(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text;
    }
    Cow::Owned(cut(&text, most).into_owned())
}

/// The last place at or before `most` where a character starts.
#[inline]
pub(crate) fn boundary(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let starts = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    starts.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_marked() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdefgh", 7), "abcd…");
        // Each takes two bytes.
        assert_eq!(cut("ääää", 7), "ää…");
        assert_eq!(whole(Cow::Borrowed("ääää"), 6), "ä…");
        assert_eq!(boundary("ää", 3), 2);
        assert_eq!(boundary("ää", 9), 4);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(lossy(b"a\xffb"), "a\u{fffd}b");
    }
}
