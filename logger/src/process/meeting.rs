//! One process, one log, also if it holds several copies of the logger: a Rust
//! program beside `liblogdef.so`, a plugin with a copy of its own. A room for
//! unsafe.
//!
//! The copy that is loaded first *leads*: it has the run, the file, the threads.
//! Each later one *follows*: it passes every call on to the leader, which resolves
//! and writes it as if it were one of its own. Nothing on the way of the leader's
//! calls knows of it. A follower's call costs a few nanoseconds more, also one that
//! is off in Rust; C and C++ sites look at the leader's gate themselves.
//!
//! They meet while a copy's image is initialized, which the dynamic linker lets
//! only one thread do at a time:
//!
//! 1. `liblogdef.so` exports a function that says whom it follows or that it leads.
//! 2. Programs export nothing, and plugins are loaded out of each other's sight. So
//!    the leader maps a page of a memory file called [`NAME`], which others find in
//!    `/proc/self/maps`. The page is private: a forked child has its own, with the
//!    same content, which is right for it too.
//!
//! What copies tell each other is [`Services`], and the call site's record and state
//! ([`crate::call::site`]), which were made for strangers in the first place. The name
//! and the symbol carry the version of all that: copies of different versions do
//! not meet, and each has a log of its own.
//!
//! The leader stays in memory for good.

use crate::call::emit;
use crate::call::gate;
use crate::call::site::Site;
use crate::note;
use crate::options::{self, Options};
use crate::process::process;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_char, c_int};
use core::num::NonZeroUsize;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use logdef_wire::Level;
use std::ffi::OsStr;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// The name of the memory file.
const NAME: &CStr = c"logdef-v1";
/// How `/proc/self/maps` calls it.
const MAPPED_AS: &[u8] = b"/memfd:logdef-v1 (deleted)";
/// The function that `liblogdef.so` exports.
const SYMBOL: &CStr = c"logdef_meeting_v1";

/// What a leader does for those who follow it. Members are only ever added.
#[repr(C)]
pub struct Services {
    size: usize,
    gate: *const AtomicU32,
    decide: unsafe extern "C" fn(&Site) -> c_int,
    is_possible: extern "C" fn(u8) -> c_int,
    emit: unsafe extern "C" fn(&Site, *const u8, *const u64),
    emit_text:
        unsafe extern "C" fn(u8, *const c_char, u32, *const c_char, *const u8, *const u64, usize),
    miss: extern "C" fn(u64),
    open: unsafe extern "C" fn(&OpenRequest) -> c_int,
    close: extern "C" fn(),
    sync: extern "C" fn() -> c_int,
    set_level: extern "C" fn(u8),
    set_filter: unsafe extern "C" fn(Text) -> c_int,
    set_backtrace_level: extern "C" fn(u8),
    set_backtrace_depth: extern "C" fn(usize),
    note_panic: unsafe extern "C" fn(Text),
    reserve: extern "C" fn(u64) -> c_int,
}

// SAFETY: constant, and made of functions and the address of a static atomic.
unsafe impl Sync for Services {}

/// What this copy would do as a leader.
static SERVICES: Services = Services {
    size: size_of::<Services>(),
    gate: &process().shared.settings.gate,
    decide: serve_decide,
    is_possible: serve_is_possible,
    emit: emit::emit,
    emit_text: serve_emit_text,
    miss: serve_miss,
    open: serve_open,
    close: serve_close,
    sync: serve_sync,
    set_level: serve_set_level,
    set_filter: serve_set_filter,
    set_backtrace_level: serve_set_backtrace_level,
    set_backtrace_depth: serve_set_backtrace_depth,
    note_panic: serve_note_panic,
    reserve: serve_reserve,
};

/// Whom this copy follows, or itself; null before the meeting.
static LEADER: AtomicPtr<Services> = AtomicPtr::new(ptr::null_mut());

/// The leader, if this copy follows one.
#[inline]
pub(crate) fn leader() -> Option<&'static Services> {
    let leader = LEADER.load(Ordering::Acquire);
    // SAFETY: null, or the services of an image that is never unloaded.
    let leader = unsafe { leader.as_ref() }?;
    (!ptr::eq(leader, &SERVICES)).then_some(leader)
}

/// The leader, as the exported function tells it. Null before the meeting.
pub fn meeting() -> *const Services {
    LEADER.load(Ordering::Acquire)
}

/// Runs when the image is initialized, before other initializers of the usual kind.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".init_array.00099")]
static JOIN: extern "C" fn() = {
    extern "C" fn run() {
        join();
    }
    run
};

