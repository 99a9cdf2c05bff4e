//! Encoding the body of a data record from a call's words. A room for unsafe:
//! this is where the caller's pointers are followed, as printf would follow
//! them, and nowhere else. Takes no lock, allocates nothing, and knows neither
//! frames nor sinks.

use crate::site::{Meta, PREFIX_ROOM, Template};
use core::ffi::c_char;
use core::slice;
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::printf::{ArgPlan, Class, Precision};
use logdef_wire::site::{ArgKind, flags};

/// Arguments on the wire beyond these are left out.
pub(crate) const MAX_WIRE_ARGS: usize = 64;

/// Stands at the end of a string that was longer than the bound.
pub(crate) const CUT_MARK: &[u8] = "…[cut]".as_bytes();

/// A caller's arguments: for each a word, and a byte that tells what kind of
/// word it is.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    kinds: *const u8,
    words: *const u64,
    len: usize,
}

impl Words {
    /// # Safety
    ///
    /// Both must be valid for `len` elements while the value is used, and each
    /// word must be what its kind says ([`ArgKind`]): pointers to strings must
    /// point to bytes that end in a NUL or are as many as the precision.
    pub unsafe fn new(kinds: *const u8, words: *const u64, len: usize) -> Words {
        Words { kinds, words, len }
    }

    #[inline]
    fn get(&self, index: u16) -> Option<(ArgKind, u64)> {
        let index = index as usize;
        if index >= self.len {
            return None;
        }
        // SAFETY: `index` is in bounds of both, by `new`.
        Some(unsafe { (ArgKind(*self.kinds.add(index)), *self.words.add(index)) })
    }

    /// The word after the last argument.
    ///
    /// # Safety
    ///
    /// There must be one.
    pub unsafe fn after(&self) -> u64 {
        // SAFETY: by the caller.
        unsafe { *self.words.add(self.len) }
    }
}

/// The parts of a record that differ from call to call.
pub(crate) struct Call<'c> {
    pub template: &'c Template,
    pub plan: &'c [ArgPlan],
    pub words: Words,
    pub errno: i32,
    /// The fields run and thread, encoded.
    pub thread: &'c [u8],
    pub sequence: u64,
    pub time: u64,
    pub dropped: u64,
    pub kind: u8,
    /// Calls that the site's limit skipped.
    pub skipped: u64,
    pub backtrace: &'c [usize],
    pub format_text: Option<&'c [u8]>,
    pub file_text: Option<&'c [u8]>,
}

/// Writes objects one after another into a buffer.
struct Out<'b> {
    buffer: &'b mut [u8],
    at: usize,
}

impl Out<'_> {
    #[inline(always)]
    fn bytes<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), OutOfRoom> {
        let room = self
            .buffer
            .get_mut(self.at..)
            .and_then(<[u8]>::first_chunk_mut);
        *room.ok_or(OutOfRoom)? = bytes;
        self.at += N;
        Ok(())
    }

    #[inline(always)]
    fn slice(&mut self, bytes: &[u8]) -> Result<(), OutOfRoom> {
        let room = self
            .buffer
            .get_mut(self.at..)
            .and_then(|room| room.get_mut(..bytes.len()));
        room.ok_or(OutOfRoom)?.copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(())
    }

    /// The field tag and a 64-bit integer in nine bytes.
    #[inline(always)]
    fn field64(&mut self, tag: u8, value: u64) -> Result<(), OutOfRoom> {
        let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
        self.bytes([tag, 0xcf, a, b, c, d, e, f, g, h])
    }

    #[inline(always)]
    fn uint(&mut self, value: u64) -> Result<(), OutOfRoom> {
        self.integer(value, unsigned_form(value))
    }

    #[inline(always)]
    fn int(&mut self, value: i64) -> Result<(), OutOfRoom> {
        if value >= 0 {
            self.uint(value as u64)
        } else {
            self.integer(value as u64, negative_form(value))
        }
    }

    /// An integer in a form of `1 + size` bytes: its head and the low `size`
    /// bytes, or the head alone, which then is the value's low byte.
    #[inline(always)]
    fn integer(&mut self, value: u64, (head, size): (u8, usize)) -> Result<(), OutOfRoom> {
        // Nine bytes are stored whatever the size; what is too much is stored
        // over. Where they do not fit, the slow way.
        let room = self
            .buffer
            .get_mut(self.at..)
            .and_then(<[u8]>::first_chunk_mut::<9>);
        let Some(room) = room else {
            return self.integer_at_end(value, head, size);
        };
        room[0] = if size == 0 { value as u8 } else { head };
        let shifted = if size == 0 {
            0
        } else {
            value << (64 - 8 * size)
        };
        room[1..].copy_from_slice(&shifted.to_be_bytes());
        self.at += 1 + size;
        Ok(())
    }

    #[cold]
    fn integer_at_end(&mut self, value: u64, head: u8, size: usize) -> Result<(), OutOfRoom> {
        if size == 0 {
            return self.bytes([value as u8]);
        }
        self.bytes([head])?;
        self.slice(&value.to_be_bytes()[8 - size..])
    }

    #[inline]
    fn raw_head(&mut self, len: usize) -> Result<(), OutOfRoom> {
        match len {
            0..=0x1f => self.bytes([0xa0 | len as u8]),
            0x20..=0xffff => self.bytes([0xda, (len >> 8) as u8, len as u8]),
            _ => Err(OutOfRoom),
        }
    }

    /// A raw, cut to `bound` bytes with a mark if it is longer.
    #[inline]
    fn raw(&mut self, bytes: &[u8], bound: usize) -> Result<(), OutOfRoom> {
        if bytes.len() <= bound {
            self.raw_head(bytes.len())?;
            return self.slice(bytes);
        }
        self.raw_head(bound + CUT_MARK.len())?;
        self.slice(&bytes[..bound])?;
        self.slice(CUT_MARK)
    }

    fn array_head(&mut self, len: usize) -> Result<(), OutOfRoom> {
        match len {
            0..=0xf => self.bytes([0x90 | len as u8]),
            0x10..=0xffff => self.bytes([0xdc, (len >> 8) as u8, len as u8]),
            _ => Err(OutOfRoom),
        }
    }
}

