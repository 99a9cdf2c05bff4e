//! What a program sets, in words that calls read: levels, bounds, the filter. Knows
//! neither threads nor files.

use crate::changes::Listeners;
use crate::filter::Filter;
use crate::gate;
use crate::published::Published;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, Ordering};
use logdef_wire::Level;

/// Return addresses of a backtrace beyond these are left out.
pub(crate) const MAX_BACKTRACE: usize = 256;

/// Bytes of a string beyond these are cut off.
pub(crate) const MAX_STRING: usize = 60_000;

/// A depth for which calls keep room on the stack that a signal handler has.
pub(crate) const USUAL_BACKTRACE: usize = 64;

/// A level above that of every record.
const NEVER: u8 = u8::MAX;

/// The settings of the process.
pub(crate) struct Settings {
    level: AtomicU8,
    backtrace_level: AtomicU8,
    /// From which the mirror or an observer wants records.
    shown_level: AtomicU8,
    slow_path_level: AtomicU8,
    backtrace_depth: AtomicU16,
    max_string: AtomicU32,
    notes_signals: AtomicBool,
    filter: Published<Filter>,
    pub listeners: Listeners,
}

impl Settings {
    pub const fn new() -> Settings {
        Settings {
            level: AtomicU8::new(Level::TRACE.0),
            backtrace_level: AtomicU8::new(Level::ERROR.0),
            shown_level: AtomicU8::new(NEVER),
            slow_path_level: AtomicU8::new(Level::ERROR.0),
            backtrace_depth: AtomicU16::new(32),
            max_string: AtomicU32::new(16 << 10),
            notes_signals: AtomicBool::new(false),
            filter: Published::new(),
            listeners: Listeners::new(),
        }
    }

    /// The level from which calls are on that no filter mentions.
    pub fn level(&self) -> Level {
        Level(self.level.load(Ordering::Relaxed))
    }

    pub fn set_level(&self, level: Level) {
        self.level.store(level.0, Ordering::Relaxed);
        self.move_gate();
    }

    /// The filter, if one was set.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.get()
    }

    /// Sets the filter. The old one is never freed: a site may be reading it at any
    /// time, in a signal handler too.
    pub fn set_filter(&self, filter: Filter) {
        self.filter.replace(Some(Box::leak(Box::new(filter))));
        self.move_gate();
    }

    /// Makes every site decide again whether it is on.
    pub fn move_gate(&self) {
        gate::advance();
        self.listeners.call_all();
    }

    /// Leaves all to another copy of the logger: a gate that no site has, so that
    /// each call asks.
    pub fn follow(&self) {
        gate::always_ask();
    }

    /// Records of this level and above carry a backtrace.
    pub fn backtrace_level(&self) -> Level {
        Level(self.backtrace_level.load(Ordering::Relaxed))
    }

    /// Sets that level; [`Shared::update_slow_path_level`](crate::shared::Shared) is
    /// to be called next.
    pub fn set_backtrace_level(&self, level: Level) {
        self.backtrace_level.store(level.0, Ordering::Relaxed);
    }

    /// Sets the level from which the mirror or an observer wants records; as
    /// [`Settings::set_backtrace_level`].
    pub fn set_shown_level(&self, level: Option<Level>) {
        let level = level.map_or(NEVER, |level| level.0);
        self.shown_level.store(level, Ordering::SeqCst);
    }

    /// The level from which a call takes the slow path: its record has a backtrace,
    /// or is shown.
    #[inline(always)]
    pub fn slow_path_level(&self) -> Level {
        Level(self.slow_path_level.load(Ordering::Relaxed))
    }

    /// Recomputes that level. Every call takes the slow path if `all`.
    pub fn update_slow_path_level(&self, all: bool) {
        let level = if all {
            0
        } else {
            let backtrace = self.backtrace_level.load(Ordering::Relaxed);
            backtrace.min(self.shown_level.load(Ordering::SeqCst))
        };
        self.slow_path_level.store(level, Ordering::SeqCst);
    }

    /// How many return addresses a backtrace has at most.
    pub fn backtrace_depth(&self) -> usize {
        self.backtrace_depth.load(Ordering::Relaxed) as usize
    }

    pub fn set_backtrace_depth(&self, depth: usize) {
        let depth = depth.min(MAX_BACKTRACE) as u16;
        self.backtrace_depth.store(depth, Ordering::Relaxed);
    }

    /// Longer strings are cut to this many bytes.
    #[inline]
    pub fn max_string(&self) -> usize {
        self.max_string.load(Ordering::Relaxed) as usize
    }

    /// Sets that bound.
    pub fn set_max_string(&self, bytes: usize) {
        let bytes = bytes.min(MAX_STRING) as u32;
        self.max_string.store(bytes, Ordering::Relaxed);
    }

    /// Whether threads are to be ready for fatal signals.
    pub fn notes_signals(&self) -> bool {
        self.notes_signals.load(Ordering::Relaxed)
    }

    /// Readies threads for fatal signals when they log first.
    pub fn note_signals(&self) {
        self.notes_signals.store(true, Ordering::Relaxed);
    }
}
