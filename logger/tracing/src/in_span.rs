//! The fields of a span and of those around it, as a context of the log: named by each event in the
//! span, and written once for each chunk.

use crate::sites::Site;
use logdef::__private::current_scope;
use logdef::{Context, Passed};

/// What events in a span are logged in.
#[derive(Clone, Debug)]
pub(crate) struct InSpan {
    /// The context that the thread was in when the outermost span was made.
    scope: usize,
    /// None if no span has fields, and there was none.
    context: Option<Context>,
}

impl InSpan {
    /// What a span adds to that is in no other.
    pub fn outermost() -> InSpan {
        let scope = current_scope();
        InSpan {
            scope,
            context: (scope != 0).then(Context::current).flatten(),
        }
    }

    /// Adds the fields of a span that have a bit in `visited`.
    pub fn with(&self, site: &Site, args: &[Passed<'_>], visited: u64) -> InSpan {
        let fields = site.names().zip(args).enumerate();
        let fields = fields.filter(|(index, _)| visited >> index & 1 != 0);
        let pairs: Vec<_> = fields.map(|(_, (name, value))| (name, *value)).collect();
        if pairs.is_empty() {
            return self.clone();
        }
        let context = match &self.context {
            Some(context) => context.child(&pairs),
            None => Context::new(&pairs),
        };
        InSpan {
            context: Some(context),
            ..*self
        }
    }

    /// Calls `work` in the context, unless the thread has come into another since the span was
    /// made: what the program said last holds.
    pub fn scope(&self, work: impl FnOnce()) {
        match &self.context {
            Some(context) if current_scope() == self.scope => context.scope(work),
            _ => work(),
        }
    }
}
