//! Records about the log itself: what a sync made durable, and last words of a
//! thread that panics or a process that a signal ends. None of it is on the
//! path of a log call.

pub(crate) mod asked;

use crate::fixed_text::FixedText;
use crate::guard;
use crate::handler;
use crate::logdefs;
use crate::process::{Process, current, process};
use crate::settings::USUAL_BACKTRACE;
use crate::sink::DropCount;
use crate::sys::{self, Errno};
use crate::thread::{Dropped, Thread, with_scratch};
use core::ffi::c_int;
use core::fmt::Write;
use core::sync::atomic::Ordering;
use logdef_wire::frame;
use logdef_wire::msgpack::{Array, Decoder, Encoder, OutOfRoom, Value};
use logdef_wire::record::{Durable, Note, NoteKind};
use logdef_wire::{Avma, Sequence};

/// A text that is put together here: an error in words, and some numbers.
type ShortText = FixedText<96>;

/// Bytes of a note's text; what is longer is cut.
const MOST_TEXT: usize = 4096;

/// How far each thread's calls had returned at one moment.
pub(crate) struct Progress {
    /// Maps from thread number to count, encoded.
    parts: Vec<Vec<u8>>,
    /// Threads with lower numbers that are in no map had ended.
    ended: u64,
}

/// Threads that one record can name: two integers of nine bytes each.
const NAMED: usize = 3_500;

impl Progress {
    /// Looks at every thread that has logged. Allocates.
    pub fn of(process: &Process) -> Progress {
        let run = process.shared.run.id();
        // Asked before the threads are: threads that get a number later are not meant.
        let mut ended = process.shared.run.threads_begun();
        let mut returned = Vec::new();
        for thread in process.shared.threads.iter() {
            ended = ended.min(thread.begins_from());
            if thread.is_of(run) {
                returned.push(Sequence(thread.returned.load(Ordering::Acquire)));
            }
        }
        let parts = if returned.is_empty() {
            vec![Progress::encoded(&[])]
        } else {
            returned.chunks(NAMED).map(Progress::encoded).collect()
        };
        Progress { parts, ended }
    }

    fn encoded(returned: &[Sequence]) -> Vec<u8> {
        // A head of five bytes and two integers of nine each.
        let mut bytes = vec![0; 5 + returned.len() * 18];
        let mut encoder = Encoder::new(&mut bytes);
        let encoded = encoder.map(returned.len() as u32).and_then(|()| {
            returned.iter().try_for_each(|next| {
                encoder.uint(next.number().0)?;
                match next.count().checked_sub(1) {
                    Some(last) => encoder.uint(last),
                    None => encoder.nil(),
                }
            })
        });
        debug_assert!(encoded.is_ok());
        let len = encoder.position();
        bytes.truncate(len);
        bytes
    }

    /// Writes down that a sync which began at this progress has ended.
    pub fn note(&self, process: &'static Process, result: Result<(), Errno>) {
        let time = Some(crate::clock::realtime());
        for part in &self.parts {
            let threads = Decoder::new(part).value().ok().and_then(Value::as_map);
            let all = result.is_ok() && self.parts.len() == 1;
            let durable = Durable {
                run: Some(process.shared.run.id()),
                threads: threads.filter(|_| result.is_ok()),
                time,
                errno: result.err().map(|errno| errno.0 as u64),
                ended: all.then_some(self.ended),
            };
            write(process, |encoder| durable.encode(encoder));
        }
    }
}

/// Writes a record after everything that is there, if it can be done.
fn write(
    process: &'static Process,
    body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
) -> bool {
    current(process).is_some_and(|thread| put(process, thread, body).is_ok())
}

fn put(
    process: &Process,
    thread: &Thread,
    body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
) -> Result<(), Dropped> {
    let put = || {
        with_scratch(thread, |scratch| {
            let len = frame::encode(scratch, &body).map_err(|_| Dropped)?;
            let frame = &scratch[..len];
            logdefs::place(process, thread, len, |_| {
                logdefs::put_note(process, thread, frame)
            })
        })
    };
    thread.lasting().calls.uncounted(put)
}

