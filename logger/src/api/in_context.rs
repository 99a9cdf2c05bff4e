//! Contexts of Rust programs: key-values that are said once and hold for all records of a scope,
//! or of a future wherever it is polled. A room for unsafe: it lends the logger memory, and
//! polls a future in its place.

use crate::api::choose;
use crate::call::argument::{LoweredSome, Passed};
use crate::call::body::pairs::encode_pairs;
use crate::call::shown::value;
use crate::context::{self, KeysHead};
use core::cell::Cell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr;
use core::task::Poll;
use std::sync::Arc;

/// Key-values of all records that are logged in this context.
///
/// ```
/// use logdef::{Context, logdef, value};
///
/// let request = Context::new(&[("request", value(&7)), ("user", value("ada"))]);
/// request.scope(|| {
///     logdef!(Info, "accepted"); // `logdef view` shows request and user with it
///     let part = request.child(&[("part", value(&1))]);
///     part.scope(|| logdef!(Info, "read"));
/// });
/// ```
///
/// The pairs are written once in each chunk of the log, and a record holds their number. A
/// scope inside another has its own pairs, and those of the contexts whose child it is.
///
/// Signal safety: not async-signal-safe, neither making nor dropping it.
#[derive(Clone, Debug)]
pub struct Context(Arc<Owned>);

/// A context, and what it points to.
#[derive(Debug)]
struct Owned {
    context: context::Context,
    _keys: Box<[u64]>,
    _parent: Option<Context>,
}

