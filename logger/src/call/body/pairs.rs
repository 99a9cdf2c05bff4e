//! Key-value pairs of a call: as they cross from one copy of the logger to another, and as they
//! stand in the record.

use super::{Arguments, Bytes, CUT_MARK, HEAD, InContext, Out, SCALAR, Tail, Words, argument};
use crate::context::Context;
use core::marker::PhantomData;
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::printf::ArgPlan;
use logdef_wire::record::field;
use logdef_wire::site::ArgKind;

/// Pairs beyond these are left out.
pub(crate) const MAX_PAIRS: usize = 64;

/// The pairs of a call: for each a key, and a word with its kind as for an argument.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pairs<'p> {
    keys: *const Bytes,
    kinds: *const u8,
    words: *const u64,
    len: usize,
    lent: PhantomData<&'p [Bytes]>,
}

impl<'p> Pairs<'p> {
    pub const NONE: Pairs<'static> = Pairs {
        keys: core::ptr::null(),
        kinds: core::ptr::null(),
        words: core::ptr::null(),
        len: 0,
        lent: PhantomData,
    };

    /// # Safety
    ///
    /// There are as many keys as `len`, whose bytes outlive `'p`, and kinds and words are as for
    /// [`Words::new`].
    pub unsafe fn new(
        keys: *const Bytes,
        kinds: *const u8,
        words: *const u64,
        len: usize,
    ) -> Pairs<'p> {
        Pairs {
            keys,
            kinds,
            words,
            len: len.min(MAX_PAIRS),
            lent: PhantomData,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn keys(&self) -> &'p [Bytes] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller of `new` vouched for `len` keys there, for as long as `'p`.
        unsafe { core::slice::from_raw_parts(self.keys, self.len) }
    }

    pub(crate) fn values(&self) -> Words {
        // SAFETY: the caller of `new` vouched for `len` kinds and words there.
        unsafe { Words::new(self.kinds, self.words, self.len) }
    }
}

/// Bytes of a key beyond these are cut off.
const MAX_KEY: usize = 255;

/// Writes the key-value pairs: the call's own first, then those of a context that is spelled
/// out, and of its ancestors.
pub(super) fn write(out: &mut Out<'_>, tail: &Tail<'_>, bound: usize) -> Result<(), OutOfRoom> {
    let pairs = &tail.pairs;
    if let (Some((key, value)), 0, InContext::None | InContext::Named(_)) =
        (tail.key, pairs.len(), tail.context)
    {
        return one(out, key, value);
    }
    let spelled = match tail.context {
        InContext::Spelled(context) => Some(context),
        _ => None,
    };
    let line = || spelled.into_iter().flat_map(Context::line);
    let inherited: usize = line().map(|context| context.keys().count as usize).sum();
    let count = usize::from(tail.key.is_some()) + pairs.len() + inherited;
    out.need(1 + HEAD)?;
    // SAFETY: `need` found the room just above.
    unsafe {
        out.bytes([field::KEYS]);
        out.head(0x80, 0xf, 0xde, count);
    }
    if let Some((key, value)) = tail.key {
        out.raw(key.as_bytes(), MAX_KEY, SCALAR)?;
        // SAFETY: `raw` has left the room.
        unsafe { out.uint(value) };
    }
    let values = Arguments {
        plan: &[],
        words: pairs.values(),
        errno: 0,
        bound,
    };
    for (index, key) in pairs.keys().iter().enumerate() {
        out.raw(key.as_slice().unwrap_or_default(), MAX_KEY, SCALAR)?;
        // `raw` has left the room for a scalar.
        argument(out, &ArgPlan::value(index as u16), &values, 0)?;
    }
    for context in line() {
        let objects = context.keys().objects;
        out.need(objects.len())?;
        // SAFETY: `need` found the room just above.
        unsafe { out.slice(objects) };
    }
    Ok(())
}

/// Writes a number with its key, and nothing else.
#[inline(always)]
fn one(out: &mut Out<'_>, key: &str, value: u64) -> Result<(), OutOfRoom> {
    out.need(2 + 1 + key.len() + SCALAR)?;
    debug_assert!(key.len() < 0x20);
    // SAFETY: `need` found the room just above.
    unsafe {
        out.bytes([field::KEYS, 0x81, 0xa0 | key.len() as u8]);
        out.slice(key.as_bytes());
        out.uint(value);
    }
    Ok(())
}

/// Encodes pairs of a name and a value as objects of a map, cut so that they fit, and
/// returns how many pairs they are, and how many bytes. A pair without a name is left out.
///
/// # Safety
///
/// `kinds` and `words` hold `len` entries, names and values in turn, each word as its kind
/// says ([`ArgKind`]).
pub unsafe fn encode_pairs(
    buffer: &mut [u8],
    kinds: *const u8,
    words: *const u64,
    len: usize,
) -> (u32, usize) {
    // SAFETY: as `# Safety` demands.
    let words = unsafe { Words::new(kinds, words, len) };
    let mut out = Out::new(buffer);
    let mut count = 0;
    for at in 0..len / 2 {
        let (start, left) = (out.at, out.end.addr() - out.at.addr());
        // What each of the pairs that are left can have.
        let share = left / (len / 2 - at);
        if pair(&mut out, words, 2 * at as u16, share).is_ok() {
            count += 1;
        } else {
            out.at = start;
        }
    }
    (count, out.len())
}

/// Writes the pair whose name stands at `at` in at most `share` bytes.
fn pair(out: &mut Out<'_>, words: Words, at: u16, share: usize) -> Result<(), OutOfRoom> {
    // SAFETY: `share` is no more than what is left.
    let end = unsafe { out.at.add(share) };
    let mut own = Out { end, ..out.rest() };
    if words
        .get(at)
        .is_none_or(|(kind, _)| kind != ArgKind::CSTR && kind != ArgKind::BYTES)
    {
        return Err(OutOfRoom);
    }
    for (at, then) in [(at, SCALAR), (at + 1, 0)] {
        let left = own.end.addr() - own.at.addr();
        let around = HEAD + CUT_MARK.len() + then;
        let arguments = Arguments {
            plan: &[],
            words,
            errno: 0,
            bound: left.checked_sub(around).ok_or(OutOfRoom)?,
        };
        argument(&mut own, &ArgPlan::value(at), &arguments, then)?;
    }
    out.at = own.at;
    Ok(())
}
