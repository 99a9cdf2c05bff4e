//! `jit-PID.dump`, as Linux's perf documents it (`jitdump-specification.txt`): a header, then
//! records, each with its length. Of those this reads what was loaded, what was moved, and the lines
//! of sources that stand before the load of their function. Numbers have the byte order of the
//! machine that wrote; the magic shows which. A list that ends within a record, as one does whose
//! process was killed, gives the records before.
//!
//! ```text
//! header  magic 4, version 4, length 4, machine 4, padding 4, pid 4, time 8, flags 8
//! record  kind 4, length 4, time 8, and then
//!   0 load   pid 4, tid 4, address 8, code address 8, code size 8, index 8, name, NUL, code
//!   1 move   pid 4, tid 4, address 8, old code address 8, new 8, code size 8, index 8
//!   2 lines  code address 8, count 8, each: address 8, line 4, discriminator 4, file, NUL
//! ```

use std::collections::HashMap;
use std::ops::Range;

use super::{Function, MOST};

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;
/// Bytes before what a kind of record has of its own.
const PREFIX: usize = 16;

/// The byte order of a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// That of a dump's first bytes; `None` if they begin no dump.
    pub fn of(bytes: &[u8]) -> Option<Order> {
        let magic = *bytes.first_chunk()?;
        if u32::from_le_bytes(magic) == MAGIC {
            Some(Order::Little)
        } else {
            (u32::from_be_bytes(magic) == MAGIC).then_some(Order::Big)
        }
    }
}

/// From this address on, code came of this line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub address: u64,
    pub number: u32,
    /// Where in the dump the file's name stands.
    pub file: Range<u32>,
}

/// Takes numbers and names off the front of a record.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    end: usize,
    order: Order,
}

impl Cursor<'_> {
    fn u32(&mut self) -> Option<u32> {
        let bytes = *self.bytes.get(self.at..self.end)?.first_chunk()?;
        self.at += 4;
        Some(match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        })
    }

    fn u64(&mut self) -> Option<u64> {
        let (first, second) = (u64::from(self.u32()?), u64::from(self.u32()?));
        Some(match self.order {
            Order::Little => second << 32 | first,
            Order::Big => first << 32 | second,
        })
    }

    /// Where a name stands; its NUL is passed over too.
    fn name(&mut self) -> Option<Range<u32>> {
        let rest = self.bytes.get(self.at..self.end)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        let start = u32::try_from(self.at).ok()?;
        self.at += length + 1;
        Some(start..start + u32::try_from(length).ok()?)
    }
}

/// The functions of a dump in its order, and the lines of all.
pub(super) fn parse(bytes: &[u8], order: Order) -> (Vec<Function>, Vec<Line>) {
    let mut dump = Dump::default();
    let mut cursor = Cursor {
        bytes,
        at: 8,
        end: bytes.len(),
        order,
    };
    let mut at = cursor.u32().unwrap_or(0) as usize;
    // A header is no shorter than the fields it has.
    while at >= 40 {
        cursor.at = at;
        cursor.end = bytes.len();
        let (Some(kind), Some(length)) = (cursor.u32(), cursor.u32()) else {
            break;
        };
        let end = at.saturating_add(length as usize);
        if (length as usize) < PREFIX || end > bytes.len() {
            break;
        }
        (cursor.at, cursor.end) = (at + PREFIX, end);
        // What a record lacks is lost with it alone.
        let _ = match kind {
            LOAD => dump.load(&mut cursor),
            MOVE => dump.move_code(&mut cursor),
            LINES => dump.lines_of(&mut cursor),
            _ => None,
        };
        at = end;
    }
    (dump.functions, dump.lines)
}

#[derive(Default)]
struct Dump {
    functions: Vec<Function>,
    lines: Vec<Line>,
    /// The lines of the function that is loaded next at this address.
    pending: Option<(u64, Range<u32>)>,
    /// By index, the place of each function.
    loaded: HashMap<u64, usize>,
}

impl Dump {
    fn load(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        let (start, size, index) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let name = cursor.name()?;
        let lines = self.pending.take().filter(|(of, _)| *of == start);
        let lines = lines.map_or(0..0, |(_, lines)| lines);
        self.loaded.insert(index, self.functions.len());
        self.add(start, size, name, lines)
    }

    /// The function stays where it was too: a record of before the move has the old address.
    fn move_code(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        let (_old, start) = (cursor.u64()?, cursor.u64()?);
        let (size, index) = (cursor.u64()?, cursor.u64()?);
        let known = self.functions.get(*self.loaded.get(&index)?)?;
        // Its lines have addresses of before.
        self.add(start, size, known.name.clone(), 0..0)
    }

    fn lines_of(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (start, count) = (cursor.u64()?, cursor.u64()?);
        let first = self.lines.len();
        // A count that is no count ends with the record.
        for _ in 0..count {
            let Some(line) = line(cursor).filter(|_| self.lines.len() < MOST) else {
                break;
            };
            self.lines.push(line);
        }
        self.lines[first..].sort_by_key(|line| line.address);
        let lines = u32::try_from(first).ok()?..u32::try_from(self.lines.len()).ok()?;
        self.pending = Some((start, lines));
        Some(())
    }

