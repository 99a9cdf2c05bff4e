//! The fields of a span and of those around it, as a context of the log: named by each event in the
//! span, and written once for each chunk. Made when the first event needs it: most spans have few
//! events, and many have none.

use crate::sites::Site;
use logdef::__private::{Gathered, Kept, current_scope};
use logdef::Context;
use std::sync::OnceLock;

/// What events in a span are logged in.
#[derive(Debug)]
pub(crate) struct InSpan {
    /// The context that the thread was in when the outermost span was made.
    scope: usize,
    /// The same, of the outermost span.
    outer: Option<Context>,
    /// The fields, until a context is made of them.
    fields: Option<Kept>,
    /// None in it if no span has fields, and there was no context.
    context: OnceLock<Option<Context>>,
}

/// A context, and the scope that it was made in.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    scope: usize,
    context: Option<Context>,
}

impl InSpan {
    /// What an outermost span begins with, or one in a span which has this scope.
    pub fn new(around: Option<usize>) -> InSpan {
        let scope = around.unwrap_or_else(current_scope);
        let outer = (around.is_none() && scope != 0).then(Context::current);
        InSpan {
            scope,
            outer: outer.flatten(),
            fields: None,
            context: OnceLock::new(),
        }
    }

    pub fn scope(&self) -> usize {
        self.scope
    }

    /// Takes the fields of a span that was just made; `around` says what it adds to.
    pub fn take(
        &mut self,
        site: &Site,
        values: &Gathered,
        around: impl FnOnce() -> Option<Context>,
    ) {
        self.fields = values.kept();
        if self.fields.is_none() {
            let above = self.outer.take().or_else(around);
            self.context = OnceLock::from(values.context(above.as_ref(), site.names()));
        }
    }

    /// The context; `around` says what it adds to.
    pub fn made(&self, site: &Site, around: impl FnOnce() -> Option<Context>) -> Made {
        let make = || {
            let above = self.outer.clone().or_else(around);
            match &self.fields {
                Some(fields) => fields.context(above.as_ref(), site.names()),
                None => above,
            }
        };
        Made {
            scope: self.scope,
            context: self.context.get_or_init(make).clone(),
        }
    }

    /// Adds fields to a context that was made.
    pub fn add(&mut self, site: &Site, values: &Gathered) {
        let before = self.context.take().flatten();
        self.context = OnceLock::from(values.context(before.as_ref(), site.names()));
    }
}

impl Made {
    pub fn into_context(self) -> Option<Context> {
        self.context
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
