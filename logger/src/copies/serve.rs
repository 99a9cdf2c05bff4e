//! The election of the copy that leads, and what this copy does for others when it
//! leads. A room for unsafe.

use crate::api::here;
use crate::call::body::pairs::Pairs;
use crate::call::emit::{emit, emit_at, emit_pairs, emit_text};
use crate::call::gate::{decide, decide_at, is_possible};
use crate::call::site::Site;
use crate::captured::Capture;
use crate::changes::Changed;
use crate::context::{Context, current_context, enter_context, next_context};
use crate::copies::crossing::Crossing;
use crate::copies::leader::{self, LeaderTable, services};
use crate::copies::request::OpenRequest;
use crate::observer::Observer;
use crate::process::process;
use crate::state::RawState;
use crate::sys::{self, Errno};
use core::ffi::CStr;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use here::{
    begin_capture, close, end_capture, note_panic, on_change, open, reopen, reserve,
    set_backtrace_depth, set_backtrace_level, set_filter, set_level, set_observer, state, sync,
    unwritten,
};
use logdef_wire::Level;
use std::io;

/// The name of the memory file.
const NAME: &CStr = c"logdef-v1";
/// How `/proc/self/maps` calls it.
const MAPPED_AS: &[u8] = b"/memfd:logdef-v1 (deleted)";
/// The function that `liblogdef.so` exports. Its name is historical, from when copies met at it
/// first: it stays, since copies of other versions look for it.
const SYMBOL: &CStr = c"logdef_meeting_v1";
/// What the page of a leader starts with.
const MAGIC: u64 = u64::from_ne_bytes(*b"logdef\xc1\x01");

macro_rules! serve {
    (
        calls { $($calls:tt)* }
        controls { $($controls:tt)* }
        later calls { $($later:tt)* }
    ) => {
        serve! { $($calls)* $($controls)* $($later)* }
    };
    ($(
        [$($unsafe:tt)?] fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;
    )*) => {
        /// What this copy would do as a leader.
        #[allow(unused_unsafe, reason = "of functions without arguments")]
        static TABLE: LeaderTable = LeaderTable {
            size: size_of::<LeaderTable>(),
            gate: crate::gate::word(),
            $($name: {
                unsafe extern "C" fn serve(
                    $($argument: <$type as Crossing>::As),*
                ) -> <$result as Crossing>::As {
                    // SAFETY: the follower lowered the arguments (`LeaderTable`), lends
                    // what they borrow until this returns, and promises what its own
                    // caller promised.
                    unsafe {
                        $(let $argument = <$type>::lift($argument);)*
                        $name($($argument),*).lower()
                    }
                }
                serve
            },)*
        };
    };
}
services!(serve);

/// Runs when the image is initialized, before other initializers of the usual kind.
#[cfg(not(miri))]
#[used]
#[unsafe(link_section = ".init_array.00099")]
static ELECT: extern "C" fn() = {
    extern "C" fn run() {
        elect_leader();
    }
    run
};

/// Finds the copy that leads, or leads, once. Not for handlers.
pub(crate) fn elect_leader() {
    static ELECTED: AtomicBool = AtomicBool::new(false);
    if ELECTED.swap(true, Ordering::AcqRel) {
        return;
    }
    let Some(found) = by_symbol().or_else(by_name) else {
        leader::lead(&TABLE);
        // Without the page only those who find the symbol follow.
        let _ = announce();
        sys::keep_loaded((&raw const TABLE).cast());
        here::obey_environment();
        return;
    };
    leader::follow(found);
    // No site of this copy is decided by its own gate from now on.
    process().shared.settings.follow();
    let missed = process().shared.run.missed.swap(0, Ordering::Relaxed);
    if missed > 0 {
        found.miss(missed);
    }
}

fn by_symbol() -> Option<&'static LeaderTable> {
    let found = sys::global_symbol(SYMBOL)?;
    // SAFETY: a function of this name and version returns the copy that its copy follows;
    // null in ours, which has met no other copy yet.
    unsafe {
        let found: extern "C" fn() -> *const LeaderTable = core::mem::transmute(found);
        checked(found())
    }
}

/// What a leader's page holds.
#[repr(C)]
struct Page {
    magic: u64,
    table: *const LeaderTable,
}

fn by_name() -> Option<&'static LeaderTable> {
    let page = sys::find_mapping(MAPPED_AS)?.cast::<Page>();
    // SAFETY: a mapping of this name is of a page at least, readable, and never
    // unmapped: `announce` is trusted to have made it, since only code of this process
    // can map memory under that name, and it writes the magic before the table.
    unsafe {
        let page = page.read();
        if page.magic != MAGIC {
            return None;
        }
        checked(page.table)
    }
}

/// # Safety
///
/// Null, or the table of a copy that leads, of at least the first version.
unsafe fn checked(table: *const LeaderTable) -> Option<&'static LeaderTable> {
    // SAFETY: null or a table, as `# Safety` demands; the copy that leads is never unloaded.
    let table = unsafe { table.as_ref() }?;
    (table.size >= size_of::<LeaderTable>()).then_some(table)
}

/// Maps the page by which other copies find this one.
fn announce() -> Result<(), Errno> {
    let len = const { NonZeroUsize::new(4096).unwrap() };
    let page = sys::allocate_named(NAME, len)?;
    let content = Page {
        magic: MAGIC,
        table: &TABLE,
    };
    // SAFETY: fresh memory, page aligned and large enough.
    unsafe { page.as_ptr().cast::<Page>().write(content) };
    sys::protect(page, len);
    Ok(())
}

/// Calls of a copy that were missed before it found this one.
fn miss(calls: u64) {
    let missed = &process().shared.run.missed;
    missed.fetch_add(calls, Ordering::Relaxed);
}