/// Head and size of the shortest form of an unsigned integer.
#[inline(always)]
fn unsigned_form(value: u64) -> (u8, usize) {
    const FORMS: [(u8, usize); 65] = {
        let mut forms = [(0xcf, 8); 65];
        let mut bits = 0;
        while bits <= 32 {
            forms[bits] = match bits {
                0..=7 => (0, 0),
                8 => (0xcc, 1),
                9..=16 => (0xcd, 2),
                _ => (0xce, 4),
            };
            bits += 1;
        }
        forms
    };
    FORMS[64 - value.leading_zeros() as usize]
}

/// Head and size of the shortest form of a negative integer.
#[inline(always)]
fn negative_form(value: i64) -> (u8, usize) {
    match value {
        -0x20.. => (0, 0),
        -0x80.. => (0xd0, 1),
        -0x8000.. => (0xd1, 2),
        -0x8000_0000.. => (0xd2, 4),
        _ => (0xd3, 8),
    }
}

/// Encodes a record's body into `buffer` and returns its length. Strings
/// longer than `bound` bytes are cut.
#[inline]
pub(crate) fn encode(buffer: &mut [u8], call: &Call<'_>, bound: usize) -> Result<usize, OutOfRoom> {
    let Meta { prefix_len, .. } = call.template.meta;
    let mut out = Out { buffer, at: 0 };
    let room = out
        .buffer
        .first_chunk_mut::<PREFIX_ROOM>()
        .ok_or(OutOfRoom)?;
    for (to, from) in room.chunks_exact_mut(8).zip(call.template.prefix) {
        to.copy_from_slice(&from.to_le_bytes());
    }
    out.at = prefix_len as usize;
    // The constant fields, and run, thread, sequence, time, args.
    let mut fields = call.template.prefix[0].to_le_bytes()[1] & 0xf;
    fields += 5;
    out.slice(call.thread)?;
    out.field64(7, call.sequence)?;
    out.field64(8, call.time)?;
    out.bytes([9])?;
    out.array_head(call.plan.len())?;
    for plan in call.plan {
        argument(&mut out, plan, call, bound)?;
    }
    if !call.backtrace.is_empty() {
        fields += 1;
        out.bytes([10])?;
        out.array_head(call.backtrace.len())?;
        for address in call.backtrace {
            out.uint(*address as u64)?;
        }
    }
    if let Some(text) = call.format_text {
        fields += 1;
        out.bytes([11])?;
        out.raw(text, bound)?;
    }
    if let Some(text) = call.file_text {
        fields += 1;
        out.bytes([12])?;
        out.raw(text, bound)?;
    }
    if call.dropped > 0 {
        fields += 1;
        out.bytes([13])?;
        out.uint(call.dropped)?;
    }
    if call.kind > 0 {
        fields += 1;
        out.bytes([14, call.kind])?;
    }
    if call.skipped > 0 {
        fields += 1;
        out.bytes([15, 0x81])?;
        out.raw(flags::SKIPPED.as_bytes(), usize::MAX)?;
        out.uint(call.skipped)?;
    }
    // Of the constant fields, format and file stand here only where their texts
    // do not: at most 5 + 5 + 4 fields, a fixmap.
    out.buffer[1] = 0x80 | fields;
    Ok(out.at)
}

#[inline(always)]
fn argument(
    out: &mut Out<'_>,
    plan: &ArgPlan,
    call: &Call<'_>,
    bound: usize,
) -> Result<(), OutOfRoom> {
    if plan.class == Class::Errno {
        return out.int(call.errno as i64);
    }
    let Some((kind, word)) = call.words.get(plan.caller_arg) else {
        // Fewer arguments than the format has, which the compiler warned of.
        return out.bytes([0xc0]);
    };
    match kind {
        ArgKind::INT if plan.class != Class::Written => out.int(word as i64),
        ArgKind::UINT if plan.class != Class::Written => out.uint(word),
        ArgKind::DOUBLE if plan.class != Class::Written => {
            let [a, b, c, d, e, f, g, h] = word.to_be_bytes();
            out.bytes([0xcb, a, b, c, d, e, f, g, h])
        }
        _ => by_pointer(out, plan, kind, word, call, bound),
    }
}

