//! A call with key-value pairs of its own.

use super::{Words, in_full};
use crate::call::body::pairs::Pairs;
use crate::call::site::Site;
use crate::process::process;

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
    // Any failure is already counted in `dropped`.
    let _ = in_full(process(), site, arguments, pairs, None);
}
