//! What a copy is written through: it counts frames, and puts a note in front of those that
//! are marked. Knows how a frame is marked, and not why.

use super::Rewritten;
use crate::read::framing;
use crate::read::input::Error;
use crate::recover::marks;
use crate::recover::standing::Standing;
use logdef_wire::Tag;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{Note, NoteKind, Record};
use std::io::Write;

/// Writes frames and counts them.
#[derive(Debug)]
pub(crate) struct Output<W> {
    out: W,
    pub(crate) written: Rewritten,
    buffer: Vec<u8>,
    /// Frames of one mark that are not written yet, since the note before them says how
    /// long they are.
    marked: Vec<u8>,
    frames: u64,
    mark: Standing,
    /// Whether the last thing written is marked.
    follows_marked: bool,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(out: W) -> Self {
        Output {
            out,
            written: Rewritten::default(),
            buffer: Vec::new(),
            marked: Vec::new(),
            frames: 0,
            mark: Standing::Sound,
            follows_marked: false,
        }
    }

    /// Copies a frame, and says how far it can be trusted. Notes that say so of the inputs'
    /// frames are not copied: what follows them may be elsewhere now.
    pub(super) fn copy(&mut self, bytes: &[u8], body: &[u8], mark: Standing) -> Result<(), Error> {
        let tag = Tag(body.first().copied().unwrap_or(0));
        if is_mark(body) {
            return Ok(());
        }
        self.write(bytes, tag, mark)
    }

    /// Writes a frame around a record of a tag, and says how far it can be trusted.
    pub(crate) fn write(&mut self, bytes: &[u8], tag: Tag, mark: Standing) -> Result<(), Error> {
        // No range reaches over a preamble.
        let is_preamble = tag == Tag::PREAMBLE;
        let is_too_long = (self.marked.len() + bytes.len()) as u64 > marks::RANGE;
        if mark != self.mark || is_preamble || is_too_long {
            self.end_range()?;
        }
        self.mark = mark;
        if mark != Standing::Sound {
            self.marked.extend_from_slice(bytes);
            self.frames += 1;
            return Ok(());
        }
        // Other frames end a range by themselves: a range consists of data records.
        if std::mem::take(&mut self.follows_marked) && tag == Tag::DATA {
            self.encode(|encoder| marks::note(Standing::Sound, 0).encode(encoder))?;
        }
        self.put(bytes, 1)
    }

    /// Writes a frame around a record of our own.
    pub(crate) fn record(
        &mut self,
        body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> Result<(), Error> {
        self.end_range()?;
        self.follows_marked = false;
        self.encode(body)
    }

    /// Writes the frames that are marked, after a note that says so.
    fn end_range(&mut self) -> Result<(), Error> {
        if self.marked.is_empty() {
            return Ok(());
        }
        let note = marks::note(self.mark, self.marked.len() as u64);
        self.encode(|encoder| note.encode(encoder))?;
        let marked = std::mem::take(&mut self.marked);
        let frames = std::mem::take(&mut self.frames);
        self.put(&marked, frames)?;
        self.marked = marked;
        self.marked.clear();
        self.follows_marked = true;
        Ok(())
    }

    fn encode(
        &mut self,
        body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> Result<(), Error> {
        let len = framing::encode(&mut self.buffer, body)?;
        let buffer = std::mem::take(&mut self.buffer);
        let result = self.put(&buffer[..len], 1);
        self.buffer = buffer;
        result
    }

    fn put(&mut self, bytes: &[u8], frames: u64) -> Result<(), Error> {
        self.written.frames += frames;
        self.written.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(Error::output)
    }

    pub(super) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    pub(crate) fn finish(mut self) -> Result<(W, Rewritten), Error> {
        self.end_range()?;
        self.out.flush().map_err(Error::output)?;
        Ok((self.out, self.written))
    }
}

/// Whether a note says how far frames of its own file can be trusted.
pub(super) fn is_mark(body: &[u8]) -> bool {
    if body.first() != Some(&Tag::NOTE.0) {
        return false;
    }
    let record = Record::decode(body);
    matches!(record, Ok(Record::Note(Note { kind: Some(kind), .. })) if kind == NoteKind::MARKED)
}
