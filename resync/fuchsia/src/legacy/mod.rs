//! Legacy log packets: a fixed header, up to five short tags and a message, one packet per datagram.
//!
//! ```text
//! offset  0  pid u64          24  severity i32
//!         8  tid u64          28  dropped_logs u32, a running total
//!        16  time i64, ns     32  tags, message
//!
//! data    (length 1..=63, that many bytes)*   at most 5 tags
//!         0, message, 0                        what follows is ignored
//! ```
//!
//! Integers are little-endian and nothing is padded. The reader is total: any input gives a packet or a
//! [`ParseError`].

mod drops;
mod packet;

pub use drops::RunningDrops;
pub use packet::{Packet, PacketWriter, ParseError, Tags, WriteError};

/// Bytes of the longest packet, header and tags included.
pub const MAX_PACKET_BYTES: usize = 32_768;
/// Bytes before the tags.
pub const HEADER_BYTES: usize = 32;
/// Most tags of a packet.
pub const MAX_TAGS: usize = 5;
/// Bytes of the longest tag.
pub const MAX_TAG_BYTES: usize = 63;
