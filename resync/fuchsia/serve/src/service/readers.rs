//! One reader: its request, and the answer as far as the reader takes it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use logdef_fuchsia::diagnostics::{Batches, LogsData, MAX_ARRAY_BYTES};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::request::{Filter, Kind, Mode, Request};
use super::ring::{ComponentId, Entry, Ring};
use super::storage::Stored;

/// The longest request.
const MAX_REQUEST: usize = 4096;
/// Records looked at before others get their turn.
const TURN: usize = 512;
/// Bytes of JSON made before they have to be taken.
const TURN_BYTES: usize = 256 << 10;
/// More components than this are only remembered as long as they are there.
const MAX_SEEN: usize = 8192;

/// A connection that asks.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) socket: OwnedFd,
    request: Vec<u8>,
    answer: Option<Answer>,
    output: Vec<u8>,
    sent: usize,
    /// The socket took no more.
    pub(super) blocked: bool,
}

#[derive(Debug)]
enum Answer {
    Logs(Logs),
    /// All of it is in the output.
    Whole,
}

#[derive(Debug)]
struct Logs {
    filter: Filter,
    /// The next record to look at, and the first that is not for this answer.
    cursor: u64,
    end: Option<u64>,
    /// What came before the request is part of the answer: what was rolled out of it is said.
    from_start: bool,
    seen: BTreeMap<ComponentId, Seen>,
}

/// What a reader knows of a component.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The index of the next record, to know what was rolled out between.
    next: u64,
    /// Rolled out and not yet said: the record that would have said it was not asked for.
    rolled_out: u64,
}

/// What a reader needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Its socket, or records that come.
    Waits,
    /// Another turn.
    More,
    /// To be closed.
    Finished,
}

