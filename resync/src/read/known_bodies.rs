//! Bodies that were met lately, byte for byte: each chunk begins with logdefs that stand in the others too.
//! Knows nothing of what they say.

use crate::read::item::FrameItem;

/// Places for bodies: each holds the one that came last of those with the same last bits of the checksum.
const BODIES: usize = 1 << 9;
/// Bytes of the longest of them.
const LONGEST: usize = 512;

/// Bodies that were met lately.
#[derive(Debug, Default)]
pub(crate) struct KnownBodies {
    places: Vec<Box<[u8]>>,
}

impl KnownBodies {
    /// Whether a body was met before, of which a `false` is no proof; then it is remembered.
    pub(crate) fn meet(&mut self, frame: &FrameItem<'_>) -> bool {
        if self.places.is_empty() {
            self.places = vec![Box::default(); BODIES];
        }
        // By the checksum, which stands in every header.
        let place = usize::from(u16::from_be_bytes([frame.bytes[4], frame.bytes[5]])) % BODIES;
        let known = &mut self.places[place];
        let is_known = **known == *frame.body;
        if !is_known && frame.body.len() <= LONGEST {
            *known = frame.body.into();
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::frame;

    fn meet(bodies: &mut KnownBodies, body: &[u8]) -> bool {
        let (header, len) = frame::header(body);
        bodies.meet(&FrameItem {
            offset: 0,
            bytes: &[&header[..len], body].concat(),
            body,
        })
    }

    #[test]
    fn only_the_same_bytes_are_known() {
        let mut bodies = KnownBodies::default();
        let body = |number: u16| [&[1, 0x81, 2, 0xcd][..], &number.to_be_bytes()].concat();
        for number in 0..2000 {
            assert!(!meet(&mut bodies, &body(number)), "{number}");
            assert!(meet(&mut bodies, &body(number)), "{number}");
        }
        let long = vec![1; LONGEST + 1];
        assert!(!meet(&mut bodies, &long) && !meet(&mut bodies, &long));
    }
}
