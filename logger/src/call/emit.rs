//! A log call, from the macro to the sink. Takes no lock, allocates nothing,
//! never panics, and may be interrupted anywhere by a signal handler that logs
//! too: each step works on the caller's stack, and what it leaves behind is
//! left behind by one store.
//!
//! 1. The macro asked whether the site is on. ([`crate::call::gate`])
//! 2. The record is built on the stack, whole: no pointer of the caller's is
//!    followed after this ([`crate::call::body`]).
//! 3. What the chunk does not define yet is put before it ([`crate::logdefs`]).
//! 4. The sink takes all of it ([`crate::sink`]).

mod at_level;
mod counted;
mod pairs;
mod quick;
mod stack;
mod text;

use crate::call::body::pairs::Pairs;
use crate::call::body::{self, Arguments, Backtrace, Head, InContext, OptionalFields, Tail, Words};
use crate::call::callers::callers;
use crate::call::kept;
use crate::call::resolve::resolve;
use crate::call::site::{Site, Strings, Template};
use crate::calls::Mark;
use crate::copies::leader::leader;
use crate::crc;
use crate::image::code::Epoch;
use crate::logdefs::{self, Subject};
use crate::note;
use crate::process::{Process, current, process};
use crate::settings::{MAX_BACKTRACE, USUAL_BACKTRACE};
use crate::sink::Put;
use crate::sys::Errno;
use crate::thread::{CallOf, Dropped, Thread, with_scratch};
use core::cell::Cell;
use core::sync::atomic::Ordering;
use logdef_wire::frame::{HEADER_LEN, MAX_SHORT_BODY, short_header};
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::printf::ArgPlan;
use logdef_wire::site::flags;
use logdef_wire::{Level, Run, Sequence, record};

use counted::{Counted, Record};
use quick::{log_quickly, with_tail};
use stack::{STACK_FRAME, writable};

pub use at_level::emit_at;
pub use pairs::{emit_pairs, emit_with};
pub use text::emit_text;

/// Functions of the C interface between the caller and `emit`, at most, and one caller more
/// than is written, by whose presence a deeper stack is recognized.
const ENTRY: usize = 4 + 1;

/// Logs a call of `site`. In the section of the interface, so that this is never without
/// a function.
///
/// # Safety
///
/// `words` holds as many words as the site has arguments, and one more if it
/// is limited ([`flags::LIMITED`]) or names a span ([`flags::SPAN`]), and `kinds` (or, if
/// that is null, the site's own) gives the kind of each, as `Words::new` demands.
#[inline(never)]
#[unsafe(link_section = "logdef_interface")]
pub unsafe extern "C" fn emit(site: &Site, kinds: *const u8, words: *const u64) {
    let process = process();
    let kinds = if kinds.is_null() { site.kinds() } else { kinds };
    // Made twice, so that it stays in registers.
    // SAFETY: `kinds` and `words` have an element for each argument of the site, and each word is
    // what its kind says (contract of `emit`); a site's own kinds are as many as its arguments.
    let arguments = || unsafe { Words::new(kinds, words, site.args()) };
    if !log_quickly::<false>(process, site, arguments, &Pairs::NONE) {
        with_tail(process, site, arguments(), &Pairs::NONE);
    }
}

