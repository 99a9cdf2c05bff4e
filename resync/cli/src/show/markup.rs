//! Text in SVG and HTML. Nothing that a log holds becomes markup.

use crate::show::escape;

/// Appends text, with control characters escaped, as the content of an element or of an
/// attribute in double quotes.
pub fn push(bytes: &[u8], out: &mut String) {
    let mut plain = Vec::new();
    escape::push(bytes, &mut plain);
    for c in String::from_utf8_lossy(&plain).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// The same as a string of its own.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    push(bytes, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_element_or_an_attribute() {
        let odd = b"</script>\"'&amp;\x1b\xff\xe2\x80\xae";
        let escaped = text(odd);
        assert_eq!(
            escaped,
            "&lt;/script&gt;&quot;&#39;&amp;amp;\\x1b\\xff\\u{202e}"
        );
    }
}
