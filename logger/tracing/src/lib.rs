//! Events and spans of the `tracing` crate in a logdef log: each call site is one of the log, with
//! its file, line, module and target, and fields are values with names and types.
//!
//! ```
//! use tracing_subscriber::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("app.log");
//! logdef::open(path)?;
//! tracing_subscriber::registry().with(logdef_tracing::layer()).init();
//!
//! let span = tracing::info_span!("request", id = 7);
//! let _entered = span.enter();
//! tracing::info!(user = "ada", ms = 1.5, "signed in");
//! # Ok(())
//! # }
//! ```
//!
//! | in `tracing` | in the log |
//! |---|---|
//! | event | a record: its message, or its fields as `name=value`; all fields are values with names |
//! | an event's span | the key `span`, by which `logdef view -w 'span=…'` finds all records of a span; the fields of the span, and of those around it, as a [`Context`](logdef::Context) |
//! | span, from new to close | begin and end of a span that may end on any thread, with its fields |
//! | parent | the key `parent` of its begin |
//! | `follows_from` | a record with the keys `span` and `follows` |
//! | fields recorded later | a record with the key `span` and these fields as key-values |
//! | event that `tracing-log` made of a record of `log` | a record with the file, line, module and target of that one |
//! | `enter` and `exit` | with [`Layer::busy`]: the end says how long the span was busy |
//!
//! What is logged follows the filter of the log, `LOGDEF` in the environment or
//! [`logdef::set_filter`], in which a target stands for its module. What is off costs what it costs
//! with any subscriber whose interest is `never`; when the filter changes, `tracing` asks again. Like
//! any filter that is a layer this one decides for all layers: unless there are others that want
//! more, and [`Layer::beside_others`] is asked for.
//!
//! When a call has returned its record survives `kill -9`, as that of `logdef!`. Texts are copied
//! once before they stand in the record, since `tracing` lends them for too short.

#![forbid(unsafe_code)]

mod fields;
mod from_log;
mod in_span;
mod sites;

use fields::Fields;
use from_log::Said;
use in_span::{InSpan, Made};
use logdef::__private::Gathered;
use logdef::value;
use sites::Site;
use std::time::Instant;
use tracing_core::metadata::LevelFilter;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// A layer that logs; over a `Registry`.
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "a layer logs when it is part of a subscriber"]
pub struct Layer {
    measures_busy: bool,
    is_beside_others: bool,
    leaves_fields_out: bool,
}

/// A layer that logs events and spans.
pub fn layer() -> Layer {
    logdef::on_change(ask_again);
    Layer::default()
}

extern "C" fn ask_again() {
    tracing_core::callsite::rebuild_interest_cache();
}

impl Layer {
    /// Measures for how long each span is entered, and logs it with its end, as `busy_ns`.
    pub fn busy(mut self, wanted: bool) -> Self {
        self.measures_busy = wanted;
        self
    }

    /// Whether events have the fields of their spans (they do, unless this says `false`): `logdef
    /// view --with-context` shows them, `-w` finds events by them, and JSON has them. They stand
    /// once in each chunk of the log, and are made ready by the first event in a span; an event has
    /// some bytes more. A field that is recorded late is in the events of its span from then on, and
    /// in those of spans inside it that had no event before.
    ///
    /// An event that is logged in a [`Context`](logdef::Context) which is younger than its span
    /// has the pairs of that one instead.
    pub fn context(mut self, wanted: bool) -> Self {
        self.leaves_fields_out = !wanted;
        self
    }

    /// Leaves to the layers beside this one what they are called for. Calls that the log's filter
    /// switches off cost more then.
    pub fn beside_others(mut self, wanted: bool) -> Self {
        self.is_beside_others = wanted;
        self
    }
}

/// What is kept with a span.
#[derive(Debug)]
struct Span {
    /// By which the log names it.
    number: u64,
    busy_ns: u64,
    entered: Option<Instant>,
    fields: InSpan,
}

/// A span that is in the log, for those in it.
struct Logged {
    number: u64,
    made: Made,
}

