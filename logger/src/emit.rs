//! A log call, from the macro to the sink. Takes no lock, allocates nothing,
//! never panics, and may be interrupted anywhere by a signal handler that logs
//! too: each step works on the caller's stack, and what it leaves behind is
//! left behind by one store.
//!
//! 1. The macro asked whether the site is on. ([`crate::filter`])
//! 2. The record is built on the stack, whole: no pointer of the caller's is
//!    followed after this ([`crate::body`]).
//! 3. What the chunk does not define yet is put before it ([`crate::logdefs`]).
//! 4. The sink takes all of it ([`crate::sink`]).

use crate::body::{self, Call, Words};
use crate::crc;
use crate::filter;
use crate::logdefs::{self, Subject};
use crate::process::{Process, SEQUENCE_MARGIN, process};
use crate::resolve::{resolve, resolve_strings};
use crate::sink::Put;
use crate::site::{Site, Template};
use crate::sys::Errno;
use crate::thread::{SCRATCH, Thread, own_add};
use crate::tls;
use core::ffi::CStr;
use core::sync::atomic::Ordering;
use logdef_wire::frame::{HEADER_LEN, MAX_SHORT_BODY};
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::printf::ArgPlan;
use logdef_wire::site::flags;
use logdef_wire::{Level, Sequence, record};

/// Return addresses of a backtrace beyond these are left out.
pub const MAX_BACKTRACE: usize = 64;

/// Frames up to this length are built on the stack.
const STACK_FRAME: usize = 1024;

/// Logs a call of `site`.
///
/// # Safety
///
/// `words` holds as many words as the site has arguments, and one more if it
/// is limited ([`flags::LIMITED`]), and `kinds` (or, if
/// that is null, the site's own) tells what each of them is, as
/// `Words::new` demands.
#[inline(never)]
pub unsafe extern "C" fn emit(site: &Site, kinds: *const u8, words: *const u64) {
    let process = process();
    let state = site.state();
    let kinds = if kinds.is_null() { site.kinds() } else { kinds };
    // SAFETY: by the caller.
    let words = unsafe { Words::new(kinds, words, site.args()) };
    let errno = Errno::last();
    if let Some(template) = state.template() {
        // SAFETY: a published template's plan is static or in the site's state,
        // and as long as it says.
        let plan =
            unsafe { core::slice::from_raw_parts(template.plan, template.meta.wire_args as usize) };
        let call = Parts::of_site(site, &template, plan, words, errno);
        call.log(process);
    } else {
        let resolved = resolve(process, site);
        let call = Parts::of_site(site, &resolved.template, resolved.plan(), words, errno);
        call.log(process);
    }
    errno.restore();
}

/// Logs a call that has no site of its own: a wrapper's.
///
/// # Safety
///
/// As for [`emit`], with `args` words.
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
    if !filter::is_on(level, file.to_bytes(), line, None) {
        return;
    }
    let errno = Errno::last();
    // SAFETY: by the caller.
    let words = unsafe { Words::new(kinds, words, args) };
    let image = [format, file]
        .map(|string| string.as_ptr().addr())
        .into_iter()
        .find(|at| {
            logdef_unwind::modules::find(*at).is_some_and(|module| module.is_read_only(*at, 1))
        });
    let image = image.unwrap_or(crate::sys::main_program_address());
    let resolved = resolve_strings(process, image, level, line, file, format);
    let call = Parts {
        template: &resolved.template,
        plan: resolved.plan(),
        words,
        errno,
        level,
        flags: 0,
        skipped: 0,
        strings: Strings::Text { file, format },
    };
    call.log(process);
    errno.restore();
}

/// A call with everything that is known of it before its thread is.
struct Parts<'c> {
    template: &'c Template,
    plan: &'c [ArgPlan],
    words: Words,
    errno: Errno,
    level: Level,
    flags: u8,
    skipped: u64,
    strings: Strings<'c>,
}

/// The strings of a call. Measured only when they are needed.
#[derive(Clone, Copy)]
pub(crate) enum Strings<'c> {
    Site(&'c Site),
    Text { file: &'c CStr, format: &'c CStr },
}

impl<'c> Strings<'c> {
    pub fn file(self) -> &'c CStr {
        match self {
            Strings::Site(site) => site.file(),
            Strings::Text { file, .. } => file,
        }
    }

    pub fn format(self) -> &'c CStr {
        match self {
            Strings::Site(site) => site.format(),
            Strings::Text { format, .. } => format,
        }
    }
}

