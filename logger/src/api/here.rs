//! What this copy of the logger does when it leads: one function for each control of
//! [`crate::copies::leader`]'s table. The public functions are in `open` and `control`.

use crate::copies::crossing::already_open;
use crate::copies::request::{OpenRequest, Target};
use crate::filter::Filter;
use crate::image::digest_cache;
use crate::note::{self, Progress};
use crate::observer::Observer;
use crate::options::{Options, Sink};
use crate::process::{Process, current, process};
use crate::sink::Rotation;
use crate::sink::target::{self, Target as Place};
use crate::sys::{self, Errno};
use crate::{guard, mirror};
use core::sync::atomic::Ordering;
use logdef_wire::Level;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

/// Opens the log of the process.
pub(crate) fn open(request: &OpenRequest<'_>) -> io::Result<()> {
    let target = request.take_target()?;
    let options = request.options()?;
    if options.rotation.keep.is_some() && options.rotation.file_size.is_none() {
        // A number of files to keep needs a size of files.
        return Err(Errno(libc::EINVAL).into());
    }
    let opening = Opening::of(target, options.sink)?;
    let process = process();
    if !process.shared.run.begin_open() {
        return Err(already_open());
    }
    let opened = opening.set(process, options.rotation).and_then(|()| {
        apply(process, &options);
        logdef_unwind::modules::refresh();
        logdef_unwind::warm_up();
        logdef_unwind::register_thread();
        logdef_unwind::modules::index_exports();
        digest_cache::find_place();
        let program = process.images.of(sys::main_program_address());
        program.map(|(_, program)| program.identity());
        process.finish_open()
    });
    opened.inspect_err(|_| process.shared.run.abandon_open())?;
    if options.signal_notes {
        note::install_signal_handlers()?;
    }
    // After it, so that it is asked first.
    if options.guard {
        guard::install()?;
    }
    Ok(())
}

/// How a sink is set to what a request asks for.
enum Opening {
    Descriptor(OwnedFd),
    At { target: Place, mapped: bool },
}

impl Opening {
    fn of(target: Target<'_>, sink: Sink) -> io::Result<Opening> {
        let path = match target {
            Target::Descriptor(fd) => return Ok(Opening::Descriptor(fd)),
            Target::Path(path) => path,
        };
        let target = target::find(path)?;
        let mapped = match (&target, sink) {
            (Place::File(path), Sink::Auto) => target::may_be_mapped(path),
            (Place::File(_), Sink::Mapped) => true,
            (_, Sink::Mapped) => return Err(Errno(libc::EINVAL).into()),
            _ => false,
        };
        Ok(Opening::At { target, mapped })
    }

    fn set(self, process: &Process, rotation: Rotation) -> Result<(), Errno> {
        match self {
            Opening::Descriptor(fd) => process.sink.set_descriptor(fd.into_raw_fd()),
            Opening::At { target, mapped } => {
                process.sink.set(&process.shared, target, mapped, rotation)
            }
        }
    }
}

fn filter_of_environment() -> Option<Filter> {
    let text = std::env::var("LOGDEF").ok()?;
    Filter::parse(&text).ok()
}

fn apply(process: &Process, options: &Options) {
    let settings = &process.shared.settings;
    process.shared.clock.set(options.clock);
    if let Some(level) = options.level {
        settings.set_level(level);
    }
    if let Some(level) = options.backtrace_level {
        process.set_backtrace_level(level);
    }
    if let Some(depth) = options.backtrace_depth {
        settings.set_backtrace_depth(depth);
    }
    if let Some(bytes) = options.max_string {
        settings.set_max_string(bytes);
    }
    process.set_mirror_level(options.mirror.or_else(mirror::level_of_environment));
    if let Some(filter) = options.filter.clone().or_else(filter_of_environment) {
        settings.set_filter(filter);
    }
}

pub(crate) fn close() {
    process().close();
}

pub(crate) fn sync() -> io::Result<()> {
    let process = process();
    if !process.shared.run.is_open() {
        return Ok(());
    }
    let progress = Progress::of(process);
    let synced = process.sink.sync(&process.shared);
    progress.note(process, synced);
    Ok(synced?)
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

pub(crate) fn note_panic(text: &str) {
    note::note_panic(text);
}
