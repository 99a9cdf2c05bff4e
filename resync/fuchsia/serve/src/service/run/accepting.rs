//! Who may connect, and who makes room for whom.

use std::os::fd::OwnedFd;
use std::time::Duration;

use logdef_fuchsia::legacy::RunningDrops;

use super::{Service, Socket, Writer};
use crate::receive::{Credentials, peer};
use crate::service::component::Component;
use crate::service::readers::Reader;
use crate::service::storage::{Format, Storage};

impl<S: Storage> Service<S> {
    pub(super) fn welcome_writer(&mut self, socket: OwnedFd, format: Format) {
        let Some(credentials) = self.admitted(&socket) else {
            return;
        };
        if self.writers >= self.settings.writers {
            self.make_room();
        }
        if self.writers >= self.settings.writers {
            self.connections.refused += 1;
            return;
        }
        // Kernels differ in whether a connection takes this over from its listener.
        let _ = rustix::net::sockopt::set_socket_passcred(&socket, true);
        let component = self.ring.component(&Component::of(credentials));
        let writer = Writer {
            socket,
            format,
            component,
            drops: RunningDrops::default(),
            stored: 0,
            invalid: 0,
            dropped: 0,
        };
        if self.add(Socket::Writer(writer)).is_ok() {
            self.writers += 1;
            self.connections.opened += 1;
        }
    }

    pub(super) fn welcome_reader(&mut self, socket: OwnedFd) {
        if self.admitted(&socket).is_none() {
            return;
        }
        if self.readers >= self.settings.readers {
            let silent = self.sockets.iter().find(
                |(_, socket)| matches!(socket, Socket::Reader(reader) if !reader.has_asked()),
            );
            if let Some(token) = silent.map(|(token, _)| *token) {
                self.close(token);
            }
        }
        if self.readers >= self.settings.readers {
            self.connections.refused += 1;
        } else if self.add(Socket::Reader(Reader::new(socket))).is_ok() {
            self.readers += 1;
        }
    }

    /// Who is there, if it may be: this user and root.
    fn admitted(&mut self, socket: &OwnedFd) -> Option<Credentials> {
        let credentials = peer(socket).ok()?;
        if may_write(credentials) {
            return Some(credentials);
        }
        self.connections.refused += 1;
        None
    }

    /// Closes the connection that has been silent for longest, of those that never sent a record.
    pub(super) fn make_room(&mut self) {
        let silent = self.sockets.iter().find(|(_, socket)| {
            matches!(socket, Socket::Writer(writer) if writer.stored == 0 && writer.invalid == 0)
        });
        match silent.map(|(token, _)| *token) {
            Some(token) => {
                // It may have sent what was not read yet.
                if !self.receive(token) {
                    self.close(token);
                }
            }
            // There is no connection to close, and the listener stays readable: do not spin.
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// This user and root.
pub(super) fn may_write(credentials: Credentials) -> bool {
    credentials.uid == 0 || credentials.uid == rustix::process::getuid().as_raw()
}
