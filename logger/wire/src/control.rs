//! The control page: a file of 4,096 bytes beside a log, in which `logdef ctl` writes what it
//! wants of a living process, and the process what it does. Bytes only: knows neither files
//! nor processes.
//!
//! Three *blocks*, each with one writer at a time and a checksum, by which one that is read in
//! the middle of a write, or was left half written, is recognized.

use crate::{Level, Run};

/// Bytes of a control page.
pub const SIZE: usize = 4096;
/// Bytes that the text of a filter may have.
pub const MOST_FILTER: usize = 1024;
/// Bytes that a note may have.
pub const MOST_NOTE: usize = 512;

/// The version of the layout that is written and read.
const VERSION: u32 = 1;
/// Magic, version, checksum.
const HEAD: usize = 16;

/// A block: where it stands in the page, and how many bytes it has.
pub trait Block<'a>: Sized {
    /// The first byte, from the page's.
    const AT: usize;
    /// Bytes, head included.
    const LEN: usize;
    /// What it starts with.
    const MAGIC: [u8; 8];

    #[doc(hidden)]
    fn put(&self, to: &mut Fill<'_>);

    #[doc(hidden)]
    fn get(from: &mut Take<'a>) -> Option<Self>;

    /// Writes the block's bytes, whose length is `LEN`, and returns them. Texts that are too
    /// long are cut.
    fn encode<'b>(&self, into: &'b mut [u8; SIZE]) -> &'b [u8] {
        let (head, body) = into[..Self::LEN].split_at_mut(HEAD);
        body.fill(0);
        self.put(&mut Fill { rest: body });
        head[..8].copy_from_slice(&Self::MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[12..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        &into[..Self::LEN]
    }

    /// Reads the block of a page. `None` unless it is whole, and of the version that is
    /// known.
    fn decode(page: &'a [u8]) -> Option<Self> {
        let block = page.get(Self::AT..Self::AT + Self::LEN)?;
        let (head, body) = block.split_at(HEAD);
        let mut expected = [0; HEAD];
        expected[..8].copy_from_slice(&Self::MAGIC);
        expected[8..12].copy_from_slice(&VERSION.to_le_bytes());
        expected[12..].copy_from_slice(&crc32fast::hash(body).to_le_bytes());
        if head != expected {
            return None;
        }
        Self::get(&mut Take { rest: body })
    }
}

/// What the process says of itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct State<'a> {
    /// The run that the process began when it opened the log.
    pub run: Option<Run>,
    /// The process's number, in its own namespace.
    pub pid: u32,
    /// The user who owns the page.
    pub user: u32,
    /// When the process started, in clock ticks since the boot (`/proc/PID/stat`, field 22).
    pub started: u64,
    /// The boot's id, as text; zeros if it is not known.
    pub boot: [u8; 36],
    /// When this was written, in nanoseconds since the Unix epoch.
    pub written: u64,
    /// When the process last made a record, to a second; 0 before the first.
    pub logged: u64,
    /// Calls that were dropped.
    pub dropped: u64,
    /// The doorbell, a memory file: device and inode.
    pub bell: (u64, u64),
    /// Its descriptor in the process; 0 without one.
    pub bell_descriptor: u32,
    /// The level from which calls are on that no directive mentions.
    pub level: Level,
    /// Whether level and filter are those that a request set.
    pub is_set: bool,
    /// Whether a helper thread runs.
    pub has_helper: bool,
    /// When level and filter return to what the program set, in nanoseconds since the Unix
    /// epoch; 0 for never.
    pub until: u64,
    /// The filter in force, as text.
    pub filter: &'a [u8],
}

/// Up to which request of each kind the process has come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Taken {
    /// Of level and filter.
    pub set: u64,
    /// Whether that one could not be obeyed: its filter cannot be parsed, or the process keeps
    /// no more changes.
    pub set_refused: bool,
    /// Of waiting for stable storage, and its errno.
    pub sync: u64,
    /// The errno of that; 0 if all is stored.
    pub sync_errno: u32,
    /// Of beginning another file.
    pub rotate: u64,
    /// Of the last note that was asked for.
    pub note: u64,
    /// The process that wrote this: the one of [`State`] or a forked child.
    pub pid: u32,
}

/// Level and filter that are asked for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Wanted<'a> {
    /// What the program set.
    #[default]
    Program,
    /// This level, where no directive of the program's filter names the place.
    Level(Level),
    /// This filter in place of the program's.
    Filter(&'a [u8]),
}

