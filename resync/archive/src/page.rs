//! The headers of a column's pages, read before Parquet's own reader believes them: how much they
//! say that a page unpacks to. Knows as much of Thrift's compact protocol as that takes.

use std::io;

/// What a page says of itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Page {
    /// Bytes of the header.
    pub(crate) header: usize,
    /// Bytes after it, packed and unpacked.
    pub(crate) packed: u64,
    pub(crate) unpacked: u64,
    /// Values in it; 0 of a page that holds a dictionary.
    pub(crate) values: u64,
    /// How they are encoded.
    pub(crate) encoding: i64,
}

/// How deep structures may be nested.
const DEPTH: usize = 8;
/// Kinds of pages.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_2: i64 = 3;

impl Page {
    /// Reads the header at the front of some bytes.
    pub(crate) fn of(bytes: &[u8]) -> io::Result<Page> {
        let mut reader = Compact { bytes, at: 0 };
        let mut page = Page::default();
        let mut kind = -1;
        let mut own = (0, 0);
        reader.structure(|reader, field, of| {
            match (field, of) {
                (1, I32) => kind = reader.integer()?,
                (2, I32) => page.unpacked = size(reader.integer()?)?,
                (3, I32) => page.packed = size(reader.integer()?)?,
                // The header of a page of data, in two versions.
                (5 | 8, STRUCT) => {
                    let encoding = if field == 5 { 2 } else { 4 };
                    reader.structure(|reader, field, of| match (field, of) {
                        (1, I32) => {
                            own.0 = size(reader.integer()?)?;
                            Ok(())
                        }
                        (field, I32) if field == encoding => {
                            own.1 = reader.integer()?;
                            Ok(())
                        }
                        _ => reader.skip(of, DEPTH),
                    })?;
                }
                _ => reader.skip(of, DEPTH)?,
            }
            Ok(())
        })?;
        page.header = reader.at;
        match kind {
            DATA | DATA_2 => (page.values, page.encoding) = own,
            DICTIONARY => {}
            _ => return Err(super::guard::wrong("a page of a kind that is not known")),
        }
        Ok(page)
    }
}

fn size(number: i64) -> io::Result<u64> {
    u64::try_from(number).map_err(|_| super::guard::wrong("a page of a negative size"))
}

// Types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

struct Compact<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Compact<'_> {
    fn byte(&mut self) -> io::Result<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| super::guard::wrong("the header of a page is cut off"))
    }

    fn variable(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(super::guard::wrong("a number that does not end"))
    }

    fn integer(&mut self) -> io::Result<i64> {
        let value = self.variable()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Calls `with` for each field, by its number and type; that reads what it holds.
    fn structure(
        &mut self,
        mut with: impl FnMut(&mut Self, i64, u8) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.integer()?,
                step => field + i64::from(step),
            };
            with(self, field, head & 0x0f)?;
        }
    }

    fn skip(&mut self, of: u8, depth: usize) -> io::Result<()> {
        if depth == 0 {
            return Err(super::guard::wrong("structures in structures without end"));
        }
        match of {
            TRUE | FALSE => Ok(()),
            I8 => self.byte().map(|_| ()),
            I16 | I32 | I64 => self.variable().map(|_| ()),
            DOUBLE => self.advance(8),
            BINARY => {
                let len = self.variable()?;
                self.advance(len)
            }
            LIST | SET => {
                let head = self.byte()?;
                let len = match head >> 4 {
                    15 => self.variable()?,
                    len => len.into(),
                };
                (0..len).try_for_each(|_| match head & 0x0f {
                    // In a list they take a byte.
                    TRUE | FALSE => self.advance(1),
                    of => self.skip(of, depth - 1),
                })
            }
            STRUCT => self.structure(|reader, _, of| reader.skip(of, depth - 1)),
            _ => Err(super::guard::wrong("a field of a type that is not known")),
        }
    }

    fn advance(&mut self, len: u64) -> io::Result<()> {
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| self.at.checked_add(len));
        match end.filter(|end| *end <= self.bytes.len()) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => Err(super::guard::wrong("the header of a page is cut off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of data: 100 bytes from 40, 7 values, dictionary encoding; with statistics.
    const HEADER: &[u8] = &[
        0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x50, 0x2c, 0x15, 0x0e, 0x15, 0x10, 0x15, 0x06, 0x15,
        0x06, 0x1c, 0x18, 0x02, b'a', b'b', 0x00, 0x00, 0x00,
    ];

    #[test]
    fn a_header_is_read() {
        let page = Page::of(HEADER).unwrap();
        let expected = Page {
            header: HEADER.len(),
            packed: 40,
            unpacked: 100,
            values: 7,
            encoding: 8,
        };
        assert_eq!(page, expected);
    }

    #[test]
    fn a_header_that_is_cut_or_wrong_is_refused() {
        for len in 0..HEADER.len() {
            assert!(Page::of(&HEADER[..len]).is_err(), "{len}");
        }
        let mut nested = vec![0x15, 0x00];
        nested.resize(100_000, 0x1c);
        assert!(Page::of(&nested).is_err());
        assert!(
            Page::of(&[0x15, 0x00, 0x15, 0x01, 0x00]).is_err(),
            "negative"
        );
        assert!(Page::of(&[0x15, 0x08, 0x00]).is_err(), "kind");
    }
}
