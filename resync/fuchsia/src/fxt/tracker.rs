//! Following a trace: which provider is at work, what its tables hold, and what is
//! odd about a record in that light. [`Tracker::track`] takes each record in turn;
//! [`Tracker::resolve`] then spells it out.

use core::convert::Infallible;
use std::borrow::Cow;
use std::collections::HashMap;

use super::argument::{Argument, Arguments, RawArgument, Value};
use super::layer::{Layers, Nothing, Raw, Resolved};
use super::reader::Located;
use super::record::{Metadata, ProviderEvent, ProviderId, Record};
use super::string::StringRef;
use super::tables::{Object, Provider};
use super::thread::{Koid, ProcessRef, Thread, ThreadIndex, ThreadRef};
use super::time::{TickRate, Ticks, Time};
use super::warning::{Warning, WarningKind};

/// Tables are kept for this many providers. Real traces have a few dozen.
const MAX_PROVIDERS: usize = 1 << 12;

/// Follows a trace, record by record.
///
/// ```
/// use logdef_fuchsia::fxt::{Item, Record, Records, Tracker};
///
/// # let trace = logdef_fuchsia::fxt::MAGIC_BYTES;
/// let mut tracker = Tracker::new();
/// for item in Records::new(&trace) {
///     let Item::Record(found) = item else { continue };
///     for warning in tracker.track(&found) {
///         eprintln!("{warning}");
///     }
///     if let Record::Log(log) = tracker.resolve(&found.record) {
///         println!("{} {}", log.time, log.message);
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Tracker {
    providers: Vec<Provider>,
    by_id: HashMap<ProviderId, usize>,
    current: usize,
    keeps_names: bool,
    seen_any: bool,
    warnings: Vec<Warning>,
}

impl Default for Tracker {
    fn default() -> Tracker {
        Tracker::new()
    }
}

impl Tracker {
    /// At the start of a trace: provider 0, without a name, is at work.
    pub fn new() -> Tracker {
        Tracker {
            providers: vec![Provider::default()],
            by_id: HashMap::from([(ProviderId(0), 0)]),
            current: 0,
            keeps_names: true,
            seen_any: false,
            warnings: Vec::new(),
        }
    }

    /// The same for a reader that wants warnings only: object names are not kept.
    pub(crate) fn without_names() -> Tracker {
        Tracker {
            keeps_names: false,
            ..Tracker::new()
        }
    }

    /// The provider at work.
    pub fn provider(&self) -> &Provider {
        &self.providers[self.current]
    }

    /// Every provider met in this trace so far, in order of first appearance.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// How many providers have been named or have sections.
    pub(crate) fn named_providers(&self) -> u64 {
        let unnamed = |p: &&Provider| p.id == ProviderId(0) && p.name.is_none();
        (self.providers.len() - self.providers.iter().filter(unnamed).count()) as u64
    }

    /// Takes in the next record and returns what is odd about it.
    pub fn track(&mut self, found: &Located<'_>) -> &[Warning] {
        self.warnings.clear();
        let mut notes = Notes {
            offset: found.offset,
            provider: &self.providers[self.current],
            warnings: &mut self.warnings,
        };
        if !core::mem::replace(&mut self.seen_any, true)
            && !matches!(found.record, Record::Metadata(Metadata::Magic))
        {
            notes.add(WarningKind::NoMagic);
        }
        if !found.extra.is_empty() {
            notes.add(WarningKind::AppendedWords((found.extra.len() / 8) as u32));
        }
        let Ok(_) = found.record.map(&mut notes);
        self.take_in(found);
        &self.warnings
    }

