//! Scheduling records (type 8): context switches, wakeups, and the older form of the
//! context switch that names threads by reference and gives priorities.

use crate::fxt::argument::Arguments;
use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::thread::{Koid, ThreadRef};
use crate::fxt::time::Ticks;

const SUBTYPE: Bits = bits(60, 63);
const ARGUMENTS: Bits = bits(16, 19);
const CPU: Bits = bits(20, 35);
const OUTGOING_STATE: Bits = bits(36, 39);

const LEGACY_CPU: Bits = bits(16, 23);
const LEGACY_OUTGOING_STATE: Bits = bits(24, 27);
const LEGACY_OUTGOING: Bits = bits(28, 35);
const LEGACY_INCOMING: Bits = bits(36, 43);
const LEGACY_OUTGOING_PRIORITY: Bits = bits(44, 51);
const LEGACY_INCOMING_PRIORITY: Bits = bits(52, 59);

const LEGACY_CONTEXT_SWITCH: u64 = 0;
const CONTEXT_SWITCH: u64 = 1;
const THREAD_WAKEUP: u64 = 2;

/// The state of a thread: an open set of 16 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadState(pub u8);

impl ThreadState {
    /// Made and not started yet.
    pub const NEW: ThreadState = ThreadState(0);
    /// Runs, or may run, on a CPU.
    pub const RUNNING: ThreadState = ThreadState(1);
    /// Stopped by another thread, such as a debugger's.
    pub const SUSPENDED: ThreadState = ThreadState(2);
    /// Waits, for instance for a lock or for a time.
    pub const BLOCKED: ThreadState = ThreadState(3);
    /// Ends, and has not ended yet.
    pub const DYING: ThreadState = ThreadState(4);
    /// Has ended, and does not run again.
    pub const DEAD: ThreadState = ThreadState(5);

    /// The name of the state, if it has a meaning.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            ThreadState::NEW => "new",
            ThreadState::RUNNING => "running",
            ThreadState::SUSPENDED => "suspended",
            ThreadState::BLOCKED => "blocked",
            ThreadState::DYING => "dying",
            ThreadState::DEAD => "dead",
            _ => return None,
        })
    }
}

/// A scheduling record (type 8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduling<L: Layer> {
    /// A CPU went from one thread to another. Subtype 1.
    ContextSwitch {
        /// The time of the switch.
        time: L::Time,
        /// The number of the CPU.
        cpu: u16,
        /// The thread that ran before.
        outgoing: Koid,
        /// Its state from then on.
        outgoing_state: ThreadState,
        /// The thread that runs now.
        incoming: Koid,
        /// By convention `incoming_weight` and `outgoing_weight`, 32-bit.
        args: L::Args,
    },
    /// A thread can run again. Subtype 2.
    ThreadWakeup {
        /// The time of the wakeup.
        time: L::Time,
        /// The number of the CPU on which the thread was woken.
        cpu: u16,
        /// The thread that can run again.
        thread: Koid,
        /// By convention `weight`, 32-bit, and `waker`, a koid.
        args: L::Args,
    },
    /// The older context switch. Subtype 0.
    LegacyContextSwitch {
        /// The time of the switch.
        time: L::Time,
        /// The number of the CPU.
        cpu: u8,
        /// The thread that ran before.
        outgoing: L::Thread,
        /// Its state from then on.
        outgoing_state: ThreadState,
        /// The priority of the thread that ran before.
        outgoing_priority: u8,
        /// The thread that runs now.
        incoming: L::Thread,
        /// The priority of the thread that runs now.
        incoming_priority: u8,
    },
}

impl<'a> Scheduling<Raw<'a>> {
    /// None if the subtype has no meaning yet.
    pub(crate) fn decode(
        header: RecordHeader,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Self>, Malformed> {
        let subtype = header.field(SUBTYPE);
        if subtype > THREAD_WAKEUP {
            return Ok(None);
        }
        let time = Ticks(cursor.word("timestamp")?);
        Ok(Some(match subtype {
            CONTEXT_SWITCH => Scheduling::ContextSwitch {
                time,
                cpu: header.field(CPU) as u16,
                outgoing: Koid(cursor.word("outgoing thread id")?),
                outgoing_state: ThreadState(header.field(OUTGOING_STATE) as u8),
                incoming: Koid(cursor.word("incoming thread id")?),
                args: Arguments::read(header.field(ARGUMENTS), cursor)?,
            },
            THREAD_WAKEUP => Scheduling::ThreadWakeup {
                time,
                cpu: header.field(CPU) as u16,
                thread: Koid(cursor.word("waking thread id")?),
                args: Arguments::read(header.field(ARGUMENTS), cursor)?,
            },
            _ => Scheduling::LegacyContextSwitch {
                time,
                cpu: header.field(LEGACY_CPU) as u8,
                outgoing: ThreadRef::read(header.field(LEGACY_OUTGOING), cursor)?,
                outgoing_state: ThreadState(header.field(LEGACY_OUTGOING_STATE) as u8),
                outgoing_priority: header.field(LEGACY_OUTGOING_PRIORITY) as u8,
                incoming: ThreadRef::read(header.field(LEGACY_INCOMING), cursor)?,
                incoming_priority: header.field(LEGACY_INCOMING_PRIORITY) as u8,
            },
        }))
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let header = RecordHeader::new(RecordType::SCHEDULING);
        let state = |state: ThreadState| {
            WriteError::check("thread state", state.0.into(), OUTGOING_STATE.max())
        };
        Ok(match *self {
            Scheduling::ContextSwitch {
                time,
                cpu,
                outgoing,
                outgoing_state,
                incoming,
                args,
            } => {
                words.word(time.0)?;
                words.word(outgoing.0)?;
                words.word(incoming.0)?;
                args.write(words)?;
                header
                    .with(SUBTYPE, CONTEXT_SWITCH)
                    .with(ARGUMENTS, args.count()?)
                    .with(CPU, cpu.into())
                    .with(OUTGOING_STATE, state(outgoing_state)?)
            }
            Scheduling::ThreadWakeup {
                time,
                cpu,
                thread,
                args,
            } => {
                words.word(time.0)?;
                words.word(thread.0)?;
                args.write(words)?;
                header
                    .with(SUBTYPE, THREAD_WAKEUP)
                    .with(ARGUMENTS, args.count()?)
                    .with(CPU, cpu.into())
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
                words.word(time.0)?;
                outgoing.write(words)?;
                incoming.write(words)?;
                header
                    .with(SUBTYPE, LEGACY_CONTEXT_SWITCH)
                    .with(LEGACY_CPU, cpu.into())
                    .with(LEGACY_OUTGOING_STATE, state(outgoing_state)?)
                    .with(LEGACY_OUTGOING, outgoing.bits())
                    .with(LEGACY_INCOMING, incoming.bits())
                    .with(LEGACY_OUTGOING_PRIORITY, outgoing_priority.into())
                    .with(LEGACY_INCOMING_PRIORITY, incoming_priority.into())
            }
        })
    }
}
