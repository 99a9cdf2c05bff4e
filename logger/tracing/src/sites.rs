//! The call sites of the program, each made when it is met first. Found without a lock, but for
//! those that a very large program has beyond the usual places.

use logdef::__private::Places;
use logdef::{CallSite, NewCallSite};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, OnceLock, PoisonError};
use tracing_core::Metadata;

/// A place that emits events, or makes spans.
#[derive(Debug)]
pub(crate) struct Site {
    metadata: &'static Metadata<'static>,
    /// An event's, or that of a span's begin.
    main: CallSite,
    /// Made when they are needed first: of an event in a span; of a span, where it ends, where
    /// it says that it was busy, where fields are recorded and where it follows another.
    in_span: OnceLock<CallSite>,
    end: OnceLock<CallSite>,
    busy_end: OnceLock<CallSite>,
    recorded: OnceLock<CallSite>,
    follows: OnceLock<CallSite>,
}

static SITES: Places<&'static Site, 8192> = Places::new();

/// Sites for which there was no place, by the address of their metadata.
static REST: Mutex<BTreeMap<usize, &'static Site>> = Mutex::new(BTreeMap::new());

/// The site of some metadata.
#[inline]
pub(crate) fn of(metadata: &'static Metadata<'static>) -> &'static Site {
    let address = std::ptr::from_ref(metadata).addr();
    let start = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    match SITES.first(start) {
        Some(site) if site.is_of(metadata) => site,
        _ => search(metadata, start),
    }
}

#[cold]
#[inline(never)]
fn search(metadata: &'static Metadata<'static>, start: usize) -> &'static Site {
    let found = SITES.find(start, || Site::new(metadata), |site| site.is_of(metadata));
    if let Some(site) = found {
        return site;
    }
    let mut rest = REST.lock().unwrap_or_else(PoisonError::into_inner);
    let address = std::ptr::from_ref(metadata).addr();
    rest.entry(address).or_insert_with(|| Site::new(metadata))
}

/// The level in the log.
pub(crate) fn level(level: tracing_core::Level) -> logdef::Level {
    match level {
        tracing_core::Level::ERROR => logdef::Level::ERROR,
        tracing_core::Level::WARN => logdef::Level::WARN,
        tracing_core::Level::INFO => logdef::Level::INFO,
        tracing_core::Level::DEBUG => logdef::Level::DEBUG,
        _ => logdef::Level::TRACE,
    }
}

/// The name of the field that is the text.
const MESSAGE: &str = "message";

impl Site {
    fn new(metadata: &'static Metadata<'static>) -> &'static Site {
        let template = template(metadata);
        let site = fielded(metadata, &template);
        let main = if metadata.is_span() {
            site.begin()
        } else {
            site
        };
        Box::leak(Box::new(Site {
            metadata,
            main: main.register(),
            in_span: OnceLock::new(),
            end: OnceLock::new(),
            busy_end: OnceLock::new(),
            recorded: OnceLock::new(),
            follows: OnceLock::new(),
        }))
    }

    #[inline(always)]
    fn is_of(&self, metadata: &'static Metadata<'static>) -> bool {
        std::ptr::eq(self.metadata, metadata)
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.main.is_on()
    }

    /// How many fields there are.
    pub fn fields(&self) -> usize {
        self.metadata.fields().len()
    }

    /// The names of the fields.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.metadata.fields().iter().map(|field| field.name())
    }

    /// Where a span begins.
    pub fn main(&self) -> CallSite {
        self.main
    }

    /// That of an event, in a span or in none.
    pub fn event(&self, is_in_span: bool) -> CallSite {
        let make = || {
            let template = template(self.metadata);
            fielded(self.metadata, &template).in_span().register()
        };
        if is_in_span {
            *self.in_span.get_or_init(make)
        } else {
            self.main
        }
    }

    pub fn end(&self) -> CallSite {
        let make = || plain(self.metadata, "", 0).end().register();
        *self.end.get_or_init(make)
    }

    pub fn busy_end(&self) -> CallSite {
        let make = || {
            let site = plain(self.metadata, "", 1).names(&["busy_ns"]);
            site.end().register()
        };
        *self.busy_end.get_or_init(make)
    }

    pub fn recorded(&self) -> CallSite {
        let make = || {
            let template = escaped(self.metadata.name()) + ": recorded";
            plain(self.metadata, &template, 0).in_span().register()
        };
        *self.recorded.get_or_init(make)
    }

    pub fn follows(&self) -> CallSite {
        let make = || {
            let template = escaped(self.metadata.name()) + ": follows";
            plain(self.metadata, &template, 0).in_span().register()
        };
        *self.follows.get_or_init(make)
    }
}

/// A site where the metadata say.
fn plain<'m>(metadata: &'m Metadata<'static>, template: &'m str, args: usize) -> NewCallSite<'m> {
    let site = NewCallSite::new(level(*metadata.level()), template, args);
    let file = metadata.file().unwrap_or("");
    let site = site.file(file, metadata.line().unwrap_or(0));
    let site = site.target(metadata.target());
    site.module(metadata.module_path().unwrap_or(""))
}

/// A site with all fields; the message has no name.
fn fielded<'m>(metadata: &'m Metadata<'static>, template: &'m str) -> NewCallSite<'m> {
    let names: Vec<&str> = metadata.fields().iter().map(|field| field.name()).collect();
    let args = names.len();
    let is_text = |name: &str| metadata.is_event() && name == MESSAGE;
    let names: Vec<&str> = names
        .into_iter()
        .map(|name| if is_text(name) { "" } else { name })
        .collect();
    plain(metadata, template, args).names(&names)
}

/// The text: the message if there is one, else the fields; of a span, its name before them.
fn template(metadata: &Metadata<'_>) -> String {
    let names = metadata.fields().iter().map(|field| field.name());
    let names: Vec<&str> = names.collect();
    if metadata.is_event()
        && let Some(place) = names.iter().position(|name| *name == MESSAGE)
    {
        return format!("{{{place}}}");
    }
    let mut text = String::new();
    if metadata.is_span() {
        text = escaped(metadata.name());
    }
    for (place, name) in names.into_iter().enumerate() {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(text, "{space}{}={{{place}}}", escaped(name));
    }
    text
}

/// A text in which no brace is a placeholder.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
