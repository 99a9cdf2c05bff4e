//! Opening, closing and setting the log. Errors become -1 and `errno`; so does a
//! panic of the logger.

use crate::calls::level_of;
use core::ffi::{CStr, c_char, c_int};
use logdef::abi::RawState;
use logdef::{Filter, Level, Options};
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// The options of `logdef_open_with`, as `logdef.h` declares them.
#[repr(C)]
#[derive(Clone, Copy)]
struct OptionsOfC {
    struct_size: usize,
    sink: c_int,
    clock: c_int,
    level: c_int,
    backtrace_level: c_int,
    backtrace_depth: c_int,
    max_string: c_int,
    file_size: u64,
    files: u64,
    filter: *const c_char,
    mirror_level: c_int,
    fatal_signals: c_int,
    flight_recorder: u64,
    guard: c_int,
    file_mode: c_int,
    file_age: u64,
    folder_bytes: u64,
    file_group: c_int,
    use_umask: c_int,
    helper: c_int,
    control: c_int,
}

/// No padding, whose bytes could be uninitialized.
const _: () = assert!(size_of::<OptionsOfC>() == 112);

impl OptionsOfC {
    const DEFAULT: OptionsOfC = OptionsOfC {
        struct_size: 0,
        sink: 0,
        clock: 0,
        level: 0,
        backtrace_level: 0,
        backtrace_depth: 0,
        max_string: 0,
        file_size: 0,
        files: 0,
        filter: core::ptr::null(),
        mirror_level: 0,
        fatal_signals: 0,
        flight_recorder: 0,
        guard: 0,
        file_mode: 0,
        file_age: 0,
        folder_bytes: 0,
        file_group: 0,
        use_umask: 0,
        helper: 0,
        control: 0,
    };
}

/// Opens the log of the process.
///
/// Signal safety: not async-signal-safe.
///
/// # Safety
///
/// `path` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_open(path: *const c_char) -> c_int {
    // SAFETY: `path` is as `# Safety` demands; options may be null.
    unsafe { logdef_open_with(path, core::ptr::null()) }
}

/// Opens the log of the process with options.
///
/// Signal safety: not async-signal-safe.
///
/// # Safety
///
/// `path` is a C string or null. `options` is null or points to a
/// `logdef_options` that is as large as its first member says, and whose filter is a C string
/// or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_open_with(path: *const c_char, options: *const u8) -> c_int {
    if path.is_null() {
        return result(Err(errno(libc::EFAULT)));
    }
    // SAFETY: `path` is a C string, since not null, and `options` is as `# Safety` demands;
    // its filter is a C string or null, as in every `logdef_options`.
    let (path, options) = unsafe {
        let options = options_at(options).and_then(|options| options_of(&options));
        (CStr::from_ptr(path), options)
    };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    guard(|| {
        options?.open(path)?;
        Ok(())
    })
}

/// Ends the log.
///
/// Signal safety: not async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_close() {
    guard(|| {
        logdef::close();
        Ok(())
    });
}

/// Waits until everything logged so far is on stable storage.
///
/// Signal safety: not async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_sync() -> c_int {
    guard(logdef::sync)
}

/// Asks the next log call to open the log's path again.
///
/// Signal safety: async-signal-safe; leaves `errno` alone when it succeeds.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_reopen() -> c_int {
    let before = io::Error::last_os_error().raw_os_error();
    match logdef::reopen() {
        // A handler leaves errno as it found it.
        Ok(()) => {
            // SAFETY: the address is this thread's errno.
            unsafe { *libc::__errno_location() = before.unwrap_or(0) };
            0
        }
        Err(error) => result(Err(error)),
    }
}

/// Fills in the state of the log.
///
/// Signal safety: not async-signal-safe.
///
/// # Safety
///
/// `into` is null or points to a `logdef_status` that is as large as its first member
/// says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_state(into: *mut u8) -> c_int {
    if into.is_null() {
        return result(Err(errno(libc::EFAULT)));
    }
    // SAFETY: the size is the first member of every version.
    let size = unsafe { into.cast::<usize>().read_unaligned() };
    if !(size_of::<usize>()..=1 << 16).contains(&size) {
        return result(Err(errno(libc::EINVAL)));
    }
    guard(|| {
        let mut state = Box::new(RawState::new());
        logdef::abi::state(&mut state);
        state.struct_size = size;
        // SAFETY: there is room for `size` bytes, as `# Safety` demands. Members that only a
        // newer version of the struct has stay as they are.
        unsafe {
            let from = core::ptr::from_ref(&*state).cast::<u8>();
            into.copy_from_nonoverlapping(from, size.min(size_of::<RawState>()));
        }
        Ok(())
    })
}

/// Reserves room in the log for the next `bytes` bytes.
///
/// Signal safety: not async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_reserve(bytes: u64) -> c_int {
    guard(|| logdef::reserve(bytes))
}

