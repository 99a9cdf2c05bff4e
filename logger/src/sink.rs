//! Where frames go. A sink takes the frames of one call, which are to stand
//! together and in their order, and knows nothing of what is in them beyond
//! their lengths.

mod anchor;
mod append;
#[allow(unsafe_code)]
mod children;
#[allow(unsafe_code)]
mod chunk;
#[allow(unsafe_code)]
mod family;
mod file;
pub(crate) mod file_system;
mod folder;
#[allow(unsafe_code)]
mod kept_path;
#[allow(unsafe_code)]
mod lent;
#[allow(unsafe_code)]
mod mapped;
mod names;
mod outlet;
mod owed;
mod owner;
mod retry;
#[allow(unsafe_code)]
mod room;
mod rotation;
mod stream;
pub(crate) mod target;
mod unsynced;

use append::Append;
pub(crate) use chunk::Claim;
pub(crate) use owed::DropCount;
pub(crate) use rotation::{Access, Rotation};

use crate::published::Published;
use crate::shared::Shared;
use crate::state::{self, RawState};
use crate::sys::{self, Errno};
use crate::thread::Thread;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use logdef_wire::Run;
use mapped::Mapped;
use owed::{Owed, Writes};
use retry::Retry;
use std::os::unix::ffi::OsStrExt;
use stream::Writer;
use target::Target;

/// What became of the frames of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Put {
    /// They are in this chunk of the log.
    Done(u32),
    /// A signal handler moved the thread to another chunk meanwhile: what the
    /// chunk defines must be looked at again.
    Moved,
    /// They do not fit into the chunk: the thread needs another.
    Full,
    /// There is no room for them.
    Dropped,
}

/// The sink of the process: one of these at a time, chosen when the log is opened.
pub(crate) struct Sink {
    kind: AtomicU8,
    /// Why it is the one that was chosen, if that is not plain.
    why: Published<&'static str>,
    append: Append,
    mapped: Mapped,
    /// When it is tried again to open the log again, which was refused.
    reopening: Retry,
    /// This process had no room for its last note.
    lacks_room: AtomicBool,
}

const APPEND: u8 = 0;
const MAPPED: u8 = 1;

