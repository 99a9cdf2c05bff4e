//! Unix sockets: listening, connecting, and packets with descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, fchmod};
use rustix::io::{Errno, IoSlice, IoSliceMut, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    bind, connect, listen, recvmsg, sendmsg, socket_with,
};

/// A socket bound to `path`, for this user only, and listening if its type does.
///
/// A socket file that no process listens on any more is replaced.
pub(crate) fn bind_unix(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    // The mode of the socket becomes that of its file: there is no moment in which others can connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    if let Err(Errno::ADDRINUSE) = bind(&socket, &address) {
        if connect_unix(path, kind).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        std::fs::remove_file(path)?;
        bind(&socket, &address)?;
    }
    if kind != SocketType::DGRAM {
        listen(&socket, 128)?;
    }
    Ok(socket)
}

/// A blocking socket connected to `path`.
pub(crate) fn connect_unix(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    retry_on_intr(|| connect(&socket, &address))?;
    Ok(socket)
}

/// As [`connect_unix`], but an error where that would wait.
pub(crate) fn try_connect_unix(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
    retry_on_intr(|| connect(&socket, &address))?;
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(socket)
}

/// Sends one packet, with a descriptor or without, and never waits.
pub(crate) fn send_packet(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_slice();
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags))?;
    Ok(())
}

/// A packet of the channel between a source and a retriever.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) length: usize,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// Receives one packet into `buffer` without waiting; nothing at the end of the connection.
///
/// A packet that is larger than the buffer, or came with more descriptors than anyone may send, is an
/// error: no message of the protocol is.
pub(crate) fn receive_packet(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<Packet>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut receive =
        || retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags));
    let received = match receive() {
        // Said once of a peer that left without reading all; what it sent before is still there.
        Err(Errno::CONNRESET) => receive(),
        received => received,
    }?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((received.bytes > 0).then_some(Packet {
        length: received.bytes,
        descriptors,
    }))
}

/// Whether an error only says that there is nothing to do now.
pub(crate) fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Whether an error says that the other side has closed the connection.
pub(crate) fn has_left(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// Accepts a connection, nothing if none waits.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match retry_on_intr(|| rustix::net::accept_with(listener.as_fd(), flags)) {
        Ok(connection) => Ok(Some(connection)),
        // No client waits, or the one that waited has gone.
        Err(Errno::AGAIN | Errno::CONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