fn by_pointer(
    out: &mut Out<'_>,
    plan: &ArgPlan,
    kind: ArgKind,
    word: u64,
    call: &Call<'_>,
    bound: usize,
) -> Result<(), OutOfRoom> {
    let limit = || match plan.precision() {
        Precision::None => usize::MAX,
        Precision::Fixed(n) => n as usize,
        Precision::Argument(at) => star(call, at).unwrap_or(usize::MAX),
    };
    match (plan.class, kind) {
        (Class::Written, _) => out.bytes([0xc0]),
        (Class::Str, ArgKind::CSTR) => match word as *const c_char {
            at if at.is_null() => out.bytes([0xc0]),
            // SAFETY: by `Words::new`, the bytes end in a NUL or are as many as
            // the precision; no more than one past the bound is looked at.
            at => unsafe {
                let len = libc::strnlen(at, limit().min(bound + 1));
                out.raw(slice::from_raw_parts(at.cast(), len), bound)
            },
        },
        (Class::WideStr, ArgKind::WSTR) => match word as *const libc::wchar_t {
            at if at.is_null() => out.bytes([0xc0]),
            // SAFETY: as above, of wide characters.
            at => unsafe { wide(out, at, limit(), bound) },
        },
        (_, ArgKind::BYTES) => {
            // SAFETY: by `Words::new` the word is the address of a `Bytes`
            // whose bytes are valid.
            let bytes = unsafe { &*(word as *const Bytes) };
            match bytes.as_slice() {
                None => out.bytes([0xc0]),
                Some(bytes) => out.raw(&bytes[..bytes.len().min(limit())], bound),
            }
        }
        (_, ArgKind::LONG_DOUBLE) => {
            // SAFETY: by `Words::new` the word is the address of a `long
            // double`, which starts with these bytes.
            let bytes = unsafe { *(word as *const [u8; LONG_DOUBLE_LEN]) };
            out.raw(&bytes, LONG_DOUBLE_LEN)
        }
        // A pointer that is printed as one, or that the conversion does not
        // fit: its value, never what it points to.
        _ => out.uint(word),
    }
}

/// Bytes of a `long double` on the wire: without the padding of x87.
const LONG_DOUBLE_LEN: usize = if cfg!(target_arch = "x86_64") { 10 } else { 16 };

/// The value of a `*` precision; `None` if it is negative, which means none.
fn star(call: &Call<'_>, at: u16) -> Option<usize> {
    let plan = call.plan.get(at as usize)?;
    let (_, word) = call.words.get(plan.caller_arg)?;
    usize::try_from(word as i32).ok()
}

/// A wide string as UTF-8, of at most `limit` bytes of whole characters.
///
/// # Safety
///
/// The characters end in a NUL, or encode to at least `limit` bytes.
unsafe fn wide(
    out: &mut Out<'_>,
    at: *const libc::wchar_t,
    limit: usize,
    bound: usize,
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
    out.raw_head(len + if cut { CUT_MARK.len() } else { 0 })?;
    for index in 0..count {
        // SAFETY: read above. Another thread may have changed it meanwhile, so
        // its length is looked at again.
        let c = unsafe { character(*at.add(index)) }.unwrap_or(' ');
        let mut utf8 = [0; 4];
        let utf8 = c.encode_utf8(&mut utf8).as_bytes();
        if utf8.len() > len {
            break;
        }
        len -= utf8.len();
        out.slice(utf8)?;
    }
    for _ in 0..len {
        out.bytes([b' '])?;
    }
    if cut { out.slice(CUT_MARK) } else { Ok(()) }
}

/// A wide character; `None` for NUL, a replacement for what is none.
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

/// Bytes that need no NUL, as [`ArgKind::BYTES`] points to them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Bytes {
    at: *const u8,
    len: usize,
}

impl Bytes {
    /// The bytes of a string; `None` is logged as C's null pointer is.
    #[inline]
    pub fn new(bytes: Option<&[u8]>) -> Bytes {
        match bytes {
            Some(bytes) => Bytes {
                at: bytes.as_ptr(),
                len: bytes.len(),
            },
            None => Bytes {
                at: core::ptr::null(),
                len: 0,
            },
        }
    }

    /// # Safety is the constructor's
    ///
    /// Used within the call that made the value, while the bytes are borrowed.
    fn as_slice(&self) -> Option<&[u8]> {
        // SAFETY: `new` took them from a slice that outlives the log call.
        (!self.at.is_null()).then(|| unsafe { slice::from_raw_parts(self.at, self.len) })
    }
}
