//! Userspace object records (type 6) and kernel object records (type 7): what a
//! pointer or a koid in an argument stands for. Processes and threads get their
//! names through the latter.

use crate::fxt::argument::Arguments;
use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::string::StringRef;
use crate::fxt::thread::{Koid, ProcessRef};

const PROCESS: Bits = bits(16, 23);
const KIND: Bits = bits(16, 23);
const NAME: Bits = bits(24, 39);
const ARGUMENTS: Bits = bits(40, 43);

/// What a pointer of a process stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserspaceObject<L: Layer> {
    /// The process in whose memory it lives.
    pub process: L::Process,
    /// Its address in that process.
    pub pointer: u64,
    /// A label for people.
    pub name: L::Text,
    /// Named values that belong to the object.
    pub args: L::Args,
}

impl<'a> UserspaceObject<Raw<'a>> {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let pointer = cursor.word("pointer")?;
        Ok(UserspaceObject {
            process: ProcessRef::read(header.field(PROCESS), cursor)?,
            pointer,
            name: StringRef::read(header.field(NAME), cursor, "object name")?,
            args: Arguments::read(header.field(ARGUMENTS), cursor)?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let header = RecordHeader::new(RecordType::USERSPACE_OBJECT)
            .with(PROCESS, self.process.bits())
            .with(NAME, self.name.bits("object name length")?)
            .with(ARGUMENTS, self.args.count()?);
        words.word(self.pointer)?;
        self.process.write(words)?;
        self.name.write(words)?;
        self.args.write(words)?;
        Ok(header)
    }
}

/// The type of a kernel object: an open set of 256 numbers, those of Zircon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind(pub u8);

impl ObjectKind {
    /// A process.
    pub const PROCESS: ObjectKind = ObjectKind(1);
    /// A thread. By convention its argument `process` is the koid of its process.
    pub const THREAD: ObjectKind = ObjectKind(2);
    /// A virtual memory object: pages that processes map.
    pub const VMO: ObjectKind = ObjectKind(3);
    /// One end of a channel, through which messages go.
    pub const CHANNEL: ObjectKind = ObjectKind(4);
    /// An event, which is signalled and waited for.
    pub const EVENT: ObjectKind = ObjectKind(5);
    /// A port, on which packets of other objects are waited for.
    pub const PORT: ObjectKind = ObjectKind(6);
    /// One end of a socket, through which bytes go.
    pub const SOCKET: ObjectKind = ObjectKind(14);
    /// A job: a group of processes.
    pub const JOB: ObjectKind = ObjectKind(17);

    /// The name of the type, if it is one of the constants.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            ObjectKind::PROCESS => "process",
            ObjectKind::THREAD => "thread",
            ObjectKind::VMO => "vmo",
            ObjectKind::CHANNEL => "channel",
            ObjectKind::EVENT => "event",
            ObjectKind::PORT => "port",
            ObjectKind::SOCKET => "socket",
            ObjectKind::JOB => "job",
            _ => return None,
        })
    }
}

/// What a koid stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelObject<L: Layer> {
    /// The type of the object.
    pub kind: ObjectKind,
    /// The kernel's id of the object.
    pub koid: Koid,
    /// A label for people. Any bytes occur in the wild.
    pub name: L::Text,
    /// Named values that belong to the object.
    pub args: L::Args,
}

impl<'a> KernelObject<Raw<'a>> {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(KernelObject {
            kind: ObjectKind(header.field(KIND) as u8),
            koid: Koid(cursor.word("koid")?),
            name: StringRef::read(header.field(NAME), cursor, "object name")?,
            args: Arguments::read(header.field(ARGUMENTS), cursor)?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let header = RecordHeader::new(RecordType::KERNEL_OBJECT)
            .with(KIND, u64::from(self.kind.0))
            .with(NAME, self.name.bits("object name length")?)
            .with(ARGUMENTS, self.args.count()?);
        words.word(self.koid.0)?;
        self.name.write(words)?;
        self.args.write(words)?;
        Ok(header)
    }
}
