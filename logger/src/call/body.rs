//! Encoding the body of a data record from a call's words. A room for unsafe:
//! this is where the caller's pointers are followed, as printf would follow
//! them, and nowhere else. Takes no lock, allocates nothing, and knows neither
//! frames nor sinks.

mod optional;
mod out;
pub(crate) mod pairs;
mod tail;
mod wide;

use crate::call::printed::Printing;
use crate::call::site::{PREFIX_ROOM, Template};
use crate::context::Context;
use crate::crc::Front;
use crate::thread::Fields;
use core::ffi::c_char;
use core::slice;
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::printf::{ArgPlan, Class, Precision};
use logdef_wire::record::field;
use logdef_wire::site::ArgKind;
use optional::MOST_IN_FIXMAP;
pub(crate) use optional::{Backtrace, OptionalFields, append_optional_fields};
use out::{HEAD, Out, SCALAR, SHORT};
pub(crate) use tail::Tail;

/// The fields run, thread, sequence, time and args, which every record has after its
/// constant ones.
pub(crate) const VARYING_FIELDS: u8 = 5;
/// How many a template has at most.
const CONSTANT_FIELDS: u8 = 5;
// The quick way adds the fields of a tail to the head of a fixmap.
const _: () = assert!(CONSTANT_FIELDS + VARYING_FIELDS + Tail::MOST_FIELDS <= MOST_IN_FIXMAP);

/// The head of an integer of eight bytes.
const UINT64: u64 = 0xcf;

/// Stands at the end of a string that was longer than the bound.
pub(crate) const CUT_MARK: &[u8] = "…[cut]".as_bytes();

/// A caller's arguments: for each a word, and a byte that says what kind of word it is.
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

    /// The kinds, as they were given.
    pub fn kinds(&self) -> *const u8 {
        self.kinds
    }

    /// The words, as they were given.
    pub fn words(&self) -> *const u64 {
        self.words
    }

    /// The word after the last argument.
    ///
    /// # Safety
    ///
    /// There must be one.
    pub unsafe fn after(&self) -> u64 {
        // SAFETY: `after` is called only where a word follows the last (its contract).
        unsafe { *self.words.add(self.len) }
    }
}

/// What a call passes: how to fetch the arguments, and where from.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'c> {
    pub plan: &'c [ArgPlan],
    pub words: Words,
    pub errno: i32,
    /// Strings that are longer are cut.
    pub bound: usize,
}

/// The fields of every record that are no arguments.
#[derive(Clone, Copy)]
pub(crate) struct Head<'c> {
    pub template: &'c Template,
    pub thread: Fields,
    pub sequence: u64,
    pub time: u64,
}

/// How a record says in which context its call was made.
#[derive(Clone, Copy, Default)]
pub(crate) enum InContext<'c> {
    #[default]
    None,
    /// By the context's number.
    Named(u64),
    /// By the keys of the context and its ancestors.
    Spelled(&'c Context),
}

/// Bytes of the fields sequence and time, and of the head of the arguments, at
/// most.
const TIMES: usize = 24;
/// Bytes of a body before its arguments, at most.
const FRONT: usize = PREFIX_ROOM + Fields::ROOM + TIMES;