/// Logs a call whatever has to be done for it; it may be counted already, and have found
/// its thread in a chunk.
#[cold]
#[inline(never)]
fn in_full(
    process: &'static Process,
    site: &Site,
    words: Words,
    pairs: &Pairs<'_>,
    counted: Option<(&Counted<'_>, u32)>,
) -> Result<(), Dropped> {
    if let Some(leader) = leader() {
        // A site is resolved where its records are written: what is published in
        // it means something to one copy of the logger only.
        // SAFETY: the words are those that `emit` was given for this site; the leader's `emit`
        // has the same contract.
        unsafe {
            match pairs.len() {
                0 => leader.emit(site, words.kinds(), words.words()),
                _ => leader.emit_pairs(site, words.kinds(), words.words(), pairs),
            }
        }
        return Ok(());
    }
    let errno = Errno::last();
    let resolved;
    let (template, plan) = match site.state().template() {
        // SAFETY: a published template's plan is static or in the site's state,
        // and as long as it says.
        Some(template) => (template, unsafe {
            core::slice::from_raw_parts(template.plan, template.meta.wire_args as usize)
        }),
        None => {
            resolved = resolve(process.images, site);
            (&resolved.template, resolved.plan())
        }
    };
    let call = Parts {
        template,
        plan,
        words,
        errno,
        level: site.level(),
        flags: site.flags(),
        // SAFETY: a limited site or one with a span has one word more (contract of `emit`).
        key: unsafe { key_of(site, words) },
        pairs: *pairs,
        strings: Strings::Site(site),
        run: Cell::default(),
    };
    let logged = match counted {
        Some((counted, chunk)) => {
            let run = process.shared.run.id();
            match counted.thread.call_of(run, chunk) {
                CallOf::Thread => call.write_counted(process, counted, run),
                CallOf::EarlierRun => Err(Dropped),
                CallOf::Parent => Ok(()),
            }
        }
        None => {
            call.log(process);
            Ok(())
        }
    };
    errno.restore();
    logged
}

/// The kind of a site's records.
#[inline(always)]
fn kind_of(flags: u8) -> u8 {
    (flags & flags::KIND) >> flags::KIND_SHIFT
}

/// The key that a site's records have, from the word after its arguments.
///
/// # Safety
///
/// As for [`emit`].
#[inline(always)]
unsafe fn key_of(site: &Site, words: Words) -> Option<(&'static str, u64)> {
    let (limited, span) = (
        site.flags() & flags::LIMITED != 0,
        site.flags() & flags::SPAN != 0,
    );
    if !limited && !span {
        return None;
    }
    // SAFETY: a limited site or one with a span has one word more than arguments (contract
    // of `emit`).
    let word = unsafe { words.after() };
    if span {
        Some((flags::SPAN_ID, word))
    } else {
        // A limit that skipped nothing says nothing.
        (word > 0).then_some((flags::SKIPPED, word))
    }
}

/// A call with everything that is known of it before its thread is.
struct Parts<'c> {
    template: &'c Template,
    plan: &'c [ArgPlan],
    words: Words,
    errno: Errno,
    level: Level,
    flags: u8,
    key: Option<(&'static str, u64)>,
    pairs: Pairs<'c>,
    strings: Strings<'c>,
    /// The run in which it began.
    run: Cell<Run>,
}

impl Parts<'_> {
    #[inline(always)]
    fn log(&self, process: &'static Process) {
        let Some(thread) = current(process) else {
            if !self.keep(process) {
                process.shared.run.missed.fetch_add(1, Ordering::Relaxed);
            }
            return;
        };
        let run = process.shared.run.id();
        let mark = Mark::new();
        let counted = Counted::begin(thread, &mark);
        let written = self.write_counted(process, &counted, run);
        counted.end(written);
    }

    /// Writes a call that began in a run. If a handler has forked in the middle of it,
    /// and this is the child, the record is the parent's, and nothing was dropped.
    #[inline(always)]
    fn write_counted(
        &self,
        process: &'static Process,
        counted: &Counted<'_>,
        run: Run,
    ) -> Result<(), Dropped> {
        self.run.set(run);
        let written = self.write(process, counted.thread, counted.sequence);
        written.or_else(|dropped| {
            if counted.thread.is_of(run) {
                Err(dropped)
            } else {
                Ok(())
            }
        })
    }

    #[inline(always)]
    fn write(
        &self,
        process: &'static Process,
        thread: &Thread,
        sequence: Sequence,
    ) -> Result<(), Dropped> {
        if self.level >= process.shared.settings.slow_path_level()
            || self.flags & flags::BACKTRACE != 0
        {
            // Most backtraces need little room on the stack, which a handler has not much of.
            return match process.shared.settings.backtrace_depth() {
                0..=USUAL_BACKTRACE => {
                    self.write_notable::<{ USUAL_BACKTRACE + ENTRY }>(process, thread, sequence)
                }
                _ => self.write_notable::<{ MAX_BACKTRACE + ENTRY }>(process, thread, sequence),
            };
        }
        let mut buffer = [core::mem::MaybeUninit::uninit(); STACK_FRAME];
        let buffer = writable(&mut buffer);
        let record = Record::of(process, thread, sequence, Backtrace::default());
        let written = match self.frame(&record, record.max_string(), buffer) {
            Ok(len) => self.put(&record, &buffer[..len]),
            Err(OutOfRoom) => self.write_large(&record),
        };
        record.end(written)
    }

    /// With a backtrace, a line in the mirror, a report of the log's own.
    #[cold]
    #[inline(never)]
    fn write_notable<const ROOM: usize>(
        &self,
        process: &'static Process,
        thread: &Thread,
        sequence: Sequence,
    ) -> Result<(), Dropped> {
        let depth = self.depth(process).min(ROOM - ENTRY);
        let mut addresses = [0; ROOM];
        let addresses = match depth {
            0 => &mut [],
            _ => &mut addresses[..depth + ENTRY],
        };
        let ours = self.own_stack_frames();
        let mut len = logdef_unwind::capture(addresses, ours);
        let now = || process.now(thread);
        for _ in 0..2 {
            let walked = &addresses[..len];
            if process.code.is_settled(process.images, walked, now) {
                break;
            }
            len = logdef_unwind::capture(addresses, ours);
        }
        let backtrace = callers(process, self.template.meta.image, &addresses[..len]);
        let backtrace = Backtrace {
            addresses: &backtrace[..backtrace.len().min(depth)],
            is_cut: backtrace.len() > depth,
        };
        let record = Record::of(process, thread, sequence, backtrace);
        let written = record.end(self.write_large(&record));
        if process.shared.reports.is_due() {
            match written {
                Ok(()) => note::report(process),
                Err(Dropped) => process.sink.reopen_if_asked(&process.shared, thread),
            }
        }
        written
    }

    /// How many return addresses the record is to have.
    fn depth(&self, process: &Process) -> usize {
        let settings = &process.shared.settings;
        let wanted = self.level >= settings.backtrace_level() || self.flags & flags::BACKTRACE != 0;
        if wanted && self.flags & flags::NO_BACKTRACE == 0 {
            settings.backtrace_depth()
        } else {
            0
        }
    }

    /// How many stack frames of a call are the logger's, that of the function which
    /// captures them included.
    fn own_stack_frames(&self) -> usize {
        // It is the innermost, then `in_full` and `emit`, or `emit_at`, or `emit_text`.
        match self.strings {
            Strings::Site(site) if site.has_level() => 3,
            Strings::Site(_) | Strings::Text { .. } => 2,
        }
    }

    /// Keeps a call that comes before the log is open, and shows it; after the log was closed
    /// it is only shown. `false` if it is lost.
    #[cold]
    #[inline(never)]
    fn keep(&self, process: &Process) -> bool {
        let wanted = process.mirror.wants(self.level);
        let kept = process.early.has_room();
        if process.shared.run.is_open() || !(wanted || kept) {
            return false;
        }
        let depth = self.depth(process).min(USUAL_BACKTRACE);
        let mut addresses = [0; USUAL_BACKTRACE + ENTRY];
        let addresses = match depth {
            0 => &mut [],
            _ => &mut addresses[..depth + ENTRY],
        };
        let len = logdef_unwind::capture(addresses, self.own_stack_frames());
        let callers = callers(process, self.template.meta.image, &addresses[..len]);
        let call = kept::Call {
            template: self.template,
            strings: self.strings,
            arguments: self.arguments(process.shared.settings.max_string()),
            kind: self.kind(),
            key: self.key,
            pairs: self.pairs,
            backtrace: Backtrace {
                addresses: &callers[..callers.len().min(depth)],
                is_cut: callers.len() > depth,
            },
            wanted,
            shown: process.mirror.shows(self.level),
        };
        kept::keep(process, &call)
    }

    fn arguments(&self, bound: usize) -> Arguments<'_> {
        Arguments {
            plan: self.plan,
            words: self.words,
            errno: self.errno.0,
            bound,
        }
    }

    fn kind(&self) -> u8 {
        kind_of(self.flags)
    }

    /// Builds the record where there is more room than on the stack.
    #[cold]
    fn write_large(&self, record: &Record<'_>) -> Result<(), Dropped> {
        with_scratch(record.thread, |scratch| {
            let frame = &mut scratch[..HEADER_LEN + MAX_SHORT_BODY];
            // Strings that do not fit together are cut to what each can have.
            let share = MAX_SHORT_BODY / (self.plan.len() + 2 * self.pairs.len() + 4);
            let len = self
                .frame(record, record.max_string(), frame)
                .or_else(|_| self.frame(record, share / 2, frame))
                .map_err(|_| Dropped)?;
            let put = self.put(record, &frame[..len]);
            // To show a record it has to be decoded.
            let mirror = &record.process.mirror;
            if mirror.wants(self.level) {
                mirror.show(&frame[HEADER_LEN..len], self.strings);
            }
            put
        })
    }

    /// Encodes the frame into `buffer`, strings cut to `bound`, and returns its length.
    fn frame(
        &self,
        record: &Record<'_>,
        bound: usize,
        buffer: &mut [u8],
    ) -> Result<usize, OutOfRoom> {
        let head = head(
            record.process,
            record.thread,
            self.template,
            record.sequence,
        );
        let arguments = self.arguments(bound);
        let tail = Tail {
            kind: self.kind(),
            key: self.key,
            pairs: self.pairs,
            context: match record.context {
                Some(context) => InContext::Named(context.id()),
                None => InContext::None,
            },
        };
        let optional = OptionalFields {
            dropped: record.dropped,
            ..OptionalFields::of(self.template, self.strings, record.backtrace, tail)
        };
        let room = buffer.get_mut(HEADER_LEN..).ok_or(OutOfRoom)?;
        let (len, _) = body::encode(room, &head, &arguments, None)?;
        let mut len = body::append_optional_fields(room, len, &optional, bound)?;
        let mut check = crc::check(&room[..len]);
        if check.may_begin_header && !record::masked::is_clean(&room[..len]) {
            len = record::masked::mask_in_place(room, len)?;
            check = crc::check(&room[..len]);
        }
        if len > MAX_SHORT_BODY {
            return Err(OutOfRoom);
        }
        buffer[..HEADER_LEN].copy_from_slice(&short_header(check.crc, len as u16));
        Ok(HEADER_LEN + len)
    }

    /// Puts the frame into the log, after what the log does not define yet.
    fn put(&self, record: &Record<'_>, frame: &[u8]) -> Result<(), Dropped> {
        let Record {
            process,
            thread,
            backtrace,
            context,
            ..
        } = *record;
        let subject = Subject {
            context,
            template: self.template,
            strings: self.strings,
            backtrace: backtrace.addresses,
            epoch: match backtrace.addresses {
                [] => Epoch::default(),
                _ => process.code.epoch(),
            },
        };
        let sink = &process.sink;
        logdefs::place(process, thread, frame.len(), |attempt| {
            let chunk = sink.chunk(thread);
            if !thread.is_of(self.run.get()) {
                return Put::Dropped;
            }
            let Some(chunk) = chunk else {
                return Put::Full;
            };
            if attempt == 0 && subject.is_defined(thread, chunk) {
                return sink.put(&process.shared, thread, frame, Some(chunk));
            }
            // A handler can move the thread to another chunk while we look at what
            // this one defines; if it did, we do not look again, but define
            // everything.
            logdefs::put(process, thread, &subject, frame, chunk, attempt > 1)
        })
    }
}

#[inline(always)]
fn head<'c>(
    process: &Process,
    thread: &Thread,
    template: &'c Template,
    sequence: Sequence,
) -> Head<'c> {
    Head {
        template,
        // First, so that what is read of the thread need not be put aside meanwhile.
        time: process.now(thread),
        thread: thread.fields(),
        sequence: sequence.0,
    }
}
