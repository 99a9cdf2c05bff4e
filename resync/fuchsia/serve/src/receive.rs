//! Receiving many packets with the credentials of their senders in one system call.
//!
//! The second room of `unsafe` here: `recvmmsg` and its control messages, with a safe face.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use logdef_fuchsia::structured::MAX_DATAGRAM_BYTES;

/// Packets of one call.
const BATCH: usize = 16;
/// One byte more than a packet may have, so that a longer one is seen.
const ROOM: usize = MAX_DATAGRAM_BYTES + 8;
/// Room for one set of credentials and for descriptors that were not asked for, in words to
/// be aligned.
const CONTROL_WORDS: usize = 16;

/// Who sent a packet, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Credentials {
    /// 0 if the process is not visible from here.
    pub(crate) pid: u32,
    pub(crate) uid: u32,
}

/// One packet of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    /// The packet was longer than any may be.
    pub(crate) truncated: bool,
    /// There always are some with a packet; there are none at the end of a connection.
    pub(crate) sender: Option<Credentials>,
}

/// Buffers for batches.
pub(crate) struct Receiver {
    data: Vec<u8>,
    control: Vec<[u64; CONTROL_WORDS]>,
    lengths: [usize; BATCH],
    truncated: [bool; BATCH],
    senders: [Option<Credentials>; BATCH],
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            data: vec![0; BATCH * ROOM],
            control: vec![[0; CONTROL_WORDS]; BATCH],
            lengths: [0; BATCH],
            truncated: [false; BATCH],
            senders: [None; BATCH],
        }
    }

    /// Receives the messages that are waiting, up to a batch, without blocking. The socket passes credentials.
    pub(crate) fn receive<'r>(
        &'r mut self,
        socket: BorrowedFd<'_>,
    ) -> io::Result<impl Iterator<Item = Received<'r>> + use<'r>> {
        // SAFETY: all zero is a valid `iovec` and a valid `mmsghdr`: null pointers and lengths of 0.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let data = self.data.chunks_exact_mut(ROOM);
        let buffers = data.zip(&mut self.control).zip(&mut vectors);
        for (((data, control), vector), header) in buffers.zip(&mut headers) {
            vector.iov_base = data.as_mut_ptr().cast();
            vector.iov_len = data.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL_WORDS]>() as _;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: `headers` has `BATCH` elements whose pointers lead to buffers of the lengths they state,
        // all alive and not otherwise used during the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as _,
                flags as _,
                null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        for (index, header) in headers[..received].iter().enumerate() {
            self.lengths[index] = (header.msg_len as usize).min(ROOM);
            self.truncated[index] = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            self.senders[index] = take_control(&header.msg_hdr);
        }
        Ok((0..received).map(|index| Received {
            bytes: &self.data[index * ROOM..][..self.lengths[index]],
            truncated: self.truncated[index],
            sender: self.senders[index],
        }))
    }
}

/// Reads the credentials and closes descriptors that came along unasked.
fn take_control(header: &libc::msghdr) -> Option<Credentials> {
    let mut sender = None;
    // SAFETY: the kernel filled `msg_control` up to `msg_controllen`, aligned for a `cmsghdr`; the macros
    // walk it within these bounds and give null at the end.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: not null, so it points to a whole `cmsghdr` in the control buffer.
        let (level, kind, length) = unsafe {
            (
                (*message).cmsg_level,
                (*message).cmsg_type,
                (*message).cmsg_len,
            )
        };
        // SAFETY: `message` is not null and points to a whole `cmsghdr`; the data follow the header.
        let data = unsafe { libc::CMSG_DATA(message) };
        // SAFETY: `CMSG_LEN` only computes.
        #[allow(clippy::unnecessary_cast, reason = "32 bits with some C libraries")]
        let data_length = length as usize - unsafe { libc::CMSG_LEN(0) } as usize;
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS)
                if data_length >= size_of::<libc::ucred>() =>
            {
                // SAFETY: the kernel wrote a whole `ucred` here; it may be unaligned.
                let credentials = unsafe { data.cast::<libc::ucred>().read_unaligned() };
                sender = Some(from_raw(credentials));
            }
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                for index in 0..data_length / size_of::<i32>() {
                    // SAFETY: the kernel wrote this many descriptors here and gave them to this process,
                    // where nothing else knows them.
                    unsafe { libc::close(data.cast::<i32>().add(index).read_unaligned()) };
                }
            }
            _ => {}
        }
        // SAFETY: as for the first.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    sender
}

/// Who connected a socket, as the kernel noted then.
pub(crate) fn peer(socket: impl AsFd) -> io::Result<Credentials> {
    // SAFETY: all zero is a valid `ucred`.
    let mut credentials: libc::ucred = unsafe { zeroed() };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the option value and its length are alive and of the stated size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(from_raw(credentials))
}

fn from_raw(credentials: libc::ucred) -> Credentials {
    Credentials {
        pid: u32::try_from(credentials.pid).unwrap_or(0),
        uid: credentials.uid,
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{
        AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair, sockopt,
    };

    use super::*;

    #[test]
    fn packets_come_with_credentials_and_the_end_without() {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        sockopt::set_socket_passcred(&ours, true).unwrap();
        let mut receiver = Receiver::new();
        let nothing = receiver.receive(ours.as_fd()).map(|_| ()).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);

        send(&theirs, b"one", SendFlags::empty()).unwrap();
        send(&theirs, b"", SendFlags::empty()).unwrap();
        send(
            &theirs,
            &vec![7; MAX_DATAGRAM_BYTES + 99],
            SendFlags::empty(),
        )
        .unwrap();
        let me = Some(Credentials {
            pid: std::process::id(),
            uid: rustix::process::getuid().as_raw(),
        });
        {
            let mut packets = receiver.receive(ours.as_fd()).unwrap();
            let one = packets.next().unwrap();
            assert_eq!(
                (one.bytes, one.truncated, one.sender),
                (&b"one"[..], false, me)
            );
            let empty = packets.next().unwrap();
            assert_eq!((empty.bytes.len(), empty.sender), (0, me));
            assert!(packets.next().unwrap().truncated);
        }
        drop(theirs);
        let end = receiver.receive(ours.as_fd()).unwrap().next().unwrap();
        assert_eq!((end.bytes.len(), end.sender), (0, None));
    }
}