/// Encodes a record's body into `buffer` and returns its length, and how it
/// begins. With a tail, this is all of the record: then the site is one of quick records,
/// and the tail has at most one field more than all of its records.
#[inline(always)]
pub(crate) fn encode(
    buffer: &mut [u8],
    head: &Head<'_>,
    arguments: &Arguments<'_>,
    tail: Option<&Tail<'_>>,
) -> Result<(usize, Front), OutOfRoom> {
    let Template {
        prefix,
        meta,
        crc,
        crc_with_more,
        ..
    } = head.template;
    let mut out = Out::new(buffer);
    // Each argument is a scalar at least; a string asks for itself and leaves
    // room for the scalars after it.
    let mut scalars = SCALAR * arguments.plan.len();
    out.need(FRONT + scalars)?;
    let (times, times_len) = times(head.sequence, head.time, arguments.plan.len());
    // SAFETY: all of this was asked for: `FRONT` is the sum of it.
    unsafe {
        out.put(*prefix, meta.prefix_len as usize);
        let thread: [u8; Fields::ROOM] = core::mem::transmute(head.thread.words);
        out.put(thread, head.thread.len);
        let times: [u8; TIMES] = core::mem::transmute(times.map(u64::to_le));
        out.put(times, times_len);
    }
    for plan in arguments.plan {
        scalars -= SCALAR;
        argument(&mut out, plan, arguments, scalars)?;
    }
    let mut crc = *crc;
    if let Some(tail) = tail
        && tail.fields() > 0
    {
        let fields = tail.fields();
        // SAFETY: the template begins with the tag and the head of a map, which was put there above.
        unsafe { *out.start.add(1) += fields };
        let mut rest = out.rest();
        tail.write(&mut rest, arguments.bound)?;
        out.at = rest.at;
        if fields > meta.tail_fields {
            crc = *crc_with_more;
        }
    }
    let front = Front {
        first: (meta.prefix_len as usize, crc),
        second: (head.thread.len, head.thread.crc),
        third: times,
        third_len: times_len,
        may_begin_header: meta.may_begin_header | head.thread.may_begin_header,
    };
    Ok((out.len(), front))
}

/// The fields sequence and time, and the head of `args` arguments, first byte the
/// lowest; and how many bytes they are.
#[inline(always)]
fn times(sequence: u64, time: u64, args: usize) -> ([u64; 3], usize) {
    let (sequence, time) = (sequence.swap_bytes(), time.swap_bytes());
    let (head, len) = if args < 16 {
        (0x90 | args as u64, 22)
    } else {
        long_array(args)
    };
    let words = [
        field::SEQUENCE as u64 | UINT64 << 8 | sequence << 16,
        sequence >> 48 | (field::TIME as u64) << 16 | UINT64 << 24 | time << 32,
        time >> 32 | (field::ARGS as u64) << 32 | head << 40,
    ];
    (words, len)
}

/// The head of an array of 16 arguments or more, first byte the lowest, and how many bytes
/// [`times`] makes with it.
#[cold]
fn long_array(args: usize) -> (u64, usize) {
    (
        0xdc | (args as u64 >> 8) << 8 | (args as u64 & 0xff) << 16,
        24,
    )
}

/// Writes one argument. `then` bytes are left for those after it.
#[inline(always)]
fn argument(
    out: &mut Out<'_>,
    plan: &ArgPlan,
    call: &Arguments<'_>,
    then: usize,
) -> Result<(), OutOfRoom> {
    // SAFETY: each argument finds `SCALAR` bytes and `then` more, by `encode` and
    // by each argument before it; a word of `BYTES` is the address of a `Bytes` whose bytes are
    // valid (`Words::new`).
    unsafe {
        match call.words.get(plan.caller_arg) {
            // Together, so that the compiler makes comparisons of the kinds and no table.
            Some((kind @ (ArgKind::INT | ArgKind::UINT), word)) => {
                out.int_or_uint(word, kind == ArgKind::INT)
            }
            Some((ArgKind::DOUBLE, word)) => {
                let [a, b, c, d, e, f, g, h] = word.to_be_bytes();
                out.bytes([0xcb, a, b, c, d, e, f, g, h]);
            }
            Some((ArgKind::BYTES, word))
                if plan.is_whole_string()
                    && (*(word as *const Bytes)).is_short(call.bound)
                    && out.need(1 + SHORT + then).is_ok() =>
            {
                out.short((*(word as *const Bytes)).at, (*(word as *const Bytes)).len);
            }
            _ => {
                // Copies, so that the originals stay in registers.
                let (mut copy, call) = (out.rest(), *call);
                other_argument(&mut copy, plan, &call, then)?;
                out.at = copy.at;
            }
        }
    }
    Ok(())
}