impl Reader {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            request: Vec::new(),
            answer: None,
            output: Vec::new(),
            sent: 0,
            blocked: false,
        }
    }

    /// Whether it has said what it wants.
    pub(super) fn has_asked(&self) -> bool {
        self.answer.is_some()
    }

    /// Takes what the reader sent. `inspect` makes the state of the service, if that is asked for.
    pub(super) fn receive(
        &mut self,
        ring: &Ring,
        inspect: impl FnOnce() -> String,
    ) -> io::Result<()> {
        while self.answer.is_none() {
            let mut buffer = [0; MAX_REQUEST];
            let ended =
                match retry_on_intr(|| recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT)) {
                    Ok((length, _)) => {
                        self.request.extend_from_slice(&buffer[..length]);
                        length == 0
                    }
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(error) => return Err(error.into()),
                };
            let line = self.request.iter().position(|byte| *byte == b'\n');
            if line.is_none() && !ended && self.request.len() <= MAX_REQUEST {
                continue;
            }
            let text = &self.request[..line.unwrap_or(self.request.len())];
            self.answer = Some(match start(text, ring) {
                Ok(Some(logs)) => Answer::Logs(logs),
                Ok(None) => {
                    self.output = inspect().into_bytes();
                    Answer::Whole
                }
                Err(error) => {
                    let error = serde_json::json!({ "error": error });
                    self.output = format!("{error}\n").into_bytes();
                    Answer::Whole
                }
            });
            return Ok(());
        }
        Ok(())
    }

    /// Sends what can be sent now, at most one turn's worth: others wait too.
    pub(super) fn pump(&mut self, ring: &Ring) -> io::Result<Progress> {
        let mut made = false;
        loop {
            while self.sent < self.output.len() {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                match retry_on_intr(|| send(&self.socket, &self.output[self.sent..], flags)) {
                    Ok(length) => self.sent += length,
                    Err(Errno::AGAIN) => {
                        self.blocked = true;
                        return Ok(Progress::Waits);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            self.output.clear();
            self.sent = 0;
            let Some(answer) = &mut self.answer else {
                return Ok(Progress::Waits);
            };
            let Answer::Logs(logs) = answer else {
                return Ok(Progress::Finished);
            };
            if logs.end.is_some_and(|end| logs.cursor >= end) {
                return Ok(Progress::Finished);
            }
            if made {
                return Ok(Progress::More);
            }
            made = true;
            let items = logs.turn(ring);
            if items.is_empty() {
                let more = logs.end.is_some() || logs.cursor < ring.next();
                return Ok(if more {
                    Progress::More
                } else {
                    Progress::Waits
                });
            }
            for array in Batches::new(items, MAX_ARRAY_BYTES) {
                self.output.extend_from_slice(array.as_bytes());
                self.output.push(b'\n');
            }
        }
    }
}

/// The answer to a request: logs, or the state of the service.
fn start(text: &[u8], ring: &Ring) -> Result<Option<Logs>, String> {
    let request: Request = match text.trim_ascii() {
        b"" => Request::default(),
        text => serde_json::from_slice(text).map_err(|error| error.to_string())?,
    };
    let filter = Filter::of(&request)?;
    if request.data == Kind::Inspect {
        return Ok(None);
    }
    let now = ring.next();
    let (cursor, end) = match request.mode {
        Mode::Snapshot => (0, Some(now)),
        Mode::SnapshotThenSubscribe => (0, None),
        Mode::Subscribe => (now, None),
    };
    Ok(Some(Logs {
        filter,
        cursor,
        end,
        from_start: request.mode != Mode::Subscribe,
        seen: BTreeMap::new(),
    }))
}

impl Logs {
    /// Some more records as JSON.
    fn turn(&mut self, ring: &Ring) -> Vec<String> {
        let mut items = Vec::new();
        let end = self.end.unwrap_or(u64::MAX);
        let (mut looked, mut bytes) = (0, 0);
        for (number, entry) in ring
            .from(self.cursor)
            .take_while(|(number, _)| *number < end)
        {
            if looked == TURN || bytes >= TURN_BYTES {
                break;
            }
            looked += 1;
            self.cursor = number + 1;
            let start = Seen {
                next: if self.from_start { 0 } else { entry.index },
                rolled_out: 0,
            };
            let seen = self.seen.entry(entry.component).or_insert(start);
            seen.rolled_out += entry.index - seen.next;
            seen.next = entry.index + 1;
            let Some(data) = data(ring, entry, seen.rolled_out) else {
                continue;
            };
            if self.filter.admits(&data)
                && let Ok(text) = serde_json::to_string(&data)
            {
                seen.rolled_out = 0;
                bytes += text.len();
                items.push(text);
            }
        }
        if looked < TURN && bytes < TURN_BYTES {
            // Also past what was rolled out: a reader that waits for it would never rest.
            self.cursor = self.end.unwrap_or(ring.next());
        }
        if self.seen.len() > MAX_SEEN {
            self.seen.retain(|id, _| ring.kept(*id).is_some());
        }
        items
    }
}

fn data(ring: &Ring, entry: &Entry, rolled_out: u64) -> Option<LogsData> {
    let component = &ring.kept(entry.component)?.component;
    let stored = Stored {
        format: entry.format,
        pid: component.pid,
        dropped: entry.dropped,
        moniker: &component.moniker,
        url: component.url.as_deref(),
        record: &entry.record,
    };
    Some(stored.to_data(rolled_out))
}

#[cfg(test)]
mod tests {
    use super::super::component::Component;
    use super::super::storage::Format;
    use super::*;

    #[test]
    fn a_reader_rests_when_all_it_waits_for_was_rolled_out() {
        let mut ring = Ring::new(0, 0);
        let id = ring.component(&Component::service());
        ring.push(id, Format::Structured, (0, 0), &[0; 16]);
        for (request, end) in [
            (&br#"{"mode":"snapshot_then_subscribe"}"#[..], None),
            (b"", Some(1)),
        ] {
            let mut logs = start(request, &ring).unwrap().unwrap();
            assert_eq!((logs.cursor, logs.end), (0, end));
            assert!(logs.turn(&ring).is_empty());
            assert_eq!(logs.cursor, ring.next());
        }
    }
}