/// What is asked of the process. Numbers grow: a kind that has a higher one than
/// [`Taken`] is pending.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Request<'a> {
    /// The number of the last request for level and filter.
    pub set: u64,
    /// Of the last one to wait for stable storage.
    pub sync: u64,
    /// Of the last one to begin another file.
    pub rotate: u64,
    /// Of the last note.
    pub note: u64,
    /// When level and filter were asked for, in nanoseconds since the Unix epoch.
    pub asked: u64,
    /// For how many nanoseconds from then; 0 for good.
    pub lasts: u64,
    /// The user who asked last.
    pub user: u32,
    /// The process that asked last.
    pub pid: u32,
    /// The level or the filter that is asked for.
    pub wanted: Wanted<'a>,
    /// What the last note says.
    pub text: &'a [u8],
}

impl<'a> Block<'a> for State<'a> {
    const AT: usize = 0;
    const LEN: usize = 1536;
    const MAGIC: [u8; 8] = *b"logdefCS";

    fn put(&self, to: &mut Fill<'_>) {
        to.u64(self.run.map_or(0, |run| run.0));
        to.u32(self.pid);
        to.u32(self.user);
        to.u64(self.started);
        to.bytes(&self.boot);
        to.u32(self.bell_descriptor);
        to.u64(self.written);
        to.u64(self.logged);
        to.u64(self.dropped);
        to.u64(self.bell.0);
        to.u64(self.bell.1);
        to.u64(self.until);
        to.bytes(&[self.level.0, self.is_set.into(), self.has_helper.into(), 0]);
        to.text(self.filter, MOST_FILTER);
    }

    fn get(from: &mut Take<'a>) -> Option<Self> {
        let run = from.u64()?;
        let (pid, user, started) = (from.u32()?, from.u32()?, from.u64()?);
        let boot = from.array()?;
        let bell_descriptor = from.u32()?;
        let (written, logged, dropped) = (from.u64()?, from.u64()?, from.u64()?);
        let bell = (from.u64()?, from.u64()?);
        let until = from.u64()?;
        let [level, is_set, has_helper, _] = from.array()?;
        Some(State {
            run: (run != 0).then_some(Run(run)),
            pid,
            user,
            started,
            boot,
            written,
            logged,
            dropped,
            bell,
            bell_descriptor,
            level: Level(level),
            is_set: is_set != 0,
            has_helper: has_helper != 0,
            until,
            filter: from.text(MOST_FILTER)?,
        })
    }
}

impl Block<'_> for Taken {
    const AT: usize = 1536;
    const LEN: usize = 512;
    const MAGIC: [u8; 8] = *b"logdefCT";

    fn put(&self, to: &mut Fill<'_>) {
        for id in [self.set, self.sync, self.rotate, self.note] {
            to.u64(id);
        }
        to.u32(self.set_refused.into());
        to.u32(self.sync_errno);
        to.u32(self.pid);
    }

    fn get(from: &mut Take<'_>) -> Option<Self> {
        let (set, sync, rotate, note) = (from.u64()?, from.u64()?, from.u64()?, from.u64()?);
        Some(Taken {
            set,
            set_refused: from.u32()? != 0,
            sync,
            sync_errno: from.u32()?,
            rotate,
            note,
            pid: from.u32()?,
        })
    }
}

impl<'a> Block<'a> for Request<'a> {
    const AT: usize = 2048;
    const LEN: usize = 2048;
    const MAGIC: [u8; 8] = *b"logdefCR";

    fn put(&self, to: &mut Fill<'_>) {
        let ids = [self.set, self.sync, self.rotate, self.note];
        for word in ids.into_iter().chain([self.asked, self.lasts]) {
            to.u64(word);
        }
        to.u32(self.user);
        to.u32(self.pid);
        let (kind, level, filter): (u8, u8, &[u8]) = match self.wanted {
            Wanted::Program => (0, 0, b""),
            Wanted::Level(level) => (1, level.0, b""),
            Wanted::Filter(filter) => (2, 0, filter),
        };
        to.bytes(&[kind, level, 0, 0]);
        to.text(filter, MOST_FILTER);
        to.text(self.text, MOST_NOTE);
    }

    fn get(from: &mut Take<'a>) -> Option<Self> {
        let (set, sync, rotate, note) = (from.u64()?, from.u64()?, from.u64()?, from.u64()?);
        let (asked, lasts) = (from.u64()?, from.u64()?);
        let (user, pid) = (from.u32()?, from.u32()?);
        let [kind, level, ..]: [u8; 4] = from.array()?;
        let filter = from.text(MOST_FILTER)?;
        Some(Request {
            set,
            sync,
            rotate,
            note,
            asked,
            lasts,
            user,
            pid,
            wanted: match kind {
                0 => Wanted::Program,
                1 => Wanted::Level(Level(level)),
                2 => Wanted::Filter(filter),
                _ => return None,
            },
            text: from.text(MOST_NOTE)?,
        })
    }
}

/// The body of a block that is being written.
#[doc(hidden)]
#[derive(Debug)]
pub struct Fill<'b> {
    rest: &'b mut [u8],
}

