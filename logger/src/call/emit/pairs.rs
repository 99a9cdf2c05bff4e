//! A call with key-value pairs of its own.

use super::{Words, emit, with_tail};
use crate::call::argument::{LoweredSome, Passed};
use crate::call::body::Bytes;
use crate::call::body::pairs::{MAX_PAIRS, Pairs};
use crate::call::site::Site;
use crate::process::process;
use logdef_wire::site::flags;

/// Logs a call of `site` with key-value pairs.
///
/// # Safety
///
/// As for [`emit`].
#[inline(never)]
#[unsafe(link_section = "logdef_interface")]
pub unsafe extern "C" fn emit_pairs(
    site: &Site,
    kinds: *const u8,
    words: *const u64,
    pairs: &Pairs<'_>,
) {
    let kinds = if kinds.is_null() { site.kinds() } else { kinds };
    // SAFETY: as in `emit`.
    let arguments = unsafe { Words::new(kinds, words, site.args()) };
    with_tail(process(), site, arguments, pairs);
}

/// Logs a call of `site` by whichever way is the shorter one.
///
/// # Safety
///
/// As for [`emit`].
#[inline(always)]
pub unsafe fn emit_with(
    site: &Site,
    kinds: *const u8,
    words: *const u64,
    pairs: &[(&str, Passed<'_>)],
) {
    if pairs.is_empty() && site.flags() & (flags::KIND | flags::SPAN) == 0 {
        // SAFETY: the caller keeps the contract of `emit`.
        return unsafe { emit(site, kinds, words) };
    }
    with_pairs(pairs, |pairs| {
        // SAFETY: `emit_pairs` reads `kinds` and `words` as `emit` does, and the caller keeps the
        // contract of that.
        unsafe { emit_pairs(site, kinds, words, pairs) }
    });
}

/// Pairs of nearly all calls that have any.
const FEW_PAIRS: usize = 4;

/// Calls `log` with key-value pairs as the logger reads them. Beyond [`MAX_PAIRS`] they are left out.
#[inline]
fn with_pairs(pairs: &[(&str, Passed<'_>)], log: impl FnOnce(&Pairs<'_>)) {
    match pairs.len() {
        0 => log(&Pairs::NONE),
        1..=FEW_PAIRS => with_up_to::<FEW_PAIRS>(pairs, log),
        _ => with_up_to::<MAX_PAIRS>(pairs, log),
    }
}

fn with_up_to<const N: usize>(pairs: &[(&str, Passed<'_>)], log: impl FnOnce(&Pairs<'_>)) {
    let pairs = &pairs[..pairs.len().min(N)];
    let mut keys = [Bytes::new(None); N];
    for (place, (key, _)) in keys.iter_mut().zip(pairs) {
        *place = Bytes::new(Some(key.as_bytes()));
    }
    let values = LoweredSome::<N>::of(pairs.iter().map(|(_, value)| value));
    // SAFETY: there is a key and a word for each pair, and all live until `log` returns.
    let pairs = unsafe { Pairs::new(keys.as_ptr(), values.kinds(), values.words(), pairs.len()) };
    log(&pairs);
}
