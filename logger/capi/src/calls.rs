//! The functions that log calls expand to. All of them are async-signal-safe.

use core::ffi::{CStr, c_char, c_int};
use core::slice;
use logdef::abi::{self, Site};
use logdef_wire::Level;
use logdef_wire::printf::{self, ArgPlan, CType};

/// Returns whether a site is on, and stores the answer in its gate.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `site` points to a record that `logdef.h` laid down.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_ask(site: *const Site) -> c_int {
    // SAFETY: `site` points to a site of `logdef.h`, as `# Safety` demands.
    let site = unsafe { &*site };
    c_int::from(abi::decide(site))
}

/// Writes a record.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `site` points to a record that `logdef.h` laid down, and `words` to a word
/// for each of its arguments, of the kind that the site says; one more if the site is
/// limited or names a span.
#[unsafe(no_mangle)]
#[unsafe(link_section = "logdef_interface")] // Left out of backtraces.
pub unsafe extern "C" fn logdef_emit(site: *const Site, words: *const u64) {
    // SAFETY: site and words are as `# Safety` demands; null kinds mean the site's own.
    unsafe { abi::emit(&*site, core::ptr::null(), words) }
}

/// Returns whether a call of a site that has no level is on at this level.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `site` points to a record that `logdef.h` laid down.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_ask_at(site: *const Site, level: c_int) -> c_int {
    // SAFETY: `site` points to a site of `logdef.h`, as `# Safety` demands.
    let site = unsafe { &*site };
    c_int::from(abi::decide_at(site, level_of(level)))
}

/// Writes a record of a site that has no level.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// As for [`logdef_emit`].
#[unsafe(no_mangle)]
#[unsafe(link_section = "logdef_interface")] // Left out of backtraces.
pub unsafe extern "C" fn logdef_emit_at(site: *const Site, level: c_int, words: *const u64) {
    // SAFETY: site and words are as `# Safety` demands.
    unsafe { abi::emit_at(&*site, level_of(level), words) }
}

/// Writes a record of a format that is not the literal of a call site.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `file` and `format` are C strings or null, and `kinds` and `words` each have an item for
/// each of `n` arguments: a word is of the kind beside it.
#[unsafe(no_mangle)]
#[unsafe(link_section = "logdef_interface")] // Left out of backtraces.
pub unsafe extern "C" fn logdef_emit_text(
    level: c_int,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    format: *const c_char,
    kinds: *const u8,
    words: *const u64,
    n: c_int,
) {
    let _ = function; // Records have no field for it.
    let n = usize::try_from(n).unwrap_or(0);
    // SAFETY: strings, kinds and words are as `# Safety` demands.
    unsafe {
        let [file, format] = [file, format].map(|text| text_at(text));
        abi::emit_text(level_of(level), file, line, format, kinds, words, n);
    }
}

/// Writes to `types` the [`CType`] that `va_arg` must take for each argument of `format`,
/// and returns their number; -1 if there are more than `max`.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `format` is a C string or null, and `types` has room for `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_kinds(format: *const c_char, types: *mut u8, max: c_int) -> c_int {
    // SAFETY: `format` is a C string or null and `types` has `max` bytes, as `# Safety`
    // demands.
    let (format, types) = unsafe {
        let max = usize::try_from(max).unwrap_or(0);
        (text_at(format), slice::from_raw_parts_mut(types, max))
    };
    match take(format.to_bytes(), types) {
        Some(n) => n as c_int,
        None => -1,
    }
}

/// Returns 1 if a record of this level could be written now by some call, else 0.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_enabled(level: c_int) -> c_int {
    c_int::from(abi::is_possible(level_of(level)))
}

/// Like [`logdef_enabled`], for a wrapper that logs if the result is 1: a call that is lost
/// since no log is open is counted.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_enabled_now(level: c_int) -> c_int {
    c_int::from(abi::is_possible_now(level_of(level)))
}

/// A level as C passes it; levels out of range become the lowest and the highest.
pub(crate) fn level_of(level: c_int) -> Level {
    Level(level.clamp(0, 255) as u8)
}

