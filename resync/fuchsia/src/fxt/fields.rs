//! What a resolved record says, as a list of named values: the one listing that the
//! text and the JSON form of a dump share. Knows nothing of either.

use std::borrow::Cow;

use super::argument::{Argument, Value};
use super::layer::Resolved;
use super::record::{
    Event, EventKind, LargeBlob, Metadata, Profiler, Record, Scheduling, ThreadState, ThreadWord,
    stack_frames,
};
use super::tables::Provider;
use super::thread::{Koid, Thread};
use super::time::Time;

/// A value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'f> {
    Null,
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Address(u64),
    Text(&'f str),
    Time(Time),
    Bytes(&'f [u8]),
    Addresses(&'f [u8]),
    Args(&'f [Argument<'f, Cow<'f, str>>]),
}

/// Takes the fields of a record, in order.
pub(crate) trait FieldSink {
    fn field(&mut self, name: &'static str, value: Field<'_>);
}

pub(crate) fn argument_field<'f>(value: &'f Value<'f, Cow<'f, str>>) -> Field<'f> {
    match value {
        Value::Null => Field::Null,
        Value::I32(value) => Field::Signed((*value).into()),
        Value::U32(value) => Field::Unsigned((*value).into()),
        Value::I64(value) => Field::Signed(*value),
        Value::U64(value) | Value::Koid(Koid(value)) => Field::Unsigned(*value),
        Value::F64(value) => Field::Float(*value),
        Value::Text(value) => Field::Text(value),
        Value::Pointer(value) => Field::Address(*value),
        Value::Bool(value) => Field::Bool(*value),
        Value::Blob(value) | Value::Unknown { body: value, .. } => Field::Bytes(value),
    }
}

/// The name of an argument's type.
pub(crate) fn argument_type<T>(value: &Value<'_, T>) -> &'static str {
    match value {
        Value::Null => "null",
        Value::I32(_) => "i32",
        Value::U32(_) => "u32",
        Value::I64(_) => "i64",
        Value::U64(_) => "u64",
        Value::F64(_) => "f64",
        Value::Text(_) => "string",
        Value::Pointer(_) => "pointer",
        Value::Koid(_) => "koid",
        Value::Bool(_) => "bool",
        Value::Blob(_) => "blob",
        Value::Unknown { .. } => "unknown",
    }
}

/// What kind of record this is, down to its subtype, in a word or two.
pub(crate) fn kind(record: &Record<Resolved<'_>>) -> &'static str {
    match record {
        Record::Metadata(Metadata::ProviderInfo { .. }) => "provider info",
        Record::Metadata(Metadata::ProviderSection { .. }) => "provider section",
        Record::Metadata(Metadata::ProviderEvent { .. }) => "provider event",
        Record::Metadata(Metadata::Magic) => "magic",
        Record::Event(event) => event.kind.name().unwrap_or("unknown event"),
        Record::Scheduling(Scheduling::ContextSwitch { .. }) => "context switch",
        Record::Scheduling(Scheduling::ThreadWakeup { .. }) => "thread wakeup",
        Record::Scheduling(Scheduling::LegacyContextSwitch { .. }) => "legacy context switch",
        Record::Profiler(Profiler::Module { .. }) => "module",
        Record::Profiler(Profiler::Mapping { .. }) => "mapping",
        Record::Profiler(Profiler::Backtrace { .. }) => "backtrace",
        Record::LargeBlob(_) => "large blob",
        Record::Unknown(_) => "unknown",
        record => record.kind().name().unwrap_or("unknown"),
    }
}

/// Lists the fields of `record`, which `provider` has written.
pub(crate) fn list(record: &Record<Resolved<'_>>, provider: &Provider, to: &mut dyn FieldSink) {
    let mut list = List { provider, to };
    match record {
        Record::Metadata(metadata) => list.metadata(metadata),
        Record::Initialization(init) => list.number("ticks_per_second", init.ticks_per_second),
        Record::String(string) => {
            list.number("index", string.index.map_or(0, |index| index.get()));
            list.text("text", &string.text);
        }
        Record::Thread(thread) => {
            list.number("index", thread.index.map_or(0, |index| index.get()));
            list.thread(thread.thread);
        }
        Record::Event(event) => list.event(event),
        Record::Blob(blob) => {
            list.text("name", &blob.name);
            list.named("blob_type", blob.kind.0, blob.kind.name());
            list.bytes("data", blob.data);
        }
        Record::UserspaceObject(object) => {
            list.koid("process", object.process);
            list.address("pointer", object.pointer);
            list.text("name", &object.name);
            list.args(&object.args);
        }
        Record::KernelObject(object) => {
            list.named("object_type", object.kind.0, object.kind.name());
            list.koid("koid", object.koid);
            list.text("name", &object.name);
            list.args(&object.args);
        }
        Record::Scheduling(scheduling) => list.scheduling(scheduling),
        Record::Log(log) => {
            list.time("time", log.time);
            list.thread(log.thread);
            list.text("message", &log.message);
        }
        Record::Profiler(profiler) => list.profiler(profiler),
        Record::LargeBlob(blob) => list.large_blob(blob),
        Record::Unknown(unknown) => {
            list.number("record_type", unknown.header.kind().number());
            list.address("header", unknown.header.0);
            list.bytes("body", unknown.body);
        }
    }
}

struct List<'l> {
    provider: &'l Provider,
    to: &'l mut dyn FieldSink,
}

impl List<'_> {
    fn number(&mut self, name: &'static str, value: impl Into<u64>) {
        self.to.field(name, Field::Unsigned(value.into()));
    }

    fn address(&mut self, name: &'static str, value: u64) {
        self.to.field(name, Field::Address(value));
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.to.field(name, Field::Text(value));
    }

    fn bytes(&mut self, name: &'static str, value: &[u8]) {
        self.to.field(name, Field::Bytes(value));
    }

    fn time(&mut self, name: &'static str, value: Time) {
        self.to.field(name, Field::Time(value));
    }

    fn args(&mut self, args: &[Argument<'_, Cow<'_, str>>]) {
        if !args.is_empty() {
            self.to.field("args", Field::Args(args));
        }
    }

    /// A number of an open set: its name if it has one.
    fn named(&mut self, field: &'static str, number: u8, name: Option<&'static str>) {
        match name {
            Some(name) => self.text(field, name),
            None => self.number(field, number),
        }
    }

    fn koid(&mut self, name: &'static str, koid: Koid) {
        self.number(name, koid.0);
    }

    fn thread(&mut self, thread: Thread) {
        self.thread_as(thread, ["process", "thread"]);
        for (name, koid) in [
            ("process_name", thread.process),
            ("thread_name", thread.thread),
        ] {
            if let Some(object) = self.provider.kernel_object(koid) {
                self.to.field(name, Field::Text(&object.name));
            }
        }
    }

    fn thread_as(&mut self, thread: Thread, names: [&'static str; 2]) {
        self.koid(names[0], thread.process);
        self.koid(names[1], thread.thread);
    }

    fn state(&mut self, state: ThreadState) {
        self.named("outgoing_state", state.0, state.name());
    }

    fn metadata(&mut self, metadata: &Metadata<Resolved<'_>>) {
        match metadata {
            Metadata::ProviderInfo { provider, name } => {
                self.number("id", provider.0);
                self.text("name", name);
            }
            Metadata::ProviderSection { provider } => self.number("id", provider.0),
            Metadata::ProviderEvent { provider, event } => {
                self.number("id", provider.0);
                self.named("event", event.0, event.name());
            }
            Metadata::Magic => {}
        }
    }

    fn event(&mut self, event: &Event<Resolved<'_>>) {
        self.time("time", event.time);
        self.thread(event.thread);
        self.text("category", &event.category);
        self.text("name", &event.name);
        match event.kind {
            EventKind::DurationComplete { end } => self.time("end", end),
            EventKind::Unknown(number) => self.number("event_type", number),
            _ => {}
        }
        if let Some(id) = event.kind.id() {
            self.number("id", id);
        }
        self.args(&event.args);
    }

    fn large_blob(&mut self, blob: &LargeBlob<Resolved<'_>>) {
        if let Some(origin) = &blob.origin {
            self.time("time", origin.time);
            self.thread(origin.thread);
        }
        self.text("category", &blob.category);
        self.text("name", &blob.name);
        self.bytes("data", blob.data);
        if let Some(origin) = &blob.origin {
            self.args(&origin.args);
        }
    }

    fn scheduling(&mut self, scheduling: &Scheduling<Resolved<'_>>) {
        match scheduling {
            Scheduling::ContextSwitch {
                time,
                cpu,
                outgoing,
                outgoing_state,
                incoming,
                args,
            } => {
                self.time("time", *time);
                self.number("cpu", *cpu);
                self.koid("outgoing_thread", *outgoing);
                self.state(*outgoing_state);
                self.koid("incoming_thread", *incoming);
                self.args(args);
            }
            Scheduling::ThreadWakeup {
                time,
                cpu,
                thread,
                args,
            } => {
                self.time("time", *time);
                self.number("cpu", *cpu);
                self.koid("thread", *thread);
                self.args(args);
            }
            Scheduling::LegacyContextSwitch {
                time,
                cpu,
                outgoing,
                outgoing_state,
                outgoing_priority,
                incoming,
                incoming_priority,
            } => {
                self.time("time", *time);
                self.number("cpu", *cpu);
                self.thread_as(*outgoing, ["outgoing_process", "outgoing_thread"]);
                self.state(*outgoing_state);
                self.number("outgoing_priority", *outgoing_priority);
                self.thread_as(*incoming, ["incoming_process", "incoming_thread"]);
                self.number("incoming_priority", *incoming_priority);
            }
        }
    }

    fn profiler(&mut self, profiler: &Profiler<Resolved<'_>>) {
        match profiler {
            Profiler::Module {
                time,
                process,
                thread,
                module,
                name,
                build_id,
            } => {
                self.time("time", *time);
                self.koid("process", *process);
                self.thread_word(*thread);
                self.number("module", *module);
                self.text("name", name);
                self.bytes("build_id", build_id);
            }
            Profiler::Mapping {
                time,
                process,
                thread,
                module,
                start,
                range,
                vaddr,
                flags,
            } => {
                self.time("time", *time);
                self.koid("process", *process);
                self.thread_word(*thread);
                self.number("module", *module);
                self.address("start", *start);
                self.address("range", *range);
                self.address("vaddr", *vaddr);
                self.number("flags", *flags);
            }
            Profiler::Backtrace {
                time,
                thread,
                frames,
            } => {
                self.time("time", *time);
                self.thread(*thread);
                debug_assert!(stack_frames(frames).len() * 8 == frames.len());
                self.to.field("frames", Field::Addresses(frames));
            }
        }
    }

    fn thread_word(&mut self, thread: ThreadWord) {
        if let ThreadWord::NonZero(koid) = thread {
            self.koid("thread", koid);
        }
    }
}