/// The sink that was chosen.
enum Chosen<'s> {
    Append(&'s Append),
    Mapped(&'s Mapped),
}

impl Sink {
    pub const fn new() -> Sink {
        Sink {
            kind: AtomicU8::new(APPEND),
            why: Published::new(),
            append: Append::new(),
            mapped: Mapped::new(),
            reopening: Retry::new(),
            lacks_room: AtomicBool::new(false),
        }
    }

    /// Opens what a target is, by `mapped` if it is a file.
    pub fn set(&self, target: Target, mapped: bool, rotation: Rotation) -> Result<(), Errno> {
        owner::note_opening();
        self.reopening.granted();
        self.append.let_go();
        match target {
            Target::File(path) if mapped => {
                return self.set_mapped(path.as_os_str().as_bytes(), rotation);
            }
            Target::File(path) => self.append.open(path, rotation)?,
            // Only files rotate.
            _ if rotation.is_wanted() => return Err(Errno(libc::EINVAL)),
            Target::Special(path) => self.append.open_special(path, rotation)?,
            Target::Stream(fd) => self.append.open_stream(fd)?,
        }
        self.kind.store(APPEND, Ordering::Release);
        Ok(())
    }

    /// Sends what comes to a descriptor.
    pub fn set_descriptor(&self, fd: c_int) -> Result<(), Errno> {
        self.reopening.granted();
        self.append.open_descriptor(fd)?;
        self.kind.store(APPEND, Ordering::Release);
        Ok(())
    }

    /// Maps a file at `path`.
    fn set_mapped(&self, path: &[u8], rotation: Rotation) -> Result<(), Errno> {
        self.mapped.open(path, rotation)?;
        self.kind.store(MAPPED, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn chosen(&self) -> Chosen<'_> {
        if self.kind.load(Ordering::Relaxed) == MAPPED {
            Chosen::Mapped(&self.mapped)
        } else {
            Chosen::Append(&self.append)
        }
    }

    /// The chunk that the thread's next frames go to, if it has one.
    pub fn chunk(&self, thread: &Thread) -> Option<u32> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.chunk(thread),
            Chosen::Append(append) => Some(append.chunk()),
        }
    }

    /// The chunk that the thread's next frame goes to, if it has one of a mapped
    /// log.
    #[inline(always)]
    pub fn mapped_chunk(&self, thread: &Thread) -> Option<u32> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.chunk(thread),
            Chosen::Append(_) => None,
        }
    }

    /// [`Sink::put`] of one frame with this body into a [`Sink::mapped_chunk`].
    #[inline(always)]
    pub fn put_mapped(&self, thread: &Thread, checksum: u32, body: &[u8], chunk: u32) -> Put {
        self.mapped.put_frame(thread, checksum, body, chunk)
    }

    /// Puts the frames of one call where the thread writes; only into `chunk`, if
    /// one is given.
    pub fn put(&self, shared: &Shared, thread: &Thread, frames: &[u8], chunk: Option<u32>) -> Put {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.put(thread, frames, chunk),
            Chosen::Append(append) => {
                match append.put(shared, frames, chunk, writer(shared, thread)) {
                    Ok(put) => {
                        if put != Put::Moved {
                            shared.write_succeeded();
                        }
                        put
                    }
                    Err(errno) => {
                        shared.reports.write_failed(errno);
                        Put::Dropped
                    }
                }
            }
        }
    }

    /// Claims a chunk for the thread, with room for `need` bytes and as many
    /// again.
    pub fn claim(&self, shared: &Shared, thread: &Thread, need: u64) -> Option<Claim> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.claim(shared, thread, need),
            Chosen::Append(_) => None,
        }
    }

    /// See [`Mapped::pruned_from`].
    pub fn pruned_from(&self, thread: &Thread, claim: Claim, offset: u64) -> Option<(i64, u64)> {
        self.mapped.pruned_from(thread, claim, offset)
    }

    /// Lets the thread write to a chunk that it claimed, after the frames that
    /// open it.
    pub fn enter(&self, thread: &Thread, claim: Claim, opening: &[u8]) {
        self.mapped.enter(thread, claim, opening);
    }

    /// Writes a note into room that is reserved for it, or beyond the size of a file that no other
    /// can follow.
    pub fn put_note(&self, shared: &Shared, frame: &[u8]) -> bool {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.put_note(frame),
            Chosen::Append(append) => append.put_note(shared, frame),
        }
    }

    /// Keeps a count that stands in no note so far, in case that this process cannot write one.
    #[cold]
    pub fn keep_count(&self, count: DropCount, pid: u32) {
        let writes = if self.lacks_room.load(Ordering::Relaxed) {
            Writes::Others
        } else {
            Writes::Itself(pid)
        };
        self.with_owed(|owed| owed.keep(count, writes));
    }

    /// Whether this process had room for its last note of drops.
    pub fn set_has_room(&self, has_room: bool) {
        self.lacks_room.store(!has_room, Ordering::Relaxed);
    }

    /// A run has written its count down.
    pub fn forget_count(&self, run: Run) {
        self.with_owed(|owed| owed.forget(run));
    }

    /// Hands the counts that other members of the family owe to `write`, which says whether the log has one now, up
    /// to the first that it has not. Whether it has all of them.
    pub fn settle(&self, write: impl FnMut(&DropCount) -> bool) -> bool {
        self.with_owed(|owed| owed.settle(write)).unwrap_or(true)
    }

    fn with_owed<T>(&self, work: impl FnOnce(&Owed) -> T) -> Option<T> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.with_owed(work),
            Chosen::Append(append) => append.with_owed(work),
        }
    }

    /// Continues in another file under the same path.
    pub fn reopen(&self, shared: &Shared) -> Result<(), Errno> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.reopen(shared),
            Chosen::Append(append) => {
                append.ask_to_reopen();
                Ok(())
            }
        }
    }

    /// The same if it was asked for, by a call whose record was refused: the file that is written to may be full, or
    /// on a disk that is, and the path lead elsewhere by now. Not by a call of a thread that has no place for one more
    /// window: it would be refused in that file too, and the call that was interrupted waits meanwhile.
    #[cold]
    pub(crate) fn reopen_if_asked(&self, shared: &Shared, thread: &Thread) {
        let now = || sys::clock(libc::CLOCK_MONOTONIC_COARSE);
        if thread.lasting().windows.are_full()
            || self.reopening.is_paused(now)
            || !shared.reports.take_reopen()
        {
            return;
        }
        match self.reopen(shared) {
            Ok(()) => self.reopening.granted(),
            Err(errno) => {
                self.reopening.refused(now(), errno);
                shared.ask_to_reopen();
            }
        }
        shared.update_slow_path_level();
    }

    /// When (monotonic time) the file that is written to is old enough to be followed by
    /// another; `None` if it never is.
    pub fn ages_at(&self) -> Option<u64> {
        let (begun, age) = match self.chosen() {
            Chosen::Mapped(mapped) => mapped.age(),
            Chosen::Append(append) => append.age(),
        };
        (age > 0).then(|| begun.saturating_add(age))
    }

    /// Says why the sink was chosen. Allocates.
    pub fn set_why(&self, why: Option<&'static str>) {
        self.why.replace(why.map(|why| &*Box::leak(Box::new(why))));
    }

    /// Whether the mapped sink was chosen.
    pub fn is_mapped(&self) -> bool {
        matches!(self.chosen(), Chosen::Mapped(_))
    }

    /// Fills in why the sink was chosen, and where the log goes.
    pub fn describe(&self, into: &mut RawState) {
        if let Some(why) = self.why.get() {
            state::copy(&mut into.why, why.as_bytes());
        }
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.describe(into),
            Chosen::Append(append) => append.describe(into),
        }
    }

    /// Makes the next `bytes` bytes of the log ready to be written.
    pub fn prepare(&self, bytes: u64) -> Result<(), Errno> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.prepare(bytes),
            Chosen::Append(_) => Ok(()),
        }
    }

    /// See [`Mapped::replace_page`].
    pub fn replace_page(&self, shared: &Shared, address: usize) -> bool {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.replace_page(shared, address),
            Chosen::Append(_) => false,
        }
    }

    /// See [`Mapped::start_helper`]. An appended log needs none.
    pub fn start_helper(&'static self, shared: &'static Shared, each_round: fn() -> i32) {
        if let Chosen::Mapped(mapped) = self.chosen() {
            mapped.start_helper(shared, each_round);
        }
    }

    /// See [`Mapped::stop_helper`].
    pub fn stop_helper(&self, shared: &Shared) {
        self.mapped.stop_helper(shared);
    }

    /// Whether the log is in files: a stream may make who writes to it wait for its reader.
    pub fn is_in_files(&self) -> bool {
        match self.chosen() {
            Chosen::Mapped(_) => true,
            Chosen::Append(append) => append.is_file(),
        }
    }

    /// Lets go of the files of a log that was closed.
    pub fn let_go(&self, shared: &Shared) {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.let_go(shared, Thread::mine()),
            Chosen::Append(append) => append.let_go(),
        }
    }

    /// See [`Mapped::settle_rotation`].
    pub fn settle_rotation(&self, shared: &Shared) {
        if let Chosen::Mapped(mapped) = self.chosen() {
            mapped.settle_rotation(shared);
        }
    }

    /// See [`Mapped::finish_last_rotation`].
    pub fn finish_rotation(&self, shared: &Shared) {
        if let Chosen::Mapped(mapped) = self.chosen() {
            mapped.finish_last_rotation(shared);
        }
    }

    /// See [`Mapped::heed_evictions`].
    #[inline]
    pub fn heed_evictions(&self, thread: &Thread) {
        self.mapped.heed_evictions(thread);
    }

    /// The process is a forked child, which may be in the middle of a call.
    pub fn leave_to_parent(&self, shared: &Shared, mine: Option<&Thread>) {
        children::enter();
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.leave_to_parent(shared, mine),
            Chosen::Append(append) => append.forget_users(),
        }
    }

    /// The process is a forked child now.
    pub fn become_child(&self, shared: &Shared, mine: Option<&Thread>) {
        children::enter();
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.become_child(shared, mine),
            Chosen::Append(append) => append.begin_run(),
        }
    }

    /// The name of the file system that holds the log, where it is known.
    pub fn file_system(&self) -> Option<&'static [u8]> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.file_system(),
            Chosen::Append(append) => append.file_system(),
        }
    }

    /// Waits until everything written is on stable storage.
    pub fn sync(&self, shared: &Shared) -> Result<(), Errno> {
        match self.chosen() {
            Chosen::Mapped(mapped) => mapped.sync(shared),
            Chosen::Append(append) => append.sync(shared),
        }
    }
}

