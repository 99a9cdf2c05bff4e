//! The end of a span of time, bound to a scope.

use core::marker::PhantomData;

/// A span of time that `logdef_span!` began on this thread; its end is logged when
/// this is dropped.
#[derive(Debug)]
#[must_use = "the span ends when this is dropped"]
pub struct Span {
    end: Option<fn()>,
    /// Spans nest within a thread, so none may leave it.
    stays: PhantomData<*const ()>,
}

impl Span {
    pub(crate) fn new(end: Option<fn()>) -> Span {
        Span {
            end,
            stays: PhantomData,
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            end();
        }
    }
}
