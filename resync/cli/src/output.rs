//! Standard output, in large pieces.

use crate::failure::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::time::Duration;

/// Bytes that are kept before they are written.
const BATCH: usize = 64 << 10;

/// Collects lines and writes them when there are many, or when a person waits
/// for them.
pub struct Output {
    pub buffer: Vec<u8>,
    stream: anstream::AutoStream<io::Stdout>,
    /// Colour survives only where it is wanted; elsewhere the stream need not
    /// look for it.
    plain: bool,
}

impl Output {
    pub fn new() -> Output {
        let stream = anstream::stdout();
        let plain = stream.current_choice() == anstream::ColorChoice::Never;
        Output {
            buffer: Vec::with_capacity(BATCH * 2),
            stream: anstream::stdout(),
            plain,
        }
    }

    /// Whether escape sequences for colour are worth writing.
    pub fn has_color(&self) -> bool {
        !self.plain
    }

    /// A line was added.
    #[inline]
    pub fn line(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what there is.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if self.plain {
            io::stdout().lock().write_all(&self.buffer)?;
        } else {
            self.stream.write_all(&self.buffer)?;
        }
        self.buffer.clear();
        io::stdout().flush()?;
        Ok(())
    }
}

/// Waits. An error if the reader of standard output closes it meanwhile: nothing more may ever come that
/// could not be written.
pub fn pause(time: Duration) -> Result<(), Failure> {
    let stdout = io::stdout();
    let mut events = [PollFd::new(&stdout, PollFlags::empty())];
    let longest = Timespec::try_from(time).ok();
    let polled = poll(&mut events, longest.as_ref());
    let is_closed = PollFlags::ERR | PollFlags::HUP;
    match polled {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) if events[0].revents().intersects(is_closed) => Err(Failure::OutputClosed),
        _ => {
            std::thread::sleep(time);
            Ok(())
        }
    }
}
