//! A call of a site whose level is that of each call. Nothing of it is remembered in the site.

use super::{Parts, Words, key_of};
use crate::call::body::pairs::Pairs;
use crate::call::resolve::resolve_at;
use crate::call::site::{Site, Strings};
use crate::copies::leader::leader;
use crate::process::process;
use crate::sys::Errno;
use core::cell::Cell;
use logdef_wire::Level;

/// Logs a call of `site`, which is on, at a level of the call's own.
///
/// # Safety
///
/// As for [`emit`](super::emit), with the kinds of the site.
#[inline(never)]
pub unsafe fn emit_at(site: &Site, level: Level, words: *const u64) {
    if let Some(leader) = leader() {
        // SAFETY: the leader's `emit_at` has the contract of this function.
        return unsafe { leader.emit_at(site, level, words) };
    }
    let process = process();
    let errno = Errno::last();
    // SAFETY: `words` holds one word for each argument of the site (contract of this function).
    let words = unsafe { Words::new(site.kinds(), words, site.args()) };
    let resolved = resolve_at(process.images, site, level);
    let call = Parts {
        template: &resolved.template,
        plan: resolved.plan(),
        words,
        errno,
        level,
        flags: site.flags(),
        // SAFETY: a limited site or one with a span has one word more (contract of `emit`).
        key: unsafe { key_of(site, words) },
        pairs: Pairs::NONE,
        strings: Strings::Site(site),
        run: Cell::default(),
    };
    call.log(process);
    errno.restore();
}
