//! Profiler records (type 10): modules and where they are mapped, and backtraces.
//! Younger than the rest of the format.

use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::{Cursor, WORD, words_for};
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::thread::{Koid, ProcessRef, ThreadRef};
use crate::fxt::time::Ticks;

const SUBTYPE: Bits = bits(16, 19);
const THREAD: Bits = bits(20, 27);
const MODULE_ID: Bits = bits(28, 43);
const NAME_LEN: Bits = bits(44, 51);
const BUILD_ID_LEN: Bits = bits(52, 59);
const FLAGS: Bits = bits(44, 46);
const FRAMES: Bits = bits(28, 35);

const MODULE: u64 = 0;
const MAPPING: u64 = 1;
const BACKTRACE: u64 = 2;

/// The most stack frames in one backtrace record.
pub const MAX_STACK_FRAMES: usize = 255;

/// A profiler record (type 10): what is needed to symbolize backtraces, and these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profiler<L: Layer> {
    /// A module that a process has loaded. Subtype 0.
    Module {
        /// When it was found.
        time: L::Time,
        /// The process that has the module.
        process: L::Process,
        /// The thread word after a spelled-out process.
        thread: ThreadWord,
        /// The number by which mappings name it.
        module: u16,
        /// Its name, 255 bytes at most.
        name: L::Spelled,
        /// Its build ID, 255 bytes at most.
        build_id: L::Bytes,
    },
    /// Where a part of a module is mapped. Subtype 1.
    Mapping {
        /// When it was found.
        time: L::Time,
        /// The process that has the module.
        process: L::Process,
        /// The thread word after a spelled-out process.
        thread: ThreadWord,
        /// The number of the module in that process.
        module: u16,
        /// Address in memory where it begins.
        start: u64,
        /// Its length in bytes.
        range: u64,
        /// Address in the module where it begins.
        vaddr: u64,
        /// Three bits; the format does not say what they mean.
        flags: u8,
    },
    /// The call stack of a thread. Subtype 2.
    Backtrace {
        /// The time at which the stack was taken.
        time: L::Time,
        /// The thread whose stack it is.
        thread: L::Thread,
        /// Addresses, innermost first; whole little-endian words. [`stack_frames`]
        /// reads them, [`MAX_STACK_FRAMES`] at most.
        frames: L::Bytes,
    },
}

/// A module belongs to a process, yet the format has a thread word (always zero)
/// after a process that is spelled out. Some writers of 2025 left it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadWord {
    /// There, and zero, as the format wants it: or not needed, as the process is not
    /// spelled out.
    #[default]
    Standard,
    /// There, and not zero.
    NonZero(Koid),
    /// Left out by the writer.
    Missing,
}

/// The addresses in the `frames` of a backtrace.
pub fn stack_frames(frames: &[u8]) -> impl ExactSizeIterator<Item = u64> {
    frames
        .chunks_exact(WORD)
        .map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")))
}

impl ThreadWord {
    /// `body_words` is what the record needs beside header, time, process and thread.
    fn read(
        process: ProcessRef,
        header: RecordHeader,
        body_words: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<ThreadWord, Malformed> {
        // Header, time and process are three words.
        if let ProcessRef::Index(_) = process {
            return Ok(ThreadWord::Standard);
        }
        if header.words() == 3 + body_words as u64 {
            return Ok(ThreadWord::Missing);
        }
        Ok(match cursor.word("thread id")? {
            0 => ThreadWord::Standard,
            other => ThreadWord::NonZero(Koid(other)),
        })
    }

    fn write(
        self,
        process: ProcessRef,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<(), WriteError> {
        match (process, self) {
            (ProcessRef::Index(_), ThreadWord::Standard) => Ok(()),
            (ProcessRef::Inline(_), ThreadWord::Standard) => words.word(0),
            (ProcessRef::Inline(_), ThreadWord::NonZero(thread)) => words.word(thread.0),
            (ProcessRef::Inline(_), ThreadWord::Missing) => Ok(()),
            (ProcessRef::Index(_), _) => Err(WriteError::Forbidden {
                what: "a thread word behind a process that is not spelled out",
            }),
        }
    }
}

impl<'a> Profiler<Raw<'a>> {
    /// None if the subtype has no meaning yet.
    pub(crate) fn decode(
        header: RecordHeader,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Self>, Malformed> {
        let subtype = header.field(SUBTYPE);
        if subtype > BACKTRACE {
            return Ok(None);
        }
        let time = Ticks(cursor.word("timestamp")?);
        if subtype == BACKTRACE {
            return Ok(Some(Profiler::Backtrace {
                time,
                thread: ThreadRef::read(header.field(THREAD), cursor)?,
                frames: cursor.stream(header.field(FRAMES) * WORD as u64, "stack frames")?,
            }));
        }
        let process = ProcessRef::read(header.field(THREAD), cursor)?;
        let module = header.field(MODULE_ID) as u16;
        Ok(Some(if subtype == MODULE {
            let (name, build_id) = (header.field(NAME_LEN), header.field(BUILD_ID_LEN));
            let body = words_for(name as usize) + words_for(build_id as usize);
            Profiler::Module {
                time,
                process,
                thread: ThreadWord::read(process, header, body, cursor)?,
                module,
                name: cursor.stream(name, "module name")?,
                build_id: cursor.stream(build_id, "build id")?,
            }
        } else {
            Profiler::Mapping {
                time,
                process,
                thread: ThreadWord::read(process, header, 3, cursor)?,
                module,
                start: cursor.word("start address")?,
                range: cursor.word("address range")?,
                vaddr: cursor.word("module address")?,
                flags: header.field(FLAGS) as u8,
            }
        }))
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let header = RecordHeader::new(RecordType::PROFILER);
        Ok(match *self {
            Profiler::Module {
                time,
                process,
                thread,
                module,
                name,
                build_id,
            } => {
                let name_len = WriteError::check("module name length", name.len(), NAME_LEN.max())?;
                let build_id_len =
                    WriteError::check("build id length", build_id.len(), BUILD_ID_LEN.max())?;
                words.word(time.0)?;
                process.write(words)?;
                thread.write(process, words)?;
                words.stream(name)?;
                words.stream(build_id)?;
                header
                    .with(SUBTYPE, MODULE)
                    .with(THREAD, process.bits())
                    .with(MODULE_ID, module.into())
                    .with(NAME_LEN, name_len)
                    .with(BUILD_ID_LEN, build_id_len)
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
                let flags = WriteError::check("mapping flags", flags.into(), FLAGS.max())?;
                words.word(time.0)?;
                process.write(words)?;
                thread.write(process, words)?;
                words.word(start)?;
                words.word(range)?;
                words.word(vaddr)?;
                header
                    .with(SUBTYPE, MAPPING)
                    .with(THREAD, process.bits())
                    .with(MODULE_ID, module.into())
                    .with(FLAGS, flags)
            }
            Profiler::Backtrace {
                time,
                thread,
                frames,
            } => {
                let count = frames.len() / WORD;
                let count = WriteError::check("number of stack frames", count, FRAMES.max())?;
                if !frames.len().is_multiple_of(WORD) {
                    return Err(WriteError::Forbidden {
                        what: "stack frames that are not whole words",
                    });
                }
                words.word(time.0)?;
                thread.write(words)?;
                words.raw(frames)?;
                header
                    .with(SUBTYPE, BACKTRACE)
                    .with(THREAD, thread.bits())
                    .with(FRAMES, count)
            }
        })
    }
}
