//! Following a trace: which provider is at work, what its tables hold, and what is
//! odd about a record in that light. [`Tracker::track`] takes each record in turn;
//! [`Tracker::resolve`] then spells it out.

use std::borrow::Cow;
use std::collections::HashMap;

use super::argument::{Argument, Arguments, Value};
use super::layer::{Raw, Resolved};
use super::reader::Located;
use super::record::{
    Blob, BlobOrigin, Event, KernelObject, LargeBlob, Log, Metadata, Profiler, ProviderEvent,
    ProviderId, Record, Scheduling, StringRecord, Unknown, UserspaceObject,
};
use super::string::StringRef;
use super::tables::{Object, Provider};
use super::thread::{ProcessRef, ThreadRef};
use super::time::TickRate;
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

    /// Likewise, for who wants the warnings only: object names are not kept.
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

    /// Takes in the next record and tells what is odd about it.
    pub fn track(&mut self, found: &Located<'_>) -> &[Warning] {
        self.warnings.clear();
        let mut notes = Notes {
            offset: found.offset,
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
        match &found.record {
            Record::Metadata(metadata) => self.metadata(metadata, found.offset),
            Record::Initialization(init) => match TickRate::new(init.ticks_per_second) {
                Some(rate) => self.provider_mut().rate = rate,
                None => notes.add(WarningKind::ZeroTickRate),
            },
            Record::String(string) => {
                notes.utf8(string.text, "string");
                match string.index {
                    Some(index) => {
                        let text = String::from_utf8_lossy(string.text).into();
                        self.provider_mut().set_string(index, text);
                    }
                    None => notes.add(WarningKind::StringIndexZero),
                }
            }
            Record::Thread(thread) => match thread.index {
                Some(index) => self.provider_mut().set_thread(index, thread.thread),
                None => notes.add(WarningKind::ThreadIndexZero),
            },
            Record::Event(event) => {
                let provider = &self.providers[self.current];
                notes.thread(provider, event.thread);
                notes.text(provider, event.category, "category");
                notes.text(provider, event.name, "event name");
                notes.args(provider, event.args);
                if event.kind.name().is_none() {
                    notes.add(WarningKind::UnknownEvent(event.kind.number()));
                }
            }
            Record::Blob(blob) => {
                notes.text(&self.providers[self.current], blob.name, "blob name");
            }
            Record::UserspaceObject(object) => {
                let provider = &mut self.providers[self.current];
                notes.process(provider, object.process);
                notes.text(provider, object.name, "object name");
                notes.args(provider, object.args);
                if self.keeps_names {
                    let process = provider.resolve_process(object.process);
                    let name = provider.text(object.name).into();
                    let key = (process, object.pointer);
                    provider.userspace_objects.insert(key, name);
                }
            }
            Record::KernelObject(object) => {
                let provider = &mut self.providers[self.current];
                // Names of kernel objects may be any bytes: no warning for them.
                notes.index(provider, object.name);
                notes.args(provider, object.args);
                if self.keeps_names {
                    let name = provider.text(object.name).into();
                    let kind = object.kind;
                    let object = (object.koid, Object { kind, name });
                    provider.kernel_objects.extend([object]);
                }
            }
            Record::Scheduling(scheduling) => {
                let provider = &self.providers[self.current];
                match scheduling {
                    Scheduling::ContextSwitch { args, .. }
                    | Scheduling::ThreadWakeup { args, .. } => notes.args(provider, *args),
                    Scheduling::LegacyContextSwitch {
                        outgoing, incoming, ..
                    } => {
                        notes.thread(provider, *outgoing);
                        notes.thread(provider, *incoming);
                    }
                }
            }
            Record::Log(log) => {
                notes.thread(&self.providers[self.current], log.thread);
                notes.utf8(log.message, "log message");
            }
            Record::Profiler(profiler) => {
                let provider = &self.providers[self.current];
                match profiler {
                    Profiler::Module { process, name, .. } => {
                        notes.process(provider, *process);
                        notes.utf8(name, "module name");
                    }
                    Profiler::Mapping { process, .. } => notes.process(provider, *process),
                    Profiler::Backtrace { thread, .. } => notes.thread(provider, *thread),
                }
            }
            Record::LargeBlob(blob) => {
                let provider = &self.providers[self.current];
                notes.text(provider, blob.category, "category");
                notes.text(provider, blob.name, "blob name");
                if let Some(origin) = &blob.origin {
                    notes.thread(provider, origin.thread);
                    notes.args(provider, origin.args);
                }
            }
            Record::Unknown(unknown) => {
                notes.add(WarningKind::UnknownRecord(unknown.header.kind()));
            }
        }
        &self.warnings
    }

    fn metadata(&mut self, metadata: &Metadata<Raw<'_>>, offset: u64) {
        let mut notes = Notes {
            offset,
            warnings: &mut self.warnings,
        };
        match metadata {
            Metadata::ProviderInfo { provider, name } => {
                notes.utf8(name, "provider name");
                self.switch(*provider, offset);
                self.provider_mut().name = Some(String::from_utf8_lossy(name).into());
            }
            Metadata::ProviderSection { provider } => {
                self.switch(*provider, offset);
                if self.provider().name.is_none() {
                    self.warnings.push(Warning {
                        offset,
                        kind: WarningKind::UnnamedProvider(*provider),
                    });
                }
            }
            Metadata::ProviderEvent { provider, event } => {
                if *event == ProviderEvent::BUFFER_FULL {
                    notes.add(WarningKind::BufferFull(*provider));
                }
            }
            // Traces that were joined: nothing of the first applies to the second.
            Metadata::Magic if offset > 0 => {
                let warning = Warning {
                    offset,
                    kind: WarningKind::MagicAgain,
                };
                *self = Tracker {
                    keeps_names: self.keeps_names,
                    seen_any: true,
                    warnings: core::mem::take(&mut self.warnings),
                    ..Tracker::new()
                };
                self.warnings.push(warning);
            }
            Metadata::Magic => {}
        }
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
        self.warnings.push(Warning {
            offset,
            kind: WarningKind::TooManyProviders,
        });
    }

    fn provider_mut(&mut self) -> &mut Provider {
        &mut self.providers[self.current]
    }

    /// Spells out a record that was tracked last: names looked up, ticks made time.
    pub fn resolve<'s, 'b: 's>(&'s self, record: &Record<Raw<'b>>) -> Record<Resolved<'s>> {
        let p = self.provider();
        let lossy = |text: &'b [u8]| -> Cow<'s, str> { String::from_utf8_lossy(text) };
        match *record {
            Record::Metadata(metadata) => Record::Metadata(match metadata {
                Metadata::ProviderInfo { provider, name } => Metadata::ProviderInfo {
                    provider,
                    name: lossy(name),
                },
                Metadata::ProviderSection { provider } => Metadata::ProviderSection { provider },
                Metadata::ProviderEvent { provider, event } => {
                    Metadata::ProviderEvent { provider, event }
                }
                Metadata::Magic => Metadata::Magic,
            }),
            Record::Initialization(init) => Record::Initialization(init),
            Record::String(string) => Record::String(StringRecord {
                index: string.index,
                text: lossy(string.text),
            }),
            Record::Thread(thread) => Record::Thread(thread),
            Record::Event(event) => Record::Event(Event {
                time: p.time(event.time),
                thread: p.resolve_thread(event.thread),
                category: p.text(event.category),
                name: p.text(event.name),
                args: resolve_args(p, event.args),
                kind: event.kind.map_time(|ticks| p.time(ticks)),
            }),
            Record::Blob(blob) => Record::Blob(Blob {
                name: p.text(blob.name),
                kind: blob.kind,
                data: blob.data,
            }),
            Record::UserspaceObject(object) => Record::UserspaceObject(UserspaceObject {
                process: p.resolve_process(object.process),
                pointer: object.pointer,
                name: p.text(object.name),
                args: resolve_args(p, object.args),
            }),
            Record::KernelObject(object) => Record::KernelObject(KernelObject {
                kind: object.kind,
                koid: object.koid,
                name: p.text(object.name),
                args: resolve_args(p, object.args),
            }),
            Record::Scheduling(scheduling) => Record::Scheduling(match scheduling {
                Scheduling::ContextSwitch {
                    time,
                    cpu,
                    outgoing,
                    outgoing_state,
                    incoming,
                    args,
                } => Scheduling::ContextSwitch {
                    time: p.time(time),
                    cpu,
                    outgoing,
                    outgoing_state,
                    incoming,
                    args: resolve_args(p, args),
                },
                Scheduling::ThreadWakeup {
                    time,
                    cpu,
                    thread,
                    args,
                } => Scheduling::ThreadWakeup {
                    time: p.time(time),
                    cpu,
                    thread,
                    args: resolve_args(p, args),
                },
                Scheduling::LegacyContextSwitch {
                    time,
                    cpu,
                    outgoing,
                    outgoing_state,
                    outgoing_priority,
                    incoming,
                    incoming_priority,
                } => Scheduling::LegacyContextSwitch {
                    time: p.time(time),
                    cpu,
                    outgoing: p.resolve_thread(outgoing),
                    outgoing_state,
                    outgoing_priority,
                    incoming: p.resolve_thread(incoming),
                    incoming_priority,
                },
            }),
            Record::Log(log) => Record::Log(Log {
                time: p.time(log.time),
                thread: p.resolve_thread(log.thread),
                message: lossy(log.message),
            }),
            Record::Profiler(profiler) => Record::Profiler(match profiler {
                Profiler::Module {
                    time,
                    process,
                    thread,
                    module,
                    name,
                    build_id,
                } => Profiler::Module {
                    time: p.time(time),
                    process: p.resolve_process(process),
                    thread,
                    module,
                    name: lossy(name),
                    build_id,
                },
                Profiler::Mapping {
                    time,
                    process,
                    thread,
                    module,
                    start,
                    range,
                    vaddr,
                    flags,
                } => Profiler::Mapping {
                    time: p.time(time),
                    process: p.resolve_process(process),
                    thread,
                    module,
                    start,
                    range,
                    vaddr,
                    flags,
                },
                Profiler::Backtrace {
                    time,
                    thread,
                    frames,
                } => Profiler::Backtrace {
                    time: p.time(time),
                    thread: p.resolve_thread(thread),
                    frames,
                },
            }),
            Record::LargeBlob(blob) => Record::LargeBlob(LargeBlob {
                category: p.text(blob.category),
                name: p.text(blob.name),
                origin: blob.origin.map(|origin| BlobOrigin {
                    time: p.time(origin.time),
                    thread: p.resolve_thread(origin.thread),
                    args: resolve_args(p, origin.args),
                }),
                data: blob.data,
            }),
            Record::Unknown(Unknown { header, body }) => Record::Unknown(Unknown { header, body }),
        }
    }
}

