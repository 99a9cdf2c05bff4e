//! Records that are kept to be shown later: in memory as long as they are few bytes, and beyond that
//! in a temporary file. Each is as it stands in its frame. Knows nothing of why they are kept.

use logdef_resync::{Place, Temporary};
use std::io;

/// Bytes that are kept in memory.
const IN_MEMORY: usize = 16 << 20;
/// Bytes that are read from the file, or written to it, at a time.
const STEP: usize = 64 << 10;
/// Bytes that are read where the last ones were read elsewhere.
const FIRST: usize = 1 << 10;
/// The place of a record and the length of its body, which stand before it.
const HEAD: usize = 16;

/// Records one after the other, each of which can be read at its position.
#[derive(Default)]
pub struct Store {
    /// What was written to the disk, if there is more than fits into memory.
    file: Option<Temporary>,
    /// What comes after that.
    rest: Vec<u8>,
    /// A part of the file, and where it begins there.
    window: Vec<u8>,
    window_at: u64,
}

impl Store {
    fn in_file(&self) -> u64 {
        self.file.as_ref().map_or(0, Temporary::len)
    }

    /// Where the next record will stand.
    pub fn end(&self) -> u64 {
        self.in_file() + self.rest.len() as u64
    }

    /// Bytes that a record takes.
    pub fn size(body: &[u8]) -> u64 {
        (HEAD + body.len()) as u64
    }

