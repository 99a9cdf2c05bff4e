//! The socket of systemd's journal: an entry is a datagram, or, where it is too
//! large for one, a sealed memory file that goes along with an empty one.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, IoSlice};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// A connection to the journal.
pub struct Journal(UnixDatagram);

impl Journal {
    /// Connects to the journal whose socket is at `path`.
    pub fn connect(path: &Path) -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Journal(socket))
    }

    /// Sends an entry, and waits while the journal is behind.
    pub fn send(&self, entry: &[u8]) -> io::Result<()> {
        match self.0.send(entry) {
            Err(error) if is_too_large(&error) => self.send_as_file(entry),
            sent => sent.map(drop),
        }
    }

    fn send_as_file(&self, entry: &[u8]) -> io::Result<()> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create("journal entry", flags)?);
        file.write_all(entry)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        if !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let nothing = [IoSlice::new(&[])];
        sendmsg(&self.0, &nothing, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

fn is_too_large(error: &io::Error) -> bool {
    [Errno::MSGSIZE, Errno::NOBUFS]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
