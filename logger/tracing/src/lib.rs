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
mod spans;

use fields::Fields;
use from_log::Said;
use in_span::{InSpan, Made};
use logdef::__private::Gathered;
use logdef::value;
use spans::{Span, Spans};
use std::sync::Arc;
use std::time::Instant;
use tracing_core::metadata::LevelFilter;
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer that logs; over a `Registry`.
///
/// A clone that takes its place knows the spans that it began: `handle.modify(|layer| *layer =
/// layer.clone().busy(true))`, by a handle of `tracing_subscriber::reload`. One that becomes part of
/// another subscriber begins without spans.
#[derive(Clone, Debug, Default)]
#[must_use = "a layer logs when it is part of a subscriber"]
pub struct Layer {
    wanted: Wanted,
    spans: Arc<Spans>,
}

/// What is wanted of a layer.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    busy: bool,
    beside_others: bool,
    without_fields: bool,
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
        self.wanted.busy = wanted;
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
        self.wanted.without_fields = !wanted;
        self
    }

    /// Leaves to the layers beside this one what they are called for. Calls that the log's filter
    /// switches off cost more then.
    pub fn beside_others(mut self, wanted: bool) -> Self {
        self.wanted.beside_others = wanted;
        self
    }
}

/// A span that is in the log, for those in it.
struct Logged {
    number: u64,
    made: Made,
}

impl Layer {
    fn logged(&self, id: &Id) -> Option<Logged> {
        self.spans.ask(id, |span| Logged {
            number: span.number,
            made: span.fields.made(span.site, || self.context_of(span)),
        })
    }

    /// The context of the spans around one.
    fn context_of(&self, span: &Span) -> Option<logdef::Context> {
        self.logged(span.parent.as_ref()?)?.made.into_context()
    }

    /// The innermost span in the log around an event.
    fn around_event<S>(&self, event: &Event<'_>, context: &Context<'_, S>) -> Option<Logged>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let nearest = nearest(event.parent(), event.is_contextual(), context)?;
        // Those that are off are passed over.
        self.logged(&nearest).or_else(|| {
            let mut around = context.event_span(event)?.scope();
            around.find_map(|span| self.logged(&span.id()))
        })
    }

    /// The innermost span in the log around a new one.
    fn around_span<S>(
        &self,
        id: &Id,
        attributes: &Attributes<'_>,
        context: &Context<'_, S>,
    ) -> Option<Around>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let around = |id: &Id| {
            let number_and_scope = |span: &Span| (span.number, span.fields.scope());
            let (number, scope) = self.spans.ask(id, number_and_scope)?;
            let id = id.clone();
            Some(Around { id, number, scope })
        };
        let nearest = nearest(attributes.parent(), attributes.is_contextual(), context)?;
        around(&nearest).or_else(|| {
            let mut scope = context.span(id)?.scope().skip(1);
            scope.find_map(|span| around(&span.id()))
        })
    }
}

/// A span in which another is made.
struct Around {
    id: Id,
    number: u64,
    scope: usize,
}

