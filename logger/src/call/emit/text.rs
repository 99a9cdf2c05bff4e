//! A call that has no site.

use super::{Parts, Words};
use crate::call::body::pairs::Pairs;
use crate::call::gate;
use crate::call::resolve::resolve_strings;
use crate::call::site::Strings;
use crate::copies::leader::leader;
use crate::process::process;
use crate::sys::Errno;
use core::cell::Cell;
use core::ffi::CStr;
use logdef_unwind::modules;
use logdef_wire::{Description, Level};

/// Logs a call that has no site of its own: a wrapper's.
///
/// # Safety
///
/// As for [`emit`](super::emit), with `args` words.
#[inline(never)]
pub unsafe fn emit_text(
    level: Level,
    file: &CStr,
    line: u32,
    format: &CStr,
    kinds: *const u8,
    words: *const u64,
    args: usize,
) {
    let process = process();
    if let Some(leader) = leader() {
        // SAFETY: the leader's `emit_text` has the contract of this function.
        return unsafe { leader.emit_text(level, file, line, format, kinds, words, args) };
    }
    if !gate::is_on(level, file.to_bytes(), line, None) {
        return;
    }
    let errno = Errno::last();
    // SAFETY: `kinds` and `words` hold `args` entries (contract of this function).
    let words = unsafe { Words::new(kinds, words, args) };
    let image = [format, file]
        .map(|string| string.as_ptr().addr())
        .into_iter()
        .find(|at| modules::find(*at).is_some_and(|module| module.is_read_only(*at, 1)));
    let image = image.unwrap_or(crate::sys::main_program_address());
    let resolved = resolve_strings(process.images, image, level, line, file, format);
    let call = Parts {
        template: &resolved.template,
        plan: resolved.plan(),
        words,
        errno,
        level,
        flags: 0,
        key: None,
        pairs: Pairs::NONE,
        // A wrapper's format is C's.
        strings: Strings::Text {
            file,
            format,
            description: Description::default(),
        },
        run: Cell::default(),
    };
    call.log(process);
    errno.restore();
}