    fn add(&mut self, start: u64, size: u64, name: Range<u32>, lines: Range<u32>) -> Option<()> {
        let made = self.functions.len().try_into().ok()?;
        (self.functions.len() < MOST).then(|| {
            self.functions.push(Function {
                start,
                size,
                made,
                name,
                lines,
            });
        })
    }
}

fn line(cursor: &mut Cursor<'_>) -> Option<Line> {
    let (address, number, _discriminator) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
    let file = cursor.name()?;
    Some(Line {
        address,
        number,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit::JitCode;
    use crate::names::address::AddressKind;
    use logdef_wire::Avma;
    use std::sync::Arc;

    /// A dump of hand-made records.
    struct Writer {
        bytes: Vec<u8>,
        order: Order,
    }

    impl Writer {
        fn new(order: Order) -> Writer {
            let mut writer = Writer {
                bytes: Vec::new(),
                order,
            };
            for word in [MAGIC, 1, 40, 62, 0, 7] {
                writer.u32(word);
            }
            writer.u64(1);
            writer.u64(0);
            writer
        }

        fn u32(&mut self, value: u32) {
            self.bytes.extend(match self.order {
                Order::Little => value.to_le_bytes(),
                Order::Big => value.to_be_bytes(),
            });
        }

        fn u64(&mut self, value: u64) {
            self.bytes.extend(match self.order {
                Order::Little => value.to_le_bytes(),
                Order::Big => value.to_be_bytes(),
            });
        }

        fn record(&mut self, kind: u32, numbers: &[u64], tail: &[u8]) {
            let before = if kind == LINES { 0 } else { 8 };
            let length = PREFIX + before + 8 * numbers.len() + tail.len();
            self.u32(kind);
            self.u32(length as u32);
            self.u64(5);
            if kind != LINES {
                self.u32(7);
                self.u32(7);
            }
            for number in numbers {
                self.u64(*number);
            }
            self.bytes.extend(tail);
        }

        fn lines(&mut self, start: u64, lines: &[(u64, u32, &str)]) {
            let mut tail = Writer {
                bytes: Vec::new(),
                order: self.order,
            };
            for (address, number, file) in lines {
                tail.u64(*address);
                tail.u32(*number);
                tail.u32(0);
                tail.bytes.extend(file.as_bytes());
                tail.bytes.push(0);
            }
            self.record(LINES, &[start, lines.len() as u64], &tail.bytes);
        }
    }

    fn sample(order: Order) -> Vec<u8> {
        let mut writer = Writer::new(order);
        writer.lines(0x1000, &[(0x1010, 12, "b.js"), (0x1000, 11, "a.js")]);
        writer.record(LOAD, &[0x1000, 0x1000, 0x20, 0], b"add\0\x90\x90");
        writer.record(9, &[], b"of a later version");
        writer.lines(0x2000, &[(0x2000, 21, "c.js")]);
        writer.record(LOAD, &[0x2000, 0x2000, 0x10, 1], b"moved\0");
        writer.record(MOVE, &[0x3000, 0x2000, 0x3000, 0x10, 1], b"");
        writer.bytes
    }

    fn at(code: &JitCode, address: u64) -> Option<(String, Option<String>, Option<u32>)> {
        let frame = code.at(Avma(address), AddressKind::Exact)?;
        let file = frame.file.map(|it| it.to_string());
        Some((frame.function?.to_string(), file, frame.line))
    }

    #[test]
    fn what_was_loaded_and_moved_has_names_and_lines_in_both_byte_orders() {
        for order in [Order::Little, Order::Big] {
            let code = JitCode::parse(Arc::new(sample(order).into()));
            let named = |name: &str, file: Option<&str>, line| {
                Some((name.to_owned(), file.map(str::to_owned), line))
            };
            assert_eq!(at(&code, 0x1000), named("add", Some("a.js"), Some(11)));
            assert_eq!(at(&code, 0x101f), named("add", Some("b.js"), Some(12)));
            assert_eq!(at(&code, 0x1020), None);
            assert_eq!(at(&code, 0x2004), named("moved", Some("c.js"), Some(21)));
            assert_eq!(at(&code, 0x3004), named("moved", None, None));
        }
    }

    #[test]
    fn a_dump_cut_anywhere_or_with_any_byte_changed_gives_what_it_can() {
        let whole = sample(Order::Little);
        let mut most = 0;
        for length in 0..=whole.len() {
            let code = JitCode::parse(Arc::new(whole[..length].to_vec().into()));
            assert!(code.functions.len() >= most, "{length}");
            most = code.functions.len();
        }
        assert_eq!(most, 3);
        for index in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[index] = value;
                let code = JitCode::parse(Arc::new(bytes.into()));
                for address in [0, 0x1000, 0x1fff, 0x3004, u64::MAX] {
                    let _ = at(&code, address);
                }
            }
        }
    }

    #[test]
    fn a_count_of_lines_beyond_the_record_costs_nothing() {
        let mut writer = Writer::new(Order::Little);
        writer.record(LINES, &[0x1000, u64::MAX], b"");
        writer.record(LOAD, &[0x1000, 0x1000, 0x20, 0], b"f\0");
        let code = JitCode::parse(Arc::new(writer.bytes.into()));
        assert_eq!(at(&code, 0x1000), Some(("f".to_owned(), None, None)));
    }
}