/// Sets the level from which records are written. May be called from any thread.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_set_level(level: c_int) {
    logdef::set_level(level_of(level));
}

/// Sets the level from which records carry backtraces. May be called from any thread.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_set_backtrace_level(level: c_int) {
    logdef::set_backtrace_level(level_of(level));
}

/// Sets how many return addresses a backtrace has at most. May be called from any thread.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_set_backtrace_depth(depth: c_int) {
    logdef::set_backtrace_depth(usize::try_from(depth).unwrap_or(0));
}

/// Lists the libraries that were loaded or unloaded since the last call.
///
/// Signal safety: not async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_modules_changed() {
    logdef::modules_changed();
}

/// Sets the directives that choose which calls are written. May be called from any thread.
///
/// Signal safety: not async-signal-safe.
///
/// # Safety
///
/// `filter` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_set_filter(filter: *const c_char) -> c_int {
    if filter.is_null() {
        return result(Err(errno(libc::EFAULT)));
    }
    // SAFETY: a C string or null, as `# Safety` demands; not null.
    let filter = unsafe { CStr::from_ptr(filter) };
    guard(|| {
        let filter = filter.to_str().map_err(|_| errno(libc::EINVAL))?;
        logdef::set_filter(filter).map_err(|_| errno(libc::EINVAL))
    })
}

/// Returns the table of the copy of the logger that leads, which may be this one; null before
/// one was elected. For other copies of the logger in this process; no part of the C ABI. Its name
/// is historical.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_meeting_v1() -> *const logdef::abi::LeaderTable {
    logdef::abi::leader_or_self()
}

/// Returns the library's version, as a C string.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Reads the options of a caller that may be older or newer than this library.
///
/// # Safety
///
/// As for [`logdef_open_with`].
unsafe fn options_at(options: *const u8) -> io::Result<OptionsOfC> {
    const SIZE: usize = size_of::<OptionsOfC>();
    if options.is_null() {
        return Ok(OptionsOfC::DEFAULT);
    }
    // SAFETY: the size is the first member of every version.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    if !(size_of::<usize>()..=4096).contains(&size) {
        return Err(errno(libc::EINVAL));
    }
    // SAFETY: there are `size` bytes, as `# Safety` demands.
    let bytes = unsafe { core::slice::from_raw_parts(options, size) };
    if bytes.iter().skip(SIZE).any(|byte| *byte != 0) {
        // An option of a later version, which this one does not know.
        return Err(errno(libc::EINVAL));
    }
    let mut known = [0; SIZE];
    let len = size.min(SIZE);
    known[..len].copy_from_slice(&bytes[..len]);
    // SAFETY: all bytes are initialized, and any integers and pointer are a value.
    Ok(unsafe { core::mem::transmute::<[u8; SIZE], OptionsOfC>(known) })
}

/// The logger's options for these; an error if one is out of its range.
///
/// # Safety
///
/// The filter is a C string or null.
unsafe fn options_of(from: &OptionsOfC) -> io::Result<Options> {
    let invalid = || errno(libc::EINVAL);
    let sink = logdef::abi::sink(from.sink).ok_or_else(invalid)?;
    let clock = logdef::abi::clock(from.clock).ok_or_else(invalid)?;
    let mut options = logdef::options().sink(sink).clock(clock);
    if let Some(level) = in_range(from.level, 255)? {
        options = options.level(Level(level as u8));
    }
    if let Some(level) = in_range(from.backtrace_level, 255)? {
        options = options.backtrace_level(Level(level as u8));
    }
    if let Some(depth) = in_range(from.backtrace_depth, 256)? {
        options = options.backtrace_depth(depth);
    }
    if let Some(bytes) = in_range(from.max_string, usize::MAX)? {
        options = options.max_string(bytes);
    }
    if from.file_size > 0 {
        options = options.rotate(from.file_size);
    }
    if from.files > 0 {
        options = options.keep(u32::try_from(from.files).unwrap_or(u32::MAX));
    }
    if !from.filter.is_null() {
        // SAFETY: a C string or null, as `# Safety` demands; not null.
        let filter = unsafe { CStr::from_ptr(from.filter) };
        options = options.filter(filter_of(filter)?);
    }
    if let Some(level) = in_range(from.mirror_level, 255)? {
        options = options.mirror(Level(level as u8));
    }
    if in_range(from.fatal_signals, 1)?.is_some() {
        options = options.note_fatal_signals();
    }
    if from.flight_recorder > 0 {
        options = options.flight_recorder(from.flight_recorder);
    }
    if in_range(from.guard, 1)?.is_some() {
        options = options.guard_against_truncation();
    }
    if let Some(mode) = in_range(from.file_mode, 0o777)? {
        options = options.file_mode(mode as u32);
    }
    if from.file_age > 0 {
        options = options.rotate_after(Duration::from_secs(from.file_age));
    }
    if from.folder_bytes > 0 {
        options = options.folder_bytes(from.folder_bytes);
    }
    if let Some(group) = in_range(from.file_group, c_int::MAX as usize)? {
        options = options.file_group(group as u32);
    }
    if in_range(from.use_umask, 1)?.is_some() {
        options = options.use_umask();
    }
    if in_range(from.helper, 1)?.is_some() {
        options = options.helper();
    }
    if let Some(control) = in_range(from.control, 2)? {
        options = options.control(control == 1);
    }
    Ok(options)
}