impl Fill<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        let rest = core::mem::take(&mut self.rest);
        let (here, rest) = rest.split_at_mut(bytes.len());
        here.copy_from_slice(bytes);
        self.rest = rest;
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// A text's length, and room for `most` bytes.
    fn text(&mut self, text: &[u8], most: usize) {
        let text = &text[..text.len().min(most)];
        self.u32(text.len() as u32);
        let rest = core::mem::take(&mut self.rest);
        let (here, rest) = rest.split_at_mut(most);
        here[..text.len()].copy_from_slice(text);
        self.rest = rest;
    }
}

/// The body of a block that is being read.
#[doc(hidden)]
#[derive(Debug)]
pub struct Take<'a> {
    rest: &'a [u8],
}

impl<'a> Take<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (here, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(here)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self, most: usize) -> Option<&'a [u8]> {
        let len = self.u32()? as usize;
        self.bytes(most)?.get(..len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State<'static> {
        State {
            run: Some(Run(7)),
            pid: 4711,
            user: 1000,
            started: 99,
            boot: [b'b'; 36],
            written: 1,
            logged: 2,
            dropped: 3,
            bell: (4, 5),
            bell_descriptor: 65,
            level: Level::INFO,
            is_set: true,
            has_helper: true,
            until: 6,
            filter: b"info,net=debug",
        }
    }

    fn request() -> Request<'static> {
        Request {
            set: 3,
            sync: 1,
            rotate: 2,
            note: 4,
            asked: 5,
            lasts: 6,
            user: 7,
            pid: 8,
            wanted: Wanted::Filter(b"wal.c=trace"),
            text: b"deploy begins",
        }
    }

    /// A page with one of each block.
    fn page() -> [u8; SIZE] {
        let mut page = [0; SIZE];
        let mut scratch = [0; SIZE];
        page[..1536].copy_from_slice(state().encode(&mut scratch));
        let taken = Taken {
            set: 3,
            sync_errno: 5,
            pid: 9,
            ..Taken::default()
        };
        page[1536..2048].copy_from_slice(taken.encode(&mut scratch));
        page[2048..].copy_from_slice(request().encode(&mut scratch));
        page
    }

    #[test]
    fn what_is_written_is_read() {
        let page = page();
        assert_eq!(State::decode(&page), Some(state()));
        assert_eq!(Request::decode(&page), Some(request()));
        assert_eq!(Taken::decode(&page).unwrap().sync_errno, 5);
        for wanted in [Wanted::Program, Wanted::Level(Level::TRACE)] {
            let asked = Request {
                wanted,
                ..request()
            };
            let mut page = [0; SIZE];
            let mut scratch = [0; SIZE];
            page[2048..].copy_from_slice(asked.encode(&mut scratch));
            assert_eq!(Request::decode(&page), Some(asked));
        }
    }

    #[test]
    fn a_request_has_these_bytes() {
        let page = page();
        assert_eq!(page[2048..2056], *b"logdefCR");
        assert_eq!(page[2056..2060], [1, 0, 0, 0]);
        assert_eq!(page[2064..2072], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page[2120..2124], [2, 0, 0, 0], "a filter");
        assert_eq!(page[2124..2139], *b"\x0b\0\0\0wal.c=trace");
        assert_eq!(page[3152..3165], *b"\x0d\0\0\0deploy be");
    }

    #[test]
    fn no_changed_bit_is_taken_for_a_block() {
        for bit in 0..SIZE * 8 {
            let mut page = page();
            page[bit / 8] ^= 1 << (bit % 8);
            let whole = [
                State::decode(&page).is_some(),
                Taken::decode(&page).is_some(),
                Request::decode(&page).is_some(),
            ];
            assert_eq!(
                whole.iter().filter(|whole| !**whole).count(),
                1,
                "bit {bit}"
            );
        }
    }

    #[test]
    fn a_page_that_is_cut_has_the_blocks_before_the_cut() {
        let page = page();
        for len in [0, 1, 16, 1535, 2047] {
            assert_eq!(State::decode(&page[..len]).is_some(), len >= 1536);
            assert_eq!(Request::decode(&page[..len]), None);
        }
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let mut page = page();
        page[2124..2128].copy_from_slice(&u32::MAX.to_le_bytes());
        let checksum = crc32fast::hash(&page[2064..]);
        page[2060..2064].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Request::decode(&page), None);
    }

    #[test]
    fn texts_that_are_too_long_are_cut() {
        let long = [b'x'; 5000];
        let asked = Request {
            wanted: Wanted::Filter(&long),
            text: &long,
            ..request()
        };
        let mut page = [0; SIZE];
        let mut scratch = [0; SIZE];
        page[2048..].copy_from_slice(asked.encode(&mut scratch));
        let read = Request::decode(&page).unwrap();
        assert_eq!(read.wanted, Wanted::Filter(&long[..MOST_FILTER]));
        assert_eq!(read.text.len(), MOST_NOTE);
    }
}
