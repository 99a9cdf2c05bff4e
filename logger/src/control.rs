//! Control from outside: `logdef ctl` writes what it wants into a page beside the log
//! ([`logdef_wire::control`]), and the process looks there. Knows neither sinks nor records.
//!
//! No thread waits. A process looks at its page when the *gate* ([`crate::gate`]) has moved
//! since it last looked. `logdef ctl` moves it: it stands in a memory file that nothing can
//! cut short, mapped in the place of the gate's page, and reachable as `/proc/PID/fd/N`. So
//! the next call of any site, also of one that is off, finds its copy of the gate stale and
//! comes here. Where the one who asks cannot see that file, as from another container, calls
//! that are logged look once a second.
//!
//! All that happens here happens in the middle of a log call, perhaps in a signal handler:
//! no allocation, no lock that is waited for, no signal handler meanwhile.

pub(crate) mod change;
mod page;

use crate::fixed_text::FixedText;
use crate::gate::{self, GatePage};
use crate::handler;
use crate::published::Published;
use crate::shared::Shared;
use crate::sys::{self, Errno};
use change::{Change, Ends};
use core::fmt::Write;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use logdef_wire::control::{Block, MOST_FILTER, Request, SIZE, State, Taken};
use page::PageFile;

/// The control of the process's log.
pub(crate) struct Control {
    page: PageFile,
    bell: AtomicI32,
    bell_device: AtomicU64,
    bell_inode: AtomicU64,
    /// The gate at which the process last looked at the page.
    looked_at: AtomicU32,
    /// When (monotonic time) there is something to do.
    due_at: AtomicU64,
    /// The process of which a thread is here, and lets no other in; 0 if none is. A forked
    /// child does not wait for a thread of its parent.
    inside: AtomicU32,
    has_helper: AtomicBool,
    /// The last request for level and filter that was looked at.
    seen: AtomicU64,
    change: Published<Change>,
    /// How many changes there were: their memory is not given back.
    changes: AtomicU32,
    news: AtomicU32,
    process: PageWriter,
    /// When (wall clock) the process was last seen making a record.
    logged: AtomicU64,
}

/// Which process writes the page's state.
struct PageWriter {
    pid: AtomicU32,
    started: AtomicU64,
}

const NEVER: u64 = u64::MAX;

/// How often a process that logs looks, in nanoseconds.
const PERIOD: u64 = 1_000_000_000;

/// How often a log that is closed lets others run before it closes the page.
const PATIENCE: u32 = 10_000;

/// A page of memory each, which is never given back: more changes than a person asks for.
const MOST_CHANGES: u32 = 4096;

/// What has to be written down or done where records can be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct News(u32);

impl News {
    /// Level or filter is another.
    pub const CHANGED: News = News(1);
    /// They are again what the program set, since the time was over.
    pub const ENDED: News = News(2);
    /// The same, since it was asked for.
    pub const RESET: News = News(4);
    /// A filter was refused.
    pub const REFUSED: News = News(8);
    /// Something else is asked for.
    pub const ASKED: News = News(16);
    /// A change was refused: there were as many as a process obeys.
    pub const TOO_MANY: News = News(32);
    /// A change was refused: it cannot be kept.
    pub const NO_MEMORY: News = News(64);

    const NONE: News = News(0);

    pub fn has(self, other: News) -> bool {
        self.0 & other.0 != 0
    }

    fn add(&mut self, other: News) {
        self.0 |= other.0;
    }

    /// Whether calls may be on or off now that were not before.
    fn is_change(self) -> bool {
        self.has(News(News::CHANGED.0 | News::ENDED.0 | News::RESET.0))
    }
}

/// Which request for level and filter was looked at.
struct Answer {
    set: u64,
    is_refused: bool,
}

/// Memory for a page that is read and a block that is written.
struct Scratch(sys::Temporary);

impl Scratch {
    fn new() -> Option<Scratch> {
        let len = const { NonZeroUsize::new(2 * SIZE).unwrap() };
        sys::Temporary::new(len).ok().map(Scratch)
    }

    fn halves(&mut self) -> (&mut [u8], &mut [u8; SIZE]) {
        let (read, rest) = self.0.bytes().split_at_mut(SIZE);
        let (write, _) = rest
            .split_first_chunk_mut()
            .unwrap_or_else(|| unreachable!());
        (read, write)
    }
}

impl Control {
    pub const fn new() -> Control {
        Control {
            page: PageFile::new(),
            bell: AtomicI32::new(-1),
            bell_device: AtomicU64::new(0),
            bell_inode: AtomicU64::new(0),
            looked_at: AtomicU32::new(0),
            due_at: AtomicU64::new(NEVER),
            inside: AtomicU32::new(0),
            has_helper: AtomicBool::new(false),
            seen: AtomicU64::new(0),
            change: Published::new(),
            changes: AtomicU32::new(0),
            news: AtomicU32::new(0),
            process: PageWriter {
                pid: AtomicU32::new(0),
                started: AtomicU64::new(0),
            },
            logged: AtomicU64::new(0),
        }
    }

