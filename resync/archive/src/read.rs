//! Reading a part of an archive: its tables become the frames of the log again, in the order of
//! the log. Knows how records are kept, and no other parts.
//!
//! A file may come from anybody. What it claims is checked by `guard` before it is believed.

use crate::bodies::Bodies;
use crate::guard;
use crate::part::{HIDDEN_KEY, LOSSES_KEY};
use arrow_array::RecordBatch;
use logdef_resync::Input;
use logdef_resync::rewrite::Frames;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of frames that are made at a time.
const STEP: usize = 256 << 10;

/// Opens a part of an archive as the log that it was made from. `most` bytes of it are kept, as of
/// any stream.
///
/// # Errors
///
/// What is wrong with its files, if they are none of ours. One that breaks off gives what comes
/// before.
pub fn open(part: &Path, most: u64) -> io::Result<Input> {
    guard::can_run()?;
    let name = part.display().to_string();
    let bodies = guard::caught(|| Bodies::open(part))?;
    // What the logs lost, and whether sequences show all that is missing.
    let losses = guard::note(&bodies.records.metadata, LOSSES_KEY);
    let shows_all = guard::note(&bodies.records.metadata, HIDDEN_KEY).is_none();
    let input = Input::from_reader_up_to(name, Reader::of(bodies), most)?;
    Ok(match losses {
        Some(losses) => input.with_losses(losses, shows_all),
        None => input,
    })
}

/// The frames of a part, as a stream of bytes.
struct Reader {
    bodies: Bodies,
    /// `None` when there are no more.
    out: Option<Frames<Vec<u8>>>,
    ready: Vec<u8>,
    at: usize,
    /// Why it breaks off after what is ready.
    error: Option<io::Error>,
}

impl Reader {
    fn of(bodies: Bodies) -> Reader {
        Reader {
            bodies,
            out: Some(Frames::new(Vec::new())),
            ready: Vec::new(),
            at: 0,
            error: None,
        }
    }

    /// Makes some more bytes; none at the end.
    fn fill(&mut self) -> io::Result<()> {
        self.at = 0;
        self.ready.clear();
        let Some(out) = &mut self.out else {
            return self.error.take().map_or(Ok(()), Err);
        };
        let filled = guard::caught(|| write_step(&mut self.bodies, out));
        std::mem::swap(out.get_mut(), &mut self.ready);
        if !matches!(filled, Ok(true)) {
            let rest = self.out.take().map(Frames::finish).transpose();
            self.ready
                .extend(rest.map_err(of_frames)?.unwrap_or_default());
            self.error = filled.err();
        }
        match self.error.take_if(|_| self.ready.is_empty()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Writes the frames around some more bodies; `false` at the end.
fn write_step(bodies: &mut Bodies, out: &mut Frames<Vec<u8>>) -> io::Result<bool> {
    while out.get_mut().len() < STEP {
        let Some(body) = bodies.next()? else {
            return Ok(false);
        };
        out.write(body.bytes, body.mark).map_err(of_frames)?;
    }
    Ok(true)
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.fill()?;
        }
        let rest = &self.ready[self.at..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

fn of_frames(error: logdef_resync::Error) -> io::Error {
    io::Error::other(error.cause().to_string())
}

/// All rows of a side table.
pub(crate) fn read_all(
    part: &Path,
    name: &str,
    columns: &[(&str, crate::table::Of)],
) -> io::Result<Vec<RecordBatch>> {
    let opened = guard::open(&part.join(name))?;
    guard::has_columns(&opened.metadata, columns, name)?;
    guard::all_rows(&opened)
}
