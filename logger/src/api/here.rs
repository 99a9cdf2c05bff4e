//! What this copy of the logger does when it leads: one function for each control of
//! [`crate::copies::leader`]'s table. The public functions are in `open` and `control`.

use crate::call::kept;
use crate::captured::Capture;
use crate::changes::Changed;
pub(crate) use crate::context::{current_context, enter_context, next_context};
use crate::copies::crossing::already_open;
use crate::copies::request::{OpenRequest, Target};
use crate::filter::Filter;
use crate::image::digest_cache;
use crate::note::{self, Progress};
use crate::observer::Observer;
use crate::options::{Options, Sink};
use crate::process::{Process, current, process};
use crate::sink::Rotation;
use crate::sink::target::{self, Advice, Target as Place};
use crate::state::RawState;
use crate::sys::{self, Errno};
use crate::{environment, fatal, mirror};
use core::sync::atomic::{AtomicBool, Ordering};
use logdef_wire::Level;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether a log has asked for a note when the process exits.
static NOTES_AT_EXIT: AtomicBool = AtomicBool::new(false);

/// Opens the log of the process.
pub(crate) fn open(request: &OpenRequest<'_>) -> io::Result<()> {
    let target = request.take_target()?;
    let options = request.options()?;
    if options.rotation.keep.is_some() && !options.rotation.is_wanted() {
        // A number of files to keep needs a size or an age of files.
        return Err(Errno(libc::EINVAL).into());
    }
    let opening = Opening::of(target, options.sink)?;
    let process = process();
    process.notice_forks();
    if !process.shared.run.begin_open() {
        return Err(already_open());
    }
    let mut ignored = Vec::new();
    let why = opening.why();
    let is_controlled = is_control_wanted(&options, &mut ignored);
    let controlled = opening.file().filter(|_| is_controlled);
    let opened = opening.set(process, options.rotation).and_then(|()| {
        apply(process, &options, &mut ignored);
        logdef_unwind::modules::refresh();
        logdef_unwind::warm_up();
        logdef_unwind::register_thread();
        logdef_unwind::modules::index_exports();
        digest_cache::find_place();
        let program = process.images.of(sys::main_program_address());
        program.map(|(_, program)| program.identity());
        handle_signals(&options)?;
        process.finish_open()
    });
    opened.inspect_err(|_| process.shared.run.abandon_open())?;
    if !NOTES_AT_EXIT.swap(true, Ordering::Relaxed) {
        sys::at_exit(note::drops_at_exit);
    }
    process.sink.set_why(why);
    if let Some(Err(errno)) = controlled.map(|path| begin_control(process, &path, &options)) {
        note::sink(
            process,
            &format!("no control page: {}", note::in_words(errno)),
        );
    }
    if options.helper {
        process.sink.start_helper(&process.shared, helper_round);
    }
    process.shared.set_ages_at(process.sink.ages_at());
    kept::write_all(process);
    if let Some(why) = why {
        note::sink(process, why);
    }
    for setting in &ignored {
        mirror::print_line(setting);
        note::ignored_setting(process, setting);
    }
    Ok(())
}

fn handle_signals(options: &Options) -> Result<(), Errno> {
    if options.signal_notes {
        fatal::note_signals()?;
    }
    if options.guard {
        fatal::guard()?;
    }
    Ok(())
}

/// How a sink is set to what a request asks for.
enum Opening {
    Descriptor(OwnedFd),
    At { target: Place, advice: Advice },
}

impl Opening {
    fn of(target: Target<'_>, sink: Sink) -> io::Result<Opening> {
        let path = match target {
            Target::Descriptor(fd) => return Ok(Opening::Descriptor(fd)),
            Target::Path(path) => path,
        };
        let target = target::find(path)?;
        let map = match (&target, sink) {
            (Place::File(path), Sink::Auto) => {
                let advice = target::advice(path);
                return Ok(Opening::At { target, advice });
            }
            (Place::File(path), Sink::Mapped) if target::can_reserve(path) => true,
            (Place::File(_), Sink::Mapped) => return Err(Errno(libc::EOPNOTSUPP).into()),
            (_, Sink::Mapped) => return Err(Errno(libc::EINVAL).into()),
            (_, Sink::Auto | Sink::Append) => false,
        };
        let advice = Advice { map, why: None };
        Ok(Opening::At { target, advice })
    }

