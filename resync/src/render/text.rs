//! Strings and characters: bytes, cut at a precision, padded with spaces.

use super::padding::Layout;

/// Appends `%s`: at most `precision` bytes of it.
pub(super) fn push_bytes(out: &mut Vec<u8>, layout: &Layout, bytes: &[u8]) {
    let start = out.len();
    let most = layout.precision.unwrap_or(usize::MAX).min(bytes.len());
    out.extend_from_slice(&bytes[..most]);
    layout.pad(out, start);
}

/// Appends `%ls`: at most `precision` bytes of it, but no part of a character.
pub(super) fn push_utf8(out: &mut Vec<u8>, layout: &Layout, bytes: &[u8]) {
    let mut most = layout.precision.unwrap_or(usize::MAX).min(bytes.len());
    while most > 0 && most < bytes.len() && is_continuation(bytes[most]) {
        most -= 1;
    }
    let layout = Layout {
        precision: None,
        ..*layout
    };
    push_bytes(out, &layout, &bytes[..most]);
}

/// Appends the string of a null pointer, which glibc leaves out rather than cut.
pub(super) fn push_null(out: &mut Vec<u8>, layout: &Layout) {
    const NULL: &[u8] = b"(null)";
    let room = layout.precision.unwrap_or(NULL.len());
    push_bytes(out, layout, if room < NULL.len() { b"" } else { NULL });
}

/// Appends the bytes of one character, whatever the precision.
pub(super) fn push_char(out: &mut Vec<u8>, layout: &Layout, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    layout.pad(out, start);
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