/// # Safety
///
/// `text` is a C string that outlives the call, or null.
unsafe fn text_at<'t>(text: *const c_char) -> &'t CStr {
    if text.is_null() {
        return c"(null)";
    }
    // SAFETY: a C string that outlives the call, as `# Safety` demands; not null.
    unsafe { CStr::from_ptr(text) }
}

/// The types of the caller's arguments, in their order.
fn take(format: &[u8], types: &mut [u8]) -> Option<usize> {
    let n = printf::caller_args(format);
    let types = types.get_mut(..n)?;
    types.fill(CType::Int as u8);
    let mut plan = [ArgPlan::UNNAMED; MAX_PLAN];
    let len = printf::plan_into(format, &mut plan).ok()?;
    for arg in plan.get(..len)? {
        if let Some(of_arg) = types.get_mut(arg.caller_arg as usize) {
            *of_arg = arg.c_type as u8;
        }
    }
    Some(n)
}

/// More than a caller can pass; the rest is for `%m`.
const MAX_PLAN: usize = 64;

/// The numbers are `logdef.h`'s.
const _: () = {
    assert!(CType::Int as u8 == 1);
    assert!(CType::Unsigned as u8 == 2);
    assert!(CType::Long as u8 == 3);
    assert!(CType::UnsignedLong as u8 == 4);
    assert!(CType::LongLong as u8 == 5);
    assert!(CType::UnsignedLongLong as u8 == 6);
    assert!(CType::IntMax as u8 == 7);
    assert!(CType::UintMax as u8 == 8);
    assert!(CType::SignedSize as u8 == 9);
    assert!(CType::Size as u8 == 10);
    assert!(CType::Ptrdiff as u8 == 11);
    assert!(CType::UnsignedPtrdiff as u8 == 12);
    assert!(CType::Int32 as u8 == 13);
    assert!(CType::Uint32 as u8 == 14);
    assert!(CType::Int64 as u8 == 15);
    assert!(CType::Uint64 as u8 == 16);
    assert!(CType::IntFast16 as u8 == 17);
    assert!(CType::UintFast16 as u8 == 18);
    assert!(CType::IntFast32 as u8 == 19);
    assert!(CType::UintFast32 as u8 == 20);
    assert!(CType::IntFast64 as u8 == 21);
    assert!(CType::UintFast64 as u8 == 22);
    assert!(CType::WideInt as u8 == 23);
    assert!(CType::Double as u8 == 24);
    assert!(CType::LongDouble as u8 == 25);
    assert!(CType::CharPointer as u8 == 26);
    assert!(CType::WideCharPointer as u8 == 27);
    assert!(CType::VoidPointer as u8 == 28);
};

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::printf::TABLE;

    fn types(format: &str) -> Option<Vec<u8>> {
        let mut types = [0; 32];
        take(format.as_bytes(), &mut types).map(|n| types[..n].to_vec())
    }

    #[test]
    fn every_form_of_the_table_has_its_type() {
        for row in TABLE {
            for form in row.forms {
                let letter = char::from(row.conversion.0);
                let format = format!("a%{}{letter}b", form.length.spelling());
                let expected = match form.c_type {
                    CType::None => vec![],
                    c_type => vec![c_type as u8],
                };
                assert_eq!(types(&format), Some(expected), "{format}");
            }
        }
    }

    #[test]
    fn arguments_stand_in_the_callers_order() {
        assert_eq!(types("%*d %.*s %m %%"), Some(vec![1, 1, 1, 26]));
        assert_eq!(types("%3$s %1$f"), Some(vec![24, 1, 26]));
        assert_eq!(types("%m"), Some(vec![]));
    }

    #[test]
    fn formats_with_too_many_arguments_are_refused() {
        assert_eq!(types(&"%d".repeat(32)), Some(vec![1; 32]));
        assert_eq!(types(&"%d".repeat(33)), None);
        assert_eq!(types("%33$d"), None);
        assert_eq!(types(&"%m".repeat(100)), None);
    }
}
