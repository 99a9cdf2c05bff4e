//! Packets of writers, and of senders of datagrams.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use logdef_fuchsia::legacy::RunningDrops;

use super::accepting::may_write;
use super::judging::judge;
use super::{Service, Socket};
use crate::receive::{Credentials, Received};
use crate::service::component::Component;
use crate::service::ring::ComponentId;
use crate::service::storage::{Format, Storage};
use crate::service::{OnInvalid, SYNC};
use crate::socket::would_block;

/// What a sender of datagrams was found to be is believed this long: process ids are reused.
const BELIEVED: Duration = Duration::from_secs(1);
/// Senders of datagrams remembered.
const MAX_SENDERS: usize = 1024;

/// A process that sends datagrams.
pub(super) struct Sender {
    component: ComponentId,
    drops: RunningDrops,
    found: Instant,
}

impl<S: Storage> Service<S> {
    /// Takes a batch of packets; false if there was none.
    pub(super) fn receive(&mut self, token: u64) -> bool {
        let Some(mut receiver) = self.receiver.take() else {
            return false;
        };
        let socket = match self.sockets.get(&token) {
            Some(Socket::Writer(writer)) => Some(writer.socket.as_fd()),
            Some(Socket::Datagrams(socket, _)) => Some(socket.as_fd()),
            _ => None,
        };
        let mut any = false;
        match socket.map(|socket| receiver.receive(socket)) {
            Some(Ok(packets)) => {
                for packet in packets {
                    any = true;
                    if !self.packet(token, packet) {
                        break;
                    }
                }
            }
            // Said once of a writer that left without reading its answer; what it sent is still there.
            Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => any = true,
            Some(Err(error)) if !would_block(&error) => self.close(token),
            _ => {}
        }
        self.receiver = Some(receiver);
        any
    }

    /// Takes one packet; false if the connection has ended.
    fn packet(&mut self, token: u64, packet: Received<'_>) -> bool {
        match self.sockets.get(&token) {
            Some(Socket::Writer(_)) => self.packet_of_writer(token, packet),
            Some(Socket::Datagrams(_, format)) => {
                let format = *format;
                match packet.sender.filter(|sender| may_write(*sender)) {
                    Some(sender) => self.datagram(sender, format, packet),
                    None => self.connections.refused += 1,
                }
                true
            }
            _ => false,
        }
    }

    fn packet_of_writer(&mut self, token: u64, packet: Received<'_>) -> bool {
        let Some(Socket::Writer(writer)) = self.sockets.get_mut(&token) else {
            return false;
        };
        if packet.sender.is_none() {
            self.close(token);
            return false;
        }
        if packet.bytes == SYNC {
            self.syncs.push(token);
            return true;
        }
        let (component, format) = (writer.component, writer.format);
        match judge(&self.settings, format, &packet, &mut writer.drops) {
            Ok(lost) => {
                writer.dropped += lost.0;
                let is_stored = self.store(component, format, lost, packet.bytes);
                if let Some(Socket::Writer(writer)) = self.sockets.get_mut(&token) {
                    writer.stored += u64::from(is_stored);
                }
                true
            }
            Err(error) => {
                writer.invalid += 1;
                self.note_invalid(component, &error);
                let keep = self.settings.on_invalid == OnInvalid::Drop;
                if !keep {
                    self.close(token);
                }
                keep
            }
        }
    }

    fn datagram(&mut self, credentials: Credentials, format: Format, packet: Received<'_>) {
        self.find_sender(credentials);
        let Some(sender) = self.senders.get_mut(&credentials.pid) else {
            return;
        };
        let component = sender.component;
        match judge(&self.settings, format, &packet, &mut sender.drops) {
            Ok(lost) => {
                self.store(component, format, lost, packet.bytes);
            }
            Err(error) => self.note_invalid(component, &error),
        }
    }

    /// Looks up what the sender of a datagram is, unless that is known.
    fn find_sender(&mut self, credentials: Credentials) {
        let known = self.senders.get(&credentials.pid);
        if known.is_some_and(|sender| sender.found.elapsed() <= BELIEVED) {
            return;
        }
        if self.senders.len() >= MAX_SENDERS {
            self.senders.pop_first();
        }
        let component = self.ring.component(&Component::of(credentials));
        let sender = Sender {
            component,
            drops: known_drops(self.senders.get(&credentials.pid), component),
            found: Instant::now(),
        };
        self.senders.insert(credentials.pid, sender);
    }
}

/// The running drops of a sender that was known before, if it is still the same.
fn known_drops(known: Option<&Sender>, component: ComponentId) -> RunningDrops {
    match known {
        Some(sender) if sender.component == component => sender.drops,
        _ => RunningDrops::default(),
    }
}