/// The id of the span around something, in the log or not.
fn nearest<S>(parent: Option<&Id>, is_contextual: bool, context: &Context<'_, S>) -> Option<Id>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    match parent {
        Some(parent) => Some(parent.clone()),
        None if is_contextual => context.current_span().id().cloned(),
        None => None,
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_layer(&mut self, _: &mut S) {
        // Another subscriber, which a clone may be part of, gives the same ids to other spans.
        self.spans = Arc::default();
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wanted.beside_others || sites::of(metadata).is_on() {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wanted.beside_others || logdef::is_possible(sites::level(*metadata.level()))
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
        (!self.wanted.beside_others).then_some(hint)
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
            let span = self.around_event(event, &context);
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
            let number = logdef::new_span();
            let around = self.around_span(id, attributes, &context);
            let span = Span {
                site,
                number,
                parent: around.as_ref().map(|around| around.id.clone()),
                busy_ns: 0,
                entered: None,
                fields: InSpan::new(around.as_ref().map(|around| around.scope)),
            };
            self.spans.insert(id, span, |span| {
                if !self.wanted.without_fields {
                    let parent = span.parent.as_ref();
                    let above = || self.logged(parent?)?.made.into_context();
                    span.fields.take(site, values, above);
                }
            });
            match &around {
                Some(around) => {
                    values.log(site.main(), number, &[("parent", value(&around.number))]);
                }
                None => values.log(site.main(), number, &[]),
            }
        });
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let Some((site, number)) = self.spans.ask(id, |span| (span.site, span.number)) else {
            return;
        };
        Gathered::with(site.fields(), |values| {
            record.record(&mut Fields(values));
            if !self.wanted.without_fields {
                // The fields that it began with come first.
                self.logged(id);
                self.spans.change(id, |span| span.fields.add(site, values));
            }
            values.log_as_pairs(site.recorded(), number, site.names());
        });
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        let number = |span: &Span| (span.site, span.number);
        let begun = self.spans.ask(id, number);
        if let (Some((site, own)), Some((_, before))) = (begun, self.spans.ask(follows, number)) {
            let pairs = [("follows", value(&before))];
            site.follows().log_span(own, &[], &pairs);
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        if self.wanted.busy {
            self.spans.change(id, |span| {
                span.entered.get_or_insert_with(Instant::now);
            });
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        if self.wanted.busy {
            self.spans.change(id, |span| {
                if let Some(entered) = span.entered.take() {
                    let busy = u64::try_from(entered.elapsed().as_nanos());
                    span.busy_ns = span.busy_ns.saturating_add(busy.unwrap_or(u64::MAX));
                }
            });
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let last = |span: &Span| (span.site, span.number, span.busy_ns);
        let Some((site, number, busy)) = self.spans.remove(&id, last) else {
            return;
        };
        if self.wanted.busy {
            site.busy_end().log_span(number, &[value(&busy)], &[]);
        } else {
            site.end().log_span(number, &[], &[]);
        }
    }
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;
    use logdef::testing::{Record, Value, capture};
    use tracing::subscriber::with_default;
    use tracing_subscriber::prelude::*;
    use tracing_subscriber::{registry, reload};

    fn span_of(record: &Record) -> &Value {
        record.get("span").expect("a span")
    }

    #[test]
    fn a_span_ends_though_its_layer_was_changed_meanwhile() {
        let capture = capture();
        let (layer, handle) = reload::Layer::new(layer());
        with_default(registry().with(layer), || {
            let span = tracing::info_span!("long");
            handle
                .modify(|layer| *layer = layer.clone().busy(true))
                .unwrap();
            span.in_scope(|| tracing::info!("inside"));
        });
        let records = capture.records();
        let [begin, inside, end] = &records[..] else {
            panic!("{records:?}");
        };
        assert_eq!(span_of(inside), span_of(begin));
        assert_eq!(span_of(end), span_of(begin));
        assert!(end.get("busy_ns").is_some());
    }

    #[test]
    fn a_clone_in_another_subscriber_has_spans_of_its_own() {
        let capture = capture();
        let layer = layer();
        let subscribers = [layer.clone(), layer].map(|layer| registry().with(layer));
        let ids = subscribers.map(|subscriber| {
            with_default(subscriber, || {
                let span = tracing::info_span!("span");
                span.in_scope(|| tracing::info!("inside"));
                // It does not end, and keeps its place.
                let id = span.id();
                std::mem::forget(span);
                id
            })
        });
        assert_eq!(ids[0], ids[1], "the subscribers give different ids");
        let records = capture.records();
        let [first, in_first, second, in_second] = &records[..] else {
            panic!("{records:?}");
        };
        assert_eq!(span_of(in_first), span_of(first));
        assert_eq!(span_of(in_second), span_of(second));
        assert_ne!(span_of(first), span_of(second));
    }
}