    /// Keeps what the record says about those after it.
    fn take_in(&mut self, found: &Located<'_>) {
        let provider = &mut self.providers[self.current];
        let warning = match &found.record {
            Record::Metadata(metadata) => return self.metadata(metadata, found.offset),
            Record::Initialization(init) => match TickRate::new(init.ticks_per_second) {
                Some(rate) => {
                    provider.rate = rate;
                    return;
                }
                None => WarningKind::ZeroTickRate,
            },
            Record::String(string) => match string.index {
                Some(index) => {
                    let text = String::from_utf8_lossy(string.text).into();
                    return provider.set_string(index, text);
                }
                None => WarningKind::StringIndexZero,
            },
            Record::Thread(thread) => match thread.index {
                Some(index) => return provider.set_thread(index, thread.thread),
                None => WarningKind::ThreadIndexZero,
            },
            Record::UserspaceObject(object) if self.keeps_names => {
                let process = provider.resolve_process(object.process);
                let name = provider.text(object.name).into();
                let key = (process, object.pointer);
                provider.userspace_objects.insert(key, name);
                return;
            }
            Record::KernelObject(object) if self.keeps_names => {
                let name = provider.text(object.name).into();
                let kind = object.kind;
                let object = (object.koid, Object { kind, name });
                provider.kernel_objects.extend([object]);
                return;
            }
            Record::Event(event) if event.kind.name().is_none() => {
                WarningKind::UnknownEvent(event.kind.number())
            }
            Record::Unknown(unknown) => WarningKind::UnknownRecord(unknown.header.kind()),
            _ => return,
        };
        self.warn(found.offset, warning);
    }

    fn metadata(&mut self, metadata: &Metadata<Raw<'_>>, offset: u64) {
        match metadata {
            Metadata::ProviderInfo { provider, name } => {
                self.switch(*provider, offset);
                self.provider_mut().name = Some(String::from_utf8_lossy(name).into());
            }
            Metadata::ProviderSection { provider } => {
                self.switch(*provider, offset);
                if self.provider().name.is_none() {
                    self.warn(offset, WarningKind::UnnamedProvider(*provider));
                }
            }
            Metadata::ProviderEvent { provider, event } => {
                if *event == ProviderEvent::BUFFER_FULL {
                    self.warn(offset, WarningKind::BufferFull(*provider));
                }
            }
            // Traces that were joined: nothing of the first applies to the second.
            Metadata::Magic if offset > 0 => {
                *self = Tracker {
                    keeps_names: self.keeps_names,
                    seen_any: true,
                    warnings: core::mem::take(&mut self.warnings),
                    ..Tracker::new()
                };
                self.warn(offset, WarningKind::MagicAgain);
            }
            Metadata::Magic => {}
        }
    }

    #[cold]
    fn warn(&mut self, offset: u64, kind: WarningKind) {
        self.warnings.push(Warning { offset, kind });
    }

    fn switch(&mut self, id: ProviderId, offset: u64) {
        if let Some(&known) = self.by_id.get(&id) {
            self.current = known;
            return;
        }
        let provider = Provider::new(id);
        if self.providers.len() < MAX_PROVIDERS {
            self.current = self.providers.len();
            self.providers.push(provider);
            self.by_id.insert(id, self.current);
            return;
        }
        // The last place is reused for all that found none of their own.
        self.current = MAX_PROVIDERS - 1;
        self.by_id.remove(&self.providers[self.current].id);
        self.providers[self.current] = provider;
        self.by_id.insert(id, self.current);
        self.warn(offset, WarningKind::TooManyProviders);
    }

    fn provider_mut(&mut self) -> &mut Provider {
        &mut self.providers[self.current]
    }

    /// Spells out a record that was tracked last: names looked up, ticks made time.
    pub fn resolve<'s, 'b: 's>(&'s self, record: &Record<Raw<'b>>) -> Record<Resolved<'s>> {
        let Ok(resolved) = record.map(&mut Lookup(self.provider()));
        resolved
    }
}

/// From references to what the tables of a provider say they stand for.
struct Lookup<'s>(&'s Provider);