fn resolve_args<'s>(
    provider: &'s Provider,
    args: Arguments<'s>,
) -> Vec<Argument<'s, Cow<'s, str>>> {
    args.iter()
        .map(|arg| Argument {
            name: provider.text(arg.name),
            value: match arg.value {
                Value::Text(text) => Value::Text(provider.text(text)),
                Value::Null => Value::Null,
                Value::I32(value) => Value::I32(value),
                Value::U32(value) => Value::U32(value),
                Value::I64(value) => Value::I64(value),
                Value::U64(value) => Value::U64(value),
                Value::F64(value) => Value::F64(value),
                Value::Pointer(value) => Value::Pointer(value),
                Value::Koid(value) => Value::Koid(value),
                Value::Bool(value) => Value::Bool(value),
                Value::Blob(value) => Value::Blob(value),
                Value::Unknown { kind, data, body } => Value::Unknown { kind, data, body },
            },
            extra: arg.extra,
        })
        .collect()
}

/// The warnings about one record.
struct Notes<'n> {
    offset: u64,
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
    fn index(&mut self, provider: &Provider, text: StringRef<'_>) {
        if let StringRef::Index(index) = text
            && !provider.has_string(index)
        {
            self.add(WarningKind::UndefinedString(index.get()));
        }
    }

    #[inline]
    fn text(&mut self, provider: &Provider, text: StringRef<'_>, what: &'static str) {
        match text {
            StringRef::Inline(bytes) => self.utf8(bytes, what),
            _ => self.index(provider, text),
        }
    }

    #[inline]
    fn thread(&mut self, provider: &Provider, thread: ThreadRef) {
        if let ThreadRef::Index(index) = thread
            && !provider.has_thread(index)
        {
            self.add(WarningKind::UndefinedThread(index.get()));
        }
    }

    #[inline]
    fn process(&mut self, provider: &Provider, process: ProcessRef) {
        if let ProcessRef::Index(index) = process {
            self.thread(provider, ThreadRef::Index(index));
        }
    }

    fn args(&mut self, provider: &Provider, args: Arguments<'_>) {
        for arg in args {
            self.text(provider, arg.name, "argument name");
            match arg.value {
                Value::Text(text) => self.text(provider, text, "argument value"),
                Value::Unknown { kind, .. } => self.add(WarningKind::UnknownArgument(kind)),
                _ => {}
            }
            if !arg.extra.is_empty() {
                let words = (arg.extra.len() / 8) as u32;
                self.add(WarningKind::AppendedArgumentWords(words));
            }
        }
    }
}
