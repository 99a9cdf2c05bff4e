//! The fields of a record that say which thread made it.

use crate::crc;
use logdef_wire::Run;
use logdef_wire::record::field;
use logdef_wire::record::masked::may_begin_in;

/// The fields run and thread of a thread's records, encoded.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub words: [u64; Fields::ROOM / 8],
    /// Bytes in use.
    pub len: usize,
    /// Whether a frame header may begin in them.
    pub may_begin_header: bool,
    /// The state of the checksum after them, had it been zero before.
    pub crc: u32,
}

impl Fields {
    /// Bytes at most.
    pub const ROOM: usize = 24;
    pub(super) const MAY_BEGIN_HEADER: u64 = 1 << 8;

    /// Those of a thread that has this `pthread_self()`.
    pub fn of(run: Run, thread: u64) -> Fields {
        let mut bytes = [0; Fields::ROOM];
        let mut encoder = logdef_wire::msgpack::Encoder::new(&mut bytes);
        // Two field tags and two integers: at most twenty bytes.
        let encoded = encoder
            .uint(field::RUN.into())
            .and_then(|()| encoder.uint64(run.0))
            .and_then(|()| encoder.uint(field::THREAD.into()))
            .and_then(|()| encoder.uint(thread));
        debug_assert!(encoded.is_ok());
        let len = encoder.position();
        let [a, b, c] = [0, 8, 16].map(|at| word(&bytes[at..]));
        Fields {
            words: [a, b, c],
            len,
            may_begin_header: may_begin_in(&bytes[..len]),
            crc: crc::state_after(0, &bytes[..len]),
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes)
}
