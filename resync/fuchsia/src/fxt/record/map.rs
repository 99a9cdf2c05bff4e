//! One record from layer to layer: the only place that lists the parts of every record
//! type. The writer, the tracker and its warnings are each a [`Layers`] of a few lines.

use super::{
    Blob, BlobOrigin, Event, KernelObject, LargeBlob, Log, Metadata, Profiler, Record, Scheduling,
    StringRecord, Unknown, UserspaceObject,
};
use crate::fxt::layer::{Layer, Layers};

impl<From: Layer> Record<From> {
    /// The same record with each part as `to` turns it.
    pub(crate) fn map<M: Layers<From>>(self, to: &mut M) -> Result<Record<M::To>, M::Error> {
        Ok(match self {
            Record::Metadata(metadata) => metadata.map(to).into(),
            Record::Initialization(init) => init.into(),
            Record::String(string) => Record::String(StringRecord {
                index: string.index,
                text: to.spelled(string.text, "string"),
            }),
            Record::Thread(thread) => thread.into(),
            Record::Event(event) => event.map(to)?.into(),
            Record::Blob(blob) => Record::Blob(Blob {
                name: to.text(blob.name, "blob name")?,
                kind: blob.kind,
                data: to.bytes(blob.data),
            }),
            Record::UserspaceObject(object) => Record::UserspaceObject(UserspaceObject {
                process: to.process(object.process),
                pointer: object.pointer,
                name: to.text(object.name, "object name")?,
                args: to.args(object.args)?,
            }),
            Record::KernelObject(object) => Record::KernelObject(KernelObject {
                kind: object.kind,
                koid: object.koid,
                name: to.object_name(object.name)?,
                args: to.args(object.args)?,
            }),
            Record::Scheduling(scheduling) => scheduling.map(to)?.into(),
            Record::Log(log) => Record::Log(Log {
                time: to.time(log.time),
                thread: to.thread(log.thread)?,
                message: to.spelled(log.message, "log message"),
            }),
            Record::Profiler(profiler) => profiler.map(to)?.into(),
            Record::LargeBlob(blob) => blob.map(to)?.into(),
            Record::Unknown(unknown) => Record::Unknown(Unknown {
                header: unknown.header,
                body: to.bytes(unknown.body),
            }),
        })
    }
}

impl<From: Layer> Metadata<From> {
    fn map<M: Layers<From>>(self, to: &mut M) -> Metadata<M::To> {
        match self {
            Metadata::ProviderInfo { provider, name } => Metadata::ProviderInfo {
                provider,
                name: to.spelled(name, "provider name"),
            },
            Metadata::ProviderSection { provider } => Metadata::ProviderSection { provider },
            Metadata::ProviderEvent { provider, event } => {
                Metadata::ProviderEvent { provider, event }
            }
            Metadata::Magic => Metadata::Magic,
        }
    }
}

impl<From: Layer> Event<From> {
    #[inline]
    fn map<M: Layers<From>>(self, to: &mut M) -> Result<Event<M::To>, M::Error> {
        Ok(Event {
            time: to.time(self.time),
            thread: to.thread(self.thread)?,
            category: to.text(self.category, "category")?,
            name: to.text(self.name, "event name")?,
            args: to.args(self.args)?,
            kind: self.kind.map_time(|time| to.time(time)),
        })
    }
}

impl<From: Layer> Scheduling<From> {
    fn map<M: Layers<From>>(self, to: &mut M) -> Result<Scheduling<M::To>, M::Error> {
        Ok(match self {
            Scheduling::ContextSwitch {
                time,
                cpu,
                outgoing,
                outgoing_state,
                incoming,
                args,
            } => Scheduling::ContextSwitch {
                time: to.time(time),
                cpu,
                outgoing,
                outgoing_state,
                incoming,
                args: to.args(args)?,
            },
            Scheduling::ThreadWakeup {
                time,
                cpu,
                thread,
                args,
            } => Scheduling::ThreadWakeup {
                time: to.time(time),
                cpu,
                thread,
                args: to.args(args)?,
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
                time: to.time(time),
                cpu,
                outgoing: to.thread(outgoing)?,
                outgoing_state,
                outgoing_priority,
                incoming: to.thread(incoming)?,
                incoming_priority,
            },
        })
    }
}

impl<From: Layer> Profiler<From> {
    fn map<M: Layers<From>>(self, to: &mut M) -> Result<Profiler<M::To>, M::Error> {
        Ok(match self {
            Profiler::Module {
                time,
                process,
                thread,
                module,
                name,
                build_id,
            } => Profiler::Module {
                time: to.time(time),
                process: to.process(process),
                thread,
                module,
                name: to.spelled(name, "module name"),
                build_id: to.bytes(build_id),
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
                time: to.time(time),
                process: to.process(process),
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
                time: to.time(time),
                thread: to.thread(thread)?,
                frames: to.bytes(frames),
            },
        })
    }
}

impl<From: Layer> LargeBlob<From> {
    fn map<M: Layers<From>>(self, to: &mut M) -> Result<LargeBlob<M::To>, M::Error> {
        let category = to.text(self.category, "category")?;
        let name = to.text(self.name, "blob name")?;
        let origin = match self.origin {
            Some(origin) => Some(BlobOrigin {
                time: to.time(origin.time),
                thread: to.thread(origin.thread)?,
                args: to.args(origin.args)?,
            }),
            None => None,
        };
        Ok(LargeBlob {
            category,
            name,
            origin,
            data: to.bytes(self.data),
        })
    }
}