/// What could not be done, and why.
fn refused(what: &str, errno: Errno) -> ShortText {
    let mut text = ShortText::new();
    let _ = write!(text, "{what}: {} (errno {})", in_words(errno), errno.0);
    text
}

/// Writes down what is due ([`crate::self_reports`]). May be called in a signal handler.
#[cold]
pub(crate) fn report(process: &'static Process) {
    let due = process.shared.reports.take();
    process.shared.update_slow_path_level();
    let now = crate::clock::realtime();
    let mut written = true;
    let mut note = |kind, text: &[u8], realtime, monotonic| {
        written &= write(process, |encoder| {
            Note {
                run: Some(process.shared.run.id()),
                kind: Some(kind),
                time: Some(now),
                text: Some(text).filter(|text| !text.is_empty()),
                realtime,
                monotonic,
                ..Note::default()
            }
            .encode(encoder)
        });
    };
    let is_old = due.file_is_old() && is_time_for_another(process);
    if (due.reopen() || is_old)
        && let Err(errno) = process.sink.reopen(&process.shared)
    {
        let text = refused("not opened again", errno);
        note(NoteKind::SINK, text.bytes(), None, None);
    }
    if due.stay()
        && let Some(errno) = process.shared.reports.why_stay()
    {
        let text = refused("no new file", errno);
        note(NoteKind::SINK, text.bytes(), None, None);
    }
    if due.link() {
        let errno = process.shared.reports.why_not_linked();
        let text = refused("the path leads to an older file", errno);
        note(NoteKind::SINK, text.bytes(), None, None);
    }
    if due.file_is_old() {
        // What cannot be had now is not asked for all the time.
        let soonest = crate::clock::monotonic() + 1_000_000_000;
        let at = process.sink.ages_at();
        process.shared.set_ages_at(at.map(|at| at.max(soonest)));
    }
    if due.suspect_file() {
        let text = match process.shared.reports.why_suspect() {
            Some(errno) => in_words(errno),
            None => "cut short or replaced by another process",
        };
        note(NoteKind::SUSPECT, text.as_bytes(), None, None);
    }
    if due.space_returned() {
        let (errno, since) = process.shared.reports.no_space();
        let mut text = ShortText::new();
        let millis = now.saturating_sub(since) / 1_000_000;
        let _ = write!(text, "{} (errno {})", in_words(errno), errno.0);
        let _ = write!(text, " for {}.{:03} s", millis / 1000, millis % 1000);
        note(NoteKind::SPACE_RETURNED, text.bytes(), None, None);
    }
    if due.clock_set() {
        let monotonic = Some(crate::clock::monotonic());
        note(NoteKind::CLOCK_SET, b"", Some(now), monotonic);
    }
    if due.news() {
        asked::report(process);
    }
    if due.listeners() {
        // They take locks.
        if handler::is_running() {
            process.shared.listeners_are_due();
        } else {
            process.shared.settings.listeners.call_all();
        }
    }
    if due.drops() {
        written &= note_drops(process, |frame| put_frame(process, frame));
    }
    if !written {
        process.shared.reports.give_back(due);
        process.shared.update_slow_path_level();
    }
}

/// Writes down how many calls of the run were dropped, if no note has reported all of them:
/// in the log, or in the space reserved for it. May be called in a signal handler.
#[cold]
pub(crate) fn drops(process: &'static Process) {
    let put =
        |frame: &[u8]| put_frame(process, frame) || process.sink.put_note(&process.shared, frame);
    if !note_drops(process, put) {
        process.sink.set_has_room(false);
        // Another thread may have room.
        process.shared.drops_are_due();
        keep_count(process);
    }
}

/// Lets another member of the family know how many calls were dropped, which it writes down if this one cannot.
#[cold]
pub(crate) fn keep_count(process: &Process) {
    if let Some(count) = unnoted(process) {
        let pid = process.shared.run.pid.load(Ordering::Relaxed);
        process.sink.keep_count(count, pid);
    }
}

