//! Contexts as `logdef.h` has them: with their keys in the same memory, which may be gone while a
//! thread is in them.

use core::ffi::c_int;
use logdef::abi::{self, Context, KeysHead};

/// Bytes of a context's pairs: `LOGDEF_CONTEXT_ROOM`.
const ROOM: usize = 480;

/// `struct logdef_context`.
#[repr(C)]
pub struct ContextOfC {
    context: Context,
    head: KeysHead,
    pairs: [u8; ROOM],
}

const _: () = assert!(size_of::<ContextOfC>() == 32 + ROOM);

/// Makes a context of keys and values in turn, `n` in all.
///
/// Signal safety: async-signal-safe.
///
/// # Safety
///
/// `context` is valid for writes, and then stays readable while a thread is in it; so does
/// `parent`, or it is null. `kinds` and `words` have an item for each of `n`: a word is of
/// the kind beside it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn logdef_context_init(
    context: *mut ContextOfC,
    parent: *const Context,
    kinds: *const u8,
    words: *const u64,
    n: c_int,
) {
    let n = usize::try_from(n).unwrap_or(0);
    // SAFETY: as `# Safety` demands. The memory may be uninitialized, so that it is given
    // zeros before it is lent.
    unsafe {
        (&raw mut (*context).pairs).write([0; ROOM]);
        let (count, len) = abi::encode_pairs(&mut (*context).pairs, kinds, words, n);
        let len = len as u32;
        (&raw mut (*context).head).write(KeysHead { count, len });
        Context::seal(context.cast(), abi::next_context(), parent);
    }
}

/// Makes a context that of the calling thread, null for none, and returns the one before.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_context_enter(context: *const Context) -> *const Context {
    abi::enter_context(context)
}

/// Returns the context of the calling thread, or null.
///
/// Signal safety: async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn logdef_context_current() -> *const Context {
    abi::current_context()
}