std::thread_local! {
    /// The context whose scope this thread is in, and where it stands; null for none.
    static SCOPE: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// Pairs beyond these are left out.
const MAX_PAIRS: usize = 64;
/// Bytes of all pairs: longer texts are cut to what each can have.
const MAX_BYTES: usize = 4096;

/// Pairs of most contexts,
const FEW_PAIRS: usize = 4;
/// and bytes of a pair's texts.
const SHORT: usize = 48;
/// Bytes of a pair beside its texts, at most: heads, a number, and the mark of a cut for which each
/// leaves room.
const AROUND: usize = 80;

impl Context {
    /// A context with these pairs, the first 64 of them.
    ///
    /// Signal safety: not async-signal-safe.
    pub fn new(pairs: &[(&str, Passed<'_>)]) -> Context {
        Context::make(None, pairs)
    }

    /// A context that adds pairs to this one's; a key hides the same key of this one.
    ///
    /// Signal safety: not async-signal-safe.
    pub fn child(&self, pairs: &[(&str, Passed<'_>)]) -> Context {
        Context::make(Some(self.clone()), pairs)
    }

    fn make(parent: Option<Context>, pairs: &[(&str, Passed<'_>)]) -> Context {
        let keys = encoded(pairs);
        let above = parent.as_ref();
        let above = above.map_or(ptr::null(), |parent| parent.0.context.as_kept());
        // SAFETY: parent and keys live as long as the context, in `Owned`, and never change; the
        // first word of the keys is their head.
        let context =
            unsafe { context::Context::new(choose::next_context(), above, keys.as_ptr().cast()) };
        Context(Arc::new(Owned {
            context,
            _keys: keys,
            _parent: parent,
        }))
    }

    /// The context of Rust that the calling thread is in, by [`scope`](Self::scope) or a future
    /// that is polled.
    ///
    /// Signal safety: not async-signal-safe.
    #[must_use]
    pub fn current() -> Option<Context> {
        let scope = SCOPE.try_with(Cell::get).ok()?;
        // SAFETY: null, or borrowed by the scope that this thread is in.
        let context = unsafe { scope.as_ref() }?;
        ptr::eq(context.0.context.as_kept(), choose::current_context()).then(|| context.clone())
    }

    /// Calls `work`, and all that this thread logs meanwhile is logged in the context.
    ///
    /// Signal safety: not async-signal-safe. What signal handlers of the thread log meanwhile is logged in the context.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Goes back when it is dropped, also in a panic.
        struct Before(*const context::Context, *const Context);
        impl Drop for Before {
            fn drop(&mut self) {
                choose::enter_context(self.0);
                let _ = SCOPE.try_with(|scope| scope.set(self.1));
            }
        }
        // `self` is borrowed until the thread is back in the context before.
        let outer = SCOPE.try_with(|scope| scope.replace(self));
        let _before = Before(
            choose::enter_context(self.0.context.as_kept()),
            outer.unwrap_or(ptr::null()),
        );
        work()
    }

    /// Polls `future` in the context, on whatever thread, and drops it there.
    ///
    /// Signal safety: not async-signal-safe, neither this nor polling or dropping what it returns.
    pub fn wrap<F: Future>(self, future: F) -> InContext<F> {
        InContext {
            context: self,
            future: ManuallyDrop::new(future),
        }
    }
}

/// Which context the calling thread is in, as a number that is not used again while it is; 0 for
/// none.
pub fn current_scope() -> usize {
    choose::current_context().addr()
}

/// The pairs as the logger reads them: a head, and the objects of a map.
fn encoded(pairs: &[(&str, Passed<'_>)]) -> Box<[u64]> {
    let pairs = &pairs[..pairs.len().min(MAX_PAIRS)];
    let is_short = |(name, value): &(&str, Passed<'_>)| {
        let len = value.text_len().map(|len| len + name.len());
        len.is_some_and(|len| len <= SHORT)
    };
    // Less to clear for what most contexts have.
    if pairs.len() <= FEW_PAIRS && pairs.iter().all(is_short) {
        encoded_in::<{ 2 * FEW_PAIRS }, { FEW_PAIRS * (SHORT + AROUND) }>(pairs)
    } else {
        encoded_in::<{ 2 * MAX_PAIRS }, MAX_BYTES>(pairs)
    }
}

/// Encodes `ITEMS` names and values at most, in as many bytes.
fn encoded_in<const ITEMS: usize, const BYTES: usize>(pairs: &[(&str, Passed<'_>)]) -> Box<[u64]> {
    let mut names = [value(""); ITEMS];
    for (place, (name, _)) in names.iter_mut().zip(pairs) {
        *place = value(*name);
    }
    let items = names.iter().zip(pairs);
    let items = items.flat_map(|(name, (_, value))| [name, value]);
    let lowered = LoweredSome::<ITEMS>::of(items);
    let mut bytes = [0; BYTES];
    // SAFETY: names and values in turn, two for each pair, which live until it returns.
    let (count, len) = unsafe {
        encode_pairs(
            &mut bytes,
            lowered.kinds(),
            lowered.words(),
            2 * pairs.len(),
        )
    };
    const { assert!(size_of::<KeysHead>() == 8 && BYTES.is_multiple_of(8)) };
    let mut head = [0; 8];
    head[..4].copy_from_slice(&count.to_ne_bytes());
    head[4..].copy_from_slice(&(len as u32).to_ne_bytes());
    let mut words = Vec::with_capacity(1 + len.div_ceil(8));
    words.push(u64::from_ne_bytes(head));
    // What is after the last pair is not read.
    let bytes = bytes[..len.next_multiple_of(8).min(BYTES)].chunks_exact(8);
    words.extend(bytes.map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap_or_default())));
    words.into_boxed_slice()
}

/// A future in a context; see [`Context::wrap`].
#[must_use = "a future does nothing unless it is polled"]
pub struct InContext<F> {
    context: Context,
    future: ManuallyDrop<F>,
}

impl<F> fmt::Debug for InContext<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InContext").field(&self.context).finish()
    }
}

impl<F: Future> Future for InContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, task: &mut core::task::Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is not moved: it stays where this is pinned, until it is dropped
        // there.
        let (context, future) = unsafe {
            let this = self.get_unchecked_mut();
            (&this.context, Pin::new_unchecked(&mut *this.future))
        };
        context.scope(|| future.poll(task))
    }
}

impl<F> Drop for InContext<F> {
    fn drop(&mut self) {
        let future = &mut self.future;
        // SAFETY: it is dropped here alone, in its place, and never used again.
        self.context.scope(|| unsafe { ManuallyDrop::drop(future) });
    }
}
