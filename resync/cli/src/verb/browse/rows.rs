//! A list of numbers that only grows: in memory while it is short, and beyond that in a temporary file.
//! Knows nothing of what they stand for.

use logdef_resync::Temporary;
use std::io;

/// Numbers that are kept in memory, and that are written at a time.
const IN_MEMORY: usize = 1 << 18;
const STEP: usize = 1 << 13;
const BYTES: usize = size_of::<u64>();

/// Numbers, the first ones on the disk if they are many.
#[derive(Debug, Default)]
pub struct Rows {
    file: Option<Temporary>,
    rest: Vec<u64>,
}

impl Rows {
    fn in_file(&self) -> u64 {
        self.file.as_ref().map_or(0, Temporary::len) / BYTES as u64
    }

    pub fn len(&self) -> u64 {
        self.in_file() + self.rest.len() as u64
    }

    pub fn push(&mut self, number: u64) -> io::Result<()> {
        self.rest.push(number);
        let most = match self.file {
            Some(_) => STEP,
            None => IN_MEMORY,
        };
        if self.rest.len() >= most {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Temporary::new()?),
        };
        let bytes: Vec<u8> = self.rest.iter().flat_map(|row| row.to_le_bytes()).collect();
        file.append(&bytes)?;
        self.rest = Vec::with_capacity(STEP);
        Ok(())
    }

    /// Replaces what is in `into` by the numbers from a position on, `most` at most.
    pub fn read(&self, from: u64, most: usize, into: &mut Vec<u64>) -> io::Result<()> {
        into.clear();
        let end = self.len().min(from.saturating_add(most as u64));
        let in_file = self.in_file();
        if let Some(file) = &self.file
            && from < in_file
        {
            let count = end.min(in_file) - from;
            let mut bytes = vec![0; count as usize * BYTES];
            file.read_at(&mut bytes, from * BYTES as u64)?;
            let (numbers, _) = bytes.as_chunks::<BYTES>();
            into.extend(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        }
        let from = from.max(in_file);
        if from < end {
            into.extend(&self.rest[(from - in_file) as usize..(end - in_file) as usize]);
        }
        Ok(())
    }

    /// The number at a position, if there is one.
    pub fn get(&self, at: u64) -> io::Result<Option<u64>> {
        let mut one = Vec::with_capacity(1);
        self.read(at, 1, &mut one)?;
        Ok(one.first().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_wherever_they_stand() {
        let mut rows = Rows::default();
        let number = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let count = IN_MEMORY as u64 + 3 * STEP as u64 + 77;
        for at in 0..count {
            assert_eq!(rows.len(), at);
            rows.push(number(at)).unwrap();
        }
        assert!(rows.file.is_some() && rows.rest.len() < STEP);
        let in_file = rows.in_file();
        let mut read = Vec::new();
        for (from, most) in [
            (0, 1),
            (5, 70_000),
            (in_file - 3, 7),
            (in_file, 9),
            (count - 1, 100),
            (count, 5),
            (count + 9, 5),
        ] {
            rows.read(from, most, &mut read).unwrap();
            let expected: Vec<_> = (from..count.max(from)).take(most).map(number).collect();
            assert_eq!(read, expected, "{from}, {most}");
        }
        assert_eq!(rows.get(count).unwrap(), None);
        assert_eq!(rows.get(count - 1).unwrap(), Some(number(count - 1)));
    }
}