/// [`argument`] for what is no number of the caller's.
#[inline(never)]
fn other_argument(
    out: &mut Out<'_>,
    plan: &ArgPlan,
    call: &Arguments<'_>,
    then: usize,
) -> Result<(), OutOfRoom> {
    // SAFETY: as in `argument`.
    unsafe {
        match (plan.class, call.words.get(plan.caller_arg)) {
            (Class::Errno, _) => out.int(call.errno as i64),
            // Fewer arguments than the format has, which the compiler warned of;
            // or the place that `%n` would write to.
            (_, None) | (Class::Written, _) => out.bytes([0xc0]),
            (_, Some((kind, word))) => return by_pointer(out, plan, kind, word, call, then),
        }
    }
    Ok(())
}

#[inline(always)]
fn by_pointer(
    out: &mut Out<'_>,
    plan: &ArgPlan,
    kind: ArgKind,
    word: u64,
    call: &Arguments<'_>,
    then: usize,
) -> Result<(), OutOfRoom> {
    let bound = call.bound;
    let limit = || match plan.precision() {
        Precision::None => usize::MAX,
        Precision::Fixed(n) => n as usize,
        Precision::Argument(at) => star(call, at).unwrap_or(usize::MAX),
    };
    // SAFETY: by `Words::new`: a string's bytes end in a NUL or are as many as
    // the precision, and no more than one past the bound is looked at; a word of
    // `BYTES` is the address of a `Bytes` whose bytes are valid; a word of
    // `LONG_DOUBLE` that of a `long double`. A nil finds its place as in
    // `argument`.
    unsafe {
        match (plan.class, kind) {
            (Class::Str, ArgKind::CSTR) => match word as *const c_char {
                at if at.is_null() => out.bytes([0xc0]),
                at => {
                    let len = libc::strnlen(at, limit().min(bound + 1));
                    return out.raw(slice::from_raw_parts(at.cast(), len), bound, then);
                }
            },
            (Class::WideStr, ArgKind::WSTR) => match word as *const libc::wchar_t {
                at if at.is_null() => out.bytes([0xc0]),
                at => return wide::write(out, at, limit(), bound, then),
            },
            (_, ArgKind::BYTES) => match (*(word as *const Bytes)).as_slice() {
                None => out.bytes([0xc0]),
                Some(bytes) => {
                    let bytes = match plan.class {
                        Class::WideStr => whole_characters(bytes, limit()),
                        _ => &bytes[..bytes.len().min(limit())],
                    };
                    return out.raw(bytes, bound, then);
                }
            },
            (_, ArgKind::BLOB) => match (*(word as *const Bytes)).as_slice() {
                None => out.bytes([0xc0]),
                Some(bytes) => {
                    out.need(2 + HEAD)?;
                    out.bytes([0x92, ArgKind::BLOB.0]);
                    return out.raw(bytes, bound, then);
                }
            },
            (_, ArgKind::LONG_DOUBLE) => {
                let bytes = *(word as *const [u8; LONG_DOUBLE_LEN]);
                return out.raw(&bytes, LONG_DOUBLE_LEN, then);
            }
            (_, ArgKind::CHAR) => match char::from_u32(word as u32) {
                Some(c) if !c.is_ascii() || plan.class == Class::Str => {
                    return out.raw(c.encode_utf8(&mut [0; 4]).as_bytes(), bound.max(4), then);
                }
                _ => out.uint(word),
            },
            (_, ArgKind::BOOL) => out.bytes([0xc2 | u8::from(word != 0)]),
            (_, ArgKind::INT128 | ArgKind::UINT128) => {
                return integer_of_128_bits(
                    out,
                    kind,
                    (word as *const u128).read_unaligned(),
                    then,
                );
            }
            (_, Printing::TEXT | Printing::WHOLE) => {
                let bound = bound.min(limit());
                return printed(out, word as *const _, kind == Printing::WHOLE, bound, then);
            }
            // A pointer that is printed as one, or that the conversion does not
            // fit: its value, never what it points to.
            _ => out.uint(word),
        }
    }
    Ok(())
}

