//! Wide strings of C.

use super::{CUT_MARK, HEAD, Out};
use logdef_wire::msgpack::OutOfRoom;

/// A wide string as UTF-8, of at most `limit` bytes of whole characters.
///
/// # Safety
///
/// The characters end in a NUL, or encode to at least `limit` bytes.
pub(super) unsafe fn write(
    out: &mut Out<'_>,
    at: *const libc::wchar_t,
    limit: usize,
    bound: usize,
    then: usize,
) -> Result<(), OutOfRoom> {
    let mut len = 0;
    let mut count = 0;
    // The length first, since it stands before the bytes.
    while len < limit && len <= bound {
        // SAFETY: no NUL so far and fewer bytes than `limit`.
        let c = unsafe { character(*at.add(count)) };
        let Some(c) = c else { break };
        if len + c.len_utf8() > limit {
            break;
        }
        len += c.len_utf8();
        count += 1;
    }
    let cut = len > bound;
    while len > bound {
        count -= 1;
        // SAFETY: read above.
        len -= unsafe { character(*at.add(count)) }.map_or(0, char::len_utf8);
    }
    let mark = if cut { CUT_MARK } else { &[] };
    if len + mark.len() > u16::MAX as usize {
        return Err(OutOfRoom);
    }
    out.need(HEAD + len + mark.len() + then)?;
    // SAFETY: `need` found the room; as many bytes are written as were counted.
    unsafe {
        out.head(0xa0, 0x1f, 0xda, len + mark.len());
        for index in 0..count {
            // Read above. Another thread may have changed it meanwhile, so its
            // length is looked at again.
            let c = character(*at.add(index)).unwrap_or(' ');
            let mut utf8 = [0; 4];
            let utf8 = c.encode_utf8(&mut utf8).as_bytes();
            if utf8.len() > len {
                break;
            }
            len -= utf8.len();
            out.slice(utf8);
        }
        for _ in 0..len {
            out.bytes([b' ']);
        }
        out.slice(mark);
    }
    Ok(())
}

/// A wide character; `None` for NUL, a replacement for a value that is not a character.
#[allow(
    clippy::unnecessary_cast,
    reason = "wchar_t's sign differs between targets"
)]
fn character(c: libc::wchar_t) -> Option<char> {
    match c {
        0 => None,
        c => Some(char::from_u32(c as u32).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}