    /// Why the sink is not the one that is used for most files.
    fn why(&self) -> Option<&'static str> {
        match self {
            Opening::Descriptor(_) => None,
            Opening::At { advice, .. } => advice.why,
        }
    }

    /// The path of a log in a file.
    fn file(&self) -> Option<PathBuf> {
        match self {
            Opening::At {
                target: Place::File(path),
                ..
            } => Some(path.to_path_buf()),
            _ => None,
        }
    }

    fn set(self, process: &Process, rotation: Rotation) -> Result<(), Errno> {
        match self {
            Opening::Descriptor(fd) => process.sink.set_descriptor(fd.into_raw_fd()),
            Opening::At { target, advice } => process.sink.set(target, advice.map, rotation),
        }
    }
}

/// What the helper does beside its own work. Returns after how many milliseconds again.
fn helper_round() -> i32 {
    let process = process();
    if process.control.helper_looks(&process.shared) && process.shared.run.is_ready() {
        note::asked::report(process);
    }
    process.control.helper_pause_ms()
}

/// Whether the options allow control, or where they are silent the environment; what is wrong
/// there is added to `ignored`.
fn is_control_wanted(options: &Options, ignored: &mut Vec<String>) -> bool {
    let of_environment = || {
        let text = environment::text("LOGDEF_CTL").unwrap_or_default();
        match text.trim() {
            "" | "0" => false,
            "1" => true,
            _ => {
                ignored.push(format!("LOGDEF_CTL: `{text}` is neither 1 nor 0"));
                false
            }
        }
    };
    let wanted = options.control.unwrap_or_else(of_environment);
    wanted && !sys::has_borrowed_rights()
}

/// Makes the control page of a log that was opened at `path`.
fn begin_control(process: &Process, path: &Path, options: &Options) -> Result<(), Errno> {
    let path = std::path::absolute(path)
        .map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EINVAL)))?;
    let path = path.as_os_str().as_bytes();
    process.control.begin(&process.shared, path, options.helper)
}

/// Obeys the environment before the log is open: calls that are made until then are
/// shown, and kept, by what it says. What is wrong in it is reported when the log opens.
pub(crate) fn obey_environment() {
    let process = process();
    if let Ok(Some(level)) = mirror::level_of_environment() {
        process.set_mirror_level(Some(level));
    }
    if let Ok(Some(filter)) = filter_of_environment() {
        process.shared.settings.set_filter(filter);
    }
}

fn filter_of_environment() -> Result<Option<Filter>, String> {
    let Some(text) = environment::text("LOGDEF") else {
        return Ok(None);
    };
    let filter = Filter::parse(&text);
    filter.map(Some).map_err(|error| format!("LOGDEF: {error}"))
}

/// Applies the options, and where they are silent the environment; what is wrong there is
/// added to `ignored`. Names each option, so that none is stored and never applied.
fn apply(process: &Process, options: &Options, ignored: &mut Vec<String>) {
    let Options {
        // The file is made by them.
        sink: _,
        rotation: _,
        clock,
        level,
        filter,
        backtrace_level,
        backtrace_depth,
        max_string,
        mirror,
        // Each copy of the logger has the hook of its own standard library.
        panic_notes: _,
        // `handle_signals` does.
        signal_notes: _,
        guard: _,
        // They begin when the log is open.
        helper: _,
        control: _,
    } = options;
    let settings = &process.shared.settings;
    process.shared.clock.set(*clock);
    if let Some(level) = *level {
        settings.set_level(level);
    }
    if let Some(level) = *backtrace_level {
        process.set_backtrace_level(level);
    }
    if let Some(depth) = *backtrace_depth {
        settings.set_backtrace_depth(depth);
    }
    if let Some(bytes) = *max_string {
        settings.set_max_string(bytes);
    }
    let mirrored = match *mirror {
        Some(level) => Some(level),
        None => mirror::level_of_environment().unwrap_or_else(|text| {
            ignored.push(format!("LOGDEF_STDERR: `{text}` is not a level"));
            None
        }),
    };
    process.set_mirror_level(mirrored);
    let filter = match filter {
        Some(filter) => Some(filter.clone()),
        None => filter_of_environment().unwrap_or_else(|error| {
            ignored.push(error);
            None
        }),
    };
    if let Some(filter) = filter {
        settings.set_filter(filter);
    }
}