impl<'b: 's, 's> Layers<Raw<'b>> for Lookup<'s> {
    type To = Resolved<'s>;
    type Error = Infallible;

    fn text(&mut self, text: StringRef<'b>, _: &'static str) -> Result<Cow<'s, str>, Infallible> {
        Ok(self.0.text(text))
    }

    fn spelled(&mut self, text: &'b [u8], _: &'static str) -> Cow<'s, str> {
        String::from_utf8_lossy(text)
    }

    fn thread(&mut self, thread: ThreadRef) -> Result<Thread, Infallible> {
        Ok(self.0.resolve_thread(thread))
    }

    fn process(&mut self, process: ProcessRef) -> Koid {
        self.0.resolve_process(process)
    }

    fn time(&mut self, time: Ticks) -> Time {
        self.0.time(time)
    }

    fn bytes(&mut self, bytes: &'b [u8]) -> &'s [u8] {
        bytes
    }

    fn args(&mut self, args: Arguments<'b>) -> Result<Vec<Argument<'s, Cow<'s, str>>>, Infallible> {
        args.iter()
            .map(|arg| arg.map(|text| Ok(self.0.text(text))))
            .collect()
    }
}

/// The warnings about the parts of one record.
struct Notes<'n> {
    offset: u64,
    provider: &'n Provider,
    warnings: &'n mut Vec<Warning>,
}

impl Notes<'_> {
    #[cold]
    fn add(&mut self, kind: WarningKind) {
        self.warnings.push(Warning {
            offset: self.offset,
            kind,
        });
    }

    #[inline]
    fn utf8(&mut self, text: &[u8], what: &'static str) {
        // The common case has a faster answer.
        if !text.is_ascii() && core::str::from_utf8(text).is_err() {
            self.add(WarningKind::NotUtf8(what));
        }
    }

    #[inline]
    fn index(&mut self, text: StringRef<'_>) {
        if let StringRef::Index(index) = text
            && !self.provider.has_string(index)
        {
            self.add(WarningKind::UndefinedString(index.get()));
        }
    }

    #[inline]
    fn reference(&mut self, text: StringRef<'_>, what: &'static str) {
        match text {
            StringRef::Inline(bytes) => self.utf8(bytes, what),
            _ => self.index(text),
        }
    }

    #[inline]
    fn thread_index(&mut self, index: ThreadIndex) {
        if !self.provider.has_thread(index) {
            self.add(WarningKind::UndefinedThread(index.get()));
        }
    }

    fn argument(&mut self, arg: RawArgument<'_>) {
        self.reference(arg.name, "argument name");
        match arg.value {
            Value::Text(text) => self.reference(text, "argument value"),
            Value::Unknown { kind, .. } => self.add(WarningKind::UnknownArgument(kind)),
            _ => {}
        }
        if !arg.extra.is_empty() {
            let words = (arg.extra.len() / 8) as u32;
            self.add(WarningKind::AppendedArgumentWords(words));
        }
    }
}

impl<'a> Layers<Raw<'a>> for Notes<'_> {
    type To = Nothing;
    type Error = Infallible;

    #[inline]
    fn text(&mut self, text: StringRef<'a>, what: &'static str) -> Result<(), Infallible> {
        self.reference(text, what);
        Ok(())
    }

    #[inline]
    fn object_name(&mut self, name: StringRef<'a>) -> Result<(), Infallible> {
        self.index(name);
        Ok(())
    }

    #[inline]
    fn spelled(&mut self, text: &'a [u8], what: &'static str) {
        self.utf8(text, what);
    }

    #[inline]
    fn thread(&mut self, thread: ThreadRef) -> Result<(), Infallible> {
        if let ThreadRef::Index(index) = thread {
            self.thread_index(index);
        }
        Ok(())
    }

    #[inline]
    fn process(&mut self, process: ProcessRef) {
        if let ProcessRef::Index(index) = process {
            self.thread_index(index);
        }
    }

    #[inline]
    fn time(&mut self, _: Ticks) {}

    #[inline]
    fn bytes(&mut self, _: &'a [u8]) {}

    #[inline]
    fn args(&mut self, args: Arguments<'a>) -> Result<(), Infallible> {
        args.iter().for_each(|arg| self.argument(arg));
        Ok(())
    }
}