impl<'c> Parts<'c> {
    #[inline(always)]
    fn of_site(
        site: &'c Site,
        template: &'c Template,
        plan: &'c [ArgPlan],
        words: Words,
        errno: Errno,
    ) -> Self {
        Parts {
            template,
            plan,
            words,
            errno,
            level: site.level(),
            flags: site.flags(),
            skipped: if site.flags() & flags::LIMITED == 0 {
                0
            } else {
                // SAFETY: a limited site's words are one more than its
                // arguments, by the caller of `emit`.
                unsafe { words.after() }
            },
            strings: Strings::Site(site),
        }
    }

    #[inline(always)]
    fn log(&self, process: &'static Process) {
        let Some(thread) = current(process) else {
            process.missed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let depth = thread.depth.load(Ordering::Relaxed);
        thread.depth.store(depth + 1, Ordering::Relaxed);
        let sequence = thread.count();
        if self.write(process, thread, sequence).is_err() {
            own_add(&thread.dropped, 1);
        }
        thread.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            // All calls that this one interrupted or was interrupted by are
            // over.
            let next = thread.next.load(Ordering::Relaxed);
            thread.returned.store(next, Ordering::Release);
        }
    }

    #[inline(always)]
    fn write(&self, process: &Process, thread: &Thread, sequence: Sequence) -> Result<(), Dropped> {
        let wants_backtrace = self.level >= process.backtrace_level();
        let backtrace = (wants_backtrace || self.flags & flags::BACKTRACE != 0)
            && self.flags & flags::NO_BACKTRACE == 0;
        if backtrace {
            return self.write_with_backtrace(process, thread, sequence);
        }
        let mut buffer = [core::mem::MaybeUninit::uninit(); STACK_FRAME];
        let buffer = writable(&mut buffer);
        let dropped = self.dropped(process, thread);
        match self.frame(
            process,
            thread,
            sequence,
            dropped,
            &[],
            buffer,
            process.max_string(),
        ) {
            Ok(len) => self.put(process, thread, &mut buffer[..len], &[], dropped),
            Err(OutOfRoom) => self.write_large(process, thread, sequence, dropped, &[]),
        }
    }

    #[cold]
    #[inline(never)]
    fn write_with_backtrace(
        &self,
        process: &Process,
        thread: &Thread,
        sequence: Sequence,
    ) -> Result<(), Dropped> {
        let mut addresses = [0; MAX_BACKTRACE];
        let depth = process.backtrace_depth().min(MAX_BACKTRACE);
        // This function and `emit` are the innermost two.
        let len = logdef_unwind::capture(&mut addresses[..depth], 2);
        let dropped = self.dropped(process, thread);
        self.write_large(process, thread, sequence, dropped, &addresses[..len])
    }

    /// Builds the record where there is more room than on the stack.
    #[cold]
    fn write_large(
        &self,
        process: &Process,
        thread: &Thread,
        sequence: Sequence,
        dropped: u64,
        backtrace: &[usize],
    ) -> Result<(), Dropped> {
        with_scratch(thread, |scratch| {
            let frame = &mut scratch[..HEADER_LEN + MAX_SHORT_BODY];
            let bound = process.max_string();
            // Strings that do not fit together are cut to what each can have.
            let share = MAX_SHORT_BODY / (self.plan.len() + 4);
            let len = self
                .frame(process, thread, sequence, dropped, backtrace, frame, bound)
                .or_else(|_| {
                    self.frame(
                        process,
                        thread,
                        sequence,
                        dropped,
                        backtrace,
                        frame,
                        share / 2,
                    )
                })
                .map_err(|_| Dropped)?;
            self.put(process, thread, &mut frame[..len], backtrace, dropped)
        })
    }

    /// Calls that were lost before this one.
    #[inline]
    fn dropped(&self, process: &Process, thread: &Thread) -> u64 {
        let mut dropped = thread.dropped.load(Ordering::Relaxed);
        if process.missed.load(Ordering::Relaxed) > 0 {
            dropped += process.missed.swap(0, Ordering::Relaxed);
            thread.dropped.store(dropped, Ordering::Relaxed);
        }
        dropped
    }