pub(crate) fn close() {
    let process = process();
    if process.shared.run.is_open() {
        note::drops(process);
    }
    process.close();
}

pub(crate) fn sync() -> io::Result<()> {
    let process = process();
    if !process.shared.run.is_open() {
        return Ok(());
    }
    let progress = Progress::of(process);
    let synced = process.sink.sync(&process.shared);
    progress.note(process, synced);
    note::drops(process);
    // These notes may have begun another file.
    process.sink.finish_rotation(&process.shared);
    let shared = &process.shared;
    match shared.reports.why_refused() {
        // What is missing is not on record.
        Some(errno) if shared.run.drops.unnoted() > 0 => Ok(synced.and(Err(errno))?),
        _ => Ok(synced?),
    }
}

pub(crate) fn reopen() -> io::Result<()> {
    let shared = &process().shared;
    if !shared.run.is_open() {
        return Err(Errno(libc::ENOTCONN).into());
    }
    shared.ask_to_reopen();
    Ok(())
}

pub(crate) fn state(into: &mut RawState) {
    let process = process();
    let shared = &process.shared;
    *into = RawState::new();
    into.is_open = shared.run.is_open().into();
    into.is_mapped = process.sink.is_mapped().into();
    into.errno = shared.reports.why_refused().map_or(0, |errno| errno.0);
    let pending = shared.threads.iter();
    let pending = pending.map(|thread| thread.dropped.load(Ordering::Relaxed));
    let missed = shared.run.missed.load(Ordering::Relaxed);
    into.unreported = pending.sum::<u64>().min(shared.run.drops.unnoted()) + missed;
    into.dropped = shared.run.drops.count();
    process.sink.describe(into);
    let path = OsStr::from_bytes(sys::until_nul(&into.path));
    into.file_bytes = std::fs::metadata(path).map_or(0, |file| file.len());
}

pub(crate) fn reserve(bytes: u64) -> io::Result<()> {
    let process = process();
    if process.shared.run.is_open() {
        Ok(process.sink.prepare(bytes)?)
    } else {
        Err(Errno(libc::ENOTCONN).into())
    }
}

pub(crate) fn unwritten() -> u64 {
    let process = process();
    let thread = current(process);
    let missed = process.shared.run.missed.load(Ordering::Relaxed);
    thread.map_or(missed, |thread| thread.dropped.load(Ordering::Relaxed))
}

pub(crate) fn set_level(level: Level) {
    process().shared.settings.set_level(level);
}

pub(crate) fn set_filter(directives: &str) -> io::Result<()> {
    let filter = Filter::parse(directives).map_err(|_| Errno(libc::EINVAL))?;
    process().shared.settings.set_filter(filter);
    Ok(())
}

pub(crate) fn set_backtrace_level(level: Level) {
    process().set_backtrace_level(level);
}

pub(crate) fn set_backtrace_depth(depth: usize) {
    process().shared.settings.set_backtrace_depth(depth);
}

pub(crate) fn set_observer(observer: Option<(Level, &'static dyn Observer)>) {
    process().set_observer(observer);
}

pub(crate) fn begin_capture(capture: &'static Capture) {
    process().begin_capture(capture);
}

pub(crate) fn end_capture(_capture: &'static Capture) {
    process().end_capture();
}

pub(crate) fn on_change(changed: Changed) -> bool {
    // The function may be that of a library that is unloaded.
    sys::keep_loaded(changed as *const ());
    process().shared.settings.listeners.add(changed)
}

pub(crate) fn note_panic(text: &str) {
    note::note_panic(text);
}