    pub fn push(&mut self, place: Place, body: &[u8]) -> io::Result<()> {
        self.rest.extend(place.input.to_le_bytes());
        self.rest.extend(place.offset.to_le_bytes());
        self.rest.extend((body.len() as u32).to_le_bytes());
        self.append(body)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        let most = match self.file {
            Some(_) => STEP,
            None => IN_MEMORY,
        };
        if self.rest.len() > most {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(Temporary::new()?),
            };
            file.append(&self.rest)?;
            // A long record leaves no room after it.
            self.rest = Vec::new();
        }
        Ok(())
    }

    /// Reads the record at a position, and gives its place.
    pub fn read(&mut self, at: u64, body: &mut Vec<u8>) -> io::Result<Place> {
        let mut head = [0; HEAD];
        self.fill(at, &mut head)?;
        let (input, head) = head.split_at(4);
        let (offset, len) = head.split_at(8);
        let number = |bytes: &[u8]| {
            let digits = bytes.iter().rev();
            digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        body.clear();
        body.resize(number(len) as usize, 0);
        self.fill(at + HEAD as u64, body)?;
        Ok(Place {
            input: number(input) as u32,
            offset: number(offset),
        })
    }

    /// Fills a buffer with what stands at a position.
    fn fill(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let in_file = self.in_file();
        let split = in_file.saturating_sub(at).min(buffer.len() as u64);
        let (first, second) = buffer.split_at_mut(split as usize);
        if !second.is_empty() {
            let from = (at + split - in_file) as usize;
            second.copy_from_slice(&self.rest[from..from + second.len()]);
        }
        match &self.file {
            Some(file) if first.len() > STEP => file.read_at(first, at),
            Some(file) if !first.is_empty() => {
                let end = at + first.len() as u64;
                let window_end = self.window_at + self.window.len() as u64;
                if at < self.window_at || end > window_end {
                    let goes_on = (self.window_at..=window_end).contains(&at);
                    let step = if goes_on { STEP } else { FIRST };
                    let len = (in_file - at).min(step.max(first.len()) as u64);
                    self.window.resize(len as usize, 0);
                    self.window_at = at;
                    file.read_at(&mut self.window, at)?;
                }
                let from = (at - self.window_at) as usize;
                first.copy_from_slice(&self.window[from..from + first.len()]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What stands from a position on, and nothing else.
    fn cut(&mut self, at: u64) -> io::Result<()> {
        if self.file.is_none() {
            self.rest.drain(..at as usize);
            return Ok(());
        }
        let mut cut = Store::default();
        let mut piece = vec![0; STEP];
        let mut at = at;
        while at < self.end() {
            let len = (self.end() - at).min(STEP as u64);
            let piece = &mut piece[..len as usize];
            self.fill(at, piece)?;
            cut.append(piece)?;
            at += len;
        }
        *self = cut;
        Ok(())
    }
}

/// Records in the order in which they came.
#[derive(Default)]
pub struct Backlog {
    store: Store,
    /// Where the first stands.
    first: u64,
    len: usize,
}

impl Backlog {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn push(&mut self, place: Place, body: &[u8]) -> io::Result<()> {
        self.len += 1;
        self.store.push(place, body)
    }

    /// Reads the first record.
    pub fn first(&mut self, body: &mut Vec<u8>) -> io::Result<Option<Place>> {
        if self.len == 0 {
            return Ok(None);
        }
        self.store.read(self.first, body).map(Some)
    }

    /// Takes the first record out.
    pub fn pop(&mut self, body: &mut Vec<u8>) -> io::Result<Option<Place>> {
        let place = self.first(body)?;
        if place.is_some() {
            self.len -= 1;
            self.first += Store::size(body);
        }
        // What was taken out is at most half of it, or little.
        if self.first > (self.store.end() / 2).max(STEP as u64) {
            self.store.cut(self.first)?;
            self.first = 0;
        }
        Ok(place)
    }

    pub fn clear(&mut self) {
        *self = Backlog::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: u64) -> Place {
        Place {
            input: (offset % 3) as u32,
            offset,
        }
    }

    fn body(number: u64, len: usize) -> Vec<u8> {
        let mut body = vec![number as u8; len];
        if let Some(middle) = body.get_mut(len / 2) {
            *middle = !*middle;
        }
        body
    }

    #[test]
    fn records_come_out_as_they_went_in() {
        // Short ones, those longer than a step, and one beyond what fits into memory.
        let lens = [0, 1, 100, 3000, STEP, STEP + 1, 2 << 20, 40, 9000];
        let mut backlog = Backlog::default();
        let (mut came, mut left) = (0, 0);
        let mut scratch = Vec::new();
        let len = |number: u64| match number {
            100 => 17 << 20,
            _ => lens[(number * number % 31) as usize % lens.len()],
        };
        for round in 0..40_u64 {
            for _ in 0..round % 7 * 3 {
                backlog.push(place(came), &body(came, len(came))).unwrap();
                came += 1;
            }
            for _ in 0..round % 5 * 4 {
                let popped = backlog.pop(&mut scratch).unwrap();
                if left == came {
                    assert_eq!(popped, None);
                    continue;
                }
                assert_eq!(popped, Some(place(left)));
                assert!(scratch == body(left, len(left)), "{left}");
                left += 1;
            }
            assert_eq!(backlog.len() as u64, came - left);
        }
        assert!(came > 300, "{came}");
    }

    #[test]
    fn no_more_stays_in_memory_than_fits() {
        let mut backlog = Backlog::default();
        for number in 0..100 {
            backlog.push(place(number), &body(number, 1 << 20)).unwrap();
            let memory = backlog.store.rest.capacity() + backlog.store.window.capacity();
            assert!(memory < IN_MEMORY * 2 + STEP, "{memory}");
        }
        assert!(backlog.store.in_file() > 80 << 20);
        let mut scratch = Vec::new();
        for _ in 0..99 {
            backlog.pop(&mut scratch).unwrap();
        }
        // The disk gets back what was taken out.
        assert_eq!(backlog.store.in_file(), 0);
        assert_eq!(backlog.pop(&mut scratch).unwrap(), Some(place(99)));
        assert!(scratch == body(99, 1 << 20));
    }

    #[test]
    fn where_few_are_kept_at_a_time_little_memory_is_used() {
        let mut backlog = Backlog::default();
        let mut scratch = Vec::new();
        for number in 0..100_000 {
            backlog.push(place(number), &body(number, 100)).unwrap();
            if backlog.len() > 3 {
                backlog.pop(&mut scratch).unwrap();
            }
        }
        assert!(backlog.store.rest.capacity() < 4 * STEP);
    }
}