/// [`drops`], once the process exits by itself: a log need not be closed by then. A forked child that has
/// not logged leaves what was dropped to its parent. No exit waits for the reader of a pipe.
pub(crate) extern "C" fn drops_at_exit() {
    let process = process();
    let run = &process.shared.run;
    let is_mine = !run.needs_reinit_after_fork() && !run.is_left_by_parent();
    if run.is_ready() && is_mine && process.sink.is_in_files() {
        drops(process);
    }
}

/// Hands the note of drops to `put`, and those that others of the family could not write. `false` if one
/// was wanted and could not be put.
fn note_drops(process: &'static Process, put: impl Fn(&[u8]) -> bool) -> bool {
    // Of threads that got no memory.
    process.shared.run.take_missed();
    let written = unnoted(process).is_none_or(|count| {
        let written = put_count(&count, &put);
        if written {
            process.shared.run.drops.note(count.dropped);
            process.sink.forget_count(count.run);
            process.sink.set_has_room(true);
        }
        written
    });
    written && process.sink.settle(|count| put_count(count, &put))
}

/// The calls of the run that were dropped, if no note has reported all of them.
fn unnoted(process: &Process) -> Option<DropCount> {
    let run = &process.shared.run;
    let (dropped, since) = run.drops.to_note()?;
    Some(DropCount {
        run: run.id(),
        dropped,
        since,
        errno: process.shared.reports.why_refused(),
    })
}

fn put_count(count: &DropCount, put: impl Fn(&[u8]) -> bool) -> bool {
    let DropCount {
        run,
        dropped,
        since,
        errno,
    } = *count;
    let note = Note {
        run: Some(run),
        kind: Some(NoteKind::DROPS),
        time: Some(crate::clock::realtime()),
        text: errno.map(|errno| in_words(errno).as_bytes()),
        dropped: Some(dropped),
        since: Some(since).filter(|since| *since > 0),
        errno: errno.map(|errno| errno.0 as u64),
        ..Note::default()
    };
    let mut frame = [0; 256];
    let encoded = frame::encode(&mut frame, |encoder| note.encode(encoder));
    encoded.is_ok_and(|len| put(&frame[..len]))
}

fn put_frame(process: &'static Process, frame: &[u8]) -> bool {
    let put = |thread: &Thread| {
        let place = || {
            logdefs::place(process, thread, frame.len(), |_| {
                logdefs::put_note(process, thread, frame)
            })
        };
        thread.lasting().calls.uncounted(place).is_ok()
    };
    current(process).is_some_and(put)
}

/// Whether the file is old; it may have been followed by another meanwhile, by its size or
/// by a member of the family.
fn is_time_for_another(process: &Process) -> bool {
    let at = process.sink.ages_at();
    at.is_some_and(|at| crate::clock::monotonic() >= at)
}

/// Writes down which sink was chosen, and why.
pub(crate) fn sink(process: &'static Process, why: &str) {
    of_kind(process, NoteKind::SINK, why);
}

/// Writes down that a setting of the environment was wrong.
pub(crate) fn ignored_setting(process: &'static Process, what: &str) {
    of_kind(process, NoteKind::SETTING_IGNORED, what);
}

fn of_kind(process: &'static Process, kind: NoteKind, text: &str) {
    let text = &text.as_bytes()[..text.len().min(MOST_TEXT)];
    write(process, |encoder| {
        Note {
            run: Some(process.shared.run.id()),
            kind: Some(kind),
            time: Some(crate::clock::realtime()),
            text: Some(text),
            ..Note::default()
        }
        .encode(encoder)
    });
}

/// An error in words that fit a note.
pub(crate) fn in_words(errno: Errno) -> &'static str {
    match errno.0 {
        libc::ENOSPC => "no space left on device",
        libc::EDQUOT => "disk quota exceeded",
        libc::EFBIG => "file size limit reached",
        libc::EROFS => "read-only file system",
        libc::EIO => "input/output error",
        libc::EACCES | libc::EPERM => "permission denied",
        libc::ENOENT => "directory is gone",
        libc::EISDIR => "a directory is there",
        libc::EMFILE | libc::ENFILE => "too many open files",
        libc::ENOMEM => "no memory",
        libc::EPIPE => "broken pipe",
        libc::EAGAIN => "pipe or socket full, or too much memory locked",
        libc::EMSGSIZE => "message too long",
        libc::ENOTCONN | libc::ECONNREFUSED => "no receiver",
        libc::EBADF => "descriptor closed",
        libc::ENOBUFS => "a call was interrupted too often",
        libc::EINVAL | libc::EOPNOTSUPP => "refused by the file system",
        libc::ENAMETOOLONG => "name too long",
        libc::ESTALE => "file is gone from its server",
        _ => "error",
    }
}