/// Meets the other copies, once, and returns whom to follow. Not for handlers.
pub(crate) fn join() -> Option<&'static Services> {
    static JOINED: AtomicBool = AtomicBool::new(false);
    if JOINED.swap(true, Ordering::AcqRel) {
        return leader();
    }
    let found = by_symbol().or_else(by_name);
    let Some(found) = found else {
        LEADER.store((&raw const SERVICES).cast_mut(), Ordering::Release);
        // Without the page only those who find the symbol follow.
        let _ = announce();
        sys::keep_loaded((&raw const SERVICES).cast());
        return None;
    };
    LEADER.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
    // No site of this copy is decided by its own gate from now on.
    process().shared.settings.follow();
    let missed = process().shared.run.missed.swap(0, Ordering::Relaxed);
    if missed > 0 {
        (found.miss)(missed);
    }
    Some(found)
}

fn by_symbol() -> Option<&'static Services> {
    let found = sys::global_symbol(SYMBOL)?;
    // SAFETY: a function of this name and version says whom its copy follows; null
    // in ours, which has met nobody yet.
    unsafe {
        let found: extern "C" fn() -> *const Services = core::mem::transmute(found);
        known(found())
    }
}

fn by_name() -> Option<&'static Services> {
    let page = sys::find_mapping(MAPPED_AS)?;
    // SAFETY: a page of this name was written by `announce`, and is never unmapped.
    unsafe { known(page.cast::<*const Services>().read()) }
}

/// # Safety
///
/// Null, or the services of a copy that leads, of at least the first version.
unsafe fn known(services: *const Services) -> Option<&'static Services> {
    // SAFETY: by the caller.
    let services = unsafe { services.as_ref() }?;
    (services.size >= size_of::<Services>()).then_some(services)
}

/// Maps the page by which other copies find this one.
fn announce() -> Result<(), Errno> {
    let len = NonZeroUsize::new(4096).ok_or(Errno(libc::EINVAL))?;
    let page = sys::allocate_named(NAME, len)?;
    // SAFETY: fresh memory of this size.
    unsafe { page.as_ptr().cast::<*const Services>().write(&SERVICES) };
    sys::protect(page, len);
    Ok(())
}

/// Bytes that are lent for a call; null for none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Text {
    at: *const u8,
    len: usize,
}

impl Text {
    const NONE: Text = Text {
        at: ptr::null(),
        len: 0,
    };

    fn of(bytes: &[u8]) -> Text {
        Text {
            at: bytes.as_ptr(),
            len: bytes.len(),
        }
    }

    /// # Safety
    ///
    /// The bytes are still lent.
    unsafe fn bytes<'b>(self) -> Option<&'b [u8]> {
        // SAFETY: by the caller.
        (!self.at.is_null()).then(|| unsafe { core::slice::from_raw_parts(self.at, self.len) })
    }
}

/// What is opened, and how: [`Options`] for a copy that another compiler made.
#[repr(C)]
pub struct OpenRequest {
    path: Text,
    /// If there is no path; the leader's from then on.
    fd: c_int,
    settings: options::Settings,
    filter: Text,
}

/// [`OpenRequest`] failed because there is a log already.
const ALREADY_OPEN: c_int = -1;

/// The side of those who follow.
impl Services {
    /// Whether a site is on.
    pub(crate) fn decide(&self, site: &Site) -> bool {
        // SAFETY: the gate is a static of the leader's.
        let gate = unsafe { (*self.gate).load(Ordering::Relaxed) };
        match site.state().gate.load(Ordering::Relaxed) {
            off if off == gate => false,
            on if on == gate | 1 => true,
            // SAFETY: the site is one.
            _ => unsafe { (self.decide)(site) != 0 },
        }
    }

    pub(crate) fn is_possible(&self, level: Level) -> bool {
        (self.is_possible)(level.0) != 0
    }

    /// # Safety
    ///
    /// As for [`emit::emit`].
    pub(crate) unsafe fn emit(&self, site: &Site, kinds: *const u8, words: *const u64) {
        // SAFETY: by the caller.
        unsafe { (self.emit)(site, kinds, words) }
    }

    /// # Safety
    ///
    /// As for [`emit::emit_text`].
    #[expect(clippy::too_many_arguments, reason = "those of the other side")]
    pub(crate) unsafe fn emit_text(
        &self,
        level: Level,
        file: &CStr,
        line: u32,
        format: &CStr,
        kinds: *const u8,
        words: *const u64,
        args: usize,
    ) {
        let (file, format) = (file.as_ptr(), format.as_ptr());
        // SAFETY: by the caller.
        unsafe { (self.emit_text)(level.0, file, line, format, kinds, words, args) }
    }