    /// Makes the page of a log that was just opened at `path`. Not for handlers.
    pub fn begin(&self, shared: &Shared, path: &[u8], has_helper: bool) -> Result<(), Errno> {
        self.page.make(path)?;
        self.has_helper.store(has_helper, Ordering::Relaxed);
        self.seen.store(0, Ordering::Relaxed);
        self.logged.store(0, Ordering::Relaxed);
        self.identify();
        self.hang_bell();
        let mut scratch = Scratch::new().ok_or(Errno(libc::ENOMEM))?;
        let write = scratch.halves().1;
        self.page.write(&Taken::default(), write);
        self.page.write(&Request::default(), write);
        self.write_state(shared, write);
        self.looked_at.store(gate::current(), Ordering::Relaxed);
        self.due_at.store(0, Ordering::Release);
        Ok(())
    }

    /// The log was closed.
    pub fn end(&self) {
        self.due_at.store(NEVER, Ordering::Relaxed);
        if !self.page.exists() {
            return;
        }
        // Not while another thread reads the page; one that syncs may take long.
        let _blocked = sys::SignalsBlocked::new();
        let is_alone = sys::let_others_run_until(PATIENCE, || self.enter());
        self.page.end(self.page.become_holder());
        self.change.replace(None);
        self.close_bell();
        if is_alone {
            self.leave();
        }
    }

    /// The process is a forked child: another thread of its parent may have been here.
    pub fn leave_to_parent(&self) {
        if self.page.exists() {
            self.due_at.store(0, Ordering::Relaxed);
        }
    }

    fn identify(&self) {
        let PageWriter { pid, started } = &self.process;
        pid.store(sys::process_id(), Ordering::Relaxed);
        started.store(sys::process_start(), Ordering::Relaxed);
    }

    /// Puts a memory file in the place of the gate. Where that cannot be, requests are
    /// seen later.
    fn hang_bell(&self) {
        let Ok(fd) = sys::memory_file_of(gate::page()) else {
            return;
        };
        let Ok(identity) = sys::identity(fd) else {
            return sys::close(fd);
        };
        if !sys::map_over(gate::page(), fd) {
            return sys::close(fd);
        }
        self.bell_device.store(identity.file.0, Ordering::Relaxed);
        self.bell_inode.store(identity.file.1, Ordering::Relaxed);
        self.bell.store(fd, Ordering::Release);
        // What happened to the gate since it was copied.
        gate::advance();
    }

    /// The descriptor of the bell, if that is still what it was.
    fn bell(&self) -> Option<i32> {
        let fd = self.bell.load(Ordering::Acquire);
        let file = (
            self.bell_device.load(Ordering::Relaxed),
            self.bell_inode.load(Ordering::Relaxed),
        );
        let is_ours = fd >= 0 && sys::identity(fd).is_ok_and(|found| found.file == file);
        is_ours.then_some(fd)
    }

    fn close_bell(&self) {
        let fd = self.bell();
        self.bell.store(-1, Ordering::Relaxed);
        if let Some(fd) = fd {
            sys::close(fd);
        }
    }

