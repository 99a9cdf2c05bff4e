//! Width: a body that stands at the end of the text is padded in place, so that
//! no body needs a buffer of its own.

use logdef_wire::printf::Flags;

/// A directive's flags, width and precision when its `*`s are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    pub flags: Flags,
    pub width: usize,
    pub precision: Option<usize>,
}

impl Layout {
    pub fn has(&self, flag: Flags) -> bool {
        self.flags.has(flag)
    }

    /// Pads the body `out[start..]` to the width, with spaces.
    pub fn pad(&self, out: &mut Vec<u8>, start: usize) {
        let length = out.len() - start;
        if length < self.width {
            let at = if self.has(Flags::LEFT) {
                out.len()
            } else {
                start
            };
            insert(out, at, self.width - length, b' ');
        }
    }

    /// Pads the number `out[start..]`, whose sign and prefix end at `digits`, to
    /// the width: with zeros there if the flags say so, else with spaces.
    pub fn pad_number(&self, out: &mut Vec<u8>, start: usize, digits: usize) {
        let length = out.len() - start;
        if length < self.width && self.has(Flags::ZERO) && !self.has(Flags::LEFT) {
            insert(out, digits, self.width - length, b'0');
        } else {
            self.pad(out, start);
        }
    }

    /// Writes what stands before a number: its sign, or what the flags ask for in
    /// the sign's place.
    pub fn push_sign(&self, out: &mut Vec<u8>, negative: bool) {
        if negative {
            out.push(b'-');
        } else if self.has(Flags::PLUS) {
            out.push(b'+');
        } else if self.has(Flags::SPACE) {
            out.push(b' ');
        }
    }
}

/// Makes room for `count` times `byte` at `at`.
pub(super) fn insert(out: &mut Vec<u8>, at: usize, count: usize, byte: u8) {
    let end = out.len();
    out.resize(end + count, byte);
    if at < end {
        out.copy_within(at..end, at + count);
        out[at..at + count].fill(byte);
    }
}