/// Return addresses as the objects of an array, with a nil after the last if there are more.
struct Backtrace {
    bytes: [u8; USUAL_BACKTRACE * 9 + 1],
    bytes_len: usize,
    len: u32,
}

impl Backtrace {
    fn of(addresses: &[usize]) -> Backtrace {
        let mut bytes = [0; USUAL_BACKTRACE * 9 + 1];
        let mut encoder = Encoder::new(&mut bytes);
        let mut len = 0;
        for address in addresses.iter().take(USUAL_BACKTRACE) {
            if encoder.uint(*address as u64).is_err() {
                break;
            }
            len += 1;
        }
        if addresses.len() > USUAL_BACKTRACE && encoder.nil().is_ok() {
            len += 1;
        }
        Backtrace {
            bytes_len: encoder.position(),
            bytes,
            len,
        }
    }

    fn array(&self) -> Option<Array<'_>> {
        Array::from_objects(self.len, &self.bytes[..self.bytes_len]).ok()
    }
}

/// Leaves a note of a panic of this thread.
pub(crate) fn note_panic(text: &str) {
    let process = process();
    if !process.shared.run.is_open() {
        return;
    }
    let mut addresses = [0; USUAL_BACKTRACE + 1];
    let len = logdef_unwind::capture(&mut addresses, 0);
    let backtrace = Backtrace::of(&addresses[..len]);
    define(process, &addresses[..len]);
    let text = &text.as_bytes()[..text.len().min(MOST_TEXT)];
    write(process, |encoder| {
        Note {
            run: Some(process.shared.run.id()),
            kind: Some(NoteKind::PANIC),
            time: Some(crate::clock::realtime()),
            text: Some(text),
            thread: Some(sys::thread_self()),
            backtrace: backtrace.array(),
            ..Note::default()
        }
        .encode(encoder)
    });
}

/// Puts the logdefs of addresses that the thread's chunk does not have.
fn define(process: &'static Process, addresses: &[usize]) {
    if let Some(thread) = current(process) {
        let put = || logdefs::put_addresses(process, thread, addresses);
        thread.lasting().calls.uncounted(put);
    }
}

/// Leaves a note of a signal that ends the process, in the thread that it hit.
pub(crate) fn note_signal(signal: c_int, address: usize, context: Option<&libc::ucontext_t>) {
    let process = process();
    if !process.shared.run.is_ready() {
        return;
    }
    let mut frames = [logdef_unwind::StackFrame::default(); USUAL_BACKTRACE + 1];
    let len = context.map_or(0, |context| {
        logdef_unwind::capture_interrupted(context, &mut frames)
    });
    let mut addresses = [0; USUAL_BACKTRACE + 1];
    for (address, frame) in addresses.iter_mut().zip(&frames[..len]) {
        *address = frame.address;
    }
    let backtrace = Backtrace::of(&addresses[..len]);
    define(process, &addresses[..len]);
    let note = Note {
        run: Some(process.shared.run.id()),
        kind: Some(NoteKind::FATAL_SIGNAL),
        time: Some(crate::clock::realtime()),
        signal: Some(signal as u64),
        address: Some(Avma(address as u64)),
        thread: Some(sys::thread_self()),
        backtrace: backtrace.array(),
        ..Note::default()
    };
    // Once more if it went into a page that was gone: then the log continues in another file.
    for _ in 0..2 {
        let before = guard::replaced_pages();
        write(process, |encoder| note.encode(encoder));
        if guard::replaced_pages() == before {
            break;
        }
    }
    process.sink.settle_rotation(&process.shared);
}