/// An integer of a wide type, as a plain one if 64 bits hold it: C++ knows the type when it
/// compiles, and not the value. Afterwards `then` more bytes are left.
fn integer_of_128_bits(
    out: &mut Out<'_>,
    kind: ArgKind,
    value: u128,
    then: usize,
) -> Result<(), OutOfRoom> {
    let is_signed = kind == ArgKind::INT128;
    // SAFETY: a scalar's bytes are there, as in `argument`.
    unsafe {
        match (u64::try_from(value), i64::try_from(value as i128)) {
            (Ok(small), _) => out.uint(small),
            (_, Ok(small)) if is_signed => out.int(small),
            _ => {
                let upper = (value >> 64) as u64;
                let write_upper = |out: &mut Out<'_>| match kind {
                    ArgKind::INT128 => out.int(upper as i64),
                    _ => out.uint(upper),
                };
                return out.wide(kind, then, write_upper, value as u64);
            }
        }
    }
    Ok(())
}

/// What the program prints, cut to `bound` bytes with a mark if it is longer; afterwards `then`
/// more bytes are left. If it does not fit it is printed again where there is more room.
///
/// # Safety
///
/// `at` points to a [`Printing`] that is alive.
#[cold]
#[inline(never)]
unsafe fn printed(
    out: &mut Out<'_>,
    at: *const Printing<'static>,
    is_whole: bool,
    bound: usize,
    then: usize,
) -> Result<(), OutOfRoom> {
    /// Head and kind of a typed value.
    const TYPED: [u8; 2] = [0x92, ArgKind::PRINTED.0];
    let most = bound.min(u16::MAX as usize - CUT_MARK.len());
    let around = if is_whole { TYPED.len() } else { 0 } + HEAD + CUT_MARK.len() + then;
    out.need(around)?;
    let room = (out.end.addr() - out.at.addr() - around).min(most);
    // SAFETY: all of this was asked for, or is `room`; the text is moved within what was
    // written of it.
    unsafe {
        if is_whole {
            out.bytes(TYPED);
        }
        let text = slice::from_raw_parts_mut(out.at.add(HEAD), room);
        let wanted = Printing::print(at, text, most);
        if wanted > room && room < most {
            return Err(OutOfRoom);
        }
        let (text, mark) = if wanted > most {
            (whole_characters(text, most), CUT_MARK)
        } else {
            (&text[..wanted], &[][..])
        };
        let (start, len) = (text.as_ptr(), text.len());
        if len + mark.len() <= SHORT {
            core::ptr::copy(start, out.at.add(1), len);
        }
        out.head(0xa0, 0x1f, 0xda, len + mark.len());
        out.at = out.at.add(len);
        out.slice(mark);
    }
    Ok(())
}

/// Bytes of a `long double` on the wire: without the padding of x87.
const LONG_DOUBLE_LEN: usize = if cfg!(target_arch = "x86_64") { 10 } else { 16 };

/// The value of a `*` precision; `None` if it is negative, which means none.
fn star(call: &Arguments<'_>, at: u16) -> Option<usize> {
    let plan = call.plan.get(at as usize)?;
    let (_, word) = call.words.get(plan.caller_arg)?;
    usize::try_from(word as i32).ok()
}

/// At most `limit` bytes of UTF-8, without the beginning of a character that does
/// not fit: what the precision of a wide string means.
fn whole_characters(bytes: &[u8], limit: usize) -> &[u8] {
    let mut len = bytes.len().min(limit);
    let starts = |at: usize| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    if let Some(start) = (len.saturating_sub(3)..=len).rev().find(|at| starts(*at)) {
        len = start;
    }
    &bytes[..len]
}

/// Bytes that need no NUL, as [`ArgKind::BYTES`] points to them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Bytes {
    at: *const u8,
    len: usize,
}

// SAFETY: it stands for a shared slice of bytes, which may be sent and shared.
unsafe impl Send for Bytes {}
// SAFETY: it is read only, like a `&[u8]`.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// Whether there are bytes, few enough for a head of one byte, and not to be cut.
    #[inline(always)]
    fn is_short(&self, bound: usize) -> bool {
        !self.at.is_null() && self.len <= bound.min(SHORT)
    }

    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

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
    pub(crate) fn as_slice(&self) -> Option<&[u8]> {
        // SAFETY: `new` took them from a slice that outlives the log call.
        (!self.at.is_null()).then(|| unsafe { slice::from_raw_parts(self.at, self.len) })
    }
}