fn writer<'s>(shared: &'s Shared, thread: &'s Thread) -> Writer<'s> {
    Writer {
        is_nested: thread.lasting().calls.are_nested(),
        thread,
        run: &shared.run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Threads;
    use logdef_wire::frame;

    /// A frame around a record of no fields.
    fn a_frame() -> Vec<u8> {
        let mut buffer = [0; 64];
        let len = frame::encode(&mut buffer, |encoder| encoder.bytes(&[0, 0x80])).unwrap();
        buffer[..len].to_vec()
    }

    #[test]
    fn a_mapped_sink_needs_no_more_than_it_is_handed() {
        static THREADS: Threads = Threads::new();
        static SHARED: Shared = Shared::new(&THREADS);
        static SINK: Sink = Sink::new();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let target = Target::File(path.clone());
        SINK.set(target, true, Rotation::default()).unwrap();
        let thread = SHARED.threads.claim().unwrap();
        let frame = a_frame();

        assert_eq!(SINK.put(&SHARED, thread, &frame, None), Put::Full);
        let claim = SINK.claim(&SHARED, thread, frame.len() as u64).unwrap();
        SINK.enter(thread, claim, &frame);
        let chunk = SINK.chunk(thread).unwrap();
        assert_eq!(SINK.put(&SHARED, thread, &frame, None), Put::Done(chunk));
        assert_eq!(
            SINK.put(&SHARED, thread, &frame, Some(chunk + 1)),
            Put::Moved
        );

        let written = std::fs::read(&path).unwrap();
        assert!(written.starts_with(&frame));
        // Room is kept for notes.
        assert!(SINK.put_note(&SHARED, &frame));
        let noted = std::fs::read(&path).unwrap();
        assert!(noted.starts_with(&[&frame[..], &frame].concat()));
        let rest = &written[frame.len()..];
        let at = rest.iter().position(|byte| *byte != 0).unwrap();
        assert!(at >= 512 && rest[at..].starts_with(&frame));
        assert!(rest[at + frame.len()..].iter().all(|byte| *byte == 0));
        let more = (0..1000).filter(|_| SINK.put_note(&SHARED, &frame)).count();
        assert!(more > 10 && more < 1000, "{more}");
        assert_eq!(
            std::fs::read(&path).unwrap()[frame.len() + at..],
            rest[at..]
        );
    }

    #[test]
    fn an_appended_sink_needs_no_more_either() {
        static THREADS: Threads = Threads::new();
        static SHARED: Shared = Shared::new(&THREADS);
        static SINK: Sink = Sink::new();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let target = Target::File(path.clone());
        SINK.set(target, false, Rotation::default()).unwrap();
        let thread = SHARED.threads.claim().unwrap();
        let frame = a_frame();
        let chunk = SINK.chunk(thread);
        assert!(chunk.is_some());
        assert!(matches!(
            SINK.put(&SHARED, thread, &frame, chunk),
            Put::Done(_)
        ));
        assert_eq!(std::fs::read(&path).unwrap(), frame);
        assert!(SINK.claim(&SHARED, thread, 10).is_none());
        assert!(!SHARED.reports.is_due());
    }
}
