//! Event records (type 4): something with a name happened at a time on a thread.
//! The event type says what shape it has on a time line.

use crate::fxt::argument::Arguments;
use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::string::StringRef;
use crate::fxt::thread::ThreadRef;
use crate::fxt::time::Ticks;

const KIND: Bits = bits(16, 19);
const ARGUMENTS: Bits = bits(20, 23);
const THREAD: Bits = bits(24, 31);
const CATEGORY: Bits = bits(32, 47);
const NAME: Bits = bits(48, 63);

/// An event on a thread's time line (record type 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event<L: Layer> {
    /// The time of the event; for [`EventKind::DurationComplete`] the time at which it began.
    pub time: L::Time,
    /// The thread that it happened on.
    pub thread: L::Thread,
    /// What family of events this belongs to.
    pub category: L::Text,
    /// The name of the event; viewers show it.
    pub name: L::Text,
    /// Named values that belong to the event.
    pub args: L::Args,
    /// The shape of the event.
    pub kind: EventKind<L::Time>,
}

/// The shape of an event on a time line, with what that shape needs beyond the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind<T> {
    /// A point in time.
    Instant,
    /// A sample of each numeric argument, as a series of the counter `id`.
    Counter {
        /// Distinguishes counters of one name.
        id: u64,
    },
    /// The thread begins something. Nests.
    DurationBegin,
    /// The thread ends what it began last.
    DurationEnd,
    /// The thread did something from the event's time to `end`.
    DurationComplete {
        /// The time at which it ended, not before the event's time.
        end: T,
    },
    /// Something begins that may cross threads.
    AsyncBegin {
        /// Connects begin, instants and end.
        id: u64,
    },
    /// A point in time of something that crosses threads.
    AsyncInstant {
        /// Connects begin, instants and end.
        id: u64,
    },
    /// Something ends that may have crossed threads.
    AsyncEnd {
        /// Connects begin, instants and end.
        id: u64,
    },
    /// An arrow leaves the duration around this event.
    FlowBegin {
        /// Connects the ends of the arrow.
        id: u64,
    },
    /// An arrow passes through the duration around this event.
    FlowStep {
        /// Connects the ends of the arrow.
        id: u64,
    },
    /// An arrow arrives at the duration around this event.
    FlowEnd {
        /// Connects the ends of the arrow.
        id: u64,
    },
    /// A type without a meaning yet: 11 to 15. What follows the arguments is among
    /// the record's extra words.
    Unknown(u8),
}

impl<T> EventKind<T> {
    /// The number of the type, 0 to 15.
    pub fn number(&self) -> u8 {
        match self {
            EventKind::Instant => 0,
            EventKind::Counter { .. } => 1,
            EventKind::DurationBegin => 2,
            EventKind::DurationEnd => 3,
            EventKind::DurationComplete { .. } => 4,
            EventKind::AsyncBegin { .. } => 5,
            EventKind::AsyncInstant { .. } => 6,
            EventKind::AsyncEnd { .. } => 7,
            EventKind::FlowBegin { .. } => 8,
            EventKind::FlowStep { .. } => 9,
            EventKind::FlowEnd { .. } => 10,
            EventKind::Unknown(number) => *number,
        }
    }

    /// The name of the type, if it has a meaning.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            EventKind::Instant => "instant",
            EventKind::Counter { .. } => "counter",
            EventKind::DurationBegin => "duration begin",
            EventKind::DurationEnd => "duration end",
            EventKind::DurationComplete { .. } => "duration complete",
            EventKind::AsyncBegin { .. } => "async begin",
            EventKind::AsyncInstant { .. } => "async instant",
            EventKind::AsyncEnd { .. } => "async end",
            EventKind::FlowBegin { .. } => "flow begin",
            EventKind::FlowStep { .. } => "flow step",
            EventKind::FlowEnd { .. } => "flow end",
            EventKind::Unknown(_) => return None,
        })
    }

    /// The id that connects this event with others, if its type has one.
    pub fn id(&self) -> Option<u64> {
        match *self {
            EventKind::Counter { id }
            | EventKind::AsyncBegin { id }
            | EventKind::AsyncInstant { id }
            | EventKind::AsyncEnd { id }
            | EventKind::FlowBegin { id }
            | EventKind::FlowStep { id }
            | EventKind::FlowEnd { id } => Some(id),
            _ => None,
        }
    }

    /// The same with another notion of time.
    pub fn map_time<U>(self, f: impl FnOnce(T) -> U) -> EventKind<U> {
        match self {
            EventKind::Instant => EventKind::Instant,
            EventKind::Counter { id } => EventKind::Counter { id },
            EventKind::DurationBegin => EventKind::DurationBegin,
            EventKind::DurationEnd => EventKind::DurationEnd,
            EventKind::DurationComplete { end } => EventKind::DurationComplete { end: f(end) },
            EventKind::AsyncBegin { id } => EventKind::AsyncBegin { id },
            EventKind::AsyncInstant { id } => EventKind::AsyncInstant { id },
            EventKind::AsyncEnd { id } => EventKind::AsyncEnd { id },
            EventKind::FlowBegin { id } => EventKind::FlowBegin { id },
            EventKind::FlowStep { id } => EventKind::FlowStep { id },
            EventKind::FlowEnd { id } => EventKind::FlowEnd { id },
            EventKind::Unknown(number) => EventKind::Unknown(number),
        }
    }
}

impl<'a> Event<Raw<'a>> {
    #[inline]
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let time = Ticks(cursor.word("timestamp")?);
        let thread = ThreadRef::read(header.field(THREAD), cursor)?;
        let category = StringRef::read(header.field(CATEGORY), cursor, "category")?;
        let name = StringRef::read(header.field(NAME), cursor, "event name")?;
        let args = Arguments::read(header.field(ARGUMENTS), cursor)?;
        let number = header.field(KIND);
        let kind = match number {
            0 => EventKind::Instant,
            1 => EventKind::Counter {
                id: cursor.word("counter id")?,
            },
            2 => EventKind::DurationBegin,
            3 => EventKind::DurationEnd,
            4 => EventKind::DurationComplete {
                end: Ticks(cursor.word("end time")?),
            },
            5..=10 => {
                let id = cursor.word("correlation id")?;
                match number {
                    5 => EventKind::AsyncBegin { id },
                    6 => EventKind::AsyncInstant { id },
                    7 => EventKind::AsyncEnd { id },
                    8 => EventKind::FlowBegin { id },
                    9 => EventKind::FlowStep { id },
                    _ => EventKind::FlowEnd { id },
                }
            }
            _ => EventKind::Unknown(number as u8),
        };
        Ok(Event {
            time,
            thread,
            category,
            name,
            args,
            kind,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let kind = WriteError::check("event type", self.kind.number().into(), KIND.max())?;
        let header = RecordHeader::new(RecordType::EVENT)
            .with(KIND, kind)
            .with(ARGUMENTS, self.args.count()?)
            .with(THREAD, self.thread.bits())
            .with(CATEGORY, self.category.bits("category length")?)
            .with(NAME, self.name.bits("event name length")?);
        words.word(self.time.0)?;
        self.thread.write(words)?;
        self.category.write(words)?;
        self.name.write(words)?;
        self.args.write(words)?;
        if let EventKind::DurationComplete { end } = self.kind {
            words.word(end.0)?;
        }
        if let Some(id) = self.kind.id() {
            words.word(id)?;
        }
        Ok(header)
    }
}