    /// Encodes the frame into `buffer` and returns its length.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "all of it lives in registers")]
    fn frame(
        &self,
        process: &Process,
        thread: &Thread,
        sequence: Sequence,
        dropped: u64,
        backtrace: &[usize],
        buffer: &mut [u8],
        bound: usize,
    ) -> Result<usize, OutOfRoom> {
        let meta = self.template.meta;
        let call = Call {
            template: self.template,
            plan: self.plan,
            words: self.words,
            errno: self.errno.0,
            thread: thread
                .fields
                .each_ref()
                .map(|word| word.load(Ordering::Relaxed)),
            thread_len: (thread.fields_len.load(Ordering::Relaxed) as usize)
                .min(body::THREAD_FIELDS),
            sequence: sequence.0,
            time: thread.clock.now(&process.clock),
            dropped,
            skipped: self.skipped,
            kind: (self.flags & flags::KIND) >> flags::KIND_SHIFT,
            backtrace,
            format_text: meta.format_text.then(|| self.strings.format().to_bytes()),
            file_text: meta.file_text.then(|| self.strings.file().to_bytes()),
        };
        let room = buffer.get_mut(HEADER_LEN..).ok_or(OutOfRoom)?;
        let mut len = body::encode(room, &call, bound)?;
        if crc::holds_c1(&room[..len]) && !record::masked::is_clean(&room[..len]) {
            len = record::masked::mask_in_place(room, len)?;
        }
        if len > MAX_SHORT_BODY {
            return Err(OutOfRoom);
        }
        let [c0, c1, c2, c3] = crc::checksum(&room[..len]).to_be_bytes();
        let header = [
            0xc1,
            0xce,
            c0,
            c1,
            c2,
            c3,
            0xc1,
            0xda,
            (len >> 8) as u8,
            len as u8,
        ];
        buffer[..HEADER_LEN].copy_from_slice(&header);
        Ok(HEADER_LEN + len)
    }

    /// Puts the frame into the log, behind what the log does not define yet.
    #[inline(always)]
    fn put(
        &self,
        process: &Process,
        thread: &Thread,
        frame: &mut [u8],
        backtrace: &[usize],
        dropped: u64,
    ) -> Result<(), Dropped> {
        let subject = Subject {
            template: self.template,
            strings: self.strings,
            backtrace,
        };
        for attempt in 0..8 {
            let put = match process.sink.chunk(thread) {
                None => Put::Full,
                Some(chunk) if attempt == 0 && subject.is_defined(thread, chunk) => {
                    process.sink.put(thread, frame, Some(chunk))
                }
                // A handler can move the thread to another chunk while we look
                // at what this one defines; if it did, we do not look again, but
                // define everything.
                Some(chunk) => logdefs::put(process, thread, &subject, frame, chunk, attempt > 1),
            };
            match put {
                Put::Done(_) => {
                    if dropped > 0 {
                        own_add(&thread.dropped, dropped.wrapping_neg());
                    }
                    return Ok(());
                }
                Put::Moved => {}
                Put::Full if logdefs::next_chunk(process, thread, frame.len()) => {}
                Put::Full | Put::Dropped => break,
            }
        }
        Err(Dropped)
    }
}

/// The record could not be written.
pub(crate) struct Dropped;

/// The calling thread's memory.
#[inline(always)]
pub(crate) fn current(process: &'static Process) -> Option<&'static Thread> {
    let thread: *const Thread = tls::get();
    // SAFETY: null, or set by `attach` to memory that is never given back.
    if let Some(thread) = unsafe { thread.as_ref() } {
        let fresh = thread.run.load(Ordering::Relaxed) == process.run().0;
        let next = Sequence(thread.next.load(Ordering::Relaxed)).count();
        if fresh && next < (1 << Sequence::COUNT_BITS) - SEQUENCE_MARGIN && process.is_open() {
            return Some(thread);
        }
    }
    process.attach()
}

/// Lends the thread's scratch memory; a handler that interrupted its use gets
/// memory of its own.
pub(crate) fn with_scratch<T>(
    thread: &Thread,
    work: impl FnOnce(&mut [u8]) -> Result<T, Dropped>,
) -> Result<T, Dropped> {
    if let Some(mut scratch) = thread.scratch() {
        return work(scratch.bytes());
    }
    let len = const { core::num::NonZeroUsize::new(SCRATCH).unwrap() };
    let mut memory = crate::sys::Temporary::new(len).map_err(|_| Dropped)?;
    work(memory.bytes())
}

/// Stack memory as bytes to be written. Zeroing it would cost more than the
/// rest of a short record.
#[inline(always)]
fn writable(buffer: &mut [core::mem::MaybeUninit<u8>; STACK_FRAME]) -> &mut [u8] {
    // SAFETY: bytes of any value are valid `u8`s, and the compiler is told that
    // these have one; what was not written is never read, since the encoder
    // returns the length of what it wrote.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) buffer.as_mut_ptr(), options(nostack, preserves_flags));
        &mut *core::ptr::from_mut(buffer).cast::<[u8; STACK_FRAME]>()
    }
}