fn filter_of(directives: &CStr) -> io::Result<Filter> {
    let directives = directives.to_str().ok();
    let filter = directives.and_then(|directives| Filter::parse(directives).ok());
    filter.ok_or(errno(libc::EINVAL))
}

/// `None` for the default.
fn in_range(option: c_int, max: usize) -> io::Result<Option<usize>> {
    match usize::try_from(option) {
        Ok(0) => Ok(None),
        Ok(option) if option <= max => Ok(Some(option)),
        _ => Err(errno(libc::EINVAL)),
    }
}

fn errno(number: c_int) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// Runs `work`, which may fail and, by mistake, panic. What the logger shares between threads
/// is made of atomics, which stay valid in a panic as they do in a signal handler.
fn guard(work: impl FnOnce() -> io::Result<()>) -> c_int {
    result(catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(errno(libc::EIO))))
}

/// 0, or -1 and `errno`.
fn result(result: io::Result<()>) -> c_int {
    let Err(error) = result else { return 0 };
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        ErrorKind::AlreadyExists => libc::EBUSY,
        ErrorKind::InvalidInput => libc::EINVAL,
        _ => libc::EIO,
    });
    // SAFETY: the address is this thread's errno.
    unsafe { *libc::__errno_location() = number };
    -1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<OptionsOfC, Option<i32>> {
        // SAFETY: the sizes below are not greater than the slices.
        unsafe { options_at(bytes.as_ptr()) }.map_err(|error| error.raw_os_error())
    }

    fn check(options: &OptionsOfC) -> Result<(), Option<i32>> {
        // SAFETY: the filters below are C strings.
        let options = unsafe { options_of(options) };
        options.map(drop).map_err(|error| error.raw_os_error())
    }

    fn with_size(size: usize, rest: &[u8]) -> Vec<u8> {
        [&size.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn options_of_older_callers_end_early() {
        let options = read(&with_size(16, &[2, 0, 0, 0, 1, 0, 0, 0])).unwrap();
        assert_eq!((options.sink, options.clock, options.level), (2, 1, 0));
        assert!(check(&options).is_ok());
    }

    #[test]
    fn options_of_newer_callers_may_only_add_defaults() {
        const SIZE: usize = size_of::<OptionsOfC>();
        let mut newer = with_size(SIZE + 8, &[0; SIZE]);
        assert!(read(&newer).is_ok());
        newer[SIZE] = 1;
        assert_eq!(read(&newer).err(), Some(Some(libc::EINVAL)));
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let default = OptionsOfC::DEFAULT;
        for options in [
            OptionsOfC { sink: 3, ..default },
            OptionsOfC {
                sink: -1,
                ..default
            },
            OptionsOfC {
                clock: 3,
                ..default
            },
            OptionsOfC {
                level: 256,
                ..default
            },
            OptionsOfC {
                level: -1,
                ..default
            },
            OptionsOfC {
                backtrace_level: 256,
                ..default
            },
            OptionsOfC {
                backtrace_depth: 257,
                ..default
            },
            OptionsOfC {
                max_string: -1,
                ..default
            },
            OptionsOfC {
                filter: c"loud".as_ptr(),
                ..default
            },
            OptionsOfC {
                mirror_level: 256,
                ..default
            },
            OptionsOfC {
                fatal_signals: 2,
                ..default
            },
            OptionsOfC {
                guard: 2,
                ..default
            },
            OptionsOfC {
                file_mode: 0o1000,
                ..default
            },
            OptionsOfC {
                file_group: -1,
                ..default
            },
            OptionsOfC {
                use_umask: 2,
                ..default
            },
            OptionsOfC {
                helper: 2,
                ..default
            },
            OptionsOfC {
                control: 3,
                ..default
            },
        ] {
            assert_eq!(check(&options), Err(Some(libc::EINVAL)));
        }
        assert_eq!(check(&default), Ok(()));
        assert_eq!(read(&with_size(1, &[])).err(), Some(Some(libc::EINVAL)));
    }

    #[test]
    fn a_panic_becomes_an_error() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        assert_eq!(guard(|| panic!("in the logger")), -1);
        std::panic::set_hook(hook);
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EIO));
    }
}