    /// The change in force.
    #[inline]
    pub fn change(&self) -> Option<&'static Change> {
        self.change.get()
    }

    /// A call is about to decide whether it is on: looks at the page if the gate has moved
    /// since the last look, and ends a change whose time is over. `true` if there is something
    /// to write down.
    pub fn heed(&self, shared: &Shared) -> bool {
        if !self.page.exists() {
            return false;
        }
        let is_over = || {
            let ends = self.change().and_then(|change| change.ends);
            ends.is_some_and(|ends| clock() >= ends.monotonic)
        };
        if gate::current() != self.looked_at.load(Ordering::Relaxed) || is_over() {
            self.look(shared, false);
        }
        self.news.load(Ordering::Relaxed) != 0
    }

    /// Whether the page was looked at since the gate became this one, and all that came of it is
    /// written down. If it was not, since another thread is at it or no record can be written yet, a
    /// call must not remember what it decided.
    pub fn has_looked_at(&self, gate: u32) -> bool {
        let has_looked = || self.looked_at.load(Ordering::Acquire) == gate;
        !self.page.exists() || has_looked() && self.news.load(Ordering::Relaxed) == 0
    }

    /// Time passes while records are made.
    #[inline]
    pub fn time_passes(&self, shared: &Shared) {
        let at = self.due_at.load(Ordering::Relaxed);
        if at != NEVER && clock() >= at {
            self.look(shared, true);
            if self.news.load(Ordering::Relaxed) != 0 {
                shared.ask_for_news();
            }
        }
    }

    /// The helper has woken up. `true` if there is something to write down.
    pub fn helper_looks(&self, shared: &Shared) -> bool {
        if self.page.exists() && clock() >= self.due_at.load(Ordering::Relaxed) {
            self.look(shared, false);
        }
        self.news.load(Ordering::Relaxed) != 0
    }

    /// After how many milliseconds the helper is to look again.
    pub fn helper_pause_ms(&self) -> i32 {
        if self.page.exists() { 1_000 } else { i32::MAX }
    }

    /// Takes what has to be written down or done.
    pub fn take_news(&self) -> News {
        News(self.news.swap(0, Ordering::Relaxed))
    }

    fn add_news(&self, news: News) {
        self.news.fetch_or(news.0, Ordering::Relaxed);
    }

    /// Looks at the page, obeys what it asks of level and filter, and says there what is now.
    #[cold]
    fn look(&self, shared: &Shared, is_logging: bool) {
        handler::with_room(|| self.look_now(shared, is_logging));
    }

    fn look_now(&self, shared: &Shared, is_logging: bool) {
        let _blocked = sys::SignalsBlocked::new();
        if !self.enter() {
            return;
        }
        let before = gate::word().load(Ordering::Acquire);
        let now = clock();
        self.due_at.store(now + PERIOD, Ordering::Relaxed);
        if is_logging {
            self.logged
                .store(crate::clock::realtime(), Ordering::Relaxed);
        }
        let mut news = self.end_if_over(now);
        let mut scratch = Scratch::new();
        let mut answer = None;
        if let Some(scratch) = &mut scratch
            && let Some(page) = self.page.read(scratch.halves().0)
        {
            answer = self.obey(page, now, &mut news);
        }
        if let Some(ends) = self.change().and_then(|change| change.ends) {
            self.due_at.fetch_min(ends.monotonic, Ordering::Relaxed);
        }
        let mut looked_at = before;
        if news.is_change() {
            let moved = gate::advance();
            if moved == gate::after(before) {
                looked_at = moved;
            }
            shared.listeners_are_due();
        }
        if let Some(scratch) = &mut scratch {
            if let Some(answer) = answer {
                self.answer(answer, scratch);
            }
            if self.page.become_holder() {
                if self.process.pid.load(Ordering::Relaxed) != sys::process_id() {
                    self.identify();
                }
                self.write_state(shared, scratch.halves().1);
            }
        }
        // Not said before the gate has moved: else calls of other threads would be made as
        // before after the record that says that they are off.
        self.add_news(news);
        self.looked_at.store(looked_at, Ordering::Release);
        self.leave();
    }

    /// Lets this thread in, with signals blocked. `false` while another is inside.
    fn enter(&self) -> bool {
        let me = sys::process_id();
        let (order, failed) = (Ordering::Acquire, Ordering::Relaxed);
        let enter = |from| self.inside.compare_exchange(from, me, order, failed);
        enter(0)
            .or_else(|other| {
                if other == me {
                    Err(other)
                } else {
                    enter(other)
                }
            })
            .is_ok()
    }

    fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }

    fn end_if_over(&self, now: u64) -> News {
        let ends = self.change().and_then(|change| change.ends);
        let is_over = ends.is_some_and(|ends| now >= ends.monotonic);
        if !is_over {
            return News::NONE;
        }
        self.change.replace(None);
        News::ENDED
    }

    /// Obeys a page, and adds what has to be written down. The answer, if the page asks for
    /// another level or filter than before.
    fn obey(&self, page: &[u8], now: u64, news: &mut News) -> Option<Answer> {
        let request = Request::decode(page)?;
        let taken = Taken::decode(page).unwrap_or_default();
        if request.sync > taken.sync || request.rotate > taken.rotate || request.note > taken.note {
            news.add(News::ASKED);
        }
        if request.set == self.seen.load(Ordering::Relaxed) {
            return None;
        }
        let is_refused = !self.set(&request, now, news);
        self.seen.store(request.set, Ordering::Relaxed);
        Some(Answer {
            set: request.set,
            is_refused,
        })
    }

    /// Says in the page how far requests for level and filter were looked at. Not if another of
    /// the family is writing there: it says the same.
    fn answer(&self, answer: Answer, scratch: &mut Scratch) {
        let (read, write) = scratch.halves();
        self.page.alone(|| {
            // Read once more: what else was asked for may have been taken meanwhile.
            let Some(page) = self.page.read(read) else {
                return;
            };
            let mut taken = Taken::decode(page).unwrap_or_default();
            if answer.set > taken.set {
                taken.set = answer.set;
                taken.set_refused = answer.is_refused;
                taken.pid = sys::process_id();
                self.page.write(&taken, write);
            }
        });
    }

    /// Sets level and filter as a request wants them. `false` if it cannot be obeyed.
    fn set(&self, request: &Request<'_>, now: u64, news: &mut News) -> bool {
        let ends = ends(request, now);
        let is_over = ends.is_some_and(|ends| now >= ends.monotonic);
        let change = match Change::of(request, ends) {
            Ok(change) => change.filter(|_| !is_over),
            Err(_) => {
                news.add(News::REFUSED);
                return false;
            }
        };
        let Some(change) = change else {
            if self.change().is_some() {
                self.change.replace(None);
                news.add(News::RESET);
            }
            return true;
        };
        if self.changes.fetch_add(1, Ordering::Relaxed) >= MOST_CHANGES {
            news.add(News::TOO_MANY);
            return false;
        }
        let Ok(change) = sys::allocate_for(change) else {
            news.add(News::NO_MEMORY);
            return false;
        };
        self.change.replace(Some(change));
        news.add(News::CHANGED);
        true
    }

    fn write_state(&self, shared: &Shared, scratch: &mut [u8; SIZE]) {
        let settings = &shared.settings;
        let change = self.change();
        let mut filter = FixedText::<MOST_FILTER>::new();
        // What does not fit is left out at a directive's end.
        let _ = match change.filter(|change| change.level().is_none()) {
            Some(change) => filter.push(change.text().as_bytes()),
            None => settings
                .filter()
                .map_or(Ok(()), |own| write!(filter, "{own}")),
        };
        let mut boot = [0; 64];
        let mut boot_id = [0; 36];
        if let Some(known) = shared.run.host.boot_id(&mut boot) {
            let len = known.len().min(36);
            boot_id[..len].copy_from_slice(&known[..len]);
        }
        let bell = self.bell();
        let level = change.and_then(Change::level);
        let state = State {
            run: Some(shared.run.id()),
            pid: self.process.pid.load(Ordering::Relaxed),
            user: self.page.user(),
            started: self.process.started.load(Ordering::Relaxed),
            boot: boot_id,
            written: crate::clock::realtime(),
            logged: self.logged.load(Ordering::Relaxed),
            dropped: shared.run.drops.count(),
            bell: bell.map_or((0, 0), |_| {
                let device = self.bell_device.load(Ordering::Relaxed);
                (device, self.bell_inode.load(Ordering::Relaxed))
            }),
            bell_descriptor: bell.map_or(0, |fd| fd as u32),
            level: level.unwrap_or_else(|| settings.level()),
            is_set: change.is_some(),
            has_helper: self.has_helper.load(Ordering::Relaxed),
            until: change
                .and_then(|change| change.ends)
                .map_or(0, |ends| ends.realtime),
            filter: filter.bytes(),
        };
        self.page.write(&state, scratch);
    }

    /// Takes what is asked for beside level and filter, if something is: one of the family
    /// does. The requests that are new to it, and what it says of them afterwards; `false` if
    /// something of it is left. What is left, the next call finds again: another thread may be
    /// at the page, which has looked already at what is asked for, or another process.
    pub fn take_asked(&self, mut work: impl FnMut(&Request<'_>, &mut Taken) -> bool) {
        // A handler that left this by a jump would leave it busy.
        let _blocked = sys::SignalsBlocked::new();
        let is_all = self.enter() && {
            let taken =
                Scratch::new().and_then(|mut scratch| self.take_with(&mut scratch, &mut work));
            self.leave();
            taken == Some(true)
        };
        if !is_all {
            gate::advance();
        }
    }

    fn take_with(
        &self,
        scratch: &mut Scratch,
        work: &mut impl FnMut(&Request<'_>, &mut Taken) -> bool,
    ) -> Option<bool> {
        let (read, write) = scratch.halves();
        self.page.alone(|| {
            let page = self.page.read(read)?;
            let request = Request::decode(page)?;
            let mut taken = Taken::decode(page).unwrap_or_default();
            let is_all = work(&request, &mut taken);
            taken.pid = sys::process_id();
            self.page.write(&taken, write);
            Some(is_all)
        })?
    }
}

const _: () = assert!(size_of::<GatePage>() == GatePage::LEN);

/// The clock of deadlines.
fn clock() -> u64 {
    sys::clock(libc::CLOCK_MONOTONIC_COARSE)
}

/// When what a request wants ends: counted from when it was asked for, so that one that was
/// pending for long ends when the person expects it. A wall clock that was set may shorten
/// the time, never make it longer.
fn ends(request: &Request<'_>, now: u64) -> Option<Ends> {
    if request.lasts == 0 {
        return None;
    }
    let realtime = crate::clock::realtime();
    let gone = realtime.saturating_sub(request.asked);
    let left = request.lasts.saturating_sub(gone);
    Some(Ends {
        monotonic: now.saturating_add(left),
        realtime: realtime.saturating_add(left),
    })
}
