//! Calls that find everything as the call before them left it. Does what the whole way does, and
//! nothing that such a call has no need of.

use super::counted::Counted;
use super::stack::{STACK_FRAME, writable};
use super::{head, in_full, key_of, kind_of};
use crate::call::body::pairs::Pairs;
use crate::call::body::{self, Arguments, InContext, Tail, Words};
use crate::call::site::{Site, Template};
use crate::calls::Mark;
use crate::context::{self, Context};
use crate::crc;
use crate::logdefs;
use crate::process::{Process, attached};
use crate::sink::Put;
use crate::sys::Errno;
use crate::thread::{Dropped, Thread};
use core::sync::atomic::Ordering;
use logdef_wire::{Sequence, record};

/// A call that is quick but for a kind, a span or pairs, or is not quick at all.
#[inline(never)]
pub(super) fn with_tail(process: &'static Process, site: &Site, words: Words, pairs: &Pairs<'_>) {
    if !log_quickly::<true>(process, site, || words, pairs) {
        // Any failure is already counted in `dropped`.
        let _ = in_full(process, site, words, pairs, None);
    }
}

/// Logs a call that is quick, and returns whether it is. Without `TAILED` no field but that of
/// a context may follow the arguments.
#[inline(always)]
pub(super) fn log_quickly<const TAILED: bool>(
    process: &'static Process,
    site: &Site,
    arguments: impl Fn() -> Words,
    pairs: &Pairs<'_>,
) -> bool {
    let Some(call) = Quick::<TAILED>::of(process, site, arguments(), pairs) else {
        return false;
    };
    let mark = Mark::new();
    let counted = Counted::begin(call.thread, &mark);
    let mut written = call.write(counted.sequence);
    if written.is_err() {
        // A copy, so that the original stays in registers.
        let copy = counted;
        let counted = Some((&copy, call.chunk));
        written = in_full(process, site, arguments(), pairs, counted);
    }
    counted.end(written);
    true
}

/// A call that finds everything as the call before it left it, which is nearly
/// every one: its site is resolved, its thread attached, and its chunk defines
/// both, and the context if it is made in one. It makes no system call and touches errno
/// not at all.
struct Quick<'c, const TAILED: bool> {
    site: &'c Site,
    pairs: &'c Pairs<'c>,
    process: &'static Process,
    thread: &'static Thread,
    chunk: u32,
    /// The number of the context, from 1 on; 0 for none.
    context: u64,
    template: &'c Template,
    arguments: Arguments<'c>,
}

impl<'c, const TAILED: bool> Quick<'c, TAILED> {
    #[inline(always)]
    fn of(
        process: &'static Process,
        site: &'c Site,
        words: Words,
        pairs: &'c Pairs<'c>,
    ) -> Option<Self> {
        let template = site.state().template()?;
        let thread = attached(process)?;
        let chunk = process.sink.mapped_chunk(thread)?;
        let current = context::current();
        let kind = if TAILED {
            template.meta.quick
        } else {
            template.meta.plain
        };
        let is_quick = kind
            && site.level() < process.shared.settings.slow_path_level()
            && thread.has_site(template.id, chunk)
            && thread.has_thread(chunk)
            && thread.dropped.load(Ordering::Relaxed) == 0
            && process.shared.run.missed.load(Ordering::Relaxed) == 0
            && current
                .is_none_or(|context| thread.has_address(logdefs::context_mark(context), chunk));
        if !is_quick {
            return None;
        }
        let quick = Quick {
            site,
            pairs,
            process,
            thread,
            chunk,
            context: current.map_or(0, Context::id),
            template,
            arguments: Arguments {
                // SAFETY: a published template's plan is static or in the site's
                // state, and as long as it says.
                plan: unsafe {
                    core::slice::from_raw_parts(template.plan, template.meta.wire_args as usize)
                },
                words,
                errno: if template.meta.takes_errno {
                    Errno::last().0
                } else {
                    0
                },
                bound: process.shared.settings.max_string(),
            },
        };
        let most = template.meta.tail_fields + 1;
        (!TAILED || quick.tail().fields() <= most).then_some(quick)
    }

    /// The fields after the arguments.
    #[inline(always)]
    fn tail(&self) -> Tail<'c> {
        let of_context = Tail {
            context: match self.context {
                0 => InContext::None,
                id => InContext::Named(id),
            },
            ..Tail::NONE
        };
        if !TAILED {
            return of_context;
        }
        Tail {
            kind: kind_of(self.site.flags()),
            // SAFETY: a site that names a span has one word more (contract of `emit`).
            key: unsafe { key_of(self.site, self.arguments.words) },
            pairs: *self.pairs,
            ..of_context
        }
    }

    #[inline(always)]
    fn write(&self, sequence: Sequence) -> Result<(), Dropped> {
        let mut buffer = [core::mem::MaybeUninit::uninit(); STACK_FRAME];
        let buffer = writable(&mut buffer);
        let head = head(self.process, self.thread, self.template, sequence);
        let tail = self.tail();
        let (len, front) =
            body::encode(buffer, &head, &self.arguments, Some(&tail)).map_err(|_| Dropped)?;
        let body = &buffer[..len];
        // SAFETY: `encode` has put the three parts there, and the third is `times`.
        let check = unsafe { crc::check_after(&front, body) };
        if check.may_begin_header && !record::masked::is_clean(body) {
            return Err(Dropped);
        }
        let sink = &self.process.sink;
        match sink.put_mapped(self.thread, check.crc, body, self.chunk) {
            Put::Done(_) => Ok(()),
            _ => Err(Dropped),
        }
    }
}