    /// Opens the process's log.
    pub(crate) fn open(&self, options: &Options, to: Target<'_>) -> std::io::Result<()> {
        let filter = options.filter_text();
        let (path, fd) = match to {
            Target::Path(path) => (Text::of(path), -1),
            Target::Descriptor(fd) => (Text::NONE, fd.into_raw_fd()),
        };
        let request = OpenRequest {
            path,
            fd,
            settings: options.settings(),
            filter: filter
                .as_ref()
                .map_or(Text::NONE, |text| Text::of(text.as_bytes())),
        };
        // SAFETY: what the request lends lives until the call is over.
        match unsafe { (self.open)(&request) } {
            0 => Ok(()),
            ALREADY_OPEN => Err(options::already_open()),
            errno => Err(std::io::Error::from_raw_os_error(errno)),
        }
    }

    pub(crate) fn close(&self) {
        (self.close)();
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        match (self.sync)() {
            0 => Ok(()),
            errno => Err(std::io::Error::from_raw_os_error(errno)),
        }
    }

    pub(crate) fn reserve(&self, bytes: u64) -> std::io::Result<()> {
        match (self.reserve)(bytes) {
            0 => Ok(()),
            errno => Err(std::io::Error::from_raw_os_error(errno)),
        }
    }

    pub(crate) fn set_level(&self, level: Level) {
        (self.set_level)(level.0);
    }

    /// Sets a filter that this copy found right.
    pub(crate) fn set_filter(&self, directives: &str) -> bool {
        // SAFETY: the text lives until the call is over.
        unsafe { (self.set_filter)(Text::of(directives.as_bytes())) == 0 }
    }

    pub(crate) fn set_backtrace_level(&self, level: Level) {
        (self.set_backtrace_level)(level.0);
    }

    pub(crate) fn set_backtrace_depth(&self, depth: usize) {
        (self.set_backtrace_depth)(depth);
    }

    /// A panic of this copy's runtime.
    pub(crate) fn note_panic(&self, text: &str) {
        // SAFETY: the text lives until the call is over.
        unsafe { (self.note_panic)(Text::of(text.as_bytes())) }
    }
}

/// Where a log goes.
pub(crate) enum Target<'t> {
    Path(&'t [u8]),
    Descriptor(OwnedFd),
}

unsafe extern "C" fn serve_decide(site: &Site) -> c_int {
    gate::decide(site).into()
}

extern "C" fn serve_is_possible(level: u8) -> c_int {
    gate::is_possible(Level(level)).into()
}

unsafe extern "C" fn serve_emit_text(
    level: u8,
    file: *const c_char,
    line: u32,
    format: *const c_char,
    kinds: *const u8,
    words: *const u64,
    args: usize,
) {
    // SAFETY: by the follower, as its own caller promised.
    unsafe {
        let [file, format] = [file, format].map(|text| CStr::from_ptr(text));
        emit::emit_text(Level(level), file, line, format, kinds, words, args);
    }
}

extern "C" fn serve_miss(calls: u64) {
    process()
        .shared
        .run
        .missed
        .fetch_add(calls, Ordering::Relaxed);
}

unsafe extern "C" fn serve_open(request: &OpenRequest) -> c_int {
    // SAFETY: by the follower: what it lends lives until this returns.
    let (path, filter) = unsafe { (request.path.bytes(), request.filter.bytes()) };
    let opened = Options::of_settings(&request.settings, filter).and_then(|options| {
        match path {
            Some(path) => options.open(OsStr::from_bytes(path)),
            // SAFETY: the follower gave it away.
            None => options.open_fd(unsafe { OwnedFd::from_raw_fd(request.fd) }),
        }
    });
    match opened {
        Ok(_) => 0,
        Err(error) if error.raw_os_error().is_none() => match error.kind() {
            std::io::ErrorKind::AlreadyExists => ALREADY_OPEN,
            _ => libc::EINVAL,
        },
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
    }
}

extern "C" fn serve_sync() -> c_int {
    options::sync().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

extern "C" fn serve_reserve(bytes: u64) -> c_int {
    let reserved = options::reserve(bytes);
    reserved.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

extern "C" fn serve_set_level(level: u8) {
    options::set_level(Level(level));
}

unsafe extern "C" fn serve_set_filter(directives: Text) -> c_int {
    // SAFETY: by the follower.
    let directives = unsafe { directives.bytes() }.unwrap_or_default();
    let directives = core::str::from_utf8(directives).ok();
    directives
        .is_none_or(|directives| options::set_filter(directives).is_err())
        .into()
}

extern "C" fn serve_set_backtrace_level(level: u8) {
    options::set_backtrace_level(Level(level));
}

extern "C" fn serve_close() {
    options::close();
}

extern "C" fn serve_set_backtrace_depth(depth: usize) {
    options::set_backtrace_depth(depth);
}

unsafe extern "C" fn serve_note_panic(text: Text) {
    // SAFETY: by the follower.
    let text = unsafe { text.bytes() }.unwrap_or_default();
    note::note_panic(&String::from_utf8_lossy(text));
}
