//! Plain text with raw addresses, as crash handlers print them, and the images they lie in, as the
//! user names them. Each address that belongs to an image is followed by what is there.

use std::fmt::Write;
use std::sync::Arc;

use logdef_wire::Svma;

use crate::address::AddressKind;
use crate::image::Image;
use crate::markup::Shown;

/// An image and where it was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The image.
    pub image: Arc<Image>,
    /// Address in the process minus link-time address; 0 for a program that is not
    /// position-independent.
    pub load_bias: u64,
}

/// `line` with names after the addresses in it. An address is a hexadecimal number after `0x` that
/// lies in code of one of `images`; `kind` says what such addresses are taken for.
pub fn name_addresses(line: &str, images: &[Loaded], kind: AddressKind) -> String {
    let mut named = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, digits, after)) = next_address(rest) {
        named.push_str(before);
        named.push_str("0x");
        named.push_str(digits);
        if let Some(names) = u64::from_str_radix(digits, 16)
            .ok()
            .and_then(|address| names(address, images, kind))
        {
            named.push_str(&names);
        }
        rest = after;
    }
    named.push_str(rest);
    named
}

/// What is at `address`, in angle brackets, innermost first.
fn names(address: u64, images: &[Loaded], kind: AddressKind) -> Option<String> {
    images.iter().find_map(|loaded| {
        let svma = Svma(address.wrapping_sub(loaded.load_bias));
        if !loaded.image.is_code(kind.probe(svma)) {
            return None;
        }
        let found = loaded.image.symbolize(svma, kind);
        let mut names = String::new();
        for (index, frame) in found.frames().iter().enumerate() {
            let before = if index == 0 { " <" } else { ", inlined into " };
            write!(names, "{before}{}", Shown(frame)).ok()?;
        }
        (!names.is_empty()).then(|| names + ">")
    })
}

/// Splits `text` around the digits of its first hexadecimal number, from the `0x` on. What
/// continues a word, as in `v0x10`, is no number.
fn next_address(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find("0x")?;
        let digits = &text[start + 2..];
        let length = digits
            .find(|it: char| !it.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        let begins = !text[..start].ends_with(is_part);
        let ends = !digits[length..].starts_with(is_part);
        if begins && ends && (1..=16).contains(&length) {
            let (digits, after) = digits.split_at(length);
            return Some((&text[..start], digits, after));
        }
        from = start + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_hexadecimal_numbers_are_addresses() {
        let parts = |text| next_address(text).map(|(_, digits, after)| (digits, after));
        assert_eq!(parts("at 0x12aF, then"), Some(("12aF", ", then")));
        assert_eq!(parts("[0x0]"), Some(("0", "]")));
        assert_eq!(parts("v0x10 10x20 0x 0xg 0x12z (+0x7)"), Some(("7", ")")));
        assert_eq!(parts("0x11112222333344445"), None);
        assert_eq!(parts("0x"), None);
        assert_eq!(parts("é0x1é 0x2é"), None);
    }

    #[test]
    fn without_images_a_line_stays_as_it_is() {
        let line = "crash at 0x1234 (0xffffffffffffffff)";
        assert_eq!(name_addresses(line, &[], AddressKind::Exact), line);
    }
}