/// What `found` finds of the innermost span in the log of a span and those around it: what is off
/// is passed over.
fn innermost<'a, R: LookupSpan<'a>, T>(
    span: &SpanRef<'a, R>,
    found: impl Fn(&SpanRef<'a, R>, &Span) -> T,
) -> Option<T> {
    let find = |span: &SpanRef<'a, R>| Some(found(span, span.extensions().get::<Span>()?));
    // The scope would look the span itself up once more.
    find(span).or_else(|| span.scope().skip(1).find_map(|span| find(&span)))
}

/// The innermost span in the log.
fn logged<'a, R: LookupSpan<'a>>(span: &SpanRef<'a, R>) -> Option<Logged> {
    innermost(span, |span, own| {
        let around = || logged(&span.parent()?)?.made.into_context();
        Logged {
            number: own.number,
            made: own.fields.made(|| sites::of(span.metadata()), around),
        }
    })
}

/// Number and scope of the same.
fn number<'a, R: LookupSpan<'a>>(span: &SpanRef<'a, R>) -> Option<(u64, usize)> {
    innermost(span, |_, own| (own.number, own.fields.scope()))
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.is_beside_others || sites::of(metadata).is_on() {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.is_beside_others || logdef::is_possible(sites::level(*metadata.level()))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let levels = [
            Level::TRACE,
            Level::DEBUG,
            Level::INFO,
            Level::WARN,
            Level::ERROR,
        ];
        let mut levels = levels.into_iter();
        let lowest = levels.find(|level| logdef::is_possible(sites::level(*level)));
        let hint = lowest.map_or(LevelFilter::OFF, LevelFilter::from_level);
        (!self.is_beside_others).then_some(hint)
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let site = sites::of(event.metadata());
        let from = from_log::is_of(event.metadata()).then(|| Said::of(event));
        let is_on = match &from {
            Some(said) => said.site(false).is_on(),
            None => site.is_on(),
        };
        if !is_on {
            return;
        }
        Gathered::with(site.fields(), |values| {
            // Before a value is printed, which may do anything with the span.
            let span = context.event_span(event).and_then(|span| logged(&span));
            event.record(&mut Fields(values));
            let site = match &from {
                // The message is the first field.
                Some(said) => said.site(span.is_some()),
                None => site.event(span.is_some()),
            };
            match span {
                Some(Logged { number, made }) => made.scope(|| values.log(site, number, &[])),
                None => values.log(site, 0, &[]),
            }
        });
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let site = sites::of(attributes.metadata());
        if !site.is_on() {
            return;
        }
        Gathered::with(site.fields(), |values| {
            attributes.record(&mut Fields(values));
            let Some(span) = context.span(id) else { return };
            let own = logdef::new_span();
            let parent = span.parent().and_then(|parent| number(&parent));
            let (parent, scope) = parent.unzip();
            let mut fields = InSpan::new(scope);
            if !self.leaves_fields_out {
                let around = || logged(&span.parent()?)?.made.into_context();
                fields.take(site, values, around);
            }
            span.extensions_mut().insert(Span {
                number: own,
                busy_ns: 0,
                entered: None,
                fields,
            });
            match &parent {
                Some(parent) => values.log(site.main(), own, &[("parent", value(parent))]),
                None => values.log(site.main(), own, &[]),
            }
        });
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some((site, own)) = begun(id, &context) else {
            return;
        };
        Gathered::with(site.fields(), |values| {
            record.record(&mut Fields(values));
            if let Some(span) = context.span(id).filter(|_| !self.leaves_fields_out) {
                // The fields that it began with come first.
                logged(&span);
                let span = context.span(id);
                if let Some(span) = span
                    && let Some(span) = span.extensions_mut().get_mut::<Span>()
                {
                    span.fields.add(site, values);
                }
            }
            values.log_as_pairs(site.recorded(), own, site.names());
        });
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        let (Some((site, own)), Some((_, before))) =
            (begun(id, &context), begun(follows, &context))
        else {
            return;
        };
        let pairs = [("follows", value(&before))];
        site.follows().log_span(own, &[], &pairs);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if !self.measures_busy {
            return;
        }
        let Some(span) = context.span(id) else { return };
        if let Some(span) = span.extensions_mut().get_mut::<Span>() {
            span.entered.get_or_insert_with(Instant::now);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if !self.measures_busy {
            return;
        }
        let Some(span) = context.span(id) else { return };
        if let Some(span) = span.extensions_mut().get_mut::<Span>()
            && let Some(entered) = span.entered.take()
        {
            let busy = u64::try_from(entered.elapsed().as_nanos());
            span.busy_ns = span.busy_ns.saturating_add(busy.unwrap_or(u64::MAX));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let own = {
            let extensions = span.extensions();
            let own = extensions.get::<Span>();
            own.map(|span| (span.number, span.busy_ns))
        };
        let Some((number, busy)) = own else { return };
        let site = sites::of(span.metadata());
        if self.measures_busy {
            site.busy_end().log_span(number, &[value(&busy)], &[]);
        } else {
            site.end().log_span(number, &[], &[]);
        }
    }
}

/// The site and the number of a span whose begin was logged.
fn begun<S>(id: &Id, context: &Context<'_, S>) -> Option<(&'static Site, u64)>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let span = context.span(id)?;
    let extensions = span.extensions();
    let number = extensions.get::<Span>()?.number;
    Some((sites::of(span.metadata()), number))
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
