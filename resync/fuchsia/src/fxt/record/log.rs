//! Log records (type 9): a message at a time on a thread. There is no room for a
//! severity or a source location; who needs them writes an instant event.

use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::{Cursor, WORD};
use crate::fxt::error::{Malformed, WriteError};
use crate::fxt::header::{MAX_WORDS, RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};
use crate::fxt::thread::ThreadRef;
use crate::fxt::time::Ticks;

const LEN: Bits = bits(16, 30);
const THREAD: Bits = bits(32, 39);

/// The longest message that fits beside a spelled-out thread, in bytes.
pub const MAX_LOG_LEN: usize = (MAX_WORDS as usize - 4) * WORD;

/// A log message (record type 9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Log<L: Layer> {
    /// The time at which it was logged.
    pub time: L::Time,
    /// The thread that logged it.
    pub thread: L::Thread,
    /// The text: [`MAX_LOG_LEN`] bytes always fit.
    pub message: L::Spelled,
}

impl<'a> Log<Raw<'a>> {
    pub(crate) fn decode(header: RecordHeader, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(Log {
            time: Ticks(cursor.word("timestamp")?),
            thread: ThreadRef::read(header.field(THREAD), cursor)?,
            message: cursor.stream(header.field(LEN), "message")?,
        })
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let len = WriteError::check("log message length", self.message.len(), LEN.max())?;
        words.word(self.time.0)?;
        self.thread.write(words)?;
        words.stream(self.message)?;
        Ok(RecordHeader::new(RecordType::LOG)
            .with(LEN, len)
            .with(THREAD, self.thread.bits()))
    }
}
