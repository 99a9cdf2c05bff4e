//! Whether another copy of the logger leads, and what it does for this one: the table
//! of its functions, and the follower's side of each. A room for unsafe; knows nothing
//! of what a leader does when it is asked.

use crate::call::body::pairs::Pairs;
use crate::call::site::Site;
use crate::captured::Capture;
use crate::changes::Changed;
use crate::context::Context;
use crate::copies::crossing::Crossing;
use crate::copies::request::OpenRequest;
use crate::observer::Observer;
use crate::published::Published;
use crate::state::RawState;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};
use logdef_wire::Level;
use std::io;

/// What a leader does for those who follow it, each spelled here and nowhere else.
/// `calls` serve log calls; what a program asks of the log is a `control`. They stand in
/// the order of the table, to which members are only ever added, at its end: copies of other
/// versions know the places of those before.
macro_rules! services {
    ($make:ident) => {
        $make! {
            calls {
                [] fn decide(site: &Site) -> bool;
                [] fn is_possible(level: Level) -> bool;
                [unsafe] fn emit(site: &Site, kinds: *const u8, words: *const u64) -> ();
                [unsafe] fn emit_text(
                    level: Level, file: &CStr, line: u32, format: &CStr,
                    kinds: *const u8, words: *const u64, args: usize
                ) -> ();
                [] fn miss(calls: u64) -> ();
                [unsafe] fn emit_pairs(
                    site: &Site, kinds: *const u8, words: *const u64, pairs: &Pairs<'_>
                ) -> ();
            }
            controls {
                [] fn open(request: &OpenRequest<'_>) -> io::Result<()>;
                [] fn close() -> ();
                [] fn sync() -> io::Result<()>;
                [] fn set_level(level: Level) -> ();
                [] fn set_filter(directives: &str) -> io::Result<()>;
                [] fn set_backtrace_level(level: Level) -> ();
                [] fn set_backtrace_depth(depth: usize) -> ();
                [] fn note_panic(text: &str) -> ();
                [] fn reserve(bytes: u64) -> io::Result<()>;
                [] fn unwritten() -> u64;
                [] fn set_observer(observer: Option<(Level, &'static dyn Observer)>) -> ();
                [] fn reopen() -> io::Result<()>;
                [] fn state(into: &mut RawState) -> ();
                [] fn on_change(changed: Changed) -> bool;
                [] fn next_context() -> u64;
                [] fn enter_context(context: *const Context) -> *const Context;
                [] fn current_context() -> *const Context;
                [] fn begin_capture(capture: &'static Capture) -> ();
                [] fn end_capture(capture: &'static Capture) -> ();
            }
            later calls {
                [] fn decide_at(site: &Site, level: Level) -> bool;
                [unsafe] fn emit_at(site: &Site, level: Level, words: *const u64) -> ();
            }
        }
    };
}
pub(crate) use services;

macro_rules! table {
    (
        calls { $($calls:tt)* }
        controls { $($controls:tt)* }
        later calls { $($later:tt)* }
    ) => {
        table! { $($calls)* $($controls)* $($later)* }
    };
    ($(
        [$($unsafe:tt)?] fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;
    )*) => {
        /// The functions by which a leader serves those who follow it.
        #[repr(C)]
        pub struct LeaderTable {
            pub(super) size: usize,
            pub(super) gate: *const AtomicU32,
            $(pub(super) $name: unsafe extern "C" fn(
                $(<$type as Crossing>::As),*
            ) -> <$result as Crossing>::As,)*
        }

        /// The side of those who follow. Safety is as for the function of the same
        /// name that the leader runs.
        #[allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "those of the leader's functions")]
        impl LeaderTable {
            $(pub(crate) $($unsafe)? fn $name(&self, $($argument: $type),*) -> $result {
                // SAFETY: the leader lifts what was lowered here, and is done with what
                // it borrows when it returns; what else it demands, the caller of an
                // unsafe function promises.
                unsafe { <$result>::lift((self.$name)($($argument.lower()),*)) }
            })*
        }
    };
}
services!(table);

// SAFETY: constant, and made of functions and the address of a static atomic.
unsafe impl Sync for LeaderTable {}

/// The copy that leads this one.
static LEADER: Published<LeaderTable> = Published::new();
/// This copy's own table, once it leads.
static OWN: Published<LeaderTable> = Published::new();

/// The leader, if this copy follows one.
#[inline]
pub(crate) fn leader() -> Option<&'static LeaderTable> {
    LEADER.get()
}

/// The leader, which may be this copy. Null before it was elected.
pub fn leader_or_self() -> *const LeaderTable {
    let table = LEADER.get().or_else(|| OWN.get());
    table.map_or(core::ptr::null(), core::ptr::from_ref)
}

/// This copy follows another.
pub(super) fn follow(leader: &'static LeaderTable) {
    LEADER.replace(Some(leader));
}

/// This copy leads.
pub(super) fn lead(own: &'static LeaderTable) {
    OWN.replace(Some(own));
}

impl LeaderTable {
    /// Whether a site is on.
    pub(crate) fn is_on(&self, site: &Site) -> bool {
        // SAFETY: the gate is a static of the leader, which is never unloaded.
        let gate = unsafe { (*self.gate).load(Ordering::Relaxed) };
        match site.state().gate.load(Ordering::Relaxed) {
            off if off == gate => false,
            on if on == gate | 1 => true,
            _ => self.decide(site),
        }
    }
}
