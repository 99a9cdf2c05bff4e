//! Perfetto's own trace packets, for a blob record of a trace: a mark on the thread's
//! track, and a row in the table of logs with priority, place, message and call
//! stack, which Perfetto shows from version 55 on (version 52 counts it as unknown and drops
//! it). The numbers of messages and fields are those of Perfetto's `protos/perfetto/trace`.
//!
//! One packet sequence. File and line are interned once; a message, which the log
//! table takes in interned form only, for its own packet.

use super::protobuf::Message;
use super::text::lossy;
use crate::recover::tables::Thread as ThreadName;
use crate::resolve::resolved::Resolved;
use crate::resolve::stack::StackEntry;
use logdef_fuchsia::fxt::{Argument, Thread, Value};
use logdef_wire::Level;
use std::collections::HashMap;

/// The `Trace` message.
mod trace {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`.
mod packet {
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// What was interned before is forgotten.
    pub const CLEARED: u64 = 1;
    /// Refers to what was interned.
    pub const NEEDS: u64 = 2;
}

/// `ClockSnapshot`, its `Clock`, and the clocks that need no definition.
mod clock {
    pub const CLOCKS: u32 = 1;
    pub const ID: u32 = 1;
    pub const TIMESTAMP: u32 = 2;
    pub const REALTIME: u64 = 1;
    pub const MONOTONIC: u64 = 3;
    pub const BOOTTIME: u64 = 6;
}

/// `TrackDescriptor` and its `ThreadDescriptor`.
mod track {
    pub const UUID: u32 = 1;
    pub const THREAD: u32 = 4;
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const NAME: u32 = 5;
}

/// `TrackEvent`, its `LogMessage`, `DebugAnnotation`s and `InlineCallstack`.
mod event {
    pub const ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const INSTANT: u64 = 3;
    pub const TRACK: u32 = 11;
    pub const LOG_MESSAGE: u32 = 21;
    pub const CATEGORIES: u32 = 22;
    pub const NAME: u32 = 23;
    pub const CALLSTACK: u32 = 55;

    pub const LOCATION_IID: u32 = 1;
    pub const BODY_IID: u32 = 2;
    pub const PRIORITY: u32 = 3;

    pub const FRAMES: u32 = 1;
    pub const FUNCTION: u32 = 1;
    pub const SOURCE_FILE: u32 = 2;
    pub const SOURCE_LINE: u32 = 3;
}

/// `DebugAnnotation`.
mod annotation {
    pub const BOOL: u32 = 2;
    pub const UINT: u32 = 3;
    pub const INT: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const STRING: u32 = 6;
    pub const POINTER: u32 = 7;
    pub const NAME: u32 = 10;
}

/// `InternedData`, its `SourceLocation`s and `LogMessageBody`s.
mod interned {
    pub const LOCATIONS: u32 = 4;
    pub const BODIES: u32 = 20;
    pub const IID: u32 = 1;
    pub const FILE: u32 = 2;
    pub const LINE: u32 = 4;
    pub const BODY: u32 = 2;
}

/// Strings and places interned before all of them are forgotten, there and here.
const INTERNED: u64 = 1 << 14;

/// Packets that were not written out yet.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    bytes: Vec<u8>,
    /// Whether the clock snapshot was written.
    begun: bool,
    /// Names of the threads that have tracks.
    tracks: HashMap<Thread, Vec<u8>>,
    locations: HashMap<(Vec<u8>, u64), u64>,
    /// The number of what was interned last.
    last_iid: u64,
}

/// A packet about to be written.
pub(crate) struct Packet<'p> {
    packets: &'p mut Packets,
    time: u64,
    track: u64,
}

impl Packets {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// All threads will be introduced again.
    pub(crate) fn forget_threads(&mut self) {
        self.tracks.clear();
    }

    /// A packet of a thread, after what introduces clocks and the thread.
    pub(crate) fn begin(
        &mut self,
        time: u64,
        thread: Thread,
        names: Option<&ThreadName>,
    ) -> Packet<'_> {
        if !self.begun {
            self.begun = true;
            self.clocks(time);
        }
        let name = names.and_then(|thread| thread.name.as_deref());
        if self.tracks.get(&thread).map(|name| &**name) != Some(name.unwrap_or_default()) {
            self.tracks
                .insert(thread, name.unwrap_or_default().to_vec());
            self.track(time, thread, name);
        }
        Packet {
            packets: self,
            time,
            track: uuid(thread),
        }
    }

    /// Our ticks are what Perfetto takes for time since boot, and real time too.
    fn clocks(&mut self, time: u64) {
        self.packet(time, |packet| {
            packet.message(packet::CLOCK_SNAPSHOT, |snapshot| {
                for id in [clock::REALTIME, clock::MONOTONIC, clock::BOOTTIME] {
                    snapshot.message(clock::CLOCKS, |clock| {
                        clock.uint(clock::ID, id);
                        clock.uint(clock::TIMESTAMP, time);
                    });
                }
            });
        });
    }

    fn track(&mut self, time: u64, thread: Thread, name: Option<&[u8]>) {
        self.packet(time, |packet| {
            packet.message(packet::TRACK_DESCRIPTOR, |track| {
                track.uint(track::UUID, uuid(thread));
                track.message(track::THREAD, |descriptor| {
                    // 32 bits there, as of the ids in the trace around this.
                    descriptor.int(track::PID, thread.process.0 as i32 as i64);
                    descriptor.int(track::TID, thread.thread.0 as i32 as i64);
                    if let Some(name) = name {
                        descriptor.bytes(track::NAME, lossy(name).as_bytes());
                    }
                });
            });
        });
    }

    fn packet(&mut self, time: u64, with: impl FnOnce(&mut Message<'_>)) {
        Message(&mut self.bytes).message(trace::PACKET, |packet| {
            packet.uint(packet::TIMESTAMP, time);
            packet.uint(packet::SEQUENCE_ID, 1);
            with(packet);
        });
    }
}

impl Packet<'_> {
    /// A record that is a message: its mark, and its row in the table of logs.
    pub(crate) fn message(
        self,
        record: &Resolved<'_>,
        category: &str,
        name: &str,
        text: &str,
        args: &[Argument<'_, &str>],
        stack: &[StackEntry],
    ) {
        let Packet {
            packets,
            time,
            track,
        } = self;
        let mut flags = packet::NEEDS;
        if packets.last_iid == 0 || packets.last_iid > INTERNED {
            flags |= packet::CLEARED;
            packets.last_iid = 0;
            packets.locations.clear();
        }
        let place = (
            record.file.bytes.unwrap_or_default(),
            record.data.line.unwrap_or(0),
        );
        let known = packets.locations.get(&(place.0.to_vec(), place.1)).copied();
        let location = known.unwrap_or_else(|| {
            packets.last_iid += 1;
            let key = (place.0.to_vec(), place.1);
            packets.locations.insert(key, packets.last_iid);
            packets.last_iid
        });
        packets.last_iid += 1;
        let body = packets.last_iid;
        packets.packet(time, |packet| {
            packet.uint(packet::SEQUENCE_FLAGS, flags);
            packet.message(packet::INTERNED_DATA, |data| {
                if known.is_none() {
                    data.message(interned::LOCATIONS, |location_of| {
                        location_of.uint(interned::IID, location);
                        location_of.bytes(interned::FILE, lossy(place.0).as_bytes());
                        location_of.uint(interned::LINE, place.1 & u64::from(u32::MAX));
                    });
                }
                data.message(interned::BODIES, |body_of| {
                    body_of.uint(interned::IID, body);
                    body_of.bytes(interned::BODY, text.as_bytes());
                });
            });
            packet.message(packet::TRACK_EVENT, |event| {
                event.uint(event::TYPE, event::INSTANT);
                event.uint(event::TRACK, track);
                event.bytes(event::CATEGORIES, category.as_bytes());
                event.bytes(event::NAME, name.as_bytes());
                event.message(event::LOG_MESSAGE, |log| {
                    log.uint(event::LOCATION_IID, location);
                    log.uint(event::BODY_IID, body);
                    log.uint(event::PRIORITY, priority(record.data.level));
                });
                for arg in args.iter().filter(|arg| arg.name != "backtrace") {
                    event.message(event::ANNOTATIONS, |annotation| annotate(arg, annotation));
                }
                if !stack.is_empty() {
                    event.message(event::CALLSTACK, |callstack| call_stack(stack, callstack));
                }
            });
        });
    }
}

fn annotate(arg: &Argument<'_, &str>, annotation: &mut Message<'_>) {
    annotation.bytes(annotation::NAME, arg.name.as_bytes());
    match arg.value {
        Value::Bool(value) => annotation.uint(annotation::BOOL, value.into()),
        Value::U32(value) => annotation.uint(annotation::UINT, value.into()),
        Value::U64(value) => annotation.uint(annotation::UINT, value),
        Value::I32(value) => annotation.int(annotation::INT, value.into()),
        Value::I64(value) => annotation.int(annotation::INT, value),
        Value::F64(value) => annotation.double(annotation::DOUBLE, value),
        Value::Text(text) => annotation.bytes(annotation::STRING, text.as_bytes()),
        Value::Pointer(value) => annotation.uint(annotation::POINTER, value),
        // Of these a record has null only.
        Value::Null | Value::Koid(_) | Value::Blob(_) | Value::Unknown { .. } => {
            annotation.bytes(annotation::STRING, b"null");
        }
    }
}

/// Outermost first, as Perfetto has them; inlined functions are frames too.
fn call_stack(stack: &[StackEntry], callstack: &mut Message<'_>) {
    for entry in stack.iter().rev() {
        if entry.functions.is_empty() {
            let logged = entry.logged.as_ref();
            let name = logged.and_then(|logged| logged.sname.as_deref());
            callstack.message(event::FRAMES, |frame| match name {
                Some(name) => frame.bytes(event::FUNCTION, lossy(name).as_bytes()),
                None => frame.bytes(event::FUNCTION, format!("{:#x}", entry.address).as_bytes()),
            });
        }
        for function in entry.functions.iter().rev() {
            callstack.message(event::FRAMES, |frame| {
                let name = function.function.as_deref().unwrap_or("?");
                frame.bytes(event::FUNCTION, name.as_bytes());
                if let Some(file) = &function.file {
                    frame.bytes(event::SOURCE_FILE, file.as_bytes());
                    frame.uint(event::SOURCE_LINE, function.line.unwrap_or(0).into());
                }
            });
        }
    }
}

/// The priorities of Android's log; levels between are those below them.
fn priority(level: Option<Level>) -> u64 {
    match level {
        None => 0,
        Some(level) if level >= Level::FATAL => 7,
        Some(level) if level >= Level::ERROR => 6,
        Some(level) if level >= Level::WARN => 5,
        Some(level) if level >= Level::INFO => 4,
        Some(level) if level >= Level::DEBUG => 3,
        Some(_) => 2,
    }
}

/// The number of a thread's track: any that no other has.
fn uuid(thread: Thread) -> u64 {
    let (process, thread) = (thread.process.0 as u32, thread.thread.0 as u32);
    u64::from(process) << 32 | u64::from(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_between_are_those_below_them() {
        assert_eq!(priority(Some(Level(0x3f))), 4);
        assert_eq!(priority(Some(Level(1))), 2);
        assert_eq!(priority(Some(Level(255))), 7);
    }
}
