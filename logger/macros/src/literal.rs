//! The value of a string literal, from its tokens.

use crate::Refusal;
use proc_macro::{Delimiter, Span, TokenTree};

/// A string literal.
pub struct Text {
    pub value: String,
    pub span: Span,
}

impl Text {
    /// The literal that a token is, or that stands alone in a group without brackets.
    pub fn of(token: &TokenTree) -> Result<Text, Refusal> {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                match group.stream().into_iter().next() {
                    Some(inner) => Text::of(&inner),
                    None => Err(not_a_string(group.span())),
                }
            }
            TokenTree::Literal(literal) => match value(&literal.to_string()) {
                Some(value) => Ok(Text {
                    value,
                    span: literal.span(),
                }),
                None => Err(not_a_string(literal.span())),
            },
            other => Err(not_a_string(other.span())),
        }
    }
}

fn not_a_string(at: Span) -> Refusal {
    Refusal::new("logdef!: the format must be a string literal", at)
}

/// The value of a literal as it is written; `None` if it is no string.
fn value(written: &str) -> Option<String> {
    if let Some(raw) = written.strip_prefix('r') {
        let hashes = raw.bytes().take_while(|byte| *byte == b'#').count();
        let inner = raw.get(hashes + 1..raw.len().checked_sub(hashes + 1)?)?;
        return raw[hashes..].starts_with('"').then(|| inner.to_string());
    }
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => rest = escape(rest, &mut value)?,
            c => value.push(c),
        }
    }
    Some(value)
}

/// Appends what stands after a backslash.
fn escape<'a>(mut rest: std::str::Chars<'a>, value: &mut String) -> Option<std::str::Chars<'a>> {
    match rest.next()? {
        'n' => value.push('\n'),
        'r' => value.push('\r'),
        't' => value.push('\t'),
        '0' => value.push('\0'),
        'x' => {
            let digits = rest.as_str().get(..2)?;
            value.push(u8::from_str_radix(digits, 16).ok()?.into());
            rest = rest.as_str()[2..].chars();
        }
        'u' => {
            let (digits, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
            let code = u32::from_str_radix(&digits.replace('_', ""), 16).ok()?;
            value.push(char::from_u32(code)?);
            rest = behind.chars();
        }
        '\n' => rest = rest.as_str().trim_start().chars(),
        c => value.push(c),
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_literal_is_what_the_compiler_takes_it_for() {
        macro_rules! same {
            ($($literal:literal)*) => {$(
                assert_eq!(value(stringify!($literal)).as_deref(), Some($literal));
            )*};
        }
        same! {
            "" "plain" "a\nb\r\t\\\"\'\0" "\x41\u{1F600}\u{1_f600}{host}" r"\n{a}" r#"a "b" c"#
            "größe" r##"x"#y"##
        }
        assert_eq!(value("\"a\\\n   b\"").as_deref(), Some("ab"));
        for no_string in ["1", "'c'", "b\"x\"", "c\"x\"", "r"] {
            assert_eq!(value(no_string), None, "{no_string}");
        }
    }
}
